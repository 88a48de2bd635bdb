// Package ie2col is pmie2col: it lays out what pmie prints of expressions in columns.
//
//	pmie -v -t 10sec config | pmie2col -w 10
package ie2col

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Command is pmie2col.
var Command = &cli.Command{
	Name:     "ie2col",
	Link:     "pmie2col",
	Group:    cli.Alert,
	Summary:  "print values of expressions in columns",
	Synopsis: "[options]",
	Doc: `Reads the output of pcp ie -v, and prints a line for each evaluation, with a column for each
expression. Expressions have a name, which is the heading, and one value each:

    load = kernel.all.load #'1 minute';
    idle = kernel.all.cpu.idle;

If lines have timestamps, these are the first column.`,
	Examples: []cli.Example{
		{Line: `pcp ie -v -t 10sec rules | pcp ie2col`, Text: `show a line each 10 seconds`},
		{Line: `pcp ie -v -e -a morning rules | pcp ie2col -w 10 -p 1 -d ,`, Text: `columns of ten characters, with commas between`},
	},
	SeeAlso: []string{"pmie(1)", "pmval(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'd', Long: "delimiter", Arg: "CHAR", Help: "set the output delimiter character"},
			{Short: 'p', Long: "precision", Arg: "N", Help: "set the output floating point precision"},
			{Short: 'w', Long: "width", Arg: "N", Help: "set the width of each column of output"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// maxSize is how wide a column can be, and how many digits a number can have.
const maxSize = 1000

// maxLine is how long a line of the input can be.
const maxLine = 1 << 20

func run(_ context.Context, env *cli.Env) int {
	t := &table{out: env.Stdout, delimiter: " ", width: 7, precision: 2}
	size := func(o *cli.Options, opt *cli.Option, arg string, n *int) {
		v, err := strconv.ParseUint(arg, 10, 32)
		if err != nil || v > maxSize {
			o.Usagef("-%c %s: not a number from 0 to %d", opt.Short, arg, maxSize)
		}
		*n = int(v)
	}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Short {
		case 'd':
			t.delimiter = unescape(arg)
		case 'p':
			size(o, opt, arg, &t.precision)
		case 'w':
			size(o, opt, arg, &t.width)
		default:
			return false
		}
		return true
	}})
	if len(o.Args) > 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	in := bufio.NewReaderSize(env.Stdin, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			return env.Fatalf("a line is longer than %d bytes", maxLine)
		}
		if len(line) > 0 {
			t.line(string(bytes.TrimSuffix(line, []byte("\n"))))
			// A user may be watching, and wants each line at once.
			if in.Buffered() == 0 {
				env.FlushOut()
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return env.Fatalf("reading standard input: %v", err)
			}
			return 0
		}
	}
}

// unescape replaces escapes of characters that are hard to type, as awk does in its variables.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r", `\"`, `"`, `\/`, "/", `\a`, "\a", `\b`, "\b", `\f`, "\f", `\v`, "\v").Replace(s)
}

// A table writes values in columns. How many there are is known once the first evaluation has ended.
type table struct {
	out              io.Writer
	delimiter        string
	width, precision int

	stamp   string // of this evaluation
	values  []string
	columns int
	begun   bool // the headings are written
	n       int  // values of this evaluation
}

// ignored reports whether a line is about something else than a value.
func ignored(line string) bool {
	if strings.HasPrefix(line, "pmie: timezone set to") || line == "Note: running pmie serially, once per archive" {
		return true
	}
	host, ok := strings.CutPrefix(line, "Host: ")
	if !ok {
		return false
	}
	i := 0
	for i < len(host) && ctext.IsAlnum(host[i]) {
		i++
	}
	return strings.HasPrefix(host[i:], " Archive: ")
}

// stampEnd returns where the time ends that a line has in parentheses after its name, such as
// "load (Tue Feb 13 05:01:19 2001): 0.24", or -1.
func stampEnd(line string, space int) int {
	i := space
	want := func(pattern string) bool {
		for _, p := range []byte(pattern) {
			if i >= len(line) {
				return false
			}
			c := line[i]
			switch p {
			case 'A':
				if c < 'A' || c > 'Z' {
					return false
				}
			case 'a':
				if c < 'a' || c > 'z' {
					return false
				}
			case '0':
				if !ctext.IsDigit(c) {
					return false
				}
			case '2':
				if c < '0' || c > '2' {
					return false
				}
			case '5':
				if c < '0' || c > '5' {
					return false
				}
			default:
				if c != p {
					return false
				}
			}
			i++
		}
		return true
	}
	if !want(" (Aaa Aaa ") {
		return -1
	}
	for i < len(line) && line[i] == ' ' {
		i++
	}
	day := i
	i = ctext.Digits(line, i)
	if i == day || !want(" 20:50:50 0000") {
		return -1
	}
	end := i
	if !want("): ") {
		return -1
	}
	return end
}

// fields splits a line into name, time and value, as far as it has them.
func fields(line string) []string {
	space := strings.IndexByte(line, ' ')
	if space > 0 {
		if end := stampEnd(line, space); end >= 0 {
			line = line[:space] + "|" + line[space+2:end] + "|" + line[end+3:]
			space = strings.IndexByte(line, ' ')
		}
	}
	word := line
	if space >= 0 {
		word = line[:space]
	}
	if i := strings.LastIndexByte(word, ':'); i > 0 {
		line = line[:i] + "||" + line[i+1:]
	}
	return strings.Split(line, "|")
}

const stampWidth = 24

// line takes a line of the input. An empty one ends an evaluation.
func (t *table) line(line string) {
	if ignored(line) {
		return
	}
	if line == "" {
		t.end()
		return
	}
	f := fields(line)
	if len(f) == 3 && t.stamp == "" {
		t.stamp = f[1]
	}
	if !t.begun {
		if t.n == 0 && t.stamp != "" {
			fmt.Fprintf(t.out, "%*s ", stampWidth, "")
		}
		t.text(f[0])
	}
	if t.n < len(t.values) {
		t.values[t.n] = f[len(f)-1]
	} else if !t.begun {
		t.values = append(t.values, f[len(f)-1])
	}
	t.n++
}

// text writes a column of text, cut if it is too wide.
func (t *table) text(s string) {
	s = s[:min(len(s), t.width)]
	fmt.Fprintf(t.out, "%s%s%s", t.delimiter, strings.Repeat(" ", t.width-len(s)), s)
}

// end writes the values of an evaluation.
func (t *table) end() {
	if !t.begun {
		t.columns = t.n
		io.WriteString(t.out, "\n")
	}
	if t.stamp != "" {
		fmt.Fprintf(t.out, "%*s ", stampWidth, t.stamp)
	}
	for i := range t.columns {
		v := t.values[i]
		if f, ok := number(v); ok {
			b := ctext.AppendFloat(nil, f, 'f', t.precision)
			fmt.Fprintf(t.out, "%s%s", t.delimiter, ctext.AlignRight(b, 0, t.width))
		} else {
			t.text(v)
		}
		t.values[i] = "?"
	}
	io.WriteString(t.out, "\n")
	t.n, t.stamp, t.begun = 0, "", true
}

// number returns the number that a value is, with white space around it.
func number(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n")
	if s == "" {
		return 0, false
	}
	for _, c := range []byte(s) {
		if !strings.ContainsRune("0123456789+-.eE", rune(c)) {
			return 0, false
		}
	}
	f, end, _ := ctext.Strtod(s)
	return f, end == len(s)
}

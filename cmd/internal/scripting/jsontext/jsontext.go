package jsontext

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// MaxInput is the maximum size of the input of pmjson, in bytes.
const MaxInput = 1 << 30

// Command is pmjson.
var Command = &cli.Command{
	Name:     "json",
	Link:     "pmjson",
	Group:    cli.Scripts,
	Summary:  "check and format JSON",
	Synopsis: "[options]",
	Doc: `Reads one JSON value, and prints it with indentation, or with -m without optional white space, or
with -y like YAML. Numbers and strings are not changed. With -q it only checks the text. The last of
these options is used. Invalid JSON is an error, with exit status 1.`,
	Examples: []cli.Example{
		{Line: "pcp json -i answer.json", Text: "format a file"},
		{Line: "pcp json -q -i answer.json", Text: "check a file"},
		{Line: "pcp json -m -i answer.json -o short.json", Text: "remove white space from a file"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Reporting options"),
			cli.OptDebug,
			{Short: 'i', Long: "in", Arg: "FILE", Help: "read input from named FILE"},
			{Short: 'o', Long: "out", Arg: "FILE", Help: "write output to named FILE"},
			{Short: 'm', Long: "minimal", Help: "report JSON with optional whitespace removed"},
			{Short: 'p', Long: "pretty", Help: "report neatly formatted JSON"},
			{Short: 'q', Long: "quiet", Help: "quiet mode, parse only, do not write to stdout"},
			{Short: 'y', Long: "yaml", Help: "parse JSON input, report a YAML style of output"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

func run(_ context.Context, env *cli.Env) int {
	var in, out string
	layout := 'p' // the last layout option
	o := cli.ParseOptions(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Short {
		case 'i':
			in = arg
		case 'o':
			out = arg
		case 'm', 'p', 'q', 'y':
			layout = opt.Short
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

	// Both files must exist before anything is read or written.
	from := env.Stdin
	if in != "" && in != "-" {
		f, err := os.Open(in)
		if err != nil {
			return cannot(env, in, err)
		}
		defer f.Close()
		from = f
	}
	var file *os.File
	if out != "" && out != "-" {
		var err error
		if file, err = os.OpenFile(out, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
			return cannot(env, out, err)
		}
		defer file.Close()
	}

	text, err := read(from, env.Classic())
	if err != nil {
		switch {
		case layout == 'q':
		case env.Classic():
			fmt.Fprintf(env.Stderr, "%s failed: %s\n", env.ProgName(), cli.ErrText(err))
		default:
			env.Fatalf("%v", err)
		}
		return 1
	}
	if layout == 'q' {
		return 0
	}
	p := printer{rest: text, minimal: layout == 'm'}
	if layout == 'y' {
		p.yaml(0)
	} else {
		p.json(0)
	}
	p.out = append(p.out, '\n')
	if file == nil {
		env.Stdout.Write(p.out) // main reports an error
		return 0
	}
	if fi, err := file.Stat(); err == nil && fi.Mode().IsRegular() {
		if err := file.Truncate(0); err != nil {
			return cannot(env, out, err)
		}
	}
	if err := errors.Join(write(file, p.out), file.Close()); err != nil {
		return cannot(env, out, err)
	}
	return 0
}

// cannot prints the error of a file, and returns the exit status.
func cannot(env *cli.Env, path string, err error) int {
	fmt.Fprintf(env.Stderr, "%s: %s\n", path, cli.ErrText(err))
	return 2
}

func write(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}

// read returns the JSON value in r, or ENODATA if there is none or an incomplete one, or EINVAL if
// it is not JSON. With commas set, arrays may lack commas or have too many, as for the C tool.
func read(r io.Reader, commas bool) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxInput+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxInput {
		return nil, fmt.Errorf("more than %d bytes: %w", MaxInput, -pcp.Error(syscall.E2BIG))
	}
	var value json.RawMessage
	err = json.Unmarshal(text, &value)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return text, err
	}
	if commas {
		if fixed := separate(text); json.Valid(fixed) {
			return fixed, nil
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("the input is empty: %w", -pcp.Error(syscall.ENODATA))
	}
	if syntax.Error() == unfinished {
		return nil, fmt.Errorf("the input ends within a value: %w", -pcp.Error(syscall.ENODATA))
	}
	before := text[:max(0, min(syntax.Offset-1, int64(len(text))))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return nil, fmt.Errorf("line %d, column %d: %s: %w", line, column, syntax.Error(), -pcp.Error(syscall.EINVAL))
}

// unfinished is the error of package json for text that ends too early.
const unfinished = "unexpected end of JSON input"

// separate returns text with one comma between each two elements of an array, and none elsewhere in it.
func separate(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(text)/16)
	var open []byte   // brackets that are open
	var full []bool   // for each, whether an element was read
	comma := func() { // before an element
		if n := len(open); n > 0 && open[n-1] == '[' {
			if full[n-1] {
				out = append(out, ',')
			}
			full[n-1] = true
		}
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
			continue
		case c == ',' && len(open) > 0 && open[len(open)-1] == '[':
			i++
			continue
		case c == '[' || c == '{':
			comma()
			open, full = append(open, c), append(full, false)
			out = append(out, c)
			i++
			continue
		case c == ']' || c == '}':
			if n := len(open); n > 0 {
				open, full = open[:n-1], full[:n-1]
			}
			fallthrough
		case c == ',' || c == ':':
			out = append(out, c)
			i++
			continue
		}
		end := i + 1
		if c == '"' {
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end++
		} else {
			for end < len(text) && !bytes.ContainsRune([]byte(" \t\r\n,:[]{}\""), rune(text[end])) {
				end++
			}
		}
		end = min(end, len(text))
		comma()
		out = append(out, text[i:end]...)
		i = end
	}
	return out
}

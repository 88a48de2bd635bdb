package getopt

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
)

// maxLine is the longest line of a configuration.
const maxLine = 1 << 20

// standard has the options that are known by name alone, in the order of the
// search.
func standard() []cli.Option {
	return []cli.Option{
		cli.OptAlign, cli.OptArchive, cli.OptDebug, cli.OptGuiMode, cli.OptHost, cli.OptNameSpace, cli.OptOrigin,
		cli.OptGuiPort, cli.OptStart, cli.OptSamples, cli.OptFinish, cli.OptInterval, cli.OptTimeZone,
		cli.OptHostZone, cli.OptVersion, cli.OptHelp, cli.OptSpecLocal, cli.OptLocalPMDA, cli.OptHostsFile,
		cli.OptHostList, cli.OptArchiveList, cli.OptArchiveFolio, cli.OptContainer,
	}
}

// An entry is a line of the usage message: an option, or text.
type entry struct {
	cli.Option
	text   bool // only Help is set
	hidden bool
}

// A script is the configuration of a script.
type script struct {
	entries  []entry
	synopsis string
	short    *string // in the form of getopt(3), if the configuration has it
}

// A reader reads a configuration.
type reader struct {
	script
	errorf func(format string, args ...any) // about a line
	debugf func(format string, args ...any)
	line   int
}

// errLine means that a line was wrong and has been reported.
var errLine = fmt.Errorf("bad line")

func (r *reader) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	ended := false
	for lines.Scan() {
		r.line++
		line := ctext.Bytes(lines.Bytes())
		switch {
		case ended:
			r.text(string(line))
		case len(line) > 0 && line[0] == '#':
			ended = r.command(string(line[1:]))
		default:
			if err := r.option(string(line)); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// skip returns s without its leading blanks.
func skip(s string) string { return ctext.TrimSpace(s) }

// word returns the first word of s, and the rest, which begins with the blank
// after it, if there is one.
func word(s string) (first, rest string) {
	if i := strings.IndexAny(s, ctext.Space); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// after returns s without its first n characters.
func after(s string, n int) string { return s[min(n, len(s)):] }

// command takes the line of a command and reports whether it ends the options.
func (r *reader) command(line string) (ended bool) {
	start := skip(line)
	_, arg := word(start)
	arg = skip(arg)
	begins := func(name string) bool { return len(start) >= len(name) && strings.EqualFold(start[:len(name)], name) }
	switch {
	case begins("getopt"):
		arg, _ = word(arg)
		r.debugf("getopt command: '%s'\n", arg)
		r.short = &arg
	case begins("usage"):
		r.debugf("usage command: '%s'\n", arg)
		r.synopsis = arg
	case begins("end"):
		r.debugf("end command\n")
		return true
	default:
		r.errorf("unrecognized command: '%s'\n", line)
	}
	return false
}

func (r *reader) text(line string) {
	r.debugf("append: '%s'\n", line)
	r.entries = append(r.entries, entry{Option: cli.Option{Help: line}, text: true})
}

func (r *reader) add(o cli.Option) { r.entries = append(r.entries, entry{Option: o}) }

// option takes a line with an option, as in
//
//	--host
//	--label              dump the archive label
//	--background=COLOR   render background with given color
//	-b=N, --batch=N      fetch N metrics at a time
//	-X=N                 offset resulting values by N units
//
// or with text. It is an option if the first word after blanks is one; if the
// line does not begin with blanks, that is its second word.
func (r *reader) option(line string) error {
	r.debugf("parsing option: '%s'", line)
	_, rest := word(line)
	start := skip(rest)
	first, rest := word(start)
	if !strings.HasPrefix(first, "-") {
		// C cuts the text off after that word.
		r.text(line[:len(line)-len(rest)])
		return nil
	}
	message := skip(rest)
	if message == "" {
		return r.standard(first)
	}
	if long, ok := strings.CutPrefix(first, "--"); ok {
		long, arg, _ := strings.Cut(long, "=")
		if strings.Contains(first, "=") && arg == "" {
			arg = noName
		}
		r.add(cli.Option{Long: long, Arg: arg, Help: message})
		return nil
	}
	if i := strings.IndexByte(first, ','); i >= 0 {
		return r.both(first, i, rest)
	}
	o := cli.Option{}
	if len(first) > 1 {
		o.Short = rune(first[1])
	}
	if _, arg, ok := strings.Cut(first, "="); ok {
		o.Arg = arg
		if arg == "" {
			o.Arg = noName
		}
		o.Help = skip(after(rest, 2)) // at least two blanks are expected
	} else if len(first) == 2 {
		o.Help = skip(after(rest, 1))
	} else if len(first) < 2 {
		o.Help = skip(after(rest, 2))
	}
	r.add(o)
	return nil
}

// noName is the name of an argument without a name.
const noName = "\x00"

// both takes an option with a short and a long form: first, which has a comma
// at i, and the rest.
func (r *reader) both(first string, i int, rest string) error {
	o := cli.Option{}
	if i > 1 {
		o.Short = rune(first[1])
	} else {
		o.Short = ','
	}
	long := first[i+1:]
	message := ""
	if long == "" {
		long = skip(after(rest, 1))
	} else {
		message = skip(after(rest, 1))
	}
	dash := strings.IndexByte(long, '-')
	if dash < 0 || !strings.HasPrefix(long[dash:], "--") {
		if dash < 0 {
			dash = len(long)
		}
		r.errorf("expected long option at \"%s\", line %d ignored\n", long[dash:], r.line)
		return errLine
	}
	long = long[dash+2:]
	// The name of the option ends at an equals sign, wherever it is.
	if name, arg, ok := strings.Cut(long, "="); ok {
		o.Long = name
		var tail string
		o.Arg, tail = word(arg)
		if o.Arg == "" {
			o.Arg = noName
		}
		if message == "" {
			message = skip(after(tail, 1))
		}
	} else {
		var tail string
		o.Long, tail = word(long)
		if message == "" {
			message = skip(after(tail, 1))
		}
	}
	o.Help = message
	r.add(o)
	return nil
}

// standard adds one of the standard options.
func (r *reader) standard(name string) error {
	for _, o := range standard() {
		if o.Long == strings.TrimPrefix(name, "--") && strings.HasPrefix(name, "--") ||
			!strings.HasPrefix(name, "--") && len(name) > 1 && o.Short == rune(name[1]) {
			r.entries = append(r.entries, entry{Option: o, hidden: o.Help == ""})
			return nil
		}
	}
	r.errorf("cannot find PCP option \"%s\", line %d ignored\n", name, r.line)
	return errLine
}

// usage is the usage message.
func (s *script) usage(name string, seven bool) string {
	var b strings.Builder
	synopsis := s.synopsis
	if synopsis == "" {
		synopsis = "[options]"
	}
	fmt.Fprintf(&b, "Usage: %s %s\n", name, synopsis)
	for _, e := range s.entries {
		if seven && e.Help == cli.OptArchive.Help {
			e.Help = "metrics source is a PCP archive"
		}
		arg := e.Arg
		if arg == noName {
			arg = ""
		}
		var left string
		switch {
		case e.hidden:
			continue
		case e.text:
			fmt.Fprintf(&b, "%s\n", e.Help)
			continue
		case e.Long == "" && e.Arg != "":
			left = fmt.Sprintf("  -%c %s", e.Short, arg)
		case e.Long == "":
			left = fmt.Sprintf("  -%c", e.Short)
		case e.Short != 0 && e.Arg != "":
			left = fmt.Sprintf("  -%c %s, --%s=%s", e.Short, arg, e.Long, arg)
		case e.Short != 0:
			left = fmt.Sprintf("  -%c, --%s", e.Short, e.Long)
		case e.Arg != "":
			left = fmt.Sprintf("  --%s=%s", e.Long, arg)
		default:
			left = "  --" + e.Long
		}
		if len(left) < 24 {
			fmt.Fprintf(&b, "%-24s%s\n", left, e.Help)
		} else {
			fmt.Fprintf(&b, "%s\n%24s%s\n", left, "", e.Help)
		}
	}
	return b.String()
}

// options returns the options for parsing: each form by itself, as the short
// ones may be listed apart. Name returns the name of an option then.
func (s *script) options() (opts []cli.Option, name func(*cli.Option) string) {
	short := ""
	if s.short != nil {
		short = *s.short
	} else {
		for _, e := range s.entries {
			if e.text || e.Short == 0 || strings.ContainsRune(`-|"`, e.Short) {
				continue
			}
			short += string(e.Short)
			if e.Arg != "" {
				short += ":"
			}
		}
	}
	for i := 0; i < len(short); i++ {
		if short[i] == ':' {
			continue
		}
		o := cli.Option{Short: rune(short[i])}
		if i+1 < len(short) && short[i+1] == ':' {
			o.Arg = noName
		}
		opts = append(opts, o)
	}
	shorts := map[string]rune{}
	for _, e := range s.entries {
		if e.text || e.Long == "" {
			continue
		}
		opts = append(opts, cli.Option{Long: e.Long, Arg: e.Arg})
		if _, ok := shorts[e.Long]; !ok {
			shorts[e.Long] = e.Short
		}
	}
	return opts, func(o *cli.Option) string {
		c := o.Short
		if c == 0 {
			c = shorts[o.Long]
		}
		if c == 0 {
			return "--" + o.Long
		}
		return "-" + string(c)
	}
}

package getopt

import (
	"iter"
	"strings"
)

// An Option is one option of a program, or with Short and Long zero a heading
// in its usage message, a line of text there if Arg is "|" (pmLongOptions).
type Option struct {
	Short rune   // 0 if there is only the long form
	Long  string // "" if there is only the short form
	Arg   string // name of the argument in the usage message; "" for a flag
	Help  string // as the usage message prints it; "" hides the option
	Maybe bool   // the argument may be left out; it must be in the same word ("-Uroot", "--user=root")
	Shown bool   // the short form is in the usage message, but refused: the C program forgot it
	Extra bool   // the C program does not have it: the usage message, which others parse, neither
}

// A Parser steps through arguments as pmgetopt_r(3) does: short options may be
// clustered, long ones abbreviated or given their argument after "=", options
// and other arguments may be mixed unless POSIX is set, and "--" ends the
// options.
type Parser struct {
	// POSIX makes the first argument that is not an option end the options, as
	// the environment variable POSIXLY_CORRECT does.
	POSIX bool
	// ShortOnly makes an argument that begins with "--" a cluster of short
	// options, as in a program without a table of options.
	ShortOnly bool

	opts    []Option
	total   int
	args    []string
	next    string // rest of a cluster of short options
	rest    []string
	problem string
}

// New returns a Parser of args, which do not include the program's name.
func New(opts []Option, args []string) *Parser {
	return &Parser{opts: opts, total: len(args), args: args}
}

// Next returns the next option and its argument. A nil option with ok true means a
// mistake, which Problem describes. When ok is false there are no more options, and
// Args has the other arguments.
func (p *Parser) Next() (opt *Option, arg string, ok bool) {
	p.problem = ""
	if p.next != "" {
		opt, arg = p.short()
		return opt, arg, true
	}
	for len(p.args) > 0 {
		a := p.args[0]
		if len(a) < 2 || a[0] != '-' {
			if p.POSIX {
				break
			}
			p.rest = append(p.rest, a)
			p.args = p.args[1:]
			continue
		}
		p.args = p.args[1:]
		switch {
		case a == "--":
			p.rest = append(p.rest, p.args...)
			p.args = nil
		case a[1] == '-' && !p.ShortOnly:
			opt, arg = p.long(a)
			return opt, arg, true
		default:
			p.next = a[1:]
			opt, arg = p.short()
			return opt, arg, true
		}
	}
	p.rest = append(p.rest, p.args...)
	p.args = nil
	return nil, "", false
}

// All yields the results of Next, until there are no more options.
func (p *Parser) All() iter.Seq2[*Option, string] {
	return func(yield func(*Option, string) bool) {
		for {
			opt, arg, ok := p.Next()
			if !ok || !yield(opt, arg) {
				return
			}
		}
	}
}

// Problem returns the mistake in the option that Next could not return, in the
// words of pmgetopt_r(3), without the program's name.
func (p *Parser) Problem() string { return p.problem }

// Taken returns how many arguments Next has dealt with so far: optind of
// pmgetopt_r(3), less the program's name.
func (p *Parser) Taken() int { return p.total - len(p.args) }

// Args returns the arguments that are not options, once Next has returned false, or All ended.
func (p *Parser) Args() []string { return p.rest }

func (p *Parser) short() (*Option, string) {
	c := p.next[0]
	p.next = p.next[1:]
	opt := p.find(rune(c))
	if opt == nil {
		p.problem = "invalid option -- '" + string([]byte{c}) + "'"
		return nil, ""
	}
	if opt.Arg == "" {
		return opt, ""
	}
	arg := p.next
	if arg == "" && !opt.Maybe {
		if len(p.args) == 0 {
			p.problem = "option requires an argument -- '" + string([]byte{c}) + "'"
			return nil, ""
		}
		arg, p.args = p.args[0], p.args[1:]
	}
	p.next = ""
	return opt, arg
}

func (p *Parser) find(c rune) *Option {
	for i := range p.opts {
		if p.opts[i].Short == c && c != 0 && !p.opts[i].Shown {
			return &p.opts[i]
		}
	}
	return nil
}

func (p *Parser) long(whole string) (*Option, string) {
	name, arg, hasArg := strings.Cut(whole[2:], "=")
	opt, others := p.match(name)
	switch {
	case opt == nil:
		p.problem = "unrecognized option '" + whole + "'"
		return nil, ""
	case len(others) > 0:
		var b strings.Builder
		b.WriteString("option '" + whole + "' is ambiguous; possibilities: '--" + opt.Long + "'")
		for i := len(others) - 1; i >= 0; i-- {
			b.WriteString(" '--" + others[i].Long + "'")
		}
		p.problem = b.String()
		return nil, ""
	case opt.Arg == "" && hasArg:
		p.problem = "option '--" + opt.Long + "' doesn't allow an argument"
		return nil, ""
	case opt.Arg != "" && !hasArg && !opt.Maybe:
		if len(p.args) == 0 {
			p.problem = "option '--" + opt.Long + "' requires an argument"
			return nil, ""
		}
		arg, p.args = p.args[0], p.args[1:]
	}
	return opt, arg
}

// match returns the option called name, or the first that name abbreviates
// with those after it that differ from it in more than their long name. An option
// that the C program does not have is abbreviated only if no other one is.
func (p *Parser) match(name string) (found *Option, others []*Option) {
	for i := range p.opts {
		o := &p.opts[i]
		switch {
		case o.Long == "" || !strings.HasPrefix(o.Long, name):
		case o.Long == name:
			return o, nil
		case found == nil || found.Extra && !o.Extra:
			found, others = o, nil
		case o.Extra && !found.Extra:
		case found.Short != o.Short || (found.Arg == "") != (o.Arg == ""):
			others = append(others, o)
		}
	}
	return found, others
}

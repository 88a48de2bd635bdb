package cli

import "github.com/go-pcp/pcp/internal/getopt"

// ParseArgs reads the arguments of a command as pmgetopt_r(3) does, for tools
// whose C counterparts use only that function. PCP_DEBUG is the only environment
// variable that it takes for an option, and it checks options one by one. It uses
// only the fields POSIX, AndOr and Own of cfg. As with [ParseOptions], the tool
// then calls [Options.Done].
func ParseArgs(env *Env, cfg ParseConfig) *Options {
	o := &Options{env: env, cfg: cfg, debugs: env.Debug()}
	o.arguments()
	return o
}

// arguments reads the arguments of the command.
func (o *Options) arguments() {
	p := getopt.New(o.env.Command.Options, o.env.Args)
	p.POSIX = o.cfg.POSIX || o.env.Getenv("POSIXLY_CORRECT") != ""
	for opt, arg := range p.All() {
		switch {
		case opt == nil:
			o.Usagef("%s", p.Problem())
		case o.cfg.Own != nil && o.cfg.Own(o, opt, arg):
		default:
			o.common(opt, arg)
		}
	}
	o.Args = p.Args()
}

// Number returns the argument of an option that takes a number. If it is not a
// number, or is less than least, Number records a mistake as [Options.Usagef]
// does, "-b requires numeric argument" with kind in place of "numeric", and returns 0.
func (o *Options) Number(opt *Option, arg string, least int, kind string) int {
	n, ok := Atoi(arg)
	if !ok || n < least {
		o.Usagef("-%c requires %s argument", opt.Short, kind)
		return 0
	}
	return n
}

package cli

import "github.com/go-pcp/pcp/internal/getopt"

// ParseArgs reads the arguments of a command as pmgetopt_r(3) does, for tools
// that use no more than that of the C library: of the environment only
// PCP_DEBUG means an option, and options are checked one by one. Of cfg only
// POSIX and Own count. As with [ParseOptions], the tool then calls
// [Options.Done].
func ParseArgs(env *Env, cfg ParseConfig) *Options {
	o := &Options{env: env, cfg: cfg, debugs: env.Debug()}
	p := getopt.New(env.Command.Options, env.Args)
	p.POSIX = cfg.POSIX || env.Getenv("POSIXLY_CORRECT") != ""
	for {
		opt, arg, ok := p.Next()
		if !ok {
			break
		}
		switch {
		case opt == nil:
			o.Usagef("%s", p.Problem())
		case cfg.Own != nil && cfg.Own(o, opt, arg):
		default:
			o.common(opt, arg)
		}
	}
	o.Args = p.Args()
	return o
}

package getopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
)

// Command is pmgetopt.
var Command = &cli.Command{
	Name:     "getopt",
	Link:     "pmgetopt",
	Group:    cli.Scripts,
	Summary:  "parse the options of a shell script",
	Synopsis: "[options] -- [progname arguments]",
	Doc: `Parses the options of a shell script like those of PCP's tools, and prints them in a form that the
script can evaluate. A file or the script's comments describe the options, and the same text gives
the usage message.`,
	Examples: []cli.Example{
		{Line: `args=$(pcp getopt --config=$0 -- "$@") || exit 1`, Text: `parse a script's arguments by the description in the script`},
	},
	Debug: []string{"desperate"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'u', Long: "usage", Help: "generate usage message for calling script"},
			{Short: 'c', Long: "config", Arg: "FILE", Help: "read usage configuration from given FILE"},
			{Short: 'p', Long: "progname", Arg: "?", Help: "program name of calling script, for error reporting"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

func run(_ context.Context, env *cli.Env) int {
	name := env.ProgName()
	var config, progname string
	usage := false
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Short {
		case 'c':
			config = arg
		case 'p':
			progname = arg
		case 'u':
			usage = true
		default:
			return false
		}
		return true
	}})
	if status, exit := o.Done(); exit {
		return status
	}
	debug := o.Debugging("desperate")

	r := &reader{
		errorf: func(format string, args ...any) { fmt.Fprintf(env.Stderr, name+": "+format, args...) },
		debugf: func(format string, args ...any) {
			if debug {
				fmt.Fprintf(env.Stderr, name+": "+format, args...)
			}
		},
	}
	in := env.Stdin
	if config != "" {
		f, err := os.Open(config)
		if err != nil {
			r.errorf("cannot open %s for reading configuration\n", config)
			return 1
		}
		defer f.Close()
		in = f
	}
	if err := r.read(in); err != nil {
		if !errors.Is(err, errLine) {
			r.errorf("line %d: %v\n", r.line+1, err)
		}
		return 1
	}
	if progname == "" {
		progname = name
	}
	if usage {
		env.Printf("%s", r.usage(progname, env.Seven()))
		env.Flush()
		return 1
	}
	for _, problem := range parse(env.Stdout, &r.script, o.Args) {
		if env.Seven() {
			fmt.Fprintf(env.Stderr, "%s: %s\n", progname, problem)
		}
	}
	return 0
}

// parse prints args in the form for the script. After a mistake it prints -?,
// for which the script must print its usage message. It returns the mistakes.
func parse(w io.Writer, s *script, args []string) (problems []string) {
	opts, name := s.options()
	p := getopt.New(opts, args)
	p.POSIX = true
	p.ShortOnly = len(s.entries) == 0
	var words []string
	for opt, arg := range p.All() {
		switch {
		case opt == nil:
			problems = append(problems, p.Problem())
			words = append(words, "-?")
		case opt.Arg != "":
			words = append(words, name(opt), quote(arg))
		default:
			words = append(words, name(opt))
		}
	}
	if rest := p.Args(); len(rest) > 0 {
		words = append(words, "--")
		for _, arg := range rest {
			words = append(words, quote(arg))
		}
	}
	fmt.Fprintln(w, strings.Join(words, " "))
	return problems
}

// quote returns s so that a shell takes it as one word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

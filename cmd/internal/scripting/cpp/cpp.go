package cpp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/cpp"
	"github.com/go-pcp/pcp/internal/stdpmid"
)

// Command is pmcpp.
var Command = &cli.Command{
	Name:     "cpp",
	Link:     "pmcpp",
	Group:    cli.WriteAgent,
	Summary:  "preprocess a name space file",
	Synopsis: "[-Prs] [-Dname[=value] ...] [-I dir ...] [[infile] outfile]",
	Doc: `Preprocesses a name space file or a configuration file: includes files, expands macros and evaluates
conditions.`,
	Examples: []cli.Example{
		{Line: `pcp cpp -D DOMAIN=29 root_sample`, Text: `expand a file with a macro defined`},
	},
	SeeAlso: []string{"PMNS(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.OptHelp,
			{Short: 'D', Long: "define", Arg: "name[=value]", Help: "define a macro with an optional value"},
			{Short: 'I', Long: "include", Arg: "dir", Help: "additional directory to search for include files"},
			{Short: 'P', Help: "do not output # lineno \"filename\" linemarkers"},
			{Short: 'r', Long: "restrict", Help: "restrict macro expansion to #name or #{name}"},
			{Short: 's', Long: "shell", Help: "use alternate control syntax with prefix % instead of #"},
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// options are those of the arguments.
type options struct {
	cfg     cpp.Config
	defines []string
	plain   bool // no line markers
	files   []string
}

func run(_ context.Context, env *cli.Env) int {
	o, err := parse(env)
	if err != nil {
		return report(env, err)
	}
	if o == nil {
		env.Printf("%s", env.Command.Usage(env.ProgName()))
		env.Flush()
		return 1
	}
	if err := o.copy(env); err != nil {
		return report(env, err)
	}
	return 0
}

// report prints an error after the output before it.
func report(env *cli.Env, err error) int {
	env.FlushOut()
	if e, ok := errors.AsType[*cpp.Error](err); ok {
		fmt.Fprint(env.Stderr, e.Diagnostic())
		return 1
	}
	return env.Fatalf("%v", err)
}

// parse reads the arguments. It returns nil if the usage message must be
// printed. A bad definition is an error at once, before other mistakes.
func parse(env *cli.Env) (*options, error) {
	o := &options{}
	o.cfg.Shell = cpp.Shell(env.Stderr)
	o.cfg.Warn = func(message string) { fmt.Fprintln(env.Stderr, message) }
	check := cpp.NewReader(strings.NewReader(""), "<arg>", cpp.Config{})
	env.Debug()
	p := getopt.New(env.Command.OptionList(), env.Args)
	p.POSIX = env.Getenv("POSIXLY_CORRECT") != ""
	usage := false
	for opt, arg := range p.All() {
		if opt == nil {
			env.Errorf("%s", p.Problem())
			usage = true
			continue
		}
		switch opt.Short {
		case 'D':
			if err := check.Define(arg); err != nil {
				if e, ok := errors.AsType[*cpp.Error](err); ok {
					e.Line = p.Taken() + 1
					e.Text = "#define " + strings.Replace(arg, "=", " ", 1)
				}
				return nil, err
			}
			o.defines = append(o.defines, arg)
		case 'I':
			o.cfg.IncludeDirs = append(o.cfg.IncludeDirs, arg)
		case 'P':
			o.plain = true
		case 'r':
			o.cfg.Restrict = true
		case 's':
			o.cfg.Percent = true
		default:
			usage = true
		}
	}
	o.files = p.Args()
	if usage || len(o.files) > 2 {
		return nil, nil
	}
	o.cfg.IncludeDirs = append(o.cfg.IncludeDirs, includeDir(env))
	o.cfg.Builtin = stdpmid.Include
	return o, nil
}

// includeDir returns the directory of the name space, the last place to look
// for a file.
func includeDir(env *cli.Env) string {
	return filepath.Join(env.Config().Get("PCP_VAR_DIR"), "pmns")
}

// copy preprocesses the input to the output.
func (o *options) copy(env *cli.Env) (err error) {
	var r *cpp.Reader
	if len(o.files) == 0 {
		r = cpp.NewReader(env.Stdin, "<stdin>", o.cfg)
	} else if r, err = cpp.Open(o.files[0], o.cfg); err != nil {
		return err
	}
	defer r.Close()
	for _, d := range o.defines {
		if err := r.Define(d); err != nil {
			return err
		}
	}
	w := env.Stdout
	if len(o.files) == 2 {
		name := o.files[1]
		f, err := os.Create(name)
		if err != nil {
			//lint:ignore ST1005 the words of the C tool
			return fmt.Errorf("Cannot open outfile (%s) for writing: %s", name, cli.ErrText(err))
		}
		w = f
		defer func() {
			if cerr := f.Close(); err == nil && cerr != nil {
				err = fmt.Errorf("writing %s: %s", name, cli.ErrText(cerr))
			}
		}()
	}
	return r.Copy(w, !o.plain)
}

package config

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/config"
)

// Command is pmconfig.
var Command = &cli.Command{
	Name:     "config",
	Link:     "pmconfig",
	Group:    cli.Scripts,
	Summary:  "print settings and features",
	Synopsis: "[variable ...]",
	Doc: `Prints the settings from pcp.conf and the environment, or with -L the features of the library.
Arguments select settings.`,
	Examples: []cli.Example{
		{Line: `pcp config PCP_LOG_DIR`, Text: `print one setting`},
		{Line: `eval $(pcp config -s)`, Text: `give a shell script all settings`},
	},
	SeeAlso: []string{"pcp.conf(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Reporting options"),
			{Short: 'a', Long: "all", Help: "show all, unmodified format (default)"},
			{Short: 'l', Long: "list", Help: "synonym for showing \"all\" (above)"},
			{Short: 'L', Long: "library", Help: "show library features instead of environment"},
			{Short: 's', Long: "shell", Help: "show all, quoted format for shell expansion"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// A report prints settings in one of the formats.
type report struct {
	env      *cli.Env
	shell    bool // quoted, for eval
	features bool // which the environment cannot override
}

func run(_ context.Context, env *cli.Env) int {
	r := report{env: env}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		switch opt.Short {
		case 'a', 'l':
			r.shell = false
		case 's':
			r.shell = true
		case 'L':
			r.features = true
		default:
			return false
		}
		return true
	}})
	if status, exit := o.Done(); exit {
		return status
	}
	names := o.Args
	var get func(string) string
	if r.features {
		get = func(name string) string {
			value, _ := config.Feature(name)
			return value
		}
		if len(names) == 0 {
			names = config.Features()
		}
	} else {
		cfg := env.Config()
		if err := cfg.Err(); err != nil {
			return env.Fatalf("%v", err)
		}
		get = func(name string) string {
			if r.shell && name == "SHELL" {
				return "/bin/sh"
			}
			if env.IsSet(name) {
				return env.Getenv(name)
			}
			return cfg.Get(name)
		}
		if len(names) == 0 {
			names = r.unset(cfg.Names())
		}
	}
	for _, name := range names {
		r.print(name, get(name))
	}
	return 0
}

// unset removes the names that the environment has: a list shows values of the
// file, which pmconfig uses only for the others.
func (r *report) unset(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return r.env.IsSet(name) || r.shell && name == "SHELL"
	})
}

func (r *report) print(name, value string) {
	if !r.shell {
		fmt.Fprintf(r.env.Stdout, "%s=%s\n", name, value)
		return
	}
	if value == "" {
		value = "false"
	}
	value = strings.ReplaceAll(value, "'", `'\''`)
	if r.features {
		fmt.Fprintf(r.env.Stdout, "export %s='%s'\n", name, value)
	} else {
		fmt.Fprintf(r.env.Stdout, "export %s=${%[1]s:-'%s'}\n", name, value)
	}
}

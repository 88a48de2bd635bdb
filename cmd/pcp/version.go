package main

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/version"
)

// versionCommand prints the number that --version prints, and how the program
// was built.
var versionCommand = &cli.Command{
	Name:     "version",
	Group:    cli.Administer,
	Summary:  "print the version of this program and how it was built",
	Synopsis: "[options]",
	Doc: `Prints two lines: the version, like --version of every command, and the commit, the Go release and
the system of the build. All commands and the metric pmcd.version have this version.`,
	Examples:    []cli.Example{{Line: "pcp version", Text: "print the version, for a bug report"}},
	DieOnSignal: true,
	Options:     func() []cli.Option { return []cli.Option{cli.Heading("General options"), cli.OptVersion, cli.OptHelp} },
	Run: func(_ context.Context, env *cli.Env) int {
		o := cli.ParseArgs(env, cli.ParseConfig{})
		if len(o.Args) > 0 {
			o.WantUsage()
		}
		if status, exit := o.Done(); exit {
			return status
		}
		fmt.Fprintf(env.Stdout, "pcp version %s\n%s\n", env.Version, version.Details())
		return 0
	},
}

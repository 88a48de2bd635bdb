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
	Group:    "This program",
	Summary:  "print the version of this program and how it was built",
	Synopsis: "[options]",
	Doc: `Prints two lines: the version, as every command's --version does, and
the commit, the Go release and the system that the program was built from and for.

Every command of the program has this version, the collector's metric
pmcd.version included.`,
	Examples:    []cli.Example{{Line: "pcp version", Text: "say which version this is, for a bug report"}},
	DieOnSignal: true,
	Options:     []cli.Option{cli.Heading("General options"), cli.OptVersion, cli.OptHelp},
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

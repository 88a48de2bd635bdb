package logconf

import (
	"context"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// RepCommand is pmrepconf.
var RepCommand = &cli.Command{
	Name:     "repconf",
	Link:     "pmrepconf",
	Group:    cli.Administer,
	Summary:  "create or change a configuration of pmrep",
	Synopsis: "[options] ...",
	Doc: `Creates a configuration for pcp rep, and for the exporters that read the same format, from the
groups of metrics of pcp logconf that the collector has; their metrics are in the section [metrics].
An existing configuration is changed: the command asks about each group, and shows the changes
before it writes them. With -c it asks nothing.

The part after the line "DO NOT UPDATE THE FILE ABOVE THIS LINE" is kept unchanged.`,
	Examples: []cli.Example{
		{Line: `pcp repconf mine.conf`, Text: `create a configuration, or change it interactively`},
		{Line: `pcp repconf -c -o interval=10 -h web1 web1.conf`, Text: `create one for another host, without questions`},
		{Line: `pcp rep -c mine.conf :metrics`, Text: `report the metrics of a configuration`},
	},
	SeeAlso: []string{"pmrep(1)", "pmrep.conf(5)", "pmlogconf(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.OptDebug,
			cli.OptHost,
			{Short: 'c', Help: "add message and timestamp (not for interactive use)"},
			{Short: 'g', Long: "group", Arg: "TAG", Help: "report the logging state for a specific metrics group"},
			{Short: 'd', Long: "groups", Arg: "DIR", Help: "specify path to the pmlogconf groups directory"},
			{Short: 'o', Long: "option", Arg: "TEXT", Help: "text to add to the [options] section"},
			{Short: 'r', Long: "reprobe", Help: "every group reconsidered for inclusion in configfile"},
			{Short: 'v', Long: "verbose", Help: "increase diagnostic verbosity"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: func(ctx context.Context, env *cli.Env) int { return run(ctx, env, &tool{kind: "pmrep"}) },
}

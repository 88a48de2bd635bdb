package nsedit

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmns"
)

// DelCommand is pmnsdel.
var DelCommand = &cli.Command{
	Name:     "nsdel",
	Link:     "pmnsdel",
	Group:    cli.WriteAgent,
	Summary:  "delete subtrees of a name space file",
	Synopsis: "[options] metricpath [...]",
	Doc:      `Deletes names and all names below them from a name space file.`,
	Examples: []cli.Example{
		{Line: `pcp nsdel -n ./root mine`, Text: `delete a subtree`},
	},
	SeeAlso: []string{"pmnsadd(1)", "PMNS(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'd'},
			cli.OptDebug,
			cli.OptNameSpace,
			cli.OptHelp,
		}
	},
	Run: runDel,
}

func runDel(ctx context.Context, env *cli.Env) int {
	path := pmns.DefaultPath(env.Config())
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Short {
		case 'd':
			fmt.Fprintf(env.Stderr, "%s: Warning: -d deprecated, duplicate PMNS names allowed by default\n", env.ProgName())
		case 'n':
			path = arg
		default:
			return false
		}
		return true
	}})
	if len(o.Args) == 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	unlock, err := alone(ctx, path)
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	defer unlock()
	tree, err := load(env, path, true)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	for _, name := range o.Args {
		if tree.Remove(name) != nil {
			return env.Fatalf("Error: metricpath \"%s\" not defined in the PMNS", name)
		}
	}
	if ctx.Err() != nil { // from here on the file must be written completely
		return 1
	}
	if err := replace(path, tree); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

package hostname

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pmhostname.
var Command = &cli.Command{
	Name:     "hostname",
	Link:     "pmhostname",
	Group:    cli.Scripts,
	Summary:  "print the full name of a host",
	Synopsis: "[hostname]",
	Doc:      `Prints the full name of a host from the resolver; without an argument, that of this host.`,
	Examples: []cli.Example{
		{Line: `pcp hostname`, Text: `print the full name of this host`},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

func run(ctx context.Context, env *cli.Env) int {
	o := cli.ParseOptions(env, cli.ParseConfig{})
	if len(o.Args) > 1 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	var name string
	if len(o.Args) == 1 {
		name = o.Args[0]
	} else {
		var err error
		if name, err = os.Hostname(); err != nil {
			return env.Fatalf("gethostname failure")
		}
	}
	fmt.Fprintln(env.Stdout, fullName(ctx, name))
	return 0
}

// fullName returns the name of the first address of a host, or that address if
// it has no name, or name itself if there is no such host (getnameinfo(3)
// without NI_NAMEREQD).
func fullName(ctx context.Context, name string) string {
	addrs, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil || len(addrs) == 0 {
		return name
	}
	names, err := net.DefaultResolver.LookupAddr(ctx, addrs[0])
	if err != nil || len(names) == 0 {
		return addrs[0]
	}
	return strings.TrimSuffix(names[0], ".")
}

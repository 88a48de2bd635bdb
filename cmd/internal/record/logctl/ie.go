package logctl

import (
	"context"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// IECommand is pmiectl.
var IECommand = &cli.Command{
	Name:     "iectl",
	Link:     "pmiectl",
	Group:    cli.Alert,
	Summary:  "show, start, stop, create and remove pmie processes",
	Synopsis: "[options] command [host ...]",
	Doc: `Manages the pmie processes in pmie's control files, usually those for other hosts. The commands are

    status               print a table of them, also of those that are stopped or dead
    start, stop          start one, or stop it and mark its line so that it stays stopped
    restart              stop it, and start it again
    check                start those that are dead
    create               make a control file for each host, by a policy, and start its pmie
    cond-create          the same, if the policy's conditions hold for the host
    destroy              stop a pmie and remove its line

Hosts are names, or extended regular expressions for the beginning of names. A class (-c) is a group
of processes that were created from one policy: a file in class.d next to the control file, with
sections [class], [ident], [control], [create] and [destroy]. The system starts and stops the
primary pmie; this command only shows its status.

Users who may write to the directory of the control file may use all commands. For root, pmie_check
runs as PCP's user.`,
	Examples: []cli.Example{
		{Line: "pcp iectl status", Text: "list the pmie processes and their hosts"},
		{Line: "pcp iectl create web7.example.com", Text: "watch a host from now on"},
		{Line: "pcp iectl -N -V destroy web7.example.com", Text: "only print what would be done"},
	},
	SeeAlso: []string{"pmie_check(1)", "pmie(1)", "pmieconf(1)"},
	Options: func() []cli.Option {
		return slices.Concat(
			firstOptions,
			[]cli.Option{{Short: 'C', Long: "checkargs", Arg: "ARGS", Help: "more arguments for pmie_check"}},
			middleOptions,
			[]cli.Option{{Short: 'm', Long: "migrate", Help: "move the processes to the service pmie_farm"}},
			lastOptions,
		)
	},
	Run: func(ctx context.Context, env *cli.Env) int { return run(ctx, env, engine) },
}

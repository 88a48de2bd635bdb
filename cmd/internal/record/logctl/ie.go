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
	Group:    "Rules",
	Summary:  "show, start, stop, make and remove processes that evaluate rules",
	Synopsis: "[options] command [host ...]",
	Doc: `Works on the pmie processes that pmie's control files name, as a rule those for other hosts. The commands are

    status               print a table of them, also of those that are stopped or dead
    start, stop          start one, or stop it and mark its line so that it stays stopped
    restart              stop it, and start it again
    check                start those that are dead
    create               make a control file for each host, by a policy, and start its pmie
    cond-create          the same, if the policy's conditions hold for the host
    destroy              stop a pmie and remove its line

Hosts are names, or patterns of extended regular expressions for the beginning of names. A class (-c) is a group of processes that were
made by one policy: a file in class.d beside the control file, with sections [class], [ident], [control], [create] and [destroy].
The primary pmie is the system's to start and stop; only its status is shown.

Whoever may write to the directory of the control file may use all commands. Root has pmie_check run as PCP's user.`,
	Examples: []cli.Example{
		{Line: "pcp iectl status", Text: "print which pmie watches which host"},
		{Line: "pcp iectl create web7.example.com", Text: "watch a host from now on"},
		{Line: "pcp iectl -N -V destroy web7.example.com", Text: "only print what would be done"},
	},
	SeeAlso: []string{"pmie_check(1)", "pmie(1)", "pmieconf(1)"},
	Options: slices.Concat(
		firstOptions,
		[]cli.Option{{Short: 'C', Long: "checkargs", Arg: "ARGS", Help: "more arguments for pmie_check"}},
		middleOptions,
		[]cli.Option{{Short: 'm', Long: "migrate", Help: "move the processes to the service pmie_farm"}},
		lastOptions,
	),
	Run: func(ctx context.Context, env *cli.Env) int { return run(ctx, env, engine) },
}

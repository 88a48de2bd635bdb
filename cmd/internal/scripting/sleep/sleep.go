package sleep

import (
	"context"
	"fmt"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pcptime"
)

// Command is pmsleep.
var Command = &cli.Command{
	Name:     "sleep",
	Link:     "pmsleep",
	Group:    cli.Scripts,
	Summary:  "wait for an interval",
	Synopsis: "interval",
	Doc:      `Waits for an interval in PCP's format: a number of seconds, or a number with a unit.`,
	Examples: []cli.Example{
		{Line: `pcp sleep 1.5min`, Text: `wait for a minute and a half`},
	},
	DieOnSignal: true,
	Run:         run,
}

// run waits for the interval that its argument gives. As with pmsleep, which
// reads no options, an invalid interval gets a message, and the exit status is
// 0.
func run(ctx context.Context, env *cli.Env) int {
	env.Debug()
	if len(env.Args) != 1 {
		fmt.Fprintf(env.Stderr, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
		return 1
	}
	d, err := pcptime.ParseInterval(env.Args[0])
	if err != nil {
		fmt.Fprint(env.Stderr, err)
		return 0
	}
	if !pacing.Sleep(ctx, d) {
		return int(syscall.EINTR)
	}
	return 0
}

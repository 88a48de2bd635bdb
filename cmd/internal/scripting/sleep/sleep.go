package sleep

import (
	"context"
	"fmt"
	"strings"
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
	Doc: `Waits for an interval in PCP's format: a number of seconds, or a number with a unit. As in PCP 7, the
option -w with a text before the interval has no effect: it shows in the list of processes for what
a script waits.`,
	Examples: []cli.Example{
		{Line: `pcp sleep 1.5min`, Text: `wait for a minute and a half`},
	},
	DieOnSignal: true,
	Run:         run,
}

// withoutNote removes -w and its text, a note for ps(1), from the front of arguments. It returns false if the text is missing.
func withoutNote(args []string) ([]string, bool) {
	switch {
	case len(args) == 0 || !strings.HasPrefix(args[0], "-w"):
		return args, true
	case len(args[0]) > len("-w"):
		return args[1:], true
	case len(args) == 1:
		return nil, false
	}
	return args[2:], true
}

// run waits for the interval that its argument gives. As with pmsleep, which
// reads no options but -w, an invalid interval gets a message, and the exit status is
// 0.
func run(ctx context.Context, env *cli.Env) int {
	env.Debug()
	args, ok := withoutNote(env.Args)
	if !ok || len(args) != 1 {
		fmt.Fprintf(env.Stderr, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
		return 1
	}
	d, err := pcptime.ParseInterval(args[0])
	if err != nil {
		fmt.Fprint(env.Stderr, err)
		return 0
	}
	if !pacing.Sleep(ctx, d) {
		return int(syscall.EINTR)
	}
	return 0
}

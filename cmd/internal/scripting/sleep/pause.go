package sleep

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// PauseCommand is pmpause.
var PauseCommand = &cli.Command{
	Name:     "pause",
	Link:     "pmpause",
	Group:    cli.Scripts,
	Summary:  "wait for a signal",
	Synopsis: "",
	Doc: `Waits for SIGINT, SIGQUIT or SIGTERM, and then succeeds. Other signals have no effect. As the first
process of a container it reaps processes, and it ends with its last child. The option -w with a text
has no effect: it shows in the list of processes for what a script waits.`,
	Examples: []cli.Example{
		{Line: `pcp pause`, Text: `wait until ctrl-C`},
	},
	Run: pause,
}

// pause waits. Like pmpause it ignores its arguments, such as -w TEXT of PCP 7.
func pause(ctx context.Context, env *cli.Env) int {
	if args, ok := withoutNote(env.Args); (len(args) > 0 || !ok) && !env.Classic() {
		o := cli.ParseArgs(env, cli.ParseConfig{})
		o.WantUsage()
		status, _ := o.Done()
		return status
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals) // all of them, so that none ends the process
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return 0
		case sig := <-signals:
			switch sig {
			case syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT:
				return 0
			case syscall.SIGCHLD:
				if reap() {
					return 0
				}
			}
		}
	}
}

// reap takes the status of children that have ended, and reports whether there are
// no others.
func reap() (none bool) {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return errors.Is(err, syscall.ECHILD)
		case pid == 0:
			return false
		}
	}
}

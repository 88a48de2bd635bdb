package cdwait

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pmcd_wait.
var Command = &cli.Command{
	Name:     "cdwait",
	Link:     "pmcd_wait",
	Group:    cli.Scripts,
	Summary:  "wait for a collector",
	Synopsis: "",
	Doc: `Waits until a collector answers, for at most the given time. Scripts use it after they start a
collector. The exit status is 0 if the collector answered and 2 after a timeout.`,
	Examples: []cli.Example{
		{Line: `pcp cdwait -t 10`, Text: `wait up to ten seconds for the collector of this host`},
	},
	SeeAlso: []string{"pmcd(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptDebug,
			{Short: 'h', Long: "host", Arg: "HOST", Help: "wait for PMCD on host"},
			{Short: 't', Long: "interval", Arg: "TIME", Help: "maximum interval to wait for PMCD [default 60 seconds]"},
			{Short: 'v', Long: "verbose", Help: "turn on output messages"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// Exit statuses, which scripts know.
const (
	statusTimeout = 2
	statusErrno   = 3 // an error of the system
	statusPCP     = 4 // an error of the protocol or collector
)

func run(ctx context.Context, env *cli.Env) int {
	verbose := false
	o := source.Parse(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		verbose = verbose || opt.Short == 'v'
		return opt.Short == 'v'
	}})
	if len(o.Args) > 0 {
		o.Usagef("Too many arguments")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	host := "unix:"
	if len(o.Hosts) > 0 {
		host = o.Hosts[0]
	}
	wait := 60 * time.Second
	if o.Interval >= time.Second {
		wait = o.Interval.Truncate(time.Second)
	}
	err := waitFor(ctx, wait, func(ctx context.Context) error {
		c, err := o.Dial(ctx, host)
		if err == nil {
			c.Close()
		}
		return err
	})
	status := statusOf(err)
	if verbose && err != nil {
		if status == statusTimeout {
			unit := "seconds"
			if wait == time.Second {
				unit = "second"
			}
			fmt.Fprintf(env.Stderr, "%s: Failed to connect to PMCD on host \"%s\" in %d %s\n", env.ProgName(), pmapi.HidePassword(host), wait/time.Second, unit)
		} else {
			o.CannotConnect(host, err)
		}
	}
	return status
}

// waitFor tries once a second until dial succeeds, wait is over, or there is an
// error that will not go away. An attempt may take as long as the whole.
func waitFor(ctx context.Context, wait time.Duration, dial func(context.Context) error) error {
	for n := wait / time.Second; ; n-- {
		attempt, cancel := context.WithTimeout(ctx, wait)
		err := dial(attempt)
		cancel()
		switch {
		case err == nil, ctx.Err() != nil:
			return err
		case !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, pcp.ErrIPC):
			return err
		case n == 0 || !pacing.Sleep(ctx, time.Second):
			return pcp.ErrTimeout
		}
	}
}

// statusOf returns the exit status for err.
func statusOf(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, pcp.ErrTimeout), errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, context.DeadlineExceeded):
		return statusTimeout
	// For a host that does not exist pmcd_wait does not report an errno.
	case pcp.Code(err) > pcp.ErrGeneric && !errors.Is(err, syscall.EHOSTUNREACH):
		return statusErrno
	}
	return statusPCP
}

// Package shipping has the options with which recorders store their archives in object storage.
//
//	var ship shipping.Options
//	... ship.Own(o, opt, arg) ...
//	s, err := ship.Open(env, &policy, event)
package shipping

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcptime"
)

// Options are the values of the options.
type Options struct {
	to, life string
	keep     time.Duration // of shipped archives; negative: none
}

// Rows returns the rows of the options.
func Rows() []cli.Option {
	return []cli.Option{
		{Long: "ship", Arg: "ADDRESS", Help: "also store finished archives at s3://BUCKET/PREFIX, or in a shared directory"},
		{Long: "keep-local", Arg: "TIME", Help: "remove stored archives this long after their last sample [default as all others]"},
		LifecycleRow(),
	}
}

// LifecycleRow returns the row of --lifecycle.
func LifecycleRow() cli.Option {
	return cli.Option{Long: "lifecycle", Arg: "AGES", Help: "how long archives are stored, and those reduced to intervals; \"off\" keeps all [" + ship.DefaultLifecycle + "]"}
}

// Own takes an option, and reports whether it is one of these. A mistake is a usage error of o.
func (set *Options) Own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "ship":
		set.to = arg
	case "keep-local":
		d, err := pcptime.ParseInterval(arg)
		if err != nil || d < 0 {
			o.Usagef("--keep-local needs a time such as 1hour or 2days, not %q", arg)
		}
		set.keep = cmp.Or(d, -1)
	case "lifecycle":
		if _, err := ship.ParseLifecycle(arg); err != nil {
			o.Usagef("--lifecycle: %v", err)
		}
		set.life = arg
	default:
		return false
	}
	return true
}

// Check reports options that need --ship as a usage error.
func (set *Options) Check(o *cli.Options) {
	if set.to != "" {
		return
	}
	if set.keep != 0 {
		o.Usagef("--keep-local is for --ship; add --ship=ADDRESS")
	}
	if set.life != "" {
		o.Usagef("--lifecycle is for --ship; add --ship=ADDRESS")
	}
}

// Try returns an error that names --ship if nothing can be stored there.
func (set *Options) Try(ctx context.Context, env *cli.Env) error {
	if set.to == "" {
		return nil
	}
	return TryDir(ctx, env, "--ship", set.to, "pcp-check")
}

// tryTime is the time limit for the answer of a store at the start. A store that does not answer is tried later.
const tryTime = 3 * time.Second

// TryDir returns an error that names the option and its argument, the address of a directory, if the directory cannot be used and
// waiting does not help. If name is not "" it must be possible to write files there, which is tried with that name.
func TryDir(ctx context.Context, env *cli.Env, option, address, name string) error {
	dir, err := objects.OpenDir(address, env.Getenv)
	if err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	if err := dir.Check(ctx, name); err != nil {
		return fmt.Errorf("%s %s: %w", option, address, err)
	}
	return nil
}

// Any reports whether archives are to be stored.
func (set *Options) Any() bool { return set.to != "" }

// Lifecycle returns a life cycle, the default one for "".
func Lifecycle(env *cli.Env, text string) (ship.Lifecycle, error) {
	l, err := ship.ParseLifecycle(cmp.Or(text, ship.DefaultLifecycle))
	l.Reduce = ship.Reducer(func(ctx context.Context, out *bytes.Buffer, args ...string) int {
		return env.Call(ctx, "pmlogreduce", out, out, args...)
	})
	return l, err
}

// Open returns what stores archives, nil if that is not wanted, and completes the policy by which local ones are removed.
func (set *Options) Open(env *cli.Env, p *janitor.Policy, event func(host, text string, err error)) (*ship.Shipper, error) {
	if set.to == "" {
		return nil, nil
	}
	dir, err := objects.OpenDir(set.to, env.Getenv)
	if err != nil {
		return nil, fmt.Errorf("--ship: %w", err)
	}
	life, err := Lifecycle(env, set.life)
	if err != nil {
		return nil, fmt.Errorf("--lifecycle: %w", err)
	}
	s, err := ship.New(ship.Config{Dir: dir, Lifecycle: life, Event: event})
	if err != nil {
		return nil, fmt.Errorf("--ship: %w", err)
	}
	p.Shipped, p.Dropped, p.Ready, p.KeepShipped = s.Shipped, s.Dropped, s.Ready, set.keep
	return s, nil
}

// Report prints the status of hosts.
func Report(w io.Writer, list []ship.Status) {
	for _, s := range list {
		fmt.Fprintf(w, "%s: %d archives stored, %d waiting with %s", s.Name, s.Shipped, s.Waiting, cli.Bytes(s.Spool))
		if s.Waiting > 0 {
			fmt.Fprintf(w, ", the oldest since %s", s.Oldest.Format("2006-01-02 15:04"))
		}
		fmt.Fprintln(w)
		if s.Dropped > 0 {
			fmt.Fprintf(w, "%s: %d archives were removed before they were stored, the last ones: %s\n", s.Name, s.Dropped, strings.Join(s.Names[max(0, len(s.Names)-10):], " "))
		}
		if s.Err != "" {
			fmt.Fprintf(w, "%s: since %s: %s\n", s.Name, s.ErrTime.Format("15:04:05"), strings.ReplaceAll(s.Err, "\n", " "))
		}
	}
}

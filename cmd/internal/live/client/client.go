package client

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

const doc = `
Prints a line at each interval: the share of time in which the processors are busy, the busiest processor, free memory, operations of the disks, and the load. It is an example for programmers; pmstat shows more. The options -g and -p are accepted and have no
effect, as in the C tools.`

// Command is pmclient.
var Command = &cli.Command{
	Name:    "client",
	Link:    "pmclient",
	Group:   cli.SeeNow,
	Summary: "show processors, memory, disks and load, as an example of a client",
	Doc:     doc,
	Examples: []cli.Example{
		{Line: "pcp client -t 2 -s 5", Text: "print five lines, two seconds apart"},
		{Line: "pcp client -a 20261121 -t 10min", Text: "show an archive"},
	},
	SeeAlso:     []string{"pmstat(1)", "pmclient_fg(1)"},
	Options:     directOptions,
	DieOnSignal: true,
	Run:         func(ctx context.Context, env *cli.Env) int { return run(ctx, env, newDirect) },
}

// GroupCommand is pmclient_fg.
var GroupCommand = &cli.Command{
	Name:    "client_fg",
	Link:    "pmclient_fg",
	Group:   cli.SeeNow,
	Summary: "the same as pmclient, an example of a fetch group",
	Doc:     doc,
	Examples: []cli.Example{
		{Line: "pcp client_fg -t 2 -s 5", Text: "print five lines, two seconds apart"},
	},
	SeeAlso:     []string{"pmstat(1)", "pmclient(1)"},
	Options:     options,
	DieOnSignal: true,
	Run:         func(ctx context.Context, env *cli.Env) int { return run(ctx, env, newGroup) },
}

func options() []cli.Option { return slices.Concat(cli.General, reporting()) }

func reporting() []cli.Option {
	return []cli.Option{
		cli.Heading("Reporting options"),
		{Short: 'P', Long: "pause", Help: "pause between updates for archive replay"},
	}
}

// directOptions takes -g and -p as options does, but has no help for them, as the C tool.
func directOptions() []cli.Option {
	return slices.Concat([]cli.Option{
		cli.Heading("General options"),
		cli.OptAlign, cli.OptArchive, cli.OptDebug,
		{Short: 'g', Long: "guimode"},
		cli.OptHost, cli.OptNameSpace,
		cli.OptOrigin,
		{Short: 'p', Long: "guiport", Arg: "N"},
		cli.OptStart, cli.OptSamples, cli.OptFinish,
		cli.OptInterval, cli.OptTimeZone, cli.OptHostZone, cli.OptVersion, cli.OptHelp,
	}, reporting())
}

// A sampler gets the values of a line.
type sampler interface {
	// sample fetches the values. It has printed the error that it returns.
	sample(ctx context.Context) error
	time() pcp.Timestamp
	processors() int
	// append appends the line.
	append(b []byte) []byte
}

func run(ctx context.Context, env *cli.Env, open func(context.Context, *cli.Env, *pmapi.Context) (sampler, error)) int {
	pause := false
	o := source.Parse(env, cli.ParseConfig{Archives: true, Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		pause = pause || opt.Short == 'P'
		return opt.Short == 'P'
	}})
	archive := o.FromArchive()
	if !o.WantsVersion() {
		if pause && !archive {
			o.Usagef("pause can only be used with archives")
		}
		if len(o.Args) > 1 {
			o.WantUsage()
		}
	}
	if status, exit := o.Done(); exit {
		return status
	}
	c, err := o.Connect(ctx)
	if err != nil {
		return 1
	}
	defer c.Close()
	loc, err := o.SetZone(ctx, c, true)
	if err != nil {
		return 1
	}
	env.FlushOut() // the C tools write line by line
	window, err := o.Window(ctx, c, loc)
	if err != nil {
		return 1
	}
	host, err := c.HostName(ctx)
	if err != nil {
		host = ""
	}
	s, err := open(ctx, env, c)
	if err != nil {
		return 1
	}
	interval := o.Interval
	if interval == 0 {
		interval = 5 * time.Second
	}
	if a, ok := c.Archive(); ok {
		if err := a.SetMode(ctx, pmapi.ModeInterp, &window.Start, interval); err != nil {
			return env.Fatalf("pmSetMode failed: %s", cli.ErrText(err))
		}
		// The first record has the number of processors alone.
		if s.sample(ctx) != nil {
			return 1
		}
	}
	if s.sample(ctx) != nil {
		return 1
	}
	var out []byte
	for n := 0; o.Samples == 0 || n < o.Samples; n++ {
		if n%15 == 0 {
			if archive {
				out = fmt.Appendf(out, "Archive: %s, ", o.Archives[0])
			}
			out = fmt.Appendf(out, "Host: %s, %d cpu(s), %s\n", host, s.processors(), pcptime.Ctime(s.time(), loc))
			busy := [2]string{}
			if s.processors() > 1 {
				busy = [2]string{"  Busy    Busy", "   CPU    Util"}
			}
			out = fmt.Appendf(out, "  CPU%s  Free Mem   Disk     Load Average\n", busy[0])
			out = fmt.Appendf(out, " Util%s  (Mbytes)   IOPS    1 Min  15 Min\n", busy[1])
		}
		out = flush(env, out)
		if (!archive || pause) && !pacing.Sleep(ctx, interval) {
			return 1
		}
		if s.sample(ctx) != nil {
			return 1
		}
		out = flush(env, s.append(out))
	}
	return 0
}

func flush(env *cli.Env, out []byte) []byte {
	env.Stdout.Write(out)
	env.FlushOut()
	return out[:0]
}

// appendFloat appends a number as C's %width.precf does. NaN has the sign that the C
// library's fetch groups give it on most machines.
func appendFloat(b []byte, f float64, width, prec int) []byte {
	if math.IsNaN(f) {
		f = math.Copysign(f, -1)
	}
	start := len(b)
	return ctext.AlignRight(ctext.AppendFloat(b, f, 'f', prec), start, width)
}

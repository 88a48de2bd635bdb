package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	tosend "github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmapi"
)

// metricsPath is where a server receives metrics if its URL has no path.
const metricsPath = "/v1/metrics"

// defaultInterval is the time between samples, that of the pcp2* programs.
const defaultInterval = time.Minute

// Command is pcp otlp.
var Command = &cli.Command{
	Name:     "otlp",
	Group:    cli.Export,
	Summary:  "send metrics to an OpenTelemetry collector",
	Synopsis: "[options] --to URL [metric...]",
	Doc: `Sends metrics of a collector, every minute or at another interval, or those of an archive, as recorded, by OTLP over HTTP to an
OpenTelemetry collector or a database. A metric can be a group, such as disk; for an archive, no name means all metrics.

Names and units are those of pcp2opentelemetry. Counters are sent as they are, as cumulative sums, so that the server can
convert them to rates. Attributes of resources are those of the semantic conventions: host.name, host.id, os.type; instances that are
processes or containers are resources of their own with process.pid, container.id and k8s.pod.uid.`,
	Examples: []cli.Example{
		{Line: "pcp otlp --to http://localhost:4318 -t 10s kernel disk mem.util", Text: "send metrics of this host every ten seconds"},
		{Line: "pcp otlp --to http://localhost:4318 -h www proc.psinfo.rss", Text: "send the memory of each process of a host"},
		{Line: "pcp otlp --to https://otel.example.com --token ~/.otlp -a 20261124", Text: "send an archive"},
		{Line: "pcp otlp -n -a 20261124", Text: "count the data points without sending them"},
	},
	SeeAlso: []string{"pcp2opentelemetry(1)", "pcp help push"},
	Options: func() []cli.Option {
		return append([]cli.Option{
			cli.Heading("Options"),
			cli.OptArchive,
			cli.OptHost,
			cli.OptDerived,
			cli.OptDebug,
			{Long: "to", Arg: "URL", Help: "where to send: http://HOST:PORT, or the URL of a receiver"},
			{Short: 'n', Long: "dry-run", Help: "send nothing, print the counts"},
			{Long: "attribute", Arg: "NAME=VALUE", Help: "add an attribute to the host, such as deployment.environment.name=test"},
			tosend.OptRetry,
			cli.Heading("Time options"),
			cli.OptStart,
			cli.OptFinish,
			cli.OptSamples,
			cli.OptInterval,
			cli.OptTimeZone,
			cli.OptHostZone,
		}, append(tosend.ConnectionRows(), cli.OptVersion, cli.OptHelp)...)
	},
	Run: run,
}

// A sending is a run of the command.
type sending struct {
	settings
	env    *cli.Env
	o      *source.Options
	client *remote.Client // nil with -n
	s      *sampler
	req    *request
	put    func(batch) error
	sum    totals
	verb   string // of the report
	down   bool   // the collector is lost

	mu       sync.Mutex // for standard error
	progress *cli.Progress
}

func run(ctx context.Context, env *cli.Env) int {
	x := &sending{env: env, req: new(request)}
	x.o = source.Parse(env, cli.ParseConfig{Own: x.own, NonEmpty: true, Once: []string{"to"}, Archives: true})
	o := x.o
	if !o.Errors() && !o.WantsVersion() && !o.WantsHelp() {
		switch {
		case x.Config.URL == "" && !x.dry:
			o.Usagef("--to is needed, or -n")
		case x.Check() != nil:
			o.Usagef("%v", x.Check())
		case !o.FromArchive() && len(o.Args) == 0:
			o.Usagef("name the metrics to send, such as kernel or disk.dev")
		case o.FromArchive() && o.Interval != 0:
			o.Usagef("an archive is sent as it was recorded, without -t")
		}
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if !x.dry {
		if err := x.Read(); err != nil {
			return env.Fatalf("%v", err)
		}
		if u, err := url.Parse(x.Config.URL); err == nil && strings.Trim(u.Path, "/") == "" {
			u.Path = metricsPath
			x.Config.URL = u.String()
		}
		x.Config.UserAgent = "pcp-otlp/" + env.Version
		x.Config.Warn = func(err error, wait time.Duration) {
			x.warn(fmt.Sprintf("%v; trying again in %v", err, wait.Round(100*time.Millisecond)))
		}
		var err error
		if x.client, err = remote.New(x.Config); err != nil {
			return env.Fatalf("--to: %v", err)
		}
		defer x.client.Close()
	}
	c, err := o.Connect(ctx)
	if err != nil {
		return 1 // already reported
	}
	defer c.Close()
	x.s = newSampler(c, o.Args, x.emit)
	x.s.more = x.attributes
	if a, ok := c.Archive(); ok {
		err = x.archive(ctx, a)
	} else {
		err = x.live(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return env.Fatalf("interrupted")
	case err != nil:
		return env.Fatalf("%s", cli.ErrText(err))
	}
	if !x.sum.complete() {
		return 1
	}
	return 0
}

// emit adds a data point to the request, and sends the request if it is large enough.
func (x *sending) emit(res *resource, m *metric, p *point) error {
	x.req.add(res, m, p)
	if x.req.points < maxPoints && x.req.size < maxSize {
		return nil
	}
	return x.flush()
}

// flush sends the request.
func (x *sending) flush() error {
	if x.req.points == 0 {
		return nil
	}
	b, err := newBatch(x.req, x.env.Version)
	x.req = new(request)
	if err != nil {
		return err
	}
	return x.put(b)
}

// counted is put of a run that only counts.
func (x *sending) counted(b batch) error {
	x.sum.points += b.points
	x.sum.requests++
	x.sum.bytes += len(b.body)
	return nil
}

// archive sends the records of archives.
func (x *sending) archive(ctx context.Context, a *pmapi.ArchiveContext) error {
	loc, err := x.o.SetZone(ctx, a.Context, true)
	if err != nil {
		return err
	}
	w, err := x.o.Window(ctx, a.Context, loc)
	if err != nil {
		return err
	}
	x.progress = cli.NewProgress(x.env, x.env.ProgName(), 0)
	defer x.progress.Clear()
	x.put, x.verb = x.counted, "to send"
	if x.client != nil {
		x.verb = "sent"
		x.put = func(b batch) error { return post(ctx, x.client, b, &x.sum) }
	}
	if err := x.s.resolve(ctx); err != nil {
		return err
	}
	if err := a.SetMode(ctx, pmapi.ModeForw, &w.Start, 0); err != nil {
		return err
	}
	err = x.records(ctx, a, w.Finish, func(at pcp.Timestamp) { x.progress.SetTime(at, w.Start, w.Finish) })
	x.progress.Clear()
	x.report(x.o.Source())
	return err
}

// records sends the records up to a time.
func (x *sending) records(ctx context.Context, a *pmapi.ArchiveContext, finish pcp.Timestamp, reached func(pcp.Timestamp)) error {
	for n := 0; x.o.Samples == 0 || n < x.o.Samples; n++ {
		res, err := a.FetchArchive(ctx)
		if errors.Is(err, pcp.ErrEOL) || err == nil && res.Time.Compare(finish) > 0 {
			break
		}
		if err != nil {
			return errors.Join(err, x.flush()) // the values before the damage are sent
		}
		if err := x.s.take(ctx, res); err != nil {
			return err
		}
		reached(res.Time)
	}
	return x.flush()
}

// lastChance is the time that a server has to accept the remaining requests at the end.
const lastChance = 10 * time.Second

// live sends samples of a collector until it is interrupted, or has sent as many as are wanted.
func (x *sending) live(ctx context.Context) error {
	every := x.o.Interval
	if every == 0 {
		every = defaultInterval
	}
	if err := x.s.resolve(ctx); err != nil {
		return err
	}
	if x.client == nil {
		x.put, x.verb = x.counted, "to send"
		err := x.samples(ctx, every)
		x.report(x.o.Source())
		return err
	}
	x.verb = "sent"
	out := newOutbox()
	x.put = func(b batch) error { out.put(b); return nil }
	// Fetched samples are sent even if the program is interrupted.
	posting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastChance, end) })()
	sampling, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	group.Go(func() {
		if err := x.deliver(posting, out); err != nil {
			stop(err)
		}
	})
	err := x.samples(sampling, every)
	out.close()
	group.Wait()
	if cause := context.Cause(sampling); ctx.Err() == nil && cause != nil {
		err = cause // of deliver, perhaps after the last sample
	}
	x.sum.dropped += out.dropped
	x.report(x.o.Source())
	if ctx.Err() != nil {
		return nil // that is how it ends
	}
	return err
}

// deliver sends batches as they come. An error means that the server accepts nothing; after it has accepted something, that is
// a fault of the server that may pass.
func (x *sending) deliver(ctx context.Context, out *outbox) error {
	for {
		b, ok := out.next(ctx)
		if !ok {
			return nil
		}
		err := post(ctx, x.client, b, &x.sum)
		if err == nil {
			continue
		}
		x.sum.dropped += b.points
		var failure *remote.Failure
		if ctx.Err() != nil {
			continue // count the others
		}
		if !errors.As(err, &failure) && x.sum.points == 0 {
			return err
		}
		x.warn(err.Error())
	}
}

// samples fetches and sends samples.
func (x *sending) samples(ctx context.Context, every time.Duration) error {
	next := time.Now()
	for n := 0; x.o.Samples == 0 || n < x.o.Samples; n++ {
		if n > 0 {
			next = next.Add(every)
			if late := time.Since(next); late > 0 {
				next = next.Add(late / every * every) // those between are left out
			}
			if !pacing.Until(ctx, next) {
				return context.Cause(ctx)
			}
		}
		if err := x.sample(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sample fetches and sends a sample. If the collector is lost, it only prints that.
func (x *sending) sample(ctx context.Context) error {
	s := x.s
	if x.down {
		if err := s.c.Reconnect(ctx); err != nil {
			return context.Cause(ctx)
		}
		x.down = false
		x.warn("connected to the collector again")
		if err := s.resolve(ctx); err != nil {
			return x.lost(ctx, err)
		}
	}
	changes, err := s.c.FetchInto(ctx, s.ids, &s.res)
	if err != nil {
		return x.lost(ctx, err)
	}
	if err := s.take(ctx, &s.res); err != nil {
		return x.lost(ctx, err)
	}
	if err := x.flush(); err != nil {
		return err
	}
	if changes != 0 {
		if err := s.resolve(ctx); err != nil {
			return x.lost(ctx, err)
		}
	}
	return nil
}

// lost prints the error of a request, which ends the program only if ctx is done.
func (x *sending) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	x.down = x.down || lost(err)
	x.warn(cli.ErrText(err))
	return nil
}

// report prints the counts.
func (x *sending) report(name string) {
	w := x.env.Stdout
	x.sum.report(w, name, x.verb)
	if n := x.s.left.metrics; n > 0 {
		fmt.Fprintf(w, "%s: left out %s without numbers\n", name, count(n, "metric"))
	}
	if n := x.s.left.nameless; n > 0 {
		fmt.Fprintf(w, "%s: left out %s of instances without a name\n", name, count(n, "value"))
	}
}

// warn prints a message to standard error. Two goroutines may call it.
func (x *sending) warn(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.progress.Clear()
	fmt.Fprintf(x.env.Stderr, "%s: %s\n", x.env.ProgName(), text)
}

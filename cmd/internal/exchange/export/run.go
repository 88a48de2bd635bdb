package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
	"github.com/go-pcp/pcp/pmapi"
)

// A format is a program: its differences from the others.
type format struct {
	name     string // "json" of pcp2json
	summary  string
	doc      string
	examples []cli.Example

	keys     []string      // settings besides the common ones
	defaults conf.Settings // and their defaults, or others than the common ones
	options  []cli.Option  // behind the common ones
	without  []string      // long names of common options that it lacks
	// flags are settings that options make 1; other options of its own set what settings names.
	flags, settings map[string]string

	// header returns the text that the program prints before it begins, unless
	// -H.
	header func(x *run) string
	// make makes the exporter. It returns an error for settings that have no meaning.
	make func(x *run) (exporter, error)
	// needsOutput means that -F is required.
	needsOutput bool
	raw         bool // values of counters, without an option
}

// An exporter renders samples.
type exporter interface {
	pmrep.Writer
	// end completes the output and reports whether all went well; it has printed the errors.
	end(ctx context.Context) bool
}

// A starter is an exporter that does something before the first sample.
type starter interface {
	start(ctx context.Context) error
}

// A sender is an exporter that wants samples as nested values; see adapter.
type sender interface {
	write(ctx context.Context, s *sample) error
	end(ctx context.Context) bool
}

// A run is one run of a program.
type run struct {
	f   *format
	r   *metricset.Report
	env *cli.Env
	c   *pmapi.Context
	set *pmrep.Set

	head        origin
	what        extent
	fromArchive bool
	debug       bool   // -D appl0
	outfile     string // "": standard output

	clock *metricset.Clock
	out   io.Writer
	file  *os.File
}

// An origin describes the source in documents.
type origin struct{ host, name, zone string }

// An extent selects the contents of documents besides values.
type extent struct{ extended, everything, labels bool }

// run runs a program.
func (f *format) run(ctx context.Context, env *cli.Env) int {
	x := &run{f: f, env: env}
	r, err := metricset.Start(env, f.program(x))
	if err != nil {
		return metricset.Exit(ctx, env, err)
	}
	defer r.Close()
	x.r = r
	complete := true
	err = x.report(ctx, &complete)
	status := metricset.Exit(ctx, env, err)
	if status == 0 && !complete {
		status = 1
	}
	return status
}

func (x *run) report(ctx context.Context, complete *bool) error {
	r := x.r
	if err := r.Connect(ctx); err != nil {
		return err
	}
	if err := r.CheckSettings(); err != nil {
		return err
	}
	if r.Settings.On("everything") {
		r.Settings["extended"] = "1"
	}
	if x.f.needsOutput && x.outfile == "" {
		return &conf.Error{Text: "Output file must be defined."}
	}
	r.Interpolated = r.Live() // an archive is read as it was recorded
	if err := r.Resolve(ctx); err != nil {
		return err
	}
	x.c, x.set, x.fromArchive = r.Context, r.Set, r.Archive
	if err := r.Prepare(ctx, false); err != nil {
		return err
	}
	x.head = origin{host: r.HostName(ctx), name: r.Source, zone: metricset.UTCOffset(r.Zone)}
	if r.Options.Local {
		x.head.name = "local context"
	}
	x.what = extent{r.Settings.On("extended"), r.Settings.On("everything"), r.Settings.On("include_labels")}
	x.debug = r.Options.Debugging("appl0")
	x.clock = metricset.NewClock(r.Settings["timefmt"], r.Loc)
	e, err := x.f.make(x)
	if err != nil {
		return err
	}
	if s, ok := e.(starter); ok && !r.Check {
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	if r.Settings.Is1("header") && x.f.header != nil && !r.Detached() {
		fmt.Fprint(x.env.Stdout, x.f.header(x))
		x.env.FlushOut()
	}
	if r.Check {
		return nil
	}
	r.Silent = x.file != nil
	err = r.Run(ctx, e)
	// The samples are completed and delivered also if the program is interrupted.
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), lastChance)
	defer stop()
	*complete = e.end(last)
	if cerr := x.close(); err == nil {
		err = cerr
	}
	return err
}

// lastChance is the time that receivers have to accept the remaining messages
// at the end.
const lastChance = 10 * time.Second

// runtime is the run time of the program in headers, between the two texts.
func (x *run) runtime(duration, forever string) string {
	r := x.r
	switch {
	case r.Runtime != -1:
		return fmt.Sprintf(duration, r.Samples, r.Interval.Seconds(), int64(r.Runtime))
	case r.Samples != 0:
		return fmt.Sprintf(duration, r.Samples, r.Interval.Seconds(), int64(float64(r.Samples-1)*r.Interval.Seconds()))
	}
	return forever
}

// emit writes to the output file, or to standard output.
func (x *run) emit(b []byte) error {
	if x.out == nil {
		x.out = x.env.Unbuffered()
		if x.outfile != "" {
			f, err := os.OpenFile(x.outfile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if err != nil {
				return err
			}
			x.file, x.out = f, f
		}
	}
	_, err := x.out.Write(b)
	return err
}

func (x *run) close() error {
	if x.file == nil {
		return nil
	}
	return x.file.Close()
}

// An adapter is the exporter of a sender: it gathers the values of a sample by metric.
type adapter struct {
	sender
	ctx context.Context
	x   *run
	s   sample
}

func (a *adapter) start(ctx context.Context) error {
	a.ctx = ctx
	if s, ok := a.sender.(starter); ok {
		return s.start(ctx)
	}
	return nil
}

// WriteSample is part of [pmrep.Writer].
func (a *adapter) WriteSample(s *pmrep.Sample) error {
	a.s.time, a.s.stamp, a.s.metrics = s.Time, a.x.clock.Format(s.Time), a.s.metrics[:0]
	for i, m := range a.x.set.Metrics {
		if len(s.Results[i]) > 0 {
			a.s.metrics = append(a.s.metrics, metric{m, s.Results[i]})
		}
	}
	err := a.sender.write(a.ctx, &a.s)
	if err != nil && a.ctx.Err() != nil {
		return nil
	}
	return err
}

// A textWriter renders samples of a document that is written sample by sample.
type textWriter interface {
	append(b []byte, s *sample) []byte
	finish(b []byte) []byte
}

// A stream is the sender of a textWriter.
type stream struct {
	*run
	textWriter
	b []byte
}

func (t *stream) write(_ context.Context, s *sample) error {
	t.b = t.textWriter.append(t.b[:0], s)
	return t.emit(t.b)
}

func (t *stream) end(context.Context) bool {
	b := t.finish(nil)
	if len(b) == 0 {
		return true
	}
	err := t.emit(b)
	if err != nil && !errors.Is(err, os.ErrClosed) {
		fmt.Fprintf(t.env.Stderr, "%s: %s\n", t.env.ProgName(), cli.ErrText(err))
		return false
	}
	return true
}

// zoneOffset is how many seconds the zone of the report is ahead of UTC.
func (x *run) zoneOffset(t pcp.Timestamp) int {
	_, offset := time.Unix(t.Sec, 0).In(x.r.Loc).Zone()
	return offset
}

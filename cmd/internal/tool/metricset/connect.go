package metricset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Connect opens the source that the options name, else that of the setting "source", and finds the time window.
func (r *Report) Connect(ctx context.Context) error {
	if err := r.chooseSource(); err != nil {
		return err
	}
	var err error
	if r.Context, err = r.Options.Open(ctx, r.Source); err != nil {
		switch {
		case r.Env.Classic():
			return err
		case r.Archive:
			return &exitError{r.Options.CannotOpen(r.Source, err)}
		case !r.Options.Local:
			return &exitError{r.Options.CannotConnect(r.Source, err)}
		}
		return err
	}
	zone, err := r.Options.SetZone(ctx, r.Context, false)
	if err != nil { // and printed
		return &exitError{1}
	}
	if r.Window, err = r.Options.Window(ctx, r.Context, zone); err != nil {
		return &exitError{1}
	}
	if a, ok := r.Context.Archive(); ok { // instances and labels are those of the begin
		origin := r.Window.Origin
		return a.SetMode(ctx, pmapi.ModeInterp, &origin, max(r.Interval, time.Second))
	}
	return nil
}

func (r *Report) chooseSource() error {
	o := r.Options
	switch {
	case len(o.Archives) > 0:
		o.Local = false
	case len(o.Hosts) > 0:
		o.Local = false
	case o.Local:
	case strings.Contains(r.Settings["source"], "/"):
		o.AddArchive(r.Settings["source"])
	case r.Settings["source"] == "@":
		o.Local = true
	case r.Settings["source"] != "" && r.Settings["source"] != "local:":
		o.AddHost(r.Settings["source"])
	}
	r.Archive, r.Source = o.FromArchive(), o.Source()
	if !o.Local {
		return nil
	}
	for _, spec := range strings.Split(r.Settings["speclocal"], ";") {
		if spec == "" {
			continue
		}
		if err := o.SpecLocal(spec); err != nil {
			r.Env.Errorf("pmSpecLocalPMDA failed: %v", err)
			o.WantUsage()
			status, _ := o.Done()
			return &exitError{status}
		}
	}
	return nil
}

// Close closes the source.
func (r *Report) Close() error {
	if r.Context == nil {
		return nil
	}
	return r.Context.Close()
}

// version is that of the configuration files.
const version = 1

// CheckSettings checks the settings that are numbers.
func (r *Report) CheckSettings() (err error) {
	if v, ok := r.Settings["version"]; ok && v != fmt.Sprint(version) {
		return &conf.Error{Text: fmt.Sprintf("Incompatible configuration file version (read v%s, need v%d).", v, version)}
	}
	r.opts, err = pmrep.ParseOptions(r.Settings)
	return err
}

// Resolve makes the set of metrics and determines the number of samples.
func (r *Report) Resolve(ctx context.Context) (err error) {
	if r.opts, err = pmrep.ParseOptions(r.Settings); err != nil { // as the program has changed them since
		return err
	}
	r.opts.Instances, r.opts.FirstLabels = r.Instances, r.p.FirstLabels
	r.opts.Define = func(_ context.Context, c *pmapi.Context, name, expr string) error {
		if err := r.Options.DefineDerived(name, expr); err != nil {
			return err
		}
		r.Options.UseDerived(c)
		return nil
	}
	r.opts.Load = func(_ context.Context, c *pmapi.Context, path string) error {
		if err := r.Options.LoadDerivedFile(path); err != nil {
			return err
		}
		r.Options.UseDerived(c)
		return nil
	}
	if r.Set, err = pmrep.NewConfig(ctx, r.Context, r.Metrics, r.opts, r.Env.Config()); err != nil {
		if e, ok := errors.AsType[*conf.Error](err); ok && e.Metric != "" {
			e.Text += source.DidYouMean(ctx, r.Env, r.Context, e.Metric)
		}
		return err
	}
	return r.settleTimes()
}

// settleTimes sets the interval and the number of samples: with -T its time takes
// precedence.
func (r *Report) settleTimes() error {
	if r.Options.Interval != 0 || r.intervalSet {
		r.Interval = r.Options.Interval
	}
	if r.Options.SamplesSet {
		r.Samples = r.Options.Samples
	}
	r.Interval = r.Interval.Truncate(time.Microsecond)
	r.Limited = r.Samples != 0
	if r.Options.Finish != nil {
		r.Runtime = Seconds(r.Window.Finish) - Seconds(r.Window.Origin)
		if r.Samples != 0 {
			r.Samples = max(2, r.Samples)
			if r.Runtime >= 0 { // else the interval stays as it was
				r.Interval = time.Duration(math.Trunc(r.Runtime/float64(r.Samples-1)*1e6)) * time.Microsecond
			}
		} else if r.Interval > 0 {
			n := r.Runtime/r.Interval.Seconds() + 1
			r.Samples = int(max(min(n, 1<<31-1), -1<<31))
			r.Limited = r.Samples >= 0
		}
	}
	if r.Interval <= 0 {
		return &conf.Error{Text: "Interval must be greater than zero."}
	}
	return nil
}

// Seconds is a time as these programs know it, to the microsecond.
func Seconds(t pcp.Timestamp) float64 { return float64(t.Sec) + float64(t.Nsec/1000)/1e6 }

// Prepare sets the time zone of the report, and positions an archive at the start of the window.
// With native an archive is made from the values, which are the recorded ones.
func (r *Report) Prepare(ctx context.Context, native bool) error {
	if err := r.setZone(ctx); err != nil {
		return err
	}
	a, ok := r.Context.Archive()
	if !ok {
		return nil
	}
	mode, origin, step := pmapi.ModeInterp, r.Window.Origin, r.Interval
	if native || !r.Interpolated {
		mode, step = pmapi.ModeForw, 0
	}
	return a.SetMode(ctx, mode, &origin, step)
}

func (r *Report) setZone(ctx context.Context) error {
	local := pcptime.Local(r.Env.Getenv("TZ"))
	r.LocalZone = posixZone(local, time.Now())
	switch {
	case r.Options.TimeZoneSet && r.Options.TimeZone != "":
		r.Loc = pcptime.Zone(r.Options.TimeZone)
	case r.Options.HostZone:
		tz, err := r.Context.TimeZone(ctx)
		if err != nil {
			return err
		}
		r.Loc = pcptime.Zone(tz)
	default:
		// Summer time does not begin or end within a report.
		r.Loc = FixedZone(local, r.origin())
	}
	r.Zone = posixZone(r.Loc, r.origin())
	return nil
}

// origin is the begin of the report.
func (r *Report) origin() time.Time { return time.Unix(r.Window.Origin.Sec, 0) }

// FixedZone returns the zone as it is at some time, without changes between summer and
// winter time.
func FixedZone(loc *time.Location, at time.Time) *time.Location {
	return pcptime.Zone(posixZone(loc, at))
}

// posixZone returns the offset of a zone at some time, "CET-1" or "NST+3:30": name and offset are those that
// summer or winter time have this year. As in Python, winter time is that of January or July which is less ahead of UTC.
func posixZone(loc *time.Location, at time.Time) string {
	year := time.Now().In(loc).Year()
	t := time.Date(year, time.January, 1, 0, 0, 0, 0, loc)
	july := time.Date(year, time.July, 1, 0, 0, 0, 0, loc)
	_, first := t.Zone()
	_, second := july.Zone()
	if at.In(loc).IsDST() == (first <= second) {
		t = july
	}
	name, offset := t.Zone()
	offset = -offset
	if offset == 0 {
		return name
	}
	hours, rest := offset/3600, (offset%3600+3600)%3600/60
	if offset > 0 {
		name += "+"
	}
	name += fmt.Sprint(hours)
	if rest != 0 {
		name += fmt.Sprint(":", rest)
	}
	return name
}

// UTCOffset returns the offset of a zone from UTC as people read it, "UTC+1" of "CET-1".
func UTCOffset(zone string) string {
	i := strings.IndexAny(zone, "+-")
	if i < 0 {
		return "UTC+0"
	}
	sign := "-"
	if strings.Contains(zone, "-") {
		sign = "+"
	}
	sep := "-"
	if strings.Contains(zone, "+") {
		sep = "+"
	}
	return "UTC" + sign + strings.Split(zone, sep)[1]
}

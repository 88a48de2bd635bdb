package metricset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
	r.opts.Instances, r.opts.FirstLabels, r.opts.Seven = r.Instances, r.p.FirstLabels, r.Env.Seven()
	r.fine = r.opts.Seven
	r.opts.Warn = func(text string) { say(r.Env, text) }
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
	return r.settle(r.Options.Options.Options)
}

// Prepare sets the time zone of the report, and positions an archive at the start of the window.
// With native an archive is made from the values, which are the recorded ones.
func (r *Report) Prepare(ctx context.Context, native bool) error {
	if err := r.setZone(ctx, r.Options.Options.Options, r.Context, pcptime.Local(r.Env.Getenv("TZ"))); err != nil {
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

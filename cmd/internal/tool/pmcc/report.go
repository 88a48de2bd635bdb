package pmcc

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// A Report describes the command line of a report and the words of its errors.
type Report struct {
	Kind
	// Own handles the options of the report itself, as in [cli.ParseConfig].
	Own func(o *cli.Options, opt *cli.Option, arg string) bool
	// Check, if it is not nil, is called with the options before their mistakes are printed. If it returns true,
	// it has printed an error, and the report ends with status 1.
	Check func(o *source.Options) (stop bool)
	// Valid, if it is not nil, is called if the options have no mistakes. Its error is printed, and the report ends with
	// status 1.
	Valid func() error
}

// Run reads the options, opens the source that they name, calls body with it, and returns the exit status.
func (r Report) Run(ctx context.Context, env *cli.Env, body func(m *Manager) int) int {
	o := source.Parse(env, cli.ParseConfig{Archives: true, HighRes: true, Own: r.Own})
	if r.Check != nil && r.Check(o) {
		return 1
	}
	if status, exit := r.Kind.done(o); exit {
		return status
	}
	if r.Valid != nil {
		if err := r.Valid(); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	m, status := open(ctx, env, o, r.Kind)
	if m == nil {
		return status
	}
	defer m.Close()
	if m.JSON {
		m.Host(ctx) // which rows have
	}
	return body(m)
}

// Errors with which a sample steers the loop of [Manager.Each] and [Manager.EachOrFirst].
var (
	ErrDone   = errors.New("the report is complete") // it ends with status 0
	ErrNotYet = errors.New("not the first sample")   // a sample without the values that EachOrFirst waits for
	ErrNone   = errors.New("nothing to report")      // a sample that does not count, as in PCP 7
)

// Each fetches the metrics and calls report after each fetch, as often as the options require, until the archive ends
// or report returns an error, which is printed. It returns the exit status.
func (m *Manager) Each(ctx context.Context, report func() error) int {
	var failed error
	status := m.run(ctx, func() (more, counts bool) {
		if failed = report(); errors.Is(failed, ErrNone) {
			failed = nil
			return true, false
		}
		return failed == nil, true
	})
	switch {
	case failed == nil:
		return status
	case errors.Is(failed, ErrDone):
		return 0
	}
	return m.Errorf("%v", failed)
}

// EachOrFirst is Each for a report that shows a live host only once, unless -s is given.
func (m *Manager) EachOrFirst(ctx context.Context, report func() error) int {
	return m.Each(ctx, func() error {
		switch err := report(); {
		case errors.Is(err, ErrNotYet):
			return nil
		case err != nil:
			return err
		case m.Archive || m.o.SamplesSet:
			return nil
		}
		return ErrDone
	})
}

// AsRecorded has an archive replay its own samples from the beginning of the window, for the option -u. If the other
// options do not allow that, it prints an error and returns false.
func (m *Manager) AsRecorded(ctx context.Context) (status int, ok bool) {
	switch {
	case m.o.Interval != 0:
		return m.Refuse("Error: -t incompatible with -u"), false
	case !m.Archive:
		return m.Refuse("Error: -u can only be specified with -a archive"), false
	}
	if err := m.Uninterpolated(ctx); err != nil {
		m.Failed(err)
		return 0, false
	}
	return 0, true
}

// Refuse prints an error to standard output, as the C programs do, then the usage message, and returns the exit status.
func (m *Manager) Refuse(text string) int {
	fmt.Fprintln(m.Out, text)
	m.o.WantUsage()
	m.env.FlushOut()
	status, _ := m.o.Done()
	return status
}

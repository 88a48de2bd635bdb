package pmcc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// defaultInterval is the time between samples without -t.
const defaultInterval = time.Second

// A Manager is the source of a report, and its loop over the samples of Metrics (MetricGroupManager).
type Manager struct {
	Metrics
	// Loc is the time zone in which the report is.
	Loc *time.Location
	// Archive reports whether the values are from archives.
	Archive bool
	// JSON means that rows are printed as JSON, with --json.
	JSON bool
	// Out is the standard output of the program.
	Out io.Writer

	env    *cli.Env
	kind   Kind
	o      *source.Options
	c      *pmapi.Context
	window pcptime.Window
	delta  time.Duration

	host    string
	reports int
	ended   bool
}

// A Kind selects how a program of the Python module prints errors.
type Kind struct {
	Prefix string // the beginning of messages about the source
	// Bare is a program that has a context but no group of metrics (pmContext.fromOptions): its messages
	// go to standard output, and its exit status is 0 even if the command line is wrong.
	Bare bool
	// Blank is a Bare program whose messages are followed by an empty line. Under "pcp" its
	// messages are those of other commands, and its exit status is 1.
	Blank bool
	// Missing is the start of the list of missing metrics, "Missing" if it is empty.
	Missing string
}

// done prints the mistakes, or the help or version that the options ask for. It reports whether the
// program ends there, and with which status.
func (k Kind) done(o *source.Options) (status int, exit bool) {
	status, exit = o.Done()
	if k.Bare && (!k.Blank || o.Classic()) {
		status = 0
	}
	return status, exit
}

// open opens the source that the options name, with the messages and the exit status of the
// Python module if it cannot: then the Manager is nil.
func open(ctx context.Context, env *cli.Env, o *source.Options, kind Kind) (m *Manager, status int) {
	m = &Manager{env: env, Out: env.Stdout, o: o, kind: kind, Archive: o.FromArchive(), JSON: o.JSON, delta: o.Interval}
	if m.delta == 0 {
		m.delta = defaultInterval
	}
	name := o.Source()
	var err error
	if m.c, err = o.Open(ctx, name); err != nil {
		switch {
		case !kind.Blank || env.Classic() || o.Local:
		case m.Archive:
			return nil, o.CannotOpen(name, err)
		default:
			return nil, o.CannotConnect(name, err)
		}
		env.Failed()
		if name = pytext.Repr(name); o.Local {
			name = "None"
		}
		m.failed(err, " ["+pmapi.HidePassword(name)+"]")
		return nil, 0
	}
	if m.Loc, err = o.SetZone(ctx, m.c, false); err == nil {
		m.window, err = o.Window(ctx, m.c, m.Loc)
	}
	if err != nil { // and printed
		m.Close()
		if kind.Bare && (!kind.Blank || env.Classic()) {
			return nil, 0
		}
		return nil, 1
	}
	if a, ok := m.c.Archive(); ok {
		origin := m.window.Origin
		if err := a.SetMode(ctx, pmapi.ModeInterp, &origin, m.delta); err != nil {
			env.Printf("pmSetModeHighRes: %s: %s\n", env.ProgName(), cli.ErrText(err))
			env.Flush()
			m.Close()
			return nil, 1
		}
	}
	return m, 0
}

// TakeArchive is the Own of a [cli.ParseConfig] for programs whose only option of their own is -a.
func TakeArchive(o *cli.Options, opt *cli.Option, arg string) bool {
	if opt.Short != 'a' {
		return false
	}
	o.AddArchive(arg)
	return true
}

// Close closes the source.
func (m *Manager) Close() error { return m.c.Close() }

// failed prints an error as these programs print those of the library.
func (m *Manager) failed(err error, more string) {
	if m.kind.Bare {
		fmt.Fprintf(m.env.Stdout, "%s%s%s\n", m.kind.Prefix, cli.ErrText(err), more)
		if m.kind.Blank {
			fmt.Fprintln(m.env.Stdout)
		}
		return
	}
	m.env.FlushOut()
	fmt.Fprintf(m.env.Stderr, "%s%s%s\n", m.kind.Prefix, cli.ErrText(err), more)
}

// Use makes Each fetch the metrics of these names. If some do not exist it prints an error to
// standard error and returns false, and the same, with exit status 0, if their instance domains
// cannot be read. As in the C programs the message about metrics after the first checked ones
// differs.
func (m *Manager) Use(ctx context.Context, names []string, checked int) (status int, ok bool) {
	ids, err := m.c.LookupName(ctx, names...)
	known := func(i int) bool { return len(ids) == len(names) && ids[i] != pcp.PMIDNull }
	var missing, late []string
	for i, name := range names {
		switch {
		case known(i):
		case i < checked:
			missing = append(missing, pytext.Repr(name))
		default:
			late = append(late, "b"+pytext.Repr(name))
		}
	}
	switch {
	case len(missing) > 0:
		m.env.FlushOut()
		fmt.Fprintf(m.env.Stderr, "Error: not all required metrics are available\n%s [%s]\n", cmp.Or(m.kind.Missing, "Missing"), strings.Join(missing, ", "))
		return 1, false
	case len(late) > 0:
		if err == nil || !slices.ContainsFunc(ids, func(id pcp.PMID) bool { return id != pcp.PMIDNull }) {
			err = pcp.ErrName
		}
		m.env.FlushOut()
		fmt.Fprintf(m.env.Stderr, "%s: pmLookupName: %s [%s]", m.env.ProgName(), cli.ErrText(err), strings.Join(late, ", "))
		return 1, false
	}
	m.set(names, ids)
	m.names = map[pcp.InDom]map[int32]string{pcp.InDomNull: nil}
	descs, failed := m.c.LookupDescs(ctx, ids...) // in one request, most often
	for i, id := range ids {
		var desc pcp.Desc
		if failed == nil {
			desc = descs[i]
		} else if desc, err = m.c.LookupDesc(ctx, id); err != nil {
			m.env.FlushOut()
			fmt.Fprintf(m.env.Stderr, "%s: pmLookupDesc: %s", m.env.ProgName(), cli.ErrText(err))
			return 1, false
		}
		m.descs = append(m.descs, desc)
		if _, seen := m.names[desc.InDom]; seen {
			continue
		}
		list, err := m.instances(ctx, desc.InDom)
		if err != nil {
			m.failed(err, "")
			return 0, false
		}
		m.names[desc.InDom] = make(map[int32]string, len(list))
		for _, in := range list {
			m.names[desc.InDom][in.Inst] = in.Name
		}
	}
	return 0, true
}

// Missing returns which of these names are not those of metrics.
func (m *Manager) Missing(ctx context.Context, names ...string) []string {
	ids, _ := m.c.LookupName(ctx, names...)
	var missing []string
	for i, name := range names {
		if len(ids) != len(names) || ids[i] == pcp.PMIDNull {
			missing = append(missing, name)
		}
	}
	return missing
}

// UseEach is like Use for a C program that looks up groups of metrics one after the other, and
// checks none before: the message names the missing metrics of the first incomplete group.
func (m *Manager) UseEach(ctx context.Context, groups ...[]string) (status int, ok bool) {
	all := slices.Concat(groups...)
	missing := m.Missing(ctx, all...)
	for _, names := range groups {
		if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(missing, name) }) {
			return m.Use(ctx, names, 0)
		}
	}
	return m.Use(ctx, all, 0)
}

// instances returns the instances of a domain: in an archive those of all times.
func (m *Manager) instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	if a, isArchive := m.c.Archive(); isArchive {
		return a.GetInDomArchive(ctx, indom)
	}
	return m.c.GetInDom(ctx, indom)
}

// Uninterpolated has an archive replay its own samples from the beginning of the window (PM_MODE_FORW).
func (m *Manager) Uninterpolated(ctx context.Context) error {
	a, ok := m.c.Archive()
	if !ok {
		return nil
	}
	origin := m.window.Origin
	return a.SetMode(ctx, pmapi.ModeForw, &origin, 0)
}

// Interpolated has an archive give the values at the beginning of the window (PM_MODE_INTERP).
func (m *Manager) Interpolated(ctx context.Context) error {
	a, ok := m.c.Archive()
	if !ok {
		return nil
	}
	origin := m.window.Origin
	return a.SetMode(ctx, pmapi.ModeInterp, &origin, 0)
}

// Tree returns the names of the metrics below a name, none if there is no such name.
func (m *Manager) Tree(ctx context.Context, name string) ([]string, error) {
	var list []string
	for leaf, err := range m.c.Traverse(ctx, name) {
		switch {
		case errors.Is(err, pcp.ErrName):
			return nil, nil
		case err != nil:
			return nil, err
		}
		list = append(list, leaf)
	}
	return list, nil
}

// Host returns the name of the host that the metrics are of.
func (m *Manager) Host(ctx context.Context) string {
	if m.host == "" {
		m.host, _ = m.c.HostName(ctx)
	}
	return m.host
}

// run fetches the metrics and calls report after each fetch, as often as the options require,
// until the archive ends or report returns false. Samples that report does not count are in addition. It returns
// the exit status.
func (m *Manager) run(ctx context.Context, report func() (more, counts bool)) int {
	samples, finish := m.o.Samples, false
	if samples == 0 && m.o.Finish != nil {
		finish = true
		samples = int(m.window.Finish.Sub(m.window.Origin)/m.delta.Seconds() + 0.5)
	}
	if m.counters() && (samples > 0 || finish) {
		samples++
	}
	for n := 0; ; {
		if err := m.fetch(ctx, m.c); err != nil {
			switch {
			case ctx.Err() != nil, pcp.Code(err) == pcp.ErrEOL:
				m.ended = true
				return 0
			}
			m.env.FlushOut()
			fmt.Fprintf(m.env.Stderr, "%s: pmFetch: %s", m.env.ProgName(), cli.ErrText(err))
			return 1
		}
		if samples > 0 && n >= samples || finish && micro(m.last).Compare(micro(m.window.Finish)) >= 0 {
			return 0
		}
		more, counts := report()
		if !more {
			return 0
		}
		m.reports++
		if counts {
			n++
		}
		if m.Archive {
			continue
		}
		if err := m.env.FlushOut(); err != nil || !pacing.Sleep(ctx, m.delta) {
			return 0
		}
	}
}

// Reports is the number of reports so far.
func (m *Manager) Reports() int { return m.reports }

// Ended reports whether Each ended since there was nothing more to fetch.
func (m *Manager) Ended() bool { return m.ended }

// micro is a time as these programs know it.
func micro(t pcp.Timestamp) pcp.Timestamp {
	t.Nsec -= t.Nsec % 1000
	return t
}

// Clock formats a time in the zone of the report, by a format of strftime(3). As in Python,
// %Z and %z are the zone of the environment.
func (m *Manager) Clock(format string, sec int64) string {
	t := time.Unix(sec, 0).In(m.Loc)
	local := pcptime.Local(m.env.Getenv("TZ"))
	return pcptime.Strftime(format, time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, local))
}

// Machine returns the line with which reports begin, which describes the host. It is "" as
// long as its metrics have no values.
func (m *Manager) Machine() string { return m.MachineAt("%x") }

// MachineMetrics returns the metrics of Machine's line.
func MachineMetrics() []string {
	return []string{"kernel.uname.sysname", "kernel.uname.release", "kernel.uname.nodename", "kernel.uname.machine", "hinv.ncpu"}
}

// MachineAt is Machine with a date of another format.
func (m *Manager) MachineAt(format string) string {
	date := m.Clock(format, m.Now())
	var text [5]string
	for i, name := range MachineMetrics() {
		v := m.One(name)
		if !v.OK() {
			return ""
		}
		text[i] = v.String()
	}
	return fmt.Sprintf("%s  %s  (%s)  %s  %s    (%s CPU)", text[0], text[1], text[2], date, text[3], text[4])
}

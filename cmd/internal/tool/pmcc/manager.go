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
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// defaultInterval is the time between samples without -t.
const defaultInterval = time.Second

// A Manager fetches the metrics of a report (MetricGroupManager).
type Manager struct {
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

	host      string
	index     map[string]int
	ids       []pcp.PMID
	descs     []pcp.Desc
	names     map[pcp.InDom]map[int32]string
	cur, prev sample
	groups    []Group
	times     []pcp.Timestamp // of them
	last      pcp.Timestamp   // of the last fetch, also of a group that is not read
	reports   int
	ended     bool
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

// A sample is the result of a fetch.
type sample struct {
	res    *pcp.Result
	byInst []map[int32]pcp.Value // by metric, nil until it is asked for
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

// set sets the metrics to fetch.
func (m *Manager) set(names []string, ids []pcp.PMID) {
	m.ids, m.descs, m.index = ids, nil, make(map[string]int, len(names))
	for i, name := range names {
		m.index[name] = i
	}
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

// counters reports whether all metrics are counters, so that the first sample has no
// values.
func (m *Manager) counters() bool {
	return !slices.ContainsFunc(m.descs, func(d pcp.Desc) bool { return d.Sem != pcp.SemCounter })
}

// run fetches the metrics and calls report after each fetch, as often as the options require,
// until the archive ends or report returns false. It returns the exit status.
func (m *Manager) run(ctx context.Context, report func() bool) int {
	samples, finish := m.o.Samples, false
	if samples == 0 && m.o.Finish != nil {
		finish = true
		samples = int(m.window.Finish.Sub(m.window.Origin)/m.delta.Seconds() + 0.5)
	}
	if m.counters() && (samples > 0 || finish) {
		samples++
	}
	for n := 0; ; n++ {
		if err := m.fetch(ctx); err != nil {
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
		if !report() {
			return 0
		}
		m.reports++
		if m.Archive {
			continue
		}
		if err := m.env.FlushOut(); err != nil || !cli.Sleep(ctx, m.delta) {
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

// Fetch fetches the metrics once.
func (m *Manager) Fetch(ctx context.Context) error { return m.fetch(ctx) }

func (m *Manager) fetch(ctx context.Context) error {
	var res *pcp.Result
	var err error
	if m.groups != nil {
		res, err = m.fetchGroups(ctx)
	} else {
		if res, err = m.c.Fetch(ctx, m.ids); err == nil {
			m.last = res.Time
		}
	}
	if err != nil {
		return err
	}
	if len(res.Sets) != len(m.ids) {
		return errors.Join(pcp.ErrIPC, fmt.Errorf("%d sets of values for %d metrics", len(res.Sets), len(m.ids)))
	}
	m.prev = m.cur
	m.cur = sample{res: res, byInst: make([]map[int32]pcp.Value, len(m.ids))}
	return nil
}

// Sampled reports whether there are two samples, as rates need them.
func (m *Manager) Sampled() bool { return m.prev.res != nil }

// Elapsed is the time between the two samples in seconds.
func (m *Manager) Elapsed() float64 {
	a, b := m.cur.res.Time, m.prev.res.Time
	return float64(a.Sec-b.Sec) + float64(a.Nsec/1000-b.Nsec/1000)/1e6
}

// Time is the time of the sample.
func (m *Manager) Time() pcp.Timestamp { return m.cur.res.Time }

// Now is the time of the sample, in full seconds.
func (m *Manager) Now() int64 { return m.cur.res.Time.Sec }

// Clock formats a time in the zone of the report, by a format of strftime(3). As in Python,
// %Z and %z are the zone of the environment.
func (m *Manager) Clock(format string, sec int64) string {
	t := time.Unix(sec, 0).In(m.Loc)
	local := pcptime.Local(m.env.Getenv("TZ"))
	return pcptime.Strftime(format, time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, local))
}

// One is the value of a metric without instances, or the first of one with them.
func (m *Manager) One(name string) Value {
	i, ok := m.index[name]
	if !ok || len(m.cur.res.Sets[i].Values) == 0 {
		return Value{}
	}
	return Value{m.cur.res.Sets[i].Values[0], true}
}

// OneBefore is One of the previous sample.
func (m *Manager) OneBefore(name string) Value {
	i, ok := m.index[name]
	if !ok || m.prev.res == nil || len(m.prev.res.Sets[i].Values) == 0 {
		return Value{}
	}
	return Value{m.prev.res.Sets[i].Values[0], true}
}

// Of is the value of an instance.
func (m *Manager) Of(name string, inst int32) Value { return m.of(&m.cur, name, inst) }

// Before is Of of the previous sample.
func (m *Manager) Before(name string, inst int32) Value { return m.of(&m.prev, name, inst) }

func (m *Manager) of(s *sample, name string, inst int32) Value {
	i, ok := m.index[name]
	if !ok || s.res == nil {
		return Value{}
	}
	if s.byInst[i] == nil {
		set := &s.res.Sets[i]
		s.byInst[i] = make(map[int32]pcp.Value, len(set.Values))
		for _, v := range set.Values {
			s.byInst[i][v.Inst] = v
		}
	}
	v, ok := s.byInst[i][inst]
	return Value{v, ok}
}

// A Named is the value of an instance.
type Named struct {
	Name  string // "" if the instance is new since the beginning
	Value Value
}

// Named returns the values of a metric with the names of their instances.
func (m *Manager) Named(name string) []Named { return m.named(&m.cur, name) }

// NamedBefore is Named of the previous sample.
func (m *Manager) NamedBefore(name string) []Named { return m.named(&m.prev, name) }

func (m *Manager) named(s *sample, name string) []Named {
	i, ok := m.index[name]
	if !ok || s.res == nil {
		return nil
	}
	set := &s.res.Sets[i]
	list := make([]Named, len(set.Values))
	names := m.names[m.descs[i].InDom]
	for j, v := range set.Values {
		list[j] = Named{names[v.Inst], Value{v, true}}
	}
	return list
}

// All returns the values of a metric.
func (m *Manager) All(name string) []pcp.Value {
	i, ok := m.index[name]
	if !ok {
		return nil
	}
	return m.cur.res.Sets[i].Values
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

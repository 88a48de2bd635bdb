package pmcc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/pytext"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/tool/cli"
	"github.com/go-pcp/pcp/tool/source"
)

// defaultInterval is the time between samples if -t does not say it.
const defaultInterval = time.Second

// A Manager fetches the metrics of a report (MetricGroupManager).
type Manager struct {
	// Loc is the time zone in which the report is.
	Loc *time.Location
	// Archive says that the values come from archives.
	Archive bool

	env    *cli.Env
	prefix string
	o      *source.Options
	c      *pmapi.Context
	window pcptime.Window
	delta  time.Duration

	index     map[string]int
	ids       []pcp.PMID
	cur, prev sample
}

// A sample is what a fetch brought.
type sample struct {
	res    *pcp.Result
	byInst []map[int32]pcp.Value // by metric, nil until it is asked for
}

// Open opens the source that the options name, with the messages and the exit status of the
// Python module if it cannot: then the Manager is nil. Messages about the source begin with prefix.
func Open(ctx context.Context, env *cli.Env, o *source.Options, prefix string) (m *Manager, status int) {
	m = &Manager{env: env, o: o, prefix: prefix, Archive: o.FromArchive(), delta: o.Interval}
	if m.delta == 0 {
		m.delta = defaultInterval
	}
	name := o.Host()
	var err error
	switch {
	case m.Archive:
		name = o.Archives[0]
		var a *pmapi.ArchiveContext
		if a, err = o.OpenArchive(name); err == nil {
			m.c = a.Context
		}
	case o.Local:
		name = "None"
		m.c, err = o.OpenLocal(ctx)
	default:
		m.c, err = o.Dial(ctx, name)
	}
	if err != nil {
		if name = pytext.Repr(name); o.Local {
			name = "None"
		}
		m.failed(err, " ["+pmapi.HidePassword(name)+"]")
		return nil, 0
	}
	if m.Loc, err = o.SetZone(ctx, m.c, false); err == nil {
		m.window, err = o.Window(ctx, m.c, m.Loc)
	}
	if err != nil { // and said
		m.Close()
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

// Close closes the source.
func (m *Manager) Close() error { return m.c.Close() }

// failed prints an error as these programs print those of the library.
func (m *Manager) failed(err error, more string) {
	m.env.FlushOut()
	fmt.Fprintf(m.env.Stderr, "%s%s%s\n", m.prefix, cli.ErrText(err), more)
}

// Use makes the metrics of these names what is fetched. If some are not there it says so on
// standard error and returns false; so it does, with exit status 0, if their domains of instances
// cannot be read. As in the C programs the message about those after the first checked ones is
// another one.
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
		fmt.Fprintf(m.env.Stderr, "Error: not all required metrics are available\nMissing [%s]\n", strings.Join(missing, ", "))
		return 1, false
	case len(late) > 0:
		if err == nil || !slices.ContainsFunc(ids, func(id pcp.PMID) bool { return id != pcp.PMIDNull }) {
			err = pcp.ErrName
		}
		m.env.FlushOut()
		fmt.Fprintf(m.env.Stderr, "%s: pmLookupName: %s [%s]", m.env.ProgName(), cli.ErrText(err), strings.Join(late, ", "))
		return 1, false
	}
	m.ids, m.index = ids, make(map[string]int, len(names))
	seen := map[pcp.InDom]bool{pcp.InDomNull: true}
	for i, name := range names {
		m.index[name] = i
		desc, err := m.c.LookupDesc(ctx, ids[i])
		if err != nil {
			m.env.FlushOut()
			fmt.Fprintf(m.env.Stderr, "%s: pmLookupDesc: %s", m.env.ProgName(), cli.ErrText(err))
			return 1, false
		}
		if seen[desc.InDom] {
			continue
		}
		seen[desc.InDom] = true
		if a, isArchive := m.c.Archive(); isArchive {
			_, err = a.GetInDomArchive(ctx, desc.InDom)
		} else {
			_, err = m.c.GetInDom(ctx, desc.InDom)
		}
		if err != nil {
			m.failed(err, "")
			return 0, false
		}
	}
	return 0, true
}

// Run fetches the metrics and calls report after each fetch, as often as the options say, until
// the archive ends or report returns false. It returns the exit status.
func (m *Manager) Run(ctx context.Context, report func() bool) int {
	samples, finish := m.o.Samples, false
	if samples == 0 && m.o.Finish != nil {
		finish = true
		samples = int(m.window.Finish.Sub(m.window.Origin)/m.delta.Seconds() + 0.5)
	}
	for n := 0; ; n++ {
		if err := m.fetch(ctx); err != nil {
			switch {
			case ctx.Err() != nil, pcp.Code(err) == pcp.ErrEOL:
				return 0
			}
			m.env.FlushOut()
			fmt.Fprintf(m.env.Stderr, "%s: pmFetch: %s", m.env.ProgName(), cli.ErrText(err))
			return 1
		}
		if samples > 0 && n >= samples || finish && micro(m.cur.res.Time).Compare(micro(m.window.Finish)) >= 0 {
			return 0
		}
		if !report() {
			return 0
		}
		if m.Archive {
			continue
		}
		if err := m.env.FlushOut(); err != nil || !cli.Sleep(ctx, m.delta) {
			return 0
		}
	}
}

// micro is a time as these programs know it.
func micro(t pcp.Timestamp) pcp.Timestamp {
	t.Nsec -= t.Nsec % 1000
	return t
}

func (m *Manager) fetch(ctx context.Context) error {
	res, err := m.c.Fetch(ctx, m.ids)
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

// Now is the time of the sample, in full seconds.
func (m *Manager) Now() int64 { return m.cur.res.Time.Sec }

// Clock formats a time in the zone of the report, by a format of strftime(3). What the format
// says of the zone itself is, as in Python, that of the environment.
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

// Of is the value of an instance.
func (m *Manager) Of(name string, inst int32) Value { return m.of(&m.cur, name, inst) }

// Before is what Of was in the sample before.
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

// All returns the values of a metric.
func (m *Manager) All(name string) []pcp.Value {
	i, ok := m.index[name]
	if !ok {
		return nil
	}
	return m.cur.res.Sets[i].Values
}

// Machine returns the line with which reports begin: what the host is. It is "" as long as
// its metrics have no values.
func (m *Manager) Machine() string {
	date := m.Clock("%x", m.Now())
	var text [5]string
	for i, name := range [...]string{"kernel.uname.sysname", "kernel.uname.release", "kernel.uname.nodename", "kernel.uname.machine", "hinv.ncpu"} {
		v := m.One(name)
		if !v.OK() {
			return ""
		}
		text[i] = v.String()
	}
	return fmt.Sprintf("%s  %s  (%s)  %s  %s    (%s CPU)", text[0], text[1], text[2], date, text[3], text[4])
}

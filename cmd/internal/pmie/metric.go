package pmie

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// A metric is a metric of one host, as used by one expression.
type metric struct {
	// Fields that each evaluation reads come first.
	from   *series   // the source of its values, nil until it is fetched
	time   float64   // of the last values
	before float64   // the time of last, 0 if last is unset
	last   []float64 // the previous values of a counter
	turn   int       // the turn of from that insts are of, 0 if it is not known
	count  int       // of instances that have values; less than 0 if unknown
	desc   pcp.Desc
	picked []int // which values of from those of the instances are that the rule names

	x    *expr // the fetch
	name string
	conn string // how the host is reached: a host specification or an archive
	host string // its name, "" if it is not known yet

	first   pcp.Desc // the first known descriptor
	current pcp.Desc // the last descriptor from the host, also if the rule cannot use it
	ready   bool     // its metadata are known
	conv    float64  // to canonical units

	given   bool // the rule names the host
	named   int  // instances that the rule names, 0 for all
	insts   []int32
	names   []string // of insts; missing instances are last
	changes int      // of insts, names or count

	labels *labels // nil until an action needs them
}

// attach sets the source of the values of a metric.
func (m *metric) attach(s *series) { m.from, m.turn = s, 0 }

// newMetrics returns a metric of some hosts.
func (e *Engine) newMetrics(name string, hosts, insts []string) *metrics {
	ms := &metrics{}
	var conns []string
	if hosts == nil {
		hosts = []string{""}
	}
	for _, h := range hosts {
		m := &metric{name: name, conn: e.source(), count: none, named: len(insts), names: slices.Clone(insts), given: h != ""}
		switch {
		case h == "":
		case e.archives != nil:
			m.host, m.conn = h, "unknown archive"
			for _, a := range e.archives {
				if a.host == h {
					m.conn = a.path
					break
				}
			}
		default:
			m.conn = h
		}
		if m.named > 0 {
			m.insts = make([]int32, m.named)
		}
		e.note(m.conn, name)
		ms.list = append(ms.list, m)
		conns = append(conns, m.conn)
	}
	e.reach(conns)
	return ms
}

// where describes the source of a metric.
func (e *Engine) where(m *metric) string {
	if e.archives != nil {
		return fmt.Sprintf("archive %s (host %s)", m.conn, m.host)
	}
	return fmt.Sprintf("pmcd %s (host %s)", m.conn, m.host)
}

// A readiness is the outcome of a request for a metric's metadata.
type readiness int

const (
	hopeless readiness = iota - 1
	later
	ready
)

// initialize requests the metadata of a metric. If again is set, this is a retry, and
// missing metrics are not reported.
func (e *Engine) initialize(m *metric, again bool) readiness {
	c, err := e.context(m.conn)
	if err != nil {
		if e.archives != nil {
			e.fail(err)
			return hopeless
		}
		return later
	}
	found, ok := metadata{}, false
	if a := e.ahead[m.conn]; a != nil {
		found, ok = a.found[m.name]
	}
	if !ok {
		found = e.lookUp(e.ctx, c, m.name)
	}
	return e.known(m, found, again)
}

// known stores the metadata of a metric.
func (e *Engine) known(m *metric, found metadata, again bool) readiness {
	m.turn = 0
	m.changes++
	state := e.accept(m, found, again)
	if state == later && e.archives != nil {
		return hopeless // they do not change
	}
	if state != ready {
		return state
	}
	if m.current = m.desc; m.first == (pcp.Desc{}) {
		m.first = m.desc
	}
	m.conv = canonical(m.desc.Units)
	m.ready = m.conv != 0
	if m.desc.Sem == pcp.SemCounter {
		m.last = make([]float64, max(m.count, 0))
	}
	if again {
		m.x.refit()
	}
	return ready
}

// metadata are a host's answers about a metric. The first error ends the list of
// questions.
type metadata struct {
	host     string
	desc     pcp.Desc
	insts    []pcp.Instance
	archive  bool
	nameErr  error
	meant    string // a hint at the name that may be meant
	descErr  error
	indomErr error
}

// lookUp asks for the metadata of a metric.
func (e *Engine) lookUp(ctx context.Context, c *pmapi.Context, name string) (d metadata) {
	d.host, _ = c.HostName(ctx)
	var ids []pcp.PMID
	if ids, d.nameErr = c.LookupName(ctx, name); d.nameErr != nil {
		if e.cfg.Meant != nil && errors.Is(d.nameErr, pcp.ErrName) {
			d.meant = e.cfg.Meant(ctx, c, name)
		}
		return d
	}
	if d.desc, d.descErr = c.LookupDesc(ctx, ids[0]); d.descErr != nil || d.desc.InDom == pcp.InDomNull {
		return d
	}
	var a *pmapi.ArchiveContext
	if a, d.archive = c.Archive(); d.archive {
		d.insts, d.indomErr = a.GetInDomArchive(ctx, d.desc.InDom)
	} else {
		d.insts, d.indomErr = c.GetInDom(ctx, d.desc.InDom)
	}
	return d
}

func (e *Engine) accept(m *metric, found metadata, again bool) readiness {
	if found.host != "" {
		m.host = found.host
	}
	if m.host != "" {
		e.stats.Host = m.host
	}
	e.changed(m.conn, isBack)
	if err := found.nameErr; err != nil {
		if !again {
			e.errorf("%s: metric %s not in namespace for %s\npmLookupName failed: %s%s\n", e.cfg.Name, m.name, e.where(m), errText(err), found.meant)
		}
		return later
	}
	if err := found.descErr; err != nil {
		m.desc = pcp.Desc{}
		if !again {
			e.errorf("%s: metric %s not currently available from %s\npmLookupDesc failed: %s\n", e.cfg.Name, m.name, e.where(m), errText(err))
		}
		return later
	}
	m.desc = found.desc
	switch m.desc.Type {
	case pcp.TypeAggregate, pcp.TypeAggregateStatic, pcp.TypeEvent, pcp.TypeHighResEvent, pcp.TypeUnknown:
		e.errorf("%s: metric %s has inappropriate type\n", e.cfg.Name, m.name)
		return hopeless
	}
	if m.desc.InDom == pcp.InDomNull {
		if m.named > 0 {
			e.errorf("%s: metric %s has no instances\n", e.cfg.Name, m.name)
			return hopeless
		}
		m.count = 1
		return ready
	}
	list := found.insts
	switch err := found.indomErr; {
	case err == nil:
	case found.archive:
		e.errorf("Metric %s from %s - instance domain not available in archive\npmGetInDomArchive failed: %s\n", m.name, e.where(m), errText(err))
		return hopeless
	default:
		e.errorf("Instance domain for metric %s from %s not (currently) available\npmGetIndom failed: %s\n", m.name, e.where(m), errText(err))
		return later
	}
	if m.named == 0 {
		m.insts, m.names = make([]int32, len(list)), make([]string, len(list))
		for i, inst := range list {
			m.insts[i], m.names[i] = inst.Inst, inst.Name
		}
		m.count = len(list)
		return ready
	}
	return e.pick(m, list, again)
}

// pick finds the instances that a rule names.
func (e *Engine) pick(m *metric, list []pcp.Instance, again bool) readiness {
	state := ready
	m.count = 0
	for i, name := range m.names {
		j := slices.IndexFunc(list, func(inst pcp.Instance) bool { return sameInstance(name, inst.Name) })
		if j < 0 {
			if !again {
				e.notify(slog.LevelError, fmt.Sprintf("metric %s from %s does not (currently) have instance \"%s\"\n", m.name, e.where(m), name))
			}
			m.insts[i] = pcp.InNull
			state = later
			continue
		}
		m.insts[i] = list[j].Inst
		m.count++
	}
	// Missing instances go last, exchanged with the last present ones.
	j := len(m.insts) - 1
	for j >= 0 && m.insts[j] == pcp.InNull {
		j--
	}
	for i := 0; i < j; i++ {
		if m.insts[i] == pcp.InNull {
			m.insts[i], m.insts[j] = m.insts[j], m.insts[i]
			m.names[i], m.names[j] = m.names[j], m.names[i]
			j--
		}
	}
	return state
}

// sameInstance reports whether two names of instances are equal, or one of them equals
// the other up to its first space.
func sameInstance(a, b string) bool {
	if a == b {
		return true
	}
	first := func(s string) (string, bool) {
		s, _, cut := strings.Cut(s, " ")
		return s, cut && s != ""
	}
	x, cutX := first(a)
	y, cutY := first(b)
	if !cutX && !cutY {
		return false
	}
	if !cutX {
		x = a
	}
	if !cutY {
		y = b
	}
	return x == y
}

// errText returns the C library's text of an error.
func errText(err error) string { return pcp.Code(err).Error() }

// changedInstances replaces the known instances with those of new values, and reports whether they
// differ.
func (ev *evaluator) changedInstances(m *metric) bool {
	values := m.values()
	turn := 0
	if values != nil {
		if turn = m.from.turn; m.turn == turn {
			return false
		}
	}
	m.turn = turn
	same := len(values) == max(m.count, 0)
	for i := 0; same && i < len(values); i++ {
		same = m.insts[i] == values[i].Inst
	}
	if same {
		return false
	}
	old := make(map[int32]int, len(m.insts))
	for i := max(m.count, 0) - 1; i >= 0; i-- {
		old[m.insts[i]] = i
	}
	insts, names := make([]int32, len(values)), make([]string, len(values))
	if m.desc.Sem == pcp.SemCounter && len(values) > len(m.last) {
		m.last = append(m.last, make([]float64, len(values)-len(m.last))...)
	}
	var byInst map[int32]string
	for i, v := range values {
		insts[i] = v.Inst
		if j, ok := old[v.Inst]; ok {
			names[i] = m.names[j]
			if m.desc.Sem == pcp.SemCounter && i != j {
				m.last[i], m.last[j] = m.last[j], m.last[i]
			}
			continue
		}
		if byInst == nil {
			byInst = ev.names(m)
		}
		name, ok := byInst[v.Inst]
		if !ok {
			name = fmt.Sprintf("inst#%d?", v.Inst)
		}
		names[i] = name
		if m.desc.Sem == pcp.SemCounter {
			m.last[i] = 0
		}
	}
	m.insts, m.names, m.count = insts, names, len(values)
	m.changes++
	return true
}

// instanceNames requests the names of all instances of a metric.
func (e *Engine) instanceNames(m *metric) map[int32]string {
	c, err := e.context(m.conn)
	if err != nil {
		return map[int32]string{}
	}
	names := make(map[int32]string)
	a, ok := c.Archive()
	var list []pcp.Instance
	if ok {
		if list, err = a.GetInDomArchive(e.ctx, m.desc.InDom); err != nil {
			e.notify(slog.LevelError, fmt.Sprintf("metric %s from %s: instance domain not available in archive\npmNameInDomArchive failed: %s\n", m.name, e.where(m), errText(err)))
		}
	} else if list, err = c.GetInDom(e.ctx, m.desc.InDom); err != nil {
		e.notify(slog.LevelError, fmt.Sprintf("metric %s from %s: instance domain not (currently) available\npmGetInDom failed: %s\n", m.name, e.where(m), errText(err)))
	}
	for _, inst := range list {
		names[inst.Inst] = inst.Name
	}
	return names
}

// context returns a context for metadata.
func (e *Engine) context(conn string) (*pmapi.Context, error) {
	if c := e.contexts[conn]; c != nil {
		return c, nil
	}
	c, err := e.open(conn)
	if err != nil {
		return nil, err
	}
	e.contexts[conn] = c
	return c, nil
}

// open makes a context. It reports once that a host cannot be reached.
func (e *Engine) open(conn string) (*pmapi.Context, error) {
	if e.archives != nil {
		c, err := e.cfg.OpenArchive(conn)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot open archive %s\npmNewContext: %s", e.cfg.Name, conn, errText(err))
		}
		return c.Context, nil
	}
	if e.dead[conn] {
		return nil, pcp.ErrIPC
	}
	c, err := e.cfg.Dial(e.ctx, conn)
	if err != nil {
		e.unreached(conn, err)
	}
	return c, err
}

// unreached records that a host cannot be reached. It is not tried again for now.
func (e *Engine) unreached(conn string, err error) {
	e.dead[conn] = true
	if e.changed(conn, isUnreachable) {
		text := "is unreachable"
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			text = "does not respond"
		case errors.Is(err, pcp.ErrPermission):
			text = "does not permit delivery of metrics to the local host"
		case errors.Is(err, pcp.ErrConnLimit):
			text = "has exceeded its connection limit"
		}
		e.errorf("%s: warning - pmcd via %s %s\n", e.cfg.Name, conn, text)
	}
}

package pmie

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/pmapi"
)

// Metrics returns a metric of some hosts, and connects to them.
func (src *sources) Metrics(name string, hosts, insts []string) []*eval.Metric {
	list := src.named(name, hosts, insts)
	var conns []string
	for _, m := range list {
		conns = append(conns, m.Conn)
	}
	src.reach(conns)
	return list
}

// named returns a metric of some hosts.
func (src *sources) named(name string, hosts, insts []string) (list []*eval.Metric) {
	if hosts == nil {
		hosts = []string{""}
	}
	for _, h := range hosts {
		m := &eval.Metric{Name: name, Conn: src.main(), Count: eval.None, Named: len(insts), Names: slices.Clone(insts), Given: h != ""}
		switch {
		case h == "":
		case src.archives != nil:
			m.Host, m.Conn = h, "unknown archive"
			for _, a := range src.archives {
				if a.host == h {
					m.Conn = a.path
					break
				}
			}
		default:
			m.Conn = h
		}
		if m.Named > 0 {
			m.Insts = make([]int32, m.Named)
		}
		list = append(list, m)
	}
	return list
}

// where describes the source of a metric.
func (src *sources) where(m *eval.Metric) string {
	if src.archives != nil {
		return fmt.Sprintf("archive %s (host %s)", m.Conn, m.Host)
	}
	return fmt.Sprintf("pmcd %s (host %s)", m.Conn, m.Host)
}

// A readiness is the outcome of a request for a metric's metadata.
type readiness int

const (
	hopeless readiness = iota - 1
	later
	ready
)

// Describe requests the metadata of a metric. It reports whether the rule can be used now or later.
func (src *sources) Describe(m *eval.Metric) bool { return src.initialize(m, false) != hopeless }

// initialize requests the metadata of a metric. If again is set, this is a retry, and
// missing metrics are not reported.
func (src *sources) initialize(m *eval.Metric, again bool) readiness {
	c, err := src.context(m.Conn)
	if err != nil {
		if src.archives != nil {
			src.fail(err)
			return hopeless
		}
		return later
	}
	found, ok := metadata{}, false
	if a := src.ahead[m.Conn]; a != nil {
		found, ok = a.found[m.Name]
	}
	if !ok {
		found = src.lookUp(src.ctx, c, m.Name)
	}
	return src.known(m, found, again)
}

// known stores the metadata of a metric.
func (src *sources) known(m *eval.Metric, found metadata, again bool) readiness {
	m.Turn = 0
	m.Changes++
	state := src.accept(m, found, again)
	if state == later && src.archives != nil {
		return hopeless // they do not change
	}
	if state != ready {
		return state
	}
	if m.Current = m.Desc; m.First == (pcp.Desc{}) {
		m.First = m.Desc
	}
	m.Conv = eval.Canonical(m.Desc.Units)
	m.Ready = m.Conv != 0
	if m.Desc.Sem == pcp.SemCounter {
		m.Last = make([]float64, max(m.Count, 0))
	}
	if again {
		m.X.Refit()
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
func (src *sources) lookUp(ctx context.Context, c *pmapi.Context, name string) (d metadata) {
	d.host, _ = c.HostName(ctx)
	var ids []pcp.PMID
	if ids, d.nameErr = c.LookupName(ctx, name); d.nameErr != nil {
		if src.cfg.Meant != nil && errors.Is(d.nameErr, pcp.ErrName) {
			d.meant = src.cfg.Meant(ctx, c, name)
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

func (src *sources) accept(m *eval.Metric, found metadata, again bool) readiness {
	if found.host != "" {
		m.Host = found.host
	}
	if m.Host != "" {
		src.host = m.Host
	}
	src.changed(m.Conn, isBack)
	if err := found.nameErr; err != nil {
		if !again {
			src.errorf("%s: metric %s not in namespace for %s\npmLookupName failed: %s%s\n", src.cfg.Name, m.Name, src.where(m), errText(err), found.meant)
		}
		return later
	}
	if err := found.descErr; err != nil {
		m.Desc = pcp.Desc{}
		if !again {
			src.errorf("%s: metric %s not currently available from %s\npmLookupDesc failed: %s\n", src.cfg.Name, m.Name, src.where(m), errText(err))
		}
		return later
	}
	m.Desc = found.desc
	switch m.Desc.Type {
	case pcp.TypeAggregate, pcp.TypeAggregateStatic, pcp.TypeEvent, pcp.TypeHighResEvent, pcp.TypeUnknown:
		src.errorf("%s: metric %s has inappropriate type\n", src.cfg.Name, m.Name)
		return hopeless
	}
	if m.Desc.InDom == pcp.InDomNull {
		if m.Named > 0 {
			src.errorf("%s: metric %s has no instances\n", src.cfg.Name, m.Name)
			return hopeless
		}
		m.Count = 1
		return ready
	}
	list := found.insts
	switch err := found.indomErr; {
	case err == nil:
	case found.archive:
		src.errorf("Metric %s from %s - instance domain not available in archive\npmGetInDomArchive failed: %s\n", m.Name, src.where(m), errText(err))
		return hopeless
	default:
		src.errorf("Instance domain for metric %s from %s not (currently) available\npmGetIndom failed: %s\n", m.Name, src.where(m), errText(err))
		return later
	}
	if m.Named == 0 {
		m.Insts, m.Names = make([]int32, len(list)), make([]string, len(list))
		for i, inst := range list {
			m.Insts[i], m.Names[i] = inst.Inst, inst.Name
		}
		m.Count = len(list)
		return ready
	}
	return src.pick(m, list, again)
}

// pick finds the instances that a rule names.
func (src *sources) pick(m *eval.Metric, list []pcp.Instance, again bool) readiness {
	state := ready
	m.Count = 0
	for i, name := range m.Names {
		j := slices.IndexFunc(list, func(inst pcp.Instance) bool { return sameInstance(name, inst.Name) })
		if j < 0 {
			if !again {
				src.notify(slog.LevelError, fmt.Sprintf("metric %s from %s does not (currently) have instance \"%s\"\n", m.Name, src.where(m), name))
			}
			m.Insts[i] = pcp.InNull
			state = later
			continue
		}
		m.Insts[i] = list[j].Inst
		m.Count++
	}
	// Missing instances go last, exchanged with the last present ones.
	j := len(m.Insts) - 1
	for j >= 0 && m.Insts[j] == pcp.InNull {
		j--
	}
	for i := 0; i < j; i++ {
		if m.Insts[i] == pcp.InNull {
			m.Insts[i], m.Insts[j] = m.Insts[j], m.Insts[i]
			m.Names[i], m.Names[j] = m.Names[j], m.Names[i]
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

// instanceNames requests the names of all instances of a metric.
func (src *sources) instanceNames(m *eval.Metric) map[int32]string {
	c, err := src.context(m.Conn)
	if err != nil {
		return map[int32]string{}
	}
	names := make(map[int32]string)
	a, ok := c.Archive()
	var list []pcp.Instance
	if ok {
		if list, err = a.GetInDomArchive(src.ctx, m.Desc.InDom); err != nil {
			src.notify(slog.LevelError, fmt.Sprintf("metric %s from %s: instance domain not available in archive\npmNameInDomArchive failed: %s\n", m.Name, src.where(m), errText(err)))
		}
	} else if list, err = c.GetInDom(src.ctx, m.Desc.InDom); err != nil {
		src.notify(slog.LevelError, fmt.Sprintf("metric %s from %s: instance domain not (currently) available\npmGetInDom failed: %s\n", m.Name, src.where(m), errText(err)))
	}
	for _, inst := range list {
		names[inst.Inst] = inst.Name
	}
	return names
}

// errText returns the C library's text of an error.
func errText(err error) string { return pcp.Code(err).Error() }

// broken reports whether an error is an error of the connection.
func broken(err error) bool {
	return err != nil && (errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout))
}

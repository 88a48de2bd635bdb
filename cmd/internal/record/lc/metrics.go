package lc

import (
	"errors"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/wire"
)

// noMetrics is the status of a list of metrics that was not read.
const noMetrics pcp.Error = -1

// A metricList holds the metrics of a statement.
type metricList struct {
	list    []metric
	domains []*domain
	status  pcp.Error // of the statement, if negative: it is ignored

	// State of the metrics that one name matches:
	instances bool // there are some in brackets
	checked   bool // the metrics can have them
}

// A metric is a metric of a statement.
type metric struct {
	name     string
	id       pcp.PMID
	dom      *domain // nil if there is none
	insts    []int32 // in brackets; nil means all instances
	selected bool    // following instances in brackets apply to it too
	fresh    bool    // it is new since the last name
}

// A domain is an instance domain at the time when a statement names it.
type domain struct {
	id    pcp.InDom
	list  []pcp.Instance
	names map[int32]string
}

// name returns the name of an instance, "???" if it is not known.
func (d *domain) name(inst int32) string {
	if d.names == nil {
		d.names = make(map[int32]string, len(d.list))
		for _, in := range d.list {
			if _, ok := d.names[in.Inst]; !ok {
				d.names[in.Inst] = in.Name
			}
		}
	}
	if name, ok := d.names[inst]; ok {
		return name
	}
	return "???"
}

// begin makes the list empty.
func (l *metricList) begin() {
	*l = metricList{list: l.list[:0]}
}

// addMetrics adds the metrics that a name matches.
func (s *session) addMetrics(name string) {
	l := &s.metrics
	l.instances, l.checked = false, false
	for i := range l.list {
		l.list[i].selected, l.list[i].fresh = false, false
	}
	err := s.traverse(name)
	if err == nil && l.status == 0 && len(l.list) > 0 {
		return
	}
	s.in.warnf("Problem with lookup for metric \"%s\" ...", name)
	if err == nil && l.status < 0 {
		err = l.status
	}
	if err != nil {
		meant := ""
		if errors.Is(err, pcp.ErrName) {
			meant = source.DidYouMean(s.ctx, s.env, s.collector, name)
		}
		s.errorf("Reason: %s%s\n", cli.ErrText(err), meant)
		l.status = pcp.Code(err)
	}
}

// traverse adds the metrics at or below a name. Its error is about the name; errors of the metrics are in
// the status of the list.
func (s *session) traverse(name string) error {
	if s.collector == nil {
		return pcp.ErrNoContext
	}
	var names []string
	for leaf, err := range s.collector.Traverse(s.ctx, name) {
		if err != nil {
			return err
		}
		names = append(names, leaf)
	}
	l := &s.metrics
	if l.status < 0 {
		return nil
	}
	ids, err := s.collector.LookupName(s.ctx, names...)
	if err != nil && len(ids) != len(names) {
		l.status = pcp.Code(err)
		return nil
	}
	if err != nil { // some are unknown: all before the first unknown one count
		for i, id := range ids {
			if id == pcp.PMIDNull {
				names, ids = names[:i], ids[:i]
				break
			}
		}
	}
	descs, derr := s.collector.LookupDescs(s.ctx, ids...)
	if derr != nil && len(descs) != len(ids) {
		descs = nil // ask one by one
	}
	for i, id := range ids {
		var desc pcp.Desc
		if descs != nil {
			desc = descs[i]
		}
		if l.status = s.addMetric(names[i], id, desc); l.status < 0 {
			return nil
		}
	}
	if err != nil {
		l.status = pcp.Code(err)
	}
	return nil
}

// addMetric adds a metric to the list, unless it is there or there is no such metric. After an error the
// statement is ignored.
func (s *session) addMetric(name string, id pcp.PMID, desc pcp.Desc) pcp.Error {
	l := &s.metrics
	for i := range l.list {
		if l.list[i].id == id {
			l.list[i].selected = true
			return 0
		}
	}
	if desc.PMID != id {
		var err error
		if desc, err = s.collector.LookupDesc(s.ctx, id); err != nil {
			if code := pcp.Code(err); code != pcp.ErrPMID {
				return code
			}
			return 0
		}
	}
	if desc.Type == pcp.TypeNoSupport {
		return 0
	}
	m := metric{name: name, id: id, selected: true, fresh: true}
	if desc.InDom != pcp.InDomNull {
		var err error
		if m.dom, err = s.domain(desc.InDom); err != nil {
			return pcp.Code(err)
		}
	}
	l.list = append(l.list, m)
	return 0
}

// domain returns an instance domain.
func (s *session) domain(id pcp.InDom) (*domain, error) {
	l := &s.metrics
	for _, d := range l.domains {
		if d.id == id {
			return d, nil
		}
	}
	list, err := s.collector.GetInDom(s.ctx, id)
	if err != nil {
		return nil, err
	}
	d := &domain{id: id, list: list}
	l.domains = append(l.domains, d)
	return d, nil
}

// An instanceSpec is an instance by its name or number.
type instanceSpec struct {
	name  string
	inst  int32
	named bool
}

// text returns the specification after a word that names its type.
func (i instanceSpec) text(what string) string {
	if i.named {
		return fmt.Sprintf("%s name %s", what, i.name)
	}
	return fmt.Sprintf("%s number %d", what, i.inst)
}

// equalFold is strcasecmp(3).
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	lower := func(c byte) byte {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// find returns the number of the instance in a domain.
func (i instanceSpec) find(d *domain) (int32, bool) {
	for _, in := range d.list {
		if i.named && equalFold(in.Name, i.name) || !i.named && in.Inst == i.inst {
			return in.Inst, true
		}
	}
	return 0, false
}

// addInstance restricts the last named metrics to an instance. Further calls add further
// instances.
func (s *session) addInstance(spec instanceSpec) {
	l := &s.metrics
	if l.status < 0 {
		return
	}
	l.instances = true
	var first *metric
	for i := range l.list {
		if l.list[i].selected {
			first = &l.list[i]
			break
		}
	}
	if first == nil { // the name matches no metrics, which has been reported
		l.status = pcp.ErrPMID
		return
	}
	if !l.checked {
		l.checked = true
		if !s.sameDomain(first) {
			l.status = pcp.ErrInDom
			return
		}
	}
	inst, found := spec.find(first.dom)
	for i := range l.list {
		m := &l.list[i]
		if !m.selected {
			continue
		}
		switch all := m.insts == nil && !m.fresh; {
		case !found && all:
			s.errorf("Warning: %s not currently in metric %s's instance domain\n         (getting all instances anyway)\n", spec.text("instance"), m.name)
		case !found:
			s.noInstance(spec, m)
		case all:
			// endGroup reports it once for all of them.
		case m.has(inst):
			of := m.name
			if spec.named {
				of = "metric " + of
			}
			s.errorf("Warning: %s already specified for %s\n", spec.text("instance"), of)
		default:
			m.insts = append(m.insts, inst)
		}
	}
}

// has reports whether an instance is among those the metric is restricted to.
func (m *metric) has(inst int32) bool {
	for _, i := range m.insts {
		if i == inst {
			return true
		}
	}
	return false
}

// noInstance reports that an instance does not exist, and the consequence.
func (s *session) noInstance(spec instanceSpec, m *metric) {
	s.metrics.status = pcp.ErrInst
	named := "number"
	what := fmt.Sprint(spec.inst)
	if spec.named {
		named, what = "named", spec.name
	}
	s.errorf("Error: metric %s currently has no instance %s %s\n", m.name, named, what)
	if s.saidInstances {
		return
	}
	s.saidInstances = true
	s.errorf("    - you may only specify metric instances active now.  However if no\n" +
		"      instances are specified, pmlogger will use all of the instances\n" +
		"      available at the time the metric is logged\n")
}

// sameDomain reports whether the last named metrics all have the same instance domain. If
// not, it prints a message.
func (s *session) sameDomain(first *metric) bool {
	name := func(m *metric) string {
		if m.dom == nil {
			return "PM_INDOM_NULL"
		}
		return m.dom.id.String()
	}
	good, said := true, false
	for i := range s.metrics.list {
		m := &s.metrics.list[i]
		if !m.selected {
			continue
		}
		if m.dom == nil {
			s.errorf("Error: %s has no instance domain but an instance was specified\n", m.name)
			good = false
		}
		if m.dom == first.dom {
			continue
		}
		if !said {
			s.errorf("Error: different instance domains:\n    %s (%s)\n", first.name, name(first))
			good, said = false, true
		}
		s.errorf("    %s (%s)\n", m.name, name(m))
	}
	return good
}

// endGroup is called after a name and its instances. It warns about metrics that were named before.
func (s *session) endGroup() {
	l := &s.metrics
	if len(l.list) == 0 {
		if l.status == 0 {
			l.status = pcp.ErrPMID
		}
		return
	}
	for i := range l.list {
		m := &l.list[i]
		switch {
		case !m.selected || m.fresh:
		case m.dom == nil:
			s.errorf("Warning: %s has already been specified\n", m.name)
		case m.insts != nil && !l.instances:
			s.errorf("Warning: %s had instance(s) specified previously.\n"+
				"         Using all instances since none specified this time\n", m.name)
			m.insts = nil
		case m.insts != nil:
		case !l.instances:
			s.errorf("Warning: already using all instances for %s\n", m.name)
		default:
			s.errorf("Warning: instance(s) specified for %s\n         (already using all instances)\n", m.name)
		}
	}
}

// endMetrics is called after all metrics of a statement.
func (s *session) endMetrics() {
	if s.metrics.status < 0 {
		if s.connected() {
			s.errorf("Logging statement ignored due to error(s)\n")
		}
		return
	}
	if s.debug("appl0") {
		s.dumpMetrics()
	}
}

// request returns the metrics in the form of a request to pmlogger.
func (l *metricList) request() []wire.LogMetric {
	list := make([]wire.LogMetric, len(l.list))
	for i := range l.list {
		m := &l.list[i]
		list[i] = wire.LogMetric{PMID: m.id, Insts: m.insts}
		if m.dom == nil {
			list[i].Insts = []int32{pcp.InNull}
		}
	}
	return list
}

// dumpMetrics prints the list, for -D appl0.
func (s *session) dumpMetrics() {
	s.printf("     Inst  Inst Name\n    ====== =========\n")
	for i := range s.metrics.list {
		m := &s.metrics.list[i]
		s.printf("%s\n", m.name)
		switch {
		case m.dom == nil:
			s.printf("           singular instance\n")
		case m.insts == nil:
			for _, in := range m.dom.list {
				s.printf("    %6d %s\n", in.Inst, in.Name)
			}
		default:
			for _, inst := range m.insts {
				s.printf("    %6d %s\n", inst, m.dom.name(inst))
			}
		}
		s.printf("\n")
	}
}

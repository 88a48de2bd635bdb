package statsd

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// Limits of a table. Zero fields mean the defaults.
type Limits struct {
	Metrics int   // 10,000
	Series  int   // sets of tags of all metrics; 100,000
	Memory  int64 // in bytes, approximately; 128 MB
}

func (l *Limits) complete() {
	l.Metrics, l.Series, l.Memory = cmp.Or(l.Metrics, 10_000), cmp.Or(l.Series, 100_000), cmp.Or(l.Memory, 128<<20)
}

// The approximate memory of a metric, a series and a member of a set besides their texts, in bytes.
const (
	metricCost = 1 << 10
	seriesCost = 512
	memberCost = 64
)

// Numbers of metrics: items 0 to 1000 of clusters from 1 on, as pmdastatsd has them.
const (
	itemsOfCluster = 1001
	maxNumber      = 4094 * itemsOfCluster
	firstSerial    = 3 // of the instance domains of metrics
)

// root is the first part of all names.
const root = "statsd"

// A metric is a metric that programs send.
type metric struct {
	name   string // without the root
	kind   kind
	number int
	desc   pcp.Desc
	next   int32 // group of the next series
	index  map[string]*series
	list   []*series // in the order of their groups
	live   bool      // received in this run
}

// A series is a metric with some tags.
type series struct {
	segment string // of the names of instances: "" or "a=1::b=2"
	group   int32  // determines the numbers of instances
	tags    []string
	live    bool

	value   float64
	summary summary
	members map[string]struct{} // of a set
	known   bool                // stats are those of summary
	stats   [stats]float64
}

// width is the number of instances of a series.
func (m *metric) width() int32 {
	if m.kind == duration || m.kind == histogram {
		return stats
	}
	return 1
}

// counts are what the agent counts about itself.
type counts struct {
	received, parsed, dropped, aggregated, packets uint64
	parsing, aggregating                           time.Duration
	rejected                                       [reasons]uint64
	last                                           [reasons]string
	tracked                                        [set + 1]int // by kind
	series                                         int
	memory                                         int64
}

// A table has the metrics. Its user locks it.
type table struct {
	domain int
	limits Limits
	exact  bool
	log    func(why reason, line []byte)

	metrics  map[string]*metric
	byNumber map[int]*metric
	next     int // number of the next metric
	tree     *pmns.Tree
	names    bool // changed since Changes
	labels   bool
	dirty    bool // the file of names is old
	counts

	msg     message
	segment []byte
}

func newTable(domain int, limits Limits, exact bool) *table {
	limits.complete()
	t := &table{domain: domain, limits: limits, exact: exact, metrics: make(map[string]*metric), byNumber: make(map[int]*metric), tree: pmns.New()}
	for _, c := range controls() {
		t.tree.Add(root+".pmda."+c.name, pcp.NewPMID(domain, 0, c.item))
	}
	return t
}

// packet takes a datagram.
func (t *table) packet(b []byte) {
	t.packets++
	for len(b) > 0 {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if len(line) > 0 {
			t.line(line)
		}
	}
}

// line takes a message.
func (t *table) line(line []byte) {
	t.received++
	start := time.Now()
	why := t.msg.parse(line)
	parsed := time.Now()
	t.parsing += parsed.Sub(start)
	if why == taken {
		t.parsed++
		if why = t.aggregate(&t.msg); why == taken {
			t.aggregated++
			t.aggregating += time.Since(parsed)
			return
		}
	}
	t.reject(why, line)
}

// reject counts a message that is dropped.
func (t *table) reject(why reason, line []byte) {
	t.dropped++
	t.rejected[why]++
	t.last[why] = strings.ToValidUTF8(string(line[:min(len(line), 200)]), "\ufffd")
	if t.log != nil {
		t.log(why, line)
	}
}

// aggregate adds the values of a message. If one of them is bad, it takes none.
func (t *table) aggregate(m *message) reason {
	var numbers [16]float64
	values := numbers[:0]
	if m.kind != set {
		for rest, more := m.values, true; more; {
			var text []byte
			text, rest, more = cut(rest)
			v, ok := number(text)
			if !ok || v < 0 && m.kind != gauge && m.kind != histogram || len(values) == maxValues {
				return badValue
			}
			if v < 0 && m.kind == histogram {
				return badValue
			}
			values = append(values, v)
		}
	}
	s, why := t.find(m)
	if why != taken {
		return why
	}
	switch m.kind {
	case counter:
		for _, v := range values {
			s.value += v / m.rate
		}
	case gauge:
		rest := m.values
		for _, v := range values {
			var text []byte
			text, rest, _ = cut(rest)
			if s.live && (text[0] == '+' || text[0] == '-') {
				v += s.value
			}
			s.value, s.live = v, true
		}
	case duration, histogram:
		if why := t.summarize(m, s, values); why != taken {
			return why
		}
	case set:
		for rest, more := m.values, true; more; {
			var text []byte
			text, rest, more = cut(rest)
			if _, ok := s.members[string(text)]; ok {
				continue
			}
			if len(text) > maxTag {
				return badValue
			}
			if !t.charge(memberCost + len(text)) {
				return tooMemory
			}
			s.members[string(text)] = struct{}{}
			s.value = float64(len(s.members))
		}
	}
	s.live = true
	return taken
}

// cut returns the values of a message one after the other.
func cut(b []byte) (value, rest []byte, more bool) {
	for i, c := range b {
		if c == ':' {
			return b[:i], b[i+1:], true
		}
	}
	return b, nil, false
}

// maxWeight limits how often a value counts, by its rate.
const maxWeight = 1e6

func (t *table) summarize(m *message, s *series, values []float64) reason {
	weight := int64(min(1/m.rate, maxWeight) + 0.5)
	for _, v := range values {
		if m.kind == duration {
			v = float64(uint64(min(v, 1<<62))) // as pmdastatsd has them
		}
		more, ok := s.summary.add(v, weight, int(t.limits.Memory-t.memory))
		switch {
		case !ok:
			return badValue
		case more < 0:
			return tooMemory
		}
		t.memory += int64(more)
		s.known = false
	}
	return taken
}

// charge counts memory. It reports false if there is no more.
func (t *table) charge(n int) bool {
	if t.memory+int64(n) > t.limits.Memory {
		return false
	}
	t.memory += int64(n)
	return true
}

// find returns the series of a message, a new one if it is not known.
func (t *table) find(m *message) (*series, reason) {
	x := t.metrics[string(m.name)]
	if x == nil || x.kind != m.kind {
		if x != nil && x.live {
			return nil, badType
		}
		var why reason
		if x, why = t.add(m); why != taken {
			return nil, why
		}
	}
	b := t.segment[:0]
	for i := range m.n {
		if i > 0 {
			b = append(b, "::"...)
		}
		b = append(append(append(b, m.tags[i].key...), '='), m.tags[i].value...)
	}
	t.segment = b
	s := x.index[string(b)]
	if s != nil && (s.live || s.summary != nil || s.members != nil) {
		return s, taken
	}
	if why := t.show(x); why != taken {
		return nil, why
	}
	cost := seriesCost + 4*len(b)
	if s == nil {
		if t.series >= t.limits.Series && !t.makeRoom() {
			return nil, tooSeries
		}
		if x.next > (1<<31-1)/stats-1 {
			return nil, tooSeries
		}
		if !t.charge(cost) {
			return nil, tooMemory
		}
		s = &series{segment: string(b)}
		if len(b) > 0 {
			s.group = x.next
			x.next++
		}
		x.add(s)
		t.series++
	} else if !t.charge(cost) { // known by its number
		return nil, tooMemory
	}
	for i := range m.n {
		s.tags = append(s.tags, labelName(m.tags[i].key), strings.ToValidUTF8(string(m.tags[i].value), "\ufffd"))
	}
	switch {
	case x.kind == set:
		s.members = make(map[string]struct{})
	case x.width() == 1:
	case t.exact:
		s.summary = new(exact)
	case x.kind == duration:
		s.summary = newDurations()
	default:
		s.summary = newValues()
	}
	t.labels, t.dirty = true, true
	return s, taken
}

// labelName returns a name that a label of PCP can have.
func labelName(key []byte) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '/' {
			return '_'
		}
		return r
	}, string(key))
}

// add adds a series, in the order of groups.
func (m *metric) add(s *series) {
	m.index[s.segment] = s
	i, _ := slices.BinarySearchFunc(m.list, s.group, func(s *series, group int32) int { return cmp.Compare(s.group, group) })
	m.list = slices.Insert(m.list, i, s)
}

// add adds a metric, in place of one of another kind that an earlier run had.
func (t *table) add(m *message) (*metric, reason) {
	if old := t.metrics[string(m.name)]; old != nil {
		t.forget(old)
	}
	if len(t.metrics) >= t.limits.Metrics && !t.makeRoom() || t.next >= maxNumber {
		return nil, tooMetrics
	}
	if !t.charge(metricCost + 3*len(m.name)) {
		return nil, tooMemory
	}
	x := &metric{name: string(m.name), kind: m.kind, number: t.next, next: 1, index: make(map[string]*series)}
	x.describe(t.domain)
	if why := t.show(x); why != taken {
		t.memory -= int64(metricCost + 3*len(m.name))
		return nil, why
	}
	t.next++
	t.metrics[x.name], t.byNumber[x.number] = x, x
	t.dirty = true
	return x, taken
}

// show adds the name of a metric to the name space.
func (t *table) show(m *metric) reason {
	if m.live {
		return taken
	}
	if t.tree.Add(root+"."+m.name, m.desc.PMID) != nil {
		return badName // a node, or below a metric
	}
	m.live, t.names = true, true
	t.tracked[m.kind]++
	return taken
}

func (m *metric) describe(domain int) {
	m.desc = pcp.Desc{
		PMID: pcp.NewPMID(domain, 1+m.number/itemsOfCluster, m.number%itemsOfCluster), Type: pcp.TypeDouble, Sem: pcp.SemInstant,
		InDom: pcp.NewInDom(domain, firstSerial+m.number),
	}
	switch m.kind {
	case counter:
		m.desc.Sem = pcp.SemCounter
	case duration:
		m.desc.Units = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	}
}

// numberOf returns the number of the metric with a PMID.
func numberOf(id pcp.PMID) int {
	if id.Item() >= itemsOfCluster {
		return -1
	}
	return (id.Cluster()-1)*itemsOfCluster + id.Item()
}

// makeRoom forgets the numbers of metrics and series of earlier runs that have not been received in this one.
func (t *table) makeRoom() bool {
	found := false
	for _, m := range t.metrics {
		if !m.live {
			t.forget(m)
			found = true
			continue
		}
		n := len(m.list)
		m.list = slices.DeleteFunc(m.list, func(s *series) bool {
			if s.live {
				return false
			}
			delete(m.index, s.segment)
			return true
		})
		t.series -= n - len(m.list)
		found = found || len(m.list) < n
	}
	t.dirty = t.dirty || found
	return found
}

// forget removes a metric of an earlier run.
func (t *table) forget(m *metric) {
	delete(t.metrics, m.name)
	delete(t.byNumber, m.number)
	t.series -= len(m.list)
}

// each calls with each instance of a metric that has a value.
func (m *metric) each(with func(inst int32, s *series, stat int)) {
	width := m.width()
	for _, s := range m.list {
		if !s.live {
			continue
		}
		for i := range width {
			with(s.group*width+i, s, int(i))
		}
	}
}

// instance returns the name of an instance.
func (m *metric) instance(s *series, stat int) string {
	switch {
	case m.width() == 1:
		return "/" + s.segment
	case s.segment == "":
		return statNames[stat]
	}
	return statNames[stat] + "::" + s.segment
}

// at returns the value of an instance.
func (s *series) at(stat int) float64 {
	if s.summary == nil {
		return s.value
	}
	if !s.known {
		s.stats, s.known = s.summary.stats(), true
	}
	return s.stats[stat]
}

// String returns the sizes of the table, for messages.
func (t *table) String() string {
	return fmt.Sprintf("%d metrics, %d series, %d bytes", len(t.metrics), t.series, t.memory)
}

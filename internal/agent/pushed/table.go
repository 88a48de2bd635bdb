package pushed

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// A Config is the configuration of a table. Zero fields mean the defaults.
type Config struct {
	Root   string // first component of all names
	Domain int
	File   string // of names and numbers; "" means that they are not kept
	// Stale is how long a series has a value after it was last pushed; 0 means DefaultStale.
	Stale time.Duration
	// Forget is how long the number of a series is kept after it was last pushed; 0 means DefaultForget.
	Forget time.Duration
	// Numbered has the names of instances begin with their numbers, so that they differ up to the first space.
	Numbered bool
	Limits   Limits
	Reasons  []Reason         // those that the agent itself has for [Batch.Reject] and [Table.Reject]; the order must not change
	Controls []Control        // metrics of the agent itself, below ROOT.control
	Now      func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil discards
}

// Defaults of Config.
const (
	DefaultStale  = 5 * time.Minute
	DefaultForget = 7 * 24 * time.Hour
)

// Limits are the limits of a table. Zero fields mean the defaults.
type Limits struct {
	Senders     int   // of the table; 1,000
	Memory      int64 // of the table, in bytes, approximately; 128 MB
	Metrics     int   // of a sender; 1,000
	Series      int   // of a sender; 20,000
	LabelBytes  int   // of a series: its name and its labels; 4,096
	SenderBytes int64 // memory of a sender, approximately; 32 MB
}

func (l *Limits) complete() {
	l.Senders = cmp.Or(l.Senders, 1000)
	l.Memory = cmp.Or(l.Memory, 128<<20)
	l.Metrics = cmp.Or(l.Metrics, 1000)
	l.Series = cmp.Or(l.Series, 20_000)
	l.LabelBytes = cmp.Or(l.LabelBytes, 4096)
	l.SenderBytes = cmp.Or(l.SenderBytes, 32<<20)
}

// The approximate memory of a metric and of a series besides their texts, in bytes.
const (
	metricCost = 2 << 10
	seriesCost = 512
)

// Limits that do not depend on the configuration.
const (
	maxHelp      = 4 << 10 // of a help text, which is cut there
	maxSender    = 256     // of the name of a sender, in bytes
	maxNumber    = 4092 << 10
	firstSerial  = 1 << 12 // of the instance domains of metrics
	sweepEvery   = time.Minute
	sweepFull    = 10 * time.Second // if a limit was reached
	itemBits     = 10
	firstCluster = 1
)

// A Reason is why a value is not taken. It is the name of an instance of ROOT.control.rejected.
type Reason string

// The reasons of a table.
const (
	ReasonSenders  Reason = "senders"  // too many senders
	ReasonMetrics  Reason = "metrics"  // too many metrics of the sender
	ReasonSeries   Reason = "series"   // too many series of the sender
	ReasonLabels   Reason = "labels"   // name and labels are too long
	ReasonMemory   Reason = "memory"   // too much memory, of the sender or of all
	ReasonName     Reason = "name"     // not a possible name of a metric, or the name of a node
	ReasonConflict Reason = "conflict" // the metric has values of another type, other semantics or units
	ReasonOld      Reason = "old"      // older than the newest value of the series, or than Config.Stale
)

func tableReasons() []Reason {
	return []Reason{ReasonSenders, ReasonMetrics, ReasonSeries, ReasonLabels, ReasonMemory, ReasonName, ReasonConflict, ReasonOld}
}

// A Rejection is the error about a value that is not taken.
type Rejection struct {
	Reason Reason
	What   string // the metric or sender, and details
}

func (r *Rejection) Error() string { return string(r.Reason) + ": " + r.What }

// A Label is a label of a series.
type Label struct{ Name, Value string }

// A Metric describes a metric that is pushed.
type Metric struct {
	Name  string   // below the root; see [Name]
	Type  pcp.Type // TypeU64, Type64 or TypeDouble
	Sem   pcp.Sem
	Units pcp.Units
	Help  string
}

// A Table has the values that are pushed. Its methods may be called at the same time.
type Table struct {
	cfg     Config
	dynamic *pmns.Tree // the dynamic root alone
	reasons []Reason

	mu         sync.Mutex
	byName     map[string][]*metric // by the name as it was pushed; the first one is current
	byNumber   map[int]*metric
	senders    map[string]*sender
	bySender   []*sender // in the order of their numbers
	nextSender int32
	next       int // number of the next metric
	bytes      int64
	tree       *pmns.Tree
	names      bool // changed since Changes
	labels     bool
	rejected   []rejections // by the number of the reason
	swept      time.Time
	fullSeries bool // a limit of series or memory was reached since
	fullNames  bool // a limit of metrics or senders was

	saving
}

type rejections struct {
	count uint64
	last  string
}

type sender struct {
	name              string
	number            int32
	metrics, series   int
	bytes             int64
	samples, rejected uint64
}

type metric struct {
	name   string // as it was pushed
	shown  string // in the name space, with the root; "" if another metric has the name
	number int
	desc   pcp.Desc
	help   string
	sender *sender
	next   int32
	index  map[string]*series
	series []*series // in the order of their numbers
	pushed int64     // when it was last pushed, in seconds
}

type series struct {
	name   string // without the number
	labels []Label
	common []Label
	inst   int32
	live   bool // false if only its number is known
	value  pcp.Value
	at     int64 // time of the value, in nanoseconds
	pushed int64 // when it was last pushed, in seconds
	cost   int64
}

// New returns a table with the numbers of its file. A file that does not exist is not an error.
func New(cfg Config) (*Table, error) {
	cfg.Limits.complete()
	cfg.Stale, cfg.Forget = cmp.Or(cfg.Stale, DefaultStale), cmp.Or(cfg.Forget, DefaultForget)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Domain < 1 || cfg.Domain > pcp.MaxAgentDomain {
		return nil, fmt.Errorf("domain %d is not in 1..%d", cfg.Domain, pcp.MaxAgentDomain)
	}
	t := &Table{
		cfg: cfg, dynamic: pmns.New(), reasons: append(tableReasons(), cfg.Reasons...),
		byName: make(map[string][]*metric), byNumber: make(map[int]*metric), senders: make(map[string]*sender),
		swept: cfg.Now(),
	}
	t.rejected = make([]rejections, len(t.reasons))
	if err := t.dynamic.Add(cfg.Root, pcp.DynamicRoot(cfg.Domain)); err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	if err := t.load(); err != nil {
		return nil, err
	}
	t.rebuild()
	return t, nil
}

// Name returns a name that a metric below the root can have: characters other than letters, digits and underscores
// become underscores, and each part between dots begins with a letter, which is x if it had none. It returns "" if
// nothing remains.
func Name(s string) string {
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	var b strings.Builder
	start := true
	for i := range len(s) {
		c := s[i]
		if c == '.' {
			start = true
			continue
		}
		if start {
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			if !letter(c) {
				b.WriteByte('x')
			}
			start = false
		}
		if !letter(c) && (c < '0' || c > '9') {
			c = '_'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// LabelName returns a name that a label can have: other characters than letters, digits and underscores become
// underscores, and the first one is a letter, which is x if it was not.
func LabelName(s string) string { return Name(strings.ReplaceAll(s, ".", "_")) }

// A Batch is what a sender pushes at one time. It holds the lock of its table.
type Batch struct {
	t      *Table
	s      *sender // nil if there are too many
	name   string
	common []Label
	size   int // of common
	now    time.Time
	err    error
}

// Begin begins to take the values of a sender. Labels common are those of all its series, besides their own; the table keeps
// the slice.
func (t *Table) Begin(name string, common []Label) *Batch {
	t.mu.Lock()
	b := &Batch{t: t, name: name, common: common, now: t.cfg.Now(), size: labelBytes(common)}
	full := t.fullSeries || t.fullNames
	if t.swept.Add(sweepEvery).Before(b.now) || full && t.swept.Add(sweepFull).Before(b.now) {
		names, series := b.now.Add(-t.cfg.Forget), b.now.Add(-t.cfg.Forget)
		if full {
			series = b.now.Add(-t.cfg.Stale)
		}
		if t.fullNames {
			names = series
		}
		t.sweep(b.now, names, series)
	}
	b.s, b.err = t.sender(name)
	return b
}

// End ends a batch.
func (b *Batch) End() {
	b.t.scheduleSave()
	b.t.mu.Unlock()
}

func labelBytes(list []Label) (n int) {
	for _, l := range list {
		n += len(l.Name) + len(l.Value)
	}
	return n
}

// sender returns a sender, a new one if it is not known.
func (t *Table) sender(name string) (*sender, error) {
	if s := t.senders[name]; s != nil {
		return s, nil
	}
	if len(t.senders) >= t.cfg.Limits.Senders || len(name) > maxSender {
		t.fullNames = true
		return nil, &Rejection{ReasonSenders, fmt.Sprintf("sender %.60q", name)}
	}
	s := &sender{name: strings.Clone(name), number: t.nextSender}
	t.nextSender++
	t.senders[s.name], t.bySender, t.dirty = s, append(t.bySender, s), true
	return s, nil
}

// Reject counts a value that the agent does not take, and returns the error about it.
func (b *Batch) Reject(reason Reason, what string) error {
	return b.reject(&Rejection{reason, what})
}

// reject counts err, and returns it.
func (b *Batch) reject(err error) error {
	r, ok := err.(*Rejection)
	if !ok {
		panic("pushed: not a Rejection: " + err.Error())
	}
	if b.s != nil {
		b.s.rejected++
	}
	b.t.reject(r, b.name)
	return err
}

func (t *Table) reject(r *Rejection, sender string) {
	if i := slices.Index(t.reasons, r.Reason); i >= 0 {
		t.rejected[i].count++
		t.rejected[i].last = strings.ToValidUTF8(fmt.Sprintf("%.60q: %.200s", sender, r.What), "\ufffd")
	}
}

// Reject counts a request of a sender that is not taken as a whole.
func (t *Table) Reject(sender string, reason Reason, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reject(&Rejection{reason, what}, sender)
}

// Set sets the value of a series. The instance is called inst; its labels are kept as they are when the series is new.
// The error is a *Rejection. The value may be pushed again with the same time.
func (b *Batch) Set(m *Metric, inst string, labels []Label, v pcp.Value, at time.Time) error {
	at = b.clamp(at)
	x, s, err := b.series(m, inst, labels, at.UnixNano())
	if err != nil {
		return b.reject(err)
	}
	s.value, s.at = convert(v, m.Type, x.desc.Type).WithInst(s.inst), at.UnixNano()
	b.took(x, s)
	return nil
}

// Add adds to the value of a series, which begins with 0. Of two values of the same time it takes the first, as the second
// is the first one pushed again.
func (b *Batch) Add(m *Metric, inst string, labels []Label, v pcp.Value, at time.Time) error {
	at = b.clamp(at)
	x, s, err := b.series(m, inst, labels, at.UnixNano()-1)
	if err != nil {
		return b.reject(err)
	}
	v = convert(v, m.Type, x.desc.Type)
	if s.at != 0 {
		switch x.desc.Type {
		case pcp.TypeDouble:
			v = pcp.DoubleValue(s.value.Double() + v.Double())
		case pcp.Type64:
			v = pcp.Int64Value(s.value.Int64() + v.Int64())
		default:
			v = pcp.Uint64Value(s.value.Uint64() + v.Uint64())
		}
	}
	s.value, s.at = v.WithInst(s.inst), at.UnixNano()
	b.took(x, s)
	return nil
}

// clamp returns a time that is not in the future, as a clock that was ahead would make later values old.
func (b *Batch) clamp(at time.Time) time.Time {
	if at.After(b.now) {
		return b.now
	}
	return at
}

// Gone has a series vanish at once. It does nothing if the series is not known.
func (b *Batch) Gone(name, inst string) {
	for _, m := range b.t.byName[name] {
		if s := m.index[inst]; s != nil {
			s.live = false
		}
	}
}

// Now returns the time of the batch.
func (b *Batch) Now() time.Time { return b.now }

// Known returns the descriptor of a metric that has been pushed before, in this run or an earlier one.
func (b *Batch) Known(name string) (pcp.Desc, bool) {
	if list := b.t.byName[name]; len(list) > 0 {
		return list[0].desc, true
	}
	return pcp.Desc{}, false
}

func (b *Batch) took(m *metric, s *series) {
	s.live, s.pushed, m.pushed = true, b.now.Unix(), b.now.Unix()
	b.s.samples++
}

// convert returns a value of type from as one of type to; series has checked that there is a way.
func convert(v pcp.Value, from, to pcp.Type) pcp.Value {
	switch {
	case from == to:
		return v
	case from == pcp.Type64:
		return pcp.DoubleValue(float64(v.Int64()))
	default:
		return pcp.DoubleValue(float64(v.Uint64()))
	}
}

// series returns a series for a value that is not older than at.
func (b *Batch) series(p *Metric, inst string, labels []Label, at int64) (*metric, *series, error) {
	if b.err != nil {
		return nil, nil, b.err
	}
	if at < b.now.Add(-b.t.cfg.Stale).UnixNano() {
		return nil, nil, &Rejection{ReasonOld, "metric " + p.Name}
	}
	m, err := b.metric(p)
	if err != nil {
		return nil, nil, err
	}
	if s := m.index[inst]; s != nil && s.labels != nil {
		if at < s.at {
			return nil, nil, &Rejection{ReasonOld, "metric " + p.Name}
		}
		return m, s, b.share(m, s)
	}
	t, size := b.t, len(inst)+labelBytes(labels)+b.size
	if size > t.cfg.Limits.LabelBytes {
		return nil, nil, &Rejection{ReasonLabels, fmt.Sprintf("metric %s: labels of %d bytes", p.Name, size)}
	}
	if s := m.index[inst]; s != nil { // known by its number
		s.labels, s.common = cloneLabels(labels), b.common
		if err := t.charge(m.sender, &s.cost, costOf(s)); err != nil {
			s.labels, s.common = nil, nil
			return nil, nil, err
		}
		return m, s, nil
	}
	if m.sender.series >= t.cfg.Limits.Series {
		t.fullSeries = true
		return nil, nil, &Rejection{ReasonSeries, fmt.Sprintf("metric %s, instance %.100s", p.Name, inst)}
	}
	s := &series{name: strings.Clone(inst), inst: m.next, labels: cloneLabels(labels), common: b.common, pushed: b.now.Unix()}
	if m.next < 0 {
		return nil, nil, &Rejection{ReasonSeries, "metric " + p.Name + " has no more numbers for instances"}
	}
	if err := t.charge(m.sender, &s.cost, costOf(s)); err != nil {
		return nil, nil, err
	}
	m.next++
	m.sender.series++
	m.index[s.name], m.series, t.dirty = s, append(m.series, s), true
	return m, s, nil
}

// share gives a series the common labels of the batch.
func (b *Batch) share(m *metric, s *series) error {
	if len(s.common) == len(b.common) && (len(s.common) == 0 || &s.common[0] == &b.common[0]) {
		return nil
	}
	if !slices.Equal(s.common, b.common) {
		if size := len(s.name) + labelBytes(s.labels) + b.size; size > b.t.cfg.Limits.LabelBytes {
			return &Rejection{ReasonLabels, fmt.Sprintf("metric %s: labels of %d bytes", m.name, size)}
		}
		b.t.labels = true
	}
	before := s.common
	s.common = b.common
	err := b.t.charge(m.sender, &s.cost, costOf(s))
	if err != nil {
		s.common = before
	}
	return err
}

func cloneLabels(list []Label) []Label {
	kept := make([]Label, len(list)) // never nil
	for i, l := range list {
		kept[i] = Label{strings.Clone(l.Name), strings.Clone(l.Value)}
	}
	return kept
}

func costOf(s *series) int64 {
	return seriesCost + 3*int64(len(s.name)) + 2*int64(labelBytes(s.labels)+labelBytes(s.common)) + 32*int64(len(s.labels)+len(s.common))
}

// charge counts the memory of a thing of a sender, which was *have so far.
func (t *Table) charge(s *sender, have *int64, want int64) error {
	more := want - *have
	if more > 0 && (s.bytes+more > t.cfg.Limits.SenderBytes || t.bytes+more > t.cfg.Limits.Memory) {
		t.fullSeries = true
		return &Rejection{ReasonMemory, fmt.Sprintf("sender takes %d MB, all senders take %d MB", s.bytes>>20, t.bytes>>20)}
	}
	s.bytes += more
	t.bytes += more
	*have = want
	return nil
}

// metric returns the metric of a description, a new one if it is not known.
func (b *Batch) metric(p *Metric) (*metric, error) {
	t := b.t
	list := t.byName[p.Name]
	for i, m := range list {
		if m.desc.Sem != p.Sem || m.desc.Units != p.Units || m.desc.Type != p.Type && (m.desc.Type != pcp.TypeDouble || p.Type == pcp.TypeDouble) {
			continue
		}
		if i > 0 { // it was like that before
			if t.alive(list[0], b.now) {
				break
			}
			list[0], list[i] = m, list[0]
			t.rebuild()
		}
		if p.Help != "" && m.help != p.Help {
			m.setHelp(p.Help)
			t.dirty = true
		}
		return m, nil
	}
	if len(list) > 0 && t.alive(list[0], b.now) {
		d := &list[0].desc
		return nil, &Rejection{ReasonConflict, fmt.Sprintf("metric %s is %v, %v, units %q already", p.Name, d.Type, d.Sem, d.Units)}
	}
	if t.next >= maxNumber || b.s.metrics >= t.cfg.Limits.Metrics {
		t.fullNames = true
		return nil, &Rejection{ReasonMetrics, "metric " + p.Name}
	}
	m := &metric{name: strings.Clone(p.Name), sender: b.s, pushed: b.now.Unix(), index: make(map[string]*series)}
	m.setHelp(p.Help)
	m.desc = pcp.Desc{Type: p.Type, Sem: p.Sem, Units: p.Units}
	t.number(m, t.next)
	if len(list) == 0 { // otherwise it gets the name of the other
		if m.shown = t.place(m); m.shown == "" {
			return nil, &Rejection{ReasonName, fmt.Sprintf("metric %.200q", p.Name)}
		}
	}
	cost := int64(0)
	if err := t.charge(b.s, &cost, m.cost()); err != nil {
		if m.shown != "" {
			t.tree.Remove(m.shown)
		}
		return nil, err
	}
	t.next++
	b.s.metrics++
	t.byNumber[m.number] = m
	t.byName[m.name] = append([]*metric{m}, t.byName[m.name]...)
	t.dirty, t.names = true, true
	if m.shown == "" {
		t.rebuild()
	}
	return m, nil
}

func (m *metric) setHelp(s string) {
	s = s[:min(len(s), maxHelp)]
	m.help = strings.ToValidUTF8(strings.Clone(s), "\ufffd")
}

func (m *metric) cost() int64 { return metricCost + 3*int64(len(m.name)) + maxHelp/2 }

// number gives a metric a number, its PMID and its instance domain.
func (t *Table) number(m *metric, n int) {
	m.number = n
	m.desc.PMID = pcp.NewPMID(t.cfg.Domain, firstCluster+n>>itemBits, n&(1<<itemBits-1))
	m.desc.InDom = pcp.NewInDom(t.cfg.Domain, firstSerial+n)
}

// numberOf returns the number of the metric with a PMID, -1 if none can have it.
func numberOf(id pcp.PMID) int {
	if id.Cluster() < firstCluster {
		return -1
	}
	return (id.Cluster()-firstCluster)<<itemBits | id.Item()
}

// place puts a metric into the tree, and returns its name there. If one of the names is a node for the other, its dots become
// underscores, except those around the name of the sender.
func (t *Table) place(m *metric) string {
	if m.name == "" || m.name == "control" || strings.HasPrefix(m.name, "control.") {
		return ""
	}
	name := t.cfg.Root + "." + m.name
	if t.tree.Add(name, m.desc.PMID) == nil {
		return name
	}
	first, rest, found := strings.Cut(m.name, ".")
	if !found {
		return ""
	}
	name = t.cfg.Root + "." + first + "." + strings.ReplaceAll(rest, ".", "_")
	if !strings.Contains(rest, ".") {
		name += "_"
	}
	if t.tree.Add(name, m.desc.PMID) == nil {
		return name
	}
	return ""
}

// rebuild makes the tree of names from the current metrics, in the order of their numbers.
func (t *Table) rebuild() {
	t.tree = pmns.New()
	for _, c := range t.controls() {
		t.tree.Add(t.cfg.Root+".control."+c.Name, pcp.NewPMID(t.cfg.Domain, 0, c.Item))
	}
	var list, later []*metric
	for _, all := range t.byName {
		shown := ""
		for _, m := range all {
			shown = cmp.Or(shown, m.shown)
			m.shown = ""
		}
		all[0].shown = shown
		if shown == "" {
			later = append(later, all[0])
		} else {
			list = append(list, all[0])
		}
	}
	byNumber := func(a, b *metric) int { return cmp.Compare(a.number, b.number) }
	slices.SortFunc(list, byNumber)
	for _, m := range list {
		if t.tree.Add(m.shown, m.desc.PMID) != nil {
			m.shown = t.place(m)
		}
	}
	slices.SortFunc(later, byNumber)
	for _, m := range later {
		m.shown = t.place(m)
	}
	t.names = true
}

// fresh reports whether a series has a value at a time.
func (t *Table) fresh(s *series, now time.Time) bool {
	return s.live && s.pushed >= now.Add(-t.cfg.Stale).Unix()
}

// alive reports whether a series of a metric has a value.
func (t *Table) alive(m *metric, now time.Time) bool {
	return m.pushed >= now.Add(-t.cfg.Stale).Unix() &&
		slices.ContainsFunc(m.series, func(s *series) bool { return t.fresh(s, now) })
}

// sweep forgets series and metrics that have not been pushed since some times, and senders without metrics.
func (t *Table) sweep(now, metricsSince, seriesSince time.Time) {
	t.swept, t.fullSeries, t.fullNames = now, false, false
	changed := false
	for name, list := range t.byName {
		kept := list[:0:0]
		for _, m := range list {
			before := len(m.series)
			m.series = slices.DeleteFunc(m.series, func(s *series) bool {
				if s.pushed >= seriesSince.Unix() {
					return false
				}
				delete(m.index, s.name)
				t.charge(m.sender, &s.cost, 0)
				m.sender.series--
				return true
			})
			t.dirty = t.dirty || len(m.series) < before
			if len(m.series) > 0 || m.pushed >= metricsSince.Unix() {
				kept = append(kept, m)
				continue
			}
			cost := m.cost()
			t.charge(m.sender, &cost, 0)
			m.sender.metrics--
			delete(t.byNumber, m.number)
			if m.shown != "" && len(list) > 1 {
				for _, other := range list {
					if other != m {
						other.shown, m.shown = m.shown, ""
						break
					}
				}
			}
			changed = true
		}
		if len(kept) == 0 {
			delete(t.byName, name)
		} else {
			t.byName[name] = kept
		}
	}
	t.bySender = slices.DeleteFunc(t.bySender, func(s *sender) bool {
		if s.metrics > 0 {
			return false
		}
		delete(t.senders, s.name)
		return true
	})
	if changed {
		t.dirty = true
		t.rebuild()
	}
}

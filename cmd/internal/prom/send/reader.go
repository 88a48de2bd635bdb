package send

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io"
	"math"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A reader turns the records of an archive into windows.
type reader struct {
	a      *archive.Archive
	meta   *archive.Meta
	start  pcp.Timestamp // of the part to send
	finish pcp.Timestamp
	follow bool     // another archive of the host follows: a mark belongs after the last record
	from   position // where to continue

	metrics map[pcp.PMID]*metric
	plans   [archive.MaxLayouts + 1][]*metric // of the sets of a record, by layout
	taken   map[string]bool                   // names of families
	all     map[string]bool                   // names that the metrics of the archive have in Prometheus, once they are needed
	indoms  map[pcp.InDom]*indom
	live    map[hashed]*series // by key
	bases   map[hashed]*base   // of the series that were made since the last rest
	dead    []*series          // those of live whose end is marked
	epochs  []pcp.Timestamp    // when labels change, except those of instances
	epoch   int                // number of them that have passed
	unknown bool               // a metric had no descriptor

	filter *filter // nil: everything is sent
	// For an archive that grows: fresh is called with each record, and reports whether the metadata were read again. more is called at
	// the end, or at an error, and reports whether to try again.
	fresh func(*archive.Record) (bool, error)
	more  func(context.Context, error) (bool, error)
	// For one of many archives: fill is called before each record, with its time, and gives the window memory, unless it has some; empty is called when the
	// window is empty, and takes the memory back.
	fill      func(at int64) error
	empty     func()
	shared    *shared // nil: nothing is shared
	uncounted bool    // series are not counted

	described descriptions

	seeds [2]maphash.Seed
	sent  map[uint64]bool // hashes of the keys of all series

	w    *window
	warm bool // the record was sent before
	out  func(*window) (*window, error)
	left LeftOut
	sum  readSum
}

// LeftOut counts the values that are not sent, and their reasons.
type LeftOut struct {
	Metrics    int // without numbers
	Collisions int // names of metrics that another metric has in Prometheus
	Nameless   int // instances without a name
	Twins      int // instances with the labels of another one
	Values     int // that cannot be read, or of the same millisecond as one before
}

// readSum counts series and samples.
type readSum struct{ series, samples, stale int }

// A metric is a metric of the archive.
type metric struct {
	desc    pcp.Desc
	version int32     // of its labels and names
	hour    int32     // in which it was described, or noHour
	names   []naming  // at least one
	in      *indom    // nil for a single value
	list    []*member // the instances of the last set, in its order
	all     members

	histogram *[2]*remote.Family // of the buckets and the count, nil if it cannot be a histogram
	buckets   *buckets           // nil if the instances are not buckets
}

// noHour is the hour of a metric that was not described yet.
const noHour = -1 << 31

// A naming is one of the names of a metric.
type naming struct {
	family *remote.Family
	about  description
}

// An indom is an instance domain at the time of the record.
type indom struct {
	id      pcp.InDom
	view    archive.InDomView
	at      pcp.Timestamp  // a time of view
	insts   []pcp.Instance // of view, when they are needed
	listed  bool           // insts are those of view
	own     []pcp.LabelSet // labels of instances
	byInst  map[int32]*pcp.LabelSet
	version int
}

func newReader(a *archive.Archive, start, finish pcp.Timestamp, follow bool, from position, out func(*window) (*window, error)) *reader {
	r := &reader{
		a: a, meta: a.Meta(), start: start, finish: finish, follow: follow, from: from, out: out,
		metrics: make(map[pcp.PMID]*metric), taken: make(map[string]bool), indoms: make(map[pcp.InDom]*indom), live: make(map[hashed]*series),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, sent: make(map[uint64]bool),
	}
	r.readEpochs()
	return r
}

func (r *reader) readEpochs() {
	r.epochs = r.epochs[:0]
	for _, l := range r.meta.LabelRecords() {
		if l.Level != pcp.LabelInstances && (len(r.epochs) == 0 || r.epochs[len(r.epochs)-1] != l.Time) {
			r.epochs = append(r.epochs, l.Time)
		}
	}
}

// updated takes notice of further metadata.
func (r *reader) updated() {
	r.readEpochs()
	r.epoch = min(r.epoch, len(r.epochs))
	r.all = nil
	r.described.stale = true
	if r.unknown {
		r.unknown = false
		clear(r.plans[:])
	}
}

// millis returns a time in milliseconds.
func millis(t pcp.Timestamp) int64 { return t.Sec*1000 + int64(t.Nsec)/1e6 }

// read reads the archive. It starts with the window w.
func (r *reader) read(ctx context.Context, w *window) error {
	r.w = w
	w.reset(r.from.sent)
	in := archive.NewScanner(r.a)
	defer in.Close()
	if err := in.Seek(r.start); err != nil {
		return err
	}
	last := r.start
	for n := 0; ; n++ {
		if n%64 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rec, err := in.Next()
		if err != nil && r.more != nil {
			if err := r.flush(); err != nil {
				return err
			}
			r.rest()
			again, err := r.more(ctx, err)
			if err != nil {
				return err
			}
			if again {
				continue
			}
		}
		if err != nil {
			end := errors.Is(err, io.EOF)
			if ferr := r.end(end); ferr != nil || end {
				return ferr
			}
			return err // the values before the damage are sent
		}
		if rec.Time.Compare(last) < 0 {
			continue // before the start, or back in time
		}
		if rec.Time.Compare(r.finish) > 0 {
			return r.end(false)
		}
		last = rec.Time
		if r.fresh != nil {
			changed, err := r.fresh(rec)
			if err != nil {
				return err
			}
			if changed {
				r.updated()
			}
		}
		if err := r.begin(millis(rec.Time)); err != nil {
			return err
		}
		r.take(rec)
		if r.warm {
			r.bury()
		}
	}
}

// rest releases memory that is not needed until there are further records.
func (r *reader) rest() {
	if r.empty != nil {
		r.empty()
	} else {
		r.w.rest()
	}
	r.described.rest()
	r.bases, r.all = nil, nil
}

// end sends the last window. If all of the archive was read and another one follows, there is a mark between the two.
func (r *reader) end(all bool) error {
	if all && r.follow {
		if end, err := r.a.End(); err == nil {
			at := end.Add(archive.MarkGap)
			if err := r.begin(millis(at)); err != nil {
				return err
			}
			r.mark(millis(at))
		}
	}
	return r.flush()
}

// begin prepares for a record: it sends the window if that ends before it.
func (r *reader) begin(at int64) error {
	r.warm = at <= r.from.sent
	if r.warm {
		return nil
	}
	if w := r.w; at > w.end && w.end != noTime {
		open := r.from.end != noTime && w.after == r.from.sent // a window of which a part was sent
		if open && at > r.from.end || !open && w.complete(at) {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	if r.fill != nil {
		if err := r.fill(at); err != nil {
			return err
		}
	}
	if r.w.first == noTime {
		r.w.first = at
	}
	r.w.end = max(r.w.end, at)
	return nil
}

// flush sends the window.
func (r *reader) flush() error {
	w := r.w
	if w.end == noTime || len(w.samples) == 0 {
		return nil
	}
	if !r.uncounted {
		for _, s := range w.list {
			if !s.sent && !s.about {
				s.sent = true
				r.sent[r.hash(keyOf(s.append(nil)))[0]] = true // an instance may come back
			}
		}
		r.sum.series = len(r.sent)
	}
	r.sum.samples += len(w.samples) - w.about
	end := w.end
	next, err := r.out(w)
	if err != nil {
		return err
	}
	for _, s := range w.list {
		s.window = nil
	}
	next.reset(end)
	r.w = next
	if r.empty != nil {
		r.empty()
	}
	r.bury()
	return nil
}

// bury forgets the series whose end is marked.
func (r *reader) bury() {
	for _, s := range r.dead {
		if s.dead {
			key := r.hash(keyOf(s.append(nil)))
			if r.live[key] == s {
				delete(r.live, key)
			}
		}
	}
	r.dead = r.dead[:0]
}

// take adds the values of a record.
func (r *reader) take(rec *archive.Record) {
	at := millis(rec.Time)
	if len(rec.Sets) == 0 {
		r.mark(at)
		return
	}
	for r.epoch < len(r.epochs) && r.epochs[r.epoch].Compare(rec.Time) <= 0 {
		r.epoch++
	}
	plan := r.plans[rec.Layout]
	if rec.Layout == 0 || plan == nil {
		plan = plan[:0]
		for i := range rec.Sets {
			plan = append(plan, r.metric(rec.Sets[i].PMID))
		}
		r.plans[rec.Layout] = plan
	}
	for i := range rec.Sets {
		if m := plan[i]; m != nil {
			r.set(m, rec, &rec.Sets[i], at)
		}
	}
}

// set adds the values of a metric.
func (r *reader) set(m *metric, rec *archive.Record, set *archive.Set, at int64) {
	pairs := rec.Values(set)
	version := int32(r.epoch)
	if m.in != nil {
		r.advance(m.in, rec.Time)
		version += int32(m.in.version)
	}
	if version != m.version || m.all.len() != set.Len || !m.same(pairs) {
		r.arrange(m, rec, pairs, at)
		m.version = version
	}
	one, four, eight := false, false, false
	switch t := m.desc.Type; {
	case set.ValFmt == pcp.ValInSitu:
		four = t == pcp.Type32 || t == pcp.TypeU32 || t == pcp.TypeFloat
	case set.Head != 0 && set.Head == valueset.Head(t, valueset.BlockHead+8):
		eight = t == pcp.Type64 || t == pcp.TypeU64 || t == pcp.TypeDouble
	default:
		one = true
	}
	if m.buckets != nil {
		m.buckets.counts = m.buckets.Start(m.buckets.counts)
	}
	for j, b := range m.list {
		if b.series == nil {
			continue
		}
		var v float64
		switch {
		case four:
			v = number(m.desc.Type, uint64(binary.BigEndian.Uint32(pairs[8*j+4:])))
		case eight:
			v = number(m.desc.Type, binary.BigEndian.Uint64(rec.Body[set.Blocks+(valueset.BlockHead+8)*j+valueset.BlockHead:]))
		default:
			var ok bool
			if v, ok = block(m.desc.Type, rec.Body, binary.BigEndian.Uint32(pairs[8*j+4:])); !one || !ok {
				r.left.Values++
				continue
			}
		}
		if b.last != at {
			b.gap, b.last = at-b.last, at
		}
		if m.buckets != nil {
			m.buckets.Add(m.buckets.counts, b.name, v)
		}
		bits := remote.Number(v)
		r.put(b.series, at, bits)
		for _, s := range b.others() {
			r.put(s, at, bits)
		}
	}
	if m.buckets != nil {
		r.putHistogram(m.buckets, at)
	}
	if len(m.list) > 0 {
		r.describe(m, at)
	}
}

// number converts the bits of a value of a numeric type.
func number(t pcp.Type, bits uint64) float64 {
	switch t {
	case pcp.Type32:
		return float64(int32(bits))
	case pcp.TypeU32:
		return float64(uint32(bits))
	case pcp.Type64:
		return float64(int64(bits))
	case pcp.TypeU64:
		return float64(bits)
	case pcp.TypeFloat:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// block reads a value that is in a block, of which old archives may not have the type.
func block(t pcp.Type, body []byte, word uint32) (float64, bool) {
	var v pcp.Value
	if err := valueset.DecodeValue(&v, body, word); err != nil {
		return 0, false
	}
	if v = archive.Retype(v, t); v.Type() != t {
		return 0, false
	}
	switch t {
	case pcp.Type32, pcp.Type64:
		return float64(v.Int64()), true
	case pcp.TypeU32, pcp.TypeU64:
		return float64(v.Uint64()), true
	}
	return v.Double(), true
}

// put adds a sample of a series.
func (r *reader) put(s *series, at int64, bits uint64) {
	if at <= s.last && s.any {
		if !r.warm {
			r.left.Values++
		}
		return
	}
	s.last, s.any = at, true
	if !r.warm {
		r.w.add(s, at, bits)
	}
}

// same reports whether values are those of the instances of the last set, in their order.
func (m *metric) same(pairs []byte) bool {
	if len(m.list) != len(pairs)/8 {
		return false
	}
	if m.in == nil {
		return true // whatever the instance of a single value is
	}
	for _, b := range m.list {
		if int32(binary.BigEndian.Uint32(pairs)) != b.inst {
			return false
		}
		pairs = pairs[8:]
	}
	return true
}

// arrange prepares the instances of a metric for the values of a set, and ends the series of those that have vanished.
func (r *reader) arrange(m *metric, rec *archive.Record, pairs []byte, at int64) {
	m.list = m.list[:0]
	sets := []pcp.LabelSet(nil)
	defer func() { r.histogram(m, func() []pcp.LabelSet { return r.labels(m.desc, rec.Time) }, at) }()
	for ; len(pairs) >= 8; pairs = pairs[8:] {
		inst := int32(binary.BigEndian.Uint32(pairs))
		if m.in == nil {
			inst = pcp.InNull
		}
		name, own, ok := r.instance(m, inst)
		b := m.all.get(inst)
		if b == nil || b.name != name || int(b.labelled) != r.epoch || own == nil && b.own != "" || own != nil && b.own != own.JSON {
			if sets == nil {
				sets = r.labels(m.desc, rec.Time)
			}
			old := b
			if old != nil {
				old.kill()
			}
			b = r.member(m, inst, name, own, sets, ok)
			b.last = at
			if old != nil {
				b.last, b.gap = old.last, old.gap
				r.replace(old, at)
			}
			m.all.put(b)
		}
		b.seen = true
		m.list = append(m.list, b)
	}
	if m.all.len() == len(m.list) {
		for _, b := range m.list {
			b.seen = false
		}
		return
	}
	var gone []int32
	m.all.each(func(b *member) {
		// An archive may have groups of a metric's instances in different records.
		if !b.seen && (b.gap == 0 || at-b.last >= b.gap-b.gap/4) {
			gone = append(gone, b.inst)
		}
		b.seen = false
	})
	r.drop(m, gone, at)
}

// instance returns the name of an instance, and its labels.
func (r *reader) instance(m *metric, inst int32) (name string, own *pcp.LabelSet, ok bool) {
	if m.in == nil {
		return "", nil, true
	}
	if name, ok = m.in.view.Name(inst); !ok {
		name, ok = r.meta.LastName(m.desc.InDom, inst)
	}
	return name, m.in.byInst[inst], ok && name != ""
}

// mark ends all series: values before and after a mark are unrelated.
func (r *reader) mark(at int64) {
	ids := make([]pcp.PMID, 0, len(r.metrics))
	for id, m := range r.metrics {
		if m != nil && m.all.len() > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		m := r.metrics[id]
		var all []int32
		m.all.each(func(b *member) { all = append(all, b.inst) })
		r.drop(m, all, at)
		r.endHistogram(m, at)
		m.list = m.list[:0]
	}
}

// drop retires instances of a metric, in an order that does not depend on chance.
func (r *reader) drop(m *metric, insts []int32, at int64) {
	slices.Sort(insts)
	for _, inst := range insts {
		r.retire(m.all.get(inst), at)
		m.all.drop(inst)
	}
}

// metric returns the metric of a set, nil if it is not sent.
func (r *reader) metric(id pcp.PMID) *metric {
	m, known := r.metrics[id]
	if known {
		return m
	}
	d, err := r.meta.Desc(id)
	if err != nil && r.fresh != nil {
		r.unknown = true
		return nil
	}
	r.metrics[id] = nil
	if err != nil || !names.Numeric(&d) {
		r.left.Metrics++
		return nil
	}
	m = &metric{desc: d, version: -1, hour: noHour}
	help, _ := r.meta.Text(pcp.TextPMID|pcp.TextOneLine, uint32(id)) // not every metric has a text
	for _, name := range r.meta.Names(id) {
		if !r.filter.metric(name) {
			continue
		}
		f := r.shared.family(remote.Family{Name: names.Metric(name), Counter: names.Type(&d) == "counter", Help: names.Help(help), Unit: names.Unit(d.Units)})
		if r.taken[f.Name] {
			r.left.Collisions++
			continue
		}
		r.taken[f.Name] = true
		m.names = append(m.names, naming{f, description{name: name, last: noTime}})
	}
	if len(m.names) == 0 {
		return nil
	}
	if d.InDom != pcp.InDomNull {
		m.in = r.indom(d.InDom)
		m.histogram = r.histogramFamilies(m.names[0].family)
	}
	r.metrics[id] = m
	return m
}

func (r *reader) indom(id pcp.InDom) *indom {
	in := r.indoms[id]
	if in != nil {
		return in
	}
	in = &indom{id: id}
	r.indoms[id] = in
	return in
}

// instances returns all instances of a domain.
func (r *reader) instances(in *indom) []pcp.Instance {
	if !in.listed {
		rec, _ := r.meta.InDom(in.id, in.at) // without a domain there are none
		in.insts, in.listed = rec.Instances, true
	}
	return in.insts
}

// advance moves an instance domain to a time.
func (r *reader) advance(in *indom, at pcp.Timestamp) {
	if v := r.meta.View(in.id, at); v != in.view {
		in.view, in.at, in.listed = v, at, false
		in.version++
	}
	own, _ := r.meta.LookupLabels(pcp.LabelInstances, uint32(in.id), at)
	if len(own) != len(in.own) || len(own) > 0 && &own[0] != &in.own[0] {
		in.own, in.byInst = own, make(map[int32]*pcp.LabelSet, len(own))
		for i := range own {
			if own[i].Err == 0 && len(own[i].Index) > 0 {
				in.byInst[own[i].Inst] = &own[i]
			}
		}
		in.version++
	}
}

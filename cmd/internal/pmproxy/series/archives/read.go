package archives

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/catalog"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// checkEvery is the number of records between checks for cancellation.
const checkEvery = 256

// sparseAhead is the number of bytes read ahead if few records of a volume are needed.
const sparseAhead = 64 << 10

// jumpFrom is the number of records from which a jump by the index is faster than reading them.
const jumpFrom = 24

// Values implements [series.Store].
func (s *Store) Values(ctx context.Context, ids []sid.ID, w series.Window) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		for _, id := range ids {
			v, err := s.newWalker(ctx, id, w)
			if errors.Is(err, series.ErrUnknown) {
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			more := true
			switch {
			case w.Newest:
				more = v.newest(w.Count, yield)
			case v.held():
				more = v.columns(w, yield)
			default:
				more = v.window(w, yield)
			}
			v.close()
			if !more {
				return
			}
		}
	}
}

// A walker reads the samples of one series from its archives.
type walker struct {
	s   *Store
	ctx context.Context
	target

	parts []part
	from  pcp.Timestamp // first time, in microseconds
	to    pcp.Timestamp // last time, zero for no limit
	i     int           // index of the current part
	file  *file
	r     *archive.Reader
	scan  archive.SetScanner
	begun bool
	last  pcp.Timestamp // time of the last sample
	gap   float64       // seconds between the last two records with the metric
	steps int

	sparse bool // few of the records are needed
}

// A target is a series whose samples are read.
type target struct {
	id   sid.ID
	desc pcp.Desc
	*domain
}

// A domain has the instances of an instance domain of a source.
type domain struct {
	insts map[int32]sid.ID     // instances with only one identifier
	many  map[int32]bool       // those with several
	lives map[string]*lifeline // by path, for instances with several identifiers
}

func newDomain() *domain { return &domain{insts: map[int32]sid.ID{}, many: map[int32]bool{}} }

// read reads the instances from the index.
func (d *domain) read(tx *tx, source uint32, indom pcp.InDom) error {
	return tx.instances(source, indom, func(id sid.ID, inst int32, _ uint32, _ []byte) {
		if old, ok := d.insts[inst]; ok && old != id {
			d.many[inst] = true
			return
		}
		d.insts[inst] = id
	})
}

// A part is an archive that contains the series.
type part struct {
	*arch
	pmid    pcp.PMID
	cut     pcp.Timestamp // from when the next part has the samples; zero if this one has all of its own
	overlap bool          // it starts before the end of an earlier part
}

// cutParts cuts parts that overlap the next one and end before it: two recorders had the host, of which the first may have been out of
// work for a while. Continued reports whether all series of a part are in the next one.
func cutParts(parts []part, continued func(i int) bool) {
	for i := range parts[:max(0, len(parts)-1)] {
		p, next := &parts[i], parts[i+1].arch
		if next.start.Compare(p.end) <= 0 && next.end.Compare(p.end) > 0 && continued(i) {
			p.cut = next.start
		}
	}
}

// behind reports whether a time is in the next part.
func (p *part) behind(t pcp.Timestamp) bool { return !p.cut.IsZero() && t.Compare(p.cut) >= 0 }

// finish returns the time of the mark behind the part.
func (p *part) finish() pcp.Timestamp {
	if !p.cut.IsZero() {
		return p.cut
	}
	return p.end.Add(archive.MarkGap)
}

// micro truncates a time to microseconds.
func micro(t pcp.Timestamp) pcp.Timestamp {
	t.Nsec -= t.Nsec % 1000
	return t
}

func (s *Store) newWalker(ctx context.Context, id sid.ID, w series.Window) (*walker, error) {
	v := &walker{s: s, ctx: ctx, target: target{id: id, domain: newDomain()}}
	v.sparse = w.Interval > 0 || w.Newest
	if !w.Newest {
		v.from, v.to = micro(w.Start), micro(w.End)
	}
	st := s.state.Load()
	return v, s.view(ctx, func(tx *tx) error {
		v.parts = nil
		num, rec, err := tx.record(id)
		if err != nil {
			return err
		}
		v.desc = rec.desc
		list := st.bySource[rec.source]
		for i, a := range list {
			// Archives may have grown since the last scan. Those written last are always read.
			if !v.from.IsZero() && a.end.Compare(v.from) < 0 && i < len(list)-2 {
				continue
			}
			if !v.to.IsZero() && micro(a.start).Compare(v.to) > 0 {
				continue
			}
			pmid, ok, err := tx.pmid(a.num, num)
			if err != nil {
				return err
			}
			if ok {
				v.parts = append(v.parts, part{arch: a, pmid: pmid})
			}
		}
		resolution := w.Interval
		if w.Newest {
			resolution = 0
		}
		v.choose(resolution)
		cutParts(v.parts, func(int) bool { return true })
		if rec.desc.InDom == pcp.InDomNull {
			return nil
		}
		return v.domain.read(tx, rec.source, rec.desc.InDom)
	})
}

func (v *walker) close() { v.leave() }

// enter opens part i. If that fails, it logs the error and returns false.
func (v *walker) enter(i int) bool {
	v.leave()
	v.i = i
	p := v.parts[i]
	f, err := v.s.files.get(p.path, p.volumes)
	if err != nil {
		v.complain(err)
		return false
	}
	v.file, v.r = f, f.NewReader()
	if v.sparse {
		v.r.ReadAhead(sparseAhead)
	}
	v.begun = false
	return true
}

func (v *walker) leave() {
	if v.file != nil {
		v.r.Close()
		v.s.files.put(v.file)
		v.file, v.r = nil, nil
	}
}

// complain logs an error of an archive. Its values are missing from the answer.
func (v *walker) complain(err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		v.s.log.Warn("archive cannot be read on", "path", v.parts[v.i].path, "err", err)
	}
	v.s.files.forget(v.parts[v.i].path)
}

// step reads the next record of the part in a direction, and reports whether there is one, and whether its time
// is valid for a sample.
func (v *walker) step(dir archive.Direction) (ok, more bool, err error) {
	if v.steps++; v.steps%checkEvery == 0 {
		if err := v.ctx.Err(); err != nil {
			return false, false, err
		}
	}
	body, err := v.r.Step(dir)
	if err != nil {
		if err != io.EOF {
			v.complain(err)
		}
		return false, false, nil
	}
	if !v.scan.Start(body, v.file.Version()) {
		v.complain(pcp.ErrLogRec)
		return false, false, nil
	}
	if v.scan.Time.Compare(pcp.Timestamp{}) <= 0 {
		return false, true, nil
	}
	return true, true, nil
}

// has finds the metric in the record.
func (v *walker) has() bool {
	id := v.parts[v.i].pmid
	for v.scan.Next() {
		if v.scan.PMID == id {
			return v.scan.Status != 0 || v.scan.Len > 0
		}
	}
	return false
}

// place moves to a position from which reading forwards returns the first record not before a time, perhaps
// after others.
func (v *walker) place(t pcp.Timestamp) error {
	v.begun = true
	short, err := v.r.SeekIndex(t, archive.Forward)
	if err != nil {
		v.complain(err)
		v.leave()
		return nil
	}
	for !short {
		ok, more, err := v.step(archive.Backward)
		if err != nil || !more {
			return err
		}
		short = ok && v.scan.Time.Compare(t) < 0
	}
	return nil
}

// next moves to the next sample of the window and reports whether there is one.
func (v *walker) next() (bool, error) {
	for ; v.i < len(v.parts); v.i++ {
		if v.r == nil && !v.enter(v.i) {
			continue
		}
		if !v.begun {
			after := v.last
			if v.from.Compare(after) > 0 {
				after = v.from
			}
			if after.Compare(v.parts[v.i].start) > 0 {
				if err := v.place(after); err != nil {
					return false, err
				}
			}
			v.begun = true
		}
		for v.r != nil {
			ok, more, err := v.step(archive.Forward)
			if err != nil {
				return false, err
			}
			if !more {
				break
			}
			if !ok || v.scan.Time.Compare(v.from) < 0 || v.scan.Time.Compare(v.last) <= 0 {
				continue
			}
			if !v.to.IsZero() && micro(v.scan.Time).Compare(v.to) > 0 {
				break // the next archive may begin before this one ends
			}
			if v.parts[v.i].behind(v.scan.Time) {
				break
			}
			if v.has() {
				if !v.last.IsZero() {
					v.gap = v.scan.Time.Sub(v.last)
				}
				v.last = v.scan.Time
				return true, nil
			}
		}
		v.leave()
	}
	return false, nil
}

// jump moves forward to the last sample not after a time, if that is far enough. It reports whether it
// did; the scanner is then at that sample.
func (v *walker) jump(to pcp.Timestamp) (bool, error) {
	if v.r == nil || v.gap <= 0 || to.Sub(v.last) < jumpFrom*v.gap {
		return false, nil
	}
	if !v.to.IsZero() && to.Compare(v.to) > 0 {
		to = v.to
	}
	first, target := v.i, v.i
	for j := v.i + 1; j < len(v.parts) && v.parts[j].start.Compare(to) <= 0; j++ {
		target = j
	}
	for j := first; j <= target; j++ {
		if v.parts[j].overlap {
			return false, nil // read in order of archives, not of time
		}
	}
	volume, offset := v.r.Position()
	for j := target; j >= first; j-- {
		if j != v.i && !v.enter(j) {
			continue
		}
		if j == target {
			short, err := v.r.SeekIndex(to, archive.Backward)
			if err != nil {
				v.complain(err)
				v.leave()
				break
			}
			for !short { // the position may be too early
				ok, more, err := v.step(archive.Forward)
				if err != nil {
					return false, err
				}
				short = !more || ok && v.scan.Time.Compare(to) > 0
			}
		} else if err := v.r.Rewind(archive.Backward); err != nil {
			v.complain(err)
			continue
		}
		v.begun = true
		for v.r != nil {
			ok, more, err := v.step(archive.Backward)
			if err != nil {
				return false, err
			}
			if !more || ok && v.scan.Time.Compare(v.last) <= 0 {
				break
			}
			if ok && v.scan.Time.Compare(to) <= 0 && v.has() {
				v.last = v.scan.Time
				return true, nil
			}
		}
	}
	// There is no such sample: move back.
	if v.i != first && !v.enter(first) {
		return false, nil
	}
	if v.r == nil {
		return false, nil
	}
	v.begun = true
	if err := v.r.MoveTo(volume, offset); err != nil {
		v.complain(err)
		v.leave()
	}
	return false, nil
}

// window yields the samples of a window, and reports whether to continue.
func (v *walker) window(w series.Window, yield func(*series.Sample, error) bool) bool {
	thin := series.NewThinner(series.Window{Start: v.from, Interval: w.Interval, Count: w.Count})
	var now, before series.Sample
	have := false
	for {
		ok, err := v.next()
		if err != nil {
			yield(nil, err)
			return false
		}
		if !ok {
			break
		}
		if thin.Next(v.last) && !yield(&before, nil) {
			return false
		}
		if thin.Done() {
			return true
		}
		v.sample(&now)
		if w.Interval > 0 {
			// Samples before the last one of this step are not needed.
			if goal, ok := thin.Goal(); ok {
				switch ok, err := v.jump(goal); {
				case err != nil:
					yield(nil, err)
					return false
				case ok:
					v.sample(&now)
				}
			}
		}
		now, before = before, now
		have = true
	}
	if have && thin.Last() {
		return yield(&before, nil)
	}
	return true
}

// newest yields the last samples, the newest first.
func (v *walker) newest(count int, yield func(*series.Sample, error) bool) bool {
	order := make([]int, len(v.parts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return v.parts[b].end.Compare(v.parts[a].end) })
	var sample series.Sample
	var last pcp.Timestamp
	for _, i := range order {
		if count <= 0 {
			break
		}
		if !v.enter(i) {
			continue
		}
		if err := v.r.Rewind(archive.Backward); err != nil {
			v.complain(err)
			continue
		}
		for count > 0 {
			ok, more, err := v.step(archive.Backward)
			if err != nil {
				yield(nil, err)
				return false
			}
			if !more {
				break
			}
			if !ok || !last.IsZero() && v.scan.Time.Compare(last) >= 0 || !v.has() {
				continue
			}
			last = v.scan.Time
			v.sample(&sample)
			count--
			if !yield(&sample, nil) {
				return false
			}
		}
	}
	return true
}

// sample returns the values at the scanner's position.
func (v *walker) sample(to *series.Sample) {
	to.Series, to.Time, to.Gap, to.Err, to.Values, to.Block = v.id, v.scan.Time, false, 0, to.Values[:0], nil
	if v.scan.Status != 0 {
		to.Err = v.scan.Status
		return
	}
	for i := range v.scan.Len {
		value, err := v.scan.Value(i)
		if err != nil {
			v.complain(err)
			return
		}
		value = archive.Retype(value, v.desc.Type)
		if t := value.Type(); t == pcp.TypeString || t >= pcp.TypeAggregate && t <= pcp.TypeHighResEvent {
			// The record is reused by the time the sample is read.
			inst := value.Inst
			value = pcp.BytesValue(t, slices.Clone(value.Bytes()))
			value.Inst = inst
		}
		in := series.InstValue{Value: value}
		if v.desc.InDom != pcp.InDomNull {
			id, ok := v.instance(value.Inst)
			if !ok {
				continue // the C implementation skips instances without a name, too
			}
			in.Instance = id
		}
		to.Values = append(to.Values, in)
	}
	slices.SortFunc(to.Values, func(a, b series.InstValue) int { return cmp.Compare(a.Value.Inst, b.Value.Inst) })
}

// instance returns the identifier of an instance at the time of the record.
func (v *walker) instance(inst int32) (sid.ID, bool) {
	id, ok := v.insts[inst]
	if ok && !v.many[inst] {
		return id, true
	}
	path := v.parts[v.i].path
	l, read := v.lives[path]
	if !read {
		var err error
		if l, err = readLifeline(v.file.Archive, v.desc.InDom); err != nil {
			v.complain(err)
		}
		if v.lives == nil {
			v.lives = map[string]*lifeline{}
		}
		v.lives[path] = l
	}
	if l == nil {
		return sid.ID{}, false
	}
	return l.at(inst, v.scan.Time)
}

// An instKey is an instance with one of its names.
type instKey struct {
	inst int32
	name string
}

// A lifeline has the identifiers of a domain's instances over time, in one archive.
type lifeline struct {
	insts map[int32][]lifespan
	ids   map[instKey]sid.ID
}

type lifespan struct {
	from pcp.Timestamp
	name string
}

// readLifeline reads a lifeline from the metadata.
func readLifeline(a *archive.Archive, indom pcp.InDom) (*lifeline, error) {
	l := &lifeline{insts: map[int32][]lifespan{}, ids: map[instKey]sid.ID{}}
	d, err := catalog.ReadInDom(a, indom, func(rec *archive.MetaRecord) {
		for _, c := range rec.Instances {
			if len(c.Name) == 0 || len(c.Name) > catalog.MaxName {
				continue
			}
			spans := l.insts[c.Inst]
			if n := len(spans); n == 0 || spans[n-1].name != string(c.Name) {
				l.insts[c.Inst] = append(spans, lifespan{rec.Time, string(c.Name)})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for _, in := range d.Insts {
		l.ids[instKey{in.Inst, in.Name}] = in.ID
	}
	for _, spans := range l.insts {
		slices.SortStableFunc(spans, func(a, b lifespan) int { return a.from.Compare(b.from) })
	}
	return l, nil
}

// at returns the identifier of an instance at a time.
func (l *lifeline) at(inst int32, t pcp.Timestamp) (sid.ID, bool) {
	spans := l.insts[inst]
	if len(spans) == 0 {
		return sid.ID{}, false
	}
	i := 0
	for i+1 < len(spans) && spans[i+1].from.Compare(t) <= 0 {
		i++
	}
	id, ok := l.ids[instKey{inst, spans[i].name}]
	return id, ok
}

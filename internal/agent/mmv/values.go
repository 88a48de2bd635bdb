package mmv

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/pmda"
)

const (
	valueSize = 32
	// textSize is the size of a string value in bytes.
	textSize = mmv.StringMax
	// readTries is the number of retries for values whose definitions change
	// meanwhile.
	readTries = 3
	// textTries is the number of retries for a text that is replaced meanwhile.
	textTries = 500
)

// values are those of a file at the last Refresh.
type values struct {
	want    span      // the records to read; empty if lo >= hi
	got     span      // the records read
	raw     []byte    // value records, from got.lo
	sources []*source // the string metrics among the wanted
	texts   []byte    // their values, textSize each
	lens    []int16   // of these
	given   [][]byte  // copies of them that results have; their bytes never change
}

// Refresh implements [pmda.Refresher]: of each file that ids need it reads
// the part with their values once.
func (a *Agent) Refresh(_ context.Context, ids []pcp.PMID) error {
	a.check(true)
	for try := 1; ; try++ {
		a.gather(ids)
		same := true
		for _, l := range a.wanted {
			same = a.readValues(l) && same
		}
		a.now = time.Now().UnixMicro()
		if same || try == readTries {
			return nil
		}
		a.check(true)
	}
}

// gather collects the wanted part of each file.
func (a *Agent) gather(ids []pcp.PMID) {
	a.forget()
	for _, id := range ids {
		m := a.index.metrics[id]
		if m == nil {
			continue
		}
		a.prepare(m)
		for s := range m.sources {
			src := &m.sources[s]
			if src.lo >= src.hi {
				continue
			}
			l := src.l
			if l.want.lo >= l.want.hi {
				l.want = src.span
				a.wanted = append(a.wanted, l)
			} else {
				l.want = span{min(l.want.lo, src.lo), max(l.want.hi, src.hi)}
			}
			if src.m.Type == mmv.TypeString {
				l.sources = append(l.sources, src)
			}
		}
	}
}

// forget drops the records read.
func (a *Agent) forget() {
	for _, l := range a.wanted {
		l.want, l.got, l.sources = span{}, span{}, l.sources[:0]
	}
	a.wanted = a.wanted[:0]
}

// readValues reads the wanted values of a file. It returns false if the
// definitions may have changed meanwhile.
func (a *Agent) readValues(l *loaded) bool {
	l.got = span{}
	r, done, err := l.reader()
	if err != nil {
		return false
	}
	defer done()
	at, n := l.def.ValuesAt+int64(l.want.lo)*valueSize, (l.want.hi-l.want.lo)*valueSize
	if cap(l.raw) < n {
		l.raw = make([]byte, n)
	}
	l.raw = l.raw[:n]
	if _, err := r.ReadAt(l.raw, at); err != nil {
		l.damaged = true
		return false
	}
	l.got = l.want
	if len(l.sources) > 0 {
		a.readTexts(l, r)
	}
	return l.sameGeneration(r)
}

// record returns the bytes of a value record, nil if it was not read.
func (l *loaded) record(index int) []byte {
	if index < l.got.lo || index >= l.got.hi {
		return nil
	}
	at := (index - l.got.lo) * valueSize
	return l.raw[at : at+valueSize]
}

// readTexts reads the strings of the sources of l.
func (a *Agent) readTexts(l *loaded, r io.ReaderAt) {
	n := 0
	for _, src := range l.sources {
		src.text = n
		n += len(src.m.Values)
	}
	if cap(l.lens) < n {
		l.texts, l.lens, l.given = make([]byte, n*textSize), make([]int16, n), make([][]byte, n)
	}
	l.lens = l.lens[:n]
	for _, src := range l.sources {
		for k, v := range src.m.Values {
			i := src.text + k
			l.lens[i] = l.readText(r, l.record(v.Index), l.def.ValuesAt+int64(v.Index)*valueSize, l.texts[i*textSize:][:textSize])
		}
	}
}

// Lengths of texts that could not be read.
const (
	badText  = -1 // its place is outside the file
	busyText = -2 // replaced faster than it can be read
)

// safeTexts is the number of times that a text may be replaced while it is being
// read: package mmv writes each text to the next of four places, and counts them
// in the second half of the value.
const safeTexts = 2

// readText reads the string of the value record rec at an offset, in one piece: a
// text that was overwritten meanwhile is read again.
func (l *loaded) readText(r io.ReaderAt, rec []byte, at int64, text []byte) int16 {
	if rec == nil {
		return badText
	}
	for range textTries {
		extra := int64(l.order.Uint64(rec[8:]))
		if extra < 0 || extra > l.size-4 { // as much as the C agent requires
			return badText
		}
		n, err := r.ReadAt(text, extra)
		if err != nil && err != io.EOF {
			return badText
		}
		var again [16]byte
		if _, err := r.ReadAt(again[:], at); err != nil {
			return badText
		}
		if string(again[:]) != string(rec[:16]) {
			replaced := l.order.Uint32(again[4:]) - l.order.Uint32(rec[4:])
			if replaced == 0 || replaced > safeTexts {
				copy(rec, again[:])
				continue
			}
		}
		for i, c := range text[:min(n, textSize-1)] {
			if c == 0 {
				return int16(i)
			}
		}
		return int16(min(n, textSize-1))
	}
	return busyText
}

// Fetch implements [pmda.Agent].
func (a *Agent) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	res := req.Result
	total := 0
	for _, id := range req.PMIDs {
		if m := a.index.metrics[id]; m != nil {
			total += len(m.places)
		}
	}
	res.Grow(len(req.PMIDs), total+len(req.PMIDs))
	for _, id := range req.PMIDs {
		if id.Cluster() == 0 {
			a.fetchControl(res, id)
			continue
		}
		m := a.index.metrics[id]
		switch {
		case m == nil:
			res.AddError(id, pcp.ErrPMID)
		case m.desc.Type == pcp.TypeNoSupport:
			res.AddError(id, pcp.ErrAppVersion)
		default:
			a.fetchMetric(res, id, m, req.Profile)
		}
	}
	return nil
}

// fetchMetric adds the set of a metric. If there is no value at all the error is
// that of the last instance, as in pmdaFetch(3).
func (a *Agent) fetchMetric(res *pcp.Result, id pcp.PMID, m *metric, profile *pcp.Profile) {
	a.prepare(m)
	res.AddSet(id)
	set := &res.Sets[len(res.Sets)-1]
	if m.indom == nil {
		if len(m.places) > 0 {
			if v, err := a.value(m, m.places[0]); err == nil {
				res.Add(v)
			} else if err != errNoValue {
				set.Err = err.(pcp.Error)
			}
		}
		return
	}
	var last error
	any := false
	part := pcp.ProfileInDom{State: pcp.ProfileInclude}
	if profile != nil {
		part = profile.InDom(m.desc.InDom)
	}
	all := part.State == pcp.ProfileInclude && len(part.Insts) == 0
	insts := m.indom.insts
	for i := range m.places {
		inst := insts[i].Inst
		if !all && !part.Includes(inst) {
			continue
		}
		v, err := a.value(m, m.places[i])
		if err != nil {
			last = err
			continue
		}
		any = true
		v.Inst = inst
		res.Add(v)
	}
	if code, ok := last.(pcp.Error); ok && !any {
		set.Err = code
	}
}

// errNoValue means that there is no value, and that nothing failed.
var errNoValue error = noValue{}

type noValue struct{}

func (noValue) Error() string { return "no value" }

// value returns the value at a place.
func (a *Agent) value(m *metric, p place) (pcp.Value, error) {
	if p.k < 0 {
		return pcp.Value{}, pcp.ErrInst
	}
	src := &m.sources[p.src]
	l := src.l
	rec := l.record(src.m.Values[p.k].Index)
	if rec == nil {
		return pcp.Value{}, pcp.ErrInst
	}
	bits := l.order.Uint64(rec)
	sentinel := l.def.Flags&mmv.FlagSentinel != 0
	// All ones in the 8 bytes of any number mean no value, as in C.
	if sentinel && bits == math.MaxUint64 && src.m.Type != mmv.TypeString {
		return pcp.Value{}, errNoValue
	}
	switch src.m.Type {
	case mmv.TypeI32, mmv.TypeU32:
		bits = uint64(l.order.Uint32(rec))
	case mmv.TypeFloat:
		word := l.order.Uint32(rec)
		if bits = uint64(word); sentinel && isNaN(float64(math.Float32frombits(word))) {
			return pcp.Value{}, errNoValue
		}
	case mmv.TypeDouble:
		if sentinel && isNaN(math.Float64frombits(bits)) {
			return pcp.Value{}, errNoValue
		}
	case mmv.TypeElapsed:
		if extra := int64(l.order.Uint64(rec[8:])); extra < 0 { // a section is open
			bits += uint64(a.now + extra)
		}
	case mmv.TypeString:
		return a.text(m, src, int(p.k), sentinel)
	case mmv.TypeNoSupport:
		return pcp.Value{}, pcp.ErrAppVersion
	}
	if m.desc.Type == pcp.TypeString {
		return pcp.Value{}, pcp.ErrInst // from another file, where it is a number
	}
	return pcp.RawValue(m.desc.Type, bits), nil
}

func isNaN(f float64) bool { return f != f }

// text returns value k of a string metric.
func (a *Agent) text(m *metric, src *source, k int, sentinel bool) (pcp.Value, error) {
	l := src.l
	if m.desc.Type != pcp.TypeString || src.text+k >= len(l.lens) {
		return pcp.Value{}, pcp.ErrInst
	}
	i := src.text + k
	n := int(l.lens[i])
	switch {
	case n == badText:
		extra := int64(l.order.Uint64(l.record(src.m.Values[k].Index)[8:]))
		a.report(src.file, slog.LevelError, "bad string value offset: %d < %d", l.size, extra+4)
		return pcp.Value{}, pcp.ErrGeneric
	case n == busyText:
		return pcp.Value{}, pcp.ErrAgain
	case n == 0 && sentinel:
		return pcp.Value{}, errNoValue
	}
	// A result is encoded while the next Refresh may be at work on texts.
	if b := l.texts[i*textSize:][:n]; l.given[i] == nil || !bytes.Equal(l.given[i], b) {
		l.given[i] = bytes.Clone(b)
	}
	return pcp.BytesValue(pcp.TypeString, l.given[i]), nil
}

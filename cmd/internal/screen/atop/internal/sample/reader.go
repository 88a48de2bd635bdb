package sample

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/internal/metrics"
	"github.com/go-pcp/pcp/pmapi"
)

// A metric is the place of one in a request.
type metric int

// A reader fetches all metrics of a sample at once.
type reader struct {
	c       *pmapi.Context
	archive *pmapi.ArchiveContext // nil: live
	names   []string
	places  map[string]metric
	ids     []pcp.PMID
	asked   []pcp.PMID // of a fetch; the first of ids
	descs   []pcp.Desc
	res     pcp.Result
	step    time.Duration
	fixed   map[pcp.InDom][]pcp.Instance // the instances in archives, which do not change
	found   []found                      // by metric
	strings map[string]string
}

// found remembers where the values of a metric are that are not at the expected index.
type found struct {
	next  int           // after the last that was found
	index map[int32]int // nil: not made yet
	built bool
}

func newReader(c *pmapi.Context) *reader {
	r := &reader{c: c, places: make(map[string]metric), fixed: make(map[pcp.InDom][]pcp.Instance), strings: make(map[string]string)}
	if c != nil {
		r.archive, _ = c.Archive()
	}
	return r
}

// metric returns the index of a metric, which is fetched from then on.
func (r *reader) metric(name string) metric {
	if m, ok := r.places[name]; ok {
		return m
	}
	m := metric(len(r.names))
	r.names, r.places[name] = append(r.names, name), m
	return m
}

// lookup finds identifiers and descriptors of all metrics. Missing metrics have no values.
func (r *reader) lookup(ctx context.Context) error {
	descs, err := metrics.Find(ctx, r.c, r.names)
	if err != nil {
		return fmt.Errorf("pmLookupName: %w", err)
	}
	r.ids, r.descs, r.found = make([]pcp.PMID, len(descs)), descs, make([]found, len(descs))
	for i := range descs {
		r.ids[i] = descs[i].PMID
	}
	return nil
}

// fetch reads the values of all metrics: those at a time of archives, or the current ones.
func (r *reader) fetch(ctx context.Context, at Time) error {
	if r.archive != nil {
		when := at.Timestamp()
		if err := r.archive.SetMode(ctx, pmapi.ModeInterp, &when, r.step); err != nil {
			return err
		}
	}
	for i := range r.found {
		r.found[i].next, r.found[i].built = 0, false
	}
	_, err := r.c.FetchInto(ctx, r.asked, &r.res)
	return err
}

// fetchOnly reads the values of some metrics. Unless the source returns an error, all other metrics have
// no values then.
func (r *reader) fetchOnly(ctx context.Context, list []metric) error {
	ids := make([]pcp.PMID, len(list))
	for i, m := range list {
		ids[i] = r.ids[m]
	}
	var res pcp.Result
	_, err := r.c.FetchInto(ctx, ids, &res)
	r.res = pcp.Result{Time: res.Time}
	for i := range r.found {
		r.found[i].next, r.found[i].built = 0, false
	}
	if err != nil || len(res.Sets) != len(ids) {
		return err
	}
	r.res.Sets = make([]pcp.ValueSet, len(r.ids))
	for i, m := range list {
		r.res.Sets[m] = res.Sets[i]
	}
	return nil
}

// has reports whether the source has a metric.
func (r *reader) has(m metric) bool { return m >= 0 && r.descs[m].PMID != pcp.PMIDNull }

// values returns the values of a metric.
func (r *reader) values(m metric) []pcp.Value {
	if m < 0 || int(m) >= len(r.res.Sets) {
		return nil
	}
	if vs := &r.res.Sets[m]; vs.Err == 0 {
		return vs.Values
	}
	return nil
}

// instances returns the members of a metric's instance domain: as of the time of the sample, or
// all that an archive ever had. As in C, a missing metric has no instances.
func (r *reader) instances(ctx context.Context, m metric, ever bool) ([]pcp.Instance, error) {
	if !r.has(m) {
		return nil, nil
	}
	indom := r.descs[m].InDom
	if r.archive == nil || !ever {
		list, err := r.c.GetInDom(ctx, indom)
		if errors.Is(err, pcp.ErrInDomLog) {
			err = nil
		}
		return list, err
	}
	if list, ok := r.fixed[indom]; ok {
		return list, nil
	}
	list, err := r.archive.GetInDomArchive(ctx, indom)
	if err != nil && !errors.Is(err, pcp.ErrInDomLog) {
		return nil, err
	}
	r.fixed[indom] = list
	return list, nil
}

// find returns the value of an instance, which is probably the one at hint.
func (r *reader) find(m metric, inst int32, hint int) (v pcp.Value, direct, ok bool) {
	values := r.values(m)
	if hint < len(values) && values[hint].Inst == inst {
		return values[hint], true, true
	}
	i, ok := r.index(m, inst)
	if !ok {
		return pcp.Value{}, false, false
	}
	return values[i], false, true
}

// index returns the index of an instance in the values of a metric.
func (r *reader) index(m metric, inst int32) (int, bool) {
	values := r.values(m)
	if len(values) == 0 {
		return 0, false
	}
	f := &r.found[m]
	if f.next < len(values) && values[f.next].Inst == inst {
		f.next++
		return f.next - 1, true
	}
	if len(values) <= 32 {
		for i := range values {
			if values[i].Inst == inst {
				return i, true
			}
		}
		return 0, false
	}
	if !f.built {
		if f.built = true; f.index == nil {
			f.index = make(map[int32]int, len(values))
		}
		clear(f.index)
		for i := len(values) - 1; i >= 0; i-- {
			f.index[values[i].Inst] = i
		}
	}
	i, ok := f.index[inst]
	f.next = i + 1
	return i, ok
}

// number converts a value to one of the types of C, 0 if that is not possible.
func (r *reader) number(m metric, v pcp.Value, to pcp.Type) int64 {
	n, err := v.Extract(r.descs[m].Type, to)
	switch {
	case err != nil:
		return 0
	case to == pcp.Type32:
		return int64(n.Int32())
	}
	return n.Int64()
}

// first returns the first value of a metric, 0 if it has no values.
func (r *reader) first(m metric) Count {
	if values := r.values(m); len(values) > 0 {
		return r.number(m, values[0], pcp.Type64)
	}
	return 0
}

// firstInt is first for values that C keeps in 32 bits.
func (r *reader) firstInt(m metric) int32 {
	if values := r.values(m); len(values) > 0 {
		return int32(r.number(m, values[0], pcp.Type32))
	}
	return 0
}

// count returns the value of an instance, 0 if it has no value.
func (r *reader) count(m metric, inst int32, hint int) Count {
	v, direct, ok := r.find(m, inst, hint)
	switch {
	case !ok:
		return 0
	case direct: // C is pickier about values at the index where it looks first
		return r.number(m, v, pcp.TypeU64)
	}
	return r.number(m, v, pcp.Type64)
}

// integer is count for values that C keeps in 32 bits.
func (r *reader) integer(m metric, inst int32, hint int) int32 {
	if v, _, ok := r.find(m, inst, hint); ok {
		return int32(r.number(m, v, pcp.Type32))
	}
	return 0
}

// float returns the value of an instance, -1 if it has no value.
func (r *reader) float(m metric, inst int32, hint int) float32 {
	v, _, ok := r.find(m, inst, hint)
	if !ok {
		return -1
	}
	n, err := v.Extract(r.descs[m].Type, pcp.TypeFloat)
	if err != nil {
		return 0
	}
	return n.Float()
}

// maxNames is how many strings are remembered.
const maxNames = 1 << 16

// keep returns a copy of a string, the same one for the same bytes.
func (r *reader) keep(b []byte) string {
	if s, ok := r.strings[string(b)]; ok {
		return s
	}
	if len(r.strings) >= maxNames {
		clear(r.strings)
	}
	s := string(b)
	r.strings[s] = s
	return s
}

// text returns the string value of an instance, of at most size bytes; "" if it has no
// value.
func (r *reader) text(m metric, inst int32, hint, size int) (string, bool) {
	v, _, ok := r.find(m, inst, hint)
	if !ok {
		return "", false
	}
	return r.textOf(m, v, size)
}

// firstText is text for the first value.
func (r *reader) firstText(m metric, size int) string {
	values := r.values(m)
	if len(values) == 0 {
		return ""
	}
	s, _ := r.textOf(m, values[0], size)
	return s
}

func (r *reader) textOf(m metric, v pcp.Value, size int) (string, bool) {
	v, err := v.Extract(r.descs[m].Type, pcp.TypeString)
	if err != nil {
		return "", false
	}
	return r.keep(cut(v.Bytes(), size)), true
}

package webapi

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/exposition"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A plan is a prepared fetch of a list of metrics.
type plan struct {
	metrics []*metric // nil for missing metrics
	ids     []pcp.PMID
	own     bool // some are event records, which need the context's own connection
	top     int  // instances of a metric, those with the largest values; 0 for all

	mu   sync.Mutex
	next *flight // not yet started; new requests join it
	last *flight // started last
}

// A flight is one fetch for all requests that arrived before it started.
type flight struct {
	done chan struct{}
	old  bool
	body []byte // of the response, after the client's part
	err  error
}

// fetchCommand is /pmapi/fetch.
func fetchCommand(ctx context.Context, r *request) error {
	kind, list, one := "n", "", false
	if v, ok := r.params.Get("names"); ok {
		list = v
	} else if v, ok := r.params.Get("name"); ok {
		list, one = v, true
	} else if v, ok := r.params.Get("pmids"); ok {
		kind, list = "i", v
	} else {
		kind, list, one = "i", r.params.Value("pmid"), true
	}
	top := 0
	if text, ok := r.params.Get("top"); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxTop {
			return fail("top: want a number from 1 to " + strconv.Itoa(MaxTop))
		}
		top = n
	}
	v := r.wc.view
	key := kind + list
	p, err := r.plan(ctx, v, key, top)
	if err != nil {
		return err
	}
	if one && slices.Contains(p.metrics, nil) {
		return fail("bad parameters passed")
	}
	if p.own && v.own == nil {
		if err := r.wc.possess(ctx); err != nil {
			return err
		}
		v = r.wc.view
		if p, err = r.plan(ctx, v, key, top); err != nil {
			return err
		}
	}
	var body []byte
	if v.own == nil {
		f := p.join(ctx, v, r.old)
		if f.err != nil {
			return f.err
		}
		body = f.body
	} else if body, err = p.fetch(ctx, v, nil, r.old); err != nil {
		return err
	}
	if r.old {
		if err := r.wc.register(); err != nil {
			return err
		}
		r.out = append(r.out, '{')
	} else {
		if err := r.begin(); err != nil {
			return err
		}
		r.out = append(r.out, ',')
	}
	r.out = append(r.out, body...)
	return nil
}

// plan returns the plan of a fetch. Its key is the parameter after a letter that
// distinguishes names from numbers.
func (r *request) plan(ctx context.Context, v *view, key string, top int) (*plan, error) {
	now := time.Now()
	list := key[1:]
	byName := key[0] == 'n'
	if top > 0 {
		key = strconv.Itoa(top) + key
	}
	if v.fresh(now) {
		k := v.knows()
		k.mu.RLock()
		p := k.plans[key]
		k.mu.RUnlock()
		if p != nil {
			return p, nil
		}
	}
	var p *plan
	err := v.with(ctx, func(l *link, k *known) error {
		k.mu.RLock()
		p = k.plans[key]
		k.mu.RUnlock()
		if p != nil {
			return nil
		}
		list := split(list)
		made := &plan{top: top}
		var err error
		if byName {
			made.metrics, err = k.byNames(ctx, l, list)
		} else {
			ids := make([]pcp.PMID, len(list))
			for i, s := range list {
				ids[i] = parsePMID(s)
			}
			made.metrics, err = k.byIDs(ctx, l, ids)
		}
		if err != nil {
			return err
		}
		for _, m := range made.metrics {
			if m == nil {
				made.ids = append(made.ids, pcp.PMIDNull)
				continue
			}
			made.ids = append(made.ids, m.desc.PMID)
			made.own = made.own || m.event()
		}
		p = made
		// A plan with missing metrics is not cached, as they may appear.
		if !slices.Contains(made.metrics, nil) {
			k.mu.Lock()
			if len(k.plans) >= maxPlans {
				clear(k.plans)
			}
			k.plans[strings.Clone(key)] = made
			k.mu.Unlock()
		}
		return nil
	})
	return p, err
}

// split splits a list at its commas. The empty text is an empty list.
func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// join returns a fetch that starts after this call, shared with other waiting requests.
func (p *plan) join(ctx context.Context, v *view, old bool) *flight {
	p.mu.Lock()
	if f := p.next; f != nil && f.old == old {
		p.mu.Unlock()
		select {
		case <-f.done:
			return f
		case <-ctx.Done():
			return &flight{err: context.Cause(ctx)}
		}
	}
	f := &flight{done: make(chan struct{}), old: old}
	before := p.last
	p.next = f
	p.mu.Unlock()
	if before != nil {
		<-before.done // a fetch has a time limit and so ends
	}
	p.mu.Lock()
	if p.next == f {
		p.next = nil
	}
	p.last = f
	p.mu.Unlock()
	// Others wait too: cancelling this request must not cancel the fetch.
	fctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), linkTimeout)
	f.body, f.err = p.fetch(fctx, v, make([]byte, 0, 512), old)
	cancel()
	close(f.done)
	p.mu.Lock()
	if p.last == f {
		p.last = nil
	}
	p.mu.Unlock()
	return f
}

// fetch fetches values and appends the response to b.
func (p *plan) fetch(ctx context.Context, v *view, b []byte, old bool) ([]byte, error) {
	run := func(l *link) error {
		now := time.Now()
		changes, err := l.c.FetchInto(ctx, p.ids, &l.res)
		if err != nil {
			return err
		}
		v.note(l, changes, now)
		b = p.append(b[:0], &l.res, old)
		return nil
	}
	if v.own == nil {
		return b, v.src.with(ctx, run) // the fetch itself reports changes
	}
	err := v.with(ctx, func(l *link, _ *known) error { return run(l) })
	return b, err
}

// append appends the values of a result to a response.
func (p *plan) append(b []byte, res *pcp.Result, old bool) []byte {
	if old {
		b = append(b, `"timestamp":{"s":`...)
		b = strconv.AppendInt(b, res.Time.Sec, 10)
		b = append(b, `,"us":`...)
		b = strconv.AppendInt(b, int64(res.Time.Nsec)/1000, 10)
		b = append(b, `},"values":[`...)
	} else {
		b = append(b, `"timestamp":`...)
		b = strconv.AppendInt(b, res.Time.Sec, 10)
		b = append(b, '.')
		b = ctext.AppendDigits(b, uint32(res.Time.Nsec), 9)
		b = append(b, `,"values":[`...)
	}
	first := true
	for i, m := range p.metrics {
		if m == nil || i >= len(res.Sets) {
			continue
		}
		heads := m.heads
		if old {
			heads = m.old
		}
		vs, others := &res.Sets[i], 0
		if p.top > 0 {
			vs, others = m.largest(vs, p.top)
		}
		for _, head := range heads {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(b, head...)
			b = m.appendValues(b, vs, old)
			b = append(b, ']')
			if others > 0 {
				b = strconv.AppendInt(append(b, `,"others":`...), int64(others), 10)
			}
			b = append(b, '}')
		}
	}
	return append(b, "]}\r\n"...)
}

// largest returns the values of the instances with the largest ones, and the number of the others. All of them are returned if they are not numbers.
func (m *metric) largest(vs *pcp.ValueSet, top int) (*pcp.ValueSet, int) {
	if m.desc.InDom == pcp.InDomNull || !m.numeric() || len(vs.Values) <= top {
		return vs, 0
	}
	scores := make([]score, 0, len(vs.Values))
	for i := range vs.Values {
		if x, ok := vs.Values[i].As(m.desc.Type).Float64(); ok && x == x {
			scores = append(scores, score{vs.Values[i].Inst, x})
		}
	}
	slices.SortFunc(scores, func(a, b score) int { return cmp.Or(cmp.Compare(b.x, a.x), cmp.Compare(a.inst, b.inst)) })
	chosen := make(map[int32]bool, top)
	for _, s := range scores[:min(top, len(scores))] {
		chosen[s.inst] = true
	}
	some := *vs
	some.Values = nil
	for _, v := range vs.Values {
		if chosen[v.Inst] {
			some.Values = append(some.Values, v)
		}
	}
	return &some, len(vs.Values) - len(some.Values)
}

// appendHead appends the text before the values of a metric.
func appendHead(b []byte, id pcp.PMID, name string, old bool) []byte {
	b = append(b, `{"pmid":`...)
	if old {
		b = strconv.AppendUint(b, uint64(uint32(id)), 10)
	} else {
		b = append(b, '"')
		b = id.AppendText(b)
		b = append(b, '"')
	}
	b = append(b, `,"name":`...)
	b = rest.AppendString(b, name)
	return append(b, `,"instances":[`...)
}

// appendValues appends the values of a metric, separated by commas.
func (m *metric) appendValues(b []byte, vs *pcp.ValueSet, old bool) []byte {
	if m.desc.InDom == pcp.InDomNull {
		if old {
			b = append(b, `{"instance":-1,"value":`...)
		} else {
			b = append(b, `{"instance":null,"value":`...)
		}
		if len(vs.Values) > 0 {
			b = appendValue(b, vs.Values[0].As(m.desc.Type))
		} else {
			b = append(b, "null"...)
		}
		return append(b, '}')
	}
	for i := range vs.Values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"instance":`...)
		b = strconv.AppendUint(b, uint64(uint32(vs.Values[i].Inst)), 10)
		b = append(b, `,"value":`...)
		b = appendValue(b, vs.Values[i].As(m.desc.Type))
		b = append(b, '}')
	}
	return b
}

// appendValue appends a value as JSON, null if JSON cannot represent it.
func appendValue(b []byte, v pcp.Value) []byte {
	switch v.Type() {
	case pcp.Type32, pcp.Type64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case pcp.TypeU32, pcp.TypeU64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case pcp.TypeFloat, pcp.TypeDouble:
		f := v.Double()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			break
		}
		return exposition.AppendFloat(b, f, v.Type())
	case pcp.TypeString:
		text, _ := v.Text()
		return rest.AppendString(b, text)
	case pcp.TypeAggregate:
		return rest.AppendString(b, string(v.Bytes()))
	}
	return append(b, "null"...)
}

// parsePMID parses a metric number as pmproxy does: 60.0.32, 0x…, or one decimal number; trailing text is
// ignored.
func parsePMID(s string) pcp.PMID {
	if n, ok := parseHex(s); ok {
		return pcp.PMID(n)
	}
	parts, ok := scanNumbers(s, 3)
	switch {
	case ok && len(parts) == 3:
		return pcp.NewPMID(int(parts[0]&pcp.MaxDomain), int(parts[1]&pcp.MaxCluster), int(parts[2]&pcp.MaxItem))
	case len(parts) == 1:
		return pcp.PMID(parts[0])
	}
	return pcp.PMIDNull
}

// parseInDom is parsePMID for instance domains: 60.1.
func parseInDom(s string) pcp.InDom {
	if n, ok := parseHex(s); ok {
		return pcp.InDom(n)
	}
	parts, ok := scanNumbers(s, 2)
	switch {
	case ok && len(parts) == 2:
		return pcp.NewInDom(int(parts[0]&pcp.MaxDomain), int(parts[1]&pcp.MaxSerial))
	case len(parts) == 1:
		return pcp.InDom(parts[0])
	}
	return pcp.InDomNull
}

func parseHex(s string) (uint32, bool) {
	if len(s) < 3 || s[0] != '0' || s[1]|0x20 != 'x' || !ctext.IsHexDigit(s[2]) {
		return 0, false
	}
	end := 2
	for end < len(s) && ctext.IsHexDigit(s[end]) {
		end++
	}
	n, err := strconv.ParseUint(s[2:end], 16, 64)
	if err != nil {
		n = math.MaxUint64
	}
	return uint32(n), true
}

// scanNumbers parses up to n numbers separated by dots at the beginning of s,
// like sscanf, and reports whether there are n.
func scanNumbers(s string, n int) ([]uint32, bool) {
	var list []uint32
	for len(list) < n {
		s = ctext.TrimSpace(s)
		end := 0
		if s != "" && (s[0] == '-' || s[0] == '+') {
			end = 1
		}
		digits := end
		for end < len(s) && ctext.IsDigit(s[end]) {
			end++
		}
		if end == digits {
			return list, false
		}
		v, err := strconv.ParseUint(s[digits:end], 10, 64)
		if err != nil {
			v = math.MaxUint64
		} else if s[0] == '-' {
			v = -v
		}
		list = append(list, uint32(v))
		if s = s[end:]; len(list) < n {
			if s == "" || s[0] != '.' {
				return list, false
			}
			s = s[1:]
		}
	}
	return list, true
}

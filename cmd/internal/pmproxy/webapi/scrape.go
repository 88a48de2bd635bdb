package webapi

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/exposition"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

const (
	// maxScrapes is the number of different scrapes cached for a collector.
	maxScrapes = 64
	// instancesFor is the time for which instance names are cached while no new
	// instance appears.
	instancesFor = 10 * time.Second
)

// A format is an output format of scrapes.
type format int

const (
	asText  format = iota // Prometheus, with extra comment lines
	asOld                 // the same, for the older form of URL
	asTelem               // OTLP as JSON
)

// scrape caches data of scrapes, under the mutex of its known.
type scrape struct {
	plans map[string]*scrapePlan
	insts map[pcp.InDom]*instances
}

// instances are the instances of a domain.
type instances struct {
	at    time.Time
	names map[int32]string
	own   map[int32]*pcp.LabelSet
	hist  *names.Histogram // nil if they are not buckets
}

// A scrapePlan is a prepared scrape of a list of metrics, with the text that is the same for each scrape.
type scrapePlan struct {
	form    format
	times   bool
	ids     []pcp.PMID
	entries []scrapeEntry // for each of ids
	begin   string        // of the response

	size atomic.Int64 // size hint for the next response
	turn sync.Mutex   // guards the lines of entries
	mu   sync.Mutex
	next *flight
	last *flight
}

type scrapeEntry struct {
	m     *metric
	names []scrapeName
}

// A scrapeName is a metric and one of its names.
type scrapeName struct {
	name  string // in the response
	head  string // the lines before the samples
	line  string // text before the value of a metric without instances
	lines []scrapeLine
	of    *instances // the instances for which lines was made

	histogram bool             // no metric has the names of the series of a histogram of this one
	hist      *names.Histogram // the histogram for which buckets was made
	buckets   []string         // text before the values of its series
	counts    []float64
}

// matches reports whether lines fit the values.
func (n *scrapeName) matches(values []pcp.Value) bool {
	if len(n.lines) != len(values) {
		return false
	}
	for i := range values {
		if n.lines[i].inst != values[i].Inst {
			return false
		}
	}
	return true
}

// A scrapeLine is the text before the value of an instance.
type scrapeLine struct {
	inst int32
	name string // of the instance
	text string
}

// scrapeCommand is /metrics and /pmapi/metrics.
func scrapeCommand(ctx context.Context, r *request) error {
	form := asText
	if r.old {
		form = asOld
	}
	if wantsJSON(r.http) {
		form = asTelem
		r.json = true
	}
	list, key := "", []byte{'0' + byte(form)}
	for _, name := range []string{"names", "name", "prefix", "target"} {
		if v, ok := r.params.Get(name); ok {
			list = v
			break
		}
	}
	times := r.params.Value("times") == "true"
	key = strconv.AppendBool(key, times)
	for _, part := range []string{list, r.params.Value("match"), r.params.Value("filter")} {
		key = strconv.AppendInt(append(key, ' '), int64(len(part)), 10)
		key = append(append(key, ' '), part...)
	}
	v := r.wc.view
	var p *scrapePlan
	err := v.with(ctx, func(l *link, k *known) error {
		k.mu.RLock()
		p = k.scrape.plans[string(key)]
		k.mu.RUnlock()
		if p != nil {
			return nil
		}
		made, err := r.scrapePlan(ctx, l, k, list, form, times)
		if err != nil {
			return err
		}
		p = made
		k.mu.Lock()
		if k.scrape.plans == nil || len(k.scrape.plans) >= maxScrapes {
			k.scrape.plans = make(map[string]*scrapePlan)
		}
		k.scrape.plans[string(key)] = p
		k.mu.Unlock()
		return nil
	})
	if err != nil {
		return err
	}
	if len(p.ids) == 0 {
		if form == asTelem {
			r.out = append(append(r.out, p.begin...), "]}]}]}\r\n"...)
		}
		return nil
	}
	if v.own != nil {
		r.out, err = p.scrape(ctx, v, r.out)
		return err
	}
	f := p.join(ctx, v)
	r.shared = f.body
	return f.err
}

// checkScrape refuses unknown values of parameters.
func checkScrape(r *request) error {
	if r.params.Value("filter") == "" {
		return nil
	}
	return checkMatch(r)
}

// wantsJSON reports whether the client prefers JSON to text.
func wantsJSON(r *http.Request) bool {
	for _, accept := range r.Header["Accept"] {
		for one := range strings.SplitSeq(accept, ",") {
			one, _, _ = strings.Cut(one, ";")
			switch strings.ToLower(strings.TrimSpace(one)) {
			case "application/json":
				return true
			case "text/plain", "application/openmetrics-text", "*/*", "text/*", "text/html":
				return false
			}
		}
	}
	return false
}

// scrapePlan returns the plan of a scrape.
func (r *request) scrapePlan(ctx context.Context, l *link, k *known, list string, form format, times bool) (*scrapePlan, error) {
	prefixes := split(list)
	if list == "" {
		prefixes = []string{""}
	}
	leaveOut := func(string) bool { return false }
	if f := r.params.Value("filter"); f != "" {
		how := r.params.Value("match")
		if how == "" {
			how = "glob"
		}
		var err error
		if leaveOut, err = matcher(split(f), how); err != nil {
			return nil, err
		}
	}
	var leaves []string
	for _, prefix := range prefixes {
		below, err := k.below(ctx, l, prefix)
		if err != nil {
			if broken(err) {
				return nil, err
			}
			return nil, fail("'" + prefix + "' - " + errText(err))
		}
		leaves = append(leaves, below...)
	}
	if f := r.params.Value("filter"); f != "" {
		leaves = slices.DeleteFunc(slices.Clone(leaves), leaveOut)
	}
	metrics, err := k.byNames(ctx, l, leaves)
	if err != nil {
		return nil, err
	}
	metrics = slices.DeleteFunc(slices.Clone(metrics), func(m *metric) bool { return m == nil || !m.numeric() })
	if err := k.learnAll(ctx, l, metrics); err != nil {
		return nil, err
	}
	p := &scrapePlan{form: form, times: times}
	if form == asTelem {
		sets, err := k.labelsOf(ctx, l, pcp.LabelContext, 0)
		if err != nil {
			return nil, err
		}
		p.begin = string(exposition.AppendBegin(nil, sets))
	}
	seen := make(map[*metric]bool, len(metrics))
	taken := make(map[string]bool, len(metrics))
	for _, m := range metrics {
		if seen[m] {
			continue
		}
		seen[m] = true
		e := scrapeEntry{m: m}
		for _, name := range m.names {
			if leaveOut(name) {
				continue
			}
			out := name
			switch form {
			case asText:
				out = names.Metric(name)
			case asOld:
				out = names.Old(name)
			}
			// Two names may become one, as a.b and a_b. The first wins: a text with both
			// would be invalid.
			if taken[out] {
				continue
			}
			taken[out] = true
			e.names = append(e.names, newScrapeName(m, name, out, form))
		}
		if len(e.names) > 0 {
			p.ids = append(p.ids, m.desc.PMID)
			p.entries = append(p.entries, e)
		}
	}
	for i := range p.entries {
		for j := range p.entries[i].names {
			n := &p.entries[i].names[j]
			n.histogram = form == asText && !taken[n.name+names.BucketSuffix] && !taken[n.name+names.CountSuffix]
		}
	}
	return p, nil
}

func newScrapeName(m *metric, name, out string, form format) scrapeName {
	n := scrapeName{name: out}
	a, d := m.knows(), &m.desc
	if form == asTelem {
		n.head = string(exposition.AppendHead(nil, &m.desc, name, m.knows().oneline))
		n.line = string(exposition.AppendPoint(nil, &m.desc, m.knows().sets, nil, pcp.InNull, ""))
		return n
	}
	var b []byte
	if form == asOld {
		b = append(b, "# PCP "+name+" "+d.Sem.String()+" "+unitsName(d.Units)+"\n"...)
	} else {
		b = append(b, "# PCP5 "+name+" "+d.PMID.String()+" "+exposition.TypeName(d.Type)+" "+d.InDom.String()+" "+d.Sem.String()+" "+unitsName(d.Units)+"\n"...)
	}
	n.head = string(appendComments(b, out, m))
	n.line = string(exposition.AppendSeries(nil, out, a.sets, nil, pcp.InNull, ""))
	return n
}

// appendComments appends the lines HELP and TYPE.
func appendComments(b []byte, out string, m *metric) []byte {
	if a := m.knows(); a.oneline != "" {
		b = names.AppendHelp(b, out, a.oneline)
	}
	return names.AppendType(b, out, &m.desc)
}

// join is plan.join for scrapes.
func (p *scrapePlan) join(ctx context.Context, v *view) *flight {
	p.mu.Lock()
	if f := p.next; f != nil {
		p.mu.Unlock()
		select {
		case <-f.done:
			return f
		case <-ctx.Done():
			return &flight{err: context.Cause(ctx)}
		}
	}
	f := &flight{done: make(chan struct{})}
	before := p.last
	p.next = f
	p.mu.Unlock()
	if before != nil {
		<-before.done
	}
	p.mu.Lock()
	p.next, p.last = nil, f
	p.mu.Unlock()
	fctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), linkTimeout)
	f.body, f.err = p.scrape(fctx, v, make([]byte, 0, p.size.Load()))
	p.size.Store(int64(len(f.body) + len(f.body)/16))
	cancel()
	close(f.done)
	p.mu.Lock()
	if p.last == f {
		p.last = nil
	}
	p.mu.Unlock()
	return f
}

// scrape fetches the metrics and appends the response to b.
func (p *scrapePlan) scrape(ctx context.Context, v *view, b []byte) ([]byte, error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	start := len(b)
	err := v.with(ctx, func(l *link, k *known) error {
		now := time.Now()
		changes, err := l.c.FetchInto(ctx, p.ids, &l.res)
		if err != nil {
			return err
		}
		v.note(l, changes, now)
		// Finding instances may take requests, which must not modify the values:
		// numeric values are copied when they are decoded.
		b, err = p.append(ctx, b[:start], l, k)
		return err
	})
	return b, err
}

// append appends the response of a scrape.
func (p *scrapePlan) append(ctx context.Context, b []byte, l *link, k *known) ([]byte, error) {
	b = append(b, p.begin...)
	var end []byte
	switch {
	case p.form == asTelem:
		end = strconv.AppendInt(end, l.res.Time.Sec, 10)
		end = strconv.AppendInt(end, 1e9+int64(l.res.Time.Nsec), 10)
		cut := len(end) - 10
		end = append(end[:cut], end[cut+1:]...) // without the 1 that preserved leading zeros
	case p.times:
		end = append(end, ' ')
		end = strconv.AppendInt(end, l.res.Time.Sec*1000+int64(l.res.Time.Nsec)/1e6, 10)
	}
	some := false
	for i := range p.entries {
		e := &p.entries[i]
		if i >= len(l.res.Sets) || len(l.res.Sets[i].Values) == 0 {
			continue
		}
		vs := &l.res.Sets[i]
		vs.As(e.m.desc.Type)
		var in *instances
		if e.m.desc.InDom != pcp.InDomNull {
			var err error
			var same *instances // these instances include all of the values
			if n := &e.names[0]; n.of != nil && n.matches(vs.Values) {
				same = n.of
			}
			if in, err = k.instancesOf(ctx, l, e.m.desc.InDom, vs.Values, same); err != nil {
				return b, err
			}
		}
		for j := range e.names {
			n := &e.names[j]
			before := len(b)
			if some && p.form == asTelem {
				b = append(b, ',')
			}
			b = append(b, n.head...)
			head := len(b)
			if in == nil {
				b = p.appendSample(b, n.line, vs.Values[0], end)
			} else {
				b = p.appendInstances(b, e.m, n, in, vs.Values, end)
			}
			if len(b) == head {
				b = b[:before]
				continue
			}
			some = true
			if p.form == asTelem {
				b = append(b, "]}}"...)
			}
			if in != nil && in.hist != nil && n.histogram {
				b = n.appendHistogram(b, e.m, in, vs.Values, end)
			}
		}
	}
	if p.form == asTelem {
		b = append(b, "]}]}]}\r\n"...)
	}
	return b, nil
}

// appendHistogram appends the series of the histogram whose buckets are the instances of a metric.
func (n *scrapeName) appendHistogram(b []byte, m *metric, in *instances, values []pcp.Value, end []byte) []byte {
	if n.hist != in.hist {
		n.hist, n.buckets = in.hist, n.buckets[:0]
		a := m.knows()
		for _, le := range in.hist.Bounds {
			n.buckets = append(n.buckets, string(exposition.AppendBucket(nil, n.name+names.BucketSuffix, a.sets, le)))
		}
		n.buckets[0] = string(appendComments(nil, n.name+names.BucketSuffix, m)) + n.buckets[0]
		n.buckets = append(n.buckets, string(exposition.AppendSeries(appendComments(nil, n.name+names.CountSuffix, m), n.name+names.CountSuffix, a.sets, nil, pcp.InNull, "")))
	}
	n.counts = n.hist.Start(n.counts)
	for _, v := range values {
		n.hist.Add(n.counts, in.names[v.Inst], v.Double())
	}
	n.hist.Cumulate(n.counts)
	for i, line := range n.buckets {
		b = append(b, line...)
		b = exposition.AppendFloat(b, n.counts[min(i, len(n.counts)-1)], pcp.TypeDouble)
		b = append(append(b, end...), '\n')
	}
	return b
}

// appendInstances appends the samples of a metric's instances. It caches the text before their values for the
// next scrape, which usually has the same instances in the same order.
func (p *scrapePlan) appendInstances(b []byte, m *metric, n *scrapeName, in *instances, values []pcp.Value, end []byte) []byte {
	lines := n.lines
	if n.of == in && n.matches(values) {
		for i := range values {
			if lines[i].text == "" {
				continue // an instance without a name
			}
			if p.form == asTelem && b[len(b)-1] == '}' {
				b = append(b, ',')
			}
			b = p.appendSample(b, lines[i].text, values[i], end)
		}
		return b
	}
	at, same := 0, len(lines) == len(values)
	var fresh []scrapeLine
	for i, v := range values {
		name, ok := in.names[v.Inst]
		if !ok {
			name = ""
		}
		var line *scrapeLine
		for j := at; j < len(lines) && j < at+8; j++ {
			if lines[j].inst == v.Inst && lines[j].name == name {
				line, at = &lines[j], j+1
				same = same && j == i
				break
			}
		}
		if line == nil {
			same = false
			line = &scrapeLine{inst: v.Inst, name: name}
			if ok && name != "" {
				line.text = p.lineOf(m, n, in, v.Inst, name)
			}
		}
		if !same {
			if fresh == nil {
				fresh = append(make([]scrapeLine, 0, len(values)), lines[:min(i, len(lines))]...)
			}
			fresh = append(fresh[:i], *line)
		}
		if line.text == "" {
			continue // an instance without a name
		}
		if p.form == asTelem && b[len(b)-1] == '}' {
			b = append(b, ',')
		}
		b = p.appendSample(b, line.text, v, end)
	}
	if !same {
		n.lines = fresh
	}
	n.of = in
	return b
}

func (p *scrapePlan) lineOf(m *metric, n *scrapeName, in *instances, inst int32, name string) string {
	own := in.own[inst]
	if p.form == asTelem {
		return string(exposition.AppendPoint(nil, &m.desc, m.knows().sets, own, inst, name))
	}
	return string(exposition.AppendSeries(nil, n.name, m.knows().sets, own, inst, name))
}

// appendSample appends a value after its line.
func (p *scrapePlan) appendSample(b []byte, line string, v pcp.Value, end []byte) []byte {
	b = append(b, line...)
	if p.form == asTelem {
		b = append(b, end...)
		return exposition.AppendValue(b, v)
	}
	switch v.Type() {
	case pcp.Type32, pcp.Type64:
		b = strconv.AppendInt(b, v.Int64(), 10)
	case pcp.TypeU32, pcp.TypeU64:
		b = strconv.AppendUint(b, v.Uint64(), 10)
	default:
		switch f := v.Double(); {
		case math.IsNaN(f):
			b = append(b, "NaN"...)
		case math.IsInf(f, 1):
			b = append(b, "+Inf"...)
		case math.IsInf(f, -1):
			b = append(b, "-Inf"...)
		default:
			b = exposition.AppendFloat(b, f, v.Type())
		}
	}
	b = append(b, end...)
	return append(b, '\n')
}

// instancesOf returns the instances of a domain, including those of values. It requests them if there is a new one,
// or if the cached ones are old. The instances of same, if not nil, include all of the values.
func (k *known) instancesOf(ctx context.Context, l *link, indom pcp.InDom, values []pcp.Value, same *instances) (*instances, error) {
	k.mu.RLock()
	in := k.scrape.insts[indom]
	k.mu.RUnlock()
	now := time.Now()
	if in != nil && now.Sub(in.at) < instancesFor {
		if in == same {
			return in, nil
		}
		known := true
		for _, v := range values {
			if _, ok := in.names[v.Inst]; !ok {
				known = false
				break
			}
		}
		if known {
			return in, nil
		}
	}
	list, err := l.c.GetInDom(ctx, indom)
	if broken(err) {
		return nil, err
	}
	sets, err := l.c.Labels(ctx, pcp.LabelInstances, uint32(indom))
	if broken(err) {
		return nil, err
	}
	made := &instances{at: now, names: make(map[int32]string, len(list))}
	for _, i := range list {
		made.names[i.Inst] = i.Name
	}
	made.hist = names.NewHistogram(maps.Values(made.names))
	for _, v := range values {
		if _, ok := made.names[v.Inst]; !ok {
			made.names[v.Inst] = "" // gone: do not request it again at once
		}
	}
	if len(sets) > 0 {
		made.own = make(map[int32]*pcp.LabelSet, len(sets))
		for i := range sets {
			if sets[i].Err == 0 && len(sets[i].Index) > 0 {
				made.own[sets[i].Inst] = &sets[i]
			}
		}
	}
	k.mu.Lock()
	if k.scrape.insts == nil {
		k.scrape.insts = make(map[pcp.InDom]*instances)
	}
	k.scrape.insts[indom] = made
	k.mu.Unlock()
	return made, nil
}

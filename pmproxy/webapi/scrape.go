package webapi

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/version"
	"github.com/go-pcp/pcp/pmproxy/internal/rest"
)

const (
	// maxScrapes is how many different scrapes are remembered for a collector.
	maxScrapes = 64
	// instancesFor is how long the names of instances are taken for true while no new
	// one shows.
	instancesFor = 10 * time.Second
)

// A format is one in which metrics are scraped.
type format int

const (
	asText  format = iota // of Prometheus, with lines that say more
	asOld                 // the same, in the older form of URL
	asTelem               // OTLP as JSON
)

// scrape has what is remembered of scrapes, under the mutex of its known.
type scrape struct {
	plans map[string]*scrapePlan
	insts map[pcp.InDom]*instances
}

// instances are those of a domain.
type instances struct {
	at    time.Time
	names map[int32]string
	own   map[int32]*pcp.LabelSet
}

// A scrapePlan is a list of metrics to scrape, with the text that does not change from one scrape to the next.
type scrapePlan struct {
	form    format
	times   bool
	ids     []pcp.PMID
	entries []scrapeEntry // for each of ids
	begin   string        // of the whole answer

	size atomic.Int64 // room for the next answer
	turn sync.Mutex   // guards the lines of entries
	mu   sync.Mutex
	next *flight
	last *flight
}

type scrapeEntry struct {
	m     *metric
	names []scrapeName
}

// A scrapeName is a metric under one of its names.
type scrapeName struct {
	name  string // in the answer
	head  string // the lines before the samples
	line  string // what comes before the value of a metric without instances
	lines []scrapeLine
}

// A scrapeLine is what comes before the value of an instance.
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

// checkScrape refuses values of parameters that are not known.
func checkScrape(r *request) error {
	if r.params.Value("filter") == "" {
		return nil
	}
	return checkMatch(r)
}

// wantsJSON reports whether the client would rather have JSON than text.
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

// scrapePlan makes the plan of a scrape.
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
	var names []string
	for _, prefix := range prefixes {
		below, err := k.below(ctx, l, prefix)
		if err != nil {
			if broken(err) {
				return nil, err
			}
			return nil, fail("'" + prefix + "' - " + errText(err))
		}
		names = append(names, below...)
	}
	if f := r.params.Value("filter"); f != "" {
		names = slices.DeleteFunc(slices.Clone(names), leaveOut)
	}
	metrics, err := k.byNames(ctx, l, names)
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
		p.begin = string(appendTelemBegin(nil, sets))
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
			if form != asTelem {
				out = promName(name, form == asOld)
			}
			// Two names may become one, as a.b and a_b. The first has it: the text could not
			// be read if both did.
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
	return p, nil
}

func newScrapeName(m *metric, name, out string, form format) scrapeName {
	n := scrapeName{name: out}
	a, d := m.knows(), &m.desc
	if form == asTelem {
		n.head = string(appendTelemHead(nil, m, name))
		n.line = string(appendTelemPoint(nil, m, nil, pcp.InNull, ""))
		return n
	}
	var b []byte
	if form == asOld {
		b = append(b, "# PCP "+name+" "+d.Sem.String()+" "+unitsName(d.Units)+"\n"...)
	} else {
		b = append(b, "# PCP5 "+name+" "+d.PMID.String()+" "+typeName(d.Type)+" "+d.InDom.String()+" "+d.Sem.String()+" "+unitsName(d.Units)+"\n"...)
	}
	if a.oneline != "" {
		b = append(b, "# HELP "+out+" "...)
		b = appendHelp(b, a.oneline)
		b = append(b, '\n')
	}
	kind := "gauge"
	if d.Sem == pcp.SemCounter {
		kind = "counter"
	}
	n.head = string(append(b, "# TYPE "+out+" "+kind+"\n"...))
	n.line = string(appendSeries(nil, out, a.sets, nil, pcp.InNull, ""))
	return n
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

// scrape fetches the metrics and appends the answer to b.
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
		// The instances may take requests, which must leave the values alone: those
		// of numbers are copied when they are decoded.
		b, err = p.append(ctx, b[:start], l, k)
		return err
	})
	return b, err
}

// append appends the answer of a scrape.
func (p *scrapePlan) append(ctx context.Context, b []byte, l *link, k *known) ([]byte, error) {
	b = append(b, p.begin...)
	var end []byte
	switch {
	case p.form == asTelem:
		end = strconv.AppendInt(end, l.res.Time.Sec, 10)
		end = strconv.AppendInt(end, 1e9+int64(l.res.Time.Nsec), 10)
		cut := len(end) - 10
		end = append(end[:cut], end[cut+1:]...) // the 1 that kept leading zeros
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
			if in, err = k.instancesOf(ctx, l, e.m.desc.InDom, vs.Values); err != nil {
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
		}
	}
	if p.form == asTelem {
		b = append(b, "]}]}]}\r\n"...)
	}
	return b, nil
}

// appendInstances appends the samples of the instances of a metric. It remembers what is before their values for
// the next scrape, which mostly has the same instances in the same order.
func (p *scrapePlan) appendInstances(b []byte, m *metric, n *scrapeName, in *instances, values []pcp.Value, end []byte) []byte {
	lines := n.lines
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
	return b
}

func (p *scrapePlan) lineOf(m *metric, n *scrapeName, in *instances, inst int32, name string) string {
	own := in.own[inst]
	if p.form == asTelem {
		return string(appendTelemPoint(nil, m, own, inst, name))
	}
	return string(appendSeries(nil, n.name, m.knows().sets, own, inst, name))
}

// appendSample appends a value behind its line.
func (p *scrapePlan) appendSample(b []byte, line string, v pcp.Value, end []byte) []byte {
	b = append(b, line...)
	if p.form == asTelem {
		b = append(b, end...)
		return appendTelemValue(b, v)
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
			b = appendFloat(b, f, v.Type())
		}
	}
	b = append(b, end...)
	return append(b, '\n')
}

// instancesOf returns the instances of a domain, those of values among them. It asks for them if there is a new one, or if
// they were asked for long ago.
func (k *known) instancesOf(ctx context.Context, l *link, indom pcp.InDom, values []pcp.Value) (*instances, error) {
	k.mu.RLock()
	in := k.scrape.insts[indom]
	k.mu.RUnlock()
	now := time.Now()
	if in != nil && now.Sub(in.at) < instancesFor {
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
	for _, v := range values {
		if _, ok := made.names[v.Inst]; !ok {
			made.names[v.Inst] = "" // it has gone: do not ask again at once
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

// promName returns the name of a metric in the text of Prometheus.
func promName(name string, old bool) string {
	b := []byte(name)
	for i, c := range b {
		switch {
		case c == '.' && old:
			b[i] = ':'
		case c >= '0' && c <= '9' && i > 0, c|0x20 >= 'a' && c|0x20 <= 'z', c == '_':
		default:
			b[i] = '_'
		}
	}
	return string(b)
}

// A labelPair is a label with its value as text.
type labelPair struct{ name, value string }

// mergedLabels returns labels, the last of each name, in the order in which their names came first, and those of the
// instance.
func mergedLabels(sets []pcp.LabelSet, own *pcp.LabelSet, inst int32, instName string, nameOf func(string) string) []labelPair {
	var list []labelPair
	put := func(name, value string, replace bool) {
		for i := range list {
			if list[i].name == name {
				if replace {
					list[i].value = value
				}
				return
			}
		}
		list = append(list, labelPair{name, value})
	}
	add := func(set *pcp.LabelSet) {
		for l := range set.All() {
			if l.Name != "" {
				put(nameOf(l.Name), l.Value, true)
			}
		}
	}
	for i := range sets {
		add(&sets[i])
	}
	if own != nil {
		add(own)
	}
	if inst != pcp.InNull {
		put("instname", string(rest.AppendString(nil, instName)), false)
		put("instid", `"`+strconv.FormatUint(uint64(uint32(inst)), 10)+`"`, false)
	}
	return list
}

// labelText returns the text of a label's value: that of a string, or else its JSON.
func labelText(value string) string {
	var s string
	if strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &s) == nil {
		return s
	}
	return strings.ToValidUTF8(value, "\ufffd")
}

// appendSeries appends a name with labels, and a space.
func appendSeries(b []byte, name string, sets []pcp.LabelSet, own *pcp.LabelSet, inst int32, instName string) []byte {
	b = append(b, name...)
	list := mergedLabels(sets, own, inst, instName, func(s string) string { return strings.ReplaceAll(promName(s, false), ":", "_") })
	if len(list) == 0 {
		return append(b, ' ')
	}
	b = append(b, '{')
	for i, l := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, l.name...)
		b = append(b, `="`...)
		b = appendLabelValue(b, labelText(l.value))
		b = append(b, '"')
	}
	return append(b, "} "...)
}

func appendLabelValue(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\', '"':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, c)
		}
	}
	return b
}

func appendHelp(b []byte, s string) []byte {
	s = strings.ToValidUTF8(s, "\ufffd")
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\':
			b = append(b, `\\`...)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// appendTelemBegin appends what comes before the metrics in OTLP.
func appendTelemBegin(b []byte, sets []pcp.LabelSet) []byte {
	b = append(b, `{"resourceMetrics":[{"resource":{"attributes":[`...)
	b = appendAttributes(b, mergedLabels(sets, nil, pcp.InNull, "", sameName))
	b = append(b, `]},"scopeMetrics":[{"scope":{"name":"performance-co-pilot","version":`...)
	b = rest.AppendString(b, version.Number)
	return append(b, `},"metrics":[`...)
}

func sameName(s string) string { return s }

// appendAttributes appends labels as attributes of OTLP.
func appendAttributes(b []byte, list []labelPair) []byte {
	for i, l := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"key":`...)
		b = rest.AppendString(b, l.name)
		b = append(b, `,"value":{`...)
		var n json.Number
		d := json.NewDecoder(bytes.NewReader([]byte(l.value)))
		d.UseNumber()
		switch {
		case l.value == "true" || l.value == "false":
			b = append(b, `"boolValue":`+l.value...)
		case d.Decode(&n) != nil || strings.HasPrefix(l.value, `"`):
			b = append(b, `"stringValue":`...)
			b = rest.AppendString(b, labelText(l.value))
		default:
			if _, err := strconv.ParseInt(l.value, 10, 64); err == nil {
				b = append(b, `"intValue":"`+l.value+`"`...)
			} else {
				b = append(b, `"doubleValue":`+l.value...)
			}
		}
		b = append(b, "}}"...)
	}
	return b
}

// appendTelemHead appends what comes before the data points of a metric.
func appendTelemHead(b []byte, m *metric, name string) []byte {
	b = append(b, `{"name":`...)
	b = rest.AppendString(b, name)
	b = append(b, `,"description":`...)
	b = rest.AppendString(b, m.knows().oneline)
	b = append(b, `,"unit":`...)
	b = rest.AppendString(b, ucum(m.desc.Units))
	if m.desc.Sem == pcp.SemCounter {
		return append(b, `,"sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[`...)
	}
	return append(b, `,"gauge":{"dataPoints":[`...)
}

// appendTelemPoint appends a data point up to its time.
func appendTelemPoint(b []byte, m *metric, own *pcp.LabelSet, inst int32, instName string) []byte {
	b = append(b, `{"attributes":[`...)
	d := &m.desc
	quoted := func(s string) string { return string(rest.AppendString(nil, s)) }
	list := []labelPair{
		{"semantics", quoted(d.Sem.String())},
		{"type", quoted(typeName(d.Type))},
		{"pmid", quoted(d.PMID.String())},
	}
	if d.InDom != pcp.InDomNull {
		list = append(list, labelPair{"indom", quoted(d.InDom.String())})
	}
	sets := m.knows().sets
	for len(sets) > 0 && len(sets[0].Index) > 0 && sets[0].Index[0].Flags.Level() == pcp.LabelContext {
		sets = sets[1:] // those are attributes of the resource
	}
	list = append(list, mergedLabels(sets, own, inst, instName, sameName)...)
	b = appendAttributes(b, list)
	return append(b, `],"timeUnixNano":"`...)
}

// appendTelemValue appends a value and the end of its data point.
func appendTelemValue(b []byte, v pcp.Value) []byte {
	switch v.Type() {
	case pcp.Type32, pcp.Type64:
		b = append(b, `","asInt":"`...)
		b = strconv.AppendInt(b, v.Int64(), 10)
		return append(b, `"}`...)
	case pcp.TypeU32, pcp.TypeU64:
		n := v.Uint64()
		if n > math.MaxInt64 { // asInt has a sign
			b = append(b, `","asDouble":`...)
			b = appendFloat(b, float64(n), pcp.TypeDouble)
			return append(b, '}')
		}
		b = append(b, `","asInt":"`...)
		b = strconv.AppendUint(b, n, 10)
		return append(b, `"}`...)
	}
	b = append(b, `","asDouble":`...)
	switch f := v.Double(); {
	case math.IsNaN(f):
		b = append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		b = append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		b = append(b, `"-Infinity"`...)
	default:
		b = appendFloat(b, f, v.Type())
	}
	return append(b, '}')
}

// ucum returns units in the form that OpenTelemetry wants, the Unified Code for Units of Measure.
func ucum(u pcp.Units) string {
	space := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"}
	times := []string{"ns", "us", "ms", "s", "min", "h"}
	var parts []string
	part := func(name string, dim int) {
		switch {
		case dim == 1:
			parts = append(parts, name)
		case dim != 0:
			parts = append(parts, name+strconv.Itoa(dim))
		}
	}
	if n := int(u.ScaleSpace); n < len(space) && n >= 0 {
		part(space[n]+"By", int(u.DimSpace))
	}
	if n := int(u.ScaleTime); n < len(times) && n >= 0 {
		part(times[n], int(u.DimTime))
	}
	count := "{count}"
	if u.ScaleCount != 0 {
		count = "10*" + strconv.Itoa(int(u.ScaleCount)) + count
	}
	part(count, int(u.DimCount))
	if len(parts) == 0 {
		return "1"
	}
	return strings.Join(parts, ".")
}

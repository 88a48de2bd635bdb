package diagnosis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// Limits of memory.
const (
	maxSteps     = 360    // samples of an archive, unless the interval is set
	maxSamples   = 10_000 // samples at all
	maxTracks    = 10_000 // instances for which one rule was true
	keptShares   = 32     // largest values of a taker in a sample
	maxInstances = 3      // findings of one rule
	maxTakers    = 3      // shares of a finding
	maxProbes    = 20     // records that are read to find the interval of an archive
)

// ErrNothing means that the source has the metrics of no rule.
var ErrNothing = errors.New("the source has none of the metrics of the rules")

// ErrShort means that there are not two samples, which rates need.
var ErrShort = errors.New("the time has fewer than two samples")

// A Config is what to diagnose.
type Config struct {
	Context *pmapi.Context // it is not shared: Run defines metrics in it, and sets the mode of an archive
	Rules   []*Rule

	// Interval is the time between samples; 0 means a second for a collector, and for archives that of the
	// recording, or a longer one if there were too many samples.
	Interval time.Duration
	Samples  int // of a collector; 0 means 6

	From, To pcp.Timestamp // of an archive

	// Changes is the largest number of metrics in the changes; 0 means 10.
	Changes int
	// NoCompare leaves out the changes.
	NoCompare bool
	// Before is an archive with the time before, for the changes of a collector; nil leaves them out.
	Before *pmapi.ArchiveContext
	// Whole compares all of the time of an archive with that before it, in place of the time of the first finding.
	Whole bool

	// Hidden, if not nil, reports whether a metric is treated as missing.
	Hidden func(name string, desc pcp.Desc) bool
}

// Run takes samples and applies the rules to them. It returns ctx's cause when that ends.
func Run(ctx context.Context, cfg Config) (*Diagnosis, error) {
	s := &sampler{c: cfg.Context, cfg: cfg, names: make(map[pcp.InDom]map[int32]string)}
	s.a, _ = cfg.Context.Archive()
	if err := s.bind(ctx); err != nil {
		return nil, err
	}
	if s.a == nil && cfg.Before != nil && !cfg.NoCompare {
		var err error
		if s.comparer, err = s.newComparer(ctx, cfg.Before); err != nil {
			return nil, err
		}
	}
	if err := s.sample(ctx); err != nil {
		return nil, err
	}
	if len(s.times) < 2 {
		return nil, ErrShort
	}
	host, err := s.c.HostName(ctx)
	if err != nil {
		return nil, err
	}
	d := &Diagnosis{Host: host, Start: s.times[0], End: s.times[len(s.times)-1], Interval: s.step, Samples: len(s.times)}
	for _, b := range s.rules {
		if b.valued {
			d.Checked++
		} else {
			s.unchecked = append(s.unchecked, Unchecked{b.rule.ID, "its metrics have no values at that time"})
		}
	}
	if d.Checked == 0 {
		return nil, ErrNothing
	}
	d.Unchecked, d.Unread = s.unchecked, s.unread
	if d.Findings, err = s.findings(ctx); err != nil {
		return nil, err
	}
	d.Findings = rank(d.Findings)
	if err := s.describe(ctx, d.Findings); err != nil {
		return nil, err
	}
	switch {
	case s.comparer != nil:
		err = s.compareBefore(ctx, d)
	case s.a != nil && !cfg.NoCompare:
		err = s.compare(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// An expression is a metric that is derived in the context.
type expression struct {
	text string
	desc pcp.Desc
	at   int // index of its set in a result
}

// A bound is a rule whose metrics the source has.
type bound struct {
	rule   *Rule
	order  int
	value  *expression
	while  *expression // nil for none
	takers []taken
	tracks map[int32]*track
	valued bool // there was a value
}

// A taken is a taker with its values.
type taken struct {
	from *Taker
	top  *top // nil if texts are counted
}

// A top has the largest values of an expression in each sample.
type top struct {
	value *expression
	state string // of processes, in place of the value
	most  float64
	kept  [][]share // by sample, the largest first
}

type share struct {
	inst int32
	v    float64
}

// A track is an instance for which a rule was true.
type track struct {
	seen    int // the last sample for which it was true
	bridged int // the last sample without a value that did not end a run
	run     stretch
	all     stretch // of the runs that were long enough
}

// A stretch is a number of samples for which a rule was true.
type stretch struct {
	first, last, n int
	total          float64
	worst          float64
	worstAt        int
}

// add adds the samples of o, which are later.
func (s *stretch) add(o stretch, above bool) {
	if s.n == 0 {
		*s = o
		return
	}
	s.last, s.n, s.total = o.last, s.n+o.n, s.total+o.total
	if above && o.worst > s.worst || !above && o.worst < s.worst {
		s.worst, s.worstAt = o.worst, o.worstAt
	}
}

// A sampler takes the samples of a diagnosis.
type sampler struct {
	c   *pmapi.Context
	a   *pmapi.ArchiveContext // nil for a collector
	cfg Config

	known     map[string]pcp.PMID // of the metrics in rules, those that the source has
	exprs     map[string]*expression
	ids       []pcp.PMID
	rules     []*bound
	tops      []*top
	unchecked []Unchecked
	unread    string    // Diagnosis.Unread, of the last sample
	comparer  *comparer // of a collector, nil if it is not compared

	step  time.Duration
	times []pcp.Timestamp
	names map[pcp.InDom]map[int32]string
}

// lost reports whether an error means that the source does not answer any more.
func lost(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout))
}

// stateMetric is the metric with the states of processes.
const stateMetric = "proc.psinfo.sname"

// lookup finds out which metrics of the rules the source has.
func (s *sampler) lookup(ctx context.Context) error {
	s.known, s.exprs = make(map[string]pcp.PMID), make(map[string]*expression)
	all := map[string]bool{stateMetric: true}
	for _, r := range s.cfg.Rules {
		lists := [][]string{r.Value, r.While}
		for i := range r.Takers {
			lists = append(lists, r.Takers[i].Value)
		}
		for _, text := range slices.Concat(lists...) {
			for _, name := range Metrics(text) {
				all[name] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(all))
	ids, err := s.c.LookupName(ctx, names...)
	if lost(ctx, err) || len(ids) != len(names) {
		return cmp.Or(err, error(pcp.ErrName))
	}
	for i, id := range ids {
		if id != pcp.PMIDNull {
			s.known[names[i]] = id
		}
	}
	if s.cfg.Hidden == nil {
		return nil
	}
	known := slices.Sorted(maps.Keys(s.known))
	descs, err := describeAll(ctx, s.c, known)
	if err != nil {
		return err
	}
	for i, name := range known {
		if descs[i].PMID == pcp.PMIDNull || s.cfg.Hidden(name, descs[i]) {
			delete(s.known, name)
		}
	}
	return nil
}

// bind defines the expressions of the rules.
func (s *sampler) bind(ctx context.Context) error {
	if err := s.lookup(ctx); err != nil {
		return err
	}
	for i, r := range s.cfg.Rules {
		b := &bound{rule: r, order: i, tracks: make(map[int32]*track)}
		var why error
		b.value, why = s.first(ctx, r.Value, true)
		if why == nil && len(r.While) > 0 {
			b.while, why = s.first(ctx, r.While, true)
		}
		if lost(ctx, why) {
			return why
		}
		if why == nil && b.while != nil && b.while.desc.InDom != pcp.InDomNull && b.while.desc.InDom != b.value.desc.InDom {
			why = errors.New("the condition has other instances than the value")
		}
		if why != nil {
			s.unchecked = append(s.unchecked, Unchecked{r.ID, why.Error()})
			continue
		}
		for j := range r.Takers {
			t := &r.Takers[j]
			if t.Count != "" {
				b.takers = append(b.takers, taken{from: t})
				continue
			}
			value := t.Value
			if t.State != "" {
				value = []string{stateMetric}
			}
			e, why := s.first(ctx, value, t.State == "")
			if lost(ctx, why) {
				return why
			}
			if why != nil {
				continue
			}
			k := slices.IndexFunc(s.tops, func(o *top) bool { return o.value == e && o.state == t.State && o.most == t.Most })
			if k < 0 {
				k = len(s.tops)
				s.tops = append(s.tops, &top{value: e, state: t.State, most: t.Most})
			}
			b.takers = append(b.takers, taken{t, s.tops[k]})
		}
		s.rules = append(s.rules, b)
	}
	if len(s.rules) == 0 {
		return ErrNothing
	}
	return nil
}

// first returns the first of some expressions that the source has the metrics for; nil for the condition "always".
func (s *sampler) first(ctx context.Context, texts []string, numeric bool) (*expression, error) {
	var why error
	for _, text := range texts {
		if text == always {
			return nil, nil
		}
		e, err := s.expression(ctx, text)
		switch {
		case lost(ctx, err):
			return nil, err
		case err == nil && e.desc.Type.IsNumeric() == numeric:
			return e, nil
		case err == nil:
			err = fmt.Errorf("%s has values of the type %v", text, e.desc.Type)
		}
		if why == nil {
			why = err
		}
	}
	return nil, why
}

func (s *sampler) expression(ctx context.Context, text string) (*expression, error) {
	if e := s.exprs[text]; e != nil {
		return e, nil
	}
	for _, name := range Metrics(text) {
		if _, ok := s.known[name]; !ok {
			return nil, fmt.Errorf("no metric %s", name)
		}
	}
	id, ok := s.known[text]
	if !ok {
		name := "pcp_diagnose.e" + strconv.Itoa(len(s.exprs))
		if err := s.c.AddDerived(ctx, name, text); err != nil {
			if lost(ctx, err) {
				return nil, err
			}
			return nil, fmt.Errorf("%s: %s", text, lastLine(err))
		}
		ids, err := s.c.LookupName(ctx, name)
		if err != nil {
			return nil, err
		}
		id = ids[0]
	}
	desc, err := s.c.LookupDesc(ctx, id)
	if err != nil {
		return nil, err
	}
	e := &expression{text: text, desc: desc, at: len(s.ids)}
	s.ids = append(s.ids, id)
	s.exprs[text] = e
	return e, nil
}

// lastLine returns the reason in an error of an expression, whose message has several lines.
func lastLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// literals match the parts of an expression that may look like names of metrics, and words match those.
var (
	literals = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"[^"]*"|\[[^]]*\]|matchinst\(\s*!?\s*/[^/]*/`) })
	words    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_0-9.]+`) })
)

// Metrics returns the names of the metrics in an expression, without repetition.
func Metrics(expr string) []string {
	expr = literals().ReplaceAllString(expr, " ")
	var list []string
	for _, name := range words().FindAllString(expr, -1) {
		if c := name[0]; c >= '0' && c <= '9' || c == '.' || !strings.Contains(name, ".") || slices.Contains(list, name) {
			continue
		}
		list = append(list, name)
	}
	return list
}

// sample takes the samples.
func (s *sampler) sample(ctx context.Context) error {
	if s.a != nil {
		return s.replay(ctx)
	}
	s.step = cmp.Or(s.cfg.Interval, time.Second)
	n := cmp.Or(s.cfg.Samples, 6)
	if n > maxSamples {
		return fmt.Errorf("more than %d samples", maxSamples)
	}
	start := time.Now()
	var res pcp.Result
	for i := range n {
		timer := time.NewTimer(time.Until(start.Add(time.Duration(i) * s.step)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		if _, err := s.c.FetchInto(ctx, s.ids, &res); err != nil {
			return err
		}
		s.take(&res)
		if err := s.rename(ctx); err != nil {
			return err
		}
		if s.comparer != nil {
			if err := s.comparer.observe(ctx); err != nil {
				return err
			}
		}
	}
	s.finish()
	return nil
}

// replay takes the samples of an archive.
func (s *sampler) replay(ctx context.Context) error {
	label, err := s.a.Label(ctx)
	if err != nil {
		return err
	}
	end, err := s.a.End(ctx)
	if err != nil {
		return err
	}
	from := s.cfg.From
	if from.Compare(label.Start) < 0 {
		from = label.Start
	}
	if !s.cfg.To.IsZero() && s.cfg.To.Compare(end) < 0 {
		end = s.cfg.To
	}
	pace, first, err := s.pace(ctx, from)
	if err != nil {
		return err
	}
	if first.Compare(from) > 0 {
		from = first
	}
	span := time.Duration(end.Sub(from) * 1e9)
	if s.step = s.cfg.Interval; s.step == 0 {
		s.step = max(pace, 100*time.Millisecond)
		if n := span / s.step; n > maxSteps {
			if s.step *= n/maxSteps + 1; s.step > time.Second {
				s.step = (s.step + time.Second - 1).Truncate(time.Second)
			}
		}
	}
	if span/s.step > maxSamples {
		return fmt.Errorf("more than %d samples: the interval is too short for the time", maxSamples)
	}
	if err := s.a.SetMode(ctx, pmapi.ModeInterp, &from, s.step); err != nil {
		return err
	}
	var res pcp.Result
	for at := from; at.Compare(end) <= 0; at = at.Add(s.step) {
		_, err := s.c.FetchInto(ctx, s.ids, &res)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, pcp.ErrEOL):
			s.finish()
			return nil
		case err != nil:
			return err
		}
		s.take(&res)
	}
	s.finish()
	return nil
}

// pace returns the interval in which an archive has values of the rules, and the time for the first sample.
func (s *sampler) pace(ctx context.Context, from pcp.Timestamp) (pace time.Duration, first pcp.Timestamp, err error) {
	names := []string{"kernel.all.cpu.idle", "kernel.percpu.cpu.idle", "mem.util.free", "disk.dev.avactive"}
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		if len(names) < 20 {
			names = append(names, name)
		}
	}
	var res pcp.Result
	for _, name := range names {
		id, ok := s.known[name]
		if !ok {
			continue
		}
		if err := s.a.SetMode(ctx, pmapi.ModeForw, &from, 0); err != nil {
			return 0, from, err
		}
		var gaps []time.Duration
		var last pcp.Timestamp
		for range maxProbes {
			if err := s.a.FetchArchiveOf(ctx, []pcp.PMID{id}, &res); err != nil {
				if errors.Is(err, pcp.ErrEOL) {
					break
				}
				return 0, from, err
			}
			if len(res.Sets) == 0 || len(res.Sets[0].Values) == 0 {
				continue
			}
			if first.IsZero() || res.Time.Compare(first) < 0 {
				first = res.Time
			}
			if !last.IsZero() {
				gaps = append(gaps, res.Time.Time().Sub(last.Time()))
			}
			last = res.Time
		}
		if len(gaps) > 0 {
			slices.Sort(gaps)
			if pace = gaps[len(gaps)/2]; pace > 900*time.Millisecond {
				pace = pace.Round(time.Second)
			}
			// Records that are not regular come a little before or after each sample, so that two samples may be of one record. Between records they are not.
			if gaps[0] != gaps[len(gaps)-1] {
				first = first.Add(pace / 2)
			}
			return pace, first, nil
		}
	}
	if first.IsZero() {
		first = from
	}
	return time.Second, first, nil
}

// take applies the rules to a sample.
func (s *sampler) take(res *pcp.Result) {
	n := len(s.times)
	s.times = append(s.times, res.Time)
	s.countRead(res)
	truth, valued := make(map[int32]bool), make(map[int32]bool)
	for _, b := range s.rules {
		vs := &res.Sets[b.value.at]
		clear(valued)
		if b.while != nil {
			clear(truth)
			c := &res.Sets[b.while.at]
			for i := range c.Values {
				v, ok := c.Values[i].As(b.while.desc.Type).Float64()
				truth[c.Values[i].Inst] = ok && v != 0 && !math.IsNaN(v)
			}
		}
		for i := range vs.Values {
			v, ok := vs.Values[i].As(b.value.desc.Type).Float64()
			if !ok || !possible(v, b.rule.Most) {
				continue
			}
			b.valued = true
			inst := vs.Values[i].Inst
			valued[inst] = true
			if !b.rule.holds(v) {
				continue
			}
			if b.while != nil {
				of := inst
				if b.while.desc.InDom == pcp.InDomNull {
					of = pcp.InNull
				}
				if !truth[of] {
					continue
				}
			}
			t := b.tracks[inst]
			if t == nil {
				if len(b.tracks) == maxTracks {
					continue
				}
				t = new(track)
				b.tracks[inst] = t
			}
			if t.run.n > 0 && t.seen != n-1 {
				s.end(b, t)
			}
			t.seen = n
			t.run.add(stretch{n, n, 1, v, v, n}, b.rule.Above)
		}
		b.bridge(n, valued)
	}
	for _, t := range s.tops {
		t.take(&res.Sets[t.value.at])
	}
}

// bridge continues runs over one sample without a value, such as a rate between two times of one record.
func (b *bound) bridge(n int, valued map[int32]bool) {
	for inst, t := range b.tracks {
		if t.run.n > 0 && t.seen == n-1 && !valued[inst] && t.bridged < n-1 {
			t.seen, t.bridged = n, n
		}
	}
}

// possible reports whether a value can be an amount. A counter that fell, as when another process got the same number, has a negative rate, or as an
// unsigned number that wrapped a huge one.
func possible(v, most float64) bool {
	return finite(v) && v >= 0 && v < 1e15 && (most == 0 || v <= most)
}

// finish ends all runs.
func (s *sampler) finish() {
	for _, b := range s.rules {
		for _, t := range b.tracks {
			s.end(b, t)
		}
	}
}

// end ends a run of samples for which a rule was true.
func (s *sampler) end(b *bound, t *track) {
	run := t.run
	t.run = stretch{}
	if run.n == 0 {
		return
	}
	span := time.Duration(s.times[len(s.times)-1].Sub(s.times[0]) * 1e9)
	need := b.rule.For
	if s.a == nil {
		need = min(need, time.Duration(cmp.Or(s.cfg.Samples, 6)-1)*s.step/2)
	} else if s.a != nil && s.cfg.Interval == 0 {
		need = min(need, max(span/2, s.step))
	}
	if time.Duration(run.n)*s.step < need || need > 0 && run.n < 2 {
		return
	}
	t.all.add(run, b.rule.Above)
}

// take keeps the largest values of a sample.
func (t *top) take(vs *pcp.ValueSet) {
	kept := make([]share, 0, min(keptShares, len(vs.Values)))
	for i := range vs.Values {
		v := vs.Values[i].As(t.value.desc.Type)
		f := 1.0
		if t.state != "" {
			if text, ok := v.Text(); !ok || text != t.state {
				continue
			}
		} else {
			var ok bool
			if f, ok = v.Float64(); !ok || f == 0 || !possible(f, t.most) {
				continue
			}
		}
		if len(kept) == keptShares && kept[len(kept)-1].v >= f {
			continue
		}
		at, _ := slices.BinarySearchFunc(kept, f, func(s share, f float64) int { return cmp.Compare(f, s.v) })
		if len(kept) == keptShares {
			kept = kept[:len(kept)-1]
		}
		kept = slices.Insert(kept, at, share{vs.Values[i].Inst, f})
	}
	t.kept = append(t.kept, slices.Clip(kept))
}

package diagnosis

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// Limits of a comparison.
const (
	compareSteps   = 30     // samples of each of the two times
	leastSamples   = 4      // with values, of each
	maxCompared    = 20_000 // instances of all metrics
	maxOfMetric    = 200    // instances of one metric
	maxChanges     = 10
	maxSpread      = 50 // differences of more spreads count as much
	maxDoublings   = 10
	leastDoublings = 0.5 // smaller changes are not listed
	leastSpreads   = 4
)

// A Comparison is the two times that were compared.
type Comparison struct {
	Start, End             pcp.Timestamp
	BeforeStart, BeforeEnd pcp.Timestamp
	Compared               int // number of values
}

// A Change is a metric whose values differ from those before.
type Change struct {
	Metric        string
	Instance      string
	Before, After float64 // medians
	Spread        float64 // of the values before: the median of their distances from the median
	Units         pcp.Units
	More          int // number of further instances that changed
	score         float64
}

// apart are names whose instances or values change all the time, so that a comparison has no meaning.
var apart = [...]string{"proc.", "hotproc.", "acct.", "pmcd.", "pmproxy.", "pmie.", "event.", "kernel.all.uptime", "kernel.all.idletime", "kernel.all.lastpid", "kernel.all.boottime", "pmda."}

// A series is the values of an instance of a metric in two times.
type series struct {
	metric int
	inst   int32
	values [2][]float64
	last   float64
	at     int // the sample of last
}

// compare finds what changed in an archive. The time of the first finding, or all of the time, is compared with the same time of the day before or,
// if the archive does not have that, with the hour before.
func (s *sampler) compare(ctx context.Context, d *Diagnosis) error {
	label, err := s.a.Label(ctx)
	if err != nil {
		return err
	}
	now := Comparison{Start: d.Start, End: d.End}
	if len(d.Findings) > 0 && !d.Findings[0].AtStart && !s.cfg.Whole {
		now.Start, now.End = d.Findings[0].Since, d.Findings[0].Until
	}
	span := max(time.Duration(now.End.Sub(now.Start)*1e9), leastSamples*s.step)
	if end := now.Start.Add(span); end.Compare(now.End) > 0 {
		now.End = end
	}
	if end, err := s.a.End(ctx); err != nil {
		return err
	} else if now.End.Compare(end) > 0 {
		now.End = end
	}
	now.BeforeStart, now.BeforeEnd = now.Start.Add(-24*time.Hour), now.End.Add(-24*time.Hour)
	if now.BeforeStart.Compare(label.Start) < 0 || now.BeforeEnd.Compare(now.Start) > 0 {
		now.BeforeStart, now.BeforeEnd = now.Start.Add(-time.Hour), now.Start.Add(-s.step)
		if now.BeforeStart.Compare(label.Start) < 0 {
			now.BeforeStart = label.Start
		}
	}
	if now.BeforeEnd.Sub(now.BeforeStart) < (leastSamples * s.step).Seconds() {
		return nil // nothing to compare with
	}
	c, err := s.newComparer(ctx, s.a)
	if err != nil {
		return err
	}
	if err := c.read(ctx, 0, now.BeforeStart, now.BeforeEnd); err != nil {
		return err
	}
	if err := c.read(ctx, 1, now.Start, now.End); err != nil {
		return err
	}
	c.conclude(ctx, d, now)
	return nil
}

// compareBefore is compare for a collector, with an archive that has the time before.
func (s *sampler) compareBefore(ctx context.Context, d *Diagnosis) error {
	label, err := s.cfg.Before.Label(ctx)
	if err != nil {
		return err
	}
	end, err := s.cfg.Before.End(ctx)
	if err != nil {
		return err
	}
	now := Comparison{Start: d.Start, End: d.End}
	const half = 30 * time.Minute
	now.BeforeStart, now.BeforeEnd = d.Start.Add(-24*time.Hour-half), d.Start.Add(-24*time.Hour+half)
	if now.BeforeStart.Compare(label.Start) < 0 || now.BeforeEnd.Compare(end) > 0 {
		now.BeforeStart, now.BeforeEnd = d.Start.Add(-2*half), d.Start
	}
	if now.BeforeStart.Compare(label.Start) < 0 {
		now.BeforeStart = label.Start
	}
	if now.BeforeEnd.Compare(end) > 0 {
		now.BeforeEnd = end
	}
	if now.BeforeEnd.Compare(now.BeforeStart) <= 0 {
		return nil
	}
	if err := s.comparer.read(ctx, 0, now.BeforeStart, now.BeforeEnd); err != nil {
		return err
	}
	s.comparer.conclude(ctx, d, now)
	return nil
}

// A comparer compares all metrics of two times.
type comparer struct {
	s      *sampler
	before *pmapi.ArchiveContext // where the time before is read, and for archives the other one
	names  []string
	ids    [2][]pcp.PMID // in before, and in the source
	descs  []pcp.Desc
	units  []pcp.Units // of the values that are compared: a counter's are those of its rate

	index  map[seriesKey]int
	series []series
	of     []int // number of series of each metric

	res  pcp.Result
	n    int           // samples that observe has taken
	last pcp.Timestamp // the time of the last sample
}

type seriesKey struct {
	metric int
	inst   int32
}

// derivedDomain is the domain of derived metrics (DYNAMIC_PMID).
const derivedDomain = 511

// newComparer finds the metrics with numbers that an archive and the source have.
func (s *sampler) newComparer(ctx context.Context, before *pmapi.ArchiveContext) (*comparer, error) {
	c := &comparer{s: s, before: before, index: make(map[seriesKey]int)}
	var names []string
	for name, err := range before.Traverse(ctx, "") {
		if err != nil {
			if lost(ctx, err) {
				return nil, err
			}
			continue
		}
		if !slices.ContainsFunc(apart[:], func(p string) bool { return strings.HasPrefix(name, p) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	was, err := describeAll(ctx, before.Context, names)
	if err != nil {
		return nil, err
	}
	is := was
	if s.a != before {
		if is, err = describeAll(ctx, s.c, names); err != nil {
			return nil, err
		}
	}
	for i := range names {
		a, b := &was[i], &is[i]
		if a.PMID == pcp.PMIDNull || b.PMID == pcp.PMIDNull || a.PMID.Domain() == derivedDomain || b.PMID.Domain() == derivedDomain ||
			!a.Type.IsNumeric() || !b.Type.IsNumeric() || a.Sem != b.Sem || a.Units != b.Units || a.InDom != b.InDom {
			continue
		}
		if s.cfg.Hidden != nil && s.cfg.Hidden(names[i], *b) {
			continue
		}
		u := a.Units
		if a.Sem == pcp.SemCounter {
			u = rate(u)
		}
		c.names, c.descs, c.units = append(c.names, names[i]), append(c.descs, *b), append(c.units, u)
		c.ids[0], c.ids[1] = append(c.ids[0], a.PMID), append(c.ids[1], b.PMID)
	}
	c.of = make([]int, len(c.names))
	return c, nil
}

// describeAll returns the descriptors of metrics; those of unknown metrics have PMIDNull.
func describeAll(ctx context.Context, c *pmapi.Context, names []string) ([]pcp.Desc, error) {
	descs := make([]pcp.Desc, len(names))
	for i := range descs {
		descs[i].PMID = pcp.PMIDNull
	}
	if len(names) == 0 {
		return descs, nil
	}
	ids, err := c.LookupName(ctx, names...)
	if lost(ctx, err) || len(ids) != len(names) {
		return nil, cmp.Or(err, error(pcp.ErrName))
	}
	var known []pcp.PMID
	var at []int
	for i, id := range ids {
		if id != pcp.PMIDNull {
			known, at = append(known, id), append(at, i)
		}
	}
	if len(known) == 0 {
		return descs, nil
	}
	list, err := c.LookupDescs(ctx, known...)
	if lost(ctx, err) {
		return nil, err
	}
	for i := range list {
		descs[at[i]] = list[i]
	}
	return descs, nil
}

// read reads one of the two times from the archive.
func (c *comparer) read(ctx context.Context, which int, from, to pcp.Timestamp) error {
	if len(c.names) == 0 {
		return nil
	}
	for i := range c.series {
		c.series[i].at = -2
	}
	step := max(c.s.step, time.Duration(to.Sub(from)*1e9)/compareSteps)
	if err := c.before.SetMode(ctx, pmapi.ModeInterp, &from, step); err != nil {
		return err
	}
	for n, at := 0, from; at.Compare(to) <= 0; n, at = n+1, at.Add(step) {
		_, err := c.before.FetchInto(ctx, c.ids[0], &c.res)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, pcp.ErrEOL):
			return nil
		case err != nil:
			return err
		}
		c.sample(which, n, step.Seconds())
	}
	return nil
}

// observe takes a sample of the source, for the second of the two times.
func (c *comparer) observe(ctx context.Context) error {
	if len(c.names) == 0 {
		return nil
	}
	if _, err := c.s.c.FetchInto(ctx, c.ids[1], &c.res); err != nil {
		return err
	}
	c.sample(1, c.n, c.res.Time.Sub(c.last))
	c.n, c.last = c.n+1, c.res.Time
	return nil
}

// sample adds the values of a sample, the seconds after the one before.
func (c *comparer) sample(which, n int, seconds float64) {
	for i := range c.res.Sets {
		for _, v := range c.res.Sets[i].Values {
			c.add(which, n, i, v.As(c.descs[i].Type), seconds)
		}
	}
}

func (c *comparer) add(which, n, metric int, v pcp.Value, seconds float64) {
	key := seriesKey{metric, v.Inst}
	i, ok := c.index[key]
	if !ok {
		if len(c.series) == maxCompared || c.of[metric] == maxOfMetric {
			return
		}
		c.of[metric]++
		i = len(c.series)
		c.index[key] = i
		c.series = append(c.series, series{metric: metric, inst: v.Inst, at: -2})
	}
	s := &c.series[i]
	f, ok := v.Float64()
	if !ok || !finite(f) {
		return
	}
	if c.descs[metric].Sem == pcp.SemCounter {
		last, at := s.last, s.at
		s.last, s.at = f, n
		if at != n-1 || seconds <= 0 {
			return
		}
		if f -= last; f < 0 {
			return // it wrapped, or began again
		}
		f /= seconds
		if u := c.descs[metric].Units; u.DimTime == 1 {
			f *= inSeconds(u)
		}
	}
	s.values[which] = append(s.values[which], f)
}

// conclude puts the changes into a diagnosis.
func (c *comparer) conclude(ctx context.Context, d *Diagnosis, times Comparison) {
	d.Changes, times.Compared = c.changes(ctx)
	if times.Compared > 0 {
		d.Compared = &times
	}
}

// changes returns the largest changes, and the number of values that were compared.
func (c *comparer) changes(ctx context.Context) (list []Change, compared int) {
	best := make(map[int]int) // the change of each metric
	most := cmp.Or(c.s.cfg.Changes, maxChanges)
	insts := make([]int32, 0, most)
	for i := range c.series {
		s := &c.series[i]
		if len(s.values[0]) < leastSamples || len(s.values[1]) < leastSamples {
			continue
		}
		compared++
		desc := &c.descs[s.metric]
		before, spread := median(s.values[0])
		after, spreadAfter := median(s.values[1])
		little := least(c.units[s.metric])
		if desc.Sem == pcp.SemCounter && desc.Units.DimTime == 1 {
			little = 0.01 // of the time
		}
		score := changed(before, after, max(spread, spreadAfter), little)
		if score == 0 {
			continue
		}
		ch := Change{Metric: c.names[s.metric], Before: before, After: after, Spread: spread, Units: c.units[s.metric], score: score}
		j, ok := best[s.metric]
		if !ok {
			best[s.metric] = len(list)
			list, insts = append(list, ch), append(insts, s.inst)
			continue
		}
		ch.More = list[j].More + 1
		if list[j].score < score {
			list[j], insts[j] = ch, s.inst
		} else {
			list[j].More++
		}
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(list[b].score, list[a].score), cmp.Compare(list[a].Metric, list[b].Metric))
	})
	var sorted []Change
	for _, i := range order[:min(len(order), most)] {
		ch := list[i]
		metric := slices.Index(c.names, ch.Metric)
		ch.Instance = c.s.name(ctx, c.descs[metric].InDom, insts[i])
		sorted = append(sorted, ch)
	}
	return sorted, compared
}

// rate returns the units of a rate, which of a time is a fraction.
func rate(u pcp.Units) pcp.Units {
	u.DimTime--
	u.ScaleTime = pcp.TimeSec
	if u.DimTime == 0 {
		u.ScaleTime = 0
	}
	return u
}

// inSeconds returns the scale of a time in seconds.
func inSeconds(u pcp.Units) float64 {
	v, err := pcp.ConvScale(pcp.DoubleValue(1), pcp.Units{DimTime: 1, ScaleTime: u.ScaleTime}, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec})
	if err != nil {
		return 1
	}
	return v.Double()
}

// least returns the amount that differences are compared with where values hardly vary: a smaller one means little.
func least(u pcp.Units) float64 {
	switch {
	case u.DimSpace != 0:
		base := pcp.NewUnits(int(u.DimSpace), int(u.DimTime), int(u.DimCount), 0, pcp.TimeSec, 0)
		if v, err := pcp.ConvScale(pcp.DoubleValue(65536), base, u); err == nil {
			return v.Double()
		}
		return 65536
	case u.DimTime > 0:
		base := pcp.NewUnits(0, int(u.DimTime), int(u.DimCount), 0, pcp.TimeSec, 0)
		if v, err := pcp.ConvScale(pcp.DoubleValue(0.01), base, u); err == nil {
			return v.Double()
		}
	}
	return 1
}

// changed returns how much a value changed, 0 if that may be chance: the number of doublings or halvings, weighted by the
// difference in spreads of the values.
func changed(before, after, spread, least float64) float64 {
	difference := math.Abs(after - before)
	doublings := math.Abs(math.Log2((math.Abs(after) + least) / (math.Abs(before) + least)))
	// A spread of 1.48 medians of distances is a standard deviation, if the values are normal.
	spreads := difference / (1.48*spread + 0.05*math.Abs(before) + least)
	if doublings < leastDoublings || spreads < leastSpreads {
		return 0
	}
	return min(spreads, maxSpread) * min(doublings, maxDoublings)
}

// median returns the median of values, which it sorts, and the median of their distances from it.
func median(values []float64) (m, spread float64) {
	m = middle(values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - m)
	}
	return m, middle(distances)
}

func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return values[n/2-1]/2 + values[n/2]/2
}

package pmapi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
)

// A sampler takes the samples of one loop. It reuses its memory.
type sampler struct {
	from *Context
	o    SampleOptions
	c    *Context // a duplicate of from, nil before open
	lost bool     // c must be reconnected

	metrics []sampled
	bound   bool // the metrics were looked up
	known   bool // they were found at least once
	// hopeless is set if the source knows none of the metrics, or is closed.
	hopeless bool
	ids      []pcp.PMID
	indoms   map[pcp.InDom]*instanceNames
	res      pcp.Result

	time   pcp.Timestamp // of the last sample
	values []MetricValue
	errs   []error
	turn   uint64 // counts samples
}

// A sampled is one of the metrics.
type sampled struct {
	wanted
	text string

	m     conversion // m.set is -1 if the metric cannot be had
	as    pcp.Desc   // of its values after conversion
	raw   bool       // they are as they come
	insts []namedInstance
	names *instanceNames

	prev     []before // values of the sample before, in ascending order of instances
	prevTime pcp.Timestamp

	first, end int // its values in the sample

	code pcp.Error // the metric of err
	err  error
}

type before struct {
	inst  int32
	value float64
}

// A namedInstance is one of those that a text names.
type namedInstance struct {
	name string
	inst int32
	here bool // it was in the last sample
	ok   bool // inst is known
}

// instanceNames are the names of the instances of a domain that were met.
type instanceNames struct {
	of    map[int32]*instanceName
	turn  uint64 // counts the samples that had instances of the domain
	asked uint64 // turn in which the domain was asked for
	last  uint64 // turn of the sampler
}

type instanceName struct {
	name string
	turn uint64 // in which it was met last
}

func (s *sampler) close() {
	if s.c != nil {
		s.c.Close()
	}
}

// open makes the context.
func (s *sampler) open(ctx context.Context) error {
	c, err := s.from.Dup(ctx)
	if err == nil {
		s.c = c
	}
	s.hopeless = errors.Is(err, pcp.ErrNoContext)
	return err
}

// forget restarts rates.
func (s *sampler) forget() {
	for i := range s.metrics {
		s.metrics[i].prev = s.metrics[i].prev[:0]
	}
}

// take takes a sample of a live source.
func (s *sampler) take(ctx context.Context) error {
	s.time, s.values = pcp.Timestamp{}, s.values[:0]
	err := s.fetch(ctx)
	if err == nil {
		return s.collect(ctx)
	}
	if errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout) {
		s.lost = s.c != nil
		s.bound = false
	}
	s.forget()
	return err
}

func (s *sampler) fetch(ctx context.Context) error {
	if s.c == nil {
		if err := s.open(ctx); err != nil {
			return err
		}
	}
	if s.lost {
		if err := s.c.Reconnect(ctx); err != nil {
			return err
		}
		s.lost = false
	}
	s.errs = s.errs[:0]
	if !s.bound {
		if err := s.bind(ctx); !s.bound {
			return err
		} else if err != nil {
			s.errs = append(s.errs, err)
		}
	}
	for i := range s.metrics {
		if err := s.findInstances(ctx, &s.metrics[i]); err != nil {
			return err
		}
	}
	changes, err := s.c.FetchInto(ctx, s.ids, &s.res)
	if changes&(AgentChange|NamesChange) != 0 {
		s.bound = false
	}
	return err
}

// isLost reports whether err is about the connection and not about the requested
// metrics.
func isLost(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout) || errors.Is(err, pcp.ErrNoContext)
}

// bind looks up the metrics. The error describes the bad ones; if all are bad, or
// the source cannot be asked, s is not bound.
func (s *sampler) bind(ctx context.Context) error {
	s.bound = false
	if err := s.c.DelProfile(pcp.InDomNull); err != nil {
		return err
	}
	s.ids = s.ids[:0]
	clear(s.indoms)
	var errs []error
	for i := range s.metrics {
		x := &s.metrics[i]
		err := s.bindMetric(ctx, x)
		if err == nil {
			continue
		}
		if isLost(ctx, err) {
			return err
		}
		errs = append(errs, fmt.Errorf("%s: %w", x.text, err))
	}
	s.bound = len(s.ids) > 0
	s.known = s.known || s.bound
	s.hopeless = !s.known
	return joined(errs)
}

// joined is errors.Join that leaves one error as it is.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func (s *sampler) bindMetric(ctx context.Context, x *sampled) error {
	old := x.m.desc
	x.m = conversion{set: -1}
	ids, err := s.c.LookupName(ctx, x.metric)
	if err != nil {
		return cause(err, x.metric)
	}
	desc, err := s.c.LookupDesc(ctx, ids[0])
	if err != nil {
		return err
	}
	if desc != old {
		x.prev = x.prev[:0]
	}
	x.raw = x.scale == ""
	m := conversion{desc: desc, out: desc.Type}
	if !x.raw {
		if m, err = convertWanted(desc, x.group("", pcp.TypeDouble)); err != nil {
			return fmt.Errorf("in %q: %w", x.scale, err)
		}
	}
	x.as = m.described()
	if m.desc.InDom == pcp.InDomNull {
		if len(x.insts) > 0 || len(x.wanted.insts) > 0 {
			return fmt.Errorf("the metric has no instances: %w", pcp.ErrInDom)
		}
	} else {
		if x.names = s.indoms[desc.InDom]; x.names == nil {
			x.names = &instanceNames{of: make(map[int32]*instanceName)}
			s.indoms[desc.InDom] = x.names
		}
		if err := s.bindInstances(ctx, x, desc.InDom); err != nil {
			return err
		}
	}
	if m.set = slices.Index(s.ids, desc.PMID); m.set < 0 {
		m.set = len(s.ids)
		s.ids = append(s.ids, desc.PMID)
	}
	x.m, x.code, x.err = m, 0, nil
	return nil
}

// cause returns the error of LookupName for a single name without the name.
func cause(err error, name string) error {
	if code := pcp.Code(err); err.Error() == nameError(name, code).Error() {
		return code
	}
	return err
}

// bindInstances includes the instances of a metric in the profile. Archives have all
// that they ever had.
func (s *sampler) bindInstances(ctx context.Context, x *sampled, indom pcp.InDom) error {
	if len(x.wanted.insts) == 0 {
		return s.c.AddProfile(indom)
	}
	a, isArchive := s.c.Archive()
	x.insts = x.insts[:0]
	var missing error
	for _, name := range x.wanted.insts {
		in := namedInstance{name: name, here: true}
		var err error
		if isArchive {
			in.inst, err = a.LookupInDomArchive(ctx, indom, name)
		} else {
			in.inst, err = s.c.LookupInDom(ctx, indom, name)
		}
		switch {
		case err == nil:
			if err := s.c.AddProfile(indom, in.inst); err != nil {
				return err
			}
		case isLost(ctx, err) || isArchive:
			return err
		case missing == nil:
			missing = err
		}
		in.ok = err == nil
		x.insts = append(x.insts, in)
	}
	if missing != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", x.metric, missing))
	}
	return nil
}

// findInstances looks for those named instances that the last sample of a live source
// did not have: an instance that returns may have another number.
func (s *sampler) findInstances(ctx context.Context, x *sampled) error {
	if x.m.set < 0 {
		return nil
	}
	for i := range x.insts {
		in := &x.insts[i]
		if in.here {
			continue
		}
		inst, err := s.c.LookupInDom(ctx, x.m.desc.InDom, in.name)
		if err != nil {
			if isLost(ctx, err) {
				return err
			}
			continue
		}
		if !in.ok || inst != in.inst {
			in.inst, in.ok = inst, true
			if err := s.c.AddProfile(x.m.desc.InDom, inst); err != nil {
				return err
			}
		}
	}
	return nil
}

// has reports whether an instance is wanted.
func (x *sampled) has(inst int32) bool {
	if len(x.insts) == 0 {
		return true
	}
	found := false
	for i := range x.insts {
		if in := &x.insts[i]; in.ok && in.inst == inst {
			in.here, found = true, true
		}
	}
	return found
}

// collect makes the sample of the result. The error lists the metrics without values.
func (s *sampler) collect(ctx context.Context) error {
	s.turn++
	s.time, s.values = s.res.Time, s.values[:0]
	for i := range s.res.Sets {
		if vs := s.res.Sets[i].Values; !slices.IsSortedFunc(vs, byInstance) {
			slices.SortStableFunc(vs, byInstance)
		}
	}
	for i := range s.metrics {
		x := &s.metrics[i]
		if x.m.set < 0 {
			continue
		}
		vs := &s.res.Sets[x.m.set]
		x.first = len(s.values)
		if vs.Err < 0 {
			x.prev = x.prev[:0]
			x.fail(vs.Err, vs.Err)
			s.errs = append(s.errs, x.err)
		} else if err := s.add(x, vs); err != nil {
			x.fail(pcp.Code(err), err)
			s.errs = append(s.errs, x.err)
		}
		x.end = len(s.values)
	}
	for i := range s.metrics {
		if x := &s.metrics[i]; x.m.set >= 0 && x.end > x.first && x.names != nil {
			s.name(ctx, x)
		}
	}
	err := joined(s.errs)
	s.errs = s.errs[:0]
	return err
}

func byInstance(a, b pcp.Value) int {
	switch {
	case a.Inst < b.Inst:
		return -1
	case a.Inst > b.Inst:
		return 1
	}
	return 0
}

// fail sets the error of a metric, which stays the same while its status does.
func (x *sampled) fail(code pcp.Error, err error) {
	if x.err == nil || x.code != code {
		x.code, x.err = code, fmt.Errorf("%s: %w", x.text, err)
	}
}

// add adds the values of a metric to the sample.
func (s *sampler) add(x *sampled, vs *pcp.ValueSet) error {
	if len(vs.Values) == 0 && s.c.Kind() == SourceArchive && s.o.Interval == 0 {
		return nil // the record does not have the metric
	}
	for i := range x.insts {
		x.insts[i].here = false
	}
	mv := MetricValue{Metric: x.metric, Desc: x.as, Time: s.time}
	if x.raw {
		for _, v := range vs.Values {
			if x.has(v.Inst) {
				mv.Value = v.As(x.as.Type)
				s.values = append(s.values, mv)
			}
		}
		return nil
	}
	var failed error
	seconds := s.time.Sub(x.prevTime)
	old, kept := 0, len(x.prev)
	for _, v := range vs.Values {
		if !x.has(v.Inst) {
			continue
		}
		number, err := castValue(v.As(x.m.desc.Type), x.m.desc.Type, pcp.TypeDouble)
		if err != nil {
			failed = err
			continue
		}
		d := number.Double()
		if x.m.rate {
			for old < kept && x.prev[old].inst < v.Inst {
				old++
			}
			had := old < kept && x.prev[old].inst == v.Inst
			x.prev = append(x.prev, before{v.Inst, d})
			if !had {
				continue
			}
			if d, err = x.m.perSecond(d, x.prev[old].value, seconds, s.o.CounterWrap); err != nil {
				continue // it fell
			}
		}
		if mv.Value, err = x.m.scaled(d); err != nil {
			failed = err
			continue
		}
		mv.Value = mv.Value.WithInst(v.Inst)
		s.values = append(s.values, mv)
	}
	x.prev = x.prev[:copy(x.prev, x.prev[kept:])]
	x.prevTime = s.time
	return failed
}

// name gives the values of a metric the names of their instances.
func (s *sampler) name(ctx context.Context, x *sampled) {
	names := x.names
	if names.last != s.turn {
		names.last = s.turn
		names.turn++
	}
	for i := x.first; i < x.end; i++ {
		v := &s.values[i]
		in := names.of[v.Value.Inst]
		// An instance that was away may be another one with the same number.
		if (in == nil || in.name == "" || in.turn+1 < names.turn) && names.asked != names.turn {
			names.asked = names.turn
			s.ask(ctx, v.Desc.InDom, names)
			in = names.of[v.Value.Inst]
		}
		if in == nil {
			in = &instanceName{}
			names.of[v.Value.Inst] = in
		}
		in.turn = names.turn
		v.Instance = in.name
	}
}

// ask takes in the names of all instances of a domain. A failure costs names, not
// values.
func (s *sampler) ask(ctx context.Context, indom pcp.InDom, names *instanceNames) {
	set := func(inst int32, name string) {
		in := names.of[inst]
		if in == nil {
			in = new(instanceName)
			names.of[inst] = in
		}
		in.name, in.turn = name, names.turn
	}
	if a, ok := s.c.Archive(); ok {
		a.namesAt(ctx, indom, s.time, s.values, set)
		return
	}
	// Strings point into memory that the request overwrites.
	ownBytes(s.values)
	list, err := s.c.GetInDom(ctx, indom)
	if err != nil {
		return
	}
	for _, in := range list {
		set(in.Inst, in.Name)
	}
}

// namesAt calls set for the instances of a domain that values have, with the names
// that they had at a time, or else had last.
func (a *ArchiveContext) namesAt(ctx context.Context, indom pcp.InDom, at pcp.Timestamp, values []MetricValue, set func(int32, string)) {
	if a.begin(ctx) != nil {
		return
	}
	defer a.release()
	view := a.r.set.Meta().View(indom, at)
	for i := range values {
		if values[i].Desc.InDom != indom {
			continue
		}
		inst := values[i].Value.Inst
		name, ok := view.Name(inst)
		if !ok {
			name, _ = a.r.set.InstanceName(indom, inst)
		}
		set(inst, name)
	}
}

package otlp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/pmapi"
)

// A sampler turns fetched values into data points.
type sampler struct {
	c    *pmapi.Context
	emit func(*resource, *metric, *point) error

	wanted  []string // names of metrics, or of groups of them
	ids     []pcp.PMID
	metrics map[pcp.PMID]*metric
	cgroups pcp.PMID // of cgroupsOfProcs

	more     []names.Pair // attributes of the host that the user gives
	host     *resource
	hostList []names.Pair
	inside   map[string]*resource // of processes and containers of the host, by their attributes

	gen   uint64 // of the record
	known map[pcp.InDom]*instances
	left  leftOut
	res   pcp.Result
}

// leftOut counts metrics and values that are not sent.
type leftOut struct{ metrics, nameless int }

// A metric is a metric that is sent.
type metric struct {
	desc    pcp.Desc
	name    string
	head    []byte
	counter bool
	sets    []pcp.LabelSet // not those of the context
	series  map[int32]*series
}

// A series is an instance of a metric.
type series struct {
	name       string // of the instance
	res        *resource
	key        string // of res in inside, "" for the host
	attributes []byte
	start      uint64
	last       pcp.Value
	gen        uint64
}

// instances are the names and labels of an instance domain at the time of the record.
type instances struct {
	names  map[int32]string
	labels map[int32]pcp.LabelSet
}

func newSampler(c *pmapi.Context, wanted []string, emit func(*resource, *metric, *point) error) *sampler {
	if len(wanted) == 0 {
		wanted = []string{""}
	}
	return &sampler{
		c: c, emit: emit, wanted: wanted, cgroups: pcp.PMIDNull, metrics: make(map[pcp.PMID]*metric), inside: make(map[string]*resource),
		known: make(map[pcp.InDom]*instances),
	}
}

// ahead is the number of metrics whose labels are requested at once.
const ahead = 1000

// lost reports whether a connection cannot be used after an error.
func lost(err error) bool {
	return errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout) || errors.Is(err, pcp.ErrNoContext)
}

// resolve finds the metrics. Those that it knows keep their series.
func (s *sampler) resolve(ctx context.Context) error {
	var list []string
	for _, name := range s.wanted {
		n := len(list)
		for leaf, err := range s.c.Traverse(ctx, name) {
			if err != nil {
				if lost(err) || ctx.Err() != nil {
					return err
				}
				break
			}
			list = append(list, leaf)
		}
		if len(list) == n {
			return fmt.Errorf("%s: no metric has this name", name)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	ids, err := s.c.LookupName(ctx, append(list, cgroupsOfProcs)...)
	if err != nil && (lost(err) || len(ids) != len(list)+1) {
		return err
	}
	s.cgroups = ids[len(list)]
	ids = ids[:len(list)]
	descs, err := s.c.LookupDescs(ctx, ids...)
	if err != nil && (lost(err) || len(descs) != len(list)) {
		return err
	}
	s.ids, s.left.metrics = nil, 0
	metrics := make(map[pcp.PMID]*metric)
	var fresh []*metric
	processes := false
	for i, name := range list {
		d := &descs[i]
		if ids[i] == pcp.PMIDNull || d.PMID != ids[i] || metrics[ids[i]] != nil {
			continue
		}
		if !names.Numeric(d) {
			s.left.metrics++
			continue
		}
		m := s.metrics[ids[i]]
		if m == nil || m.desc != *d || m.name != name {
			m = &metric{desc: *d, name: name, counter: d.Sem == pcp.SemCounter, series: make(map[int32]*series)}
			fresh = append(fresh, m)
		}
		metrics[ids[i]] = m
		s.ids = append(s.ids, ids[i])
		processes = processes || isProcesses(d.InDom)
	}
	if len(metrics) == 0 {
		return errors.New("none of the metrics has numbers")
	}
	if processes && s.cgroups != pcp.PMIDNull && metrics[s.cgroups] == nil {
		s.ids = append(s.ids, s.cgroups) // for the containers of processes
	}
	for part := range slices.Chunk(fresh, ahead) {
		if err := s.describe(ctx, part); err != nil {
			return err
		}
	}
	for id, m := range s.metrics {
		if metrics[id] != m {
			for inst := range m.series {
				s.forget(m, inst)
			}
		}
	}
	s.metrics = metrics
	return nil
}

// describe requests the labels and help texts of metrics.
func (s *sampler) describe(ctx context.Context, list []*metric) error {
	if len(list) > 1 {
		descs := make([]pcp.Desc, len(list))
		for i, m := range list {
			descs[i] = m.desc
		}
		if err := s.c.AheadLabels(ctx, descs); lost(err) {
			return err
		}
	}
	for _, m := range list {
		sets, err := s.c.LookupLabels(ctx, m.desc.PMID)
		if lost(err) {
			return err
		}
		n := 0
		for n < len(sets) && len(sets[n].Index) > 0 && sets[n].Index[0].Flags.Level() == pcp.LabelContext {
			n++
		}
		if s.host == nil {
			if err := s.identify(ctx, sets[:n]); err != nil {
				return err
			}
		}
		m.sets = sets[n:]
		help, err := s.c.LookupText(ctx, m.desc.PMID, pcp.TextOneLine)
		if lost(err) {
			return err
		}
		m.head = head(m.name, help, &m.desc)
	}
	return nil
}

// identify finds the attributes of the host.
func (s *sampler) identify(ctx context.Context, sets []pcp.LabelSet) error {
	name, err := s.c.HostName(ctx)
	if lost(err) {
		return err
	}
	about, err := s.about(ctx, unameSysname, unameRelease, unameMachine, unameDistro)
	if err != nil {
		return err
	}
	s.hostList = hostAttributes(sets, name, about)
	for _, l := range s.more {
		s.hostList = names.Set(s.hostList, l.Name, l.Value)
	}
	s.host = newResource(s.hostList)
	return nil
}

// about fetches metrics with texts. In an archive they are those at its end.
func (s *sampler) about(ctx context.Context, list ...string) (map[string]string, error) {
	about := make(map[string]string)
	ids, err := s.c.LookupName(ctx, list...)
	if err != nil && (lost(err) || len(ids) != len(list)) {
		return about, keep(err)
	}
	if a, ok := s.c.Archive(); ok {
		end, err := a.End(ctx)
		if err != nil {
			return about, nil // the archive is damaged, which its reader reports
		}
		if err := a.SetMode(ctx, pmapi.ModeInterp, &end, 0); err != nil {
			return about, err
		}
	}
	res, err := s.c.Fetch(ctx, ids)
	if err != nil {
		return about, keep(err)
	}
	for i := range res.Sets {
		if vs := &res.Sets[i]; i < len(list) && len(vs.Values) == 1 {
			vs.As(pcp.TypeString)
			about[list[i]], _ = vs.Values[0].Text()
		}
	}
	return about, nil
}

// keep returns an error if it means that the connection is lost.
func keep(err error) error {
	if lost(err) {
		return err
	}
	return nil
}

// take emits the values of a result. A mark of an archive, which has no sets, ends all series.
func (s *sampler) take(ctx context.Context, res *pcp.Result) error {
	s.gen++
	clear(s.known)
	at := uint64(res.Time.Sec)*1e9 + uint64(res.Time.Nsec)
	if len(res.Sets) == 0 {
		for _, id := range s.ids {
			if m := s.metrics[id]; m != nil {
				if err := s.vanish(m, at); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for i := range res.Sets {
		vs := &res.Sets[i]
		m := s.metrics[vs.PMID]
		if m == nil {
			continue
		}
		vs.As(m.desc.Type)
		if err := s.set(ctx, m, vs, res, at); err != nil {
			return err
		}
		if err := s.vanish(m, at); err != nil {
			return err
		}
	}
	return nil
}

func (s *sampler) set(ctx context.Context, m *metric, vs *pcp.ValueSet, res *pcp.Result, at uint64) error {
	if m.desc.InDom != pcp.InDomNull && slices.ContainsFunc(vs.Values, func(v pcp.Value) bool { return m.series[v.Inst] == nil }) {
		in, err := s.instances(ctx, m.desc.InDom)
		if err != nil {
			return err
		}
		for inst, old := range m.series { // another process may have the number
			if name, ok := in.names[inst]; ok && name != old.name {
				if err := s.end(m, inst, at); err != nil {
					return err
				}
			}
		}
	}
	for _, v := range vs.Values {
		of := m.series[v.Inst]
		if of == nil {
			var err error
			if of, err = s.begin(ctx, m, v.Inst, res); err != nil {
				return err
			}
			if of == nil {
				s.left.nameless++
				continue
			}
			of.start = at
		} else if of.gen == s.gen {
			continue // twice in the set
		} else if m.counter && less(v, of.last) {
			of.start = at // the counter began again, at a time that is not known
		}
		of.gen, of.last = s.gen, v
		p := point{attributes: of.attributes, time: at, value: v}
		if m.counter {
			p.start = of.start
		}
		if err := s.emit(of.res, m, &p); err != nil {
			return err
		}
	}
	return nil
}

// less reports whether a counter fell from b to a.
func less(a, b pcp.Value) bool {
	x, ok := integer(a)
	y, also := integer(b)
	if ok && also {
		return x < y
	}
	f, _ := a.Float64()
	g, _ := b.Float64()
	return f < g
}

// instances requests the names and labels of a domain, once for a record.
func (s *sampler) instances(ctx context.Context, indom pcp.InDom) (*instances, error) {
	if in := s.known[indom]; in != nil {
		return in, nil
	}
	list, err := s.c.InstanceNames(ctx, indom)
	if lost(err) {
		return nil, err
	}
	in := &instances{names: list, labels: make(map[int32]pcp.LabelSet)}
	sets, err := s.c.Labels(ctx, pcp.LabelInstances, uint32(indom))
	if lost(err) {
		return nil, err
	}
	for _, set := range sets {
		in.labels[set.Inst] = set
	}
	s.known[indom] = in
	return in, nil
}

// begin returns the series of an instance that has a value now and had none before, nil if the instance has no name.
func (s *sampler) begin(ctx context.Context, m *metric, inst int32, res *pcp.Result) (*series, error) {
	of := &series{res: s.host}
	var own *pcp.LabelSet
	if m.desc.InDom != pcp.InDomNull {
		in, err := s.instances(ctx, m.desc.InDom)
		if err != nil {
			return nil, err
		}
		name, ok := in.names[inst]
		if !ok {
			return nil, nil
		}
		of.name = name
		if set, ok := in.labels[inst]; ok {
			own = &set
		}
	}
	list := names.Merge(m.sets, own, pcp.InNull, "", func(s string) string { return s })
	switch {
	case isProcesses(m.desc.InDom):
		s.enter(of, processAttributes(inst, of.name, s.cgroupsOf(inst, res)))
	case m.desc.InDom != pcp.InDomNull:
		if m.desc.InDom.Domain() == procDomain { // that has control groups too
			if c := containerAttributes(of.name); c != nil {
				s.enter(of, c)
			}
		}
		list = names.Instance(list, inst, of.name)
	}
	of.attributes = appendAttributes(nil, pointAttributes, list)
	m.series[inst] = of
	return of, nil
}

// cgroupsOf returns the control groups of a process, "" if the result does not have them.
func (s *sampler) cgroupsOf(inst int32, res *pcp.Result) string {
	if s.cgroups == pcp.PMIDNull {
		return ""
	}
	for i := range res.Sets {
		vs := &res.Sets[i]
		if vs.PMID != s.cgroups {
			continue
		}
		for _, v := range vs.Values {
			if v.Inst == inst {
				text, _ := v.As(pcp.TypeString).Text()
				return text
			}
		}
	}
	return ""
}

// enter gives a series a resource of its own: the host's with more attributes.
func (s *sampler) enter(of *series, list []names.Pair) {
	key := strconv.Quote(fmt.Sprint(list))
	res := s.inside[key]
	if res == nil {
		res = newResource(append(slices.Clip(s.hostList), list...))
		s.inside[key] = res
	}
	res.users++
	of.res, of.key = res, key
}

// vanish ends the series of a metric that have no value in the record.
func (s *sampler) vanish(m *metric, at uint64) error {
	var gone []int32
	for inst, of := range m.series {
		if of.gen != s.gen {
			gone = append(gone, inst)
		}
	}
	slices.Sort(gone) // so that the same archive makes the same requests
	for _, inst := range gone {
		if err := s.end(m, inst, at); err != nil {
			return err
		}
	}
	return nil
}

// end emits the end of a series.
func (s *sampler) end(m *metric, inst int32, at uint64) error {
	of := m.series[inst]
	p := point{attributes: of.attributes, time: at, none: true}
	if m.counter {
		p.start = of.start
	}
	s.forget(m, inst)
	return s.emit(of.res, m, &p)
}

func (s *sampler) forget(m *metric, inst int32) {
	of := m.series[inst]
	delete(m.series, inst)
	if of.key == "" {
		return
	}
	if of.res.users--; of.res.users == 0 {
		delete(s.inside, of.key)
	}
}

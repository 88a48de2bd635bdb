package model

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/internal/metrics"
	"github.com/go-pcp/pcp/pmapi"
)

// refreshEvery is the number of samples of a live source after which slow metrics are fetched again for
// all processes.
const refreshEvery = 10

// A Config configures a Sampler. Interval must be positive.
type Config struct {
	Interval time.Duration
	// Start is the time of the first sample of an archive.
	Start pcp.Timestamp
	// First and Last are the bounds of an archive, outside of which there is nothing.
	First, Last pcp.Timestamp
	// Meant returns an addition to the message about a chart's unknown metric, such as the name that may be meant.
	// Nil adds nothing.
	Meant func(ctx context.Context, name string) string
	// Denied returns the reason, in lines, why the collector denies metrics. If it is nil, the error
	// only reports the denial.
	Denied func() string
}

// A Sampler takes samples from a context, which it owns. Only one goroutine at a time may use it, but
// any may call Recycle.
type Sampler struct {
	c       *pmapi.Context
	archive *pmapi.ArchiveContext // nil if live
	cfg     Config
	host    Host

	cols     [numMetrics]column
	called   *[numMetrics]string // replaced, never changed: snapshots share it
	resolved Group
	fresh    Group // of the metrics in the last fetch

	requests map[Group]*request
	res      pcp.Result
	names    map[pcp.InDom]map[int32]string
	charts   []*chart

	at       pcp.Timestamp // of an archive: of the last sample
	step     time.Duration // of the last sample
	sequence bool          // the next fetch of the archive is at at+step
	samples  int
	last     *Snapshot // whose processes the next snapshot reuses
	slowDue  bool      // fetch slow metrics for all processes
	unknown  []int32

	threads   bool   // the collector was asked to list threads
	noThreads string // why it does not

	mu   sync.Mutex
	free []*Snapshot
}

// A Host has the properties of a host that do not change from sample to sample.
type Host struct {
	Name, Kernel, Machine string
	Archive               bool
	First, Last           pcp.Timestamp // of an archive
}

// A request is the fetch for some groups.
type request struct {
	metrics []metric
	ids     []pcp.PMID
	slow    int // from here on metrics are slow
}

// ErrEnd means that an archive has no data after, or before, the requested time.
var ErrEnd = errors.New("the archive ends here")

// New returns a Sampler of a context. It looks up the totals of the host at once, and returns an error if the
// source does not have any of them.
func New(ctx context.Context, c *pmapi.Context, cfg Config) (*Sampler, error) {
	s := &Sampler{c: c, cfg: cfg, requests: map[Group]*request{}, names: map[pcp.InDom]map[int32]string{}}
	s.archive, _ = c.Archive()
	s.host = Host{Archive: s.archive != nil, First: cfg.First, Last: cfg.Last}
	if s.archive != nil {
		s.at = cfg.Start.Add(-cfg.Interval)
		if s.at.Compare(cfg.First) < 0 {
			s.at = cfg.First
		}
	}
	if err := s.resolve(ctx, System); err != nil {
		return nil, err
	}
	s.describe(ctx)
	return s, nil
}

// Host returns the properties of the host.
func (s *Sampler) Host() Host { return s.host }

// At returns the time of the last sample of an archive, or its start time.
func (s *Sampler) At() pcp.Timestamp { return s.at }

// SetEnd sets the end of an archive, which moves while the archive is written.
func (s *Sampler) SetEnd(last pcp.Timestamp) { s.cfg.Last, s.host.Last = last, last }

func (s *Sampler) describe(ctx context.Context) {
	if name, err := s.c.HostName(ctx); err == nil {
		s.host.Name = name
	}
	for _, v := range []struct {
		metric string
		to     *string
	}{{"kernel.uname.sysname", &s.host.Kernel}, {"kernel.uname.release", &s.host.Kernel}, {"kernel.uname.machine", &s.host.Machine}} {
		text := s.textAtStart(ctx, v.metric)
		if *v.to != "" && text != "" {
			*v.to += " "
		}
		*v.to += text
	}
}

// textAtStart returns the single value of a text metric, from an archive the first one.
func (s *Sampler) textAtStart(ctx context.Context, name string) string {
	ids, err := s.c.LookupName(ctx, name)
	if err != nil {
		return ""
	}
	if _, err := s.c.LookupDesc(ctx, ids[0]); err != nil {
		return ""
	}
	var res pcp.Result
	if s.archive != nil {
		s.sequence = false
		if err := s.archive.SetMode(ctx, pmapi.ModeForw, &s.cfg.First, 0); err != nil {
			return ""
		}
		for range 10 { // there may be marks before it
			if err = s.archive.FetchArchiveOf(ctx, ids, &res); err != nil || len(res.Sets) > 0 {
				break
			}
		}
	} else {
		_, err = s.c.FetchInto(ctx, ids, &res)
	}
	if err != nil || len(res.Sets) == 0 || len(res.Sets[0].Values) == 0 {
		return ""
	}
	text, _ := res.Sets[0].Values[0].As(pcp.TypeString).Text()
	return text
}

// resolve looks up the names and descriptors of the metrics of some groups.
func (s *Sampler) resolve(ctx context.Context, need Group) error {
	need &^= s.resolved
	if need == 0 {
		return nil
	}
	var names []string
	for m := range table {
		if table[m].group&need != 0 {
			names = append(names, table[m].names...)
		}
	}
	descs, err := metrics.Find(ctx, s.c, names)
	if metrics.Lost(ctx, err) {
		return err
	}
	called := new([numMetrics]string)
	if s.called != nil {
		*called = *s.called
	}
	i := 0
	for m := range table {
		spec := &table[m]
		if spec.group&need == 0 {
			continue
		}
		c := &s.cols[m]
		*c = column{kind: spec.kind, name: spec.names[0], id: pcp.PMIDNull, err: missing, factor: 1}
		for _, name := range spec.names {
			d := pcp.Desc{PMID: pcp.PMIDNull}
			if i < len(descs) {
				d = descs[i]
			}
			i++
			if c.id != pcp.PMIDNull || d.PMID == pcp.PMIDNull || (spec.kind == text) != (d.Type == pcp.TypeString) {
				continue
			}
			c.name, c.id, c.desc, c.err = name, d.PMID, d, pcp.ErrValue
			c.factor = baseFactor(d.Units)
			if c.kind == rate && d.Sem != pcp.SemCounter {
				c.kind = instant // a rate already
			}
		}
		called[m] = c.name
	}
	s.called = called
	s.resolved |= need
	return nil
}

// Forget makes the Sampler look up all names again, after it was connected again or the agents of a
// collector have changed.
func (s *Sampler) Forget() {
	s.resolved, s.fresh, s.threads, s.noThreads = 0, 0, false, ""
	clear(s.requests)
	clear(s.names)
	for _, ch := range s.charts {
		ch.id = pcp.PMIDNull
	}
}

// request returns the fetch for groups.
func (s *Sampler) request(need Group) *request {
	if r := s.requests[need]; r != nil {
		return r
	}
	r := &request{}
	for _, slow := range []bool{false, true} {
		if slow {
			r.slow = len(r.metrics)
		}
		for m := range table {
			if table[m].group&need != 0 && table[m].slow == slow && s.cols[m].id != pcp.PMIDNull {
				r.metrics = append(r.metrics, metric(m))
				r.ids = append(r.ids, s.cols[m].id)
			}
		}
	}
	s.requests[need] = r
	return r
}

// Next takes a sample of a live source, or the one of an archive that is an interval later. The snapshot belongs to
// the caller until Recycle.
func (s *Sampler) Next(ctx context.Context, need Group) (*Snapshot, error) {
	need |= System
	if s.archive != nil {
		return s.seek(ctx, s.at.Add(s.cfg.Interval), need)
	}
	if err := s.resolve(ctx, need); err != nil {
		return nil, err
	}
	if err := s.resolveCharts(ctx); err != nil {
		return nil, err
	}
	if err := s.listThreads(ctx, need&Threads != 0); err != nil {
		return nil, err
	}
	r := s.request(need)
	all := s.samples%refreshEvery == 0 || s.slowDue
	n := r.slow
	if all {
		n = len(r.ids)
	}
	changes, err := s.fetch(ctx, r, n)
	if err != nil {
		return nil, err
	}
	s.slowDue = false
	if need&Processes != 0 && !all {
		if err := s.fetchNew(ctx, r); err != nil {
			return nil, err
		}
	}
	s.samples++
	snap, err := s.snapshot(ctx, need)
	if changes&(pmapi.NamesChange|pmapi.AddAgent|pmapi.RestartAgent|pmapi.DropAgent) != 0 {
		s.Forget()
	}
	return snap, err
}

// fetch fetches the first n metrics of a request, and the charts.
func (s *Sampler) fetch(ctx context.Context, r *request, n int) (pmapi.Changes, error) {
	ids := r.ids[:n:n]
	for _, ch := range s.charts {
		if ch.id != pcp.PMIDNull {
			ids = append(ids, ch.id)
		}
	}
	s.fresh = 0
	if len(ids) == 0 {
		s.res.Reset()
		s.res.Time = pcp.TimestampOf(time.Now())
		return 0, nil
	}
	changes, err := s.c.FetchInto(ctx, ids, &s.res)
	if err != nil {
		for m := range s.cols {
			s.cols[m].forget()
		}
		return changes, err
	}
	for i, m := range r.metrics[:n] {
		if i < len(s.res.Sets) {
			s.cols[m].take(&s.res.Sets[i], s.res.Time)
			s.fresh |= table[m].group
		}
	}
	i := n
	for _, ch := range s.charts {
		if ch.id != pcp.PMIDNull && i < len(s.res.Sets) {
			ch.col.take(&s.res.Sets[i], s.res.Time)
			i++
		}
	}
	return changes, nil
}

// fetchNew fetches the slow metrics of the processes that the last snapshot does not
// have.
func (s *Sampler) fetchNew(ctx context.Context, r *request) error {
	slow := r.metrics[r.slow:]
	if len(slow) == 0 {
		return nil
	}
	s.unknown = s.unknown[:0]
	base := s.base()
	if base == nil {
		return nil
	}
	start := walk{c: &s.cols[mProcStart]}
	known := 0
	var before []Process
	if s.last != nil {
		before = s.last.Processes
	}
	for _, pid := range base.insts {
		for known < len(before) && before[known].PID < pid {
			known++
		}
		if known < len(before) && before[known].PID == pid && sameStart(before[known].Start, start.num(pid)) {
			continue
		}
		s.unknown = append(s.unknown, pid)
	}
	for _, m := range slow {
		s.cols[m].insts = s.cols[m].insts[:0]
		s.cols[m].nums, s.cols[m].texts = s.cols[m].nums[:0], s.cols[m].texts[:0]
	}
	if len(s.unknown) == 0 {
		return nil
	}
	indom := base.desc.InDom
	if len(s.unknown) < len(base.insts)/2 {
		if err := s.c.DelProfile(indom); err == nil {
			err = s.c.AddProfile(indom, s.unknown...)
			defer s.c.AddProfile(indom)
			if err != nil {
				return err
			}
		}
	}
	if _, err := s.c.FetchInto(ctx, r.ids[r.slow:], &s.res); err != nil {
		return err
	}
	for i, m := range slow {
		if i < len(s.res.Sets) {
			s.cols[m].take(&s.res.Sets[i], s.res.Time)
			if s.cols[m].err == pcp.ErrValue {
				s.cols[m].err = 0 // they may have gone already
			}
		}
	}
	return nil
}

// base returns the column whose instances are the processes, or nil if there is none.
func (s *Sampler) base() *column {
	for _, m := range [...]metric{mProcRSS, mProcUser, mProcName, mProcArgs, mProcState, mProcParent} {
		if c := &s.cols[m]; c.err == 0 && len(c.insts) > 0 {
			return c
		}
	}
	return nil
}

// sameStart reports whether two processes with the same PID are the same.
func sameStart(a, b float64) bool {
	return math.IsNaN(a) || math.IsNaN(b) || math.Abs(a-b) < 1
}

// Refresh makes the next sample fetch all metrics of each process, after an action on
// one.
func (s *Sampler) Refresh() { s.slowDue = true }

// SetInterval changes the time between the samples of an archive.
func (s *Sampler) SetInterval(d time.Duration) {
	if d > 0 {
		s.cfg.Interval = d
	}
}

// Interval returns the time between the samples of an archive.
func (s *Sampler) Interval() time.Duration { return s.cfg.Interval }

// Reconnect connects to a lost collector again.
func (s *Sampler) Reconnect(ctx context.Context) error {
	err := s.c.Reconnect(ctx)
	if err == nil {
		s.Forget()
	}
	return err
}

// Context returns the context of the sampler, for requests of other kinds.
func (s *Sampler) Context() *pmapi.Context { return s.c }

// Recycle returns a snapshot, whose memory a later one uses.
func (s *Sampler) Recycle(snap *Snapshot) {
	if snap == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < 4 {
		s.free = append(s.free, snap)
	}
}

func (s *Sampler) take() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, snap := range s.free {
		if snap != s.last { // its processes are being read
			s.free = slices.Delete(s.free, i, i+1)
			return snap
		}
	}
	return &Snapshot{}
}

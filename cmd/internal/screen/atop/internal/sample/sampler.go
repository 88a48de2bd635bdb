package sample

import (
	"context"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// A Sampler takes samples of a source. The fields may be changed between samples.
type Sampler struct {
	Proportional bool          // read the proportional set size of tasks, which takes long
	WaitChannels bool          // read the kernel function in which tasks wait, which takes long too
	Interval     time.Duration // between samples
	SystemOnly   bool          // do not read tasks
	SeekDiskIO   bool          // read them nevertheless until DiskIO is known to be there

	Host   Host
	Users  map[int32]string // names of users and groups seen so far
	Groups map[int32]string

	// The capabilities found in the source.
	DiskIO     bool // disk transfers of tasks
	NetIO      bool // network transfers of tasks
	Accounting bool // processes that have ended
	Containers bool // tasks in containers, in this sample
	CGroups    bool // control groups of version 2

	// Trace, if not nil, is called with each instance that is read.
	Trace func(what string, in pcp.Instance)

	r       *reader
	seven   bool
	rows    []scalar
	plan    *plan
	system  metric // the first metric that is not of the system
	tasks   *taskPlan
	host    []metric
	account []metric
	gpu     []metric
	links   []metric // the properties of network interfaces

	cur, pre, dev *System
	properties    map[string]link
	present       []Task
	exited        []Task
	changed       []Task
	procs, active []*Task
	byPID         map[int32]int
	db            database
	before        Time // of the sample before
	deviation     Deviation
}

// A Config configures a Sampler.
type Config struct {
	Hot      bool          // the processes that the agent has chosen (hotproc)
	Interval time.Duration // between samples; 0: 10 seconds
	Seven    bool          // count as PCP 7 does
}

// New returns a Sampler of a source. Call Setup before the first sample.
func New(c *pmapi.Context, cfg Config) *Sampler {
	r := newReader(c)
	s := &Sampler{
		r: r, seven: cfg.Seven, rows: systemScalars(cfg.Seven), Interval: cfg.Interval,
		Users: make(map[int32]string), Groups: make(map[int32]string),
		cur: new(System), pre: new(System), dev: new(System),
		byPID: make(map[int32]int), db: make(database), properties: make(map[string]link),
	}
	if s.Interval == 0 {
		s.Interval = 10 * time.Second
	}
	prefix := "proc"
	if cfg.Hot {
		prefix = "hotproc"
	}
	s.plan = newPlan(r, s.rows, cfg.Seven)
	s.system = metric(len(r.names))
	s.tasks = newTaskPlan(r, prefix, cfg.Seven)
	for _, list := range []struct {
		names []string
		to    *[]metric
	}{{hostMetrics, &s.host}, {accountMetrics, &s.account}, {gpuMetrics, &s.gpu}, {linkMetrics, &s.links}} {
		for _, name := range list.names {
			*list.to = append(*list.to, r.metric(name))
		}
	}
	return s
}

// maxExited limits the ended processes that C handles in a sample.
var maxExited = 50 << 20 / 888 // sizeof(struct tstat)

// Next takes the sample of a time, of archives, or of now. First is set for the first two samples,
// which C takes for the time since the system was started. The result is valid until the next call.
func (s *Sampler) Next(ctx context.Context, at Time, first bool) (*Deviation, float64, error) {
	s.cur, s.pre = s.pre, s.cur
	if s.r.step = step(s.Interval); s.seven {
		s.r.step = s.Interval
	}
	s.choose()
	if err := s.r.fetch(ctx, at); err != nil {
		return nil, 0, err
	}
	if err := s.readSystem(ctx, s.cur); err != nil {
		return nil, 0, err
	}
	s.present, s.exited = s.present[:0], s.exited[:0]
	if s.readsTasks() {
		for _, read := range []func(context.Context) error{s.readTasks, s.readExited, s.mergeGPU} {
			if err := read(ctx); err != nil {
				return nil, 0, err
			}
		}
	}
	d := &s.deviation
	*d = Deviation{System: s.dev}
	if extra := len(s.exited) - maxExited; extra > 0 {
		s.exited, d.Overflow = s.exited[:maxExited], extra
	}
	d.Exited = len(s.exited)
	if first {
		s.before.Sec = s.Host.BootTime
	}
	now := s.cur.Time
	seconds := now.Seconds() - s.before.Seconds()
	s.before = now
	s.deviate(s.dev, s.cur, s.pre, seconds)
	s.deviateTasks(d)
	return d, seconds, nil
}

// readsTasks reports whether the next sample has tasks.
func (s *Sampler) readsTasks() bool { return !s.SystemOnly || s.SeekDiskIO && !s.DiskIO }

// choose selects the metrics to fetch: whether to fetch tasks, and which of their
// expensive metrics.
func (s *Sampler) choose() {
	r := s.r
	r.asked = append(r.asked[:0], r.ids...)
	if !s.readsTasks() { // the metrics of the system are first
		r.asked = r.asked[:s.system]
		return
	}
	if !s.Proportional {
		r.asked[s.tasks.proportional] = pcp.PMIDNull
	}
	if !s.WaitChannels {
		r.asked[s.tasks.waitChannel] = pcp.PMIDNull
	}
}

// step is an interval as C passes it to the library: in milliseconds, or in seconds if it is
// long.
func step(interval time.Duration) time.Duration {
	if interval > 24*24*time.Hour {
		return interval.Truncate(time.Second)
	}
	return max(interval.Truncate(time.Millisecond), time.Microsecond)
}

// Time returns the time of the last sample.
func (s *Sampler) Time() Time { return s.before }

// SetTime sets the time from which the interval of the next sample is measured.
func (s *Sampler) SetTime(t Time) { s.before = t }

// Reset forgets the last sample, so that the next one shows totals and not changes.
func (s *Sampler) Reset() {
	old := *s.cur
	*s.cur = System{
		CPUs: zeroed(old.CPUs), Interfaces: zeroed(old.Interfaces), Ports: zeroed(old.Ports),
		Disks: zeroed(old.Disks), Volumes: zeroed(old.Volumes), Arrays: zeroed(old.Arrays),
		NodeMem: zeroed(old.NodeMem), NodeCPU: zeroed(old.NodeCPU), Mounts: zeroed(old.Mounts), GPUs: zeroed(old.GPUs), Caches: zeroed(old.Caches),
	}
	clear(s.db)
}

func zeroed[T any](list []T) []T {
	clear(list)
	return list
}

package mmv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

// Errors, with the errno that the C functions set.
var (
	errTooBig   = -pcp.Error(syscall.E2BIG)
	errInvalid  = -pcp.Error(syscall.EINVAL)
	errNoInDom  = -pcp.Error(syscall.ESRCH)
	errTooMany  = -pcp.Error(syscall.ENOSPC)
	errExist    = -pcp.Error(syscall.EEXIST)
	errStarted  = errors.New("the registry is fixed and has been started")
	errClosed   = errors.New("the registry is closed")
	errReplaced = errors.New("the values of this program are no longer seen")
	errNameFile = errors.New("the name of a registry must be a file name that does not start with a dot")
)

// Options says how a registry's file is made. The zero Options are right for
// a program that wants its metrics to appear while it runs.
type Options struct {
	// Cluster is the preferred cluster of the metrics' PMIDs, 1..4095; with 0
	// the agent takes one that is free.
	Cluster int
	// Dir is where the file goes; "" means DefaultDir(config.Process()).
	Dir string
	// Persist keeps the metrics visible after the program has ended. Without it
	// the file carries MMV_FLAG_PROCESS and Close removes it.
	Persist bool
	// NoPrefix names metrics mmv.METRIC instead of mmv.FILE.METRIC.
	NoPrefix bool
	// Sentinel makes a value of all ones, NaN, or the empty string mean "no value".
	Sentinel bool
	// Continue takes the values that a file of the same name holds from the
	// run before, for every metric and instance that is defined again. Close
	// keeps the file only with Persist; a program that is killed leaves it anyhow.
	Continue bool
	// Fixed writes the file once, when Start is called, laid out as
	// libpcp_mmv does to the byte; nothing can be added afterwards.
	Fixed bool
	// MaxValues bounds how many values the file can grow to, and with it how
	// many instances; 0 means 65,536, and MaxFileValues is the most. At most
	// 16,384 of the values are texts. It costs address space and holes in the
	// file, not memory. Not used if Fixed.
	MaxValues int
	// Refresh is how often the statistics of histograms are brought up to
	// date; 0 means once a second.
	Refresh time.Duration
	// Labels describe all metrics of the file (mmv_stats_add_registry_label(3)).
	Labels []Label
}

// A Registry is one file of metrics (mmv_stats_registry(3)). Its methods may
// be called from many goroutines.
//
// Defining a metric never fails in a way that a program must handle: what is
// wrong with a definition is kept for [Registry.Err], and the handle works but
// leads nowhere. Instrumentation must not break what it instruments.
type Registry struct {
	name string
	path string
	opt  Options

	mu       sync.Mutex
	c        content
	byName   map[string]*metric
	byItem   map[int]*metric
	serials  map[int]*InDom
	lowItem  int // no item from 1 to below it is free
	lowInDom int // nor such a serial
	err      error
	started  bool
	closed   bool
	past     past // to continue from
	m        *mapping
	grow     growth
	fixedEnd int // of a fixed file
	hists    []*Histogram
	stop     chan struct{}
	stopped  chan struct{}
}

// A Metric defines a metric (mmv_stats_add_metric(3)).
type Metric struct {
	// Name is dot-separated, below mmv.FILE; at most 255 bytes.
	Name string
	// Item is the last field of the PMID, 1..1023; 0 takes the lowest that is
	// free, and ItemZero is the item 0.
	Item int
	// Sem is pcp.SemCounter for counters and timers, pcp.SemInstant for
	// gauges, unless set.
	Sem pcp.Sem
	// Units are counts for counters unless set; timers set their own.
	Units pcp.Units
	// OneLine and Help are the help texts, at most 255 bytes each.
	OneLine, Help string
	// InDom is the instance domain of a metric with many values; the
	// functions that make such a metric give it one of its own if nil.
	InDom *InDom
	// Labels describe the metric (mmv_stats_add_metric_label(3)).
	Labels []Label
}

// ItemZero stands for the item 0 in a Metric.
const ItemZero = -1

// metric is a definition with its values.
type metric struct {
	r     *Registry // nil if the definition was refused
	def   Metric
	typ   Type
	item  int
	inDom *InDom
	slots slots
	at    int // of its record in the file
}

// New makes the registry whose file is called name. Unless opt.Fixed, the file
// appears at once and each definition as it is made. On systems without memory-mapped
// files of this kind, such as Windows, the error is errors.ErrUnsupported.
func New(name string, opt Options) (*Registry, error) {
	if !supported {
		return nil, fmt.Errorf("mmv registry %s: %w", name, errors.ErrUnsupported)
	}
	if name == "" || strings.HasPrefix(filepath.Base(name), ".") {
		return nil, fmt.Errorf("%q: %w", name, errNameFile)
	}
	if opt.Cluster < 0 || opt.Cluster > MaxCluster {
		return nil, fmt.Errorf("cluster %d, not in 0..%d: %w", opt.Cluster, MaxCluster, errInvalid)
	}
	if opt.MaxValues == 0 {
		opt.MaxValues = 1 << 16
	}
	if opt.MaxValues < 0 || opt.MaxValues > MaxFileValues {
		return nil, fmt.Errorf("room for %d values, not in 1..%d: %w", opt.MaxValues, MaxFileValues, errInvalid)
	}
	if opt.Refresh <= 0 {
		opt.Refresh = time.Second
	}
	r := &Registry{
		name: name, opt: opt,
		byName: map[string]*metric{}, byItem: map[int]*metric{}, serials: map[int]*InDom{},
		lowItem: 1, lowInDom: 1,
	}
	r.c.cluster = opt.Cluster
	if !opt.Persist {
		r.c.flags |= FlagProcess
	}
	if opt.NoPrefix {
		r.c.flags |= FlagNoPrefix
	}
	if opt.Sentinel {
		r.c.flags |= FlagSentinel
	}
	r.path = name
	if !filepath.IsAbs(name) {
		dir := opt.Dir
		if dir == "" {
			var err error
			if dir, err = DefaultDir(config.Process()); err != nil {
				return nil, err
			}
		}
		if strings.ContainsRune(name, filepath.Separator) {
			return nil, fmt.Errorf("%q: %w", name, errNameFile)
		}
		r.path = filepath.Join(dir, name)
	}
	if opt.Continue {
		r.past = readPast(r.path)
	}
	if !opt.Fixed {
		if err := r.startGrowing(); err != nil {
			return nil, err
		}
	}
	if err := r.AddLabel(opt.Labels...); err != nil {
		r.err = err
	}
	return r, nil
}

// Path returns the path of the file.
func (r *Registry) Path() string { return r.path }

// Err returns the first thing that was wrong with a definition, or that kept an
// instance from being added. If there was none, it checks the file and returns what
// keeps agents from seeing it: it or its folder was removed, it was cut short, or
// another program has a file of the same name. Err returns nil if all is well.
func (r *Registry) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || r.m == nil || r.closed {
		return r.err
	}
	if err := r.m.check(r.path); err != nil {
		return fmt.Errorf("mmv registry %s: %w", r.name, err)
	}
	return nil
}

// fail keeps the first error. A program that goes on to count after Close has
// done nothing wrong. The caller holds r.mu.
func (r *Registry) fail(err error) {
	if r.err == nil && !r.closed {
		r.err = fmt.Errorf("mmv registry %s: %w", r.name, err)
	}
}

// Start writes the file of a fixed registry and maps it (mmv_stats_start(3)).
// Handles count before as well: what they counted is in the file. Do not call
// it while other goroutines use handles. On a registry that grows it does nothing but
// return Err.
func (r *Registry) Start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || !r.opt.Fixed {
		return r.err
	}
	if r.started {
		return fmt.Errorf("mmv registry %s: %w", r.name, errStarted)
	}
	for _, m := range r.c.metrics {
		for i := range m.slots.n {
			r.past.resume(m, m.slots.at(i), i)
		}
	}
	generation := nextGeneration(0)
	b := r.c.encode(generation, os.Getpid())
	m, err := createMapping(r.path, b, len(b)+r.c.stringValues()*stringCopies*stringSize)
	if err != nil {
		for _, d := range r.c.metrics {
			for i := range d.slots.n {
				d.slots.at(i).at = 0 // it stays in memory
			}
		}
		return r.giveUp(err)
	}
	r.m, r.fixedEnd = m, len(b)
	for _, d := range r.c.metrics {
		for i := range d.slots.n {
			s := d.slots.at(i)
			s.rec = m.record(s.at)
		}
	}
	atomic.StoreUint64(m.word(hdrG2), generation)
	if err := m.publish(r.path); err != nil {
		m.release()
		return r.giveUp(err)
	}
	r.started = true
	r.startRefreshing()
	return nil
}

// giveUp ends a registry that cannot be started. The caller holds r.mu.
func (r *Registry) giveUp(err error) error {
	r.fail(err)
	r.closed = true
	return r.err
}

// Close ends the registry: the file is removed unless opt.Persist, and handles
// go on to work but lead nowhere (mmv_stats_stop(3)).
func (r *Registry) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	stop, stopped := r.stop, r.stopped
	r.mu.Unlock()
	if stop != nil {
		close(stop)
		<-stopped
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		return nil
	}
	for _, h := range r.hists {
		h.refresh()
	}
	var err error
	if !r.opt.Persist {
		err = r.m.remove(r.path)
	}
	r.m.release()
	return err
}

// nextGeneration returns a generation number later than last: the time of day,
// seconds in the upper half and microseconds in the lower.
func nextGeneration(last uint64) uint64 {
	now := time.Now()
	g := uint64(now.Unix())<<32 | uint64(now.Nanosecond()/1000)
	if g <= last {
		g = last + 1
	}
	return g
}

// define checks def and adds it with type typ. The result is never nil: what
// was refused has one value in memory.
func (r *Registry) define(def Metric, typ Type, multi bool) *metric {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &metric{r: r, def: def, typ: typ}
	if err := r.admit(m, multi); err != nil {
		r.fail(fmt.Errorf("metric %q: %w", def.Name, err))
		m.r, m.inDom = nil, nil
		m.slots.grow(m, 1, false)
		return m
	}
	n := 1
	if m.inDom != nil {
		m.inDom.metrics = append(m.inDom.metrics, m)
		n = len(m.inDom.insts)
	}
	m.slots.grow(m, n, r.m != nil)
	r.byName[def.Name] = m
	r.byItem[m.item] = m
	r.c.metrics = append(r.c.metrics, m)
	if r.m != nil {
		r.addMetric(m)
	}
	for _, l := range def.Labels {
		if err := r.addLabel(pcp.LabelItem, m.item, pcp.InNull, l); err != nil {
			r.fail(fmt.Errorf("metric %q: %w", def.Name, err))
		}
	}
	return m
}

// single defines a metric with a single value, and returns that.
func (r *Registry) single(def Metric, typ Type) *slot {
	return r.define(def, typ, false).slots.at(0)
}

// admit checks what a definition says and fills in what it leaves open.
func (r *Registry) admit(m *metric, multi bool) error {
	switch {
	case r.closed:
		return errClosed
	case r.started && r.opt.Fixed:
		return errStarted
	case !m.typ.valid():
		return fmt.Errorf("type %d: %w", m.typ, errInvalid)
	case r.byName[m.def.Name] != nil:
		return fmt.Errorf("defined twice: %w", errExist)
	case len(r.c.metrics) >= MaxMetrics:
		return fmt.Errorf("more than %d metrics: %w", MaxMetrics, errTooMany)
	}
	if err := checkName(m.def.Name); err != nil {
		return err
	}
	if err := checkText("one-line help", m.def.OneLine); err != nil {
		return err
	}
	if err := checkText("help", m.def.Help); err != nil {
		return err
	}
	switch m.item = m.def.Item; {
	case m.item == ItemZero:
		m.item = 0
	case m.item == 0:
		for r.byItem[r.lowItem] != nil {
			r.lowItem++
		}
		m.item = r.lowItem
	}
	if m.item < 0 || m.item > MaxItem {
		return fmt.Errorf("item %d, not in 0..%d: %w", m.item, MaxItem, errInvalid)
	}
	if other := r.byItem[m.item]; other != nil {
		return fmt.Errorf("item %d is that of %s: %w", m.item, other.def.Name, errExist)
	}
	m.inDom = m.def.InDom
	switch {
	case m.inDom != nil && m.inDom.r != r:
		return fmt.Errorf("its instance domain belongs to another registry: %w", errNoInDom)
	case m.inDom == nil && multi:
		d, err := r.addInDom(InDomDef{})
		if err != nil {
			return err
		}
		m.inDom = d
	case m.inDom != nil && !multi:
		return fmt.Errorf("a single value has no instance domain: %w", errInvalid)
	}
	return nil
}

// checkName holds a metric's name to the rules of the name space, so that the
// agent will not drop it.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("no name: %w", errInvalid)
	}
	if err := checkText("name", name); err != nil {
		return err
	}
	if !pcp.ValidName(name) {
		return fmt.Errorf("%q is not a metric name, letters, digits and underscores after a letter, with dots between: %w", name, errInvalid)
	}
	return nil
}

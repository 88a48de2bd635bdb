package mmv

import (
	"fmt"
	"sync"
	"time"
)

// Options configures the file of a registry. The zero Options are right for a
// program that wants its metrics to appear while it runs.
type Options struct {
	// Cluster is the preferred cluster of the metrics' PMIDs, 1..4095; with 0
	// the agent takes a free one.
	Cluster int
	// Dir is the directory of the file; "" means DefaultDir(config.Process()).
	Dir string
	// Persist keeps the metrics visible after the program has ended. Without it
	// the file has MMV_FLAG_PROCESS and Close removes it.
	Persist bool
	// NoPrefix names metrics mmv.METRIC instead of mmv.FILE.METRIC.
	NoPrefix bool
	// Sentinel makes a value of all ones, NaN, or the empty string mean "no value".
	Sentinel bool
	// Continue takes the values of the previous run from a file of the same name,
	// for every metric and instance that is defined again. Close keeps the file
	// only with Persist; a killed program leaves it in any case.
	Continue bool
	// Fixed writes the file once, when Start is called, with exactly the bytes of
	// libpcp_mmv; nothing can be added afterwards.
	Fixed bool
	// MaxValues is the maximum number of values of the file, and of its
	// instances; 0 means 65,536, and maxFileValues is the limit. At most 16,384
	// of the values are texts. It costs address space and holes in the file, not
	// memory. Not used if Fixed.
	MaxValues int
	// Refresh is the time between updates of the statistics of histograms; 0
	// means a second.
	Refresh time.Duration
	// Labels describe all metrics of the file (mmv_stats_add_registry_label(3)).
	Labels []Label
}

// A refresher has values that are computed from others periodically.
type refresher interface{ refresh() }

// A Registry is one file of metrics (mmv_stats_registry(3)). Its methods may
// be called from many goroutines.
//
// Defining a metric never fails in a way that a program must handle:
// [Registry.Err] keeps the error of an invalid definition, and the handle works
// but has no effect. Instrumentation must not break the program that it measures.
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
	derived  []refresher
	stop     chan struct{}
	stopped  chan struct{}
}

// Path returns the path of the file.
func (r *Registry) Path() string { return r.path }

// Err returns the first error of a definition, or of adding an instance. If there
// was none, it checks the file and returns the reason if agents cannot see it: it
// or its folder was removed, it was cut short, or another program has a file of the
// same name. Err returns nil if all is well.
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

// fail keeps the first error. Counting after Close is not an error. The caller
// holds r.mu.
func (r *Registry) fail(err error) {
	if r.err == nil && !r.closed {
		r.err = fmt.Errorf("mmv registry %s: %w", r.name, err)
	}
}

// A past holds the values of a file from the previous run.
type past map[string]pastMetric

type pastMetric struct {
	typ    Type
	single RawValue
	byName map[string]RawValue // of the instances
	text   map[string]string   // of strings, "" for the single one
}

// startRefreshing starts the goroutine that updates histograms, once there are
// both a file and a histogram. The caller holds r.mu.
func (r *Registry) startRefreshing() {
	if r.stop != nil || r.m == nil || r.closed || len(r.derived) == 0 {
		return
	}
	r.stop, r.stopped = make(chan struct{}), make(chan struct{})
	go func(stop <-chan struct{}, stopped chan<- struct{}) {
		defer close(stopped)
		tick := time.NewTicker(r.opt.Refresh)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			r.mu.Lock()
			derived := r.derived
			r.mu.Unlock()
			for _, d := range derived {
				d.refresh()
			}
		}
	}(r.stop, r.stopped)
}

// Flush updates the statistics of all histograms now.
func (r *Registry) Flush() {
	r.mu.Lock()
	derived := r.derived
	r.mu.Unlock()
	for _, d := range derived {
		d.refresh()
	}
}

package bridge

import (
	"cmp"
	"sync"
	"time"

	"github.com/go-pcp/pcp/mmv"
)

// An Exporter updates a sink, periodically and on request.
type Exporter struct {
	fill func(*Sink) error
	quit chan struct{}
	done chan struct{}
	once sync.Once

	mu   sync.Mutex
	sink *Sink
	err  error // of the last round
}

// Start calls fill, which sets all metrics of the sink, now and once per
// opt.Interval until Stop. When Start returns the metrics exist. If fill returns an
// error, metrics that it did not set keep their values.
func Start(reg *mmv.Registry, opt Options, fill func(*Sink) error) *Exporter {
	e := &Exporter{
		fill: fill, sink: NewSink(reg, opt),
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	e.Refresh()
	go e.run(cmp.Or(max(opt.Interval, 0), time.Second))
	return e
}

func (e *Exporter) run(interval time.Duration) {
	defer close(e.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-e.quit:
			return
		case <-tick.C:
			e.Refresh()
		}
	}
}

// Refresh updates all values now.
func (e *Exporter) Refresh() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sink.Begin()
	e.err = e.fill(e.sink)
	if e.err == nil {
		e.sink.End()
	}
	return e.err
}

// Err returns the error of the last round, or of the first instance or metric
// without room.
func (e *Exporter) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return cmp.Or(e.err, e.sink.Err())
}

// Stop updates the values a last time and ends the exporter. The metrics stay in
// the registry.
func (e *Exporter) Stop() {
	e.once.Do(func() {
		close(e.quit)
		<-e.done
		e.Refresh()
	})
}

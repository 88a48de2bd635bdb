package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-pcp/pcp/mmv"
)

// The groups, in the order of the report.
const (
	counter   = "counter, add one"
	gauge     = "gauge, set"
	timer     = "timer, add a duration"
	instance  = "counter of an instance whose handle is kept"
	lookup    = "counter of an instance that is looked up by name, of 100"
	histogram = "histogram, observe"
	text      = "string, set"
	create    = "create 10,000 values"
)

var groups = []string{counter, gauge, timer, instance, lookup, histogram, text, create}

// observed has the values that histograms observe in turn.
var observed = func() (v [1 << 10]int64) {
	for i := range v {
		v[i] = int64(i*i*i%1000000 + 1)
	}
	return v
}()

// ours returns the measurements of package mmv, and the floor: an atomic
// addition on another mapping of the same file.
func ours() ([]contender, error) {
	reg, err := mmv.New("ours", mmv.Options{})
	if err != nil {
		return nil, err
	}
	c := reg.Counter(mmv.Metric{Name: "counter"})
	own := reg.Counter(mmv.Metric{Name: "own"}).Own()
	g := reg.Gauge(mmv.Metric{Name: "gauge"})
	ig := reg.IntGauge(mmv.Metric{Name: "intgauge"})
	tm := reg.Timer(mmv.Metric{Name: "timer"})
	vec := reg.CounterVec(mmv.Metric{Name: "vec"})
	for i := range 100 {
		vec.With(fmt.Sprintf("instance%d", i))
	}
	held := vec.With("instance50")
	h := reg.Histogram(mmv.Metric{Name: "histogram"})
	s := reg.String(mmv.Metric{Name: "string"})
	bare := reg.Counter(mmv.Metric{Name: "bare"})
	if err := reg.Err(); err != nil {
		return nil, err
	}
	word, err := wordOf(reg.Path(), "bare")
	if err != nil {
		return nil, err
	}
	if atomic.AddUint64(word, 1); bare.Value() != 1 {
		return nil, fmt.Errorf("%s: the floor is elsewhere", reg.Path())
	}

	floor := func(n int) {
		for range n {
			atomic.AddUint64(word, 1)
		}
	}
	var cs []contender
	for _, group := range []string{counter, gauge, timer, instance} {
		cs = append(cs, contender{group: group, name: "bare atomic add on the same mapping", run: floor})
	}
	cs = append(cs,
		contender{group: counter, name: "pcp/mmv Counter.Inc", run: func(n int) {
			for range n {
				c.Inc()
			}
		}},
		contender{group: counter, name: "pcp/mmv OwnCounter.Inc", alone: true, run: func(n int) {
			for range n {
				own.Inc()
			}
		}},
		contender{group: gauge, name: "pcp/mmv Gauge.Set", run: func(n int) {
			for i := range n {
				g.Set(float64(i))
			}
		}},
		contender{group: gauge, name: "pcp/mmv IntGauge.Add", run: func(n int) {
			for range n {
				ig.Add(-1)
			}
		}},
		contender{group: timer, name: "pcp/mmv Timer.Add", run: func(n int) {
			for i := range n {
				tm.Add(time.Duration(i))
			}
		}},
		contender{group: instance, name: "pcp/mmv Counter.Inc", run: func(n int) {
			for range n {
				held.Inc()
			}
		}},
		contender{group: lookup, name: "pcp/mmv CounterVec.With(name).Inc", run: func(n int) {
			for range n {
				vec.With("instance50").Inc()
			}
		}},
		contender{group: lookup, name: "pcp/mmv Registry.Lookup(metric, name).Inc", run: func(n int) {
			for range n {
				reg.Lookup("vec", "instance50").Inc()
			}
		}},
		contender{group: histogram, name: "pcp/mmv Histogram.Observe", run: func(n int) {
			for i := range n {
				h.Observe(observed[i%len(observed)])
			}
		}},
		contender{group: text, name: "pcp/mmv String.Set", run: func(n int) {
			for range n {
				s.Set("a text of the usual length")
			}
		}},
	)

	names := make([]string, 10000)
	for i := range names {
		names[i] = fmt.Sprintf("instance%d", i)
	}
	made := func(opt mmv.Options, define func(*mmv.Registry)) func() func() {
		return func() func() {
			reg, err := mmv.New("create", opt)
			if err != nil {
				panic(err)
			}
			define(reg)
			if err := reg.Start(); err != nil {
				panic(err)
			}
			return func() { reg.Close() }
		}
	}
	tenEach := func(reg *mmv.Registry) {
		d := reg.InDom(mmv.InDomDef{Instances: names[:10]})
		for i := range 1000 {
			reg.CounterVec(mmv.Metric{Name: fmt.Sprintf("metric%d", i), InDom: d})
		}
	}
	oneByOne := func(reg *mmv.Registry) {
		v := reg.CounterVec(mmv.Metric{Name: "v"})
		for _, name := range names {
			v.With(name)
		}
	}
	cs = append(cs,
		contender{group: create, name: "pcp/mmv 1 x 10000, With one by one", create: made(mmv.Options{}, oneByOne)},
		contender{group: create, name: "pcp/mmv 1 x 10000, fixed", create: made(mmv.Options{Fixed: true}, oneByOne)},
		contender{group: create, name: "pcp/mmv 1000 x 10", create: made(mmv.Options{}, tenEach)},
		contender{group: create, name: "pcp/mmv 1000 x 10, fixed", create: made(mmv.Options{Fixed: true}, tenEach)},
	)
	return cs, nil
}

// wordOf maps a file once more and returns the value of a metric.
func wordOf(path, metric string) (*uint64, error) {
	f, err := mmv.Open(path)
	if err != nil {
		return nil, err
	}
	fd, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer fd.Close()
	st, err := fd.Stat()
	if err != nil {
		return nil, err
	}
	b, err := syscall.Mmap(int(fd.Fd()), 0, int(st.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	for _, m := range f.Metrics {
		if m.Name == metric {
			return (*uint64)(unsafe.Pointer(&b[int(f.ValuesAt)+m.Values[0].Index*32])), nil
		}
	}
	return nil, fmt.Errorf("%s: no metric %s", path, metric)
}

package mmv

import (
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

func benchRegistry(b *testing.B, max int) *Registry {
	b.Helper()
	reg, err := New("bench", Options{Dir: b.TempDir(), MaxValues: max})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := reg.Err(); err != nil {
			b.Error(err)
		}
		reg.Close()
	})
	return reg
}

func parallel(b *testing.B, f func()) {
	b.Run("1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				f()
			}
		})
	})
}

// BenchmarkAtomicAdd is the lower bound: an atomic add on the same mapped memory.
func BenchmarkAtomicAdd(b *testing.B) {
	reg := benchRegistry(b, 0)
	word := &reg.Counter(Metric{Name: "c"}).rec[0]
	parallel(b, func() { atomic.AddUint64(word, 1) })
}

func BenchmarkCounter(b *testing.B) {
	c := benchRegistry(b, 0).Counter(Metric{Name: "c"})
	parallel(b, func() { c.Inc() })
}

func BenchmarkOwnCounter(b *testing.B) {
	c := benchRegistry(b, 0).Counter(Metric{Name: "c"}).Own()
	for b.Loop() {
		c.Inc()
	}
}

func BenchmarkGaugeSet(b *testing.B) {
	g := benchRegistry(b, 0).Gauge(Metric{Name: "g"})
	parallel(b, func() { g.Set(3.14) })
}

func BenchmarkInstanceCounter(b *testing.B) {
	c := benchRegistry(b, 0).CounterVec(Metric{Name: "c"}).With("Anvils")
	parallel(b, func() { c.Inc() })
}

func BenchmarkTimer(b *testing.B) {
	t := benchRegistry(b, 0).Timer(Metric{Name: "t"})
	parallel(b, func() { t.Add(12345) })
}

func BenchmarkWith(b *testing.B) {
	c := benchRegistry(b, 0).CounterVec(Metric{Name: "c"})
	for i := range 100 {
		c.With("route" + strconv.Itoa(i))
	}
	parallel(b, func() { c.With("route42").Inc() })
}

func BenchmarkHistogram(b *testing.B) {
	h := benchRegistry(b, 0).Histogram(Metric{Name: "h"})
	parallel(b, func() { h.Observe(123456) })
}

func BenchmarkStringSet(b *testing.B) {
	s := benchRegistry(b, 0).String(Metric{Name: "s"})
	b.ReportAllocs()
	for b.Loop() {
		s.Set("a text of the usual length")
	}
}

// BenchmarkCreate10000 creates a file with 10,000 values, one by one and in
// one go. As machines are never quiet for long, it reports the best time as well.
func BenchmarkCreate10000(b *testing.B) {
	names := make([]string, 10000)
	for i := range names {
		names[i] = "instance" + strconv.Itoa(i)
	}
	create := func(opt Options, add func(*Registry)) func(*testing.B) {
		return func(b *testing.B) {
			opt.Dir = b.TempDir()
			best := time.Hour
			for b.Loop() {
				start := time.Now()
				reg, err := New("bench", opt)
				if err != nil {
					b.Fatal(err)
				}
				add(reg)
				if err := reg.Start(); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(start))
				b.StopTimer()
				reg.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
		}
	}
	b.Run("With", create(Options{}, func(reg *Registry) {
		c := reg.CounterVec(Metric{Name: "c"})
		for _, name := range names {
			c.With(name)
		}
	}))
	batch := func(reg *Registry) {
		reg.CounterVec(Metric{Name: "c", InDom: reg.InDom(InDomDef{Instances: names})})
	}
	b.Run("Instances", create(Options{}, batch))
	b.Run("Fixed", create(Options{Fixed: true}, batch))
	b.Run("1000x10", create(Options{}, func(reg *Registry) {
		d := reg.InDom(InDomDef{Instances: names[:10]})
		for _, name := range names[:1000] {
			reg.CounterVec(Metric{Name: name, InDom: d})
		}
	}))
}

// BenchmarkOpen reads the definitions of 10,000 values, and BenchmarkReadValues
// the values, as an agent does for a fetch.
func BenchmarkOpen(b *testing.B) {
	reg, r := bench10000(b)
	st, err := r.Stat()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewFile(r, st.Size()); err != nil {
			b.Fatal(err)
		}
	}
	reg.Close()
}

func BenchmarkReadValues(b *testing.B) {
	_, r := bench10000(b)
	f, err := Open(r.Name())
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	var raw []RawValue
	b.ReportAllocs()
	for b.Loop() {
		if buf, raw, err = f.ReadValues(r, buf, raw); err != nil {
			b.Fatal(err)
		}
	}
}

func bench10000(b *testing.B) (*Registry, *os.File) {
	reg := benchRegistry(b, 0)
	c := reg.CounterVec(Metric{Name: "c"})
	for i := range 10000 {
		c.With("instance" + strconv.Itoa(i))
	}
	fd, err := os.Open(reg.Path())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { fd.Close() })
	return reg, fd
}

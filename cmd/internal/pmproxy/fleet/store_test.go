package fleet_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A metric of the made-up hosts.
type metric struct {
	name  string
	desc  pcp.Desc
	insts []string
	scale float64 // of values, or of the rate of counters
}

func metrics() []metric {
	gauge := func(name string, item int, insts []string, scale float64) metric {
		m := metric{name, pcp.Desc{PMID: pcp.NewPMID(60, 1, item), Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, insts, scale}
		if insts != nil {
			m.desc.InDom = pcp.NewInDom(60, item)
		}
		return m
	}
	counter := func(name string, item int, insts []string, rate float64) metric {
		m := gauge(name, item, insts, rate)
		m.desc.Type, m.desc.Sem = pcp.TypeU64, pcp.SemCounter
		return m
	}
	return []metric{
		gauge("kernel.all.load", 1, []string{"1 minute", "5 minute", "15 minute"}, 8),
		gauge("hinv.ncpu", 2, nil, 0),
		gauge("mem.physmem", 3, nil, 0),
		gauge("mem.util.available", 4, nil, 8e6),
		counter("kernel.all.pressure.cpu.some.total", 5, nil, 1e6),
		counter("kernel.all.pressure.memory.some.total", 6, nil, 1e5),
		counter("kernel.all.pressure.io.some.total", 7, nil, 1e6),
		counter("disk.dev.avactive", 8, []string{"sda", "sdb"}, 1000),
		counter("network.interface.in.bytes", 9, []string{"lo", "eth0", "eth1"}, 1e7),
		counter("network.interface.out.bytes", 10, []string{"lo", "eth0", "eth1"}, 1e7),
	}
}

const from = 1_700_000_000

// answer is a part of the JSON of /fleet/hosts.
type answer struct {
	Hosts   []string
	Values  map[string][]*float64
	History map[string]struct {
		Low, High []*float64
		Levels    []*string
	}
	Levels []string // of a heat map
	Low    []float64
	High   []float64
	Start  float64
}

func get(t *testing.T, h http.Handler, target string) (body []byte, a answer) {
	t.Helper()
	var w *httptest.ResponseRecorder
	for end := time.Now().Add(2 * time.Minute); ; {
		w = httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if w.Code != http.StatusServiceUnavailable || time.Now().After(end) {
			break
		}
	}
	if w.Code != 200 {
		t.Fatalf("%.80s: %d %.300s", target, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	return w.Body.Bytes(), a
}

// TestTableIsThatOfQueries compares the table of 20 hosts, with gaps, restarts and missing metrics, with the results of direct queries.
func TestTableIsThatOfQueries(t *testing.T) {
	s := seriestest.New()
	rnd := rand.New(rand.NewPCG(1, 2))
	const hosts, every, samples = 20, 30, 160
	for n := range hosts {
		set := fmt.Sprintf(`{"hostname":"host%02d","place":"p%d"}`, n, n%3)
		for _, m := range metrics() {
			if rnd.IntN(8) == 0 && m.scale != 0 {
				continue
			}
			id := s.AddMetric(m.name, m.desc, set, fmt.Sprintf("/a/%d", n))
			insts := m.insts
			var ids []sid.ID
			if insts == nil {
				insts = []string{""}
				ids = make([]sid.ID, 1)
			} else {
				for i, name := range insts {
					ids = append(ids, s.AddInstance(id, int32(i), name, ""))
				}
			}
			counts := make([]float64, len(insts))
			gap := rnd.IntN(2 * samples)
			for k := range samples {
				if m.scale != 0 && k >= gap && k < gap+25 {
					continue
				}
				var values []series.InstValue
				for i := range insts {
					v := rnd.Float64() * m.scale
					switch {
					case m.name == "hinv.ncpu":
						v = float64(1 + n%4)
					case m.name == "mem.physmem":
						v = 8e6
					case m.desc.Sem == pcp.SemCounter:
						if rnd.IntN(100) == 0 {
							counts[i] = 0
						}
						counts[i] += math.Floor(v * every)
						v = counts[i]
					}
					val := pcp.DoubleValue(v)
					if m.desc.Type == pcp.TypeU64 {
						val = pcp.Uint64Value(uint64(v))
					}
					val.Inst = pcp.InNull
					if m.insts != nil {
						val.Inst = int32(i)
					}
					values = append(values, series.InstValue{Instance: ids[i], Value: val})
				}
				s.Append(id, pcp.Timestamp{Sec: from + int64(k*every)}, values...)
			}
		}
	}
	data, engine := store.New(s, store.Config{}), store.NewEngine(store.EngineConfig{})
	now := time.Unix(from+samples*every, 0)
	f := fleet.New(fleet.Config{Source: fleet.Queries(engine, data), Now: func() time.Time { return now }})
	defer f.Close()
	h := f.Handler(fleet.View{})
	_, a := get(t, h, "/fleet/hosts")
	if len(a.Hosts) != hosts {
		t.Fatalf("hosts are %q", a.Hosts)
	}
	target := "/fleet/hosts?"
	for _, name := range a.Hosts {
		target += "host=" + url.QueryEscape(name) + "&"
	}
	_, past := get(t, h, target)
	start := now.Add(-(fleet.Points - 1) * fleet.Step)
	compared := 0
	for column, expr := range map[string]string{
		"load":        `sum by (hostname) (kernel_all_load{instname="1 minute"}) / max by (hostname) (hinv_ncpu @ end())`,
		"cpu":         `sum by (hostname) (rate(kernel_all_pressure_cpu_some_total[5m])) / 1000000`,
		"mempressure": `sum by (hostname) (rate(kernel_all_pressure_memory_some_total[5m])) / 1000000`,
		"io":          `sum by (hostname) (rate(kernel_all_pressure_io_some_total[5m])) / 1000000`,
		"memory":      `1 - sum by (hostname) (mem_util_available) / max by (hostname) (mem_physmem @ end())`,
		"disk":        `max by (hostname) (rate(disk_dev_avactive[5m])) / 1000`,
		"network": `sum by (hostname) (rate(network_interface_in_bytes{instname=~"eth.*"}[5m])) + ` +
			`sum by (hostname) (rate(network_interface_out_bytes{instname=~"eth.*"}[5m]))`,
	} {
		want := map[string][]float64{}
		q, err := engine.NewRangeQuery(t.Context(), data, nil, expr, start, now, fleet.Step)
		if err != nil {
			t.Fatal(err)
		}
		m, err := q.Exec(t.Context()).Matrix()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range m {
			row := make([]float64, fleet.Points)
			for i := range row {
				row[i] = math.NaN()
			}
			for _, p := range s.Floats {
				row[(p.T-start.UnixMilli())/fleet.Step.Milliseconds()] = p.F
			}
			want[s.Metric.Get("hostname")] = row
		}
		if len(want) < hosts/2 {
			t.Fatalf("%s: %d hosts", expr, len(want))
		}
		for i, name := range a.Hosts {
			row, ok := want[name]
			newest := math.NaN()
			for k := fleet.Points - 5; ok && k < fleet.Points; k++ {
				if !math.IsNaN(row[k]) {
					newest = row[k]
				}
			}
			got := a.Values[column][i]
			if (got == nil) != math.IsNaN(newest) || got != nil && math.Abs(*got-newest) > 5e-4*math.Abs(newest) {
				t.Errorf("%s of %s is %v, want %v", column, name, got, newest)
			}
			levels := past.History[column].Levels[i]
			if (levels == nil) == ok {
				t.Errorf("%s of %s: a history: %v, want %v", column, name, levels != nil, ok)
				continue
			}
			if levels == nil {
				continue
			}
			b, err := base64.StdEncoding.DecodeString(*levels)
			if err != nil {
				t.Fatal(err)
			}
			r := fleet.Row{Low: *past.History[column].Low[i], High: *past.History[column].High[i], Bytes: b}
			for k, v := range row {
				got, there := r.Value(k)
				if there == math.IsNaN(v) || there && math.Abs(got-v) > (r.High-r.Low)/200+1e-3*math.Abs(v) {
					t.Errorf("%s of %s at point %d is %v, %v, want %v", column, name, k, got, there, v)
				}
				compared++
			}
		}
	}
	if compared < 5000 {
		t.Errorf("only %d points were compared", compared)
	}
}

// TestBytes measures the answers for 10,000 hosts. They may have at most 1 MB, compressed.
func TestBytes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	src := source(func(expr string, start, end time.Time, step time.Duration, each func(labels.Labels, []promql.FPoint) error) error {
		for n := range 10_000 {
			var points []promql.FPoint
			v := rnd.Float64()
			for at := start; !at.After(end); at = at.Add(step) {
				v = math.Abs(v + 0.1*rnd.NormFloat64())
				points = append(points, promql.FPoint{T: at.UnixMilli(), F: v})
			}
			set := labels.FromStrings("hostname", fmt.Sprintf("node-%05d.example.com", n), "place", strconv.Itoa(n%30), "machineid", fmt.Sprintf("%032x", rnd.Uint64()))
			if err := each(set, points); err != nil {
				return err
			}
		}
		return nil
	})
	f := fleet.New(fleet.Config{Source: src})
	defer f.Close()
	h := f.Handler(fleet.View{})
	page := "/fleet/hosts?"
	for n := range 40 {
		page += fmt.Sprintf("host=node-%05d.example.com&", 7*n)
	}
	for _, c := range []struct {
		name, target string
		most         int
	}{
		{"the table", "/fleet/hosts", 1 << 20},
		{"a heat map of 60 points", "/fleet/heat?column=load", 1 << 20},
		{"the history of 40 hosts", page, 32 << 10},
	} {
		began := time.Now()
		body, _ := get(t, h, c.target)
		took := time.Since(began)
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes, %d compressed, after %v", c.name, len(body), packed.Len(), took.Round(time.Millisecond))
		if packed.Len() > c.most {
			t.Errorf("%s has %d bytes, at most %d", c.name, packed.Len(), c.most)
		}
	}
}

// A source is a function.
type source func(expr string, start, end time.Time, step time.Duration, each func(labels.Labels, []promql.FPoint) error) error

func (s source) Range(_ context.Context, expr string, start, end time.Time, step time.Duration, each func(labels.Labels, []promql.FPoint) error) error {
	return s(expr, start, end, step, each)
}

// TestArchives makes the table of many hosts from archives of an hour with a sample each 30 seconds: 50 hosts, or 1,000 in the long form.
func TestArchives(t *testing.T) {
	hosts := longtest.N(50, 1000)
	dir := t.TempDir()
	end := time.Now().Truncate(time.Second)
	for n := range hosts {
		write(t, filepath.Join(dir, fmt.Sprintf("host%04d", n), "20261127"), n, end)
	}
	st, err := archives.Open(t.Context(), archives.Config{Dirs: []string{dir}, MaxOpen: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	data := store.New(st, store.Config{})
	now := end
	f := fleet.New(fleet.Config{
		Source: fleet.Queries(store.NewEngine(store.EngineConfig{}), data), Now: func() time.Time { return now },
		Hosts: fleet.HostsOf(st),
	})
	defer f.Close()
	h := f.Handler(fleet.View{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	_, a := get(t, h, "/fleet/hosts?window=3600&end="+strconv.FormatInt(end.Unix(), 10))
	first := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(a.Hosts) != hosts {
		t.Fatalf("%d hosts", len(a.Hosts))
	}
	for i, name := range a.Hosts {
		n, _ := strconv.Atoi(strings.TrimPrefix(name, "host"))
		if v := a.Values["load"][i]; v == nil || *v != float64(n%7) {
			t.Errorf("the load of %s is %v, want %d", name, v, n%7)
		}
	}
	t.Logf("%d hosts from archives: %v, %.1f MB allocated, %.1f MB kept", hosts, first.Round(time.Millisecond),
		float64(after.TotalAlloc-before.TotalAlloc)/1e6, float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6)
	began = time.Now()
	get(t, h, "/fleet/heat?metric=disk.dev.avactive&rate=true&end="+strconv.FormatInt(end.Unix(), 10))
	t.Logf("a heat map of one metric: %v", time.Since(began).Round(time.Millisecond))
}

// write writes an archive of a host.
func write(t *testing.T, base string, n int, end time.Time) {
	t.Helper()
	const every, samples = 30, 121
	start := end.Add(-(samples - 1) * every * time.Second)
	if err := os.MkdirAll(filepath.Dir(base), 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: filepath.Base(filepath.Dir(base)), TimeZone: "UTC", Start: pcp.Timestamp{Sec: start.Unix()}}})
	if err != nil {
		t.Fatal(err)
	}
	list := metrics()
	for _, m := range list {
		if err := w.Desc(m.desc, m.name); err != nil {
			t.Fatal(err)
		}
		if m.insts == nil {
			continue
		}
		var insts []pcp.Instance
		for i, name := range m.insts {
			insts = append(insts, pcp.Instance{Inst: int32(i), Name: name})
		}
		if err := w.InDom(pcp.Timestamp{Sec: start.Unix()}, m.desc.InDom, insts); err != nil {
			t.Fatal(err)
		}
	}
	for k := range samples {
		var res pcp.Result
		res.Time = pcp.Timestamp{Sec: start.Unix() + int64(k*every)}
		for _, m := range list {
			res.AddSet(m.desc.PMID)
			for i := range max(1, len(m.insts)) {
				v := pcp.DoubleValue(float64(2 * (n % 7)))
				switch {
				case m.name == "hinv.ncpu":
					v = pcp.DoubleValue(2)
				case m.desc.Type == pcp.TypeU64:
					v = pcp.Uint64Value(uint64(k * every * 100))
				}
				v.Inst = pcp.InNull
				if m.insts != nil {
					v.Inst = int32(i)
				}
				res.Add(v)
			}
		}
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

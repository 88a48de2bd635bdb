package main

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/web"
)

// A fake is a collector of a made-up host, and its archives of six hours, behind the parts of the
// REST interface that the page uses. Its texts are hostile.
type fake struct {
	*httptest.Server
	metrics []fakeMetric
	domains map[string][]string // the names of instances; numbers are indices

	mu         sync.Mutex
	down       bool // the collector is lost
	noSeries   bool
	streams    bool          // there is /stream
	cut        chan struct{} // closed to end the streams
	real       http.Handler  // answers /series in place of this, if it is set
	collector  http.Handler  // answers /pmapi and /stream, if it is set
	fleet      http.Handler  // answers /fleet, if it is set
	diagnose   http.Handler  // answers /diagnose, if it is set
	alerts     http.Handler  // answers /alerts for clients with the token, if it is set
	recordings http.Handler  // answers /recordings for clients with the token, if it is set
	// Hosts with the same archives, whose collectors are not reached.
	elsewhere map[string]bool
	log       []string    // the requested paths
	only      map[int]int // the process that a context has asked for alone
	contexts  int
	gone      map[string]bool // metrics that the collector has no more
	began     float64
	requests  atomic.Int64
	clock     atomic.Int64 // seconds by which the clock was set

	receivers, sent atomic.Int64 // open streams, and samples that they have sent
}

type fakeMetric struct {
	name, pmid, indom, kind, sem, units, oneline, help string
	labels                                             map[string]any
	value                                              func(inst int, t float64) any
}

// hostile is markup that would show in a dialog if it were interpreted.
const hostile = `<img src=x onerror=alert(1)>`

// formula is a command that a spreadsheet would execute.
const formula = `=HYPERLINK("http://127.0.0.1:9/","x")`

const (
	recordedFor   = 6 * time.Hour
	recordedEvery = 10 // seconds
)

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{began: float64(time.Now().Unix()), only: map[int]int{}, domains: map[string][]string{
		"60.2":  {"1 minute", "5 minute", "15 minute"},
		"60.1":  {"sda", "nvme0n1"},
		"60.3":  {"lo", "eth0"},
		"60.37": {"10 second", "1 minute", "5 minute"},
		"3.9":   processNames(),
		"3.16":  {"/system.slice", "/user.slice/user-1000.slice", "/" + hostile},
		"29.9":  {hostile, "ordinary", `"><script>alert(2)</script>`},
		"2.4":   {"12345"},
	}}
	wave := func(mean, swing, period float64) func(int, float64) any {
		return func(i int, t float64) any {
			return math.Max(0, mean+swing*math.Sin(2*math.Pi*t/(period*float64(i+1))+float64(i)))
		}
	}
	// count is the integral of a wave: a counter with that rate.
	count := func(mean, swing, period float64) func(int, float64) any {
		return func(i int, t float64) any {
			p := period * float64(i+1)
			return math.Floor(mean*math.Mod(t, 1e8) - min(swing, mean)*p/(2*math.Pi)*math.Cos(2*math.Pi*t/p))
		}
	}
	constant := func(v any) func(int, float64) any { return func(int, float64) any { return v } }
	add := func(name, indom, kind, sem, units string, value func(int, float64) any) {
		f.metrics = append(f.metrics, fakeMetric{
			name: name, pmid: fmt.Sprintf("60.%d.0", len(f.metrics)), indom: indom, kind: kind, sem: sem, units: units,
			oneline: "What " + name + " is about " + hostile, help: "Help on " + name + ".\n\n" + hostile,
			labels: map[string]any{"agent": "fake", hostile: hostile}, value: value,
		})
	}
	add("hinv.ncpu", "", "u32", "discrete", "none", constant(4))
	add("kernel.all.load", "60.2", "float", "instant", "none", wave(1.5, 1, 300))
	for i, name := range []string{"user", "nice", "sys", "intr", "wait.total", "steal"} {
		add("kernel.all.cpu."+name, "", "u64", "counter", "millisec", count(1400/float64(i*i+1), 500/float64(i*i+1), 90+30*float64(i)))
	}
	add("kernel.all.cpu.idle", "", "u64", "counter", "millisec", count(3600, 500, 90))
	for i, name := range []string{"other", "bufmem", "cached", "free", "available"} {
		add("mem.util."+name, "", "u64", "instant", "Kbyte", wave(3e6/float64(i+1), 4e5/float64(i+1), 240))
	}
	add("mem.physmem", "", "u64", "discrete", "Kbyte", constant(8<<20))
	add("swap.used", "", "u64", "instant", "byte", wave(2e8, 1e8, 500))
	add("swap.length", "", "u64", "instant", "byte", constant(2<<30))
	for _, name := range []string{"read_bytes", "write_bytes", "total_bytes"} {
		add("disk.all."+name, "", "u64", "counter", "Kbyte", count(9000, 7000, 70))
	}
	add("disk.all.total", "", "u64", "counter", "count", count(240, 150, 70))
	add("disk.dev.read", "60.1", "u64", "counter", "count", count(120, 60, 60))
	for _, name := range []string{"in", "out"} {
		add("network.interface."+name+".bytes", "60.3", "u64", "counter", "byte", count(2.5e6, 2e6, 80))
	}
	for _, name := range []string{"cpu", "memory", "io"} {
		add("kernel.all.pressure."+name+".some.avg", "60.37", "float", "instant", "none", wave(7, 6, 100))
	}
	of := func(g func(p *process, t float64) any) func(int, float64) any {
		return func(i int, t float64) any { return g(&processes[i], t) }
	}
	const booted = 1.6e9 // in 2020, before all recordings
	add("kernel.all.uptime", "", "u64", "instant", "sec", func(_ int, t float64) any { return math.Floor(t - booted) })
	add("proc.psinfo.utime", "3.9", "u64", "counter", "millisec", of(func(p *process, t float64) any { return math.Floor(p.cpu * 800 * math.Mod(t, 1e8)) }))
	add("proc.psinfo.stime", "3.9", "u64", "counter", "millisec", of(func(p *process, t float64) any { return math.Floor(p.cpu * 200 * math.Mod(t, 1e8)) }))
	add("proc.psinfo.rss", "3.9", "u64", "instant", "Kbyte", of(func(p *process, _ float64) any { return p.rss }))
	add("proc.psinfo.threads", "3.9", "u32", "instant", "none", constant(7))
	add("proc.psinfo.minflt", "3.9", "u64", "counter", "count", of(func(_ *process, t float64) any { return math.Floor(3 * math.Mod(t, 1e8)) }))
	add("proc.io.read_bytes", "3.9", "u64", "counter", "byte", of(func(p *process, t float64) any { return math.Floor(p.read * math.Mod(t, 1e8)) }))
	add("proc.io.write_bytes", "3.9", "u64", "counter", "byte", of(func(p *process, t float64) any { return math.Floor(p.write * math.Mod(t, 1e8)) }))
	add("proc.psinfo.psargs", "3.9", "string", "discrete", "none", of(func(p *process, _ float64) any { return p.args }))
	add("proc.id.uid_nm", "3.9", "string", "discrete", "none", of(func(p *process, _ float64) any { return p.user }))
	add("proc.psinfo.start_time", "3.9", "u64", "discrete", "millisec", constant((f.began-booted-5*3600)*1000))
	add("proc.psinfo.sname", "3.9", "string", "instant", "none", constant("R"))
	add("proc.psinfo.ppid", "3.9", "u32", "discrete", "none", constant(1))
	add("cgroup.cpu.stat.usage", "3.16", "u64", "counter", "microsec", count(120000, 40000, 60))
	add("cgroup.memory.current", "3.16", "u64", "instant", "byte", wave(4e8, 1e6, 60))
	add("hostile.values", "29.9", "double", "instant", "none", wave(3, 2, 40))
	add("hostile.text", "29.9", "string", "instant", "none", constant(hostile))
	add("sensors.temperature", "", "float", "instant", "temperature (C)", constant(41.5))
	add("sensors.rail", "", "u32", "instant", "voltage (mV)", constant(12040))
	add("sensors.leak", "", "double", "instant", "byte / current (uA)", constant(0.00025))
	add("sensors.energy", "", "u64", "counter", "power (mW) sec", count(4.5e6, 0, 60))
	// A counter that grows a hundred times faster since the test began.
	add("joint.calls", "", "u64", "counter", "count", func(_ int, t float64) any {
		return math.Floor(10*math.Mod(t, 1e8)) + math.Floor(1000*max(0, t-f.began))
	})
	add("pmcd.pmie.configfile", "2.4", "string", "instant", "none", constant("/etc/pmie/"+hostile))
	add("pmcd.pmie.pmcd_host", "2.4", "string", "instant", "none", constant("fake.example.com"))
	add("pmcd.pmie.numrules", "2.4", "u32", "discrete", "none", constant(12))
	add("pmcd.pmie.eval.true", "2.4", "u32", "counter", "count", count(1, 0, 60))
	add("pmcd.pmie.actions", "2.4", "u32", "counter", "count", count(0.5, 0, 60))

	page, err := web.New(web.Config{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.HandleFunc("/pmapi/", f.pmapi)
	mux.HandleFunc("/series/", f.series)
	mux.HandleFunc("/stream", f.stream)
	mux.HandleFunc("/api/v1/query_range", answerQuery)
	mux.HandleFunc("/fleet/", func(w http.ResponseWriter, r *http.Request) {
		if f.fleet == nil {
			http.NotFound(w, r)
			return
		}
		f.fleet.ServeHTTP(w, r)
	})
	mux.HandleFunc("/diagnose", func(w http.ResponseWriter, r *http.Request) {
		if f.diagnose == nil {
			http.NotFound(w, r)
			return
		}
		f.diagnose.ServeHTTP(w, r)
	})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		f.mu.Lock()
		if len(f.log) < 10000 {
			f.log = append(f.log, r.URL.String())
		}
		f.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// asked reports whether a request began with a prefix.
func (f *fake) asked(prefix string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.log, func(s string) bool { return strings.HasPrefix(s, prefix) })
}

// askedOf returns the number of fetches of a metric from the collector.
func (f *fake) askedOf(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.log {
		if strings.HasPrefix(s, "/pmapi/fetch?") && strings.Contains(s, name) {
			n++
		}
	}
	return n
}

// wait waits until a metric was fetched n more times.
func (p *tab) wait(f *fake, name string, n int) {
	p.t.Helper()
	end := time.Now().Add(patience)
	for from := f.askedOf(name); f.askedOf(name) < from+n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s was fetched %d times in %v", name, f.askedOf(name)-from, patience)
		}
	}
}

func (f *fake) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, message string) {
	reply(w, http.StatusBadRequest, map[string]any{"message": message, "success": false})
}

func (f *fake) pick(list string) []fakeMetric {
	names := strings.Split(list, ",")
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []fakeMetric
	for _, m := range f.metrics {
		if f.gone[m.name] {
			continue
		}
		if list == "" || slices.Contains(names, m.name) {
			out = append(out, m)
		}
	}
	return out
}

// instances returns the numbers of the instances of a metric, -1 for its one value.
func (f *fake) instances(m fakeMetric) []int {
	if m.indom == "" {
		return []int{-1}
	}
	out := make([]int, len(f.domains[m.indom]))
	for i := range out {
		out[i] = i
	}
	return out
}

func (f *fake) pmapi(w http.ResponseWriter, r *http.Request) {
	if f.collector != nil {
		f.collector.ServeHTTP(w, r)
		return
	}
	f.mu.Lock()
	down := f.down
	f.mu.Unlock()
	if down {
		refuse(w, "cannot connect to "+hostile+": Connection refused")
		return
	}
	q := r.URL.Query()
	context, _ := strconv.Atoi(q.Get("context"))
	switch strings.TrimPrefix(r.URL.Path, "/pmapi/") {
	case "context":
		if f.elsewhere[q.Get("hostspec")] {
			refuse(w, "cannot connect to "+hostile+": Connection refused")
			return
		}
		f.mu.Lock()
		f.contexts++
		n := f.contexts
		f.mu.Unlock()
		reply(w, 200, map[string]any{"context": n, "hostspec": "fake.example.com", "labels": map[string]any{"hostname": "fake.example.com"}})
	case "metric":
		found := f.pick(q.Get("names"))
		if n := q.Get("names"); n != "" && len(found) < len(strings.Split(n, ",")) {
			refuse(w, "no.such traversal failed - Unknown metric name")
			return
		}
		list := []any{}
		for _, m := range found {
			e := map[string]any{
				"name": m.name, "pmid": m.pmid, "type": m.kind, "sem": m.sem, "units": m.units,
				"labels": m.labels, "text-oneline": m.oneline, "text-help": m.help,
			}
			if m.indom != "" {
				e["indom"] = m.indom
			}
			list = append(list, e)
		}
		reply(w, 200, map[string]any{"context": context, "metrics": list})
	case "profile":
		f.mu.Lock()
		if q.Get("expr") == "add" {
			f.only[context], _ = strconv.Atoi(q.Get("instance"))
		}
		f.mu.Unlock()
		reply(w, 200, map[string]any{"context": context, "success": true})
	case "fetch":
		f.mu.Lock()
		only, single := f.only[context]
		f.mu.Unlock()
		now := float64(time.Now().UnixMicro())/1e6 + float64(f.clock.Load())
		list := []any{}
		for _, m := range f.pick(q.Get("names")) {
			insts := []any{}
			for _, i := range f.instances(m) {
				v := map[string]any{"instance": nil, "value": m.value(max(i, 0), now)}
				if i >= 0 {
					v["instance"] = f.number(m, i)
				}
				if single && m.indom == "3.9" && v["instance"] != only {
					continue
				}
				insts = append(insts, v)
			}
			list = append(list, map[string]any{"pmid": m.pmid, "name": m.name, "instances": insts})
		}
		reply(w, 200, map[string]any{"context": context, "timestamp": now, "values": list})
	case "indom":
		list := []any{}
		for _, m := range f.pick(q.Get("name")) {
			for i, name := range f.domains[m.indom] {
				list = append(list, map[string]any{"instance": f.number(m, i), "name": name, "labels": map[string]any{"initial": name[:1]}})
			}
		}
		reply(w, 200, map[string]any{"context": context, "instances": list})
	default:
		http.NotFound(w, r)
	}
}

// stream sends samples as server-sent events.
func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	if f.collector != nil {
		f.collector.ServeHTTP(w, r)
		return
	}
	f.mu.Lock()
	has, down, cut := f.streams, f.down, f.cut
	f.mu.Unlock()
	switch {
	case !has:
		http.NotFound(w, r)
		return
	case down:
		refuse(w, "Connection refused")
		return
	}
	f.receivers.Add(1)
	defer f.receivers.Add(-1)
	q := r.URL.Query()
	step, _ := strconv.ParseFloat(q.Get("interval"), 64)
	w.Header().Set("Content-Type", "text/event-stream")
	for first := true; ; first = false {
		now := float64(time.Now().UnixMicro()) / 1e6
		names := q.Get("names")
		if first {
			names += "," + q.Get("rare")
		}
		values, instances := map[string]any{}, map[string]map[string]any{}
		for _, m := range f.pick(names) {
			if m.indom == "" {
				values[m.name] = m.value(0, now)
				continue
			}
			list := []any{}
			known := map[string]any{"": 0}
			for _, i := range f.instances(m) {
				if q.Has("instance") && q.Get("instance") != strconv.Itoa(f.number(m, i)) {
					continue
				}
				list = append(list, f.number(m, i), m.value(i, now))
				known[strconv.Itoa(f.number(m, i))] = f.nameOf(m, i)
			}
			values[m.name], instances[m.indom] = list, known
		}
		e := map[string]any{"timestamp": now, "values": values}
		if first {
			e["instances"] = instances
		}
		b, _ := json.Marshal(e)
		fmt.Fprintf(w, "data: %s\n\n", b)
		http.NewResponseController(w).Flush()
		f.sent.Add(1)
		select {
		case <-time.After(time.Duration(step * float64(time.Second))):
		case <-r.Context().Done():
			return
		case <-cut:
			return
		}
	}
}

// number returns the number of an instance, of a process its identifier.
func (f *fake) number(m fakeMetric, i int) int {
	if m.indom == "3.9" {
		return processes[i].pid
	}
	return i
}

func (f *fake) nameOf(m fakeMetric, i int) string {
	if i < 0 {
		return ""
	}
	return f.domains[m.indom][i]
}

// A process of the made-up host. Cpu is in processors, rss in KiB, read and write are bytes a second.
type process struct {
	pid                   int
	user, args            string
	cpu, rss, read, write float64
}

// processes are in the order of their numbers, as in a collector: the interesting ones are far from the
// first.
var processes = func() []process {
	list := []process{{1, "root", "/sbin/init", 0.01, 12000, 0, 0}, {42, "eve", hostile + " \x1b]0;PWNED\x07 \u202egnp.exe", 0.02, 9000, 0, 10}, {900, "ann", "chromium --type=renderer", 0.2, 800000, 2000, 3000}}
	list = append(list, process{43, "eve", formula, 0.001, 8000, 0, 20})
	for i := range 40 {
		list = append(list, process{1000 + i, "root", fmt.Sprintf("/usr/sbin/worker --queue=%d", i), 0.001 * float64(i%7), 5000 + float64(i), 0, float64(i)})
	}
	long := " --config=/srv/jobs/" + strings.Repeat("deeply/", 12)
	return append(
		list,
		process{4711, "postgres", "postgres: writer", 0.03, 150000, 1e5, 2e5},
		process{5001, "bob", "python3 /srv/jobs/report.py" + long + "report.toml", 0.02, 40000, 0, 0},
		process{5002, "bob", "python3 /srv/jobs/spin.py" + long + "spin.toml", 1.75, 41000, 0, 0},
		process{5003, "bob", "python3 /srv/jobs/copy.py" + long + "copy.toml", 0.04, 42000, 1e6, 48e6},
		process{5004, "bob", "python3 /srv/jobs/cache.py" + long + "cache.toml", 0.05, 4.5e6, 0, 0},
	)
}()

// processNames are the names of their instances: the number, and the first word of the command.
func processNames() []string {
	var list []string
	for _, p := range processes {
		name, _, _ := strings.Cut(p.args, " ")
		if p.args == processes[1].args {
			name = p.args
		}
		list = append(list, fmt.Sprintf("%06d %s", p.pid, name))
	}
	return list
}

// answerQuery answers each query with two series, and a query with "bad" in it with an error.
func answerQuery(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if strings.Contains(q.Get("query"), "bad") {
		reply(w, 400, map[string]any{"status": "error", "errorType": "bad_data", "error": "parse error " + hostile})
		return
	}
	start, end, step := seconds(q.Get("start"), 0), seconds(q.Get("end"), 0), seconds(q.Get("step"), 1)
	var list []any
	for k, name := range []string{"sda", hostile} {
		var values []any
		for t := start; t <= end && len(values) < 11000; t += step {
			values = append(values, []any{t, fmt.Sprint(1000 * (k + 1))})
		}
		list = append(list, map[string]any{"metric": map[string]any{"__name__": "disk_dev_read", "instname": name}, "values": values})
	}
	reply(w, 200, map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": list}})
}

func sid(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// seconds reads a time parameter.
func seconds(s string, otherwise float64) float64 {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v
	}
	return otherwise
}

func (f *fake) series(w http.ResponseWriter, r *http.Request) {
	if f.real != nil {
		f.real.ServeHTTP(w, r)
		return
	}
	f.mu.Lock()
	none := f.noSeries
	f.mu.Unlock()
	if none {
		http.NotFound(w, r)
		return
	}
	q := r.URL.Query()
	wanted := strings.Split(q.Get("series"), ",")
	var found []fakeMetric
	for _, m := range f.metrics {
		if slices.Contains(wanted, sid(m.name)) {
			found = append(found, m)
		}
	}
	list := []any{}
	switch strings.TrimPrefix(r.URL.Path, "/series/") {
	case "ping":
		reply(w, 200, map[string]any{"success": true})
		return
	case "query":
		name, rest, _ := strings.Cut(q.Get("expr"), "{")
		if host, ok := strings.CutPrefix(rest, `hostname == "`); rest != "" && rest != `hostname == "fake.example.com"}` && (!ok || !f.elsewhere[strings.TrimSuffix(host, `"}`)]) {
			refuse(w, "syntax error")
			return
		}
		for _, m := range f.metrics {
			if m.name == name {
				list = append(list, sid(name))
			}
		}
	case "descs":
		for _, m := range found {
			indom := m.indom
			if indom == "" {
				indom = "none"
			}
			list = append(list, map[string]any{"series": sid(m.name), "source": sid("host"), "pmid": m.pmid, "indom": indom, "semantics": m.sem, "type": m.kind, "units": m.units})
		}
	case "instances":
		for _, m := range found {
			for i, name := range f.domains[m.indom] {
				list = append(list, map[string]any{"series": sid(m.name), "source": sid("host"), "instance": sid(m.indom + name), "id": i, "name": name})
			}
		}
	case "values":
		now := float64(time.Now().Unix())
		first := now - recordedFor.Seconds()
		start, end := max(seconds(q.Get("start"), now-recordedEvery), first), min(seconds(q.Get("finish"), now), now)
		every := max(recordedEvery, seconds(q.Get("interval"), recordedEvery))
		count := int(seconds(q.Get("count"), 1e6))
		for t := math.Ceil(start/recordedEvery) * recordedEvery; t <= end && count > 0; t += every {
			count--
			for _, m := range found {
				for _, i := range f.instances(m) {
					if ok, _ := filepath.Match(q.Get("iname"), f.nameOf(m, i)); q.Has("iname") && !ok {
						continue
					}
					v := map[string]any{"series": sid(m.name), "timestamp": t * 1000, "value": fmt.Sprint(m.value(max(i, 0), t))}
					if i >= 0 {
						v["instance"] = sid(m.indom + f.domains[m.indom][i])
					}
					list = append(list, v)
				}
			}
		}
	case "labels":
		hosts := []string{"fake.example.com"}
		for name := range f.elsewhere {
			hosts = append(hosts, name)
		}
		reply(w, 200, map[string]any{"hostname": hosts})
		return
	case "metrics":
		for _, m := range f.metrics {
			list = append(list, m.name)
		}
	default:
		http.NotFound(w, r)
		return
	}
	reply(w, 200, list)
}

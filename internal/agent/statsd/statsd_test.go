package statsd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmda"
)

func open(t testing.TB, cfg Config) *Agent {
	t.Helper()
	if cfg.Listen == nil {
		cfg.Listen = []string{"127.0.0.1:0"}
	}
	if cfg.Settings == (Settings{}) {
		cfg.Settings = DefaultSettings()
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// values returns the values of a metric by the names of its instances, "" for a single value.
func values(t testing.TB, a *Agent, name string) (map[string]string, pcp.Desc) {
	t.Helper()
	ctx := t.Context()
	id, err := a.LookupName(ctx, "statsd."+name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	desc, err := a.Desc(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: new(pmda.Client), PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if err := a.Fetch(ctx, req); err != nil {
		t.Fatal(err)
	}
	instances := map[int32]string{pcp.InNull: ""}
	if desc.InDom != pcp.InDomNull {
		list, err := a.Instances(ctx, desc.InDom)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range list {
			instances[in.Inst] = in.Name
		}
	}
	got := make(map[string]string)
	for _, v := range req.Result.Sets[0].Values {
		text := fmt.Sprintf("%.10g", v.Double())
		switch desc.Type {
		case pcp.TypeU64, pcp.TypeU32:
			text = fmt.Sprint(v.Uint64())
		case pcp.TypeString:
			text, _ = v.Text()
		}
		inst, ok := instances[v.Inst]
		if !ok {
			t.Errorf("%s: instance %d has no name", name, v.Inst)
		}
		got[inst] = text
	}
	return got, desc
}

func check(t testing.TB, a *Agent, name, want string) {
	t.Helper()
	got, _ := values(t, a, name)
	var words []string
	for inst, v := range got {
		words = append(words, strings.TrimPrefix(inst+" "+v, " "))
	}
	slices.Sort(words)
	if text := strings.Join(words, ", "); text != want {
		t.Errorf("%s: %s, want %s", name, text, want)
	}
}

// rejected returns the number of messages that were dropped for a reason.
func rejected(a *Agent, why reason) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.t.rejected[why]
}

// TestDocumented has the examples of pmdastatsd(1), with their values.
func TestDocumented(t *testing.T) {
	for _, typ := range []int{0, 1} {
		s := DefaultSettings()
		s.DurationType = typ
		a := open(t, Config{Settings: s})
		a.packet([]byte("metric:20|c\nmetric:10|c\nmetric:3.3|c\n"))
		check(t, a, "metric", "/ 33.3")
		a.packet([]byte("level:20|g\nlevel:+10|g\nlevel:-3.3|g"))
		check(t, a, "level", "/ 26.7")
		a.packet([]byte("time:10|ms\ntime:20|ms"))
		check(t, a, "time", "/average 15, /count 2, /max 20, /median 10, /min 10, /percentile90 20, /percentile95 20, /percentile99 20, /std_deviation 5")
		a.packet([]byte("cpu:200|ms\ncpu,target=cpu0:10|ms\ncpu,target=cpu0:1000|ms"))
		got, d := values(t, a, "cpu")
		if len(got) != 18 || got["/max::target=cpu0"] != "1000" || got["/max"] != "200" || d.Units != (pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}) {
			t.Errorf("cpu: %v, %v", got, d.Units)
		}
		a.packet([]byte("a,tagX=X:5|c"))
		check(t, a, "a", "/tagX=X 5")
		a.packet([]byte("b,tagX=X,tagW=W:5|c"))
		check(t, a, "b", "/tagW=W::tagX=X 5") // ordered by key
		a.packet([]byte("d,tagX=1:5|c|#tagX:2"))
		check(t, a, "d", "/tagX=2 5")             // the last one counts
		a.packet([]byte("metric:1|g\nlevel:1|c")) // another type
		check(t, a, "metric", "/ 33.3")
		if n := rejected(a, badType); n != 2 {
			t.Errorf("%d messages of another type were dropped", n)
		}
		check(t, a, "pmda.metrics_tracked", "counter 4, duration 2, gauge 1, histogram 0, set 0, total 7")
		check(t, a, "pmda.received", "16")
		check(t, a, "pmda.parsed", "16")
		check(t, a, "pmda.aggregated", "14")
		check(t, a, "pmda.dropped", "2")
		check(t, a, "pmda.settings.duration_aggregation_type", []string{"Basic", "HDR histogram"}[typ])
	}
}

// TestDescriptors compares numbers with those of pmdastatsd.
func TestDescriptors(t *testing.T) {
	a := open(t, Config{})
	a.packet([]byte("first:1|c\nsecond:1|ms|#k:v\nthird:1|g"))
	f := func(name, id string, sem pcp.Sem, typ pcp.Type) {
		t.Helper()
		_, d := values(t, a, name)
		if d.PMID.String() != id || d.Sem != sem || d.Type != typ {
			t.Errorf("%s: %v %v %v", name, d.PMID, d.Sem, d.Type)
		}
	}
	f("first", "57.1.0", pcp.SemCounter, pcp.TypeDouble)
	f("second", "57.1.1", pcp.SemInstant, pcp.TypeDouble)
	f("third", "57.1.2", pcp.SemInstant, pcp.TypeDouble)
	f("pmda.received", "57.0.0", pcp.SemInstant, pcp.TypeU64)
	f("pmda.settings.max_udp_packet_size", "57.0.7", pcp.SemInstant, pcp.TypeU64)
	f("pmda.settings.port", "57.0.11", pcp.SemInstant, pcp.TypeU32)
	f("pmda.settings.duration_aggregation_type", "57.0.13", pcp.SemInstant, pcp.TypeString)
	if got := pcp.NewPMID(Domain, 1+1001/itemsOfCluster, 1001%itemsOfCluster); got.String() != "57.2.0" || numberOf(got) != 1001 {
		t.Errorf("number 1001: %v, %d", got, numberOf(got))
	}
	_, d := values(t, a, "second")
	sets, err := a.Labels(t.Context(), uint32(d.InDom), pcp.LabelInstances)
	if err != nil || len(sets) != stats || sets[0].JSON != `{"k":"v"}` || sets[0].Inst != stats {
		t.Errorf("labels: %v, %v", sets, err)
	}
	for _, c := range controls() {
		id := pcp.NewPMID(Domain, 0, c.item)
		if text, err := a.Text(t.Context(), uint32(id), pcp.TextOneLine); err != nil || text == "" {
			t.Errorf("%s has no help text: %v", c.name, err)
		}
		values(t, a, "pmda."+c.name)
	}
	if names, labels := a.Changes(); !names || !labels {
		t.Error("no changes")
	}
	if names, labels := a.Changes(); names || labels {
		t.Error("changes again")
	}
}

// TestDogStatsD has what DogStatsD adds.
func TestDogStatsD(t *testing.T) {
	a := open(t, Config{})
	a.packet([]byte("req:1|c|@0.25|#env:prod-1,url:/a/b,urgent\nreq:1|c|#urgent,url:/a/b,env:prod-1|c:ci-1234|T1700000000"))
	check(t, a, "req", "/env=prod-1::urgent=::url=/a/b 5")
	a.packet([]byte("h:0.5:1.5:2.5|h\nh:0.5|d|@0.5"))
	got, d := values(t, a, "h")
	if got["/count"] != "5" || !strings.HasPrefix(got["/average"], "1.099") || d.Units != (pcp.Units{}) {
		t.Errorf("h: %v %v", got, d.Units)
	}
	a.packet([]byte("users:a|s\nusers:b|s\nusers:a:c|s"))
	check(t, a, "users", "/ 3")
	a.packet([]byte("slow-path/x y:1|c\r\n\n"))
	check(t, a, "slow_path_x_y", "/ 1")
	a.packet([]byte("_e{5,4}:title|text|#a:b\n_sc|db|0|#a:b"))
	if rejected(a, event) != 1 || rejected(a, serviceCheck) != 1 {
		t.Errorf("events: %d, service checks: %d", rejected(a, event), rejected(a, serviceCheck))
	}
	a.packet([]byte("g:5|g\ng:-7|g\nn:-3|g\nn:1e2|g"))
	check(t, a, "g", "/ -2")
	check(t, a, "n", "/ 100")
}

func TestDropped(t *testing.T) {
	a := open(t, Config{})
	a.packet([]byte("ok.x:1|c"))
	f := func(why reason, lines ...string) {
		t.Helper()
		for _, line := range lines {
			before := rejected(a, why)
			a.packet([]byte(line))
			if rejected(a, why) != before+1 {
				t.Errorf("%q was not dropped because of %s", line, reasonNames[why])
			}
			got, _ := values(t, a, "pmda.last_rejected")
			if want := strings.ToValidUTF8(line[:min(len(line), 200)], "\ufffd"); got[reasonNames[why]] != want {
				t.Errorf("last_rejected: %q, want %q", got[reasonNames[why]], want)
			}
		}
	}
	f(badMessage, "wow", "wow:2", "wow|g", "2|g", "wow:|c", "a:1|c|x", "a:1|c|c", ":")
	f(badName, "1:1|c", ":1|c", "a..b:1|c", "a.:1|c", ".a:1|c", "a.1:1|c", "a\xff:1|c", "pmda:1|c", "pmda.received:1|c", strings.Repeat("x", maxName+1)+":1|c", "ok:1|c", "ok.x.y:1|c")
	f(badValue, "a:x|c", "a:-1|c", "a:-1|ms", "a:1|c|@0", "a:1|c|@2", "a:1|c|@", "a:NaN|g", "a:Inf|g", "a:0x1p4|g", "a:1e999|g", "a:1:x|c", "a:5000000000|ms", "a:1::2|c")
	f(badType, "a:1|x", "a:1|", "a:1|mss")
	f(badTags, "a,=x:1|c", "a:1|c|#:x", "a:1|c|#1:x", "a:1|c|#a\x01:x", "a:1|c|#a:\"", "a:1|c|#"+strings.Repeat("x", maxTag+1), "a:1|c|#"+manyTags(maxTags+1))
	a.packet([]byte("a:1|c|#" + manyTags(maxTags)))
	if _, err := a.LookupName(t.Context(), "statsd.a"); err != nil {
		t.Error(err)
	}
}

func manyTags(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("k%d:v", i))
	}
	return strings.Join(list, ",")
}

func TestLimits(t *testing.T) {
	a := open(t, Config{Limits: Limits{Metrics: 3, Series: 5}})
	for i := range 5 {
		a.packet(fmt.Appendf(nil, "m%d:1|c\n", i))
	}
	for i := range 5 {
		a.packet(fmt.Appendf(nil, "m0:1|c|#k:%d\n", i))
	}
	if rejected(a, tooMetrics) != 2 || rejected(a, tooSeries) != 3 {
		t.Errorf("metrics: %d, series: %d", rejected(a, tooMetrics), rejected(a, tooSeries))
	}
	for _, typ := range []int{0, 1} {
		s := DefaultSettings()
		s.DurationType = typ
		a = open(t, Config{Limits: Limits{Memory: 64 << 10}, Settings: s})
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 100_000 {
			a.packet(fmt.Appendf(nil, "d:%d|ms\ns:%d|s\nx%d:1|c", random.IntN(1<<31), i, i))
		}
		got, _ := values(t, a, "pmda.memory")
		if rejected(a, tooMemory) == 0 || got[""] > "65536" || len(got[""]) > 5 {
			t.Errorf("memory: %d dropped, %s bytes", rejected(a, tooMemory), got[""])
		}
	}
}

// TestRestart ends an agent and opens another one with its numbers.
func TestRestart(t *testing.T) {
	cfg := Config{Names: filepath.Join(t.TempDir(), "sub", "names")}
	a := open(t, cfg)
	a.packet([]byte("a:1|c|#k:1\nb:1|ms|#k:1\na:1|c|#k:2\nb:1|ms\nkind:1|c"))
	numbers := func(a *Agent, name string) (list []string) {
		_, d := values(t, a, name)
		in, err := a.Instances(context.Background(), d.InDom)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range in {
			list = append(list, fmt.Sprint(d.PMID, d.InDom, i.Inst, i.Name))
		}
		return list
	}
	before := [][]string{numbers(a, "a"), numbers(a, "b")}
	_, kind := values(t, a, "kind")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = open(t, cfg)
	if _, err := a.LookupName(t.Context(), "statsd.a"); err == nil {
		t.Error("a has a name before it was received")
	}
	a.packet([]byte("new:1|c\nb:5|ms\na:1|c|#k:3\na:1|c|#k:2\nb:1|ms|#k:1\na:1|c|#k:1\nkind:1|g"))
	after := [][]string{numbers(a, "a"), numbers(a, "b")}
	if !slices.Equal(after[0][:2], before[0]) || len(after[0]) != 3 || !slices.Equal(after[1], before[1]) {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if _, d := values(t, a, "kind"); d.PMID == kind.PMID || d.Sem != pcp.SemInstant {
		t.Errorf("kind: %v, before %v", d, kind)
	}
	a.Close()
	if err := os.WriteFile(cfg.Names, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestRoom has numbers of an earlier run make room for new ones.
func TestRoom(t *testing.T) {
	cfg := Config{Names: filepath.Join(t.TempDir(), "names"), Limits: Limits{Metrics: 2, Series: 3}}
	a := open(t, cfg)
	a.packet([]byte("a:1|c|#k:1\na:1|c|#k:2\nb:1|c"))
	a.Close()
	a = open(t, cfg)
	a.packet([]byte("a:1|c|#k:3\nc:1|c"))
	if n := rejected(a, tooMetrics) + rejected(a, tooSeries); n != 0 {
		t.Errorf("%d messages were dropped", n)
	}
	check(t, a, "a", "/k=3 1")
	check(t, a, "c", "/ 1")
}

// TestSockets sends over each kind of socket.
func TestSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	a := open(t, Config{Listen: []string{"127.0.0.1:0", path}})
	send := func(network, addr string, b []byte) {
		t.Helper()
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	packets := func() uint64 { a.mu.Lock(); defer a.mu.Unlock(); return a.t.packets }
	send("udp", a.Addrs()[0].String(), []byte("x:1|c\nx:1|c"))
	send("unixgram", path, append([]byte("x:1|c\n"), bytes.Repeat([]byte("\n"), 8000)...))
	send("udp", a.Addrs()[0].String(), bytes.Repeat([]byte("x"), 1472))
	await.Until(t, "the datagrams arrive", func() bool { return packets() == 3 })
	check(t, a, "x", "/ 3")
	if rejected(a, badSize) != 1 {
		t.Errorf("%d datagrams were too long", rejected(a, badSize))
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != socketMode {
		t.Errorf("%v, %v", st, err)
	}
	if _, err := New(Config{Listen: []string{path}}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a socket twice: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket remains")
	}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	c.Close() // the file remains
	open(t, Config{Listen: []string{path}})
	for _, addr := range []string{"unix:relative", "nosuchport", "127.0.0.1:99999"} {
		if _, err := New(Config{Listen: []string{addr}}); err == nil {
			t.Errorf("%s: no error", addr)
		}
	}
	if c, err := net.ListenPacket("udp", "[::1]:0"); err == nil { // the host has IPv6
		c.Close()
		a = open(t, Config{Listen: []string{"[::1]:0"}})
		send("udp", a.Addrs()[0].String(), []byte("six:1|c"))
		await.Until(t, "the datagram arrives", func() bool { return packets() == 1 })
	}
}

func TestSettings(t *testing.T) {
	var log bytes.Buffer
	f := func(text string) (Config, error) {
		log.Reset()
		c := Config{Settings: DefaultSettings()}
		err := c.read(strings.NewReader(text), "f", slog.New(slog.NewTextHandler(&log, nil)))
		return c, err
	}
	c, err := f("[global]\nmax_udp_packet_size = 1000\nport=8000\n# x\nverbose: 2\nparser_type = 1\ndebug = 0\nlisten = 127.0.0.1:1, /run/s\nmax_memory = 1\nduration_aggregation_type = 0\nmax_unprocessed_packets = 7\ndebug_output_filename = d\nmax_metrics = 5\nmax_series = 6\n")
	if err != nil || c.MaxUDP != 1000 || c.Port != 8000 || c.Verbose != 2 || c.ParserType != 1 || !slices.Equal(c.Listen, []string{"127.0.0.1:1", "/run/s"}) ||
		c.Limits != (Limits{5, 6, 1 << 20}) || c.DurationType != 0 || c.MaxUnprocessed != 7 || c.DebugFile != "d" {
		t.Errorf("%+v, %v", c, err)
	}
	if !strings.Contains(log.String(), "name=debug") || !strings.Contains(log.String(), "line=7") {
		t.Errorf("log: %s", &log)
	}
	for text, want := range map[string]string{"port = x": "f:1: port: a number from 1 to 65535", "\nx": "f:2: NAME = VALUE", "verbose = 3": "f:1: verbose"} {
		if _, err := f(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := f(strings.Repeat("x", maxLine+1)); err == nil {
		t.Error("a long line is read")
	}
}

// TestBuiltin opens the agent as its hosts do.
func TestBuiltin(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "statsd"), 0o777); err != nil {
		t.Fatal(err)
	}
	ini := filepath.Join(dir, "statsd", "pmdastatsd.ini")
	if err := os.WriteFile(ini, []byte("max_udp_packet_size = 2000\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		return map[string]string{"PCP_PMDAS_DIR": dir, "PCP_VAR_DIR": dir}[name]
	}
	cfg := config.New(getenv)
	spec := Builtin()
	free := config.New(func(name string) string {
		if name == "PCP_STATSD_LISTEN" {
			return "127.0.0.1:0," + filepath.Join(dir, "socket")
		}
		return getenv(name)
	})
	if a, err := spec.Open(builtin.Env{Config: free}); err != nil || len(a.(*Agent).Addrs()) != 2 {
		t.Fatalf("PCP_STATSD_LISTEN: %v", err)
	} else if err := a.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	e := builtin.Env{Config: cfg, Settings: []builtin.Setting{{Option: pmda.Option{Long: OptListen}, Arg: "127.0.0.1:0"}}}
	a, err := spec.Open(e)
	if err != nil {
		t.Fatal(err)
	}
	check(t, a.(*Agent), "pmda.settings.max_udp_packet_size", "2000")
	a.(*Agent).packet([]byte("x:1|c"))
	if err := a.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "config", "pmda", "statsd", "57.names")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(ini, []byte("port = x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := spec.Open(e); err == nil || !strings.Contains(err.Error(), ini+":1: ") {
		t.Errorf("bad settings: %v", err)
	}
	for _, o := range options() {
		if settingOf(o) == "" || spec.Program.Check(o, "\x00") == nil && o.Long != "debug-output-filename" && o.Long != OptListen {
			t.Errorf("--%s is not checked", o.Long)
		}
	}
}

// TestRecorded compares the statistics of durations with those of HdrHistogram_c, which pmdastatsd uses, for the values i³·7919 mod m.
func TestRecorded(t *testing.T) {
	for _, c := range []struct {
		m    int64
		want [stats]float64
	}{
		{1000, [stats]float64{0, 999, 433, 450, 875, 936, 984, 1000, 311.3815987}},
		{100000, [stats]float64{0, 99711, 51391, 50852.876, 91071, 95743, 99071, 1000, 29628.39435}},
		{10000000, [stats]float64{0, 10002431, 4755455, 4839820.986, 8871935, 9502719, 9879551, 1000, 2905822.084}},
		{1000000000, [stats]float64{0, 999817215, 456130559, 479481248.8, 898629631, 953679871, 990380031, 1000, 296022928.8}},
	} {
		k := newDurations()
		for i := range int64(1000) {
			k.add(float64((i+1)*(i+1)*(i+1)*7919%c.m), 1, 1<<30)
		}
		got := k.stats()
		for i := range stats {
			if math.Abs(got[i]-c.want[i]) > 1e-9*c.want[i] {
				t.Errorf("m = %d, %s: %g, want %g", c.m, statNames[i], got[i], c.want[i])
			}
		}
	}
}

// TestSketch compares the statistics of the two kinds of summaries.
func TestSketch(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var e exact
		k := newDurations()
		for range 1 + random.IntN(3000) {
			v := math.Floor(math.Exp(random.Float64() * 22))
			e.add(v, 1, 1<<30)
			k.add(v, 1, 1<<30)
		}
		want, got := e.stats(), k.stats()
		for i := range stats {
			if i == statMedian || i >= statP90 && i <= statP99 {
				continue // which of two neighbours it is differs
			}
			if math.Abs(got[i]-want[i]) > 0.001*math.Abs(want[i])+1 {
				t.Errorf("%s: %g, want %g", statNames[i], got[i], want[i])
			}
		}
	}
	k := newDurations()
	for i := range 2048 {
		k.add(float64(i), 1, 1<<30)
	}
	if s := k.stats(); s[statMin] != 0 || s[statMax] != 2047 || s[statMedian] != 1023 || s[statCount] != 2048 {
		t.Errorf("small integers: %v", s)
	}
	for at := range int32(30 << halfBits) {
		v := lowest(at)
		exp, sub := bucketOf(v)
		if got := int32((exp+1)<<halfBits) + int32(sub-half); got != at {
			t.Fatalf("bucket %d begins with %d, which is in bucket %d", at, v, got)
		}
	}
}

func seeds(f *testing.F) {
	for _, s := range []string{
		"a:1|c", "a.b,x=y,z=w:+1.5e3|g|@0.1|#k:v,k2", "t:1:2:3|ms|#a:b|c:id|T123", "u:x|s\nv:1|h\nw:2|d", "_e{1,1}:a|b", "_sc|x|0", "a-b/c d:1|c",
		":", "|", "a:|c", "a:1|c|#", "a:1|c|@", "a,:1|c", "\n\r\n", "a:1|c|#\xff:\xff", "a:99999999999999999999|ms",
	} {
		f.Add([]byte(s))
	}
}

// FuzzPacket takes datagrams.
func FuzzPacket(f *testing.F) {
	seeds(f)
	tab := newTable(Domain, Limits{Metrics: 100, Series: 1000, Memory: 4 << 20}, false)
	f.Fuzz(func(t *testing.T, b []byte) {
		tab.packet(b)
		if tab.received != tab.aggregated+tab.dropped || tab.memory > tab.limits.Memory || tab.series > 1000 || len(tab.metrics) > 100 {
			t.Errorf("%d received, %d aggregated, %d dropped; %v", tab.received, tab.aggregated, tab.dropped, tab)
		}
		for _, m := range tab.metrics {
			m.each(func(_ int32, s *series, stat int) {
				if v := s.at(stat); math.IsNaN(v) {
					t.Errorf("%s %s: not a number", m.name, m.instance(s, stat))
				}
			})
		}
	})
}

// FuzzNames reads files of names. Those that it accepts it writes again.
func FuzzNames(f *testing.F) {
	f.Add([]byte(`{"format":"pcp statsd names 1","next":2}` + "\n" + `{"metric":"a","kind":1,"next":3}` + "\n" + `{"series":""}` + "\n" + `{"series":"k=v","n":1}`))
	f.Add([]byte(`{"format":"pcp statsd names 1","next":-1}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tab := newTable(Domain, Limits{}, false)
		if tab.readNames(bytes.NewReader(b)) != nil {
			return
		}
		if tab.next > 10_000 {
			return // appendNames looks for each
		}
		first := tab.appendNames(nil)
		again := newTable(Domain, Limits{}, false)
		if err := again.readNames(bytes.NewReader(first)); err != nil {
			t.Fatalf("%q: %v", first, err)
		}
		if second := again.appendNames(nil); !bytes.Equal(first, second) {
			t.Errorf("%q\n%q", first, second)
		}
	})
}

// FuzzSettings reads files of settings.
func FuzzSettings(f *testing.F) {
	f.Add([]byte("[global]\nport = 8125\nlisten=a,b\nx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := new(Config)
		if c.read(bytes.NewReader(b), "f", slog.New(slog.DiscardHandler)) == nil && (c.Port < 0 || c.Port > 65535 || c.MaxUDP > 64<<10) {
			t.Errorf("%+v", c)
		}
	})
}

// TestAllocs checks that messages of known series allocate nothing.
func TestAllocs(t *testing.T) {
	tab := newTable(Domain, Limits{}, false)
	b := []byte("requests:1|c|@0.5|#env:prod,host:www\nlatency:12:13.5|ms|#env:prod\nlevel:-1.5|g\nusers:a|s")
	tab.packet(b)
	if n := testing.AllocsPerRun(100, func() { tab.packet(b) }); n != 0 {
		t.Errorf("%g allocations a datagram", n)
	}
}

// BenchmarkPacket measures datagrams of one message.
func BenchmarkPacket(b *testing.B) {
	for name, text := range map[string]string{
		"counter": "app.requests:1|c", "tags": "app.requests:1|c|#env:prod,host:www,path:/a/b", "duration": "app.latency:123|ms|#env:prod",
	} {
		b.Run(name, func(b *testing.B) {
			tab := newTable(Domain, Limits{}, false)
			line := []byte(text)
			b.ReportAllocs()
			for b.Loop() {
				tab.packet(line)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
		})
	}
}

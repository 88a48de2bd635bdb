package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/trace"
)

// A watch is a clock that only moves when the test moves it.
type watch struct {
	mu  sync.Mutex
	now time.Time
}

func (w *watch) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *watch) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// start starts an agent on a free port.
func start(t testing.TB, cfg Config) (*Agent, *pmda.Runner, *watch) {
	t.Helper()
	cfg.Address = "127.0.0.1:0"
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &watch{now: time.Unix(1_000_000_000, 0)}
	a.mu.Lock()
	a.clock, a.window.start = w.Now, w.now
	a.mu.Unlock()
	return a, pmda.NewRunner(a, pmda.RunnerOptions{Name: "trace", Log: cfg.Log}), w
}

func connect(t testing.TB, a *Agent, state trace.State) *trace.Client {
	t.Helper()
	addr := a.Addr().(*net.TCPAddr)
	c, err := trace.New(trace.Config{
		Host: addr.IP.String(), Port: addr.Port, State: state, Config: config.New(func(string) string { return "" }),
		Timeout: 20 * time.Second, RequestTimeout: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// values returns the values of a metric by tag, "name=value" in the order of the agent.
func values(t testing.TB, r *pmda.Runner, name string) string {
	t.Helper()
	id, err := r.NameSpace().Lookup("trace." + name)
	if err != nil {
		t.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: new(pmda.Client), PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if _, err := r.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	set := &req.Result.Sets[0]
	if set.Err != 0 {
		return set.Err.Error()
	}
	desc, err := r.Desc(t.Context(), nil, id)
	if err != nil {
		t.Fatal(err)
	}
	names := map[int32]string{}
	if desc.InDom != pcp.InDomNull {
		insts, err := r.Instances(t.Context(), nil, desc.InDom, pcp.InNull, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range insts {
			names[in.Inst] = fmt.Sprintf("%d %s=", in.Inst, in.Name)
		}
	}
	var list []string
	for _, v := range set.Values {
		text := v.As(desc.Type).String()
		if f, ok := v.As(desc.Type).Float64(); ok {
			text = strings.ToLower(strconv.FormatFloat(f, 'g', 8, 64))
		}
		list = append(list, names[v.Inst]+text)
	}
	return strings.Join(list, ", ")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func store(t testing.TB, r *pmda.Runner, name string, v pcp.Value) error {
	t.Helper()
	id, err := r.NameSpace().Lookup("trace." + name)
	must(t, err)
	res := new(pcp.Result)
	res.AddSet(id)
	v.Inst = pcp.InNull
	res.Add(v)
	return r.Store(t.Context(), new(pmda.Client), res)
}

// TestWindow checks the example of the guide: a period of ten seconds in five parts.
func TestWindow(t *testing.T) {
	a, r, w := start(t, Config{Period: 10 * time.Second, Buckets: 5})
	c := connect(t, a, trace.StateNone)
	f := func(name, want string) {
		t.Helper()
		if got := values(t, r, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	send := func(times ...float64) {
		t.Helper()
		for _, s := range times {
			must(t, c.Record("tx", time.Duration(s*float64(time.Second))))
		}
	}
	send(1, 2)
	f("transact.count", "1 tx=2")
	f("transact.total_time", "1 tx=3")
	f("transact.rate", "") // the first part is not complete
	w.move(2 * time.Second)
	f("transact.rate", "1 tx=0.2")
	f("transact.ave_time", "1 tx=1.5")
	send(4, 6, .5, 1.5, 3)
	f("transact.rate", "1 tx=0.2")
	w.move(2 * time.Second)
	f("transact.rate", "1 tx=0.69999999")
	f("transact.min_time", "1 tx=0.5")
	f("transact.max_time", "1 tx=6")
	f("transact.ave_time", "1 tx=2.5714285")
	send(9)
	w.move(2 * time.Second)
	f("transact.rate", "1 tx=0.80000001")
	w.move(6 * time.Second) // the first part is older than the period
	f("transact.rate", "1 tx=0.60000002")
	w.move(2 * time.Second)
	f("transact.rate", "1 tx=0.1")
	f("transact.min_time", "1 tx=9")
	w.move(2 * time.Second)
	f("transact.rate", "")
	f("transact.ave_time", "")
	f("transact.count", "1 tx=8")
	f("transact.total_time", "1 tx=27")
	w.move(1000 * time.Hour)
	f("transact.max_time", "")
	send(7)
	w.move(2 * time.Second)
	f("transact.max_time", "1 tx=7")
	f("control.period", "10")
	f("control.interval", "2")
	f("control.buckets", "5")
	f("control.port", fmt.Sprint(a.Addr().(*net.TCPAddr).Port))
}

// TestKinds uses the same tag in all kinds.
func TestKinds(t *testing.T) {
	a, r, w := start(t, Config{ObserveUnits: pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0), CounterUnits: pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne)})
	c := connect(t, a, trace.StateNone)
	must(t, c.Record("x", time.Second))
	must(t, c.Point("y"))
	must(t, c.Point("x"))
	must(t, c.Point("x"))
	must(t, c.Observe("x", 5))
	must(t, c.Observe("x", -2.5))
	must(t, c.Counter("x", 10))
	must(t, c.Observe("nan", math.NaN()))
	w.move(12 * time.Second)
	for name, want := range map[string]string{
		"transact.count": "1 x=1", "point.count": "1 y=1, 2 x=2", "point.rate": "1 y=0.016666668, 2 x=0.033333335",
		"observe.count": "1 x=2, 2 nan=1", "observe.value": "1 x=-2.5, 2 nan=nan", "observe.rate": "1 x=0.033333335, 2 nan=0.016666668",
		"counter.count": "1 x=1", "counter.value": "1 x=10", "counter.rate": "1 x=0.016666668",
		"control.period": "60", "control.interval": "12", "control.reset": "1", "control.debug": "0",
	} {
		if got := values(t, r, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for item, want := range map[int]pcp.Units{10: pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0), 19: pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne)} {
		if d, err := r.Desc(t.Context(), nil, pcp.NewPMID(Domain, 0, item)); err != nil || d.Units != want {
			t.Errorf("units of item %d: %v, %v, want %v", item, d.Units, err, want)
		}
	}
}

// TestReset keeps the numbers of tags.
func TestReset(t *testing.T) {
	a, r, w := start(t, Config{})
	c := connect(t, a, trace.StateNone)
	for _, tag := range []string{"foo", "bar", "eek"} {
		must(t, c.Point(tag))
	}
	must(t, store(t, r, "control.reset", pcp.Uint32Value(1)))
	if got := values(t, r, "point.count"); got != "" {
		t.Errorf("after the reset: %q", got)
	}
	must(t, c.Point("new"))
	must(t, c.Point("eek"))
	must(t, c.Point("foo"))
	w.move(12 * time.Second)
	if got, want := values(t, r, "point.count"), "1 foo=1, 3 eek=1, 4 new=1"; got != want {
		t.Errorf("after the reset: %q, want %q", got, want)
	}
	if got, want := values(t, r, "point.rate"), "1 foo=0.016666668, 3 eek=0.016666668, 4 new=0.016666668"; got != want {
		t.Errorf("rates after the reset: %q, want %q", got, want)
	}
	for name, want := range map[string]error{"control.port": pcp.ErrPMID, "control.period": pcp.ErrPMID, "point.count": pcp.ErrPMID} {
		if err := store(t, r, name, pcp.Uint32Value(1)); !errors.Is(err, want) {
			t.Errorf("store into %s: %v, want %v", name, err, want)
		}
	}
	must(t, store(t, r, "control.debug", pcp.Int32Value(2048)))
	if got := values(t, r, "control.debug"); got != "2048" || !a.verbose.Load() {
		t.Errorf("debug options: %q", got)
	}
	if unknown := a.Debug([]string{"pdu", "appl1", "fetch"}); !cmp.Equal(unknown, []string{"fetch"}) {
		t.Errorf("unknown options: %q", unknown)
	}
	must(t, store(t, r, "control.debug", pcp.Int32Value(0)))
	if got := values(t, r, "control.debug"); got != "0" || a.verbose.Load() {
		t.Errorf("debug options: %q", got)
	}
}

// TestHostile has peers that send invalid data: each gets an answer, and the
// agent continues.
func TestHostile(t *testing.T) {
	var log syncBuffer
	a, r, _ := start(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	good := connect(t, a, trace.StateNone)
	must(t, good.Point("good"))
	record := func(kind trace.Kind, tag string) []byte {
		return (&trace.Record{Kind: kind, Sync: true, Tag: []byte(tag)}).Append(nil, 1, 4)
	}
	version := record(trace.Point, "x")
	version[12] = 9
	zero := record(trace.Point, "x")
	zero[13] = 0
	long := record(trace.Point, "x")
	long[13] = 255
	f := func(name string, b []byte, want ...trace.Ack) {
		t.Helper()
		conn, err := net.Dial("tcp", a.Addr().String())
		must(t, err)
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		conn.Write(b)
		var got []trace.Ack
		for r := trace.NewReader(conn, 0); len(got) < len(want)+1; {
			_, pdu, err := r.Next()
			if err != nil {
				break
			}
			ack, err := trace.DecodeAck(pdu)
			must(t, err)
			got = append(got, ack)
		}
		if want = append([]trace.Ack{trace.Version}, want...); !cmp.Equal(want, got) {
			t.Errorf("%s: acknowledgements %d, want %d", name, got, want)
		}
	}
	f("nothing", nil)
	f("a record", record(trace.Point, "x"), 2)
	f("garbage", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	f("a huge length", []byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0x70, 0x51, 0, 0, 0, 0, 0, 0, 0, 0})
	f("an acknowledgement", trace.Ack(1).Append(nil, 1), trace.Ack(trace.ErrIPC))
	f("a version", version, trace.Ack(trace.ErrVersion))
	f("a kind", record(7, "x"), trace.Ack(trace.ErrTagType))
	f("no tag", zero, trace.Ack(trace.ErrIPC))
	f("an empty tag", record(trace.Point, ""), trace.Ack(trace.ErrTagName))
	f("a tag that is longer than the PDU", long, trace.Ack(trace.ErrIPC))
	f("a good and a bad one", append(record(trace.Counter, "c"), version...), 4, trace.Ack(trace.ErrVersion))
	must(t, good.Point("good"))
	if got := values(t, r, "point.count"); got != "1 good=2, 2 x=1" {
		t.Errorf("point.count: %q", got)
	}
	// A client that does not read its acknowledgements does not harm others.
	deaf, err := net.Dial("tcp", a.Addr().String())
	must(t, err)
	defer deaf.Close()
	many := record(trace.Point, "deaf")
	for len(many) < 1<<20 {
		many = append(many, many...)
	}
	deaf.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	for err == nil {
		_, err = deaf.Write(many)
	}
	must(t, good.Point("good"))
	if !strings.Contains(log.String(), "Incompatible versions") {
		t.Errorf("the log:\n%s", log.String())
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestLimits checks the limits of tags and connections.
func TestLimits(t *testing.T) {
	a, r, _ := start(t, Config{MaxClients: 2})
	c := connect(t, a, trace.StateNone)
	must(t, c.Point("first"))
	a.mu.Lock()
	for i := range MaxTags {
		a.window.add(0, &trace.Record{Kind: trace.Observe, Tag: fmt.Append(nil, i)})
	}
	a.mu.Unlock()
	if err := c.Observe("one too many", 1); !errors.Is(err, trace.Error(-int32(syscall.ENOMEM))) {
		t.Errorf("a tag too many: %v", err)
	}
	must(t, c.Observe("0", 1))
	must(t, c.Counter("one too many", 1))
	if got := values(t, r, "counter.count"); got != "1 one too many=1" {
		t.Errorf("counter.count: %q", got)
	}
	for range 10_000 { // the client has reconnected after the error: the agent has to notice
		a.mu.Lock()
		n := len(a.clients)
		a.mu.Unlock()
		if n == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	must(t, connect(t, a, trace.StateNone).Point("second"))
	if err := connect(t, a, trace.StateNone).Point("third"); !errors.Is(err, trace.ErrConnLimit) {
		t.Errorf("a third connection: %v", err)
	}
}

func TestAccess(t *testing.T) {
	f := func(want error, specs ...string) {
		t.Helper()
		rules := new(access.Rules)
		for _, s := range specs {
			must(t, addAccess(rules, s, slog.New(slog.DiscardHandler)))
		}
		a, _, _ := start(t, Config{Access: rules})
		if err := connect(t, a, trace.StateNone).Point("x"); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", specs, err, want)
		}
	}
	f(nil)
	f(trace.ErrPermission, "disallow:127.0.0.1")
	f(trace.ErrPermission, "Disallow:*")
	f(nil, "disallow:10.0.0.*")
	f(nil, "allow:127.0.0.1:1", "disallow:.*")
	rules := new(access.Rules)
	must(t, addAccess(rules, "allow:127.0.0.1:1", slog.New(slog.DiscardHandler)))
	a, _, _ := start(t, Config{Access: rules})
	c := connect(t, a, trace.StateNone)
	must(t, c.Point("x"))
	if err := connect(t, a, trace.StateNone).Point("x"); !errors.Is(err, trace.ErrConnLimit) {
		t.Errorf("a second connection where one may be: %v", err)
	}
	must(t, c.Close())
	for range 1000 { // the agent has to notice
		if err := connect(t, a, trace.StateNone).Point("x"); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("after the first has gone a second connection is refused")
}

func TestOptions(t *testing.T) {
	f := func(letter rune, arg, want string) {
		t.Helper()
		err := new(Config).setOption(letter, arg)
		if got := fmt.Sprint(err); got != want {
			t.Errorf("-%c %s: %q, want %q", letter, arg, got, want)
		}
	}
	f('A', "foo", "access spec is invalid (foo)")
	f('A', "allow:", "invalid allow (allow:)")
	f('A', "disallow: ", "invalid disallow (disallow: )")
	f('A', "allow:*:x", "bogus max connection in 'x'")
	f('A', "allow:*:-1", "bogus max connection in '-1'")
	f('A', "ALLOW:*:3", "<nil>")
	f('A', "allow:*", "<nil>")
	f('I', "4323", "<nil>")
	f('I', "65536", "-I requires a port: 65536 is not in 0..65535")
	f('N', "0", "-N requires a positive number.")
	f('N', "x", "-N requires a positive number.")
	f('N', "10", "<nil>")
	f('T', "0", "-T requires a time interval: 0")
	f('T', "2min", "<nil>")
	f('U', "1,2", `token parse error in string "1,2"`)
	f('U', "1,,1,1,1,1", `token parse error in string "1,,1,1,1,1"`)
	f('U', "1,3,foo,3,4,1", `integer parse error for substring "foo"`)
	f('V', "99,0,0,0,0,0", `integer parse error for substring "99"`)
	f('V', "0,-1,1,0,3,0", "<nil>")
	if err := new(Config).setOption('T', "x"); err == nil || !strings.HasPrefix(err.Error(), "-T requires a time interval: ") {
		t.Errorf("-T x: %v", err)
	}
	if err := new(Config).setOption('I', "no such service"); err == nil {
		t.Error("-I with a name that is not known is accepted")
	}
}

// TestBuiltin opens the agent as programs do.
func TestBuiltin(t *testing.T) {
	open := func(port string, given ...builtin.Setting) (*Agent, error) {
		a, err := Builtin().Open(builtin.Env{
			Config:   config.New(func(name string) string { return map[string]string{"PCP_TRACE_PORT": port}[name] }),
			Settings: given,
		})
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { a.(*Agent).Close() })
		return a.(*Agent), nil
	}
	option := func(letter rune, arg string) builtin.Setting {
		for _, o := range Builtin().Program.Options {
			if o.Short == letter {
				must(t, Builtin().Program.Check(o, arg))
				return builtin.Setting{Option: o, Arg: arg}
			}
		}
		t.Fatalf("no option -%c", letter)
		return builtin.Setting{}
	}
	a, err := open("0", option('T', "10 sec"), option('N', "4"), option('U', "1,0,0,1,0,0"), option('V', "0,0,1,0,0,0"), option('A', "disallow:127.0.0.1"))
	must(t, err)
	r := pmda.NewRunner(a, pmda.RunnerOptions{})
	if got := values(t, r, "control.period") + " " + values(t, r, "control.buckets"); got != "10 4" {
		t.Errorf("period and buckets: %s", got)
	}
	if d, err := a.Desc(context.Background(), pcp.NewPMID(Domain, 0, 10)); err != nil || d.Units != pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0) {
		t.Errorf("units: %v, %v", d.Units, err)
	}
	port := a.Addr().(*net.TCPAddr).Port
	if _, err := open("", option('I', fmt.Sprint(port))); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port that is in use: %v", err)
	}
	if b, err := open("x", option('I', "0")); err != nil || b.Addr().(*net.TCPAddr).Port == 0 {
		t.Errorf("-I 0: %v", err)
	}
	for _, cfg := range []Config{{Buckets: -1}, {Buckets: maxBuckets + 1}, {Period: 1, Buckets: 2}, {Period: -1}, {Domain: 600}} {
		cfg.Address = "127.0.0.1:0"
		if a, err := New(cfg); err == nil {
			a.Close()
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// TestManyPrograms has a thousand goroutines of several clients call at once, while values are fetched and reset.
func TestManyPrograms(t *testing.T) {
	a, r, _ := start(t, Config{})
	before := runtime.NumGoroutine()
	clients := []*trace.Client{
		connect(t, a, trace.StateNone), connect(t, a, trace.StateAsync), connect(t, a, trace.StateNone), connect(t, a, trace.StateAsync),
	}
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			c := clients[i%len(clients)]
			x, err := c.Start(fmt.Sprint("tag ", i%10))
			if err != nil {
				t.Error(err)
			}
			for err := range []error{c.Counter("c", float64(i)), x.End()} {
				_ = err
			}
			if err := c.Point("p"); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		for _, c := range clients {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		close(done)
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			values(t, r, "transact.total_time")
			values(t, r, "point.rate")
		}
	}
	for start := time.Now(); values(t, r, "point.count") != "1 p=1000" || values(t, r, "counter.count") != "1 c=1000"; time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("point.count is %q", values(t, r, "point.count"))
		}
	}
	if got := strings.Count(values(t, r, "transact.count"), "=100"); got != 10 {
		t.Errorf("transact.count is %q", values(t, r, "transact.count"))
	}
	for start := time.Now(); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

// BenchmarkTake measures the agent's cost of a record, without the system.
func BenchmarkTake(b *testing.B) {
	a, _, _ := start(b, Config{})
	var pdus [][]byte
	for i := range 20 {
		pdus = append(pdus, (&trace.Record{Kind: trace.Transact, Value: .1, Tag: fmt.Append(nil, "transaction ", i)}).Append(nil, 1, 16))
	}
	var s session
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := a.take(trace.TypeData, pdus[i%len(pdus)], 3, &s); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

package send

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// TestMain is a recorder if the variable is set, so that tests can kill it.
func TestMain(m *testing.M) {
	if os.Getenv("SEND_TEST_RECORDER") == "" {
		os.Exit(m.Run())
	}
	if err := record(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// testSettle returns the time after which engines of tests show all accepted samples.
func testSettle() time.Duration {
	if longtest.Enabled() {
		return Settle
	}
	return 3500 * time.Millisecond
}

// record writes archives of hosts and sends them, until SIGTERM: DIR URL HOSTS SERIES INTERVAL.
func record(args []string) error {
	dir, url := args[0], args[1]
	hosts, _ := strconv.Atoi(args[2])
	series, _ := strconv.Atoi(args[3])
	interval, err := time.ParseDuration(args[4])
	if err != nil {
		return err
	}
	target, err := NewTarget(url)
	if err != nil {
		return err
	}
	r := NewRecorder(Config{Targets: []*Target{target}, Agent: "test", Settle: testSettle(), Poll: 100 * time.Millisecond, Event: func(text string, err error) {
		fmt.Fprintln(os.Stderr, time.Now().Format("05.000"), text, err)
	}})
	var dirs []Dir
	for h := range hosts {
		d := Dir{Path: filepath.Join(dir, fmt.Sprint("h", h)), Name: fmt.Sprint("h", h)}
		if err := os.MkdirAll(d.Path, 0o755); err != nil {
			return err
		}
		dirs = append(dirs, d)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	var wg sync.WaitGroup
	quit := make(chan struct{})
	for h, d := range dirs {
		wg.Go(func() {
			if err := recordHost(quit, d.Path, h, series, interval); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	time.Sleep(interval)
	r.Set(dirs)
	<-stop
	close(quit)
	wg.Wait()
	r.Drain(time.Minute)
	for _, s := range r.Status() {
		b, _ := json.Marshal(s)
		fmt.Println(string(b))
	}
	return nil
}

// recordHost writes archives of 30 samples, of which the instances change.
func recordHost(quit <-chan struct{}, dir string, h, series int, interval time.Duration) error {
	for {
		base := filepath.Join(dir, strconv.FormatInt(time.Now().UnixMicro(), 10))
		im, err := importer.Start(base, importer.Options{Host: fmt.Sprint("h", h), TimeZone: "UTC"})
		if err != nil {
			return err
		}
		indom := im.NewInDom()
		m, err := im.NewMetric("kill.reads", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: indom})
		if err != nil {
			return err
		}
		for n := range 30 {
			for i := range series {
				if (n/5+i)%4 == 0 {
					continue
				}
				v, err := m.Instance(fmt.Sprintf("i%d", i))
				if err != nil {
					return err
				}
				if err := v.PutUint(uint64(time.Now().UnixMilli()%1e9)*1000 + uint64(i)); err != nil {
					return err
				}
			}
			if err := errors.Join(im.Write(time.Now()), im.Flush()); err != nil {
				return err
			}
			select {
			case <-quit:
				return im.End()
			case <-time.After(interval):
			}
		}
		if err := im.End(); err != nil {
			return err
		}
	}
}

// A link passes connections on until it is cut.
type link struct {
	addr string
	mu   sync.Mutex
	all  []net.Conn
}

func newLink(t *testing.T, to string) *link {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{addr: ln.Addr().String()}
	t.Cleanup(func() {
		ln.Close()
		l.cut()
	})
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			l.mu.Lock()
			l.all = append(l.all, in, out)
			l.mu.Unlock()
			pass := func(a, b net.Conn) {
				io.Copy(a, b)
				a.Close()
				b.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return l
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		c.Close()
	}
	l.all = nil
}

func TestKillPrometheus(t *testing.T) { kill(t, sendtest.Prometheus(t), prometheusValues) }

// TestAheadPrometheus has a host whose clock is a day ahead beside another one. Prometheus, which would refuse the samples of the
// other host afterwards, gets those of the first one when their time has come.
func TestAheadPrometheus(t *testing.T) {
	addr := sendtest.Prometheus(t).Addr
	t.Parallel()
	target, err := NewTarget("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	var later atomic.Int64
	events := make(chan string, 100)
	r := NewRecorder(Config{
		Targets: []*Target{target}, Agent: "test", Settle: 10 * time.Millisecond, Poll: 20 * time.Millisecond,
		Event: func(text string, err error) { events <- fmt.Sprint(text, err) }, now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
	})
	now := time.Now().Truncate(time.Millisecond)
	wrong := &grower{t: t, dir: t.TempDir(), host: "wrong", at: now.Add(24 * time.Hour)}
	right := &grower{t: t, dir: t.TempDir(), host: "right", at: now.Add(-2 * time.Minute)}
	for _, g := range []*grower{wrong, right} {
		g.begin()
		g.add(3, "a.b")
	}
	r.Set([]Dir{{Path: wrong.dir, Name: "wrong"}, {Path: right.dir, Name: "right"}})
	if text := <-events; !strings.Contains(text, "wrong: samples are ahead") {
		t.Errorf("event %q", text)
	}
	right.add(5, "a.b")
	sent := func(n uint64) func() bool {
		return func() bool { return r.Status()[0].Sent >= n }
	}
	await.Until(t, "the samples of the other host arrive", sent(8*3))
	later.Store(int64(24 * time.Hour))
	await.Until(t, "those of the wrong host arrive", sent(11*3))
	r.Drain(time.Minute)
	if st := r.Status()[0]; st.Rejected != 0 {
		t.Errorf("status %+v", st)
	}
	for host, n := range map[string]int{"wrong": 9, "right": 24} {
		q := url.Values{"query": {fmt.Sprintf(`sum(count_over_time(a_b{hostname=%q}[3d]))`, host)}, "time": {strconv.FormatInt(now.Add(25*time.Hour).Unix(), 10)}}
		if b := fetch(t, "http://"+addr+"/api/v1/query?"+q.Encode()); !bytes.Contains(b, fmt.Appendf(nil, `"%d"]`, n)) {
			t.Errorf("host %s: want %d samples: %s", host, n, b)
		}
	}
}

// TestKillVictoriaMetrics does the same with VictoriaMetrics, where it is installed.
func TestKillVictoriaMetrics(t *testing.T) {
	if server := sendtest.Victoria(t); server != nil {
		kill(t, server, victoriaValues)
	}
}

// A logBuffer is a buffer to which several processes write.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// kill kills the recorder, the engine and the link at random moments. Each sample of the archives must then be in the engine once.
func kill(t *testing.T, engine *sendtest.Server, read func(*testing.T, string) sendtest.Contents) {
	t.Parallel()
	seed := longtest.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	dir, addr := t.TempDir(), engine.Addr
	l := newLink(t, addr)
	log := new(logBuffer)
	run := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], dir, "http://"+l.addr, strconv.Itoa(longtest.N(3, 50)), strconv.Itoa(longtest.N(40, 1000)), map[bool]string{true: "1s", false: "150ms"}[longtest.Enabled()])
		cmd.Env = append(os.Environ(), "SEND_TEST_RECORDER=1")
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	cmd := run()
	defer func() {
		cmd.Process.Kill()
		if t.Failed() {
			t.Logf("recorder:\n%.20000s", log)
		}
	}()
	time.Sleep(testSettle()) // in which it asks what the engine has
	for n := range longtest.N(3, 100) {
		time.Sleep(time.Duration(500+random.IntN(longtest.N(1500, 12000))) * time.Millisecond)
		what := random.IntN(3)
		if !longtest.Enabled() {
			what = (n + int(seed%3)) % 3 // each once
		}
		switch what {
		case 0:
			cmd.Process.Kill()
			cmd.Wait()
			cmd = run()
		case 1:
			engine.Kill()
			time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
			engine.Start()
		case 2:
			l.cut()
		}
		fmt.Fprintf(log, "%s: kill %d: %d\n", time.Now().Format("05.000"), n, what)
	}
	time.Sleep(time.Second)
	cmd.Process.Signal(syscall.SIGTERM)
	if err := await.Exit(t, cmd); err != nil {
		t.Fatalf("recorder: %v", err)
	}
	want := make(sendtest.Contents)
	paths, err := filepath.Glob(dir + "/h*/*.meta")
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d archives, %v", len(paths), err)
	}
	for _, path := range paths {
		a, err := archive.Open(path)
		if err != nil {
			continue // killed before its first sample
		}
		r := newReader(a, a.Label().Start, pcp.Timestamp{Sec: math.MaxInt64}, false, nowhere(), func(w *window) (*window, error) {
			for _, p := range w.split() {
				for i := range p.list {
					k := sendtest.KeyOf(&p.list[i])
					for _, s := range p.list[i].Samples {
						if s.Bits != remote.Stale {
							want[k] = append(want[k], s)
						}
					}
				}
			}
			return w, nil
		})
		r.read(t.Context(), new(window)) // a part of a record may be at the end
		a.Close()
	}
	want = want.Data()
	var got sendtest.Contents
	await.Until(t, "the engine shows all", func() bool {
		got = read(t, addr)
		return size(got) >= size(want)
	})
	t.Logf("%d samples in %d archives", size(want), len(paths))
	for _, c := range []sendtest.Contents{got, want} {
		for _, list := range c {
			slices.SortFunc(list, func(a, b remote.Sample) int { return int(a.Time - b.Time) })
		}
	}
	for k, list := range want {
		if !slices.Equal(got[k], list) {
			t.Errorf("%s: %d samples, want %d", k, len(got[k]), len(list))
		}
	}
}

// size counts samples, without those of descriptions.
func size(c sendtest.Contents) (n int) {
	for _, list := range c.Data() {
		n += len(list)
	}
	return n
}

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	w, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v\n%.500s", url, w.Status, err, b)
	}
	return b
}

func prometheusValues(t *testing.T, addr string) sendtest.Contents {
	got := make(sendtest.Contents)
	q := url.Values{"query": {`{__name__=~"kill_.*"}[2d]`}}
	var a struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal(fetch(t, "http://"+addr+"/api/v1/query?"+q.Encode()), &a); err != nil {
		t.Fatal(err)
	}
	for _, r := range a.Data.Result {
		k := sendtest.Key(r.Metric)
		for _, v := range r.Values {
			f, err := strconv.ParseFloat(v[1].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			got[k] = append(got[k], remote.Sample{Time: int64(math.Round(v[0].(float64) * 1000)), Bits: remote.Number(f)})
		}
	}
	return got
}

func victoriaValues(t *testing.T, addr string) sendtest.Contents {
	got := make(sendtest.Contents)
	q := url.Values{"match[]": {`{__name__=~"kill_.*"}`}, "reduce_mem_usage": {"1"}}
	in := bufio.NewScanner(bytes.NewReader(fetch(t, "http://"+addr+"/api/v1/export?"+q.Encode())))
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var a struct {
			Metric     map[string]string
			Values     []*float64
			Timestamps []int64
		}
		if err := json.Unmarshal(in.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		k := sendtest.Key(a.Metric)
		for i, v := range a.Values {
			if v != nil { // not a stale marker
				got[k] = append(got[k], remote.Sample{Time: a.Timestamps[i], Bits: remote.Number(*v)})
			}
		}
	}
	return got
}

package push

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// TestPrometheus pushes an archive into Debian's Prometheus, with a pusher that is killed again and again, and compares all samples.
func TestPrometheus(t *testing.T) {
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("SKIPPED: prometheus is not installed (Debian's package prometheus has it)")
	}
	t.Parallel()
	dir := t.TempDir()
	conf := filepath.Join(dir, "p.yml")
	if err := os.WriteFile(conf, []byte("global: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := address(t)
	engine(t, addr, exec.Command(path, "--config.file="+conf, "--storage.tsdb.path="+dir+"/data", "--storage.tsdb.retention.time=100y",
		"--web.listen-address="+addr, "--web.enable-remote-write-receiver"))
	kills(t, addr, fromPrometheus)
}

// TestVictoriaMetrics does the same with VictoriaMetrics, where it is installed:
//
//	go install github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics@v1.151.0
func TestVictoriaMetrics(t *testing.T) {
	path, err := exec.LookPath("victoria-metrics")
	if err != nil {
		t.Log("victoria-metrics is not installed: nothing is tested with it")
		return
	}
	t.Parallel()
	addr := address(t)
	engine(t, addr, exec.Command(path, "-storageDataPath="+t.TempDir(), "-httpListenAddr="+addr, "-retentionPeriod=100y"))
	kills(t, addr, fromVictoria)
}

// address returns an address of this host that is free.
func address(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// engine starts a server and stops it at the end of the test.
func engine(t *testing.T, addr string, cmd *exec.Cmd) {
	t.Helper()
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%.4000s", cmd.Path, out)
		}
	})
	await.Until(t, cmd.Path+" answers", func() bool {
		w, err := http.Get("http://" + addr + "/api/v1/query?query=1")
		if err != nil {
			return false
		}
		w.Body.Close()
		return w.StatusCode == 200
	})
}

// kills pushes an archive with a pusher that is killed at random moments, the last time not. Each sample must then be in the server once.
func kills(t *testing.T, addr string, read func(*testing.T, string) contents) {
	base, want := generate(t, 1200, 60)
	target, err := url.Parse("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	// A slow link: a kill before and after the server has a request, and while it has it.
	forward := httputil.NewSingleHostReverseProxy(target)
	link := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // killed
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			time.Sleep(100 * time.Millisecond)
			defer time.Sleep(100 * time.Millisecond)
		}
		forward.ServeHTTP(w, r)
	}))
	defer link.Close()
	random := rand.New(rand.NewPCG(longtest.Seed(t), 0))
	push := func() (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.Command(os.Args[0], "--to", link.URL, base)
		cmd.Env = append(os.Environ(), "PUSH_TEST_MAIN=1")
		out := new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}
	for range longtest.N(1, 10) {
		cmd, _ := push()
		time.Sleep(settle + time.Duration(500+random.IntN(2000))*time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	cmd, out := push()
	if err := await.Exit(t, cmd); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var n int
	if _, rest, ok := strings.Cut(out.String(), ": sent "); ok {
		fmt.Sscan(rest, &n)
	}
	total := 0
	for _, list := range want {
		total += len(list)
	}
	if n == 0 || n >= total {
		t.Errorf("the last push sent %d of %d samples:\n%s", n, total, out)
	}
	compare(t, read(t, addr), want)
	cmd, out = push() // all is there
	if err := await.Exit(t, cmd); err != nil || !strings.Contains(out.String(), "sent 0 samples") {
		t.Errorf("another push: %v\n%s", err, out)
	}
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	w, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode != 200 {
		t.Fatalf("%s: %s %v\n%.500s", url, w.Status, err, b)
	}
	return b
}

// key is the labels of a series, in the order of keyOf.
func key(labels map[string]string) string {
	var words []string
	for name, value := range labels {
		words = append(words, name+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// fromPrometheus reads all samples. Prometheus does not show stale markers, so a series has them where a query right after their time has no value.
func fromPrometheus(t *testing.T, addr string) contents {
	t.Helper()
	got := make(contents)
	end := start.Add(24 * time.Hour)
	q := url.Values{"query": {`{__name__=~"gen_.*"}[2d]`}, "time": {strconv.FormatInt(end.Unix(), 10)}}
	var a struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal(get(t, "http://"+addr+"/api/v1/query?"+q.Encode()), &a); err != nil {
		t.Fatal(err)
	}
	for _, r := range a.Data.Result {
		for _, v := range r.Values {
			f, err := strconv.ParseFloat(v[1].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			k := key(r.Metric)
			got[k] = append(got[k], remote.Sample{Time: int64(math.Round(v[0].(float64) * 1000)), Bits: remote.Number(f)})
		}
	}
	// The stale markers that a series should have: it must end there.
	_, want := generate(t, 1200, 60)
	values := make(map[string]map[int64]bool)
	for k, list := range want {
		for _, s := range list {
			if s.Bits != remote.Stale {
				continue
			}
			if values[k] == nil {
				values[k] = steps(t, addr, k)
			}
			at := s.Time/1000 + 1
			if !values[k][at-at%10+10] { // start is not a whole ten seconds: the grid has a point in between
				got[k] = append(got[k], s)
			}
		}
	}
	for _, list := range got {
		slices.SortStableFunc(list, func(a, b remote.Sample) int { return int(a.Time - b.Time) })
	}
	return got
}

// steps returns the times of a grid of ten seconds at which a series has a value, by query_range.
func steps(t *testing.T, addr, k string) map[int64]bool {
	var match []string
	name := ""
	for _, word := range strings.Fields(k) {
		n, v, _ := strings.Cut(word, "=")
		if n == "__name__" {
			name = v
			continue
		}
		match = append(match, n+"="+strconv.Quote(v))
	}
	q := url.Values{
		"query": {name + "{" + strings.Join(match, ",") + "}"}, "step": {"10"},
		"start": {strconv.FormatInt(start.Unix()/10*10, 10)}, "end": {strconv.FormatInt(start.Unix()/10*10+13000, 10)},
	}
	var a struct {
		Data struct{ Result []struct{ Values [][2]any } }
	}
	if err := json.Unmarshal(get(t, "http://"+addr+"/api/v1/query_range?"+q.Encode()), &a); err != nil {
		t.Fatal(err)
	}
	has := make(map[int64]bool)
	for _, r := range a.Data.Result {
		for _, v := range r.Values {
			has[int64(v[0].(float64))] = true
		}
	}
	return has
}

// fromVictoria reads all samples by /api/v1/export, which has null for stale markers.
func fromVictoria(t *testing.T, addr string) contents {
	t.Helper()
	got := make(contents)
	_, want := generate(t, 1200, 60)
	q := url.Values{"match[]": {`{__name__=~"gen_.*"}`}, "reduce_mem_usage": {"1"}}
	in := bufio.NewScanner(bytes.NewReader(get(t, "http://"+addr+"/api/v1/export?"+q.Encode())))
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
		k := key(a.Metric)
		for i, v := range a.Values {
			s := remote.Sample{Time: a.Timestamps[i], Bits: remote.NaN}
			if v != nil {
				s.Bits = remote.Number(*v)
			}
			if j := slices.IndexFunc(want[k], func(w remote.Sample) bool { return w.Time == s.Time }); j >= 0 {
				bits := want[k][j].Bits
				exact := math.Float64frombits(bits)
				switch {
				case v == nil && bits == remote.Stale: // which export does not distinguish
					s.Bits = bits
				case v != nil && math.Abs(*v-exact) <= 1e-12*math.Abs(exact): // it stores decimal digits
					s.Bits = bits
				}
			}
			got[k] = append(got[k], s)
		}
	}
	for k, list := range want {
		for _, s := range list {
			if s.Bits == remote.NaN {
				got[k] = append(got[k], s) // it stores none
			}
		}
	}
	for _, list := range got {
		slices.SortStableFunc(list, func(a, b remote.Sample) int { return int(a.Time - b.Time) })
	}
	return got
}

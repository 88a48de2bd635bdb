package sendtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// Address returns an address of this host that is free.
func Address(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// Engine starts a server, returns it when it answers, and stops it at the end of the test.
func Engine(t *testing.T, addr string, cmd *exec.Cmd) *exec.Cmd {
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
	return cmd
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

// Key is the labels of a series, in the order of KeyOf.
func Key(labels map[string]string) string {
	var words []string
	for name, value := range labels {
		words = append(words, name+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// FromPrometheus reads all samples. Prometheus does not show stale markers, so a series has them where a query right after their time has no value.
func FromPrometheus(t *testing.T, addr string, want Contents) Contents {
	t.Helper()
	got := make(Contents)
	end := Start().Add(24 * time.Hour)
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
			k := Key(r.Metric)
			got[k] = append(got[k], remote.Sample{Time: int64(math.Round(v[0].(float64) * 1000)), Bits: remote.Number(f)})
		}
	}
	// The stale markers that a series should have: it must end there.
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
			if !values[k][at-at%10+10] { // Start is not a whole ten seconds: the grid has a point in between
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
		"start": {strconv.FormatInt(Start().Unix()/10*10, 10)}, "end": {strconv.FormatInt(Start().Unix()/10*10+13000, 10)},
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

// FromVictoria reads all samples by /api/v1/export, which has null for stale markers.
func FromVictoria(t *testing.T, addr string, want Contents) Contents {
	t.Helper()
	got := make(Contents)
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
		k := Key(a.Metric)
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

package diagnose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis/diagnosistest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/diagnose"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

func builtin() ([]*diagnosis.Rule, error) { return diagnosis.Rules() }

// recorded returns a handler for the recording of a fault.
func recorded(t *testing.T, change func(*diagnose.Config)) *diagnose.Handler {
	t.Helper()
	base := diagnosistest.New(t).Fault(diagnosistest.Faults()[0].Change)
	store, err := archives.Open(context.Background(), archives.Config{Dirs: []string{filepath.Dir(base)}, Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	cfg := diagnose.Config{Archives: store.Recorded, Rules: builtin}
	if change != nil {
		change(&cfg)
	}
	h := diagnose.New(cfg)
	t.Cleanup(func() { h.Close() })
	return h
}

type reply struct {
	Findings []struct {
		diagnosis.Object
		Metrics []string
	}
	Changes  []diagnosis.Object
	Compared *struct{ Start, End string }
	Verdict  diagnosis.Verdict
	Message  string
}

func get(t *testing.T, h http.Handler, query string) (int, reply) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/diagnose?"+query, nil))
	var v reply
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%s: %v in %s", query, err, w.Body)
	}
	return w.Code, v
}

// window is the query for the time of a recording.
func window(more string) string {
	from := diagnosistest.Start()
	return fmt.Sprintf("host=web1&start=%d&end=%d%s", from.Sec, from.Sec+600, more)
}

// TestPast diagnoses a recording as "pcp diagnose -a" does.
func TestPast(t *testing.T) {
	fault := diagnosistest.Faults()[0]
	status, v := get(t, recorded(t, nil), window(""))
	if status != 200 || len(v.Findings) == 0 || v.Findings[0].ID != fault.ID || v.Verdict.Host != "web1" || v.Verdict.OK {
		t.Fatalf("%d %+v", status, v)
	}
	f := v.Findings[0]
	if len(f.Metrics) == 0 || len(f.Evidence) == 0 || !strings.HasPrefix(f.Evidence[0].Command, "pcp -a /") || f.Time == "" {
		t.Errorf("%+v", f)
	}
	if len(v.Changes) == 0 || v.Compared == nil {
		t.Errorf("no changes: %+v", v)
	}
	if _, v := get(t, recorded(t, nil), window("&changes=false")); len(v.Changes) > 0 || v.Compared != nil {
		t.Errorf("changes=false: %+v", v.Changes)
	}
	// All of a later window is compared with the time before it.
	from := diagnosistest.Start().Add(diagnosistest.FaultStep * diagnosistest.Interval)
	_, v = get(t, recorded(t, nil), fmt.Sprintf("host=web1&start=%d&end=%d&whole=true", from.Sec, from.Sec+300))
	if v.Compared == nil || !strings.Contains(v.Compared.Start, from.Time().Format("15:04:05")) || len(v.Changes) == 0 {
		t.Errorf("whole=true: %+v, %+v", v.Compared, v.Changes)
	}
}

// TestPage carries out the requests of docs/web.md.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	one := func(v float64) func(int32, int) (pcp.Value, error) {
		return func(int32, int) (pcp.Value, error) { return pcp.DoubleValue(v), nil }
	}
	a, err := pmda.NewTable(pmda.Config{Name: "stage", Domain: 60, Metrics: []pmda.Metric{
		{Name: "vfs.files.count", Item: 1, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Value: one(9900)},
		{Name: "vfs.files.max", Item: 2, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Value: one(10000)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := recorded(t, func(cfg *diagnose.Config) {
		cfg.Open = func(context.Context, string) (*pmapi.Context, error) {
			return pmapi.OpenLocal(pmapi.LocalAgent{Name: "stage", Domain: 60, Agent: a})
		}
	})
	var first []string
	for _, m := range regexp.MustCompile(`curl 'http://localhost:44322/diagnose\??([^']*)'`).FindAllStringSubmatch(string(page), -1) {
		status, v := get(t, h, m[1])
		if status != 200 || len(v.Findings) == 0 {
			t.Fatalf("%s: %d %+v", m[0], status, v)
		}
		first = append(first, v.Findings[0].ID)
	}
	if want := "[files.open " + diagnosistest.Faults()[0].ID + "]"; fmt.Sprint(first) != want {
		t.Errorf("the first findings are %v, want %s", first, want)
	}
}

// TestHidden shows nothing of processes to clients who must not see them.
func TestHidden(t *testing.T) {
	for i, hidden := range []func(string, pcp.Desc) bool{nil, func(name string, _ pcp.Desc) bool { return strings.HasPrefix(name, "proc.") }} {
		h := recorded(t, func(cfg *diagnose.Config) { cfg.Hidden = hidden })
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/diagnose?"+window(""), nil))
		if shows := strings.Contains(w.Body.String(), "mallory"); shows != (i == 0) {
			t.Errorf("hidden %v: %s", i == 1, w.Body)
		}
	}
}

// TestErrors refuses requests that cannot be answered.
func TestErrors(t *testing.T) {
	h := recorded(t, nil)
	for query, want := range map[string]string{
		"":                                  `400 there is no collector: want start and end`,
		"host=web1&start=1":                 `400 want start and end, or neither`,
		"host=web1&start=9&end=8":           `400 end must be later than start`,
		"host=web1&start=x&end=8":           `400 start: want seconds since 1970`,
		"host=web1&start=NaN&end=8":         `400 start: want seconds since 1970`,
		"host=web1&start=8&end=9e10":        `400 more than 31 days`,
		"start=8&end=9":                     `400 start and end require a host: the name that its archives have`,
		"host=web1&start=8&end=9":           `404 nothing is recorded of web1 at that time`,
		"host=web2&start=8&end=9":           `404 nothing is recorded of web2 at that time`,
		"whole=true":                        `400 whole requires start and end`,
		"changes=1":                         `400 changes: want true or false`,
		"hosts=web1":                        `400 "hosts": no such parameter`,
		"host=a&host=b":                     `400 host is given twice`,
		"host=" + strings.Repeat("a", 2000): `400 the name of the host is too long`,
	} {
		if status, v := get(t, h, query); fmt.Sprint(status, " ", v.Message) != want {
			t.Errorf("%s: %d %s, want %s", query, status, v.Message, want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/diagnose", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
	bad := recorded(t, func(cfg *diagnose.Config) {
		cfg.Rules = func() ([]*diagnosis.Rule, error) {
			return nil, &diagnosis.RuleError{File: "a.yaml", Line: 3, Msg: "no value"}
		}
	})
	if status, v := get(t, bad, window("")); status != 500 || v.Message != "the rules cannot be read: a.yaml:3: no value" {
		t.Errorf("bad rules: %d %s", status, v.Message)
	}
	// Other collectors are asked only if that is allowed, and the sockets of this host never.
	dialled := ""
	live := diagnose.New(diagnose.Config{
		Host: "own", Rules: builtin, AllowHost: func(*pmapi.HostSpec) bool { return dialled == "" },
		Open: func(_ context.Context, host string) (*pmapi.Context, error) {
			dialled = host
			return nil, pcp.ErrIPC
		},
	})
	for _, host := range []string{"unix:/run/pcp/pmcd.socket", "local:", "other", "other", ""} {
		before := dialled
		status, v := get(t, live, "host="+host)
		if status != 503 || v.Message != "cannot connect to the collector" {
			t.Errorf("%q: %d %s", host, status, v.Message)
		}
		if want := map[string]string{"": "own", "other": "other"}[host]; dialled != want && dialled != before {
			t.Errorf("%q: dialled %q", host, dialled)
		}
	}
	if dialled != "own" {
		t.Errorf("without a host %q is dialled", dialled)
	}
}

// TestTurns carries out one request at a time for a source, ends those whose clients leave, and refuses too many.
func TestTurns(t *testing.T) {
	var now, most atomic.Int32
	entered := make(chan struct{}, 100)
	cfg := diagnose.Config{
		Rules: builtin, Host: "own",
		Open: func(ctx context.Context, _ string) (*pmapi.Context, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			entered <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	ask := func(ctx context.Context, h *diagnose.Handler) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/diagnose", nil))
		return w.Code
	}
	var group sync.WaitGroup
	h := diagnose.New(cfg)
	defer h.Close()
	ctx, leave := context.WithCancel(context.Background())
	statuses := make(chan int, 100)
	for range 40 {
		group.Go(func() { statuses <- ask(ctx, h) })
	}
	<-entered
	for range 8 { // of which there is no room: 32 wait or run
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Errorf("status %d", status)
		}
	}
	leave()
	group.Wait()
	if most.Load() != 1 {
		t.Errorf("%d requests at once", most.Load())
	}
	// The end of the handler ends its requests.
	entered = make(chan struct{}, 1)
	h = diagnose.New(cfg)
	group.Go(func() { ask(context.Background(), h) })
	<-entered
	h.Close()
	group.Wait()
}

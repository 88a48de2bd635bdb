package recordings

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/folio"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// open opens a context of a collector with two metrics.
func open(context.Context) (*pmapi.Context, error) {
	value := func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(42), nil }
	a, err := pmda.NewTable(pmda.Config{Name: "guide", Domain: 400, Metrics: []pmda.Metric{
		{Name: "guide.answer", Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
		{Name: "guide.other", Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
	}})
	if err != nil {
		return nil, err
	}
	return pmapi.OpenLocal(pmapi.LocalAgent{Name: "guide", Domain: 400, Agent: a})
}

// A reply is the answer to a request.
type reply struct {
	Recording
	Recordings []Recording
	Message    string `json:"message"`
	Success    bool
}

type client struct {
	*testing.T
	h *Handler
}

// do sends a request, which must have a status and a message with a text.
func (c client) do(method, path, body string, status int, has string) (r reply) {
	c.Helper()
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != status || r.Success != (status == 200) || !strings.Contains(r.Message, has) {
		c.Errorf("%s %s %.100s: %d %s, %v; want %d with %q", method, path, body, w.Code, w.Body, err, status, has)
	}
	return r
}

func newClient(t *testing.T, cfg Config) client {
	t.Helper()
	h := New(cfg)
	t.Cleanup(func() { h.Close() })
	return client{t, h}
}

// TestRecording records, stops, and reads the folio, the view and the archive.
func TestRecording(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	c := newClient(t, Config{Dir: dir, Open: open})
	if list := c.do("GET", "/recordings", "", 200, ""); list.Recordings == nil || len(list.Recordings) > 0 {
		t.Errorf("before the first: %v", list)
	}
	r := c.do("POST", "/recordings", `{"metrics":["guide.answer","guide.other","no.such"],"charts":[{"title":"both","style":"stack","plots":[{"metric":"guide.answer","legend":"the %I"},{"metric":"no.such"},{"metric":"guide.other","match":"^a \"b"}]},{"title":"none","plots":[{"metric":"no.such"}]}],"interval":0.1,"seconds":3600}`, 200, "")
	if !r.Running || r.Metrics != 2 || r.Folio != filepath.Join(dir, r.ID, "folio") || r.Host == "" {
		t.Fatalf("it began as %+v", r)
	}
	c.do("DELETE", "/recordings/"+r.ID, "", 409, "stop it first")
	newClient(t, Config{Dir: dir, Open: open}).do("DELETE", "/recordings/"+r.ID, "", 409, "another program")
	samples := func() int {
		a, err := archive.Open(filepath.Join(dir, r.ID, "archive"))
		if err != nil {
			return 0
		}
		defer a.Close()
		n := 0
		for rec, err := range a.Records(pcp.Timestamp{}, archive.Forward) {
			if err != nil {
				return 0
			}
			_ = rec
			n++
		}
		return n
	}
	await.Until(t, "three samples are recorded", func() bool { return samples() >= 3 })
	stopped := c.do("POST", "/recordings/"+r.ID+"/stop", "", 200, "")
	if stopped.Running || stopped.Ended == "" || stopped.Message != "" || stopped.Bytes < 1000 {
		t.Errorf("it was stopped as %+v", stopped)
	}
	f, err := folio.Open(r.Folio)
	if err != nil || len(f.Archives) != 1 || f.Creator != "pmchart view" || f.Archives[0].Host != r.Host {
		t.Fatalf("the folio has %+v, %v", f, err)
	}
	if _, err := archive.Open(f.Archives[0].Path(r.Folio)); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, r.ID, "view")); err != nil || string(b) != "#kmchart\nversion 1\n\nchart title \"both\" style stacking\n\tplot legend \"the %I\" metric guide.answer\n\tplot metric guide.other matching ^a \"b\n" {
		t.Errorf("the view is %q, %v", b, err)
	}
	// Another program lists it too, and removes it.
	c = newClient(t, Config{Dir: dir, Open: open})
	if list := c.do("GET", "/recordings", "", 200, ""); len(list.Recordings) != 1 || list.Recordings[0].Ended != stopped.Ended || list.Recordings[0].Running {
		t.Errorf("listed as %+v", list.Recordings)
	}
	c.do("DELETE", "/recordings/"+r.ID, "", 200, "")
	c.do("DELETE", "/recordings/"+r.ID, "", 404, "no such recording")
	c.do("POST", "/recordings/"+r.ID+"/stop", "", 404, "no such recording")
}

// TestRecordingEnds ends a recording by its time, and another one with the handler.
func TestRecordingEnds(t *testing.T) {
	c := newClient(t, Config{Dir: t.TempDir(), Open: open})
	short := c.do("POST", "/recordings", `{"metrics":["guide.answer"],"interval":0.1,"seconds":0.3}`, 200, "")
	long := c.do("POST", "/recordings", `{"metrics":["guide.answer"],"seconds":86400}`, 200, "")
	if short.ID == long.ID {
		t.Errorf("two recordings are %s", long.ID)
	}
	of := func(id string) Recording {
		for _, r := range c.do("GET", "/recordings", "", 200, "").Recordings {
			if r.ID == id {
				return r
			}
		}
		return Recording{}
	}
	await.Until(t, "the short recording ends", func() bool { return of(short.ID).Ended != "" })
	if m := of(short.ID).Message; m != "" {
		t.Errorf("the short recording ended: %s", m)
	}
	if !of(long.ID).Running {
		t.Error("the long recording has ended")
	}
	c.h.Close()
	if r := of(long.ID); r.Running || r.Ended == "" {
		t.Errorf("after the end it is %+v", r)
	}
	c.do("POST", "/recordings", `{"metrics":["guide.answer"],"seconds":1}`, 503, "going down")
}

// TestRefused refuses requests, and writes nothing for them.
func TestRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	c := newClient(t, Config{Dir: dir, Open: open})
	f := func(body string, status int, has string) {
		t.Helper()
		c.do("POST", "/recordings", body, status, has)
	}
	f(`{`, 400, "not a recording")
	f(`{}`, 400, "no metrics")
	f(`{"metrics":["guide.answer"]}`, 400, "seconds")
	f(`{"metrics":["guide.answer"],"seconds":86401}`, 400, "86400 seconds")
	f(`{"metrics":["guide.answer"],"seconds":1,"interval":0.01}`, 400, "interval")
	f(`{"metrics":["guide.answer"],"seconds":1,"charts":[{"plots":[{"metric":"other"}]}]}`, 400, "not among")
	f(`{"metrics":["no.such"],"seconds":1}`, 503, "none of the metrics")
	for _, bad := range []string{"", ".", "a.", "a b", "a\n}", "a{", "../x", "a/b", "1a", "a.1", "a[b]", "ä", "a\"", strings.Repeat("a", 1001)} {
		b, _ := json.Marshal(map[string]any{"metrics": []string{bad}, "seconds": 1})
		f(string(b), 400, "not the name of a metric")
	}
	f(`{"metrics":[`+strings.Repeat(`"a",`, MaxMetrics)+`"a"],"seconds":1}`, 400, "more than 1000 metrics")
	f(strings.Repeat(" ", maxBody+1), 400, "bytes")
	for _, path := range []string{"/recordings/../../etc", "/recordings/..", "/recordings/20260101-000000/../x", "/recordings/20260101-000000-x", "/recordingsx"} {
		c.do("DELETE", path, "", map[bool]int{true: 404, false: 405}[!strings.HasPrefix(path, "/recordings/2026") || strings.HasSuffix(path, "-x")], "")
	}
	c.do("PUT", "/recordings", "", 405, "want")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory exists: %v", err)
	}
	away := newClient(t, Config{Dir: dir, Open: func(context.Context) (*pmapi.Context, error) { return nil, pcp.Error(-111) }})
	away.do("POST", "/recordings", `{"metrics":["guide.answer"],"seconds":1}`, 503, "cannot be reached: Connection refused")
	// A directory that cannot be made is named.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	newClient(t, Config{Dir: filepath.Join(file, "x"), Open: open}).do("POST", "/recordings", `{"metrics":["guide.answer"],"seconds":1}`, 500, file)
}

// TestRefusedMany refuses more recordings than the limits allow.
func TestRefusedMany(t *testing.T) {
	dir := t.TempDir()
	c := newClient(t, Config{Dir: dir, Open: open})
	for range MaxRunning {
		c.do("POST", "/recordings", `{"metrics":["guide.answer"],"seconds":100}`, 200, "")
	}
	c.do("POST", "/recordings", `{"metrics":["guide.answer"],"seconds":100}`, 503, "stop one first")
	full := t.TempDir()
	for i := range MaxKept {
		if err := os.Mkdir(filepath.Join(full, "20260101-000000-"+strconv.Itoa(100+i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	newClient(t, Config{Dir: full, Open: open}).do("POST", "/recordings", `{"metrics":["guide.answer"],"seconds":100}`, 507, "remove some first")
}

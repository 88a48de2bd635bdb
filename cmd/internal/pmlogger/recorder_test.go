package pmlogger_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A world configures the agent of a test: the number of instances, and the type
// of its metric.
type world struct {
	instances atomic.Int32
	typ       pcp.Type
}

// serve starts a collector with an agent, and returns a function that stops it.
func serve(t *testing.T, socket string, w *world) (stop func()) {
	t.Helper()
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		var list []pcp.Instance
		for i := range w.instances.Load() {
			list = append(list, pcp.Instance{Inst: i, Name: fmt.Sprintf("disk%d", i)})
		}
		return list, nil
	}}
	a, err := pmda.NewTable(pmda.Config{Name: "guide", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "guide.answer", Type: w.typ, Sem: pcp.SemInstant, OneLine: "the answer", Value: func(int32, int) (pcp.Value, error) {
			return pcp.Uint64Value(42).Extract(pcp.TypeU64, w.typ)
		}},
		{Name: "guide.disk", InDom: indom, Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.StringValue(strings.Repeat("x", int(inst))), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return collect(t, socket, pmcd.AgentSpec{Name: "guide", Domain: 400, Agent: a})
}

// collect starts a collector with one agent, until stop is called.
func collect(t *testing.T, socket string, agent pmcd.AgentSpec) (stop func()) {
	t.Helper()
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{agent}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A said collects the log of a recorder, and lets tests wait for a line.
type said struct {
	text chan string
	all  strings.Builder
}

func (l *said) Write(b []byte) (int, error) {
	l.text <- string(b)
	return len(b), nil
}

// wait waits for a text in the log.
func (l *said) wait(t *testing.T, what string) {
	t.Helper()
	for !strings.Contains(l.all.String(), what) {
		select {
		case s := <-l.text:
			l.all.WriteString(s)
		case <-time.After(time.Minute):
			t.Fatalf("it did not say %q, but %q", what, l.all.String())
		}
	}
}

// record starts a recorder.
func record(t *testing.T, socket, config string, cfg pmlogger.Config) (l *said, done chan error) {
	t.Helper()
	d := pmapi.Dialer{Reconnect: []time.Duration{time.Millisecond}}
	c, err := d.Dial(t.Context(), "unix:"+socket)
	if err != nil {
		t.Fatal(err)
	}
	set := new(derive.Set)
	if err := set.Add("guide.twice", "2 * guide.answer"); err != nil {
		t.Fatal(err)
	}
	c.UseDerived(set, nil)
	l = &said{text: make(chan string, 1000)}
	cfg.Log = l
	r, err := pmlogger.New(t.Context(), c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Configure(t.Context(), strings.NewReader(config), "config"); err != nil {
		t.Fatal(err)
	}
	done = make(chan error, 1)
	go func() {
		done <- r.Run(t.Context())
		c.Close()
	}()
	return l, done
}

// TestReconnect stops the collector and restarts it: a mark divides the records.
func TestReconnect(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	w := &world{typ: pcp.TypeU32}
	w.instances.Store(2)
	stop := serve(t, socket, w)
	base := filepath.Join(dir, "archive")
	l, done := record(t, socket, "log on 20 msec { guide }\nlog on once guide.answer", pmlogger.Config{Archive: base, Size: pmlogger.Size{Samples: 150}})
	stop()
	l.wait(t, "Lost connection to PMCD")
	w.instances.Store(3)
	stop = serve(t, socket, w)
	l.wait(t, "re-established connection to PMCD")
	if err := <-done; !errors.Is(err, pmlogger.ErrSampleLimit) {
		t.Fatal(err)
	}
	stop()

	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	marks, disks := 0, 0
	var last pcp.Timestamp
	for rec, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Time.Compare(last) < 0 {
			t.Errorf("%v comes after %v", rec.Time, last)
		}
		last = rec.Time
		if len(rec.Sets) == 0 {
			marks++
		}
		for _, s := range rec.Sets {
			if s.PMID == pcp.NewPMID(400, 0, 1) {
				disks = max(disks, len(s.Values))
			}
		}
	}
	if marks != 1 || disks != 3 {
		t.Errorf("%d marks, %d disks", marks, disks)
	}
	if list, err := a.Meta().InDom(pcp.NewInDom(400, 1), last); err != nil || len(list.Instances) != 3 {
		t.Errorf("instances at the end: %v, %v", list, err)
	}
	id, ok := a.Meta().LookupName("guide.twice")
	if !ok || id.IsDerived() {
		t.Errorf("the derived metric is %v, %t", id, ok)
	}
	if text, err := a.Meta().Text(pcp.TextOneLine|pcp.TextPMID, uint32(pcp.NewPMID(400, 0, 0))); err != nil || text != "the answer" {
		t.Errorf("help %q, %v", text, err)
	}
}

// TestChanged changes the type of a metric: the recorder ends.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	stop := serve(t, socket, &world{typ: pcp.TypeU32})
	base := filepath.Join(dir, "archive")
	l, done := record(t, socket, "log on 20 msec guide.answer", pmlogger.Config{Archive: base})
	stop()
	l.wait(t, "Lost connection")
	stop = serve(t, socket, &world{typ: pcp.TypeDouble})
	defer stop()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "metrics changed with the collector") {
		t.Errorf("it ends with %v", err)
	}
	l.wait(t, `Type of metric "guide.answer" has changed from U32 to DOUBLE`)
	l.wait(t, "One or more configured metrics have changed after pmcd state change. Exiting\n")
	if a, err := archive.Open(base); err != nil {
		t.Errorf("the archive cannot be read: %v", err)
	} else {
		a.Close()
	}
}

// TestNewNames adds a metric while the recorder runs, of strings, which are valid until the
// next request.
func TestNewNames(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	metrics := []pmda.Metric{{Name: "guide.one", Type: pcp.TypeString, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) {
		return pcp.StringValue("one"), nil
	}}}
	more := make(chan bool, 1)
	var table *pmda.Table
	cfg := pmda.Config{Name: "guide", Domain: 400, Metrics: metrics, Dynamic: []string{"guide"}}
	cfg.Refresh = func(context.Context, []pcp.PMID) error {
		select {
		case <-more:
		default:
			return nil
		}
		metrics = append(metrics, pmda.Metric{Name: "guide.two", Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) {
			return pcp.StringValue("two"), nil
		}})
		return table.SetMetrics(metrics)
	}
	table, err := pmda.NewTable(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "guide", Domain: 400, Agent: table}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Run(ctx) }()
	base := filepath.Join(dir, "archive")
	_, done := record(t, socket, "log on 20 msec guide", pmlogger.Config{Archive: base, Size: pmlogger.Size{Samples: 50}})
	more <- true
	if err := <-done; !errors.Is(err, pmlogger.ErrSampleLimit) {
		t.Fatal(err)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	found := make(map[string]int)
	for rec, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range rec.Sets {
			for _, v := range s.Values {
				if s.PMID.Domain() == 400 {
					text, _ := v.Text()
					found[s.PMID.String()+" "+text]++
				}
			}
		}
	}
	if len(found) != 2 || found["400.0.0 one"] < 40 || found["400.0.1 two"] == 0 {
		t.Errorf("it recorded %v", found)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]pmlogger.Size{
		"40": {Samples: 40}, "40b": {Bytes: 40}, "1KB": {Bytes: 1024}, "2megabytes": {Bytes: 2 << 20}, "3gib": {Bytes: 3 << 30},
		"10min": {Time: 10 * time.Minute}, "2 hours": {Time: 2 * time.Hour}, "90s": {Time: 90 * time.Second},
		"": {}, "0": {}, "-1": {}, "x": {}, "1x": {}, "9999999999999gb": {}, "99999999999999999999": {},
	} {
		got, err := pmlogger.ParseSize(text)
		if got != want || (err == nil) != (want != pmlogger.Size{}) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// TestCall calls a function in a recorder that waits for its next sample.
func TestCall(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	serve(t, socket, new(world{typ: pcp.TypeU32}))
	c, err := pmapi.Dial(t.Context(), "unix://"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: filepath.Join(t.TempDir(), "a")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	called := 0
	for range 3 {
		if err := r.Call(t.Context(), func() { called++ }); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if err := r.Call(t.Context(), func() { called++ }); !errors.Is(err, pmlogger.ErrEnded) {
		t.Errorf("Call after Run: %v", err)
	}
	if err := r.Call(ctx, func() { called++ }); err == nil {
		t.Error("no error of a context that is done")
	}
	if called != 3 {
		t.Errorf("%d calls, want 3", called)
	}
}

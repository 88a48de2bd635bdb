package pushed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/pushed"
	"github.com/go-pcp/pcp/pmda"
)

// A bench is a table with a clock, and a host that calls it.
type bench struct {
	t   testing.TB
	now time.Time
	cfg pushed.Config
	*pushed.Table
	run *pmda.Runner
}

func newBench(t testing.TB, cfg pushed.Config) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Unix(1_800_000_000, 0)}
	cfg.Root, cfg.Domain, cfg.Now = "test", 399, func() time.Time { return b.now }
	b.cfg = cfg
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	table, err := pushed.New(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Table, b.run = table, pmda.NewRunner(table, pmda.RunnerOptions{Name: "test"})
}

// reopen has the table read its file again.
func (b *bench) reopen() {
	b.t.Helper()
	if err := b.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

func counter(name string) *pushed.Metric {
	return &pushed.Metric{Name: name, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}, Help: "How many.\nIn all."}
}

func gauge(name string) *pushed.Metric {
	return &pushed.Metric{Name: name, Type: pcp.TypeDouble, Sem: pcp.SemInstant}
}

// set pushes a value of an instance, and returns the reason if it is rejected.
func (b *bench) set(sender string, m *pushed.Metric, inst string, n uint64) pushed.Reason {
	b.t.Helper()
	batch := b.Begin(sender, []pushed.Label{{Name: "host", Value: "a"}})
	defer batch.End()
	v := pcp.Uint64Value(n)
	if m.Type == pcp.TypeDouble {
		v = pcp.DoubleValue(float64(n))
	}
	return b.reason(batch.Set(m, inst, []pushed.Label{{Name: "name", Value: inst}}, v, b.now))
}

func (b *bench) reason(err error) pushed.Reason {
	b.t.Helper()
	var r *pushed.Rejection
	if err != nil && !errors.As(err, &r) {
		b.t.Fatalf("error %v is not a Rejection", err)
	}
	if r == nil {
		return ""
	}
	return r.Reason
}

// values returns PMID, and the number, name and value of each instance.
func (b *bench) values(name string) string {
	b.t.Helper()
	ctx, client := context.Background(), &pmda.Client{}
	id, err := b.run.LookupName(ctx, client, "test."+name)
	if err != nil {
		return err.Error()
	}
	desc, err := b.run.Desc(ctx, client, id)
	if err != nil {
		b.t.Fatal(err)
	}
	list, err := b.Instances(ctx, desc.InDom)
	if err != nil {
		b.t.Fatal(err)
	}
	names := make(map[int32]string)
	for _, in := range list {
		names[in.Inst] = in.Name
	}
	var res pcp.Result
	if err := b.Fetch(ctx, &pmda.FetchRequest{Client: client, PMIDs: []pcp.PMID{id}, Result: &res}); err != nil {
		b.t.Fatal(err)
	}
	out := id.String()
	for _, v := range res.Sets[0].Values {
		text := v.String()
		if v.Type() == pcp.TypeDouble {
			text = strconv.FormatFloat(v.Double(), 'g', -1, 64)
		}
		out += fmt.Sprintf(" %q=%s", names[v.Inst], text)
	}
	return out
}

func (b *bench) want(name, want string) {
	b.t.Helper()
	if got := b.values(name); got != want {
		b.t.Errorf("%s = %s, want %s", name, got, want)
	}
}

func (b *bench) wantReason(what string, got, want pushed.Reason) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: rejected because of %q, want %q", what, got, want)
	}
}

// TestNumbers checks that numbers are the same after a restart, and appear without being pushed again.
func TestNumbers(t *testing.T) {
	b := newBench(t, pushed.Config{Numbered: true, File: filepath.Join(t.TempDir(), "new", "names")})
	b.set("shop", counter("shop.a"), "x:1", 1)
	b.set("shop", counter("shop.b"), "x:1", 2)
	b.set("shop", counter("shop.b"), "x:2", 3)
	b.set("desk", gauge("desk.c"), "", 4)
	b.want("shop.a", `399.1.0 "0 x:1"=1`)
	b.want("shop.b", `399.1.1 "0 x:1"=2 "1 x:2"=3`)
	b.want("desk.c", `399.1.2 "0"=4`)
	b.reopen()
	b.want("shop.b", `399.1.1`)
	b.set("desk", gauge("desk.d"), "", 5)
	b.set("shop", counter("shop.b"), "x:3", 6)
	b.set("shop", counter("shop.b"), "x:2", 7)
	b.want("shop.b", `399.1.1 "1 x:2"=7 "2 x:3"=6`)
	b.want("desk.d", `399.1.3 "0"=5`)
	b.want("control.series", `399.0.2 "shop"=4 "desk"=2`)
	labels, err := b.Labels(context.Background(), uint32(pcp.NewInDom(399, 4097)), pcp.LabelInstances)
	if err != nil || len(labels) != 2 || labels[0].JSON != `{"host":"a","name":"x:2"}` {
		t.Errorf("labels = %v, %v", labels, err)
	}
	text, err := b.Text(context.Background(), uint32(pcp.NewPMID(399, 1, 1)), pcp.TextOneLine|pcp.TextPMID)
	if text != "How many." || err != nil {
		t.Errorf("help text = %q, %v", text, err)
	}
}

// TestStale checks when series vanish, and when their numbers are forgotten.
func TestStale(t *testing.T) {
	b := newBench(t, pushed.Config{Stale: time.Minute, Forget: time.Hour, File: filepath.Join(t.TempDir(), "names")})
	b.set("s", counter("s.a"), "x", 1)
	b.set("s", counter("s.a"), "y", 1)
	batch := b.Begin("s", nil)
	batch.Gone("s.a", "y")
	batch.Gone("s.none", "y")
	batch.End()
	b.want("s.a", `399.1.0 "x"=1`)
	b.now = b.now.Add(61 * time.Second)
	b.want("s.a", "399.1.0")
	b.set("s", counter("s.a"), "y", 2)
	b.want("s.a", `399.1.0 "y"=2`)
	b.now = b.now.Add(30 * time.Minute)
	b.set("s", counter("s.a"), "z", 3)
	b.now = b.now.Add(30*time.Minute + time.Second)
	b.set("s", counter("s.a"), "x", 4) // its number was forgotten, and is not given again
	b.reopen()
	b.set("s", counter("s.a"), "x", 5)
	b.want("s.a", `399.1.0 "x"=5`)
	b.want("control.series", `399.0.2 "s"=2`)
	b.now = b.now.Add(2 * time.Hour)
	b.set("t", counter("t.a"), "x", 5)
	b.want("s.a", pcp.ErrName.Error())
	b.want("control.series", `399.0.2 "t"=1`)
}

// TestAdd adds deltas, one of them twice.
func TestAdd(t *testing.T) {
	b := newBench(t, pushed.Config{})
	add := func(m *pushed.Metric, v pcp.Value, at time.Time) pushed.Reason {
		batch := b.Begin("s", nil)
		defer batch.End()
		return b.reason(batch.Add(m, "x", nil, v, at))
	}
	add(counter("s.n"), pcp.Uint64Value(3), b.now.Add(-time.Second))
	add(counter("s.n"), pcp.Uint64Value(4), b.now)
	b.wantReason("the same again", add(counter("s.n"), pcp.Uint64Value(4), b.now), pushed.ReasonOld)
	b.want("s.n", `399.1.0 "x"=7`)
	b.now = b.now.Add(time.Second)
	b.wantReason("a time ahead", add(counter("s.n"), pcp.Uint64Value(1), b.now.Add(time.Hour)), "")
	b.now = b.now.Add(time.Second)
	b.wantReason("the time of now", add(counter("s.n"), pcp.Uint64Value(1), b.now), "")
	b.want("s.n", `399.1.0 "x"=9`)
	m := &pushed.Metric{Name: "s.level", Type: pcp.Type64, Sem: pcp.SemInstant}
	add(m, pcp.Int64Value(-3), b.now)
	b.now = b.now.Add(time.Second)
	add(m, pcp.Int64Value(1), b.now)
	b.want("s.level", `399.1.1 "x"=-2`)
	b.wantReason("hours ago", add(m, pcp.Int64Value(1), b.now.Add(-time.Hour)), pushed.ReasonOld)
}

// TestConflict checks that a PMID keeps its descriptor.
func TestConflict(t *testing.T) {
	b := newBench(t, pushed.Config{File: filepath.Join(t.TempDir(), "names")})
	b.set("s", counter("s.a"), "x", 1)
	b.wantReason("a gauge", b.set("s", gauge("s.a"), "x", 1), pushed.ReasonConflict)
	b.now = b.now.Add(pushed.DefaultStale + time.Second)
	b.wantReason("a gauge later", b.set("s", gauge("s.a"), "x", 2), "")
	b.want("s.a", `399.1.1 "x"=2`)
	b.wantReason("a counter", b.set("s", counter("s.a"), "x", 1), pushed.ReasonConflict)
	b.reopen()
	b.want("s.a", `399.1.1`)
	b.wantReason("a counter after a restart", b.set("s", counter("s.a"), "x", 3), "")
	b.want("s.a", `399.1.0 "x"=3`)

	// A double takes integers.
	b.set("s", gauge("s.d"), "x", 1)
	whole := gauge("s.d")
	whole.Type = pcp.TypeU64
	b.wantReason("an integer", b.set("s", whole, "x", 7), "")
	b.want("s.d", `399.1.2 "x"=7`)

	// A name cannot be a leaf and a node.
	b.set("s", gauge("s.http"), "", 1)
	b.set("s", gauge("s.http.time"), "", 2)
	b.set("s", gauge("s.db.time"), "", 3)
	b.set("s", gauge("s.db"), "", 4)
	b.want("s.http_time", `399.1.4 ""=2`)
	b.want("s.db_", `399.1.6 ""=4`)
	b.wantReason("the name of the root", b.set("s", gauge("control"), "", 4), pushed.ReasonName)
	b.wantReason("no name", b.set("s", gauge(""), "", 4), pushed.ReasonName)
	b.wantReason("a long name", b.set("s", gauge(strings.Repeat("a.", 600)+"a"), "", 4), pushed.ReasonName)
	b.reopen()
	b.set("s", gauge("s.http.time"), "", 5)
	b.want("s.http_time", `399.1.4 ""=5`)
}

// TestLimits reaches each limit.
func TestLimits(t *testing.T) {
	b := newBench(t, pushed.Config{Stale: time.Minute, Reasons: []pushed.Reason{"own"}, Limits: pushed.Limits{
		Senders: 2, Metrics: 3, Series: 4, LabelBytes: 100,
	}})
	for i := range 4 {
		b.wantReason("series", b.set("s", counter("s.a"), fmt.Sprint(i), 1), "")
	}
	b.wantReason("a fifth series", b.set("s", counter("s.a"), "5", 1), pushed.ReasonSeries)
	b.wantReason("a second metric", b.set("s", counter("s.b"), "0", 1), pushed.ReasonSeries)
	b.set("s", counter("s.c"), "0", 1)
	b.wantReason("a fourth metric", b.set("s", counter("s.d"), "0", 1), pushed.ReasonMetrics)
	b.wantReason("long labels", b.set("t", counter("t.a"), strings.Repeat("x", 60), 1), pushed.ReasonLabels)
	b.wantReason("a third sender", b.set("u", counter("u.a"), "0", 1), pushed.ReasonSenders)
	b.Reject("v", "own", "no reason")
	b.want("control.rejected", `399.0.6 "senders"=1 "metrics"=1 "series"=3 "labels"=1 "memory"=0 "name"=0 "conflict"=0 "old"=0 "own"=1`)
	b.want("control.sender_rejected", `399.0.5 "s"=4 "t"=1`)
	if got := b.values("control.last_rejected"); !strings.Contains(got, `"series"=""s": metric s.c, instance 0"`) {
		t.Errorf("last_rejected = %s", got)
	}
	// Those that have vanished make room; s.a was forgotten too, as metrics were too many.
	b.now = b.now.Add(2 * time.Minute)
	b.wantReason("a series after the others vanished", b.set("s", counter("s.a"), "6", 1), "")
	b.wantReason("a sender after the others vanished", b.set("u", counter("u.a"), "0", 1), "")
	b.want("s.a", `399.1.4 "6"=1`)
}

// TestMemory pushes until the limit of memory, and checks the count against the heap.
func TestMemory(t *testing.T) {
	b := newBench(t, pushed.Config{Limits: pushed.Limits{Series: 1 << 30, Memory: 3 << 20, SenderBytes: 2 << 20}})
	fill := func(sender string) (n int) {
		for ; ; n++ {
			r := b.set(sender, counter(sender+".a"), fmt.Sprintf("some:label-%d", n), 1)
			if r != "" {
				b.wantReason("fill", r, pushed.ReasonMemory)
				return n
			}
		}
	}
	first, second := fill("s"), fill("t")
	if first < 1000 || first > 4000 || second > first {
		t.Errorf("%d series of the first sender and %d of the second fit", first, second)
	}
}

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"a.b_c": "a.b_c", "http.server.request.duration": "http.server.request.duration", "a-b/c:d": "a_b_c_d",
		"95p": "x95p", "a..b.": "a.b", "_x": "x_x", "": "", "..": "", "größe": "gr____e", "a.9": "a.x9",
	} {
		if got := pushed.Name(in); got != want {
			t.Errorf("Name(%q) = %q, want %q", in, got, want)
		}
	}
	if got := pushed.LabelName("service.name"); got != "service_name" {
		t.Errorf("LabelName = %q", got)
	}
}

// TestBadFile opens files that are not files of names.
func TestBadFile(t *testing.T) {
	for _, text := range badFiles() {
		path := filepath.Join(t.TempDir(), "names")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := pushed.New(pushed.Config{Root: "test", Domain: 399, File: path})
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: error %v, want one that names the file", text, err)
		}
	}
}

func badFiles() []string {
	const head = `{"format":"pcp pushed names 1","metrics":2,"senders":1}` + "\n"
	return []string{
		"", "x", `{"format":"other"}`, head + "{}", head + `{"series":"x","n":0}`, head + `{"sender":"a","n":1}`,
		head + `{"sender":"a","n":0}` + "\n" + `{"metric":"a.b","n":2,"of":0,"type":3,"units":0}`,
		head + `{"sender":"a","n":0}` + "\n" + `{"metric":"a.b","n":0,"of":0,"type":9,"units":0}`,
		head + `{"sender":"a","n":0}` + "\n" + `{"metric":"a.b","n":0,"of":0,"type":3,"units":0,"next":1}` + "\n" + `{"series":"x","n":1}`,
	}
}

// FuzzNames reads a file of names. It writes the file, and reads it again.
func FuzzNames(f *testing.F) {
	for _, text := range badFiles() {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"format":"pcp pushed names 1","metrics":2,"senders":1}
{"sender":"a","n":0}
{"metric":"a.b","shown":"test.a.b","n":1,"type":3,"sem":1,"units":1048576,"help":"h","next":3}
{"series":"x:1","n":2}
`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "names")
		open := func(b []byte) *pushed.Table {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			table, err := pushed.New(pushed.Config{Root: "test", Domain: 399, File: path, Limits: pushed.Limits{Senders: 1 << 20}})
			if err != nil {
				return nil
			}
			b1 := table.Begin("new sender of the test", nil)
			b1.End()
			if err := table.Close(); err != nil {
				t.Fatal(err)
			}
			return table
		}
		if open(text) == nil {
			return
		}
		first, _ := os.ReadFile(path)
		if open(first) == nil {
			t.Fatalf("%q was written, and cannot be read", first)
		}
		second, _ := os.ReadFile(path)
		if !bytes.Equal(first, second) {
			t.Error(cmp.Diff(string(first), string(second)))
		}
	})
}

package simple_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/pmda"
)

func newAgent(t *testing.T, path string, log *bytes.Buffer) *simple.Agent {
	t.Helper()
	a, err := simple.New(simple.Config{Path: path, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func id(cluster, item int) pcp.PMID { return pcp.NewPMID(simple.Domain, cluster, item) }

// fetch makes the calls of a collector for one request.
func fetch(t *testing.T, a *simple.Agent, ids ...pcp.PMID) []pcp.ValueSet {
	t.Helper()
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
	if err := a.Refresh(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	if err := a.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if err := pmda.CheckResult(req); err != nil {
		t.Fatal(err)
	}
	return req.Result.Sets
}

func show(sets ...pcp.ValueSet) string {
	var words []string
	for _, vs := range sets {
		if vs.Err != 0 {
			words = append(words, fmt.Sprintf("error %d", int32(vs.Err)))
		}
		for _, v := range vs.Values {
			words = append(words, fmt.Sprintf("%d=%d", v.Inst, v.Bits()))
		}
	}
	return strings.Join(words, " ")
}

func TestColor(t *testing.T) {
	a := newAgent(t, "", new(bytes.Buffer))
	for i := 1; i <= 300; i++ {
		want := fmt.Sprintf("0=%d 1=%d 2=%d", i%256, (100+i)%256, (200+i)%256)
		if got := show(fetch(t, a, id(0, 1))...); got != want {
			t.Fatalf("fetch %d: %s, want %s", i, got, want)
		}
	}
	if got := show(fetch(t, a, id(0, 0))...); got != "-1=301" {
		t.Errorf("numfetch %s", got)
	}
}

func TestStore(t *testing.T) {
	a := newAgent(t, "", new(bytes.Buffer))
	store := func(want error, id pcp.PMID, values ...pcp.Value) {
		t.Helper()
		res := &pcp.Result{Sets: []pcp.ValueSet{{PMID: id, Values: values}}}
		if err := a.Store(t.Context(), &pmda.Client{}, res); err != want {
			t.Errorf("Store(%v, %v): %v, want %v", id, values, err, want)
		}
	}
	get := func(id pcp.PMID, want string) {
		t.Helper()
		if got := show(fetch(t, a, id)...); got != want {
			t.Errorf("%v is %s, want %s", id, got, want)
		}
	}
	numfetch, color := id(0, 0), id(0, 1)
	store(nil, numfetch, pcp.Uint32Value(41))
	get(numfetch, "-1=42")
	store(pcp.ErrBadStore, numfetch, pcp.Uint32Value(1<<31))
	get(numfetch, "-1=1")
	store(nil, color, pcp.Int32Value(7).WithInst(2), pcp.Int32Value(255).WithInst(0))
	get(color, "0=0 1=101 2=8")
	store(pcp.ErrBadStore, color, pcp.Int32Value(256).WithInst(1))
	store(pcp.ErrBadStore, color, pcp.Int32Value(-1).WithInst(2), pcp.Int32Value(9).WithInst(0))
	get(color, "0=1 1=0 2=1")
	store(pcp.ErrInst, color, pcp.Int32Value(1).WithInst(3))
	for _, item := range [][2]int{{1, 2}, {1, 3}, {2, 4}} {
		store(pcp.ErrPermission, id(item[0], item[1]), pcp.Int32Value(0))
	}
	store(pcp.ErrPMID, id(0, 2), pcp.Int32Value(0))
	store(pcp.ErrConv, numfetch, pcp.StringValue("1"))
}

func TestNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "simple.conf")
	var log bytes.Buffer
	a := newAgent(t, path, &log)
	indom := pcp.NewInDom(simple.Domain, 1)
	at := time.Unix(1e9, 0)
	configure := func(text string) {
		t.Helper()
		at = at.Add(time.Second)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...pcp.Instance) {
		t.Helper()
		got, err := a.Instances(t.Context(), indom)
		if diff := cmp.Diff(want, append([]pcp.Instance(nil), got...)); diff != "" || err != nil {
			t.Error(diff, err)
		}
		sets, err := a.Labels(t.Context(), uint32(indom), pcp.LabelInstances)
		if err != nil || len(sets) != len(want) {
			t.Errorf("%d label sets, %v, want %d", len(sets), err, len(want))
		}
		for i, s := range sets {
			if s.JSON != fmt.Sprintf(`{"units":%q}`, want[i].Name) || s.Inst != want[i].Inst {
				t.Errorf("labels of %v: %d %s", want[i], s.Inst, s.JSON)
			}
		}
		values := fetch(t, a, id(2, 4))[0].Values
		if len(values) != len(want) {
			t.Errorf("%d values, want %d", len(values), len(want))
		}
	}
	sec, min, hour := pcp.Instance{Inst: 0, Name: "sec"}, pcp.Instance{Inst: 1, Name: "min"}, pcp.Instance{Inst: 2, Name: "hour"}
	check(sec, min, hour) // no file
	configure("hour\nsec\n")
	check(hour)
	configure("min,sec")
	check(sec, min)
	configure("")
	check()
	configure("sec,sec,week,min \n")
	check(sec)
	if !strings.Contains(log.String(), "week") || !strings.Contains(log.String(), "is empty") {
		t.Errorf("log: %s", &log)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check(sec, min, hour)

	// An existing file that cannot be read gives no instances, and one line in the log.
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	check()
	check()
	if n := strings.Count(log.String(), "cannot be read"); n != 1 {
		t.Errorf("%d lines about a configuration that cannot be read:\n%s", n, &log)
	}
}

// TestNowNumbers starts with an order other than the built-in one: instances get
// numbers as they appear.
func TestNowNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "simple.conf")
	if err := os.WriteFile(path, []byte("hour,sec"), 0o644); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, path, new(bytes.Buffer))
	before := time.Now()
	values := fetch(t, a, id(2, 4))[0].Values
	after := time.Now()
	got, err := a.Instances(t.Context(), pcp.NewInDom(simple.Domain, 1))
	want := []pcp.Instance{{Inst: 0, Name: "hour"}, {Inst: 1, Name: "sec"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	clock := func(at time.Time) string { return fmt.Sprintf("0=%d 1=%d", at.Hour(), at.Second()) }
	if got := show(pcp.ValueSet{Values: values}); got != clock(before) && got != clock(after) {
		t.Errorf("values %s, want %s", got, clock(before))
	}
}

func TestTime(t *testing.T) {
	a := newAgent(t, "", new(bytes.Buffer))
	spent := func() float64 {
		sets := fetch(t, a, id(1, 2), id(1, 3))
		return sets[0].Values[0].Double() + sets[1].Values[0].Double()
	}
	first := spent()
	for end := time.Now().Add(time.Minute); spent() <= first; {
		if time.Now().After(end) {
			t.Fatalf("processor time stays at %v s", first)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "pcp.conf")
	if err := os.WriteFile(conf, []byte("PCP_PMDAS_DIR=/of/file\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PCP_CONF": conf}
	getenv := func(name string) string { return env[name] }
	if got := simple.DefaultPath(config.New(getenv)); got != "/of/file/simple/simple.conf" {
		t.Errorf("DefaultPath with a pcp.conf = %s", got)
	}
	env["PCP_PMDAS_DIR"] = "/x"
	if got := simple.DefaultPath(config.New(getenv)); got != "/x/simple/simple.conf" {
		t.Errorf("DefaultPath with PCP_PMDAS_DIR = %s", got)
	}
}

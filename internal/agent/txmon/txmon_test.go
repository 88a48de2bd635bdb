package txmon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
)

var keys atomic.Int32

// testKey returns a key that no other test uses: that of this process and a number.
func testKey() int {
	return 0x40000000 | os.Getpid()<<6&0x3fffffc0 | int(keys.Add(1)&0x3f)
}

func start(t testing.TB, types ...string) (a *Agent, key int) {
	t.Helper()
	key = testKey()
	a, err := New(Config{Types: types, Key: key})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("SKIPPED: no System V shared memory here")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, key
}

// fetch returns the values of an item, or the status of the metric.
func fetch(t testing.TB, a *Agent, item int) string {
	t.Helper()
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: []pcp.PMID{pcp.NewPMID(Domain, 0, item)}, Result: &pcp.Result{}}
	if err := a.Fetch(context.Background(), req); err != nil {
		t.Fatal(err)
	}
	set := req.Result.Sets[0]
	if set.Err != 0 {
		return set.Err.Symbol()
	}
	var list []any
	for _, v := range set.Values {
		if v.Type() == pcp.TypeFloat {
			list = append(list, v.Float())
		} else {
			list = append(list, v.Uint32())
		}
	}
	return fmt.Sprint(list)
}

func store(a *Agent, item int, v uint32) error {
	res := &pcp.Result{}
	res.AddSet(pcp.NewPMID(Domain, 0, item))
	res.Add(pcp.Uint32Value(v).WithInst(pcp.InNull))
	return a.Store(context.Background(), &pmda.Client{}, res)
}

func TestRecord(t *testing.T) {
	a, key := start(t, "query", "update", "a name that is too long for it")
	rec, err := Attach(key)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	all := func() (s []string) {
		for item := range 4 {
			s = append(s, fetch(t, a, item))
		}
		return s
	}
	f := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, all()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	f("[0 0 0]", "[-1 -1 -1]", "[-1 -1 -1]", "[0 0 0]")
	for _, e := range []error{
		rec.Record("query", 1), rec.Record("query", 2), rec.Record("update", 0.5), rec.Record("a name that is too ", 3),
	} {
		if e != nil {
			t.Error(e)
		}
	}
	if err := rec.Record("nosuch", 1); !errors.Is(err, pcp.ErrInst) {
		t.Errorf("an unknown type: %v", err)
	}
	f("[2 1 1]", "[1.5 0.5 3]", "[2 0.5 3]", "[2 1 1]")
	if err := store(a, 5, 9); err != nil {
		t.Error(err)
	}
	f("[2 1 1]", "[-1 -1 -1]", "[-1 -1 -1]", "[0 0 0]")
	if err := store(a, 4, 1); err != nil {
		t.Error(err)
	}
	rec.Record("query", 5)
	f("[3 1 1]", "PM_ERR_AGAIN", "PM_ERR_AGAIN", "[1 0 0]")
	if err := store(a, 4, 0); err != nil {
		t.Error(err)
	}
	rec.Record("query", 5)
	f("PM_ERR_AGAIN", "PM_ERR_AGAIN", "PM_ERR_AGAIN", "PM_ERR_AGAIN")
	if err := store(a, 4, 2); err != nil {
		t.Error(err)
	}
	f("[3 1 1]", "[0 -1 -1]", "[-1 -1 -1]", "[1 0 0]")
	if err := store(a, 4, 1<<31); !errors.Is(err, pcp.ErrSign) || fetch(t, a, 4) != "[0]" {
		t.Errorf("a negative level: %v, level %s", err, fetch(t, a, 4))
	}
	if err := store(a, 0, 1); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("store into a count: %v", err)
	}
	if got := fetch(t, a, 5); got != "[1]" {
		t.Errorf("control.reset is %s", got)
	}
	if got := rec.Types()[0]; got != (Type{"query", 32, 3, 2, -1, 0}) {
		t.Errorf("Types: %+v", got)
	}
}

func TestConcurrent(t *testing.T) {
	a, key := start(t, "tx")
	rec, err := Attach(key)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				rec.Record("tx", 0.25)
			}
		})
	}
	wg.Wait()
	if got := fetch(t, a, 0); got != "[4000]" {
		t.Errorf("count is %s", got)
	}
}

func TestGone(t *testing.T) {
	a, key := start(t, "tx")
	rec, err := Attach(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := rec.Record("tx", 1); err != nil {
		t.Errorf("after the agent has gone: %v", err)
	}
	if err := rec.Close(); err != nil {
		t.Error(err)
	}
	if err := rec.Record("tx", 1); !errors.Is(err, pcp.ErrInst) || rec.Level() != 0 || rec.Close() != nil {
		t.Errorf("after Close: %v", err)
	}
	if _, err := Attach(key); err == nil {
		t.Error("the segment is still there")
	}
	if _, err := New(Config{}); err == nil {
		t.Error("no types are accepted")
	}
}

func TestKeyFrom(t *testing.T) {
	f := func(in string, want int) {
		t.Helper()
		got, err := KeyFrom(func(string) string { return in })
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("KeyFrom(%q) = %#x, %v, want %#x", in, got, err, want)
		}
	}
	f("", Key)
	f("0x17", 0x17)
	f("12", 12)
	f("0", 0)
	f("x", 0)
	f("0x123456789", 0)
}

func FuzzSegment(f *testing.F) {
	s := make(segment, offset(2, 2))
	s.setup([]string{"a", "b"}, 2)
	f.Add([]byte(s))
	f.Add([]byte{2, 0, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0})
	f.Add(bytes.Repeat([]byte{255}, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := segment(b).records()
		if err != nil {
			return
		}
		for _, r := range records {
			_ = r.name()
			_, _, _, _ = r.count(), r.resets(), r.max(), r.sum()
		}
	})
}

// TestOracle has the C program record for our agent, and our program read the
// segment of the C agent.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	const source = "/var/lib/pcp/pmdas/txmon"
	if _, err := os.Stat(filepath.Join(source, "txrecord.c")); err != nil {
		t.Skip("SKIPPED: real PCP has no txmon")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("SKIPPED: no C compiler")
	}
	a, key := start(t, "query", "update", "third")
	dir := t.TempDir()
	for _, name := range []string{"txrecord.c", "txmon.h"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("0xdeadbeef"), fmt.Appendf(nil, "%#x", key))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "txrecord")
	if out, err := exec.Command(gcc, "-o", program, filepath.Join(dir, "txrecord.c"), "-lpcp").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: txrecord cannot be compiled: %v\n%s", err, out)
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(program, args...).CombinedOutput()
		if err != nil {
			t.Errorf("txrecord %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("query", "1.5", "update", "2", "query", "2.5")
	rec, err := Attach(key)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	rec.Record("third", 0.125)
	if got := fetch(t, a, 0) + fetch(t, a, 1) + fetch(t, a, 2); got != "[2 1 1][2 2 0.125][2.5 2 0.125]" {
		t.Errorf("fetched %s", got)
	}
	want := "txmon shared memory segment summary\n" +
		"                 tx  reset     total maximum\n" +
		"index offset  count  count      time    time name\n" +
		"    0     32      2      0     4.000   2.500 query\n" +
		"    1     96      1      0     2.000   2.000 update\n" +
		"    2    160      1      0     0.125   0.125 third\n"
	if diff := cmp.Diff(want, run("-l")); diff != "" {
		t.Errorf("-want +C:\n%s", diff)
	}
}

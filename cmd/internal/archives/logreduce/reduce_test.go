package logreduce

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

var (
	testInDom = pcp.NewInDom(245, 1)
	testStart = pcp.Timestamp{Sec: 1700000000}

	requests = pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemCounter}
	load     = pcp.Desc{PMID: pcp.NewPMID(245, 0, 2), Type: pcp.TypeDouble, InDom: testInDom, Sem: pcp.SemInstant}
	blob     = pcp.Desc{PMID: pcp.NewPMID(245, 0, 3), Type: pcp.TypeAggregate, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
)

// makeArchive writes 60 records a second apart: a counter, an instance domain with an
// instance that only exists in the first 20, and an aggregate. There is a mark after
// the first 30.
func makeArchive(t *testing.T, base string, version int) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: version, PID: 1, Start: testStart, Host: "cellar", TimeZone: "UTC"}})
	must(err)
	must(w.Desc(requests, "cellar.requests"))
	must(w.Desc(load, "cellar.load"))
	must(w.Desc(blob, "cellar.blob"))
	must(w.InDom(testStart, testInDom, []pcp.Instance{{Inst: 0, Name: "red"}, {Inst: 1, Name: "white"}}))
	var res pcp.Result
	for i := range 60 {
		at := testStart.Add(time.Duration(i) * time.Second)
		if i == 30 {
			must(w.Mark(at.Add(-500 * time.Millisecond)))
		}
		res.Reset()
		res.Time = at
		res.AddSet(requests.PMID)
		res.Sets[0].ValFmt = pcp.ValInSitu
		res.Add(pcp.Uint32Value(4_000_000_000 + uint32(i)).WithInst(pcp.InNull))
		res.AddSet(load.PMID)
		res.Sets[1].ValFmt = pcp.ValDPtr
		res.Add(pcp.DoubleValue(float64(i)).WithInst(0))
		if i < 20 {
			res.Add(pcp.DoubleValue(float64(-i)).WithInst(1))
		}
		res.AddSet(blob.PMID)
		res.Sets[2].ValFmt = pcp.ValDPtr
		res.Add(pcp.BytesValue(pcp.TypeAggregate, []byte{1, 2, 3}).WithInst(pcp.InNull))
		must(w.WriteResult(&res))
	}
	must(w.Close())
}

// dump returns a line for each record.
func dump(t *testing.T, base string) []string {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r := a.NewReader()
	defer r.Close()
	var lines []string
	for {
		res, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%.1f", res.Time.Sub(testStart))
		for _, vs := range res.Sets {
			fmt.Fprintf(&b, " %s", vs.PMID)
			for _, v := range vs.Values {
				fmt.Fprintf(&b, " %d:%s:%s", v.Inst, v.Type(), v.AppendPrint(nil, v.Type(), 1, time.UTC))
			}
		}
		lines = append(lines, b.String())
	}
}

func TestReduce(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		dir := t.TempDir()
		base := filepath.Join(dir, "in")
		makeArchive(t, base, version)
		res := runTool(t, true, dir, nil, "-t", "10.5", base, "out")
		if res.Status != 0 || string(res.Err) != "pmlogreduce: cellar.blob: Warning: skipping AGGREGATE metric\n" {
			t.Fatalf("version %d: status %d: %s", version, res.Status, res.Err)
		}
		// After the mark a counter has no value at first. The white wine has no later
		// value, and so no value at 21 seconds either.
		want := []string{
			"0.0 245.0.2 0:DOUBLE:0 1:DOUBLE:0 245.0.1 -1:U64:4000000000",
			"10.5 245.0.2 0:DOUBLE:10 1:DOUBLE:-10 245.0.1 -1:U64:4000000011",
			"21.0 245.0.2 0:DOUBLE:21 245.0.1 -1:U64:4000000021",
			"29.5",
			"31.5 245.0.2 0:DOUBLE:31 245.0.1",
			"42.0 245.0.2 0:DOUBLE:42 245.0.1 -1:U64:4000000042",
			"52.5 245.0.2 0:DOUBLE:52 245.0.1 -1:U64:4000000053",
		}
		if diff := cmp.Diff(want, dump(t, filepath.Join(dir, "out"))); diff != "" {
			t.Errorf("version %d: records (-want +got):\n%s", version, diff)
		}
		a, err := archive.Open(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		if desc, err := a.Meta().Desc(requests.PMID); err != nil || desc.Type != pcp.TypeU64 {
			t.Errorf("version %d: counter of type %s, %v", version, desc.Type, err)
		}
		if _, err := a.Meta().Desc(blob.PMID); err == nil {
			t.Errorf("version %d: the aggregate is described", version)
		}
		a.Close()
	}
}

// TestSeven reduces an archive that starts between two microseconds: 6.0.3 begins before the first record,
// PCP 7 with it.
func TestSeven(t *testing.T) {
	base := filepath.Join(t.TempDir(), "in")
	start := testStart
	start.Nsec = 500
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Start: start, Host: "cellar", TimeZone: "UTC"}})
	if err == nil {
		err = w.Desc(requests, "cellar.requests")
	}
	for i := range 5 {
		res := pcp.Result{Time: start.Add(time.Duration(i) * time.Second)}
		res.AddSet(requests.PMID)
		res.Sets[0].ValFmt = pcp.ValInSitu
		res.Add(pcp.Uint32Value(uint32(i)).WithInst(pcp.InNull))
		if err == nil {
			err = w.WriteResult(&res)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env   []string
		nsec  int32
		first int // number of values of the first record
	}{{nil, 0, 0}, {[]string{"PCP_COMPAT=7"}, 500, 1}} {
		dir := t.TempDir()
		if res := runTool(t, true, dir, c.env, "-t", "2", base, "out"); res.Status != 0 {
			t.Fatalf("%v: status %d: %s", c.env, res.Status, res.Err)
		}
		a, err := archive.Open(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := a.NewReader().Next()
		if err != nil || res.Time.Nsec != c.nsec || len(res.Sets) != 1 || len(res.Sets[0].Values) != c.first {
			t.Errorf("%v: %v, %v, want %d values at %d ns", c.env, res, err, c.first, c.nsec)
		}
		a.Close()
	}
}

func TestVolumes(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "in")
	makeArchive(t, base, archive.Version3)
	res := runTool(t, true, dir, []string{"TZ=UTC"}, "-t", "10", "-v", "2", base, "out")
	if res.Status != 0 || !strings.Contains(string(res.Err), "New log volume 2, at 22:14:00.000000000\n") {
		t.Errorf("status %d: %s", res.Status, res.Err)
	}
	a, err := archive.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got := a.Volumes(); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("volumes %v, want 0 1 2", got)
	}
}

// TestRefused tries invalid intervals and outputs.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "in")
	makeArchive(t, base, archive.Version3)
	f := func(want string, args ...string) {
		t.Helper()
		res := runTool(t, true, dir, nil, args...)
		if res.Status != 1 || !strings.Contains(string(res.Err), want) {
			t.Errorf("%q: status %d: %s", args, res.Status, res.Err)
		}
	}
	f("-t requires an interval that is not 0", "-t", "0", base, "out")
	f("already exists, not over-written", base, base)
	f("Error: __pmLogCreate: No such file or directory", base, "nosuch/out")
	f("Error: cannot open archive \"nosuch\" (ctx_a): No such file or directory", "nosuch", "out")
}

// TestFull fills the disk.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "in")
	makeArchive(t, base, archive.Version3)
	res := runTool(t, true, dir, []string{twin.Limit(1500)}, "-t", "1", base, "out")
	if res.Status != 1 || !strings.Contains(string(res.Err), "File too large\nArchive \"out\" not created.\n") || len(res.Files) > 0 {
		t.Errorf("status %d, %d files: %s", res.Status, len(res.Files), res.Err)
	}
}

package check

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// descs are the metrics of testArchive, one of each kind that pass 3 knows.
var descs = []pcp.Desc{
	{PMID: pcp.NewPMID(29, 0, 1), Type: pcp.TypeU32, Sem: pcp.SemCounter, InDom: pcp.NewInDom(29, 1)},
	{PMID: pcp.NewPMID(29, 0, 2), Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: pcp.NewInDom(29, 1)},
	{PMID: pcp.NewPMID(29, 0, 3), Type: pcp.TypeDouble, Sem: pcp.SemInstant, InDom: pcp.NewInDom(29, 1)},
	{PMID: pcp.NewPMID(29, 0, 4), Type: pcp.Type32, Sem: pcp.SemInstant, InDom: pcp.InDomNull},
	{PMID: pcp.NewPMID(29, 0, 5), Type: pcp.TypeString, Sem: pcp.SemDiscrete, InDom: pcp.InDomNull},
	{PMID: pcp.NewPMID(29, 0, 6), Type: pcp.TypeEvent, Sem: pcp.SemInstant, InDom: pcp.InDomNull},
}

// result returns a record of testArchive. Counters have the value count.
func result(t pcp.Timestamp, count uint64) *pcp.Result {
	res := &pcp.Result{Time: t}
	add := func(d pcp.Desc, format pcp.ValFmt, vals ...pcp.Value) {
		res.AddSet(d.PMID)
		for i, v := range vals {
			if d.InDom != pcp.InDomNull {
				v.Inst = int32(i)
			}
			res.Add(v)
		}
		res.Sets[len(res.Sets)-1].ValFmt = format
	}
	add(descs[0], pcp.ValInSitu, pcp.Uint32Value(uint32(count)), pcp.Uint32Value(7))
	add(descs[1], pcp.ValDPtr, pcp.Uint64Value(count), pcp.Uint64Value(9))
	add(descs[2], pcp.ValDPtr, pcp.DoubleValue(-1))
	add(descs[3], pcp.ValInSitu, pcp.Int32Value(-1))
	add(descs[4], pcp.ValDPtr, pcp.StringValue("some text"))
	return res
}

// testArchive writes an archive whose counters have the given values, one a
// second; 0 is a mark.
func testArchive(t testing.TB, version int, counts ...uint64) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{
		Version: version, PID: 42, Host: "here", TimeZone: "UTC", Start: pcp.Timestamp{Sec: 1700000000},
	}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, d := range descs {
		check(w.Desc(d, fmt.Sprintf("test.m%d", i)))
	}
	check(w.InDom(pcp.Timestamp{Sec: 1700000000}, pcp.NewInDom(29, 1), []pcp.Instance{{Inst: 0, Name: "zero"}, {Inst: 1, Name: "one"}}))
	for i, n := range counts {
		at := pcp.Timestamp{Sec: 1700000000 + int64(i)}
		if n == 0 {
			check(w.Mark(at))
		} else {
			check(w.WriteResult(result(at, n)))
		}
	}
	check(w.Close())
	return base
}

// messages checks an archive and returns the findings, without its directory.
func messages(t *testing.T, base string) (ok bool, text string) {
	t.Helper()
	var b strings.Builder
	c := Checker{Path: base, Found: func(f Finding) { b.WriteString(f.Message) }, Strict: true}
	ok = c.Run()
	return ok, strings.ReplaceAll(b.String(), filepath.Dir(base)+"/", "")
}

// TestWraps follows counters over marks.
func TestWraps(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for _, version := range []int{archive.Version2, archive.Version3} {
		ok, got := messages(t, testArchive(t, version, 10, 20, 5, 6, 0, 3, 4))
		want := `a.0:[CLOCK]: test.m0[zero]: unsigned 32-bit wrap
	value 20 at CLOCK
	value 5 at CLOCK
a.0:[CLOCK]: test.m1[zero]: unsigned 64-bit wrap
	value 20 at CLOCK
	value 5 at CLOCK
`
		got = clockRE(got)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("version %d: %v\n%s", version, ok, diff)
		}
	}
}

// clockRE replaces times of day, which depend on the zone.
func clockRE(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if i+12 <= len(s) && s[i+2] == ':' && s[i+5] == ':' && s[i+8] == '.' {
			b.WriteString("CLOCK")
			i += 12
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// TestOffsets checks the offsets of findings.
func TestOffsets(t *testing.T) {
	base := testArchive(t, archive.Version3, 1, 2, 3)
	data, err := os.ReadFile(base + ".0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+".0", data[:len(data)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	var got []Finding
	c := Checker{Path: base, Found: func(f Finding) { got = append(got, f) }}
	if c.Run() {
		t.Error("a volume that is cut passes")
	}
	length := (len(data) - archive.LabelSize(archive.Version3)) / 3
	off := int64(len(data) - length)
	if len(got) != 2 || got[0].File != base+".0" || got[0].Offset != off || got[0].Severity != Error || got[1].Offset != off || got[1].Severity != Note {
		t.Errorf("findings %+v, want two at offset %d", got, off)
	}
}

// TestMetaTimes checks the findings of Strict alone.
func TestMetaTimes(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Desc(descs[3], "test.m"); err != nil {
		t.Fatal(err)
	}
	if err := w.InDom(pcp.Timestamp{Sec: 1600000000}, pcp.NewInDom(29, 1), []pcp.Instance{{Name: "x"}}); err != nil {
		t.Fatal(err)
	}
	res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000}}
	res.AddSet(descs[3].PMID)
	res.Add(pcp.Int32Value(1))
	if err := w.WriteResult(res); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, got := messages(t, base); !strings.Contains(got, "a.meta[record 1]: instance domain 29.1: time ") || !strings.Contains(got, "before the start") {
		t.Errorf("found %q", got)
	}
}

// TestSeven checks the findings with the messages of PCP 7.
func TestSeven(t *testing.T) {
	t.Setenv("TZ", "UTC")
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	derived := descs[0]
	derived.PMID, derived.InDom = pcp.NewPMID(pcp.DomainDynamic, 2048, 1), pcp.NewInDom(29, 1)
	must(w.Desc(derived, "test.derived"))
	must(w.InDom(pcp.Timestamp{Sec: 1600000000, Nsec: 5}, pcp.NewInDom(29, 1), []pcp.Instance{{Name: "x"}}))
	must(w.InDom(pcp.Timestamp{Sec: 1700000009}, pcp.NewInDom(29, 1), []pcp.Instance{{Name: "y"}}))
	res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000}}
	res.AddSet(derived.PMID)
	res.Add(pcp.Uint32Value(1))
	must(w.WriteResult(res))
	must(w.Close())
	index, err := os.ReadFile(base + ".index")
	must(err)
	end := len(index)
	entry := slices.Clone(index[end-32:]) // of 32 bytes: time, volume and offsets
	for i := range 2 {                    // a volume that does not exist, and the first one again
		e := slices.Clone(entry)
		e[15] = byte(7 * (1 - i)) // the low byte of the volume
		index = append(index, e...)
	}
	must(os.WriteFile(base+".index", index, 0o666))
	for seven, want := range map[bool][]string{
		false: {"domain of pmid (511) != domain of indom (29)", "a.7: file missing for log volume 7", ": volume number (0) decreased (from 7 at "},
		true: {
			"a.7: file missing for data volume 7", ": data volume number (0) decreased (from 7 at ",
			fmt.Sprintf("a.index: last valid record ends at offset %d (of %d)\n", end+32, end+64),
			"a.meta[record 1]: pmInDom 29.1: timestamp 12:26:40.000000005 before archive start 22:13:20.000000000\n",
			"a.meta[record 2]: pmInDom 29.1: timestamp 22:13:29.000000000 after archive end 22:13:20.000000000\n", "a.meta: last valid record ends at offset ",
		},
	} {
		var got strings.Builder
		c := Checker{Path: base, Seven: seven, Found: func(f Finding) { got.WriteString(f.Message) }}
		c.Run()
		for _, text := range want {
			if strings.Count(got.String(), text) != 1 {
				t.Errorf("seven %t: no %q in\n%s", seven, text, &got)
			}
		}
		if seven && strings.Contains(got.String(), "domain of pmid") {
			t.Errorf("found the domain of a derived metric:\n%s", &got)
		}
	}
	meta, err := os.ReadFile(base + ".meta")
	must(err)
	meta[7] = 1 // the version
	must(os.WriteFile(base+".meta", meta, 0o666))
	for seven, want := range map[bool]string{false: "start pass0 ... ", true: "start pass0 ... \n"} {
		var got strings.Builder
		c := Checker{Path: base, Seven: seven, Verbose: 1, Trace: &got, Found: func(f Finding) { got.WriteString(f.Message) }}
		c.Run()
		if want = "a.meta: " + want + base + ".meta: bad label version: 1 not 2 or 3 as expected\n"; !strings.Contains(got.String(), want) {
			t.Errorf("seven %t: no %q in\n%s", seven, want, &got)
		}
	}
}

// TestFull checks that with Full the check continues after a damaged file, and that
// PCP 7 has an order of the files.
func TestFull(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000}}
	res.AddSet(descs[0].PMID)
	if err := errors.Join(w.Desc(descs[0], "test.one"), w.WriteResult(res), w.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".1", ".10", ".2"} { // more volumes, which are copies of the first
		b, err := os.ReadFile(base + ".0")
		if err == nil {
			err = os.WriteFile(base+name, b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	index, err := os.ReadFile(base + ".index")
	if err == nil {
		err = os.WriteFile(base+".index", append(index, 1, 2, 3), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	c := Checker{Path: base, Seven: true, Verbose: 1, Trace: &lines}
	if c.Run() || !strings.Contains(lines.String(), "cannot continue") {
		t.Errorf("a damaged index did not end the check:\n%s", &lines)
	}
	last := -1
	for _, name := range []string{".index", ".meta", ".0", ".1", ".2", ".10"} {
		i := strings.Index(lines.String(), "a"+name+": start pass0")
		if i <= last {
			t.Errorf("%s is not behind the others:\n%s", name, &lines)
		}
		last = i
	}
	lines.Reset()
	c = Checker{Path: base, Full: true, MetaOnly: true, Verbose: 1, Trace: &lines, Found: func(f Finding) { lines.WriteString(f.Message) }}
	if !c.Run() || !strings.Contains(lines.String(), "start pass2") {
		t.Errorf("with Full a damaged index ended the check:\n%s", &lines)
	}
}

// TestInstances compares the order kept by instances with a map.
func TestInstances(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	var p instances
	want := make(map[int32]float64)
	next, set := int32(0), []int32{}
	for round := range 3000 {
		// Some go, some are new, some come back, and sometimes the order is reversed.
		for k := rnd.IntN(4); k > 0 && len(set) > 0; k-- {
			i := rnd.IntN(len(set))
			set = append(set[:i], set[i+1:]...)
		}
		for k := rnd.IntN(4); k > 0; k-- {
			id := next
			if next > 0 && rnd.IntN(3) == 0 {
				id = rnd.Int32N(next)
			} else {
				next++
			}
			i := rnd.IntN(len(set) + 1)
			set = append(set[:i], append([]int32{id}, set[i:]...)...)
		}
		if rnd.IntN(50) == 0 {
			rnd.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		}
		seek := p.begin()
		for _, id := range set {
			in, fresh := p.next(&seek, id)
			last, known := want[id]
			if fresh == known || in.id != id || known && in.last != last {
				t.Fatalf("round %d: instance %d is %+v, new %v; want %v, known %v", round, id, *in, fresh, last, known)
			}
			in.last = float64(round)
			want[id] = in.last
			if !p.has(id) {
				t.Fatalf("round %d: instance %d is not there", round, id)
			}
		}
		p.end(&seek)
	}
	if len(p.list) != len(want) {
		t.Errorf("%d instances, want %d", len(p.list), len(want))
	}
}

// FuzzRecord feeds records to pass 3. It must accept the same records as
// archive.DecodeResult.
func FuzzRecord(f *testing.F) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		body, err := archive.AppendResult(nil, result(pcp.Timestamp{Sec: 1700000000}, 1), version)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, version == archive.Version3)
		f.Add(body[:len(body)-4], version == archive.Version3)
		for _, i := range []int{11, 15, 19, 23, 27, 31, len(body) - 40} {
			b := append([]byte(nil), body...)
			b[i] ^= 0x80
			f.Add(b, version == archive.Version3)
		}
	}
	a, err := archive.Open(testArchive(f, archive.Version3, 1))
	if err != nil {
		f.Fatal(err)
	}
	defer a.Close()
	f.Fuzz(func(t *testing.T, body []byte, three bool) {
		version := archive.Version2
		if three {
			version = archive.Version3
		}
		c := &Checker{a: a, name: "a"}
		c.loc = time.UTC
		s := &valueScan{c: c, metrics: make(map[pcp.PMID]*metric)}
		want := archive.DecodeResult(new(pcp.Result), body, version)
		var check archive.Checker
		for range 3 { // the second time there are no new metrics, the third time the layout is known
			rec := archive.Record{Body: body, Version: version}
			if got := check.Record(&rec); (got == nil) != (want == nil) {
				t.Fatalf("Record says %v, DecodeResult %v", got, want)
			}
			if want != nil {
				return
			}
			s.time = rec.Time
			s.pending = s.pending[:0]
			s.record(&rec)
			s.dead = false
		}
	})
}

package rewrite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/rewrite"
)

// ruleSeeds are rules of all kinds, for an archive that makeArchive makes.
var ruleSeeds = []string{
	"global { hostname -> web7 time -> +1:00:00 tz -> \"UTC\" zoneinfo -> \":UTC\" features -> bits(31) }",
	"global { time -> -23:59:59.999 }",
	"metric a.* { type -> U64 }\nmetric 245.*.* { pmid -> 246.*.* }",
	"metric a.count { name -> b.count type if u32 -> double units -> 0,0,1,0,0,3 rescale sem -> counter }",
	"metric a.size { indom -> NULL output sum }\nmetric a.name { value /x(x*)/ -> \"\\1&\" delete }",
	"metric a.size { indom -> null output iname \"white\" }",
	"indom 245.1 { iname \"red\" -> \"green\" inst 1 -> 7 indom -> duplicate 245.2 }",
	"indom 245.* { iname redact }\nindom 245.1 { iname replace /(.)(.*)/ -> \"\\2\\1\" }",
	"text metric a.count * { text -> \"new \\\"words\\\"\nhere\" }\ntext indom 245.1 help { delete }",
	"label context \"hostname\" { value -> \"x\" }\nlabel domain 245 { new \"a\" {} }\nlabel instances 245.1 1 { instance -> 9 }",
	"label item a.count { label -> \"other\" }\nlabel cluster 245.* { cluster -> 246.* }\nlabel indom 245.1 { delete }",
	"metric 245.0.1 { indom -> 9.9 output first }", "{", "metric", "\"", "global { hostname -> a_b } #", "text \"\"",
}

// makeArchive writes a small archive with all kinds of metadata.
func makeArchive(tb testing.TB, base string, version int) {
	tb.Helper()
	must := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatal(err)
		}
	}
	start := pcp.Timestamp{Sec: 1700000000}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: version, PID: 1, Start: start, Host: "cellar", TimeZone: "UTC"}})
	must(err)
	indom := pcp.NewInDom(245, 1)
	count := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant, Units: pcp.NewUnits(0, 0, 1, 0, 0, 0)}
	size := pcp.Desc{PMID: pcp.NewPMID(245, 0, 2), Type: pcp.TypeU64, InDom: indom, Sem: pcp.SemInstant}
	name := pcp.Desc{PMID: pcp.NewPMID(245, 0, 3), Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
	must(w.Desc(count, "a.count"))
	must(w.Desc(size, "a.size"))
	must(w.Desc(name, "a.name"))
	must(w.Text(pcp.TextPMID|pcp.TextOneLine, uint32(count.PMID), "how many"))
	must(w.Text(pcp.TextInDom|pcp.TextHelp, uint32(indom), "bottles"))
	for level, ident := range map[pcp.LabelFlags]uint32{
		pcp.LabelContext: uint32(pcp.PMIDNull), pcp.LabelDomain: 245, pcp.LabelItem: uint32(count.PMID), pcp.LabelInDom: uint32(indom),
	} {
		set, err := pcp.ParseLabels(`{"hostname":"cellar","n":1}`, level)
		must(err)
		must(w.Labels(start, level, ident, []pcp.LabelSet{set}))
	}
	for i := range 6 {
		at := start.Add(time.Duration(i) * time.Second)
		list := []pcp.Instance{{Inst: 0, Name: "red"}, {Inst: 1, Name: "white"}}
		if i > 2 {
			list = append(list, pcp.Instance{Inst: 2, Name: "rose wine"})
		}
		must(w.InDom(at, indom, list))
		var res pcp.Result
		res.Time = at
		res.AddSet(count.PMID)
		res.Sets[0].ValFmt = pcp.ValInSitu
		res.Add(pcp.Uint32Value(uint32(i)).WithInst(pcp.InNull))
		res.AddSet(size.PMID)
		res.Sets[1].ValFmt = pcp.ValDPtr
		for _, in := range list {
			res.Add(pcp.Uint64Value(uint64(1000 * i)).WithInst(in.Inst))
		}
		res.AddSet(name.PMID)
		res.Sets[2].ValFmt = pcp.ValDPtr
		res.Add(pcp.StringValue(strings.Repeat("x", i)).WithInst(pcp.InNull))
		must(w.WriteResult(&res))
	}
	must(w.Close())
}

// count returns the number of records of an archive.
func count(a *archive.Archive) (n int, err error) {
	s := archive.NewScanner(a)
	defer s.Close()
	for _, err := range s.Records() {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// apply applies rules to an archive. The copy must have all records, unless rules delete
// metrics.
func apply(t *testing.T, a *archive.Archive, text, out string) {
	rules := rewrite.New(a, rewrite.Config{Verbose: true, Warn: func(rewrite.Warning) {}})
	if err := rules.Parse("rules", []byte(text)); err != nil {
		if e, ok := errors.AsType[*rewrite.Error](err); !ok || e.Line < 1 || e.Text == "" {
			t.Fatalf("error %#v", err)
		}
		return
	}
	if err := rules.Resolve(); err != nil {
		return
	}
	rules.AppendSummary(nil)
	rules.Changes()
	w, err := archive.Create(out, archive.WriterConfig{Label: rules.Label(), ManualIndex: true})
	if err != nil {
		return
	}
	if err := rules.Rewrite(context.Background(), w, nil); err != nil {
		w.Discard()
		return
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(text), "delete") {
		return
	}
	b, err := archive.Open(out)
	if err != nil {
		if errors.Is(err, pcp.ErrNoData) || errors.Is(err, pcp.ErrFeature) {
			return
		}
		// Two metrics with the same new identifier contradict each other.
		for _, e := range []error{pcp.ErrLogChangeType, pcp.ErrLogChangeSem, pcp.ErrLogChangeInDom, pcp.ErrLogChangeUnits} {
			if errors.Is(err, e) {
				return
			}
		}
		t.Fatalf("the copy cannot be opened: %v", err)
	}
	defer b.Close()
	before, err1 := count(a)
	after, err2 := count(b)
	if err1 != nil || err2 != nil || before != after {
		t.Fatalf("%d records, %v; the copy: %d, %v", before, err1, after, err2)
	}
}

// FuzzParse reads any text as rules, and applies valid rules.
func FuzzParse(f *testing.F) {
	for _, s := range ruleSeeds {
		f.Add([]byte(s))
	}
	base := filepath.Join(f.TempDir(), "a")
	makeArchive(f, base, archive.Version3)
	a, err := archive.Open(base)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		apply(t, a, string(text), filepath.Join(t.TempDir(), "out"))
	})
}

// FuzzRewrite applies rules to damaged archives: some bytes of the metadata and of the
// volume are others.
func FuzzRewrite(f *testing.F) {
	dir := f.TempDir()
	var files [2]map[string][]byte
	for i := range files {
		base := filepath.Join(dir, "a")
		makeArchive(f, base, 2+i)
		files[i] = make(map[string][]byte)
		for _, suffix := range []string{".0", ".meta", ".index"} {
			b, err := os.ReadFile(base + suffix)
			if err != nil {
				f.Fatal(err)
			}
			files[i][suffix] = b
			os.Remove(base + suffix)
		}
	}
	for i := range uint16(120) {
		f.Add(byte(i), i*29+132, byte(i*7+1), i*53+140, byte(i*11), byte(i))
	}
	f.Fuzz(func(t *testing.T, which byte, metaAt uint16, metaX byte, volAt uint16, volX, rule byte) {
		base := filepath.Join(t.TempDir(), "a")
		for suffix, b := range files[which&1] {
			b = append([]byte(nil), b...)
			switch suffix {
			case ".meta":
				b[int(metaAt)%len(b)] ^= metaX
			case ".0":
				b[int(volAt)%len(b)] ^= volX
			}
			if err := os.WriteFile(base+suffix, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		a, err := archive.Open(base)
		if err != nil {
			return
		}
		defer a.Close()
		apply(t, a, ruleSeeds[int(rule)%len(ruleSeeds)], base+"-out")
	})
}

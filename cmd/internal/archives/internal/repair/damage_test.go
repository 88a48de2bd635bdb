package repair

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/check"
	"github.com/go-pcp/pcp/internal/testing/damage"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// start is the start of test archives.
const start = 1700000000

// The metrics of testArchive.
var (
	indom    = pcp.NewInDom(60, 1)
	counter  = pcp.Desc{PMID: pcp.NewPMID(60, 0, 1), Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: indom}
	text     = pcp.Desc{PMID: pcp.NewPMID(60, 0, 2), Type: pcp.TypeString, Sem: pcp.SemDiscrete, InDom: pcp.InDomNull}
	gauge    = pcp.Desc{PMID: pcp.NewPMID(61, 0, 3), Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: pcp.InDomNull}
	fraction = pcp.Desc{PMID: pcp.NewPMID(61, 0, 4), Type: pcp.TypeDouble, Sem: pcp.SemInstant, InDom: pcp.NewInDom(61, 7)}
)

// testArchive writes an archive as a logger does: two groups of metrics of
// different intervals, instances that come and go, labels, help, a mark, and
// three volumes.
func testArchive(t testing.TB, version int) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{
		Label:      archive.Label{Version: version, PID: 42, Host: "here", TimeZone: "UTC", Start: pcp.Timestamp{Sec: start}},
		IndexBytes: 900, FirstVolume: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	labels := func(json string) []pcp.LabelSet {
		set, err := pcp.ParseLabels(json, pcp.LabelDomain)
		check(err)
		return []pcp.LabelSet{set}
	}
	first := pcp.Timestamp{Sec: start}
	check(w.Labels(first, pcp.LabelContext, uint32(pcp.PMIDNull), labels(`{"hostname":"here"}`)))
	check(w.Desc(counter, "test.counter"))
	check(w.Desc(text, "test.text"))
	check(w.Text(pcp.TextOneLine|pcp.TextPMID, uint32(counter.PMID), "a counter"))
	check(w.Text(pcp.TextHelp|pcp.TextPMID, uint32(counter.PMID), "It counts what there is to be counted."))
	check(w.Labels(first, pcp.LabelDomain, 60, labels(`{"agent":"test"}`)))
	for i := range 90 {
		at := pcp.Timestamp{Sec: start + int64(i), Nsec: int32(1000 * (i * 7919 % 5000))}
		if i == 31 || i == 62 {
			check(w.NewVolume())
		}
		if i == 50 {
			check(w.Mark(at))
			continue
		}
		res := &pcp.Result{Time: at}
		if i%3 == 0 {
			if i == 0 {
				check(w.Desc(gauge, "other.gauge"))
				check(w.Desc(fraction, "other.fraction", "other.alias"))
				check(w.InDom(at, fraction.InDom, []pcp.Instance{{Inst: 1, Name: "one"}, {Inst: 2, Name: "two"}}))
				check(w.Text(pcp.TextOneLine|pcp.TextInDom, uint32(fraction.InDom), "the instances"))
			}
			res.AddSet(gauge.PMID)
			res.Add(pcp.Uint32Value(uint32(17 * i)))
			res.AddSet(fraction.PMID)
			res.Add(pcp.DoubleValue(float64(i) / 3).WithInst(1))
			res.Add(pcp.DoubleValue(float64(i) / 7).WithInst(2))
			res.Sets[1].ValFmt = pcp.ValDPtr
		} else {
			insts := []pcp.Instance{{Inst: 0, Name: "always"}}
			for k := range 5 {
				if (i/4+k)%3 != 0 {
					insts = append(insts, pcp.Instance{Inst: int32(k + 1), Name: fmt.Sprint("sometimes ", k)})
				}
			}
			check(w.InDom(at, indom, insts))
			if i%40 == 1 {
				check(w.Labels(at, pcp.LabelInDom, uint32(indom), labels(fmt.Sprintf(`{"round":%d}`, i))))
			}
			res.AddSet(counter.PMID)
			for _, in := range insts {
				res.Add(pcp.Uint64Value(uint64(100 * i)).WithInst(in.Inst))
			}
			res.Sets[0].ValFmt = pcp.ValDPtr
			res.AddSet(text.PMID)
			res.Add(pcp.StringValue(strings.Repeat("x", i%9)))
			res.Sets[1].ValFmt = pcp.ValDPtr
			res.AddError(gauge.PMID, pcp.ErrAgain)
		}
		check(w.WriteResult(res))
	}
	check(w.Close())
	return base
}

// A piece is a record of a file before the damage.
type piece struct {
	file     string
	off, end int
	body     []byte
}

// pieces cuts the files of an archive, volumes or metadata, into records.
func pieces(t testing.TB, base, file string) []piece {
	t.Helper()
	b, err := os.ReadFile(base + file)
	if err != nil {
		t.Fatal(err)
	}
	var list []piece
	for off := archive.LabelSize(int(b[7])); off < len(b); {
		n := int(binary.BigEndian.Uint32(b[off:]))
		list = append(list, piece{file, off, off + n, b[off+4 : off+n-4]})
		off += n
	}
	return list
}

// touched reports whether a damage changes bytes of a piece.
func touched(p *piece, d damage.Damage, before []byte) bool {
	if p.file != d.File {
		return false
	}
	switch d.Kind {
	case damage.Delete:
		return d.At < p.end && d.At+d.N > p.off && d.N > 0
	case damage.Insert:
		return d.At > p.off && d.At < p.end
	case damage.Cut:
		return d.At < p.end
	}
	after := d.Of(before)
	return !bytes.Equal(before[p.off:p.end], after[p.off:p.end])
}

// A truth is the contents of an undamaged archive.
type truth struct {
	version int
	files   map[string][]byte
	data    []piece
	meta    []piece
}

func newTruth(t testing.TB, base string) *truth {
	t.Helper()
	set, err := archive.FindFiles(base)
	if err != nil {
		t.Fatal(err)
	}
	w := &truth{files: make(map[string][]byte)}
	for _, path := range set.All() {
		suffix := strings.TrimPrefix(path, set.Base)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w.files[suffix] = b
		w.version = int(b[7])
		switch suffix {
		case ".index":
		case ".meta":
			w.meta = pieces(t, base, suffix)
		default:
			w.data = append(w.data, pieces(t, base, suffix)...)
		}
	}
	return w
}

// contents has the parts of a record that a test compares: its time and the sets
// of the metrics that count.
func contents(t testing.TB, body []byte, version int, without map[pcp.PMID]bool) (text string, sets int) {
	t.Helper()
	var res pcp.Result
	if err := archive.DecodeResult(&res, body, version); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d.%d", res.Time.Sec, res.Time.Nsec)
	for _, set := range res.Sets {
		if without[set.PMID] {
			continue
		}
		if len(set.Values) > 0 {
			sets++
		}
		fmt.Fprintf(&b, " %d/%d/%d", set.PMID, set.ValFmt, int(set.Err))
		for _, v := range set.Values {
			fmt.Fprintf(&b, " %d:%d:%x:%x", v.Inst, v.Type(), v.Bits(), v.Bytes())
		}
	}
	if len(res.Sets) == 0 {
		sets = 1 // a mark
	}
	return b.String(), sets
}

// missing returns the records of an undamaged archive that should be in a
// repaired one and are not. A record counts as good if the damage changes none of
// its bytes; its values count if the damage does not change their descriptor and
// instance domain either.
func (w *truth) missing(t testing.TB, ds []damage.Damage, base string) (good int, list []string) {
	t.Helper()
	hit := func(p *piece) bool {
		for _, d := range ds {
			if touched(p, d, w.files[d.File]) {
				return true
			}
		}
		return false
	}
	without := make(map[pcp.PMID]bool)
	domains := make(map[pcp.InDom]bool)
	descs := make(map[pcp.PMID]bool)
	for i := range w.meta {
		rec, err := archive.DecodeMeta(w.meta[i].body, w.version)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type == archive.MetaDesc {
			descs[rec.Desc.PMID] = true
		}
		if !hit(&w.meta[i]) {
			continue
		}
		switch rec.Type {
		case archive.MetaDesc:
			without[rec.Desc.PMID] = true
		case archive.MetaInDom, archive.MetaInDomV2, archive.MetaInDomDelta:
			domains[rec.InDom] = true
		}
	}
	for i := range w.meta {
		rec, _ := archive.DecodeMeta(w.meta[i].body, w.version)
		if rec.Type == archive.MetaDesc && domains[rec.Desc.InDom] {
			without[rec.Desc.PMID] = true
		}
	}

	if len(without) == len(descs) {
		return 0, nil // no value is left that could be identified
	}

	have := make(map[string]int)
	set, err := archive.FindFiles(base)
	if err == nil {
		for _, path := range set.Volumes {
			for _, p := range pieces(t, set.Base, strings.TrimPrefix(path, set.Base)) {
				s, _ := contents(t, p.body, w.version, without)
				have[s]++
			}
		}
		for _, p := range pieces(t, set.Base, ".meta") {
			have[string(p.body)]++
		}
	}
	for i := range w.data {
		p := &w.data[i]
		if hit(p) {
			continue
		}
		s, sets := contents(t, p.body, w.version, without)
		if sets == 0 {
			continue
		}
		good++
		if have[s]--; have[s] < 0 {
			list = append(list, fmt.Sprintf("the record at %s:%d", p.file, p.off))
		}
	}
	if good == 0 {
		return 0, nil // metadata alone are not an archive
	}
	for i := range w.meta {
		p := &w.meta[i]
		if hit(p) {
			continue
		}
		rec, _ := archive.DecodeMeta(p.body, w.version)
		if rec.Type == archive.MetaInDomDelta && domains[rec.InDom] {
			continue // the record that it changes may be gone
		}
		good++
		if have[string(p.body)]--; have[string(p.body)] < 0 {
			list = append(list, fmt.Sprintf("the record at %s:%d, of type %d", p.file, p.off, rec.Type))
		}
	}
	return good, list
}

// accepted returns the findings of package check for an archive.
func accepted(base string) error {
	var text []string
	c := check.Checker{Path: base, NoWrap: true, Found: func(f check.Finding) {
		if f.Severity == check.Error || f.Severity == check.Warning && f.Pass == 1 {
			text = append(text, fmt.Sprintf("pass %d, %s: offset %d: %s", f.Pass, f.File, f.Offset, f.Text))
		}
	}}
	if !c.Run() || len(text) > 0 {
		return errors.New("package check says: " + strings.Join(text, "; "))
	}
	return nil
}

// pmlogcheck returns the findings of the real pmlogcheck for an archive; nil if
// it is not installed.
func pmlogcheck(t testing.TB, base string) error {
	if oracle.Path("pmlogcheck") == "" {
		return nil
	}
	out := oracle.Run(t, "pmlogcheck", "-w", base)
	if out.Exit != 0 || strings.Contains(string(out.Stderr), "orrupt") {
		return fmt.Errorf("pmlogcheck exits with %d: %s", out.Exit, out.Stderr)
	}
	return nil
}

// suite are archives of PCP's QA suite, if that is installed, which the long form
// damages too.
var suite = []string{"omnibus_v3", "omnibus_v2", "changeinst", "ok-mv-foo", "sample-labels"}

const suiteDir = "/var/lib/pcp/testsuite/archives"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestDamages repairs archives that are damaged at random: no good record is
// lost, both checkers accept each result, and the reports are true.
func TestDamages(t *testing.T) {
	seed := longtest.Seed(t)
	n := longtest.N(150, 1000)
	bases := []string{testArchive(t, archive.Version2), testArchive(t, archive.Version3)}
	for _, name := range suite {
		if base := filepath.Join(suiteDir, name); longtest.Enabled() && exists(base+".meta") {
			bases = append(bases, base)
		}
	}
	total, good, lost, nothing, checked := 0, 0, 0, 0, 0
	for i, base := range bases {
		w := newTruth(t, base)
		dir := t.TempDir()
		a, err := damage.Copy(dir, base)
		if err != nil {
			t.Fatal(err)
		}
		if i >= 2 {
			n = 200
		}
		list := a.Draw(seed+uint64(i), n)
		for k, d := range list {
			ds := []damage.Damage{d}
			if k%5 == 4 && list[k-1].File != d.File {
				ds = append(ds, list[k-1]) // two files are damaged
			}
			for _, d := range ds {
				if err := a.Apply(d); err != nil {
					t.Fatal(err)
				}
			}
			total++
			to := filepath.Join(dir, "r")
			where := fmt.Sprintf("version %d, damage %d: %v", w.version, k, ds)
			var drops []Drop
			sum, err := repairBase(a.Base, to, &drops)
			switch {
			case errors.Is(err, ErrNothing):
				nothing++
			case err != nil:
				t.Errorf("%s: %v", where, err)
			default:
				if err := accepted(to); err != nil {
					t.Errorf("%s: %v", where, err)
				}
				if err := pmlogcheck(t, to); err != nil {
					t.Errorf("%s: %v", where, err)
				} else {
					checked++
				}
			}
			all, list := w.missing(t, ds, to)
			good += all
			if len(list) > 0 {
				lost += len(list)
				t.Errorf("%s: lost %s\n%v", where, strings.Join(list, ", "), drops)
			}
			if len(ds) == 1 && all < len(w.data)+len(w.meta) && sum.Drops == 0 && err == nil && d.Kind != damage.Flip && d.Kind != damage.Write && d.Kind != damage.Zero {
				// A damaged value can look valid; a lost one must be reported.
				if !seamless(w, d) {
					t.Errorf("%s: nothing is reported", where)
				}
			}
			Remove(to)
			if err := a.Restore(); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d damages: %d good records, %d lost; %d archives of which nothing is left; %d results accepted by pmlogcheck",
		total, good, lost, nothing, checked)
}

// TestWhole repairs undamaged archives: everything is kept.
func TestWhole(t *testing.T) {
	bases := []string{testArchive(t, archive.Version2), testArchive(t, archive.Version3)}
	metas, _ := filepath.Glob(suiteDir + "/*.meta")
	for _, path := range metas {
		base := strings.TrimSuffix(path, ".meta")
		if n, err := archive.FileSize(base + ".0"); err == nil && (n < 100_000 && len(bases) < 40 || longtest.Enabled()) {
			bases = append(bases, base)
		}
	}
	records := 0
	for _, base := range bases {
		files, err := archive.FindFiles(base)
		if err != nil || slices.ContainsFunc(files.All(), isCompressed) {
			continue // the records to keep are cut out of the bytes of the files
		}
		to := filepath.Join(t.TempDir(), "r")
		var drops []Drop
		sum, err := repairBase(base, to, &drops)
		if err != nil || sum.Drops > 0 || sum.Added > 0 {
			t.Errorf("%s: %v, %d drops, %d marks: %v", base, err, sum.Drops, sum.Added, drops)
			continue
		}
		n, list := newTruth(t, base).missing(t, nil, to)
		if records += n; len(list) > 0 {
			t.Errorf("%s: lost %s", base, strings.Join(list, ", "))
		}
		Remove(to)
	}
	t.Logf("%d records of %d archives are as they were", records, len(bases))
}

func isCompressed(path string) bool {
	return slices.Contains([]string{".xz", ".zst", ".gz", ".bz2", ".Z", ".lzma"}, filepath.Ext(path))
}

// seamless reports whether damage leaves complete records without a trace of it: lost records
// might never have been recorded. That happens if it removes complete records, or if the beginning
// of one and the end of another of the same length make one record.
func seamless(w *truth, d damage.Damage) bool {
	first := -1
	for _, list := range [][]piece{w.data, w.meta} {
		for _, p := range list {
			if p.file == d.File && (first < 0 || p.off < first) {
				first = p.off
			}
		}
	}
	now := d.Of(w.files[d.File])
	if first < 0 || len(now) < first {
		return false
	}
	for off := first; off < len(now); {
		if len(now)-off < 8 {
			return false
		}
		n := int(binary.BigEndian.Uint32(now[off:]))
		if n < 8 || n > len(now)-off || int(binary.BigEndian.Uint32(now[off+n-4:])) != n {
			return false
		}
		off += n
	}
	return d.Kind == damage.Delete || d.Kind == damage.Cut
}

func repairBase(base, to string, drops *[]Drop) (Summary, error) {
	files, err := archive.FindFiles(base)
	if err != nil {
		return Summary{}, err
	}
	return Archive(context.Background(), files, to, Options{Dropped: func(d Drop) { *drops = append(*drops, d) }})
}

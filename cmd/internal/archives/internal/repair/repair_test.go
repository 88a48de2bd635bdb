package repair

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/damage"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A change is made to a file of testArchive.
type change func(b []byte) []byte

// damaged writes a test archive with the changes of files, and repairs it.
func damaged(t *testing.T, version int, files map[string]change) (to string, sum Summary, drops []Drop, w *truth) {
	t.Helper()
	base := testArchive(t, version)
	w = newTruth(t, base)
	for file, f := range files {
		b := f(bytes.Clone(w.files[file]))
		if b == nil {
			if err := os.Remove(base + file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(base+file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	to = base + "r"
	sum, err := repairBase(base, to, &drops)
	if err != nil {
		t.Fatal(err)
	}
	if err := accepted(to); err != nil {
		t.Error(err)
	}
	if err := pmlogcheck(t, to); err != nil {
		t.Error(err)
	}
	for i := range drops {
		drops[i].File = filepath.Base(drops[i].File)
	}
	return to, sum, drops, w
}

// times returns those of the records and marks of an archive, in seconds from
// the start.
func times(t *testing.T, base string) []int {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var list []int
	for res, err := range a.Records(pcp.Timestamp{}, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, int(res.Time.Sec-start))
	}
	return list
}

// without returns 0 to 89 without some.
func without(missing ...int) []int {
	var list []int
	for i := range 90 {
		drop := false
		for _, m := range missing {
			drop = drop || m == i
		}
		if !drop {
			list = append(list, i)
		}
	}
	return list
}

// volume returns the records of the first volume of a test archive.
func (w *truth) volume(file string) []piece {
	var list []piece
	for _, p := range w.data {
		if p.file == file {
			list = append(list, p)
		}
	}
	return list
}

// seconds changes the seconds of the time stamp of the kth record of a volume.
func seconds(t *testing.T, version, k int, f func(uint32) uint32) change {
	return func(b []byte) []byte {
		off := archive.LabelSize(version)
		for range k {
			off += int(binary.BigEndian.Uint32(b[off:]))
		}
		at := b[off+4:] // in version 3 the less significant half comes first
		binary.BigEndian.PutUint32(at, f(binary.BigEndian.Uint32(at)))
		return b
	}
}

// TestTimes moves a time stamp elsewhere: that costs only that record, in any
// place.
func TestTimes(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		for _, tt := range []struct {
			k int
			f func(uint32) uint32
		}{
			{0, func(s uint32) uint32 { return s | 0x40000000<<1>>1 + 1<<29 }}, // the first, far in the future
			{0, func(s uint32) uint32 { return s - 1e9 }},
			{5, func(s uint32) uint32 { return s + 3e8 }},
			{5, func(s uint32) uint32 { return s - 3e8 }},
			{5, func(s uint32) uint32 { return s + 40 }},
			{5, func(s uint32) uint32 { return s - 2 }}, // between two others: it or its neighbour
			{6, func(s uint32) uint32 { return s + 2 }},
			{29, func(s uint32) uint32 { return s + 3 }},
			{29, func(s uint32) uint32 { return s - 10 }},
		} {
			to, sum, drops, w := damaged(t, version, map[string]change{".2": seconds(t, version, tt.k, tt.f)})
			p := w.volume(".2")[tt.k]
			if diff := cmp.Diff(without(tt.k), times(t, to)); diff != "" {
				t.Errorf("version %d, record %d, %d: -want +got\n%s", version, tt.k, tt.f(start), diff)
			}
			if sum.Drops != 1 || len(drops) != 1 || drops[0].File != "a.2" || drops[0].Offset != int64(p.off) || drops[0].Records != 1 || drops[0].Bytes != int64(p.end-p.off) {
				t.Errorf("version %d, record %d: %v", version, tt.k, drops)
			}
		}
		// Only its age is evidence against the last record.
		to, sum, drops, _ := damaged(t, version, map[string]change{".4": seconds(t, version, 27, func(s uint32) uint32 { return s + 4e8 })})
		if diff := cmp.Diff(without(89), times(t, to)); diff != "" || sum.Drops != 1 {
			t.Errorf("version %d, the last record: %v\n%s", version, drops, diff)
		}
	}
}

// TestLengths breaks the chain of lengths: the bytes between two good records are
// lost, and nothing else.
func TestLengths(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		for name, f := range map[string]func(b []byte, p piece) []byte{
			"first length":  func(b []byte, p piece) []byte { b[p.off+3]++; return b },
			"second length": func(b []byte, p piece) []byte { b[p.end-1] ^= 0x10; return b },
			"huge length":   func(b []byte, p piece) []byte { b[p.off] = 0x7f; return b },
			"negative":      func(b []byte, p piece) []byte { b[p.off] = 0xff; return b },
			"four bytes":    func(b []byte, p piece) []byte { return append(b[:p.off+20], b[p.off+24:]...) },
			"one more byte": func(b []byte, p piece) []byte { return append(b[:p.off+20], append([]byte{7}, b[p.off+20:]...)...) },
			"all zero":      func(b []byte, p piece) []byte { clear(b[p.off:p.end]); return b },
			"gone but 12":   func(b []byte, p piece) []byte { return append(b[:p.off+12], b[p.end:]...) },
		} {
			to, sum, drops, _ := damaged(t, version, map[string]change{".3": func(b []byte) []byte {
				off := archive.LabelSize(version)
				for range 7 {
					off += int(binary.BigEndian.Uint32(b[off:]))
				}
				return f(b, piece{"", off, off + int(binary.BigEndian.Uint32(b[off:])), nil})
			}})
			// A mark takes its place.
			got := times(t, to)
			want := without(38)
			want = append(want[:38:38], append([]int{37}, want[38:]...)...)
			if diff := cmp.Diff(want, got); diff != "" || sum.Drops != 1 || sum.Added != 1 {
				t.Errorf("version %d, %s: %v\n%s", version, name, drops, diff)
			}
		}
	}
}

// TestTwice has repeated records, and records out of place.
func TestTwice(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		size := archive.LabelSize(version)
		cut := func(b []byte, n int) int {
			off := size
			for range n {
				off += int(binary.BigEndian.Uint32(b[off:]))
			}
			return off
		}
		twice := func(b []byte) []byte {
			from, to := cut(b, 10), cut(b, 13)
			return append(b[:to:to], b[from:]...)
		}
		to, sum, drops, _ := damaged(t, version, map[string]change{".3": twice})
		if diff := cmp.Diff(without(), times(t, to)); diff != "" || sum.Drops != 3 {
			t.Errorf("version %d, twice: %v\n%s", version, drops, diff)
		}
		away := func(b []byte) []byte {
			from, to, there := cut(b, 10), cut(b, 13), cut(b, 25)
			out := append(b[:from:from], b[to:there]...)
			return append(append(out, b[from:to]...), b[there:]...)
		}
		to, sum, drops, _ = damaged(t, version, map[string]change{".3": away})
		if diff := cmp.Diff(without(41, 42, 43), times(t, to)); diff != "" || sum.Drops != 3 {
			t.Errorf("version %d, out of place: %v\n%s", version, drops, diff)
		}
	}
}

// TestOmnibus has damages for which an earlier engine lost good records.
func TestOmnibus(t *testing.T) {
	base := filepath.Join(suiteDir, "omnibus_v3")
	if !exists(base + ".meta") {
		t.Skip("SKIPPED: the QA suite of PCP is not installed")
	}
	w := newTruth(t, base)
	for _, tt := range []struct {
		d    damage.Damage
		lost int // records
	}{
		{damage.Damage{File: ".0", Kind: damage.Flip, At: 2833, Bytes: "\x80"}, 1},
		{damage.Damage{File: ".0", Kind: damage.Delete, At: 38648, N: 4}, 1},
		{damage.Damage{File: ".meta", Kind: damage.Zero, At: 1371, N: 220}, 0},
		{damage.Damage{File: ".0", Kind: damage.Zero, At: 51492, N: 163}, 1},
	} {
		dir := t.TempDir()
		a, err := damage.Copy(dir, base)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Apply(tt.d); err != nil {
			t.Fatal(err)
		}
		var drops []Drop
		to := filepath.Join(dir, "r")
		sum, err := repairBase(a.Base, to, &drops)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(accepted(to), pmlogcheck(t, to)); err != nil {
			t.Errorf("%v: %v", tt.d, err)
		}
		good, missing := w.missing(t, []damage.Damage{tt.d}, to)
		if len(missing) > 0 || sum.Records != len(w.data)-tt.lost || sum.Drops == 0 {
			t.Errorf("%v: of %d good records lost %v; %d of %d kept\n%v", tt.d, good, missing, sum.Records, len(w.data), drops)
		}
	}
}

// TestLabels damages labels: if one file has a good one, all get that.
func TestLabels(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		size := archive.LabelSize(version)
		cut := func(b []byte) []byte { return b[20:] }
		junk := func(b []byte) []byte { copy(b, "something else entirely"); return b }
		host := func(b []byte) []byte { copy(b[bytes.Index(b, []byte("here")):], "XX"); return b }
		for name, files := range map[string]map[string]change{
			"one":           {".2": junk},
			"all but one":   {".2": junk, ".3": cut, ".4": junk, ".index": junk},
			"another host":  {".3": host},
			"shorter":       {".meta": cut, ".2": cut},
			"all":           {".2": junk, ".3": junk, ".4": junk, ".meta": junk, ".index": junk},
			"swapped":       {".2": func(b []byte) []byte { b[size-1]++; return b }},
			"without index": {".index": func([]byte) []byte { return nil }},
		} {
			to, sum, drops, _ := damaged(t, version, files)
			if sum.Records != 90 || sum.Added > 0 {
				t.Errorf("version %d, %s: %d records, %d marks: %v", version, name, sum.Records, sum.Added, drops)
			}
			a, err := archive.Open(to)
			if err != nil {
				t.Fatal(err)
			}
			l := a.Label()
			a.Close()
			if l.Start.Sec != start || name != "all" && (l.Host != "here" || l.PID != 42) {
				t.Errorf("version %d, %s: label %+v", version, name, l)
			}
			if len(drops) == 0 {
				t.Errorf("version %d, %s: nothing is said", version, name)
			}
		}
	}
}

// TestMetadata damages metadata: values are dropped only if their metadata are lost.
func TestMetadata(t *testing.T) {
	find := func(b []byte, what string) int { return bytes.Index(b, []byte(what)) }
	for _, version := range []int{archive.Version2, archive.Version3} {
		for _, tt := range []struct {
			name    string
			f       change
			records int
			values  int64
			gone    []string
		}{
			{"a descriptor", func(b []byte) []byte { b[find(b, "test.text")+len("test.text")+1]++; return b }, 90, 59, []string{"test.text"}},
			{"a type", func(b []byte) []byte { b[find(b, "test.text")-21]++; return b }, 90, 59, []string{"test.text"}},
			{"an instance domain", func(b []byte) []byte { clear(b[find(b, "one\x00two"):][:12]); return b }, 90, 60, nil},
			{"two descriptors", func(b []byte) []byte {
				clear(b[find(b, "other.gauge"):find(b, "other.fraction")])
				return b
			}, 60, 0, []string{"other.gauge", "other.fraction", "other.alias"}},
			{"another metric", func(b []byte) []byte { b[find(b, "test.text")-25] = 1; return b }, 90, 59, []string{"test.text"}},
		} {
			to, sum, drops, _ := damaged(t, version, map[string]change{".meta": tt.f})
			if sum.Records != tt.records || sum.Lost.Values < tt.values || sum.Drops == 0 {
				t.Errorf("version %d, %s: %d records, %d values dropped, want %d, %d: %v", version, tt.name, sum.Records, sum.Lost.Values, tt.records, tt.values, drops)
			}
			a, err := archive.Open(to)
			if err != nil {
				t.Fatal(err)
			}
			var names string
			for name := range a.Meta().NamesInOrder() {
				names += name + " "
			}
			a.Close()
			for _, name := range tt.gone {
				if strings.Contains(names, name) {
					t.Errorf("version %d, %s: there is still %s", version, tt.name, name)
				}
			}
			if n := len(strings.Fields(names)); n != 5-len(tt.gone) {
				t.Errorf("version %d, %s: metrics are %s", version, tt.name, names)
			}
		}
	}
}

// TestVolumes loses whole volumes.
func TestVolumes(t *testing.T) {
	gone := func([]byte) []byte { return nil }
	junk := func(b []byte) []byte { return bytes.Repeat([]byte{0x55}, len(b)) }
	for name, files := range map[string]map[string]change{
		"missing": {".3": gone},
		"empty":   {".3": func([]byte) []byte { return []byte{} }},
		"junk":    {".3": junk},
		"cut":     {".3": func(b []byte) []byte { return b[:50] }},
	} {
		to, sum, drops, _ := damaged(t, archive.Version3, files)
		if sum.Records != 59 || sum.Added != 1 || sum.Drops != 1 {
			t.Errorf("%s: %d records, %d marks: %v", name, sum.Records, sum.Added, drops)
		}
		if got := times(t, to); got[30] != 30 || got[31] != 30 || got[32] != 62 {
			t.Errorf("%s: records at %v", name, got)
		}
	}
}

// compress writes a file in the format of a suffix, in blocks if the format has them.
func compress(t *testing.T, suffix string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch suffix {
	case ".xz":
		w, err = xz.WriterConfig{BlockSize: 4000, DictCap: 1 << 16, CheckSum: xz.CRC32}.NewWriter(&out)
	case ".gz":
		w = gzip.NewWriter(&out)
	case ".zst":
		w, err = zstd.NewWriter(&out)
	}
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestCompressed damages compressed files: the others are kept, and the part of
// the damaged file that can be decompressed.
func TestCompressed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		suffix  string
		f       change
		records [2]int // kept of the 400 in the file
		status  bool   // something is lost
	}{
		{"whole", ".xz", func(b []byte) []byte { return b }, [2]int{400, 400}, false},
		{"one block", ".xz", func(b []byte) []byte { b[len(b)/2] ^= 0x40; return b }, [2]int{250, 399}, true},
		{"no index", ".xz", func(b []byte) []byte { return b[:len(b)-30] }, [2]int{400, 400}, false},
		{"half", ".xz", func(b []byte) []byte { return b[:len(b)/2] }, [2]int{100, 300}, true},
		{"stream header", ".xz", func(b []byte) []byte { b[1] ^= 1; return b }, [2]int{400, 400}, false},
		{"block header", ".xz", func(b []byte) []byte { b[13] ^= 1; return b }, [2]int{350, 399}, true},
		{"junk", ".xz", func(b []byte) []byte { return bytes.Repeat([]byte{0xa5}, len(b)) }, [2]int{0, 0}, true},
		{"cut", ".gz", func(b []byte) []byte { return b[:len(b)-3000] }, [2]int{300, 390}, true},
		{"damaged", ".gz", func(b []byte) []byte { b[len(b)/2] ^= 0xff; return b }, [2]int{150, 400}, true},
		{"no header", ".gz", func(b []byte) []byte { b[0] = 0; return b }, [2]int{0, 0}, true},
		{"whole", ".zst", func(b []byte) []byte { return b }, [2]int{400, 400}, false},
		{"cut", ".zst", func(b []byte) []byte { return b[:len(b)-200] }, [2]int{0, 399}, true},
		{"empty", ".zst", func([]byte) []byte { return nil }, [2]int{0, 0}, true},
	} {
		base := filepath.Join(t.TempDir(), "a")
		w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Host: "here", Start: pcp.Timestamp{Sec: start}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Desc(text, "test.text"); err != nil {
			t.Fatal(err)
		}
		seed := uint64(1)
		for i := range 420 {
			if i == 10 || i == 410 {
				if err := w.NewVolume(); err != nil {
					t.Fatal(err)
				}
			}
			res := &pcp.Result{Time: pcp.Timestamp{Sec: start + int64(i)}}
			res.AddSet(text.PMID)
			var noise []byte
			for range 10 {
				seed = seed*6364136223846793005 + 1442695040888963407
				noise = binary.BigEndian.AppendUint64(noise, seed|0x0101010101010101)
			}
			res.Add(pcp.StringValue(string(noise)))
			res.Sets[0].ValFmt = pcp.ValDPtr
			if err := w.WriteResult(res); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(base + ".1")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(base + ".1"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(base+".1"+tt.suffix, tt.f(compress(t, tt.suffix, b)), 0o600); err != nil {
			t.Fatal(err)
		}
		var drops []Drop
		sum, err := repairBase(base, base+"r", &drops)
		if err != nil {
			t.Errorf("%s, %s: %v", tt.suffix, tt.name, err)
			continue
		}
		if err := errors.Join(accepted(base+"r"), pmlogcheck(t, base+"r")); err != nil {
			t.Errorf("%s, %s: %v", tt.suffix, tt.name, err)
		}
		n := sum.Records - 20
		if n < tt.records[0] || n > tt.records[1] || (sum.Drops > 0) != tt.status {
			t.Errorf("%s, %s: %d of 400 records: %v", tt.suffix, tt.name, n, drops)
		}
		t.Logf("%s, %s: %d of 400 records", tt.suffix, tt.name, n)
	}
}

// TestCompressedDamages damages compressed files at random. The records of the
// other volumes are kept, and each result is accepted.
func TestCompressedDamages(t *testing.T) {
	seed := longtest.Seed(t)
	base := testArchive(t, archive.Version3)
	w := newTruth(t, base)
	for file, suffix := range map[string]string{".2": ".xz", ".3": ".gz", ".4": ".zst", ".meta": ".xz"} {
		if err := os.WriteFile(base+file+suffix, compress(t, suffix, w.files[file]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(base + file); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	a, err := damage.Copy(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	good, nothing := 0, 0
	for k, d := range a.Draw(seed, longtest.N(100, 600)) {
		if err := a.Apply(d); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, "r")
		var drops []Drop
		_, err := repairBase(a.Base, to, &drops)
		switch {
		case errors.Is(err, ErrNothing) && d.File == ".meta.xz":
			nothing++
		case err != nil:
			t.Errorf("damage %d: %v: %v", k, d, err)
		default:
			if err := errors.Join(accepted(to), pmlogcheck(t, to)); err != nil {
				t.Errorf("damage %d: %v: %v", k, d, err)
			}
			if d.File == ".meta.xz" {
				break
			}
			// As if all of the file were gone.
			file := strings.TrimSuffix(d.File, filepath.Ext(d.File))
			if d.File == ".index" {
				file = d.File
			}
			all, list := w.missing(t, []damage.Damage{{File: file, Kind: damage.Cut}}, to)
			if good += all; len(list) > 0 {
				t.Errorf("damage %d: %v: lost %v\n%v", k, d, list, drops)
			}
		}
		Remove(to)
		if err := a.Restore(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d good records kept; of %d archives nothing is left", good, nothing)
}

// A badDisk cannot read some sectors.
type badDisk struct {
	io.ReaderAt
	bad map[int64]bool
}

func (d badDisk) ReadAt(p []byte, off int64) (int, error) {
	for n := 0; n < len(p); {
		at := off + int64(n)
		if d.bad[at/4096] {
			return n, errors.New("input/output error")
		}
		k := min(len(p)-n, int(4096-at%4096))
		got, err := d.ReaderAt.ReadAt(p[n:n+k], at)
		if n += got; err != nil {
			return n, err
		}
	}
	return len(p), nil
}

// TestBadSectors reads volumes from a disk of which parts are unreadable.
func TestBadSectors(t *testing.T) {
	w := newTruth(t, testArchive(t, archive.Version3))
	cfg := Config{Meta: Source{Name: ".meta", Data: bytes.NewReader(w.files[".meta"]), Size: int64(len(w.files[".meta"]))}}
	for i, file := range []string{".2", ".3", ".4"} {
		b := w.files[file]
		cfg.Volumes = append(cfg.Volumes, Source{Name: file, Data: badDisk{bytes.NewReader(b), map[int64]bool{1: i == 1}}, Size: int64(len(b))})
		cfg.Numbers = append(cfg.Numbers, i+2)
	}
	want := 0
	for _, p := range w.data {
		if p.file != ".3" || p.end <= 4096 || p.off >= 8192 {
			want++
		}
	}
	var drops []Drop
	cfg.Dropped = func(d Drop) { drops = append(drops, d) }
	var out recorder
	sum, err := Run(context.Background(), cfg, func(archive.Label, int) (Output, error) { return &out, nil })
	if err != nil || sum.Records != want || want == 90 || out.records != want {
		t.Errorf("%d records, %d written, want %d: %v, %v", sum.Records, out.records, want, err, drops)
	}
}

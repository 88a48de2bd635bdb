package columns_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// compare reads an archive record by record, and checks that the file of columns has the same samples. It returns the number of values of metrics
// that are held, and of others.
func compare(t *testing.T, base, path string) (held, left int) {
	t.Helper()
	f, err := columns.Open(base, path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	times, err := f.Times()
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r := a.NewReader()
	defer r.Close()
	type cell struct {
		rec  int
		inst int32
	}
	values := map[pcp.PMID]map[cell]int64{}
	failures := map[pcp.PMID]map[int]pcp.Error{}
	load := func(id pcp.PMID) {
		m, err := f.Metric(id)
		if err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		records := make([]int, 0, m.Len())
		for n, run := range m.Records {
			if n != len(records) {
				t.Fatalf("%s: %s: sample %d, want %d", base, id, n, len(records))
			}
			for k := run.From; k < run.To; k++ {
				records = append(records, k)
			}
		}
		failures[id] = map[int]pcp.Error{}
		for run, e := range m.Errors {
			for k := run.From; k < run.To; k++ {
				failures[id][records[k]] = e
			}
		}
		values[id] = map[cell]int64{}
		var rd columns.Reader
		for i := range m.Columns {
			c := &m.Columns[i]
			rd.Reset(c)
			n := 0
			var list []int64
			for _, run := range c.Runs {
				for k := run.From; k < run.To; k++ {
					if len(list) == 0 {
						if list, err = rd.Chunk(n); err != nil {
							t.Fatalf("%s: %s: %v", base, id, err)
						}
					}
					values[id][cell{records[k], c.Inst}] = list[0]
					list = list[1:]
					n++
				}
			}
			if len(list) != 0 {
				t.Errorf("%s: %s: %d values too many", base, id, len(list))
			}
		}
	}
	var scan archive.SetScanner
	var marks []uint32
	n := 0
	for ; ; n++ {
		body, err := r.Step(archive.Forward)
		if err == io.EOF {
			break
		}
		if err != nil || !scan.Start(body, a.Version()) {
			t.Fatal(base, err)
		}
		if want := scan.Time.Sec*1e9 + int64(scan.Time.Nsec); n >= len(times) || times[n] != want {
			t.Fatalf("%s: record %d: another time than %d", base, n, want)
		}
		if scan.Sets == 0 {
			marks = append(marks, uint32(n))
		}
		for scan.Next() {
			state, typ := f.State(scan.PMID)
			switch state {
			case columns.Absent:
				t.Fatalf("%s: %s is missing", base, scan.PMID)
			case columns.Left:
				left += scan.Len
				continue
			}
			if values[scan.PMID] == nil {
				load(scan.PMID)
			}
			if scan.Len == 0 {
				if got, ok := failures[scan.PMID][n]; !ok || got != scan.Status {
					t.Fatalf("%s: %s in record %d: %v, want %v", base, scan.PMID, n, got, scan.Status)
				}
				delete(failures[scan.PMID], n)
			}
			for i := range scan.Len {
				v, err := scan.Value(i)
				if err != nil {
					t.Fatal(base, err)
				}
				v = archive.Retype(v, typ).As(typ)
				at := cell{n, v.Inst}
				got, ok := values[scan.PMID][at]
				if w := columns.Value(got, typ).WithInst(v.Inst); !ok || w.Type() != v.Type() || bits(w) != bits(v) {
					t.Fatalf("%s: %s[%d] in record %d: %v, want %v", base, scan.PMID, v.Inst, n, w, v)
				}
				delete(values[scan.PMID], at)
				held++
			}
		}
	}
	for id, rest := range values {
		if len(rest) > 0 || len(failures[id]) > 0 {
			t.Errorf("%s: %s has %d values and %d errors too many", base, id, len(rest), len(failures[id]))
		}
	}
	if n != len(times) || !slices.Equal(marks, f.Marks()) {
		t.Errorf("%s: %d records, want %d; marks %v, want %v", base, len(times), n, f.Marks(), marks)
	}
	return held, left
}

// bits returns the bits that count for a value's type.
func bits(v pcp.Value) uint64 {
	switch v.Type() {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		return uint64(uint32(v.Bits()))
	}
	return v.Bits()
}

const suite = "/var/lib/pcp/testsuite"

// large reports whether an archive takes long to compare.
func large(t *testing.T, base string) bool {
	t.Helper()
	files, err := archive.FindFiles(base)
	if err != nil {
		return false
	}
	size := int64(0)
	for _, path := range files.Volumes {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".xz") {
			size += 20 * info.Size()
		} else {
			size += info.Size()
		}
	}
	return size > 2<<20
}

// TestSuite makes columns of every archive of PCP's test suite that can be read, and compares all values.
func TestSuite(t *testing.T) {
	if _, err := os.Stat(suite); err != nil {
		oracle.Missing(t, "PCP's test suite is not installed")
	}
	var bases []string
	for _, pattern := range []string{"archives/*.meta*", "badarchives/*.meta*", "archives/*/*.meta*"} {
		paths, err := filepath.Glob(filepath.Join(suite, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if base, _, ok := archive.BaseName(p); ok {
				bases = append(bases, base)
			}
		}
	}
	slices.Sort(bases)
	path := filepath.Join(t.TempDir(), "x.columns")
	made, unfit, held, left := 0, 0, 0, 0
	var size int64
	for _, base := range slices.Compact(bases) {
		if !longtest.Enabled() && large(t, base) {
			continue
		}
		err := columns.Make(context.Background(), base, path)
		if errors.Is(err, columns.ErrUnfit) {
			unfit++
			t.Log(err)
			continue
		}
		if err != nil {
			if _, open := archive.Open(base); open == nil && strings.Contains(base, "/archives/") {
				t.Logf("%s: %v", base, err)
			}
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		made++
		size += info.Size()
		h, l := compare(t, base, path)
		held, left = held+h, left+l
	}
	t.Logf("%d archives, %d unfit; %d values in columns, %d left, %d bytes", made, unfit, held, left, size)
	if made < 120 {
		t.Errorf("only %d archives have columns", made)
	}
}

// A generator writes an archive.
type generator struct {
	t testing.TB
	w *archive.Writer
	r pcp.Result
}

var start = pcp.Timestamp{Sec: 1_790_000_000, Nsec: 123_456_000}

func generate(t testing.TB, base string) *generator {
	t.Helper()
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: "www", TimeZone: "UTC", Start: start}})
	if err != nil {
		t.Fatal(err)
	}
	return &generator{t: t, w: w}
}

func (g *generator) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *generator) desc(item int, typ pcp.Type, indom pcp.InDom) pcp.PMID {
	g.t.Helper()
	id := pcp.NewPMID(60, 1, item)
	g.must(g.w.Desc(pcp.Desc{PMID: id, Type: typ, InDom: indom, Sem: pcp.SemInstant}, fmt.Sprintf("a.m%d", item)))
	return id
}

// close ends the archive, and returns without waiting for its files to become old.
func (g *generator) close() {
	g.t.Helper()
	g.must(g.w.Close())
}

var hard = []uint64{0, 1, math.MaxUint64, 1 << 63, 1<<63 - 1, 1 << 53, 1<<53 + 1, math.MaxUint32, 1 << 31}

// irregular writes an archive with marks, instances that come and go, counters that wrap, errors, strings, an instance twice, and several volumes.
func irregular(t *testing.T, base string, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	g := generate(t, base)
	indom := pcp.NewInDom(60, 1)
	types := []pcp.Type{pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble}
	var ids []pcp.PMID
	for i, typ := range types {
		ids = append(ids, g.desc(i, typ, pcp.InDomNull), g.desc(10+i, typ, indom))
	}
	text := g.desc(50, pcp.TypeString, pcp.InDomNull)
	twice := g.desc(51, pcp.TypeU64, indom)
	other := g.desc(52, pcp.TypeU32, pcp.InDomNull) // of another type than its descriptor, once
	at := start
	values := map[pcp.PMID]uint64{}
	next := func(id pcp.PMID, typ pcp.Type) pcp.Value {
		v := values[id]
		switch rng.IntN(8) {
		case 0:
			v = rng.Uint64()
		case 1:
			v = hard[rng.IntN(len(hard))]
		case 2, 3:
			v += rng.Uint64N(1000)
		default:
			v += 100
		}
		values[id] = v
		switch typ {
		case pcp.TypeFloat:
			switch rng.IntN(6) {
			case 0:
				return pcp.FloatValue(math.Float32frombits(uint32(v)))
			default:
				return pcp.FloatValue(float32(rng.IntN(1000)) / 100)
			}
		case pcp.TypeDouble:
			switch rng.IntN(60) {
			case 0:
				return pcp.RawValue(typ, v)
			case 1:
				return pcp.DoubleValue(math.Copysign(0, -1))
			case 2:
				return pcp.DoubleValue(math.Inf(1))
			default:
				return pcp.DoubleValue(float64(rng.IntN(1000)) / 1000)
			}
		case pcp.Type32, pcp.TypeU32:
			v = uint64(uint32(v))
		}
		return pcp.RawValue(typ, v)
	}
	n := 3000 + rng.IntN(3000)
	for k := range n {
		g.r.Reset()
		g.r.Time = at
		for i, typ := range types {
			if k%3 == 0 || i > 2 {
				g.r.AddSet(ids[2*i])
				g.r.Add(next(ids[2*i], typ).WithInst(pcp.InNull))
			}
			if k%7 == i {
				continue
			}
			if rng.IntN(50) == 0 {
				g.r.AddError(ids[2*i+1], []pcp.Error{0, pcp.ErrAgain, pcp.ErrPMID}[rng.IntN(3)])
				continue
			}
			g.r.AddSet(ids[2*i+1])
			g.r.Add(next(ids[2*i+1], typ).WithInst(1 << 30))
			for inst := k / 40; inst < k/40+5+rng.IntN(2); inst++ {
				g.r.Add(next(ids[2*i+1], typ).WithInst(int32(inst)))
			}
		}
		g.r.AddSet(text)
		g.r.Add(pcp.StringValue("some text").WithInst(pcp.InNull))
		g.r.AddSet(twice)
		g.r.Add(pcp.Uint64Value(1).WithInst(3))
		g.r.Add(pcp.Uint64Value(2).WithInst(int32(3 + k%2)))
		g.r.AddSet(other)
		if k == 100 {
			g.r.Add(pcp.Uint64Value(7).WithInst(pcp.InNull))
		} else {
			g.r.Add(pcp.Uint32Value(7).WithInst(pcp.InNull))
		}
		g.must(g.w.WriteResult(&g.r))
		switch rng.IntN(1000) {
		case 0:
			at = at.Add(time.Millisecond)
			g.must(g.w.Mark(at))
			at = at.Add(time.Hour)
		case 1:
			g.must(g.w.NewVolume())
		}
		at = at.Add(10*time.Second + time.Duration(rng.IntN(1000))*time.Microsecond)
	}
	g.close()
}

// TestGenerated compares the values of random archives, also of compressed ones.
func TestGenerated(t *testing.T) {
	for seed := range uint64(4) {
		base := filepath.Join(t.TempDir(), "g")
		irregular(t, base, seed)
		if err := columns.Make(context.Background(), base, ""); err != nil {
			t.Fatal(err)
		}
		held, left := compare(t, base, "")
		if held == 0 || left == 0 {
			t.Errorf("%d values held, %d left", held, left)
		}
		f, err := columns.Open(base, "")
		if err != nil {
			t.Fatal(err)
		}
		for item, want := range map[int]columns.State{0: columns.Held, 15: columns.Held, 50: columns.Left, 51: columns.Left, 52: columns.Left, 99: columns.Absent} {
			if got, _ := f.State(pcp.NewPMID(60, 1, item)); got != want {
				t.Errorf("metric %d: state %d, want %d", item, got, want)
			}
		}
		f.Close()
		if xz, err := exec.LookPath("xz"); err == nil && seed == 0 {
			if out, err := exec.Command(xz, base+".0", base+".meta").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if _, err := columns.Open(base, ""); !errors.Is(err, columns.ErrStale) {
				t.Errorf("after compression: %v", err)
			}
			if err := columns.Make(context.Background(), base, ""); err != nil {
				t.Fatal(err)
			}
			if again, _ := compare(t, base, ""); again != held {
				t.Errorf("%d values of the compressed archive, want %d", again, held)
			}
		}
	}
}

// TestStale checks that a file is refused when the archive changes.
func TestStale(t *testing.T) {
	base := filepath.Join(t.TempDir(), "g")
	g := generate(t, base)
	id := g.desc(1, pcp.TypeU32, pcp.InDomNull)
	g.r.Time = start
	g.r.AddSet(id)
	g.r.Add(pcp.Uint32Value(1).WithInst(pcp.InNull))
	g.must(g.w.WriteResult(&g.r))
	g.close()
	if _, err := columns.Open(base, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	renew := func() {
		t.Helper()
		if err := columns.Make(context.Background(), base, ""); err != nil {
			t.Fatal(err)
		}
		if !columns.Valid(base, "") {
			t.Fatal("the new file is not valid")
		}
	}
	data, err := os.ReadFile(base + ".0")
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func() error{
		"a later time": func() error { return os.Chtimes(base+".0", time.Time{}, time.Now().Add(time.Hour)) },
		"longer":       func() error { return os.WriteFile(base+".0", append(slices.Clone(data), 0), 0o644) },
		"another label": func() error {
			info, err := os.Stat(base + ".meta")
			if err != nil {
				return err
			}
			b, err := os.ReadFile(base + ".meta")
			if err != nil {
				return err
			}
			b[40] ^= 1
			if err := os.WriteFile(base+".meta", b, 0o644); err != nil {
				return err
			}
			if err := os.Chtimes(base+".meta", info.ModTime(), info.ModTime()); err != nil {
				return err
			}
			if _, err := columns.Open(base, ""); !errors.Is(err, columns.ErrStale) {
				return fmt.Errorf("open: %w", err)
			}
			b[40] ^= 1
			if err := os.WriteFile(base+".meta", b, 0o644); err != nil {
				return err
			}
			return os.Chtimes(base+".meta", time.Time{}, info.ModTime().Add(time.Second))
		},
		"another volume": func() error { return os.WriteFile(base+".1", data, 0o644) },
		"without index":  func() error { return os.Remove(base + ".index") },
	} {
		renew()
		if err := change(); err != nil {
			t.Fatal(what, err)
		}
		if _, err := columns.Open(base, ""); !errors.Is(err, columns.ErrStale) {
			t.Errorf("%s: %v, want ErrStale", what, err)
		}
		os.Remove(base + ".1")
		if err := os.WriteFile(base+".0", data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := filepath.Glob(filepath.Join(filepath.Dir(base), "*.tmp"))
	if err != nil || len(list) > 0 {
		t.Errorf("files left: %v, %v", list, err)
	}
	if err := columns.Remove(base); err != nil {
		t.Fatal(err)
	}
	if err := columns.Remove(base); err != nil {
		t.Errorf("removed twice: %v", err)
	}
}

// TestDamage flips each bit of a file. The error must be found when the file is opened, or when the block is read.
func TestDamage(t *testing.T) {
	base := filepath.Join(t.TempDir(), "g")
	g := generate(t, base)
	id := g.desc(1, pcp.TypeU32, pcp.InDomNull)
	for i := range 20 {
		g.r.Reset()
		g.r.Time = start.Add(time.Duration(i) * time.Second)
		g.r.AddSet(id)
		g.r.Add(pcp.Uint32Value(uint32(i * i)).WithInst(pcp.InNull))
		g.must(g.w.WriteResult(&g.r))
	}
	g.close()
	if err := columns.Make(context.Background(), base, ""); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(columns.Path(base))
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(data) * 8 {
		bad := slices.Clone(data)
		bad[i/8] ^= 1 << (i % 8)
		f, err := columns.NewFile(strings.NewReader(string(bad)), int64(len(bad)))
		if err != nil {
			continue
		}
		_, timesErr := f.Times()
		_, err = f.Metric(id)
		if timesErr == nil && err == nil {
			t.Fatalf("bit %d of byte %d: not found", i%8, i/8)
		}
	}
	for n := range data {
		if _, err := columns.NewFile(strings.NewReader(string(data[:n])), int64(n)); err == nil {
			t.Fatalf("the first %d of %d bytes: not found", n, len(data))
		}
	}
}

func TestUnfit(t *testing.T) {
	base := filepath.Join(t.TempDir(), "g")
	g := generate(t, base)
	id := g.desc(1, pcp.TypeU32, pcp.InDomNull)
	for _, sec := range []int{0, 20, 10} {
		g.r.Reset()
		g.r.Time = start.Add(time.Duration(sec) * time.Second)
		g.r.AddSet(id)
		g.r.Add(pcp.Uint32Value(1).WithInst(pcp.InNull))
		g.must(g.w.WriteResult(&g.r))
	}
	g.close()
	if err := columns.Make(context.Background(), base, ""); !errors.Is(err, columns.ErrUnfit) {
		t.Errorf("times that run backwards: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := columns.Make(ctx, base, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestBaseName(t *testing.T) {
	for name, want := range map[string]string{
		".20261124.columns": "20261124", ".a.b.columns": "a.b", ".a.columns.123.tmp": "a", filepath.Base(columns.Path("/x/y")): "y",
		"a.columns": "", ".columns": "", "a.0": "", ".a.columns.xz": "", ".x.tmp": "", "..columns.1.tmp": "", "": "",
	} {
		got, ok := columns.BaseName(name)
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
		if base, part, ok := archive.BaseName(name); ok != (name == "a.0") {
			t.Errorf("%s is taken for a file of an archive: %s, %s", name, base, part)
		}
	}
}

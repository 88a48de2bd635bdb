package importer_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(t testing.TB, opt importer.Options) *importer.Importer {
	t.Helper()
	if opt.Host == "" {
		opt.Host, opt.TimeZone = "h", "UTC"
	}
	im, err := importer.Start(filepath.Join(t.TempDir(), "x"), opt)
	must(t, err)
	return im
}

func open(t testing.TB, im *importer.Importer) *archive.Archive {
	t.Helper()
	a, err := archive.Open(im.Path())
	must(t, err)
	t.Cleanup(func() { a.Close() })
	return a
}

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "x.meta.xz"), nil, 0o666))
	if _, err := importer.Start(filepath.Join(dir, "x"), importer.Options{}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "x.meta.xz") {
		t.Errorf("Start over an archive: %v", err)
	}
	if _, err := importer.Start(filepath.Join(dir, "y"), importer.Options{Version: 4}); !errors.Is(err, importer.ErrBadVersion) {
		t.Errorf("Start with version 4: %v", err)
	}

	im := start(t, importer.Options{})
	if err := im.Write(t0); err != importer.ErrNoData {
		t.Errorf("Write of nothing: %v", err)
	}
	if err := im.PutMark(); !errors.Is(err, syscall.EBADF) {
		t.Errorf("PutMark at first: %v", err)
	}
	var none importer.Handle
	for _, err := range []error{none.Put("1"), none.PutInt(1), none.PutUint(1), none.PutDouble(1), none.PutString("1"), none.PutAtom(pcp.Int32Value(1))} {
		if !errors.Is(err, importer.ErrBadHandle) {
			t.Errorf("Put with no handle: %v", err)
		}
	}
	if err := im.End(); !errors.Is(err, importer.ErrNoData) {
		t.Errorf("End without data: %v", err)
	}
	if err := im.End(); err != nil {
		t.Errorf("End again: %v", err)
	}
	if list, _ := filepath.Glob(im.Path() + "*"); list != nil {
		t.Errorf("there are files: %v", list)
	}
	for _, err := range []error{im.Write(t0), im.PutMark(), im.PutValue("a", "", ""), im.PutText(pcp.TextPMID|pcp.TextHelp, 1, "x")} {
		if err == nil {
			t.Error("no error after End")
		}
	}
	if s := importer.Error(-20099).Error(); s == "" {
		t.Error("an unknown error has no text")
	}
}

// TestConversions puts numbers into metrics of all types.
func TestConversions(t *testing.T) {
	im := start(t, importer.Options{})
	metrics := make(map[pcp.Type]*importer.Metric)
	for typ := pcp.Type32; typ <= pcp.TypeString; typ++ {
		m, err := im.NewMetric("m."+strings.ToLower("x"+typ.String()), importer.Spec{Type: typ})
		must(t, err)
		metrics[typ] = m
	}
	sec := 0
	// put writes a record with the value and returns it.
	put := func(typ pcp.Type, f func(h importer.Handle) error, want error) {
		t.Helper()
		sec++
		err := f(metrics[typ].Handle)
		if !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("%s: %v, want %v", typ, err, want)
		}
		if err == nil {
			must(t, im.Write(t0.Add(time.Duration(sec)*time.Second)))
		}
	}
	i := func(n int64) func(importer.Handle) error {
		return func(h importer.Handle) error { return h.PutInt(n) }
	}
	u := func(n uint64) func(importer.Handle) error {
		return func(h importer.Handle) error { return h.PutUint(n) }
	}
	d := func(f float64) func(importer.Handle) error {
		return func(h importer.Handle) error { return h.PutDouble(f) }
	}
	for typ := pcp.Type32; typ <= pcp.TypeDouble; typ++ {
		put(typ, i(7), nil)
		put(typ, u(7), nil)
		put(typ, d(7), nil)
	}
	put(pcp.Type32, i(math.MinInt32), nil)
	put(pcp.Type32, i(math.MaxInt32+1), pcp.ErrTrunc)
	put(pcp.Type32, u(math.MaxInt32+1), pcp.ErrTrunc)
	put(pcp.Type32, u(math.MaxUint64), pcp.ErrTrunc)
	put(pcp.TypeU32, u(math.MaxUint32), nil)
	put(pcp.TypeU32, u(math.MaxUint32+1), pcp.ErrTrunc)
	put(pcp.TypeU32, i(-1), pcp.ErrSign)
	put(pcp.TypeU32, d(-1), pcp.ErrSign)
	put(pcp.TypeU32, d(-0.5), nil)
	put(pcp.Type64, u(math.MaxUint64), pcp.ErrTrunc)
	put(pcp.Type64, d(1e19), pcp.ErrTrunc)
	put(pcp.Type64, d(math.NaN()), pcp.ErrTrunc)
	put(pcp.TypeU64, u(math.MaxUint64), nil)
	put(pcp.TypeU64, i(-1), pcp.ErrSign)
	put(pcp.TypeString, i(1), pcp.ErrType)
	put(pcp.TypeString, u(1), pcp.ErrType)
	put(pcp.TypeString, d(1), pcp.ErrType)
	put(pcp.TypeString, func(h importer.Handle) error { return h.PutString("text\x00hidden") }, nil)
	put(pcp.Type32, func(h importer.Handle) error { return h.PutString("1") }, pcp.ErrType)
	put(pcp.TypeString, func(h importer.Handle) error { return h.PutAtom(pcp.StringValue("atom")) }, nil)
	put(pcp.Type32, func(h importer.Handle) error { return h.PutAtom(pcp.StringValue("atom")) }, pcp.ErrType)
	put(pcp.TypeFloat, func(h importer.Handle) error { return h.PutAtom(pcp.FloatValue(1.5)) }, nil)
	must(t, im.End())

	var got []string
	a := open(t, im)
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		must(t, err)
		for _, vs := range res.Sets {
			desc, err := a.Meta().Desc(vs.PMID)
			must(t, err)
			got = append(got, vs.Values[0].As(desc.Type).String())
		}
	}
	want := slices.Concat(slices.Repeat([]string{"7"}, 12), slices.Repeat([]string{"7.000000e+00"}, 6), []string{"-2147483648", "4294967295", "0", "18446744073709551615", `"text"`, `"atom"`, "1.500000e+00"})
	if !slices.Equal(got, want) {
		t.Errorf("values %q, want %q", got, want)
	}
}

// TestInherit starts an archive with the declarations of another.
func TestInherit(t *testing.T) {
	first := start(t, importer.Options{})
	m, err := first.NewMetric("a.metric", importer.Spec{Type: pcp.TypeU64, InDom: first.NewInDom(), OneLine: "text"})
	must(t, err)
	h, err := m.Instance("one of many")
	must(t, err)
	must(t, h.PutInt(1))
	must(t, first.Write(t0))
	must(t, first.End())

	second := start(t, importer.Options{Inherit: first, Host: "h", TimeZone: "UTC"})
	must(t, second.PutValue("a.metric", "one ", "2"))
	if err := second.Write(t0.Add(-1)); !errors.Is(err, importer.ErrBadTimestamp) {
		t.Errorf("Write before the last of the other archive: %v", err)
	}
	must(t, second.Write(t0.Add(time.Second)))
	must(t, second.End())
	for _, part := range []string{".meta"} {
		b1, err1 := os.ReadFile(first.Path() + part)
		b2, err2 := os.ReadFile(second.Path() + part)
		must(t, errors.Join(err1, err2))
		// Except the times of the label and of the instances.
		if len(b1) != len(b2) || !bytes.Equal(b1[:12], b2[:12]) {
			t.Errorf("%s of the second archive has %d bytes, of the first %d", part, len(b2), len(b1))
		}
	}
	a := open(t, second)
	if s, err := a.Meta().Text(pcp.TextOneLine|pcp.TextPMID, uint32(m.ID())); s != "text" {
		t.Errorf("text %q, %v", s, err)
	}
}

// TestInstances adds instances in any order, between records: they keep their
// names.
func TestInstances(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		im := start(t, importer.Options{Version: version, VolumeBytes: 1 << 10, Host: "h", TimeZone: "UTC"})
		indom := im.NewInDom()
		m, err := im.NewMetric("m", importer.Spec{Type: pcp.TypeString, InDom: indom})
		must(t, err)
		if err := m.Put("no instance"); !errors.Is(err, importer.ErrBadHandle) {
			t.Errorf("Put without an instance: %v", err)
		}
		names := map[int32]string{50: "fifty", 7: "seven of nine", 30: "thirty", 8: "eight", 51: "next"}
		for i, inst := range []int32{50, 7, 30, 8} {
			must(t, im.AddInstance(indom, names[inst], inst))
			for k := range i + 1 {
				must(t, im.PutValue("m", names[[]int32{50, 7, 30, 8}[k]], names[[]int32{50, 7, 30, 8}[k]]))
			}
			must(t, im.Write(t0.Add(time.Duration(i)*time.Second)))
		}
		h, err := m.Instance("next")
		must(t, err)
		must(t, h.Put("next"))
		if _, err := m.Instance("seven of ten"); !errors.Is(err, importer.ErrDupInstName) {
			t.Errorf("Instance with the same first word: %v", err)
		}
		must(t, im.Write(t0.Add(time.Minute)))
		must(t, im.PutMark())
		res := &pcp.Result{Time: pcp.TimestampOf(t0.Add(time.Hour))}
		res.AddSet(m.ID())
		res.Add(pcp.StringValue("next").WithInst(51))
		res.Add(pcp.StringValue("eight").WithInst(8))
		must(t, im.PutResult(res))
		must(t, im.Flush())
		must(t, im.End())
		a := open(t, im)
		n, records := 0, 0
		for res, err := range a.Records(a.Label().Start, archive.Forward) {
			must(t, err)
			records++
			for _, vs := range res.Sets {
				for _, v := range vs.Values {
					n++
					name, _ := a.Meta().View(indom, res.Time).Name(v.Inst)
					if name != names[v.Inst] || name != string(v.Bytes()) {
						t.Errorf("version %d: value %s of instance %d, %q", version, v.Bytes(), v.Inst, name)
					}
				}
			}
		}
		if n != 1+2+3+4+1+2 || records != 7 {
			t.Errorf("version %d: %d values in %d records", version, n, records)
		}
		if version == archive.Version2 && len(a.Volumes()) != 1 || a.Label().Version != version {
			t.Errorf("label %+v, volumes %d", a.Label(), len(a.Volumes()))
		}
	}
}

// TestInDomDeltas adds an instance for each record.
func TestInDomDeltas(t *testing.T) {
	size := make(map[bool]int64)
	for _, deltas := range []bool{false, true} {
		im := start(t, importer.Options{InDomDeltas: deltas, Host: "h", TimeZone: "UTC"})
		m, err := im.NewMetric("m", importer.Spec{InDom: im.NewInDom()})
		must(t, err)
		const records = 100
		for i := range records {
			h, err := m.Instance("instance" + strings.Repeat("x", i))
			must(t, err)
			must(t, h.PutInt(int64(i)))
			must(t, im.Write(t0.Add(time.Duration(i)*time.Second)))
		}
		must(t, im.End())
		a := open(t, im)
		rec, err := a.Meta().InDom(m.Desc().InDom, pcp.TimestampOf(t0.Add(50*time.Second)))
		must(t, err)
		if len(rec.Instances) != 51 || rec.Instances[50].Name != "instance"+strings.Repeat("x", 50) {
			t.Errorf("deltas %t: %d instances after 51 records", deltas, len(rec.Instances))
		}
		size[deltas], err = archive.FileSize(im.Path() + ".meta")
		must(t, err)
	}
	if size[true] > size[false]/10 {
		t.Errorf("metadata of %d bytes with deltas, %d without", size[true], size[false])
	}
}

// TestVolumes starts new volumes before they grow too long.
func TestVolumes(t *testing.T) {
	im := start(t, importer.Options{VolumeBytes: 3000})
	m, err := im.NewMetric("m", importer.Spec{Type: pcp.TypeString})
	must(t, err)
	for i := range 40 {
		must(t, m.PutString(strings.Repeat("x", 50*i)))
		must(t, im.Write(t0.Add(time.Duration(i)*time.Second)))
	}
	must(t, im.End())
	a := open(t, im)
	entries := make(map[int32]int)
	for _, e := range a.Index() {
		entries[e.Vol]++
	}
	if len(a.Volumes()) < 10 || len(entries) != len(a.Volumes()) {
		t.Errorf("%d volumes, entries %v", len(a.Volumes()), entries)
	}
}

// TestAllocs checks that putting and writing allocate nothing.
func TestAllocs(t *testing.T) {
	im := start(t, importer.Options{})
	put := manyValues(t, im)
	sec := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		put()
		sec++
		if err := im.Write(time.Unix(sec, 0)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a record", n)
	}
}

// manyValues declares 20 metrics, half of them with 50 instances, and returns
// a function that puts a value of each.
func manyValues(t testing.TB, im *importer.Importer) func() {
	indom := im.NewInDom()
	var handles []importer.Handle
	types := []pcp.Type{pcp.TypeU32, pcp.TypeU64, pcp.TypeDouble, pcp.TypeFloat, pcp.TypeString}
	for i := range 20 {
		spec := importer.Spec{Type: types[i%5]}
		if i%2 == 0 {
			spec.InDom = indom
		}
		m, err := im.NewMetric("bench.metric"+string(rune('a'+i)), spec)
		must(t, err)
		if i%2 == 1 {
			handles = append(handles, m.Handle)
			continue
		}
		for k := range 50 {
			h, err := m.Instance("i" + string(rune('A'+k)))
			must(t, err)
			handles = append(handles, h)
		}
	}
	n := 0
	return func() {
		for i, h := range handles {
			n++
			var err error
			if i%2 == 0 {
				err = h.Put("1234567")
			} else if h.Desc().Type == pcp.TypeString {
				err = h.PutString("some text")
			} else {
				err = h.PutInt(int64(n))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDiscard removes an archive of two volumes, and an archive that was not begun.
func TestDiscard(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	im, err := importer.Start(base, importer.Options{Host: "h", VolumeBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	m, err := im.NewMetric("a", importer.Spec{Type: pcp.TypeString})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := m.PutString(strings.Repeat("x", 500)); err != nil {
			t.Fatal(err)
		}
		if err := im.Write(time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if list, _ := filepath.Glob(base + ".*"); len(list) < 4 {
		t.Fatalf("before Discard there is %v", list)
	}
	if err := im.Discard(); err != nil {
		t.Error(err)
	}
	if list, _ := filepath.Glob(base + ".*"); list != nil {
		t.Errorf("after Discard there is %v", list)
	}
	if err := m.PutString("x"); err == nil {
		t.Error("a value was put after Discard")
	}
	if im, err = importer.Start(base, importer.Options{Host: "h"}); err == nil {
		err = im.Discard()
	}
	if err != nil {
		t.Errorf("Discard of an archive that was not begun: %v", err)
	}
}

package archive_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A maker writes a small archive by hand.
type maker struct {
	version           int
	meta, data, index []byte
}

func newMaker(version int) *maker {
	m := &maker{version: version}
	l := archive.Label{Version: version, PID: 42, Start: pcp.Timestamp{Sec: 1000, Nsec: 5000}, Host: "dark.example.com", TimeZone: "UTC"}
	for _, f := range []struct {
		b   *[]byte
		vol int32
	}{{&m.meta, archive.VolMeta}, {&m.data, 0}, {&m.index, archive.VolIndex}} {
		l.Vol = f.vol
		*f.b = l.Append(nil)
	}
	m.entry(1000)
	return m
}

func words(b []byte, list ...uint32) []byte {
	for _, w := range list {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

func (m *maker) stamp(b []byte, sec uint32) []byte {
	if m.version == archive.Version3 {
		return words(b, sec, 0, 5000)
	}
	return words(b, sec, 5)
}

func (m *maker) entry(sec uint32) {
	m.index = m.stamp(m.index, sec)
	if m.version == archive.Version3 {
		m.index = words(m.index, 0, 0, uint32(len(m.meta)), 0, uint32(len(m.data)))
	} else {
		m.index = words(m.index, 0, uint32(len(m.meta)), uint32(len(m.data)))
	}
}

// framed appends a record.
func framed(file *[]byte, body []byte) {
	n := uint32(len(body) + 8)
	*file = words(append(words(*file, n), body...), n)
}

func (m *maker) desc(d pcp.Desc, names ...string) {
	b := words(nil, 1, uint32(d.PMID), uint32(d.Type), uint32(d.InDom), uint32(d.Sem), d.Units.Pack(), uint32(len(names)))
	for _, n := range names {
		b = append(words(b, uint32(len(n))), n...)
	}
	framed(&m.meta, b)
}

// indom appends an instance domain of pairs of instance and name; in a delta ""
// removes.
func (m *maker) indom(sec uint32, indom pcp.InDom, delta bool, insts ...pcp.Instance) {
	typ := uint32(2)
	if m.version == archive.Version3 {
		typ = 5
		if delta {
			typ = 6
		}
	}
	b := append(m.stamp(words(nil, typ), sec), words(nil, uint32(indom), uint32(len(insts)))...)
	var offs, strs []byte
	for _, in := range insts {
		b = words(b, uint32(in.Inst))
		if in.Name == "" {
			offs = words(offs, 0xffffffff)
			continue
		}
		offs = words(offs, uint32(len(strs)))
		strs = append(append(strs, in.Name...), 0)
	}
	framed(&m.meta, append(append(b, offs...), strs...))
}

func (m *maker) text(kind pcp.TextKind, ident uint32, s string) {
	framed(&m.meta, append(append(words(nil, 4, uint32(kind), ident), s...), 0))
}

func (m *maker) labels(sec uint32, level pcp.LabelFlags, ident uint32, json string) {
	typ := uint32(3)
	if m.version == archive.Version3 {
		typ = 7
	}
	set, err := pcp.ParseLabels(json, level)
	if err != nil {
		panic(err)
	}
	b := append(m.stamp(words(nil, typ), sec), words(nil, uint32(level), ident, 1, uint32(0xffffffff), uint32(len(set.JSON)))...)
	b = words(append(b, set.JSON...), uint32(len(set.Index)))
	for _, l := range set.Index {
		b = binary.BigEndian.AppendUint16(b, l.Name)
		b = append(b, l.NameLen, byte(l.Flags))
		b = binary.BigEndian.AppendUint16(b, l.Value)
		b = binary.BigEndian.AppendUint16(b, l.ValueLen)
	}
	framed(&m.meta, b)
}

// result appends a record with a number in situ for two instances, a string
// and an error.
func (m *maker) result(sec, n uint32) {
	b := m.stamp(nil, sec)
	base := uint32(len(b)+4+12) / 4 // in words, the unit of offsets of blocks
	b = words(b, 3, uint32(load), 2, 0, 1, n, 2, n+1, uint32(name), 1, 1, 0xffffffff, base+7+5+2, uint32(gone), 0xffffcfa5)
	b = append(words(b, uint32(pcp.TypeString)<<24|4+4), "abc\x00"...)
	framed(&m.data, b)
}

var (
	load = pcp.NewPMID(60, 2, 0)
	name = pcp.NewPMID(60, 2, 1)
	gone = pcp.NewPMID(60, 2, 2)
	dom  = pcp.NewInDom(60, 2)
)

// small returns an archive with a record of each kind.
func small(version int) *maker {
	m := newMaker(version)
	m.desc(pcp.Desc{PMID: load, Type: pcp.TypeU32, InDom: dom, Sem: pcp.SemInstant}, "kernel.all.load", "load")
	m.desc(pcp.Desc{PMID: name, Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}, "kernel.uname")
	m.indom(1000, dom, false, pcp.Instance{Inst: 2, Name: "5 minute"}, pcp.Instance{Inst: 1, Name: "1 minute"})
	m.text(pcp.TextOneLine|pcp.TextPMID, uint32(load), "how busy")
	m.labels(1000, pcp.LabelContext, 0, `{"hostname":"dark"}`)
	m.result(1000, 7)
	m.result(1010, 8)
	if version == archive.Version3 {
		m.indom(1020, dom, true, pcp.Instance{Inst: 1}, pcp.Instance{Inst: 3, Name: "15 minute"})
	} else {
		m.indom(1020, dom, false, pcp.Instance{Inst: 2, Name: "5 minute"}, pcp.Instance{Inst: 3, Name: "15 minute"})
	}
	m.entry(1020)
	m.result(1020, 9)
	framed(&m.data, words(m.stamp(nil, 1025), 0))
	m.result(1030, 10)
	m.entry(1030)
	return m
}

func (m *maker) write(t testing.TB) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "small")
	m.writeTo(t, base)
	return base
}

func (m *maker) writeTo(t testing.TB, base string) {
	t.Helper()
	for suffix, b := range map[string][]byte{".meta": m.meta, ".0": m.data, ".index": m.index} {
		if err := os.WriteFile(base+suffix, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// exercise reads everything; each error must have a code.
func exercise(t testing.TB, base string) (records int) {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		if pcp.Code(err) == 0 {
			t.Errorf("Open: %v carries no code", err)
		}
		return 0
	}
	defer a.Close()
	m := a.Meta()
	for _, d := range m.Descs() {
		m.Names(d.PMID)
	}
	for _, d := range m.InDoms() {
		for range m.History(d) {
		}
		m.View(d, pcp.Timestamp{Sec: 1025}).Name(2)
		m.InDom(d, pcp.Timestamp{Sec: 1025})
	}
	m.LabelRecords()
	m.Texts()
	a.End()
	for dir, from := range map[archive.Direction]int64{archive.Forward: 0, archive.Backward: 1 << 40} {
		n := 0
		for _, err := range a.Records(pcp.Timestamp{Sec: from}, dir) {
			if err != nil {
				if pcp.Code(err) == 0 {
					t.Errorf("Records: %v carries no code", err)
				}
				break
			}
			if n++; n > 100 {
				t.Fatal("an archive of 5 records has no end")
			}
		}
		if dir == archive.Forward {
			records = n
		}
	}
	return records
}

// TestDamaged damages each byte, and cuts each file at each length, of a small
// archive. Nothing may panic or hang; a cut volume gives its complete records.
func TestDamaged(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		good := small(version)
		dir := t.TempDir()
		base := filepath.Join(dir, "small")
		good.writeTo(t, base)
		if n := exercise(t, base); n != 5 {
			t.Fatalf("version %d: %d records, want 5", version, n)
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		for suffix, b := range map[string][]byte{".meta": good.meta, ".0": good.data, ".index": good.index} {
			path := base + suffix
			for i := range b {
				bad := bytes.Clone(b)
				bad[i] = [...]byte{b[i] ^ 0x80, b[i] + 1, byte(rnd.Uint32())}[rnd.IntN(3)]
				os.WriteFile(path, bad, 0o666)
				exercise(t, base)
			}
			last := 0
			for n := range b {
				os.WriteFile(path, b[:n], 0o666)
				records := exercise(t, base)
				if suffix == ".0" && records < last {
					t.Errorf("version %d: %d bytes give %d records, fewer than less did", version, n, records)
				}
				last = records
			}
			os.WriteFile(path, b, 0o666)
		}
	}
}

func TestReadSmall(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		a, err := archive.Open(small(version).write(t))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if got := strings.Join(a.Meta().Names(load), " "); got != "kernel.all.load load" {
			t.Errorf("names %q", got)
		}
		at := func(sec int64, inst int32) string {
			s, _ := a.Meta().View(dom, pcp.Timestamp{Sec: sec}).Name(inst)
			return s
		}
		got := []string{at(999, 1), at(1001, 1), at(1001, 2), at(1021, 1), at(1021, 2), at(1021, 3)}
		want := []string{"", "1 minute", "5 minute", "", "5 minute", "15 minute"}
		if !slices.Equal(got, want) {
			t.Errorf("version %d: instances %q, want %q", version, got, want)
		}
		end, err := a.End()
		if err != nil || end != (pcp.Timestamp{Sec: 1030, Nsec: 5000}) {
			t.Errorf("End = %v, %v", end, err)
		}
		var times []int64
		for res, err := range a.Records(pcp.Timestamp{Sec: 1011}, archive.Forward) {
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, res.Time.Sec)
		}
		if len(times) != 3 || times[0] != 1020 || times[1] != 1025 {
			t.Errorf("records from 1011 on are at %v", times)
		}
		for res, err := range a.Records(pcp.Timestamp{Sec: 1011}, archive.Backward) {
			if err != nil {
				t.Fatal(err)
			}
			if res.Time.Sec != 1010 || len(res.Sets) != 3 {
				t.Fatalf("last record until 1011 is %+v", res)
			}
			if v := res.Sets[0].Values[1]; v.Inst != 2 || v.Uint32() != 9 {
				t.Errorf("value %+v", v)
			}
			if v := res.Sets[1].Values[0]; string(v.Bytes()) != "abc" || v.Type() != pcp.TypeString {
				t.Errorf("value %+v", v)
			}
			if res.Sets[2].Err != pcp.Error(-12379) {
				t.Errorf("error %d", res.Sets[2].Err)
			}
			break
		}
	}
}

// TestGrowing appends to an archive that is being read.
func TestGrowing(t *testing.T) {
	m := newMaker(archive.Version3)
	m.desc(pcp.Desc{PMID: load, Type: pcp.TypeU32, InDom: dom, Sem: pcp.SemInstant}, "load")
	m.result(1000, 1)
	base := m.write(t)
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r := a.NewReader()
	defer r.Close()
	next := func() int64 {
		t.Helper()
		res, err := r.Next()
		if err != nil {
			return -1
		}
		return res.Time.Sec
	}
	if got := []int64{next(), next(), next()}; got[0] != 1000 || got[1] != -1 || got[2] != -1 {
		t.Fatalf("times %v, want 1000 and the end twice", got)
	}
	m.indom(1010, dom, false, pcp.Instance{Inst: 1, Name: "one"})
	m.desc(pcp.Desc{PMID: name, Type: pcp.TypeString, InDom: pcp.InDomNull}, "name")
	m.entry(1010)
	m.result(1010, 2)
	m.writeTo(t, base)
	if got := next(); got != 1010 {
		t.Errorf("after growing the next record is at %d, want 1010", got)
	}
	if end, err := a.End(); err != nil || end.Sec != 1010 {
		t.Errorf("End = %v, %v", end, err)
	}
	if err := a.Refresh(); err != nil {
		t.Fatal(err)
	}
	if _, ok := a.Meta().LookupName("name"); !ok {
		t.Error("Refresh did not find the new metric")
	}
	if s, _ := a.Meta().View(dom, pcp.Timestamp{Sec: 1011}).Name(1); s != "one" {
		t.Errorf("Refresh did not find the new instance, but %q", s)
	}
	if len(a.Index()) != 2 {
		t.Errorf("index has %d entries", len(a.Index()))
	}
}

// TestErrors checks the error for each kind of damage.
func TestErrors(t *testing.T) {
	f := func(what string, want error, change func(m *maker)) {
		t.Helper()
		m := small(archive.Version2)
		change(m)
		base := m.write(t)
		a, err := archive.Open(base)
		if err == nil {
			for _, err = range a.Records(pcp.Timestamp{}, archive.Forward) {
				if err != nil {
					break
				}
			}
			a.Close()
		}
		if pcp.Code(err) != want || err != nil && !strings.Contains(err.Error(), base) {
			t.Errorf("%s: %v, want %v and the name of the file", what, err, want)
		}
	}
	f("a type of record that is not known", pcp.ErrRecType, func(m *maker) { framed(&m.meta, words(nil, 99)) })
	f("a metric that changes its type", pcp.ErrLogChangeType, func(m *maker) {
		m.desc(pcp.Desc{PMID: load, Type: pcp.Type64, InDom: dom, Sem: pcp.SemInstant}, "load")
	})
	f("an index of another archive", pcp.ErrLabel, func(m *maker) { m.index[8+3]++ })
	f("a magic number", pcp.ErrLabel, func(m *maker) { m.data[5] = 0 })
	f("a volume with nothing in it", pcp.ErrNoData, func(m *maker) { m.data = m.data[:132] })
	f("a file that ends in a record", pcp.ErrLogRec, func(m *maker) { m.data = m.data[:len(m.data)-1] })
	f("a value outside of its record", pcp.ErrLogRec, func(m *maker) {
		i := bytes.Index(m.data, words(nil, 0xffffffff))
		m.data[i+4] = 0x7f
	})
}

func FuzzResult(f *testing.F) {
	for _, version := range []int{2, 3} {
		m := newMaker(version)
		start := len(m.data)
		m.result(1000, 1)
		f.Add(m.data[start+4:len(m.data)-4], version)
	}
	f.Fuzz(func(t *testing.T, b []byte, version int) {
		var res pcp.Result
		if err := archive.DecodeResult(&res, b, version); err != nil {
			if pcp.Code(err) != pcp.ErrLogRec {
				t.Fatal(err)
			}
			return
		}
		n := 0
		for _, vs := range res.Sets {
			n += len(vs.Values)
		}
		if 8*n > len(b) {
			t.Fatalf("%d values of %d bytes", n, len(b))
		}
	})
}

func FuzzMeta(f *testing.F) {
	f.Add(small(2).meta)
	f.Add(small(3).meta)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := archive.ReadMeta(bytes.NewReader(b))
		if err != nil {
			if pcp.Code(err) == 0 {
				t.Fatal(err)
			}
			return
		}
		for _, d := range m.InDoms() {
			for rec := range m.History(d) {
				for _, in := range rec.Instances {
					if in.Inst < 0 {
						t.Fatalf("instance %d", in.Inst)
					}
				}
			}
			m.View(d, pcp.Timestamp{Sec: 1 << 30}).Name(1)
		}
		for _, d := range m.Descs() {
			m.Names(d.PMID)
		}
		m.LabelRecords()
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(small(2).index)
	f.Add(small(3).index)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := archive.ReadIndex(bytes.NewReader(b)); err != nil && pcp.Code(err) == 0 {
			t.Fatal(err)
		}
	})
}

func FuzzVolume(f *testing.F) {
	f.Add(small(2).data)
	f.Add(small(3).data)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, _, err := archive.NewVolumeReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		var res pcp.Result
		for v.Next(&res) == nil {
		}
		v.SeekTo(int64(len(b)))
		for v.Prev(&res) == nil {
		}
	})
}

// FuzzArchive reads whole archives of three files.
func FuzzArchive(f *testing.F) {
	for _, version := range []int{2, 3} {
		m := small(version)
		f.Add(m.meta, m.data, m.index)
	}
	f.Fuzz(func(t *testing.T, meta, data, index []byte) {
		if len(data) > 10000 {
			t.Skip("more records than exercise expects")
		}
		exercise(t, (&maker{meta: meta, data: data, index: index}).write(t))
	})
}

// TestUnknownFeature opens archives whose labels have a feature.
func TestUnknownFeature(t *testing.T) {
	for _, c := range []struct {
		feature uint32
		want    pcp.Error
	}{{0, 0}, {archive.FeatureQA, 0}, {1, pcp.ErrFeature}, {archive.FeatureQA | 1<<30, pcp.ErrFeature}} {
		m := small(archive.Version3)
		for _, b := range [][]byte{m.data, m.meta, m.index} {
			l, err := archive.DecodeLabel(b)
			must(t, err)
			l.Features = c.feature
			copy(b, l.Append(nil))
		}
		base := m.write(t)
		a, err := archive.Open(base)
		if err == nil {
			a.Close()
		}
		if pcp.Code(err) != c.want {
			t.Errorf("feature %#x: %v, want %v", c.feature, err, c.want)
		}
		a, err = archive.Options{AnyFeatures: true}.Open(base)
		if err != nil {
			t.Errorf("feature %#x with AnyFeatures: %v", c.feature, err)
			continue
		}
		a.Close()
	}
}

// TestVersions opens archives by the version in their labels.
func TestVersions(t *testing.T) {
	for version, want := range map[byte]pcp.Error{0: pcp.ErrLabel, 1: pcp.ErrLabel, 2: 0, 4: pcp.ErrLabel} {
		m := small(archive.Version2)
		for _, b := range [][]byte{m.data, m.meta, m.index} {
			b[7] = version
		}
		a, err := archive.Open(m.write(t))
		if err == nil {
			a.Close()
		}
		if pcp.Code(err) != want {
			t.Errorf("version %d: %v, want %v", version, err, want)
		}
	}
}

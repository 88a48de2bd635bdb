package mmv_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/mmv"
	file "github.com/go-pcp/pcp/mmv"
)

// A layout describes a file as a writer other than libpcp_mmv lays it out.
type layout struct {
	version, cluster int
	flags            file.Flags
	generation       uint64
	order            binary.ByteOrder

	noInDom     uint32 // the domain of metrics without instances
	stringBits  uint64 // the number beside the offset of a string value
	spareTOC    bool   // a place for a section of strings that the file may not have
	spareValues int    // records at the end of the section that are not in use
	spareBytes  int    // at the end of the file
	shared      bool   // equal help texts are stored once
	packedHelp  bool   // a help text takes the place of a missing one-line text

	inDoms  []layoutInDom
	metrics []layoutMetric
	values  []layoutValue // in their order in the file
}

type layoutInDom struct {
	serial        uint32
	oneLine, help string
	insts         []pcp.Instance
}

type layoutMetric struct {
	name          string
	item          uint32
	typ           file.Type
	sem           pcp.Sem
	units         pcp.Units
	inDom         int // index, -1 for none
	oneLine, help string
}

type layoutValue struct {
	metric, inst int // indexes; inst is that of an instance in its domain
	bits         uint64
	text         string
}

// file returns the bytes of a file.
func (l *layout) file(pid int) []byte {
	const headerSize, tocSize, inDomSize, valueSize, stringSize = 40, 16, 32, 32, 256
	instSize, metricSize := 24, 48
	if l.version == file.Version1 {
		instSize, metricSize = 80, 104
	}
	tocs, insts := 2, 0
	for _, d := range l.inDoms {
		insts += len(d.insts)
	}
	if insts > 0 {
		tocs += 2
	}
	room := tocs + 1 // all have strings here
	if !l.spareTOC {
		tocs, room = tocs+1, tocs+1
	}
	inDomsAt := headerSize + room*tocSize
	instsAt := inDomsAt + len(l.inDoms)*inDomSize
	metricsAt := instsAt + insts*instSize
	valuesAt := metricsAt + len(l.metrics)*metricSize
	values := len(l.values) + l.spareValues
	stringsAt := valuesAt + values*valueSize

	var strs [][]byte
	stored := map[string]uint64{}
	str := func(s string, help bool) uint64 {
		if at, ok := stored[s]; ok && help && l.shared {
			return at
		}
		at := uint64(stringsAt + len(strs)*stringSize)
		b := make([]byte, stringSize)
		copy(b, s)
		strs = append(strs, b)
		if help {
			stored[s] = at
		}
		return at
	}
	b := make([]byte, stringsAt)
	u32 := func(at int, v uint32) { l.order.PutUint32(b[at:], v) }
	u64 := func(at int, v uint64) { l.order.PutUint64(b[at:], v) }
	texts := func(at int, oneLine, help string) {
		for _, s := range []string{oneLine, help} {
			if s != "" {
				u64(at, str(s, true))
			}
			if s != "" || !l.packedHelp {
				at += 8
			}
		}
	}
	instAt := make(map[[2]int]int)
	at := instsAt
	for i, d := range l.inDoms {
		rec := inDomsAt + i*inDomSize
		u32(rec, d.serial)
		u32(rec+4, uint32(len(d.insts)))
		u64(rec+8, uint64(at))
		texts(rec+16, d.oneLine, d.help)
		for k, in := range d.insts {
			instAt[[2]int{i, k}] = at
			u64(at, uint64(rec))
			u32(at+12, uint32(in.Inst))
			if l.version == file.Version1 {
				copy(b[at+16:at+instSize], in.Name)
			} else {
				u64(at+16, str(in.Name, false))
			}
			at += instSize
		}
	}
	for i, m := range l.metrics {
		rec := metricsAt + i*metricSize
		if l.version == file.Version1 {
			copy(b[rec:rec+64], m.name)
			rec += 64
		} else {
			u64(rec, str(m.name, false))
			rec += 8
		}
		u32(rec, m.item)
		u32(rec+4, uint32(m.typ))
		u32(rec+8, uint32(m.sem))
		u32(rec+12, m.units.Pack())
		u32(rec+16, l.noInDom)
		if m.inDom >= 0 {
			u32(rec+16, l.inDoms[m.inDom].serial)
		}
		texts(rec+24, m.oneLine, m.help)
	}
	for i, v := range l.values {
		rec := valuesAt + i*valueSize
		u64(rec, v.bits)
		if m := l.metrics[v.metric]; m.typ == file.TypeString {
			u64(rec, l.stringBits)
			u64(rec+8, str(v.text, false))
		}
		u64(rec+16, uint64(metricsAt+v.metric*metricSize))
		if d := l.metrics[v.metric].inDom; d >= 0 {
			u64(rec+24, uint64(instAt[[2]int{d, v.inst}]))
		}
	}
	if len(strs) > 0 && l.spareTOC {
		tocs++
	}
	toc := headerSize
	section := func(typ, count, at int) {
		u32(toc, uint32(typ))
		u32(toc+4, uint32(count))
		u64(toc+8, uint64(at))
		toc += tocSize
	}
	if insts > 0 {
		section(1, len(l.inDoms), inDomsAt)
		section(2, insts, instsAt)
	}
	section(3, len(l.metrics), metricsAt)
	section(4, values, valuesAt)
	if len(strs) > 0 {
		section(5, len(strs), stringsAt)
	}
	copy(b, "MMV\x00")
	u32(4, uint32(l.version))
	u64(8, l.generation)
	u64(16, l.generation)
	u32(24, uint32(tocs))
	u32(28, uint32(l.flags))
	u32(32, uint32(pid))
	u32(36, uint32(l.cluster))
	b = append(b, bytes.Join(strs, nil)...)
	return append(b, make([]byte, l.spareBytes)...)
}

// parfait is a file as Parfait (Java) writes it: names without prefix, values in the order of a hash table, metrics without
// instances in the domain -1, and the length of a block beside the offset of a string.
func parfait(version int) *layout {
	name := func(s string) string {
		if version == file.Version1 {
			return s
		}
		return s + strings.Repeat("_and_long", 10) // which only version 2 can hold
	}
	count := pcp.Units{DimCount: 1}
	return &layout{
		version: version, flags: file.FlagNoPrefix | file.FlagProcess, generation: uint64(1700000000 + version), order: binary.NativeEndian,
		noInDom: math.MaxUint32, stringBits: 255,
		inDoms: []layoutInDom{
			{1837, "sheep in the paddock", "All of the sheep in the paddock.", []pcp.Instance{{Inst: 1048573, Name: "baabaablack"}, {Inst: 77, Name: name("limpy")}, {Inst: 1048574, Name: "insomniac"}}},
			{12, "", "", []pcp.Instance{{Inst: 5, Name: "eden-space"}}},
		},
		metrics: []layoutMetric{
			{"sheep.bagsfull.count", 345, file.TypeI32, pcp.SemCounter, pcp.Units{DimCount: 1, ScaleCount: 3}, 0, "", ""},
			{name("sheep.jumps"), 1022, file.TypeI64, pcp.SemCounter, count, 0, "# of jumps done", "Number of times the sheep has jumped."},
			{"sheep.jumpitem", 0, file.TypeString, pcp.SemDiscrete, pcp.Units{}, 0, "", ""},
			{"jvm.memory.used", 9, file.TypeI64, pcp.SemInstant, pcp.Units{DimSpace: 1}, 1, "bytes in use", ""},
			{"cow.how.now", 10, file.TypeI64, pcp.SemInstant, pcp.Units{}, -1, "", "When the cow was last asked."},
			{"cow.bytes.chewtime", 11, file.TypeDouble, pcp.SemInstant, pcp.Units{DimSpace: -1, DimTime: 1, ScaleTime: pcp.TimeHour}, -1, "", ""},
			{"cow.name", 12, file.TypeString, pcp.SemDiscrete, pcp.Units{}, -1, "name", "The name."},
			{"cow.milked", 13, file.TypeI32, pcp.SemInstant, pcp.Units{}, -1, "", ""},
		},
		values: []layoutValue{
			{metric: 1, inst: 2, bits: 12345678901234},
			{metric: 4, bits: 1<<63 + 5},
			{metric: 0, inst: 1, bits: 3},
			{metric: 2, inst: 1, text: "Honda Civic"},
			{metric: 6, text: "Bella"},
			{metric: 1, inst: 0, bits: 7},
			{metric: 5, bits: math.Float64bits(0.75)},
			{metric: 3, inst: 0, bits: 4096},
			{metric: 0, inst: 0, bits: uint64(uint32(math.MaxUint32))}, // -1, of 32 bits
			{metric: 7, bits: 1},
		},
	}
}

// hornet is a file as Hornet (Rust) writes it: room for strings and values that are not there, identifiers of instances that are
// any 32 bits, a help text in the place of a missing short one, and texts that are shared.
func hornet() *layout {
	return &layout{
		version: file.Version1, cluster: 0, flags: file.FlagProcess, generation: 1700000001, order: binary.LittleEndian,
		spareTOC: true, spareValues: 3, spareBytes: 2048, shared: true, packedHelp: true,
		inDoms: []layoutInDom{
			{3141592, "Planets", "", []pcp.Instance{{Inst: -1779033703, Name: "mars"}, {Inst: 1013904242, Name: "venus"}}},
			{17, "", "Long only", []pcp.Instance{{Inst: -2, Name: "moon"}}},
		},
		metrics: []layoutMetric{
			{"gravity", 1000, file.TypeFloat, pcp.SemInstant, pcp.Units{}, 0, "Gravity", "Planets"},
			{"orbit.days", 1, file.TypeU32, pcp.SemCounter, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeHour}, 0, "", "Long only"},
			{"phase", 2, file.TypeString, pcp.SemDiscrete, pcp.Units{}, 1, "", ""},
			{"requests." + strings.Repeat("x", 54), 3, file.TypeU64, pcp.SemCounter, pcp.Units{DimCount: 1}, -1, "Requests", "Requests"},
			{"version", 4, file.TypeString, pcp.SemDiscrete, pcp.Units{}, -1, "Requests", ""},
			{"offset", 5, file.TypeI32, pcp.SemInstant, pcp.Units{}, -1, "", ""},
		},
		values: []layoutValue{
			{metric: 0, inst: 0, bits: uint64(math.Float32bits(3.5))},
			{metric: 0, inst: 1, bits: uint64(math.Float32bits(8.75))},
			{metric: 1, inst: 0, bits: 687},
			{metric: 1, inst: 1, bits: math.MaxUint32},
			{metric: 2, inst: 0, text: "crescent"},
			{metric: 3, bits: 1 << 40},
			{metric: 4, text: "0.1.0"},
			{metric: 5, bits: uint64(math.MaxUint32 - 6)},
		},
	}
}

// TestWriters reads files as Parfait and Hornet lay them out.
func TestWriters(t *testing.T) {
	dir := t.TempDir()
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	long := strings.Repeat("_and_long", 10)
	for version, jumps := range map[int]string{file.Version1: "mmv.sheep.jumps", file.Version2: "mmv.sheep.jumps" + long} {
		write(t, filepath.Join(dir, "farm"), parfait(version).file(os.Getpid()))
		want(t, "names of Parfait", metrics(t, a), []string{
			"mmv.cow.bytes.chewtime", "mmv.cow.how.now", "mmv.cow.milked", "mmv.cow.name", "mmv.jvm.memory.used", "mmv.sheep.bagsfull.count", "mmv.sheep.jumpitem", jumps,
		})
		want(t, "values of Parfait", show(t, a, "mmv.cow.bytes.chewtime", "mmv.cow.how.now", "mmv.cow.milked", "mmv.cow.name", "mmv.jvm.memory.used", "mmv.sheep.bagsfull.count", "mmv.sheep.jumpitem", jumps),
			`mmv.cow.bytes.chewtime 70.1.11 -1:0.75
mmv.cow.how.now 70.1.10 -1:-9223372036854775803
mmv.cow.milked 70.1.13 -1:1
mmv.cow.name 70.1.12 -1:"Bella"
mmv.jvm.memory.used 70.1.9 5:4096
mmv.sheep.bagsfull.count 70.1.345 1048573:-1 77:3
mmv.sheep.jumpitem 70.1.0 77:"Honda Civic"
`+jumps+` 70.1.1022 1048573:7 1048574:12345678901234
`)
		id, err := a.LookupName(t.Context(), jumps)
		if err != nil {
			t.Fatal(err)
		}
		desc, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		text, err := a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextHelp)
		want(t, "help of Parfait", []any{desc.Sem, desc.Units.String(), text, err}, []any{pcp.SemCounter, "count", "Number of times the sheep has jumped.", nil})
		insts, err := a.Instances(t.Context(), desc.InDom)
		names := map[int32]string{}
		for _, in := range insts {
			names[in.Inst] = in.Name
		}
		limpy := "limpy"
		if version == file.Version2 {
			limpy += long
		}
		want(t, "instances of Parfait", []any{names, err}, []any{map[int32]string{77: limpy, 1048573: "baabaablack", 1048574: "insomniac"}, nil})
		if err := os.Remove(filepath.Join(dir, "farm")); err != nil {
			t.Fatal(err)
		}
		want(t, "without a file", metrics(t, a), []string(nil))
	}

	// A process that has ended takes its metrics with it.
	write(t, filepath.Join(dir, "farm"), parfait(file.Version1).file(1<<30))
	want(t, "of a process that has ended", metrics(t, a), []string(nil))
	if err := os.Remove(filepath.Join(dir, "farm")); err != nil {
		t.Fatal(err)
	}

	write(t, filepath.Join(dir, "space"), hornet().file(os.Getpid()))
	requests := "mmv.space.requests." + strings.Repeat("x", 54)
	want(t, "values of Hornet", show(t, a, "mmv.space.gravity", "mmv.space.orbit.days", "mmv.space.phase", requests, "mmv.space.version", "mmv.space.offset"),
		`mmv.space.gravity 70.1.1000 -1779033703:3.500000e+00 1013904242:8.750000e+00
mmv.space.orbit.days 70.1.1 -1779033703:687 1013904242:4294967295
mmv.space.phase 70.1.2 -2:"crescent"
`+requests+` 70.1.3 -1:1099511627776
mmv.space.version 70.1.4 -1:"0.1.0"
mmv.space.offset 70.1.5 -1:-7
`)
	for name, help := range map[string][2]string{
		"mmv.space.gravity": {"Gravity", "Planets"}, "mmv.space.orbit.days": {"Long only", ""}, requests: {"Requests", "Requests"},
	} {
		id, err := a.LookupName(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		oneLine, _ := a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextOneLine)
		long, _ := a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextHelp)
		want(t, name, [2]string{oneLine, long}, help)
	}
	everything(t, a)
}

// TestOracleWriters compares the metrics served for files as Parfait and Hornet lay them out.
func TestOracleWriters(t *testing.T) {
	s := startSides(t)
	for _, version := range []int{file.Version1, file.Version2} {
		write(t, filepath.Join(s.dir, "farm"), parfait(version).file(os.Getpid()))
		if out := s.compare(t); !strings.Contains(out, `or "limpy`) || !strings.Contains(out, `value "Honda Civic"`) {
			t.Errorf("version %d: %s", version, out)
		}
		if err := os.Remove(filepath.Join(s.dir, "farm")); err != nil {
			t.Fatal(err)
		}
		s.compare(t)
	}
	write(t, filepath.Join(s.dir, "space"), hornet().file(os.Getpid()))
	if out := s.compare(t); !strings.Contains(out, `or "venus"] value 8.75`) || !strings.Contains(out, `value "crescent"`) {
		t.Errorf("Hornet: %s", out)
	}
}

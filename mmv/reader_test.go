package mmv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-pcp/pcp"
)

// samples makes a small file of each version, fixed and grown.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	return samplesOf(t, true, false)
}

// samplesOf is samples for files of one kind: fixed ones have a few kilobytes, the
// others ten megabytes.
func samplesOf(t testing.TB, kinds ...bool) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for version := Version1; version <= Version3; version++ {
		for _, fixed := range kinds {
			reg, err := New("sample", Options{Dir: t.TempDir(), Fixed: fixed, MaxValues: 16, Cluster: 5})
			if err != nil {
				t.Fatal(err)
			}
			name := "inst"
			if version > Version1 {
				name = long(name, 70)
			}
			v := reg.StringVec(Metric{Name: "v", OneLine: "short", Help: "help", InDom: reg.InDom(InDomDef{Serial: 2, Instances: []string{"a", name}, Help: "domain"})})
			reg.Elapsed(Metric{Name: "e"}).Start()
			reg.Gauge(Metric{Name: "g", Units: pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceMByte}}).Set(1.5)
			v.With("a").Set("text")
			if version == Version3 {
				if err := reg.AddLabel(Label{Name: "x", Value: "y"}); err != nil {
					t.Fatal(err)
				}
			}
			if err := reg.Start(); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(reg.Path())
			if err != nil {
				t.Fatal(err)
			}
			reg.Close()
			files[fmt.Sprintf("v%d fixed=%v", version, fixed)] = b
		}
	}
	return files
}

// swapped returns the file as a machine of the other byte order writes it.
func swapped(b []byte) []byte {
	b = slices.Clone(b)
	ne := binary.NativeEndian
	version := ne.Uint32(b[hdrVersion:])
	swap := func(at int, sizes ...int) {
		for _, n := range sizes {
			if n > 0 {
				slices.Reverse(b[at : at+n])
				at += n
			} else {
				at -= n // text
			}
		}
	}
	type span struct{ typ, count, at int }
	var spans []span
	for i := range int(ne.Uint32(b[hdrTOCs:])) {
		at := headerSize + i*tocSize
		spans = append(spans, span{int(ne.Uint32(b[at:])), int(ne.Uint32(b[at+4:])), int(ne.Uint64(b[at+8:]))})
		swap(at, 4, 4, 8)
	}
	swap(4, 4, 8, 8, 4, 4, 4, 4)
	inst, instSize, metric, metricSize := []int{8, 4, 4, 8}, instance2Size, []int{8, 4, 4, 4, 4, 4, 4, 8, 8}, metric2Size
	if version == Version1 {
		inst[3], instSize = -64, instance1Size
		metric[0], metricSize = -64, metric1Size
	}
	values := []int{}
	for _, s := range spans {
		for i := range s.count {
			switch s.typ {
			case tocInDoms:
				// Its row, unless it is the section of instances.
				at, n := int(ne.Uint64(b[s.at+i*inDomSize+8:])), int(ne.Uint32(b[s.at+i*inDomSize+4:]))
				if !slices.ContainsFunc(spans, func(o span) bool { return o.typ == tocInstances && o.at <= at && at < o.at+o.count*instSize }) {
					for k := range n {
						swap(at+k*instSize, inst...)
					}
				}
				swap(s.at+i*inDomSize, 4, 4, 8, 8, 8)
			case tocInstances:
				swap(s.at+i*instSize, inst...)
			case tocMetrics:
				swap(s.at+i*metricSize, metric...)
			case tocValues:
				values = append(values, s.at+i*valueSize)
			case tocLabels:
				swap(s.at+i*labelSize, 4, 4, 4)
			}
		}
	}
	for _, at := range values {
		swap(at, 8, 8, 8, 8)
	}
	return b
}

// TestOtherByteOrder reads files of machines of the other byte order.
func TestOtherByteOrder(t *testing.T) {
	for name, b := range samples(t) {
		f, err := NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		other := swapped(b)
		g, err := NewFile(bytes.NewReader(other), int64(len(b)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(f, g, cmpopts.IgnoreUnexported(File{})); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
		_, raw, err := f.ReadValues(bytes.NewReader(b), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, rawOther, err := g.ReadValues(bytes.NewReader(other), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(raw, rawOther) {
			t.Errorf("%s: values %v, want %v", name, rawOther, raw)
		}
		if s, err := g.ReadText(bytes.NewReader(other), g.Metrics[0].Values[0].Index); s != "text" || err != nil {
			t.Errorf("%s: text %q, %v", name, s, err)
		}
	}
}

// TestFile reads back a written file.
func TestFile(t *testing.T) {
	for name, b := range samples(t) {
		f, err := NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		inst := "inst"
		var labels []FileLabel
		version := int(name[1] - '0')
		if version > Version1 {
			inst = long(inst, 70)
		}
		if version == Version3 {
			labels = []FileLabel{{Kind: pcp.LabelCluster, Identity: 5, Inst: pcp.InNull, JSON: `{"x":"y"}`}}
		}
		if strings.HasSuffix(name, "false") {
			version = max(version, Version2)
		}
		want := &File{
			Version: version, Flags: FlagProcess, Process: os.Getpid(), Cluster: 5, Labels: labels,
			InDoms: []FileInDom{{Serial: 2, Help: "domain", Texts: FileTexts{Help: true}, Instances: []pcp.Instance{{Inst: 0, Name: "a"}, {Inst: 1, Name: inst}}}},
			Metrics: []FileMetric{
				{Name: "v", Item: 1, Type: TypeString, Sem: pcp.SemDiscrete, InDom: 2, OneLine: "short", Help: "help", Texts: FileTexts{true, true}, Values: []FileValue{{0, 0}, {1, 1}}},
				{Name: "e", Item: 2, Type: TypeElapsed, Sem: pcp.SemCounter, Units: pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}, Values: []FileValue{{pcp.InNull, 2}}},
				{Name: "g", Item: 3, Type: TypeDouble, Sem: pcp.SemInstant, Units: pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceMByte}, Values: []FileValue{{pcp.InNull, 3}}},
			},
			ValuesCount: 4,
		}
		if d := cmp.Diff(want, f, cmpopts.IgnoreUnexported(File{}), cmpopts.IgnoreFields(File{}, "Generation", "ValuesAt")); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// use uses a file as an agent does.
func use(b []byte) (*File, error) {
	r := bytes.NewReader(b)
	f, err := NewFile(r, int64(len(b)))
	if err != nil {
		return nil, err
	}
	_, raw, err := f.ReadValues(r, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, m := range f.Metrics {
		for _, v := range m.Values {
			f.ReadString(r, raw[v.Index].Extra)
			f.ReadText(r, v.Index)
		}
	}
	return f, nil
}

// TestDamage reads files with each byte damaged in several ways, and cut to
// each length: there are errors, and no panic.
func TestDamage(t *testing.T) {
	for name, b := range samples(t) {
		if !strings.HasSuffix(name, "true") {
			continue
		}
		for _, b := range [][]byte{b, swapped(b)} {
			if _, err := use(b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			f, err := NewFile(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			valuesEnd := int(f.ValuesAt) + f.ValuesCount*valueSize
			for i := range b {
				was := b[i]
				for _, bad := range []byte{0, 1, 0x7f, 0x80, 0xff, was + 1, was - 1, was ^ 0x10} {
					b[i] = bad
					use(b)
				}
				b[i] = was
			}
			for n := range len(b) {
				use(b[:n])
				// A file cut before the end of the values is noticed.
				if f, err := NewFile(bytes.NewReader(b[:n]), int64(n)); n < valuesEnd && err == nil && len(f.Problems) == 0 {
					t.Errorf("%s cut to %d bytes is taken for whole", name, n)
				}
			}
		}
	}
}

// TestHostile reads files that demand much memory.
func TestHostile(t *testing.T) {
	b := make([]byte, 1<<20)
	ne := binary.NativeEndian
	copy(b, "MMV\x00")
	ne.PutUint32(b[hdrVersion:], Version2)
	ne.PutUint64(b[hdrG1:], 1)
	ne.PutUint64(b[hdrG2:], 1)
	f := func(what string, tocs int, toc ...uint32) {
		t.Helper()
		b := slices.Clone(b)
		ne.PutUint32(b[hdrTOCs:], uint32(tocs))
		for i := 0; i < len(toc); i += 3 {
			at := headerSize + i/3*tocSize
			ne.PutUint32(b[at:], toc[i])
			ne.PutUint32(b[at+4:], toc[i+1])
			ne.PutUint64(b[at+8:], uint64(toc[i+2]))
		}
		// Every record of a domain claims all of the file as its instances.
		for at := 4096; at+inDomSize <= 1<<19; at += inDomSize {
			ne.PutUint32(b[at+4:], uint32(len(b)/instance2Size-1))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		use(b)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("%s: %d bytes allocated for a file of %d", what, n, len(b))
		}
	}
	f("sections", 1<<16)
	f("as many as can be", 1<<31)
	f("metrics", 2, tocMetrics, 1<<31, 4096, tocValues, 1<<31, 4096)
	f("values", 2, tocMetrics, maxMetrics, 4096, tocValues, 30000, 4096)
	f("indoms", 3, tocMetrics, 1, 4096, tocInDoms, 16000, 4096, tocValues, 1, 4096)
	f("labels", 3, tocMetrics, 1, 4096, tocLabels, maxFileLabels, 4096, tocValues, 1, 4096)
	f("itself", 6, tocMetrics, 100, 0, tocInDoms, 100, 0, tocInstances, 100, 0, tocStrings, 100, 0, tocLabels, 100, 0, tocValues, 100, 0)

	// A file in which sections are missing or empty is read as far as possible.
	ne.PutUint32(b[hdrTOCs:], 2)
	if _, err := NewFile(bytes.NewReader(b), int64(len(b))); err != nil {
		t.Errorf("sections of no type: %v", err)
	}
	for what, change := range map[string]func([]byte){
		"g1 of 0":    func(b []byte) { ne.PutUint64(b[hdrG1:], 0) },
		"g2 differs": func(b []byte) { ne.PutUint64(b[hdrG2:], 2) },
	} {
		b := slices.Clone(b)
		change(b)
		if _, err := NewFile(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrInFlux) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, change := range map[string]func([]byte){
		"magic":     func(b []byte) { b[0] = 'X' },
		"version 0": func(b []byte) { ne.PutUint32(b[hdrVersion:], 0) },
		"version 4": func(b []byte) { ne.PutUint32(b[hdrVersion:], 4) },
		"1 section": func(b []byte) { ne.PutUint32(b[hdrTOCs:], 1) },
	} {
		b := slices.Clone(b)
		change(b)
		if _, err := NewFile(bytes.NewReader(b), int64(len(b))); !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzFile(f *testing.F) {
	for name, b := range samplesOf(f, true) {
		if len(b) > 8<<10 {
			f.Fatalf("%s: a seed of %d bytes makes fuzzing slow", name, len(b))
		}
		f.Add(b)
		f.Add(swapped(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := use(b)
		if err != nil {
			return
		}
		// Values refer to existing records.
		for _, m := range g.Metrics {
			for _, v := range m.Values {
				if v.Index < 0 || v.Index >= g.ValuesCount {
					t.Fatalf("%s: value %d of %d", m.Name, v.Index, g.ValuesCount)
				}
			}
		}
	})
}

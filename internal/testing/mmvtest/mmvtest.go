// Package mmvtest shows files of memory-mapped values as text, for tests.
package mmvtest

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/mmv"
)

// New returns a registry in a directory of the test's own, closed at its end.
func New(t testing.TB, name string, opt mmv.Options) *mmv.Registry {
	t.Helper()
	opt.Dir = t.TempDir()
	reg, err := mmv.New(name, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	return reg
}

// Values reads the file of a registry: by name, or name[instance], of each
// metric its value.
func Values(t testing.TB, reg *mmv.Registry) map[string]string {
	t.Helper()
	values := map[string]string{}
	read(t, reg, func(f *mmv.File, m *mmv.FileMetric, name, value string) { values[name] = value })
	return values
}

// Describe returns a line for each metric of the file of a registry: name, type,
// semantics, units and one-line help.
func Describe(t testing.TB, reg *mmv.Registry) string {
	t.Helper()
	f := open(t, reg)
	var b strings.Builder
	for _, m := range f.Metrics {
		fmt.Fprintf(&b, "%s: %v %v [%v] %s\n", m.Name, m.Type, m.Sem, m.Units, m.OneLine)
	}
	return b.String()
}

// Labels returns all labels of the file of a registry, as JSON.
func Labels(t testing.TB, reg *mmv.Registry) []string {
	t.Helper()
	var list []string
	for _, l := range open(t, reg).Labels {
		list = append(list, l.JSON)
	}
	return list
}

// open reads a file that may just be growing.
func open(t testing.TB, reg *mmv.Registry) *mmv.File {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		f, err := mmv.Open(reg.Path())
		if err == nil {
			for _, p := range f.Problems {
				t.Error(p)
			}
			return f
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func read(t testing.TB, reg *mmv.Registry, each func(*mmv.File, *mmv.FileMetric, string, string)) {
	t.Helper()
	f := open(t, reg)
	file, err := os.Open(reg.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, raw, err := f.ReadValues(file, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	insts := map[int]map[int32]string{}
	for _, d := range f.InDoms {
		insts[d.Serial] = map[int32]string{}
		for _, in := range d.Instances {
			insts[d.Serial][in.Inst] = in.Name
		}
	}
	for i := range f.Metrics {
		m := &f.Metrics[i]
		for _, v := range m.Values {
			name := m.Name
			if m.InDom != 0 {
				name += "[" + insts[m.InDom][v.Inst] + "]"
			}
			bits := raw[v.Index].Bits
			var text string
			switch m.Type {
			case mmv.TypeI64:
				text = strconv.FormatInt(int64(bits), 10)
			case mmv.TypeU64:
				text = strconv.FormatUint(bits, 10)
			case mmv.TypeDouble:
				text = strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
			case mmv.TypeString:
				if text, err = f.ReadText(file, v.Index); err != nil {
					t.Error(err)
				}
			default:
				text = fmt.Sprintf("type %v", m.Type)
			}
			each(f, m, name, text)
		}
	}
}

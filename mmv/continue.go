package mmv

import (
	"math"
	"os"
	"syscall"

	"github.com/go-pcp/pcp"
)

// readPast reads the file at path, if there is a readable one of this byte order.
func readPast(path string) past {
	// Others may have put something other than a file there.
	fd, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer fd.Close()
	st, err := fd.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	// A program that was killed while it added something leaves a file in flux.
	// Everything in its table of contents exists nevertheless.
	f, err := decodeFile(fd, st.Size(), true)
	if err != nil || f.order == otherEndian() {
		return nil
	}
	_, values, err := f.ReadValues(fd, nil, nil)
	if err != nil {
		return nil
	}
	names := map[int]map[int32]string{}
	for _, d := range f.InDoms {
		names[d.Serial] = map[int32]string{}
		for _, in := range d.Instances {
			names[d.Serial][in.Inst] = in.Name
		}
	}
	p := past{}
	for _, m := range f.Metrics {
		pm := pastMetric{typ: m.Type, byName: map[string]RawValue{}, text: map[string]string{}}
		for _, v := range m.Values {
			name := ""
			if v.Inst != pcp.InNull {
				if name = names[m.InDom][v.Inst]; name == "" {
					continue
				}
			}
			raw := values[v.Index]
			if m.Type == TypeString {
				if s, err := f.ReadText(fd, v.Index); err == nil {
					pm.text[name] = s
				}
			}
			if name == "" {
				pm.single = raw
			} else {
				pm.byName[name] = raw
			}
		}
		p[m.Name] = pm
	}
	return p
}

// resume sets a new slot to its value in the previous run: counts continue, and
// any other value that was set stays. A section of elapsed time that was open is
// dropped, as its end is unknown.
func (p past) resume(m *metric, s *slot, i int) {
	if p == nil {
		return
	}
	pm, ok := p[m.def.Name]
	if !ok || pm.typ != m.typ {
		return
	}
	raw, name := pm.single, ""
	if m.inDom != nil {
		name = m.inDom.insts[i].Name
		raw = pm.byName[name]
	}
	v := (*Value)(s)
	switch {
	case m.typ == TypeString:
		if s.str.value == "" {
			s.str.value = pm.text[name]
		}
	case m.def.Sem == pcp.SemCounter || m.def.Sem == 0:
		switch first, _ := splitWord(raw.Bits); m.typ {
		case TypeFloat:
			v.Add(float64(math.Float32frombits(first)))
		case TypeDouble:
			v.Add(math.Float64frombits(raw.Bits))
		case TypeI32, TypeU32:
			v.AddInt(int64(first))
		default:
			s.rec[0] += raw.Bits
		}
	case s.rec[0] == 0:
		s.rec[0] = raw.Bits
	}
}

package export

import "fmt"

// templateWriter writes for each metric of a sample a block of lines with its numbers, and a line for each value. It is the
// exporter to begin with when another form is needed.
type templateWriter struct{}

func (templateWriter) append(b []byte, s *sample) []byte {
	for i := range s.metrics {
		m := &s.metrics[i]
		b = fmt.Appendf(b, "Metric %s details (last fetch: %d):\n", m.Name, s.time.Sec)
		b = fmt.Appendf(b, "\tid: %d\ttype: %d\n", uint32(m.Desc.PMID), int(m.Desc.Type))
		b = fmt.Appendf(b, "\tsem: %d\t\tindom: %d\n", int(m.Desc.Sem), uint32(m.Desc.InDom))
		for k := range m.values {
			v := &m.values[k]
			if b = fmt.Appendf(b, "metric '%s'", m.Name); !single(v) {
				b = fmt.Appendf(b, " instance '%s'", v.Name)
			}
			b = fmt.Appendf(b, " has value '%s'!\n", text(v.Value, m.Precision))
		}
	}
	return b
}

func (templateWriter) finish(b []byte) []byte { return b }

package rep

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
)

// A csvTable writes lines of comma-separated values.
type csvTable struct {
	*line
	set    *pmrep.Set
	repeat *repeater
	// extended has the host and the time zone of extended CSV, which begins lines with the host and the time since the
	// line before. It is called with the first line; nil: not extended.
	extended   func() (host, zone string)
	host, zone string
	begun      bool
	prev       float64 // seconds
}

// header implements writer.
func (t *csvTable) header(s *pmrep.Sample, _ bool) {
	if t.extended != nil {
		t.out.WriteString("Host,Interval,")
	}
	t.out.WriteString("Time")
	instead := ","
	if t.form.delim == "," {
		instead = ";"
	}
	eachCell(t.set, t.form.dynamic, s, func(c cell) {
		m := t.set.Metrics[c.metric]
		name := m.Name
		switch {
		case m.Desc.InDom == pcp.InDomNull:
		case !t.form.specs:
			name += "-" + c.name
		case t.form.instInfo:
			name += "[" + c.name + "]"
		}
		if t.form.csvUnits {
			name += "(" + m.Unit + ")"
		}
		t.out.WriteString(t.form.delim + `"` + t.form.oneLine(name, " ") + `"`)
		if t.form.labelled {
			t.out.WriteString(t.form.delim + `"` + t.form.oneLine(m.LabelText(c.inst), instead) + `"`)
		}
	})
	t.out.WriteByte('\n')
}

// sample implements writer.
func (t *csvTable) sample(s *pmrep.Sample) error {
	now := metricset.Seconds(s.Time)
	if !t.begun {
		t.begun, t.prev = true, now
		if t.extended != nil {
			t.host, t.zone = t.extended()
		}
	}
	if t.form.dynamic {
		unrank(t.set, s)
		if due, _ := t.repeat.nextDynamic(s); due && t.form.header {
			t.header(s, false)
		}
	}
	t.row = t.row[:0]
	if t.extended != nil {
		t.row = append(append(t.row, t.host...), t.form.delim...)
		t.row = strconv.AppendInt(t.row, int64(now-t.prev+0.5), 10)
		t.row = append(t.row, t.form.delim...)
		t.prev = now
	}
	t.row = append(t.clock.Append(t.row, s.Time), t.zone...)
	for i, m := range t.set.Metrics {
		if t.form.dynamic {
			for k := range s.Results[i] {
				t.field(m, &s.Results[i][k])
			}
			continue
		}
		next := 0
		for _, in := range m.Instances {
			v, ok := find(s.Results[i], in.Inst, &next)
			if !ok {
				t.row = append(t.row, t.form.delim...)
				continue
			}
			t.field(m, v)
		}
	}
	t.end()
	return nil
}

// finish implements writer.
func (t *csvTable) finish() error { return nil }

// field adds a value, twice if there are labels, as the Python program does.
func (t *csvTable) field(m *pmrep.Metric, v *pmrep.Value) {
	t.row = append(t.row, t.form.delim...)
	begin := len(t.row)
	switch v.Type() {
	case pcp.TypeString:
		text, _ := v.Text()
		text = t.form.withoutDelimiter(valid(text))
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), `"`, " ")
		t.row = append(append(append(t.row, '"'), text...), '"')
	case pcp.TypeFloat, pcp.TypeDouble:
		f, _ := v.Float64()
		if math.IsInf(f, 0) || math.IsNaN(f) {
			t.row = append(t.row, notNumber(f, 8)...)
		} else {
			t.row = appendFixed(t.row, f, m.Precision)
		}
	case pcp.Type32, pcp.Type64:
		t.row = strconv.AppendInt(t.row, v.Int64(), 10)
	default:
		t.row = strconv.AppendUint(t.row, v.Uint64(), 10)
	}
	if t.form.labelled {
		end := len(t.row)
		t.row = append(t.row, t.form.delim...)
		t.row = append(t.row, t.row[begin:end]...)
	}
}

// appendFixed appends a number with a fixed number of decimals, as strconv.AppendFloat does. It has a fast path for up to
// shortDigits decimals of numbers that are not large, which is the usual case.
func appendFixed(b []byte, f float64, precision int) []byte {
	if precision > shortDigits || !(f > -shortMost && f < shortMost) || f == 0 && math.Signbit(f) {
		return strconv.AppendFloat(b, f, 'f', precision, 64)
	}
	if f < 0 {
		b = append(b, '-')
		f = -f
	}
	power := powers[precision]
	scaled := f * float64(power)
	rest := math.FMA(f, float64(power), -scaled) // so that scaled + rest is exactly the number
	n := uint64(scaled)
	if above := scaled - float64(n) - 0.5; above > 0 || above == 0 && (rest > 0 || rest == 0 && n&1 == 1) {
		n++
	}
	if precision == 0 {
		return strconv.AppendUint(b, n, 10)
	}
	b = strconv.AppendUint(b, n/power, 10)
	b = append(b, '.')
	for n, power = n%power, power/10; power > 0; power /= 10 {
		b = append(b, '0'+byte(n/power%10))
	}
	return b
}

// Limits of the fast path of appendFixed: within them, rest is too small to matter unless the scaled number
// ends in .5.
const (
	shortDigits = 4
	shortMost   = 1 << 29
)

var powers = [shortDigits + 1]uint64{1, 10, 100, 1000, 10000}

package rep

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
)

// csvState is the state of earlier samples that extended CSV needs.
type csvState struct {
	begun      bool
	prev       float64 // seconds
	host, zone string
}

func (p *reporter) writeCSVHeader(s *pmrep.Sample) {
	if !p.header {
		return
	}
	if p.r.Settings.On("extcsv") {
		p.out.WriteString("Host,Interval,")
	}
	p.out.WriteString("Time")
	p.eachCell(s, func(c cell) {
		m := p.set.Metrics[c.metric]
		name := m.Name
		if m.Desc.InDom != pcp.InDomNull {
			name += "-" + c.name
		}
		p.out.WriteString(p.delim + `"` + p.oneLine(name, " ") + `"`)
		if !p.labelled {
			return
		}
		instead := ","
		if p.delim == "," {
			instead = ";"
		}
		p.out.WriteString(p.delim + `"` + p.oneLine(m.LabelText(c.inst), instead) + `"`)
	})
	p.out.WriteByte('\n')
}

// writeCSV writes the line of a sample.
func (p *reporter) writeCSV(s *pmrep.Sample) {
	ext := p.r.Settings.On("extcsv")
	now := metricset.Seconds(s.Time)
	if !p.csv.begun {
		p.csv.begun, p.csv.prev = true, now
		if ext {
			p.csv.host = "localhost"
			if !p.r.Options.Local {
				p.csv.host = p.r.HostName(p.ctx)
			}
			p.csv.zone = " " + metricset.UTCOffset(p.r.Zone)
		}
	}
	b := p.row[:0]
	if ext {
		b = append(b, p.csv.host...)
		b = append(b, p.delim...)
		b = strconv.AppendInt(b, int64(now-p.csv.prev+0.5), 10)
		b = append(b, p.delim...)
		p.csv.prev = now
	}
	b = p.clock.Append(b, s.Time)
	b = append(b, p.csv.zone...)
	p.row = b
	if p.dynamic {
		p.updateHeader(s)
	}
	for i, m := range p.set.Metrics {
		if p.dynamic {
			for k := range s.Results[i] {
				p.csvField(m, &s.Results[i][k])
			}
			continue
		}
		next := 0
		for _, in := range m.Instances {
			v, ok := find(s.Results[i], in.Inst, &next)
			if !ok {
				p.row = append(p.row, p.delim...)
				continue
			}
			p.csvField(m, v)
		}
	}
	p.end()
}

// csvField adds a value, twice if there are labels, as the Python program does.
func (p *reporter) csvField(m *pmrep.Metric, v *pmrep.Value) {
	p.row = append(p.row, p.delim...)
	begin := len(p.row)
	switch v.Type() {
	case pcp.TypeString:
		text, _ := v.Text()
		text = p.withoutDelimiter(valid(text))
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), `"`, " ")
		p.row = append(p.row, '"')
		p.row = append(p.row, text...)
		p.row = append(p.row, '"')
	case pcp.TypeFloat, pcp.TypeDouble:
		f, _ := v.Float64()
		if math.IsInf(f, 0) || math.IsNaN(f) {
			p.row = append(p.row, notNumber(f, 8)...)
		} else {
			p.row = appendFixed(p.row, f, m.Precision)
		}
	case pcp.Type32, pcp.Type64:
		p.row = strconv.AppendInt(p.row, v.Int64(), 10)
	default:
		p.row = strconv.AppendUint(p.row, v.Uint64(), 10)
	}
	if p.labelled {
		end := len(p.row)
		p.row = append(p.row, p.delim...)
		p.row = append(p.row, p.row[begin:end]...)
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

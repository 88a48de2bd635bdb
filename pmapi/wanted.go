package pmapi

import (
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A wanted is what a text such as those of [Context.Samples] asks for.
type wanted struct {
	metric string
	insts  []string // external names; none means all instances
	scale  string   // "" for values as they are, "rate", or units
}

// parseWanted parses metric[instance,...],scale.
func parseWanted(text string) (wanted, error) {
	fail := func(at int, msg string) (wanted, error) {
		return wanted{}, &SpecError{Spec: text, Offset: at, Msg: msg}
	}
	var w wanted
	pos := ctext.SkipSpace(text, 0)
	start := pos
	for pos < len(text) && text[pos] != '[' && text[pos] != ',' {
		pos++
	}
	if w.metric = strings.TrimRight(text[start:pos], ctext.Space); w.metric == "" {
		return fail(start, "performance metric name expected")
	}
	if i := strings.IndexAny(w.metric, ctext.Space+":/]"); i >= 0 {
		return fail(start+i, "unexpected character in metric name")
	}
	if pos < len(text) && text[pos] == '[' {
		end, quoted := endOfInstances(text, pos+1)
		switch {
		case end == len(text) && quoted:
			return fail(end, `closing " and ] expected`)
		case end == len(text):
			return fail(end, "closing ] expected")
		}
		if w.insts = splitNames(text[pos+1 : end]); len(w.insts) == 0 {
			return fail(pos+1, "instance name expected")
		}
		pos = ctext.SkipSpace(text, end+1)
	}
	if pos == len(text) {
		return w, nil
	}
	if text[pos] != ',' {
		return fail(pos, "unexpected extra characters")
	}
	if w.scale = strings.Trim(text[pos+1:], ctext.Space); w.scale == "" {
		return fail(pos+1, "rate or units expected")
	}
	return w, nil
}

// splitNames splits a list of instances at its commas. Names contain white space,
// so that, unlike in a MetricSpec, does not separate them.
func splitNames(s string) []string {
	var names []string
	for pos := ctext.SkipSpace(s, 0); pos < len(s); {
		var name strings.Builder
		quoted, end := false, 0 // end is where the last character that counts is
		for ; pos < len(s) && (quoted || s[pos] != ','); pos++ {
			c := s[pos]
			switch {
			case c == '"':
				quoted = !quoted
				end = name.Len()
				continue
			case c == '\\' && pos+1 < len(s):
				pos++
				c = s[pos]
				name.WriteByte(c)
				end = name.Len()
				continue
			}
			name.WriteByte(c)
			if quoted || !ctext.IsSpace(c) {
				end = name.Len()
			}
		}
		names = append(names, name.String()[:end])
		pos = ctext.SkipSpace(s, min(pos+1, len(s)))
	}
	return names
}

// group returns the metric for a FetchGroup.
func (w *wanted) group(inst string, typ pcp.Type) GroupMetric {
	scale := w.scale
	if scale == "" {
		scale = "instant"
	}
	return GroupMetric{Metric: w.metric, Instance: inst, Scale: scale, Type: typ}
}

// convertWanted is newConversion for a wanted: a rate of time is a fraction, as
// pmval(1) prints it, and units have no factor.
func convertWanted(desc pcp.Desc, m GroupMetric) (conversion, error) {
	conv, err := newConversion(desc, m)
	switch {
	case err != nil:
	case m.Scale == "rate" && desc.Units.DimTime == 1:
		conv.scale, conv.units, conv.mult = true, desc.Units, 1
		conv.units.ScaleTime = pcp.TimeSec
	case conv.scale:
		// The descriptor of the values has their units.
		if _, factor, _ := pcp.ParseUnits(m.Scale); factor != 1 {
			err = pcp.ErrConv
		}
	}
	return conv, err
}

// described returns the descriptor of the values that m makes.
func (m *conversion) described() pcp.Desc {
	desc := m.desc
	desc.Type = m.out
	if m.scale {
		desc.Units = m.units
	}
	if !m.rate {
		return desc
	}
	desc.Sem = pcp.SemInstant
	u := &desc.Units
	if u.DimTime--; u.DimTime == 0 {
		u.ScaleTime = 0
	} else if !m.scale {
		u.ScaleTime = pcp.TimeSec
	}
	return desc
}

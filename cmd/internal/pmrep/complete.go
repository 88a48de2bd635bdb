package pmrep

import (
	"errors"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
)

// Truncated replaces a value that does not fit into its column.
const Truncated = "xxx"

func trim(s string) string { return strings.TrimFunc(s, unicode.IsSpace) }

// complete fills in the fields that the specification leaves unset.
func (s *Set) complete(m *Metric) error {
	m.Label = m.spec.Label
	if m.Label == "" {
		m.Label = shortName(m.Name)
	}
	m.Wanted = m.spec.Instances
	if len(m.Wanted) == 0 {
		m.Wanted = s.o.Instances
	}
	if m.Flat() {
		m.Wanted = nil
	}
	m.Raw = s.o.Raw || s.o.Native || m.spec.Type == "raw" || m.spec.Type == "" && s.o.RawPrefer
	if err := s.setUnit(m); err != nil {
		return err
	}
	return s.setNumbers(m)
}

// shortName returns the label of a metric without a label: "m.u.free" of mem.util.free.
func shortName(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts[:len(parts)-1] {
		_, n := utf8.DecodeRuneInString(p)
		parts[i] = p[:n]
	}
	return strings.Join(parts, ".")
}

func (s *Set) setUnit(m *Metric) error {
	native, text := m.Desc.Units, m.spec.Unit
	choose := func(force, prefer string) {
		switch {
		case force != "":
			text = force
		case text == "":
			text = prefer
		}
	}
	switch dims := [4]int{int(native.DimCount), int(native.DimSpace), int(native.DimTime), native.Extra.Unit()}; dims {
	case [4]int{1, 0, 0, 0}:
		choose(s.o.CountScaleForce, s.o.CountScale)
	case [4]int{0, 1, 0, 0}:
		choose(s.o.SpaceScaleForce, s.o.SpaceScale)
	case [4]int{0, 0, 1, 0}:
		choose(s.o.TimeScaleForce, s.o.TimeScale)
	}
	if text == "" || s.o.Native {
		text = native.String()
	}
	units, _, err := pcp.ParseUnits(text)
	if err != nil {
		why := ""
		if ue, ok := errors.AsType[*pcp.UnitsError](err); ok {
			why = " " + ue.Reason
		}
		return errorf("%s%s: %s.", ErrText(pcp.ErrConv), why, text)
	}
	counter := m.Desc.Sem == pcp.SemCounter
	if !m.Raw && !m.IsString() && counter && !strings.Contains(text, "/") {
		text += " / s"
	}
	m.Unit, m.Units = unitLabel(text), units
	switch {
	case m.IsString(), units.String() == native.String() && (m.Raw || !counter):
		m.Type = m.Desc.Type
	default:
		m.Type = pcp.TypeDouble
	}
	return nil
}

// shorter are the units of time of rates.
var shorter = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("nanosec", "ns", "microsec", "us", "millisec", "ms", "sec", "s", "hour", "h", " / ", "/")
})

// unitLabel returns units as reports print them.
func unitLabel(text string) string {
	if !strings.Contains(text, " / ") {
		return text
	}
	return shorter().Replace(text)
}

// setNumbers sets width, precision and limit.
func (s *Set) setNumbers(m *Metric) error {
	natural := func(text string) (int, error) {
		n, ok := pytext.Int(text)
		if !ok || n < 0 {
			return 0, errorf("Non-negative integer expected: %s", m.Name)
		}
		return int(min(n, conf.Wide)), nil
	}
	var err error
	m.Width = s.o.Width
	if m.spec.Width != "" {
		if m.Width, err = natural(m.spec.Width); err != nil {
			return err
		}
	}
	if s.o.WidthForce != nil {
		m.Width = *s.o.WidthForce
	}
	if m.Width == 0 {
		m.Width = utf8.RuneCountInString(m.Label)
	}
	m.Width = max(m.Width, len(Truncated))

	m.Precision = defaultPrecision
	if s.o.Precision != nil {
		m.Precision = *s.o.Precision
	}
	if m.spec.Precision != "" {
		if m.Precision, err = natural(m.spec.Precision); err != nil {
			return err
		}
	}
	if s.o.PrecisionForce != nil {
		m.Precision = *s.o.PrecisionForce
	}

	m.Limit = s.o.Limit
	if m.spec.Ninth != "" {
		n, ok := pytext.Int(m.spec.Ninth)
		if !ok {
			return errorf("Integer expected: %s", m.Name)
		}
		m.Limit = int(n)
	}
	if s.o.LimitForce != 0 {
		m.Limit = s.o.LimitForce
	}
	if m.IsString() {
		m.Limit = 0
	}
	return nil
}

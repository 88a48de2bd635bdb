package dumptext

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// unitsText returns the units of the values shown.
func (m *metric) unitsText() string {
	u := m.desc.Units
	if m.scaled {
		u = m.units
	}
	text := u.String()
	switch {
	case m.desc.Sem == pcp.SemCounter && m.utilization():
		return "Time Utilization"
	case m.desc.Sem == pcp.SemCounter:
		return text + " / second"
	case text == "":
		return "none"
	}
	return text
}

// shortUnits is as unitsText, in few letters.
func (m *metric) shortUnits() string {
	u := m.desc.Units
	if m.scaled {
		u = m.units
	}
	text := short(u)
	switch {
	case m.desc.Sem == pcp.SemCounter && m.utilization():
		return "util"
	case m.desc.Sem == pcp.SemCounter:
		return text + "/s"
	case text == "":
		return "none"
	}
	return text
}

// utilization reports whether values are shares of the time.
func (m *metric) utilization() bool {
	return m.scaled && m.units.DimTime == 1 && m.units.DimSpace == 0 && m.units.DimCount == 0
}

func short(u pcp.Units) string {
	name := func(names []string, scale int, other string) string {
		if scale >= 0 && scale < len(names) {
			return names[scale]
		}
		return other + strconv.Itoa(scale)
	}
	count := "c"
	switch u.ScaleCount {
	case 0:
	case 1:
		count = "cx10"
	default:
		count = fmt.Sprintf("cx10^%d", u.ScaleCount)
	}
	dims := []struct {
		dim  int
		name string
	}{
		{int(u.DimSpace), name([]string{"b", "Kb", "Mb", "Gb", "Tb"}, int(u.ScaleSpace), "space-")},
		{int(u.DimTime), name([]string{"ns", "us", "msec", "s", "m", "h"}, int(u.ScaleTime), "time-")},
		{int(u.DimCount), count},
	}
	extra := u.Extra.Unit()
	text := ""
	if extra > 0 {
		text = shortExtra(u.Extra)
	}
	add := func(sep, name string, power int) {
		if text += sep + name; power != 1 {
			text += "^" + strconv.Itoa(power)
		}
	}
	for _, d := range dims {
		switch {
		case d.dim <= 0:
		case text == "":
			add("", d.name, d.dim)
		default:
			add(" ", d.name, d.dim)
		}
	}
	sep := "/"
	if extra < 0 {
		add(sep, shortExtra(u.Extra), 1)
		sep = " "
	}
	for _, d := range dims {
		if d.dim < 0 {
			add(sep, d.name, -d.dim)
			sep = " "
		}
	}
	switch {
	case text != "" || u.ScaleCount == 0:
	case u.ScaleCount == 1:
		text = "x10"
	default:
		text = fmt.Sprintf("x10^%d", u.ScaleCount)
	}
	return text
}

// shortExtra returns the scale of an extra unit, which is unique: "mW".
func shortExtra(e pcp.Extra) string {
	if e.Unit() < 0 {
		e = e.Inverse()
	}
	text := pcp.Units{Extra: e}.String()
	_, text, ok := strings.Cut(text, " (")
	if !ok || strings.HasPrefix(text, "scale-") {
		return fmt.Sprintf("%d-%d", max(e.Unit(), -e.Unit()), e&7)
	}
	return strings.TrimSuffix(text, ")")
}

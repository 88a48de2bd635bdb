package pcp

import "strconv"

// spaceNames and timeNames are the tools' names of each scale; scales without a
// name print as space-N and time-N.
var (
	spaceNames = [...]string{"byte", "Kbyte", "Mbyte", "Gbyte", "Tbyte", "Pbyte", "Ebyte", "Zbyte", "Ybyte"}
	timeNames  = [...]string{"nanosec", "microsec", "millisec", "sec", "min", "hour"}
)

// extraNames has for each extra unit its name and those of its scales; others
// print as extra-N and (scale-N).
var extraNames = [...]struct {
	unit   string
	scales []string
}{
	1: {"temperature", []string{1: "C", 2: "F", 3: "K"}},
	2: {"voltage", []string{1: "V", 2: "mV", 3: "uV"}},
	3: {"current", []string{1: "A", 2: "mA", 3: "uA"}},
	4: {"power", []string{1: "kW", 2: "W", 3: "mW", 4: "uW"}},
}

// String prints u as the tools do: "Kbyte / sec", "count x 10^3", "" for a
// plain number (pmUnitsStr(3)), and as PCP 7.2's tools do if there is an extra
// unit: "temperature (C)", "byte / power (W)".
func (u Units) String() string {
	var room [60]byte
	return string(u.AppendText(room[:0]))
}

// AppendText appends the text of String.
func (u Units) AppendText(b []byte) []byte {
	start := len(b)
	sep := func() {
		if len(b) > start {
			b = append(b, ' ')
		}
	}
	extra := u.Extra.Unit()
	if extra > 0 {
		b = u.Extra.append(b)
	}
	if u.DimSpace > 0 {
		sep()
		b = appendPower(u.appendSpace(b), int(u.DimSpace))
	}
	if u.DimTime > 0 {
		sep()
		b = appendPower(u.appendTime(b), int(u.DimTime))
	}
	if u.DimCount > 0 {
		sep()
		b = appendPower(u.appendCount(b), int(u.DimCount))
	}
	if u.DimSpace < 0 || u.DimTime < 0 || u.DimCount < 0 || extra < 0 {
		sep()
		b = append(b, '/')
		if extra < 0 {
			b = u.Extra.append(append(b, ' '))
		}
		if u.DimSpace < 0 {
			b = appendPower(u.appendSpace(append(b, ' ')), -int(u.DimSpace))
		}
		if u.DimTime < 0 {
			b = appendPower(u.appendTime(append(b, ' ')), -int(u.DimTime))
		}
		if u.DimCount < 0 {
			b = appendPower(u.appendCount(append(b, ' ')), -int(u.DimCount))
		}
	}
	if len(b) == start && u.ScaleCount != 0 {
		// A scale of count without its dimension is a plain power of ten.
		b = append(b, "x 10"...)
		if u.ScaleCount != 1 {
			b = strconv.AppendInt(append(b, '^'), int64(u.ScaleCount), 10)
		}
	}
	return b
}

func (u Units) appendSpace(b []byte) []byte {
	if int(u.ScaleSpace) < len(spaceNames) {
		return append(b, spaceNames[u.ScaleSpace]...)
	}
	return strconv.AppendUint(append(b, "space-"...), uint64(u.ScaleSpace), 10)
}

func (u Units) appendTime(b []byte) []byte {
	if int(u.ScaleTime) < len(timeNames) {
		return append(b, timeNames[u.ScaleTime]...)
	}
	return strconv.AppendUint(append(b, "time-"...), uint64(u.ScaleTime), 10)
}

func (u Units) appendCount(b []byte) []byte {
	switch u.ScaleCount {
	case 0:
		return append(b, "count"...)
	case 1:
		return append(b, "count x 10"...)
	}
	return strconv.AppendInt(append(b, "count x 10^"...), int64(u.ScaleCount), 10)
}

func (e Extra) append(b []byte) []byte {
	unit, scale := max(e.Unit(), -e.Unit()), e.scale()
	if unit >= len(extraNames) {
		return strconv.AppendInt(append(b, "extra-"...), int64(unit), 10)
	}
	name := extraNames[unit]
	b = append(append(b, name.unit...), " ("...)
	if 0 < scale && scale < len(name.scales) {
		b = append(b, name.scales[scale]...)
	} else {
		b = strconv.AppendInt(append(b, "scale-"...), int64(scale), 10)
	}
	return append(b, ')')
}

func appendPower(b []byte, dim int) []byte {
	if dim == 1 {
		return b
	}
	return strconv.AppendInt(append(b, '^'), int64(dim), 10)
}

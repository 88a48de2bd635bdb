package amdgpu

import (
	"bytes"
	"math"

	"github.com/go-pcp/pcp/internal/procfs"
)

// number reads a file with a single number in it.
func number(b []byte) (v uint64, ok bool) {
	v, rest, ok := procfs.Uint(procfs.Trim(b))
	return v, ok && len(rest) == 0 && v != math.MaxUint64 // which also means more
}

// divided is number in larger units, of which there are not more than a metric can have.
func divided(b []byte, by uint64) (v uint64, ok bool) {
	v, ok = number(b)
	return v / by, ok && v/by <= math.MaxUint32
}

// hex reads a file with a hexadecimal number in it, such as 0x1002.
func hex(b []byte) (v uint64, ok bool) {
	v, rest, ok := procfs.Hex(procfs.Trim(b))
	return v, ok && len(rest) == 0
}

// celsius reads a temperature in thousandths of a degree.
func celsius(b []byte) (v int64, ok bool) {
	v, rest, ok := procfs.Int(procfs.Trim(b))
	return v, ok && len(rest) == 0 && v >= math.MinInt32 && v <= math.MaxInt32
}

// driver returns the driver that a file uevent names, nil for none.
func driver(b []byte) []byte {
	for line := range procfs.Lines(b) {
		if name, ok := bytes.CutPrefix(line, []byte("DRIVER=")); ok {
			return name
		}
	}
	return nil
}

// levels are clocks in MHz: that in use, and the highest.
type levels struct {
	now, most       uint64
	hasNow, hasMost bool
}

// parseLevels reads a file such as pp_dpm_sclk, which has a line for each level, and an
// asterisk at the one in use. Level S is that of a deep sleep.
//
//	0: 500Mhz
//	1: 2105Mhz *
//
// Lines of another form are skipped. Of several in use the first counts.
func parseLevels(b []byte) (l levels) {
	for line := range procfs.Lines(b) {
		name, rest, ok := procfs.Cut(line, ':')
		if _, tail, num := procfs.Uint(name); !ok || string(name) != "S" && (!num || len(tail) > 0) {
			continue
		}
		v, rest, ok := procfs.Uint(rest)
		unit, rest := procfs.Field(rest)
		mark, rest := procfs.Field(rest)
		if !ok || v > math.MaxUint32 || !bytes.EqualFold(unit, []byte("MHz")) || len(procfs.Trim(rest)) > 0 {
			continue
		}
		switch string(mark) {
		case "*":
			if !l.hasNow {
				l.now, l.hasNow = v, true
			}
		case "":
		default:
			continue
		}
		l.most, l.hasMost = max(l.most, v), true
	}
	return l
}

// findName looks up a card in amdgpu.ids: lines of device, revision and name.
//
//	73BF,	C1,	AMD Radeon RX 6800 XT
func findName(b []byte, device, revision uint64) (name []byte, ok bool) {
	for line := range procfs.Lines(b) {
		first, rest, ok1 := procfs.Cut(line, ',')
		second, name, ok2 := procfs.Cut(rest, ',')
		if !ok1 || !ok2 {
			continue
		}
		if d, ok := hex(first); !ok || d != device {
			continue
		}
		if v, ok := hex(second); ok && v == revision && printable(name) {
			return name, true
		}
	}
	return nil, false
}

// printable reports whether a name can be shown: it has no control characters, and is not
// too long.
func printable(name []byte) bool {
	const maxName = 255
	return len(name) > 0 && len(name) <= maxName && !bytes.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f })
}

package pcp

import (
	"strconv"
	"strings"
)

// An InDom identifies an instance domain (pmInDom). From the most significant
// bit: a flag bit, 9 bits of domain, 22 bits of serial. The layout is part of
// the protocol and of the archive format; do not change.
type InDom uint32

// InDomNull is the instance domain of a metric with a single value
// (PM_INDOM_NULL).
const InDomNull InDom = 0xffffffff

// InNull is the instance of a metric with a single value (PM_IN_NULL), and in
// a request every instance.
const InNull int32 = -1

// MaxSerial is the largest serial number of an instance domain.
const MaxSerial = 1<<22 - 1

// NewInDom packs a domain (0..511) and a serial (0..4194303), each cut to its
// field's width (pmInDom_build).
func NewInDom(domain, serial int) InDom {
	return InDom(uint32(domain)&MaxDomain<<22 | uint32(serial)&MaxSerial)
}

// Domain returns the number of the agent that serves the instance domain
// (pmInDom_domain).
func (d InDom) Domain() int { return int(d >> 22 & MaxDomain) }

// Serial returns the serial field (pmInDom_serial).
func (d InDom) Serial() int { return int(d & MaxSerial) }

// String prints d as the tools do: 60.3, or PM_INDOM_NULL (pmInDomStr).
func (d InDom) String() string {
	if d == InDomNull {
		return "PM_INDOM_NULL"
	}
	return strconv.Itoa(d.Domain()) + "." + strconv.Itoa(d.Serial())
}

// An Instance is one member of an instance domain: its internal identifier,
// unique and not negative, and its external name, unique as a whole and, where
// it contains a space, also up to the first space (pmGetInDom(3)).
type Instance struct {
	Inst int32
	Name string
}

// MatchInstance reports whether name selects an instance whose external name is
// full: the whole name matches, or name has no space and is the part of full
// before its first one (pmLookupInDom(3)).
func MatchInstance(full, name string) bool {
	if full == name {
		return true
	}
	return name != "" && len(full) > len(name) && full[len(name)] == ' ' && full[:len(name)] == name &&
		strings.IndexByte(name, ' ') < 0
}

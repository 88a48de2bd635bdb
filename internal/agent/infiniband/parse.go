package infiniband

import (
	"fmt"
	"strconv"
	"strings"
)

// number reads a number, with 0x a hexadecimal one.
func number(text string) (uint64, bool) {
	v, err := strconv.ParseUint(text, 0, 64)
	return v, err == nil
}

// kinds are the kinds of an adapter, by number.
func kinds() []string { return []string{"Unknown", "CA", "Switch", "Router", "iWARP RNIC"} }

// states are the states of a port, by number.
func states() []string { return []string{"Unknown", "Down", "Initializing", "Armed", "Active"} }

func physicalStates() []string {
	return []string{"No change", "Sleep", "Polling", "Disabled", "Port Configuration Training", "Link Up", "Error Recovery", "PHY Test"}
}

// stateName returns the name of a state. The file has its number and the kernel's name, as in "4: ACTIVE". Without a number the name is "".
func stateName(text string, names []string) string {
	digits, _, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(digits, 10, 32)
	switch {
	case err != nil:
		return ""
	case n >= uint64(len(names)):
		return "Unknown"
	}
	return names[n]
}

// identifier returns the halves of a global identifier, which has eight groups of four digits: the first as a number, the last as text.
func identifier(text string) (prefix uint64, guid string, ok bool) {
	const half = len("0123:4567:89ab:cdef")
	if len(text) != 2*half+1 || text[half] != ':' || strings.Count(text, ":") != 7 {
		return 0, "", false
	}
	prefix, err := strconv.ParseUint(strings.ReplaceAll(text[:half], ":", ""), 16, 64)
	return prefix, text[half+1:], err == nil
}

// A link is a parsed rate, such as "56 Gb/sec (4X FDR)".
type link struct {
	whole uint64  // Gbit/s
	rate  float64 // the same with the fraction
	width uint64  // lanes; 0 if they are not known
}

func parseRate(text string) (l link, ok bool) {
	words := strings.Fields(text)
	if len(words) < 2 || words[1] != "Gb/sec" {
		return l, false
	}
	rate, err := strconv.ParseFloat(words[0], 64)
	const limit = 1e6
	if err != nil || !(rate >= 0 && rate < limit) {
		return l, false
	}
	l.rate, l.whole = rate, uint64(rate)
	if len(words) > 2 {
		if digits, ok := strings.CutSuffix(strings.TrimPrefix(strings.TrimSuffix(words[2], ")"), "("), "X"); ok {
			if n, err := strconv.ParseUint(digits, 10, 8); err == nil {
				l.width = n
			}
		}
	}
	return l, true
}

// speed returns the speed of a lane, as the C agent writes it.
func (l link) speed() string { return fmt.Sprintf("%.1f Gbps", l.rate/float64(l.width)) }

// capabilities returns the names of the bits of a mask, in the spelling of the C agent.
func capabilities(mask uint64) string {
	var names []string
	for bit, name := range [...]string{
		1: "SM", 2: "Notice", 3: "Trap", 5: "AutomaticMigration", 6: "SLMapping", 7: "MKeyNVRAM", 8: "PKeyNVRAM", 9: "LedInfo", 10: "SMdisabled",
		11: "SystemImageGUID", 12: "PkeySwitchExternalPortTrap", 16: "CommunicatonManagement", 17: "SNMPTunneling", 18: "Reinit", 19: "DeviceManagement",
		20: "VendorClass", 21: "DRNotice", 22: "CapabilityMaskNotice", 23: "BootManagement", 24: "IsLinkRoundTripLatency", 25: "ClientRegistration",
	} {
		if name != "" && mask&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

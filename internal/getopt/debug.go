package getopt

import (
	"strconv"
	"strings"
)

// debugNames are the names that -D takes (pmdbg(1)), in the order of their
// numbers.
var debugNames = [...]string{
	"pdu", "fetch", "profile", "value", "context", "indom", "pdubuf", "log", "logmeta", "optfetch",
	"af", "appl0", "appl1", "appl2", "pmns", "libpmda", "timecontrol", "pmc", "derive", "lock",
	"interp", "config", "pmapi", "fault", "auth", "discovery", "attr", "http", "desperate",
	"deprecated", "exec", "labels", "series", "libweb", "alloc", "services", "appl3", "appl4",
	"appl5", "access", "qa", "search", "query", "compress", "dev0", "dev1", "dev2", "pmlc",
	"appl6", "appl7", "appl8", "appl9", "tls",
}

// ParseDebug returns the names that a -D argument sets: names with commas
// between, "all", or a number of the old style whose bits are the first names.
func ParseDebug(spec string) (names []string, ok bool) {
	if n, err := strconv.ParseUint(spec, 0, 32); err == nil {
		for i, name := range debugNames[:30] {
			if n&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		return names, true
	}
	for rest := spec; rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, ",")
		if strings.EqualFold(word, "all") {
			names = append(names, debugNames[:]...)
			continue
		}
		found := false
		for _, name := range debugNames {
			if strings.EqualFold(word, name) {
				names = append(names, name)
				found = true
				break
			}
		}
		if !found {
			return nil, false
		}
	}
	return names, true
}

// DebugBit is the bit of a name in numbers of the old style, 0 if it has none.
func DebugBit(name string) int32 {
	for i, n := range debugNames[:29] {
		switch {
		case n != name:
		case name == "desperate":
			return 1 << 30
		default:
			return 1 << i
		}
	}
	return 0
}

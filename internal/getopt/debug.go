package getopt

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
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

// ParseDebug returns the names that a -D argument sets: words with commas
// between, each of which is a name, "all", or a decimal number of the old style
// whose bits are the first names (pmSetDebug(3)). A comma may follow the last.
func ParseDebug(spec string) (names []string, ok bool) {
	for rest := spec; rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, ",")
		if bits, ok := DebugNumber(word); ok {
			for _, name := range debugNames[:numbered] {
				if bits&DebugBit(name) != 0 {
					names = append(names, name)
				}
			}
			continue
		}
		if strings.EqualFold(word, "all") {
			names = append(names, debugNames[:]...)
			continue
		}
		i := slices.IndexFunc(debugNames[:], func(name string) bool { return strings.EqualFold(word, name) })
		if i < 0 {
			return nil, false
		}
		names = append(names, debugNames[i])
	}
	return names, true
}

// DebugNumber reads a number of the old style as strtol(3) does: with white
// space and a sign before it, the largest number in place of one that is too
// large. Its 32 low bits count.
func DebugNumber(word string) (bits int32, ok bool) {
	n, err := strconv.ParseInt(ctext.TrimSpace(word), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return int32(n), true
}

// numbered is how many names have a bit in numbers of the old style.
const numbered = 29

// DebugBit is the bit of a name in numbers of the old style, 0 if it has none.
func DebugBit(name string) int32 {
	for i, n := range debugNames[:numbered] {
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

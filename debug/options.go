package debug

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// names are the names for -D (pmdbg(1)), in the order of their numbers.
var names = [...]string{
	"pdu", "fetch", "profile", "value", "context", "indom", "pdubuf", "log", "logmeta", "optfetch",
	"af", "appl0", "appl1", "appl2", "pmns", "libpmda", "timecontrol", "pmc", "derive", "lock",
	"interp", "config", "pmapi", "fault", "auth", "discovery", "attr", "http", "desperate",
	"deprecated", "exec", "labels", "series", "libweb", "alloc", "services", "appl3", "appl4",
	"appl5", "access", "qa", "search", "query", "compress", "dev0", "dev1", "dev2", "pmlc",
	"appl6", "appl7", "appl8", "appl9", "tls",
}

// Parse returns the names set by a -D argument: words with commas between, each
// of which is a name, "all", or a decimal number of the old style whose bits are
// the first names (pmSetDebug(3)). A comma may follow the last.
func Parse(spec string) (list []string, ok bool) {
	for rest := spec; rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, ",")
		if bits, ok := Number(word); ok {
			for _, name := range names[:numbered] {
				if bits&Bit(name) != 0 {
					list = append(list, name)
				}
			}
			continue
		}
		if strings.EqualFold(word, "all") {
			list = append(list, names[:]...)
			continue
		}
		i := slices.IndexFunc(names[:], func(name string) bool { return strings.EqualFold(word, name) })
		if i < 0 {
			return nil, false
		}
		list = append(list, names[i])
	}
	return list, true
}

// Number reads a number of the old style as strtol(3) does: with white
// space and a sign before it, and a number that is too large becomes the largest.
// Its 32 low bits count.
func Number(word string) (bits int32, ok bool) {
	n, err := strconv.ParseInt(ctext.TrimSpace(word), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return int32(n), true
}

// numbered is the number of names with a bit in numbers of the old style.
const numbered = 29

// Bit returns the bit of a name in numbers of the old style, 0 if it has no bit.
func Bit(name string) int32 {
	for i, n := range names[:numbered] {
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

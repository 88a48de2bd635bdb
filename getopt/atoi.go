package getopt

import (
	"strconv"

	"github.com/go-pcp/pcp/internal/ctext"
)

// Atoi reads a decimal number as C's strtol does, and reports whether it is all
// of s. The empty string is 0. Atoi refuses numbers of more than 32 bits.
func Atoi(s string) (n int, ok bool) {
	if s == "" {
		return 0, true
	}
	t := ctext.TrimSpace(s)
	v, err := strconv.ParseInt(t, 10, 32)
	return int(v), err == nil
}

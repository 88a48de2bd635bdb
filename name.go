package pcp

import "github.com/go-pcp/pcp/internal/ctext"

// ValidName reports whether name can be the name of a metric: components of letters,
// digits and underscores that begin with a letter, joined by dots. The maximum
// length depends on the use of the name.
func ValidName(name string) bool {
	start := true
	for i := range len(name) {
		c := name[i]
		switch {
		case ctext.IsAlpha(c):
			start = false
		case start:
			return false
		case c == '.':
			start = true
		case c != '_' && !ctext.IsDigit(c):
			return false
		}
	}
	return !start
}

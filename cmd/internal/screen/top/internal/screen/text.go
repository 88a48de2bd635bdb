package screen

import (
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

// printable returns the rune drawn for a character, and how many cells it takes: 0 for a mark on the character
// before, or with a rune of 0 for nothing at all. Characters that could move the cursor or turn text around, and
// bytes that are not text, become dots and question marks.
func printable(r rune, s string) (rune, int) {
	switch {
	case r >= ' ' && r < 0x7f:
		return r, 1
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return '·', 1
	case r == utf8.RuneError && len(s) <= 1:
		return '?', 1
	case r == 0xad || r == 0x2028 || r == 0x2029 || r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe0fff:
		return 0, 0 // soft hyphens, separators, variation selectors, tags
	case r < 0x300:
		return r, 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return r, 0
	case !unicode.IsPrint(r):
		if unicode.Is(unicode.Cf, r) {
			return 0, 0 // directions, joiners
		}
		return '·', 1
	case r >= 0x2500 && r <= 0x28ff:
		return r, 1 // the characters of borders and graphs
	}
	w := lipgloss.Width(s)
	if w < 1 {
		return 0, 0
	}
	return r, min(w, 2)
}

// Width returns the number of cells of a text, or any number larger than most if it takes
// more.
func Width(s string, most int) int {
	w := 0
	for len(s) > 0 && w <= most {
		r, size := utf8.DecodeRuneInString(s)
		_, n := printable(r, s[:size])
		w += n
		s = s[size:]
	}
	return w
}

// Clean returns a text as it is drawn, for other outputs than a screen.
func Clean(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b []byte
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if p, _ := printable(r, s[:size]); p != 0 {
			b = utf8.AppendRune(b, p)
		}
		s = s[size:]
	}
	return string(b)
}

package cli

import "strconv"

// Atoi reads a decimal number as C's strtol does, and reports whether it is all
// of s. The empty string is 0. Atoi refuses numbers of more than 32 bits.
func Atoi(s string) (n int, ok bool) {
	if s == "" {
		return 0, true
	}
	t := s[skipSpace(s, 0):]
	v, err := strconv.ParseInt(t, 10, 32)
	return int(v), err == nil
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] >= '\t' && s[i] <= '\r') {
		i++
	}
	return i
}

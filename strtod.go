package pcp

import (
	"math"
	"strconv"
	"strings"
)

// strtod reads the longest number that s starts with, in the syntax of C, and
// returns its length. ok is false where strtod(3) finds no number or sets errno.
func strtod(s string) (f float64, n int, ok bool) {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	sign := s[:i]
	fold := func(word string) bool {
		return len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word)
	}
	switch {
	case fold("infinity"):
		f, err := strconv.ParseFloat(sign+"inf", 64)
		return f, i + len("infinity"), err == nil
	case fold("inf"):
		f, err := strconv.ParseFloat(sign+"inf", 64)
		return f, i + len("inf"), err == nil
	case fold("nan"):
		n = i + len("nan")
		if end := nanPayload(s[n:]); end > 0 {
			n += end
		}
		if f = math.NaN(); sign == "-" {
			f = math.Copysign(f, -1)
		}
		return f, n, true
	}
	mark, hexadecimal, belongs := byte('e'), false, isDigit
	if fold("0x") {
		if rest := s[i+2:]; rest != "" && (isHexDigit(rest[0]) || len(rest) > 1 && rest[0] == '.' && isHexDigit(rest[1])) {
			i, mark, hexadecimal, belongs = i+2, 'p', true, isHexDigit
		}
	}
	digits, zero := 0, true
	for point := false; i < len(s); i++ {
		if s[i] == '.' && !point {
			point = true
			continue
		}
		if !belongs(s[i]) {
			break
		}
		digits++
		zero = zero && s[i] == '0'
	}
	if digits == 0 {
		return 0, 0, false
	}
	end, power := i, ""
	if i < len(s) && s[i]|0x20 == mark {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		k := j
		for k < len(s) && isDigit(s[k]) {
			k++
		}
		if k > j {
			end, power = k, s[i:k]
		}
	}
	if hexadecimal && power == "" {
		power = "p0"
	}
	f, err := strconv.ParseFloat(s[:i]+power, 64)
	const smallest = 0x1p-1022
	if err != nil || !zero && math.Abs(f) < smallest && !(hexadecimal && f != 0) {
		return 0, end, false
	}
	return f, end, true
}

// nanPayload returns the length of the "(chars)" that may follow a nan.
func nanPayload(s string) int {
	if s == "" || s[0] != '(' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == ')':
			return i + 1
		case c == '_', isDigit(c), 'a' <= c|0x20 && c|0x20 <= 'z':
		default:
			return 0
		}
	}
	return 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// Package ctext reads and writes text as C does in its "C" locale: classes of
// characters, strings that end with a NUL, numbers. It does not depend on PCP.
package ctext

import (
	"bytes"
	"strings"
)

// Space is the white space of isspace(3).
const Space = " \t\n\v\f\r"

// IsSpace reports whether c is white space.
func IsSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// IsDigit reports whether c is a decimal digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsHexDigit reports whether c is a hexadecimal digit.
func IsHexDigit(c byte) bool { return IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// IsAlpha reports whether c is a letter.
func IsAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// IsAlnum reports whether c is a letter or a digit.
func IsAlnum(c byte) bool { return IsAlpha(c) || IsDigit(c) }

// IsName reports whether c may be in a name of C at index i: a letter, an
// underscore, or a digit that is not the first.
func IsName(c byte, i int) bool { return IsAlpha(c) || c == '_' || i > 0 && IsDigit(c) }

// SkipSpace returns the index of the first byte from s[i] on that is not white space.
func SkipSpace(s string, i int) int {
	for i < len(s) && IsSpace(s[i]) {
		i++
	}
	return i
}

// TrimSpace returns s without the white space that it starts with.
func TrimSpace(s string) string { return s[SkipSpace(s, 0):] }

// Digits returns the index of the first byte from s[i] on that is not a decimal digit.
func Digits(s string, i int) int {
	for i < len(s) && IsDigit(s[i]) {
		i++
	}
	return i
}

// Bytes returns the C string in b: b up to its first NUL.
func Bytes(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// String returns the C string in s: s up to its first NUL.
func String(s string) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return s
}

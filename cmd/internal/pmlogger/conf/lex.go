package conf

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// A kind is the kind of a token.
type kind int

const (
	tEnd kind = iota
	tSign
	tName
	tString
	tNumber
	tAddress  // a host address, or a pattern of addresses
	tHost     // a host name that is not a tName
	tURL      // unix: or local:
	tMillisec // and the other words with a meaning
	tSecond
	tMinute
	tHour
	tMandatory
	tAdvisory
	tAllow
	tDisallow
	tDefault
	tEnquire
	tAccess
	tExcept
	tEvery
	tMaybe
	tOnce
	tLog
	tAll
	tOff
	tOn
)

// keyword returns the kind of a word outside of braces, tName if it is not a keyword.
func keyword(word []byte) kind {
	switch string(word) {
	case "millisecond", "milliseconds", "msec", "msecs":
		return tMillisec
	case "second", "seconds", "sec", "secs":
		return tSecond
	case "minute", "minutes", "min", "mins":
		return tMinute
	case "hour", "hours":
		return tHour
	case "mandatory":
		return tMandatory
	case "advisory":
		return tAdvisory
	case "allow":
		return tAllow
	case "disallow":
		return tDisallow
	case "default":
		return tDefault
	case "enquire":
		return tEnquire
	case "access":
		return tAccess
	case "except":
		return tExcept
	case "every":
		return tEvery
	case "maybe":
		return tMaybe
	case "once":
		return tOnce
	case "log":
		return tLog
	case "all":
		return tAll
	case "off":
		return tOff
	case "on":
		return tOn
	}
	return tName
}

// A token is a word, a number or a sign.
type token struct {
	kind   kind
	sign   byte   // for a tSign
	text   string // for a name, string, address, host or URL
	number int64
}

// A lexer splits a configuration into tokens.
type lexer struct {
	text  []byte
	off   int
	place Place
	// inside is set between braces, where there are no keywords.
	inside bool
}

// next returns the next token.
func (l *lexer) next() (token, error) {
	for l.off < len(l.text) {
		rest := l.text[l.off:]
		switch c := rest[0]; {
		case c == '\n':
			l.place.Line++
			l.off++
		case c == ' ' || c == '\t' || c == '\r':
			l.off++
		case c == '#':
			l.comment(rest)
		case bytes.IndexByte([]byte("[],{};"), c) >= 0:
			l.off++
			return token{kind: tSign, sign: c}, nil
		default:
			t, n := l.word(rest)
			if n == 0 {
				return token{}, &Error{l.place, fmt.Sprintf("Unexpected character '%c'", rune(c))}
			}
			l.off += n
			return t, nil
		}
	}
	return token{kind: tEnd}, nil
}

// comment skips a comment. A comment with a line and a file is a marker of the
// preprocessor.
func (l *lexer) comment(rest []byte) {
	n := bytes.IndexByte(rest, '\n')
	if n < 0 {
		n = len(rest)
	}
	if l.off == 0 || l.text[l.off-1] == '\n' {
		if line, file, ok := marker(rest[:n]); ok {
			l.place = Place{file, line - 1} // the end of this line counts as well
		}
	}
	l.off += n
}

// marker splits a comment of the form `# 12 "file"`.
func marker(line []byte) (n int, file string, ok bool) {
	line, ok = bytes.CutPrefix(line, []byte("# "))
	if !ok {
		return 0, "", false
	}
	digits := span(line, isDigit)
	n, err := strconv.Atoi(string(line[:digits]))
	if err != nil {
		return 0, "", false
	}
	line, ok = bytes.CutPrefix(line[digits:], []byte(` "`))
	if !ok || len(line) == 0 || line[len(line)-1] != '"' || bytes.IndexByte(line, '"') != len(line)-1 {
		return 0, "", false
	}
	return n, string(line[:len(line)-1]), true
}

// word returns the longest token that is neither space nor a sign. Of tokens with
// the same length, the first listed here wins. The length is 0 if there is none.
func (l *lexer) word(b []byte) (token, int) {
	var t token
	length := 0
	take := func(kind kind, n int) {
		if n > length {
			length, t = n, token{kind: kind, text: string(b[:n])}
		}
	}
	if isLetter(b[0]) {
		n := span(b, isNameByte)
		k := keyword(b[:n])
		if l.inside {
			k = tName
		}
		take(k, n)
		take(tHost, span(b, func(c byte) bool { return isNameByte(c) || c == '-' }))
		take(tURL, url(b))
	}
	if b[0] == '"' {
		if n := bytes.IndexAny(b[1:], "\"\n"); n > 0 && b[1+n] == '"' {
			return token{kind: tString, text: string(b[1 : 1+n])}, n + 2
		}
	}
	if n := span(b, isDigit); n > 0 {
		take(tNumber, n)
	}
	take(tAddress, address(b))
	if length == 0 && b[0] == ':' {
		return token{kind: tSign, sign: ':'}, 1
	}
	if t.kind == tNumber {
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			n = math.MaxInt64
		}
		t.number = n
	}
	return t, length
}

// span returns the number of leading bytes of b in a class.
func span(b []byte, is func(byte) bool) int {
	for i, c := range b {
		if !is(c) {
			return i
		}
	}
	return len(b)
}

func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isLetter(c byte) bool   { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isHex(c byte) bool      { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
func isNameByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '.' }

// url returns the length of the address of a local socket, including an optional
// star, or 0 if there is none.
func url(b []byte) int {
	for _, scheme := range []string{"unix:", "local:"} {
		if rest, ok := bytes.CutPrefix(b, []byte(scheme)); ok {
			n := span(rest, func(c byte) bool { return isNameByte(c) || c == '/' })
			if n < len(rest) && rest[n] == '*' {
				n++
			}
			return len(scheme) + n
		}
	}
	return 0
}

// address returns the length of the longest address or pattern of addresses at the
// start of b: 10.1.2.3, 10.1.*, .*, fe80::1, fe80:*, ::, *.
func address(b []byte) int {
	if b[0] == '*' {
		return 1
	}
	return max(addressV4(b), addressV6(b))
}

// addressV4 returns the length of an IPv4 address: four numbers, or fewer and a
// star for the rest.
func addressV4(b []byte) int {
	if bytes.HasPrefix(b, []byte(".*")) {
		return 2
	}
	i := 0
	for part := range 4 {
		if part > 0 && i < len(b) && b[i] == '*' {
			return i + 1
		}
		n := span(b[i:], isDigit)
		if i += n; n > 0 && part == 3 {
			return i
		}
		if n == 0 || i >= len(b) || b[i] != '.' {
			return 0
		}
		i++
	}
	return 0
}

// addressV6 returns the length of an IPv6 address, or of a pattern: groups of
// digits, each but the last with a colon after it, at most one pair of colons,
// and perhaps a star after a colon.
func addressV6(b []byte) int {
	best, i := 0, 0
	pair := false // there was "::"
	if bytes.HasPrefix(b, []byte("::")) {
		pair, i, best = true, 2, 2
	} else if bytes.HasPrefix(b, []byte(":*")) {
		return 2
	}
	for {
		if i < len(b) && b[i] == '*' && i > 0 {
			return i + 1
		}
		n := span(b[i:], isHex)
		if n == 0 {
			return best
		}
		i += n
		best = i
		if i >= len(b) || b[i] != ':' {
			return best
		}
		i++
		if !pair && i < len(b) && b[i] == ':' {
			pair = true
			i++
			best = i
		}
	}
}

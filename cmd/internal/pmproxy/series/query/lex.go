package query

import (
	"strconv"

	"github.com/go-pcp/pcp/internal/ctext"
)

// A token is the type of a token.
type token int

const (
	tokEnd token = iota
	tokBad       // not a token
	tokPlus
	tokMinus
	tokStar
	tokSlash
	tokOpen        // (
	tokClose       // )
	tokOpenBrace   // {
	tokCloseBrace  // }
	tokOpenSquare  // [
	tokCloseSquare // ]
	tokColon
	tokComma
	tokAssign // =
	tokLess
	tokLessEqual
	tokEqual
	tokGreaterEqual
	tokGreater
	tokNotEqual
	tokGlob      // ~~
	tokRegex     // =~
	tokNotRegex  // !~
	tokAnd       // &&
	tokOr        // ||
	tokInteger   // digits
	tokDouble    // digits with a point
	tokRange     // digits and letters, such as 5min
	tokName      // of a metric, a label …
	tokString    // in quotes; the text is without them
	tokFunction  // a name before a parenthesis; fn is the function
	tokWindow    // a word of time windows; part is the part
	tokForbidden // a reserved word
)

// word returns the token of a reserved word; these names are reserved everywhere.
func word(s string) (t token, part windowPart) {
	switch s {
	case "type", "semantics", "units":
		return tokForbidden, 0
	case "interval", "delta":
		return tokWindow, partInterval
	case "timezone", "tz":
		return tokWindow, partZone
	case "start", "begin":
		return tokWindow, partStart
	case "finish", "end":
		return tokWindow, partFinish
	case "samples", "count":
		return tokWindow, partSamples
	case "offset", "from":
		return tokWindow, partOffset
	case "align", "alignment":
		return tokWindow, partAlign
	}
	return tokName, 0
}

// A lexer splits a query into tokens.
type lexer struct {
	src string
	pos int // after the token

	tok  token
	off  int // of the token
	text string
	fn   Func
	part windowPart
}

// next reads the next token.
func (l *lexer) next() {
	l.pos = ctext.SkipSpace(l.src, l.pos)
	l.off, l.text = l.pos, ""
	if l.pos >= len(l.src) {
		// The caret of an error at the end is under the last character.
		l.tok, l.off = tokEnd, max(len(l.src)-1, 0)
		return
	}
	c := l.src[l.pos]
	switch {
	case ctext.IsDigit(c):
		l.number()
	case c == '.':
		l.pos = ctext.Digits(l.src, l.pos+1)
		l.tok, l.text = tokDouble, l.src[l.off:l.pos]
	case ctext.IsAlpha(c):
		l.name()
	case c == '"':
		l.quoted()
	default:
		l.operator(c)
	}
}

// number reads an integer, a number with a point, or an integer with a unit.
func (l *lexer) number() {
	end := ctext.Digits(l.src, l.pos)
	switch {
	case end < len(l.src) && l.src[end] == '.':
		end = ctext.Digits(l.src, end+1)
		l.tok = tokDouble
	case end < len(l.src) && ctext.IsAlpha(l.src[end]):
		for end < len(l.src) && ctext.IsAlpha(l.src[end]) {
			end++
		}
		l.tok = tokRange
	default:
		l.tok = tokInteger
		if _, err := strconv.ParseUint(l.src[l.pos:end], 10, 32); err != nil {
			l.tok = tokBad
		}
	}
	l.pos, l.text = end, l.src[l.pos:end]
}

// name reads the name of a metric, a label or a function, or another word.
func (l *lexer) name() {
	for l.pos < len(l.src) && isNameByte(l.src[l.pos]) {
		l.pos++
	}
	l.text = l.src[l.off:l.pos]
	if l.pos < len(l.src) && l.src[l.pos] == '(' {
		if fn, ok := functionNamed(l.text); ok {
			l.tok, l.fn = tokFunction, fn
			return
		}
	}
	l.tok, l.part = word(l.text)
}

func isNameByte(c byte) bool {
	return ctext.IsAlnum(c) || c == '_' || c == '.' || c == '*' || c == '%' || c == '\\'
}

// quoted reads a string, which has no escapes. A string without an end is an
// error; the C implementation reads on for ever.
func (l *lexer) quoted() {
	for i := l.pos + 1; i < len(l.src); i++ {
		if l.src[i] == '"' {
			l.tok, l.text, l.pos = tokString, l.src[l.pos+1:i], i+1
			return
		}
	}
	l.tok, l.pos = tokBad, len(l.src)
}

// operator reads one or two characters.
func (l *lexer) operator(c byte) {
	var second byte
	if l.pos+1 < len(l.src) {
		second = l.src[l.pos+1]
	}
	l.tok = tokBad
	n := 1
	two := func(want byte, t token) {
		if l.tok == tokBad && second == want {
			l.tok, n = t, 2
		}
	}
	switch c {
	case '+':
		l.tok = tokPlus
	case '-':
		l.tok = tokMinus
	case '*':
		l.tok = tokStar
	case '/':
		l.tok = tokSlash
	case '(':
		l.tok = tokOpen
	case ')':
		l.tok = tokClose
	case '{':
		l.tok = tokOpenBrace
	case '}':
		l.tok = tokCloseBrace
	case '[':
		l.tok = tokOpenSquare
	case ']':
		l.tok = tokCloseSquare
	case ':':
		l.tok = tokColon
	case ',':
		l.tok = tokComma
	case '<':
		two('=', tokLessEqual)
		if l.tok == tokBad {
			l.tok = tokLess
		}
	case '>':
		two('=', tokGreaterEqual)
		if l.tok == tokBad {
			l.tok = tokGreater
		}
	case '=':
		two('=', tokEqual)
		two('~', tokRegex)
		if l.tok == tokBad {
			l.tok = tokAssign
		}
	case '!':
		two('=', tokNotEqual)
		two('~', tokNotRegex)
	case '~':
		two('~', tokGlob)
	case '&':
		two('&', tokAnd)
	case '|':
		two('|', tokOr)
	}
	l.pos += n
	l.text = l.src[l.off:l.pos]
}

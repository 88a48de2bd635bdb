package derive

import (
	"strconv"

	"github.com/go-pcp/pcp/internal/ctext"
)

type tokenKind uint8

const (
	tokError tokenKind = iota // lexer.msg has the reason
	tokEnd
	tokInteger
	tokDouble
	tokName
	tokString
	tokInstance
	tokPattern
	tokFunc // a name of functions that a parenthesis follows
	tokOp   // op has the operator; a minus sign is opSub
	tokLeft
	tokRight
	tokComma
	tokAssign
)

type token struct {
	kind tokenKind
	op   op
	text string
	pos  int // index of its first byte
}

// isOp reports whether t is one of the given operators.
func (t token) isOp(o op) bool { return t.kind == tokOp && t.op == o }

// functions are the names that are functions where a parenthesis follows at once.
var functions = [...]struct {
	name string
	op   op
}{
	{"avg", opAvg},
	{"count", opCount},
	{"max", opMax},
	{"min", opMin},
	{"sum", opSum},
	{"anon", opAnon},
	{"delta", opDelta},
	{"rate", opRate},
	{"instant", opInstant},
	{"mkconst", opInteger},
	{"rescale", opRescale},
	{"defined", opDefined},
	{"matchinst", opMatch},
	{"scalar", opScalar},
}

// functionNamed returns the function of a name, opNone if there is none.
func functionNamed(name string) op {
	for _, f := range functions {
		if f.name == name {
			return f.op
		}
	}
	return opNone
}

// A lexer splits an expression, one token at a time: the meaning of a slash
// depends on the parser.
type lexer struct {
	s        string
	i        int
	patterns bool   // a slash starts a pattern
	msg      string // of the tokError
}

func (l *lexer) next() token {
	l.i = ctext.SkipSpace(l.s, l.i)
	start := l.i
	if start == len(l.s) {
		// C puts the end at the last character.
		return token{kind: tokEnd, pos: max(start-1, 0)}
	}
	tok := func(kind tokenKind, o op, length int) token {
		l.i = start + length
		return token{kind: kind, op: o, text: l.s[start:l.i], pos: start}
	}
	fail := func(msg string, length int) token {
		l.msg = msg
		t := tok(tokError, opNone, length)
		l.i = len(l.s)
		return t
	}
	follows := func(c byte) bool { return start+1 < len(l.s) && l.s[start+1] == c }

	switch c := l.s[start]; {
	case ctext.IsDigit(c) || c == '.':
		end, kind := ctext.Digits(l.s, start), tokInteger
		if end < len(l.s) && l.s[end] == '.' {
			end, kind = ctext.Digits(l.s, end+1), tokDouble
		}
		if kind == tokInteger {
			if _, err := strconv.ParseUint(l.s[start:end], 10, 32); err != nil {
				return fail("Constant value too large", end-start)
			}
		}
		return tok(kind, opNone, end-start)
	case ctext.IsAlpha(c):
		end := start + 1
		for end < len(l.s) && (ctext.IsAlnum(l.s[end]) || l.s[end] == '_' || l.s[end] == '.') {
			end++
		}
		if f := functionNamed(l.s[start:end]); f != opNone && end < len(l.s) && l.s[end] == '(' {
			if f == opMatch {
				l.patterns = true
			}
			return tok(tokFunc, f, end-start)
		}
		return tok(tokName, opNone, end-start)
	case c == '+':
		return tok(tokOp, opAdd, 1)
	case c == '-':
		return tok(tokOp, opSub, 1)
	case c == '*':
		return tok(tokOp, opMul, 1)
	case c == '/' && l.patterns:
		return l.quoted(tokPattern, '/', "unterminated pattern")
	case c == '/':
		return tok(tokOp, opDiv, 1)
	case c == '(':
		return tok(tokLeft, opNone, 1)
	case c == ')':
		return tok(tokRight, opNone, 1)
	case c == '?':
		return tok(tokOp, opQuest, 1)
	case c == ':':
		return tok(tokOp, opColon, 1)
	case c == ',':
		return tok(tokComma, opNone, 1)
	case c == '<' && follows('='):
		return tok(tokOp, opLessEq, 2)
	case c == '<':
		return tok(tokOp, opLess, 1)
	case c == '>' && follows('='):
		return tok(tokOp, opGreaterEq, 2)
	case c == '>':
		return tok(tokOp, opGreater, 1)
	case c == '=' && follows('='):
		return tok(tokOp, opEq, 2)
	case c == '=':
		return tok(tokAssign, opNone, 1)
	case c == '!' && follows('='):
		return tok(tokOp, opNotEq, 2)
	case c == '!':
		return tok(tokOp, opNot, 1)
	case c == '&' && follows('&'):
		return tok(tokOp, opAnd, 2)
	case c == '|' && follows('|'):
		return tok(tokOp, opOr, 2)
	case c == '"':
		return l.quoted(tokString, '"', "unterminated STRING")
	case c == '[':
		return l.quoted(tokInstance, ']', "unterminated instance name")
	}
	return fail("Illegal character", 1)
}

// quoted returns the token that starts at l.i with an opening quote and ends
// with quote. A backslash quotes the next character, except in a string.
func (l *lexer) quoted(kind tokenKind, quote byte, msg string) token {
	start := l.i
	var text []byte
	for i := start + 1; i < len(l.s); i++ {
		c := l.s[i]
		switch {
		case c == quote:
			l.i = i + 1
			return token{kind: kind, text: string(text), pos: start}
		case c == '\\' && kind != tokString:
			if i++; i < len(l.s) {
				text = append(text, l.s[i])
			}
		default:
			text = append(text, c)
		}
	}
	l.i, l.msg = len(l.s), msg
	return token{kind: tokError, text: string(text), pos: start}
}

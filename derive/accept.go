package derive

import (
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// accepts reports whether s is a valid expression for parse, without making
// nodes. It knows the constructs of most definitions; for anything else it
// returns false, and parse has to decide.
//
// A program that reads a thousand definitions to use one of them only needs to
// know that the others are valid.
//
// units are the last valid units: those of one file are often the same.
func accepts(s string, units *string) bool {
	if len(s) > maxExpr || strings.IndexByte(s, 0) >= 0 {
		return false
	}
	a := acceptor{s: s, units: units, room: maxAccepted}
	return a.expr() && a.i == len(s) && a.room >= 0
}

// maxAccepted is the maximum number of parentheses, prefix operators and
// ternaries in accepts. Each of them adds at most six to the depth that parse
// counts.
const maxAccepted = maxDepth/6 - 1

// An acceptor walks over an expression. Each of its methods starts at a token,
// ends at the next one, and reports whether it found the construct of its name.
type acceptor struct {
	s     string
	i     int
	units *string
	room  int // how many more parentheses, prefix operators and ternaries may follow
}

func (a *acceptor) space() { a.i = ctext.SkipSpace(a.s, a.i) }

// at returns the next byte, 0 at the end.
func (a *acceptor) at() byte {
	if a.i < len(a.s) {
		return a.s[a.i]
	}
	return 0
}

// take reports whether c is next, and if so skips it.
func (a *acceptor) take(c byte) bool {
	if a.at() != c {
		return false
	}
	a.i++
	a.space()
	return true
}

func (a *acceptor) expr() bool {
	a.space()
	open := 0 // question marks without their colon
	for {
		if !a.operand() {
			return false
		}
		switch c := a.at(); c {
		case '+', '-', '*', '/':
			a.i++
		case '<', '>':
			a.i++
			if a.at() == '=' {
				a.i++
			}
		case '=', '!':
			if a.i++; a.at() != '=' {
				return false
			}
			a.i++
		case '&', '|':
			if a.i++; a.at() != c {
				return false
			}
			a.i++
		case '?':
			a.i++
			open++
			a.room--
		case ':':
			a.i++
			open--
		default:
			return open == 0
		}
		if open < 0 {
			return false
		}
		a.space()
	}
}

func (a *acceptor) operand() bool {
	for a.at() == '-' || a.at() == '!' {
		a.i++
		a.room--
		a.space()
	}
	switch c := a.at(); {
	case c == '(':
		return a.parens(false) && a.instance()
	case ctext.IsDigit(c):
		_, ok := a.number()
		return ok
	case ctext.IsAlpha(c):
		name := a.name()
		if a.at() == '(' {
			return a.function(name)
		}
		a.space()
		return a.instance() && !isKeyword(name)
	}
	return false
}

// parens accepts an expression in parentheses, in a call possibly with more
// arguments after a comma.
func (a *acceptor) parens(call bool) bool {
	a.room--
	if a.room < 0 || !a.take('(') || !a.expr() {
		return false
	}
	return call || a.take(')')
}

// name returns the name that starts here. It does not skip the space after it.
func (a *acceptor) name() string {
	start := a.i
	for a.i < len(a.s) && (ctext.IsAlnum(a.s[a.i]) || a.s[a.i] == '_' || a.s[a.i] == '.') {
		a.i++
	}
	return a.s[start:a.i]
}

// number accepts a constant and reports whether it is an integer. A constant of
// ten digits may be too large.
func (a *acceptor) number() (integer, ok bool) {
	end := ctext.Digits(a.s, a.i)
	if integer = end == len(a.s) || a.s[end] != '.'; !integer {
		end = ctext.Digits(a.s, end+1)
	} else if end-a.i > 9 {
		return true, false
	}
	ok = end > a.i
	a.i = end
	a.space()
	return integer, ok
}

// instance accepts the [instance] that may follow.
func (a *acceptor) instance() bool {
	if a.at() != '[' {
		return true
	}
	for a.i++; a.i < len(a.s); a.i++ {
		switch a.s[a.i] {
		case '\\':
			a.i++
		case ']':
			a.i++
			a.space()
			return true
		}
	}
	return false
}

// quoted returns the contents of the string that starts here.
func (a *acceptor) quoted() (string, bool) {
	if a.at() != '"' {
		return "", false
	}
	text, _, ok := strings.Cut(a.s[a.i+1:], `"`)
	if ok {
		a.i += len(text) + 2
		a.space()
	}
	return text, ok
}

// metric accepts the name of a metric in parentheses.
func (a *acceptor) metric() bool {
	if !a.take('(') || !ctext.IsAlpha(a.at()) {
		return false
	}
	name := a.name()
	a.space()
	return !isKeyword(name) && a.take(')')
}

// function accepts the parentheses after name.
func (a *acceptor) function(name string) bool {
	switch functionNamed(name) {
	case opAvg, opCount, opMax, opMin, opSum, opDefined:
		return a.metric()
	case opDelta, opRate, opInstant, opScalar:
		return a.parens(false)
	case opInteger:
		return a.mkconst()
	case opRescale:
		if !a.parens(true) || !a.take(',') {
			return false
		}
		units, ok := a.quoted()
		return ok && a.isUnits(units) && a.take(')')
	}
	return false
}

func (a *acceptor) mkconst() bool {
	if !a.take('(') {
		return false
	}
	integer, ok := a.number()
	if !ok {
		return false
	}
	t := pcp.TypeU32
	if !integer {
		t = pcp.TypeDouble
	}
	if a.at() != ',' {
		return false
	}
	for a.take(',') {
		key := a.name()
		a.space()
		if !a.take('=') {
			return false
		}
		value, ok := a.quoted()
		if !ok {
			value = a.name()
			a.space()
		}
		switch key {
		case "type":
			t, ok = specTypes()[value]
		case "semantics":
			_, ok = specSems()[value]
		case "units":
			ok = ok && a.isUnits(value)
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return (integer || t == pcp.TypeDouble || t == pcp.TypeFloat) && a.take(')')
}

func (a *acceptor) isUnits(s string) bool {
	if s == *a.units {
		return true
	}
	_, _, err := pcp.ParseUnits(s)
	if err == nil {
		*a.units = s
	}
	return err == nil
}

package dbpmda

import (
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// A kind is the kind of a token.
type kind int

const (
	kindEnd     kind = iota // of the input
	kindEOL                 // the end of a line
	kindKeyword             // a reserved word, in text
	kindName
	kindNegName // -name
	kindMacro   // $name; nothing takes one
	kindNumber
	kindNegNumber
	kindNumber2 // n.n
	kindNumber3 // n.n.n
	kindString
	kindPath
	kindBad   // a string without an end
	kindSpace // nothing
)

// A token is a word of a command.
type token struct {
	kind kind
	text string   // of a keyword, name or string
	nums [3]int32 // of numbers
}

func (t token) is(keyword string) bool { return t.kind == kindKeyword && t.text == keyword }

// keyword returns the keyword of a word or symbol, or "" if it is not a keyword. Some
// have two spellings.
func keyword(s string) string {
	switch s {
	case "add", "all", "attr", "children", "close", "cluster", "context", "debug", "delete", "desc", "domain",
		"dso", "fetch", "getiname", "getdesc", "help", "indom", "inet", "instance", "instances", "ipv6", "item",
		"label", "name", "namespace", "none", "off", "on", "open", "pipe", "pmid", "profile", "quit", "socket",
		"status", "store", "text", "timer", "traverse", "unix", "wait", "watch", "=", ",", "+":
		return s
	case "attribute":
		return "attr"
	case "q", "exit":
		return "quit"
	case "?":
		return "help"
	}
	return ""
}

// A pattern is a state machine that recognizes one kind of token. Its step maps a
// state, initially 0, to the next: dead, or a number with the flags.
type pattern struct {
	kind kind
	step func(state int, c byte) int
}

const (
	dead   = -1
	accept = 1 << 8        // a token may end here
	final  = 1<<9 | accept // and it must
	bits   = accept - 1    // the state without the flags
)

func isWord(c byte) bool {
	return ctext.IsAlnum(c) || strings.IndexByte("_./:-", c) >= 0
}

// word accepts a letter and further characters after a prefix, 0 for no prefix.
func word(prefix byte, more func(byte) bool) func(int, byte) int {
	return func(state int, c byte) int {
		switch state & bits {
		case 0:
			if prefix != 0 && c == prefix {
				return 1
			}
			if prefix == 0 && ctext.IsAlpha(c) {
				return 2 | accept
			}
		case 1:
			if ctext.IsAlpha(c) {
				return 2 | accept
			}
		case 2:
			if more(c) {
				return 2 | accept
			}
		}
		return dead
	}
}

// number accepts n numbers separated by dots.
func number(n int) func(int, byte) int {
	return func(state int, c byte) int {
		state &= bits // even: before a digit
		if ctext.IsDigit(c) {
			state |= 1
			if state == 2*n-1 {
				return state | accept
			}
			return state
		}
		if c == '.' && state&1 == 1 && state < 2*n-1 {
			return state + 1
		}
		return dead
	}
}

// quoted accepts text in quotes, at least one character, up to end.
func quoted(quote, end byte) func(int, byte) int {
	return func(state int, c byte) int {
		switch {
		case state == 0 && c == quote:
			return 1
		case state >= 1 && c != quote && c != '\n':
			return 2
		case state == 2 && c == end:
			return final
		}
		return dead
	}
}

// symbol accepts one character.
func symbol(chars string) func(int, byte) int {
	return func(state int, c byte) int {
		if state == 0 && strings.IndexByte(chars, c) >= 0 {
			return final
		}
		return dead
	}
}

func wordDash(c byte) bool { return ctext.IsAlnum(c) || c == '_' || c == '-' }

// newPatterns returns the patterns of all tokens; of two matches of the same length the
// first wins.
func newPatterns() []pattern {
	return []pattern{
		{kindKeyword, symbol("?=,+")},
		{kindName, word(0, isWord)},
		{kindNegName, word('-', isWord)},
		{kindMacro, word('$', wordDash)},
		{kindNumber, func(state int, c byte) int { // hexadecimal, with decimal digits only
			switch {
			case state == 0 && c == '0':
				return 1
			case state == 1 && c|0x20 == 'x':
				return 2
			case state&bits >= 2 && ctext.IsDigit(c):
				return 3 | accept
			}
			return dead
		}},
		{kindNumber, number(1)},
		{kindNegNumber, func(state int, c byte) int {
			switch {
			case state == 0 && c == '-':
				return 1
			case state&bits >= 1 && ctext.IsDigit(c):
				return 2 | accept
			}
			return dead
		}},
		{kindNumber2, number(2)},
		{kindNumber3, number(3)},
		{kindString, quoted('"', '"')},
		{kindBad, quoted('"', '\n')},
		{kindString, quoted('\'', '\'')},
		{kindBad, quoted('\'', '\n')},
		{kindEOL, func(state int, c byte) int { // a comment
			switch {
			case state == 0 && c == '#', state == 1 && c != '\n':
				return 1
			case state == 1:
				return final
			}
			return dead
		}},
		{kindSpace, func(state int, c byte) int {
			if c == ' ' || c == '\t' || c == '\r' {
				return 1 | accept
			}
			return dead
		}},
		{kindEOL, symbol("\n")},
		{kindPath, func(state int, c byte) int {
			if c == ' ' || c == '\t' || c == '\n' {
				return dead
			}
			return 1 | accept
		}},
	}
}

// A lexer splits the input into tokens, each the longest that matches. To find the end
// of a token it may read further, and keeps the excess for the next.
type lexer struct {
	in       *input
	patterns []pattern
	states   []int // of each, during a scan
	ahead    []byte
	paths    bool // a path may follow: after certain keywords, until it is read
	buf      []byte
}

func newLexer(in *input) *lexer {
	patterns := newPatterns()
	return &lexer{in: in, patterns: patterns, states: make([]int, len(patterns))}
}

// next returns the next token.
func (l *lexer) next() token {
	for {
		t, ok := l.scan()
		switch {
		case !ok:
			l.in.errorf("Illegal character")
		case t.kind == kindBad:
			l.in.errorf("Expected %s", t.text[:1])
		case t.kind != kindSpace:
			return t
		}
	}
}

func (l *lexer) scan() (t token, ok bool) {
	states := l.states
	for i := range states {
		if states[i] = 0; l.patterns[i].kind == kindPath && !l.paths {
			states[i] = dead
		}
	}
	buf := l.buf[:0]
	length, which := 0, -1
	for live := true; live; {
		var c byte
		if len(buf) < len(l.ahead) {
			c = l.ahead[len(buf)]
		} else if c, ok = l.in.next(); !ok {
			break
		}
		buf = append(buf, c)
		live = false
		for i := range states {
			if states[i] == dead || states[i] == final {
				states[i] = dead
				continue
			}
			states[i] = l.patterns[i].step(states[i], c)
			if states[i] == dead {
				continue
			}
			if states[i] != final {
				live = true
			}
			if states[i]&accept != 0 && length < len(buf) {
				length, which = len(buf), i
			}
		}
	}
	if len(buf) < len(l.ahead) { // the characters ahead exceed the token
		buf = append(buf, l.ahead[len(buf):]...)
	}
	l.buf = buf
	if len(buf) == 0 {
		return token{}, true
	}
	if length == 0 { // not the beginning of a token: remove one character
		l.ahead = append(l.ahead[:0], buf[1:]...)
		return token{}, false
	}
	l.ahead = append(l.ahead[:0], buf[length:]...)
	return l.token(l.patterns[which].kind, string(buf[:length])), true
}

func (l *lexer) token(k kind, s string) token {
	t := token{kind: k, text: s}
	switch k {
	case kindName, kindKeyword:
		if kw := keyword(s); kw != "" {
			t.kind, t.text = kindKeyword, kw
			switch kw {
			case "dso", "pipe", "socket", "namespace", "watch":
				l.paths = true
			}
		}
	case kindPath:
		l.paths = false
	case kindString:
		t.text = s[1 : len(s)-1]
	case kindNumber:
		if len(s) > 2 && s[1]|0x20 == 'x' {
			t.nums[0] = toInt(s[2:], 16)
		} else {
			t.nums[0] = toInt(s, 10)
		}
	case kindNegNumber:
		t.nums[0] = toInt(s, 10)
	case kindNumber2, kindNumber3:
		for i, part := range strings.Split(s, ".") {
			t.nums[i] = toInt(part, 10)
		}
	}
	return t
}

// toInt is strtol(3) truncated to an int, as in C's atoi.
func toInt(s string, base int) int32 {
	n, _ := strconv.ParseInt(s, base, 64) // the limit if it does not fit
	return int32(n)
}

package lc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// A kind is the kind of a token. The numbers are those that the C program prints with -D appl1.
type kind int

const (
	tokEnd     kind = 0 // of the input
	tokLSquare kind = iota + 257
	tokRSquare
	tokComma
	tokLBrace
	tokRBrace
	tokAt
	tokEOL
	tokLog
	tokMandatory
	tokAdvisory
	tokOn
	tokOff
	tokMaybe
	tokEvery
	tokOnce
	tokMsec
	tokSecond
	tokMinute
	tokHour
	tokQuery
	tokShow
	tokLogger
	tokConnect
	tokDisconnect
	tokPrimary
	tokQuit
	tokStatus
	tokHelp
	tokTimezone
	tokLocal
	tokPort
	tokSocket
	tokNew
	tokVolume
	tokSync
	tokSleep
	tokQA
	tokName
	tokHostname
	tokString
	tokURL
	tokNumber
)

// A token is a word of a command.
type token struct {
	kind kind
	text string // of a name, string or URL
	num  int64
}

// keyword returns the token of a keyword, or tokName for another word.
func keyword(s string) kind {
	switch s {
	case "millisecond", "milliseconds", "msec", "msecs":
		return tokMsec
	case "disconnect":
		return tokDisconnect
	case "mandatory":
		return tokMandatory
	case "advisory":
		return tokAdvisory
	case "timezone":
		return tokTimezone
	case "logger", "loggers":
		return tokLogger
	case "minute", "minutes", "min", "mins":
		return tokMinute
	case "second", "seconds", "sec", "secs":
		return tokSecond
	case "connect":
		return tokConnect
	case "primary":
		return tokPrimary
	case "status":
		return tokStatus
	case "volume":
		return tokVolume
	case "flush", "sync":
		return tokSync
	case "sleep":
		return tokSleep
	case "every":
		return tokEvery
	case "local":
		return tokLocal
	case "maybe":
		return tokMaybe
	case "query":
		return tokQuery
	case "hour", "hours":
		return tokHour
	case "help", "h":
		return tokHelp
	case "once":
		return tokOnce
	case "port":
		return tokPort
	case "quit", "q":
		return tokQuit
	case "socket":
		return tokSocket
	case "show":
		return tokShow
	case "log":
		return tokLog
	case "new":
		return tokNew
	case "off":
		return tokOff
	case "on":
		return tokOn
	case "qa":
		return tokQA
	case "at":
		return tokAt
	}
	return tokName
}

// maxToken is the maximum length of a word.
const maxToken = 1 << 20

// A lexer splits the input into tokens, each the longest that matches. It reads no further than the
// end of a token requires, since it would prompt at the end of a line, and keeps the excess for the
// next token. The parser sets the lexer's state, which decides the meaning of words.
type lexer struct {
	in      *input
	buf     []byte // read; buf[off:] is not yet part of a token
	off     int
	metrics bool // in the metrics of a statement, where keywords are names
	list    bool // in a list of metrics, where newlines are ignored
}

// peek returns the character at offset i. At the end ok is false.
func (l *lexer) peek(i int) (c byte, ok bool) {
	if i += l.off; i == len(l.buf) {
		if i-l.off == maxToken {
			l.in.err = fmt.Errorf("line %d: a word of more than %d characters", l.in.lineno, maxToken)
			l.in.last = end
			return 0, false
		}
		if c, ok = l.in.next(); !ok {
			return 0, false
		}
		l.buf = append(l.buf, c)
	}
	return l.buf[i], true
}

// run returns the end of the run of characters of a class that starts at offset i.
func (l *lexer) run(i int, class func(byte) bool) int {
	for {
		if c, ok := l.peek(i); !ok || !class(c) {
			return i
		}
		i++
	}
}

// take removes n characters and returns them.
func (l *lexer) take(n int) string {
	s := string(l.buf[l.off : l.off+n])
	if l.off += n; l.off == len(l.buf) {
		l.buf, l.off = l.buf[:0], 0
	}
	return s
}

// drop removes all leading characters of a class.
func (l *lexer) drop(class func(byte) bool) {
	for {
		if c, ok := l.peek(0); !ok || !class(c) {
			return
		}
		l.take(1)
	}
}

func isBlank(c byte) bool    { return c == ' ' || c == '\t' || c == '\r' }
func isComment(c byte) bool  { return c != '\n' }
func isInString(c byte) bool { return c != '"' && c != '\n' }
func isHost(c byte) bool     { return ctext.IsAlnum(c) || c == '_' || c == '.' || c == '-' }
func isURL(c byte) bool      { return ctext.IsAlnum(c) || c == '_' || c == '.' || c == '/' }

// next returns the next token. It reports an unexpected character and skips the rest of that line,
// but the statement continues in the next line.
func (l *lexer) next() token {
	for {
		c, ok := l.peek(0)
		if !ok {
			return token{kind: tokEnd}
		}
		switch {
		case c == '\n':
			l.take(1)
			if !l.list {
				return token{kind: tokEOL}
			}
		case isBlank(c):
			l.drop(isBlank)
		case c == '#':
			l.drop(isComment)
		case ctext.IsAlpha(c):
			return l.word()
		case ctext.IsDigit(c):
			n, _ := strconv.ParseInt(l.take(l.run(0, ctext.IsDigit)), 10, 64) // the limit if it does not fit
			return token{kind: tokNumber, num: n}
		case c == '"':
			if t, ok := l.quoted(); ok {
				return t
			}
			l.unexpected()
		case strings.IndexByte("[],{}@?", c) >= 0:
			return l.symbol(c)
		default:
			if c == 0 {
				l.peek(1) // the C scanner reads past a NUL
			}
			l.unexpected()
		}
	}
}

// symbol takes a character that is a token by itself.
func (l *lexer) symbol(c byte) token {
	text := l.take(1)
	switch c {
	case '[':
		return token{kind: tokLSquare}
	case ']':
		return token{kind: tokRSquare}
	case ',':
		return token{kind: tokComma}
	case '{':
		return token{kind: tokLBrace}
	case '}':
		return token{kind: tokRBrace}
	case '@':
		return token{kind: tokAt}
	}
	if l.metrics {
		return token{kind: tokName, text: text}
	}
	return token{kind: tokHelp}
}

// word takes a keyword, a name, a host name, or a URL.
func (l *lexer) word() token {
	n := l.run(0, isHost)
	word := string(l.buf[l.off : l.off+n])
	if word == "unix" || word == "local" {
		if c, ok := l.peek(n); ok && c == ':' {
			n = l.run(n+1, isURL)
			if c, ok := l.peek(n); ok && c == '*' {
				n++
			}
			return token{kind: tokURL, text: l.take(n)}
		}
	}
	l.take(n)
	if strings.IndexByte(word, '-') >= 0 {
		return token{kind: tokHostname, text: word}
	}
	k := keyword(word)
	if l.metrics {
		k = tokName
	}
	return token{kind: k, text: word}
}

// quoted takes a string; ok is false if it is empty or does not end.
func (l *lexer) quoted() (t token, ok bool) {
	n := l.run(1, isInString)
	if n == 1 {
		return token{}, false
	}
	if c, ok := l.peek(n); !ok || c != '"' {
		return token{}, false
	}
	text := l.take(n + 1)
	return token{kind: tokString, text: ctext.String(text[1 : len(text)-1])}, true
}

// unexpected reports a character that cannot begin a token.
func (l *lexer) unexpected() {
	l.errorf("%s", ctext.String("Unexpected character '"+l.take(1)+"'")) // it may be a NUL
}

// errorf reports a mistake in the line that is being read, and skips the rest of it (yyerror).
func (l *lexer) errorf(format string, args ...any) {
	s := l.in.s
	s.errorf("Error [<stdin>, line %d]\n", l.in.lineno)
	if text := fmt.Sprintf(format, args...); text != "" {
		s.errorf("%s\n", text)
	}
	l.in.skip(l.list)
	l.leave()
}

// enter and leave set whether the lexer is in the metrics of a statement, or in a list of them.
func (l *lexer) enter(list bool) {
	l.metrics, l.list = true, l.list || list
	l.in.metrics = true
}

func (l *lexer) leave() {
	l.metrics, l.list = false, false
	l.in.metrics = false
}

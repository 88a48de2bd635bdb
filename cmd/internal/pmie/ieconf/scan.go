package ieconf

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// A mistake is an error whose text is that of the C tool.
type mistake struct{ text string }

func (m *mistake) Error() string { return m.text }

// maxMessage limits the length of the C tool's messages.
const maxMessage = 511

func mistakef(format string, args ...any) *mistake {
	text := fmt.Sprintf(format, args...)
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	return &mistake{text}
}

func wrongValue(name, want string) *mistake {
	return mistakef("%s's value is invalid.\n    It should %s.", name, want)
}

const maxToken = 2048 // of rule files and configurations

var errEnd = errors.New("end of the file")

// short is a text as messages quote it.
func short(s string) string {
	if len(s) > 60 {
		return s[:60]
	}
	return s
}

// A position is the place in a file where a token is expected; the zero position is text that
// a user typed.
type position struct {
	file string
	line int
}

func (p position) expected(want, found string) *mistake {
	if p.line == 0 {
		return mistakef("input is invalid - expected %s, got \"%s\"", short(want), short(found))
	}
	return mistakef("file parsing error.\n    line number: %d (\"%s\")\n    expected: %s\n    found: %s", p.line, p.file, short(want), short(found))
}

// A scanner reads the tokens of a rule file, or of lines of commands.
type scanner struct {
	position
	r     io.ByteScanner
	limit int    // of a token
	lines bool   // a token is never on the next line; otherwise the newline is just a space
	eof   bool   // the end was met
	part  string // the part of a token with a mistake
}

const endOfFile = -1

func (s *scanner) get() int {
	c, err := s.r.ReadByte()
	if err != nil {
		s.eof = true
		return endOfFile
	}
	return int(c)
}

func (s *scanner) unget(c int) {
	if c != endOfFile {
		s.r.UnreadByte()
	}
}

// ends reports whether c ends the tokens: the end of the line, or that of the file.
func (s *scanner) ends(c int) bool { return c == endOfFile || s.lines && c == '\n' }

// errLine is the end of a line of commands.
var errLine = errors.New("end of the line")

// next returns the next token. At the end of the file the error is errEnd, at that of a line errLine.
func (s *scanner) next() (string, error) {
	var c int
	for {
		if c = s.get(); c == '#' {
			for c != '\n' && c != endOfFile {
				c = s.get()
			}
		}
		if c == endOfFile {
			return "", errEnd
		}
		if c == '\n' {
			if s.lines {
				return "", errLine
			}
			s.line++
		}
		if graph(byte(c)) {
			break
		}
	}
	var b strings.Builder
	switch c {
	case '"':
		for c = s.get(); c != '"'; c = s.get() {
			if c == '\\' {
				c = s.get()
			}
			if s.ends(c) || b.Len() == s.limit-1 {
				s.part = b.String()
				return "", s.expected("end-of-string", s.part)
			}
			if c == '\n' {
				s.line++
			}
			b.WriteByte(byte(c))
		}
	case ';', '=':
		b.WriteByte(byte(c))
	default:
		for c != endOfFile && graph(byte(c)) {
			if c == '=' || c == ';' {
				s.unget(c)
				break
			}
			if b.Len() == s.limit {
				s.part = b.String()
				return "", s.expected("end-of-token", s.part)
			}
			b.WriteByte(byte(c))
			if c = s.get(); s.ends(c) {
				s.unget(c)
			}
		}
		if c == '\n' && !s.lines {
			s.line++
		}
	}
	return b.String(), nil
}

// A Scanner reads commands as pmieconf takes them: words with spaces between, or in
// double quotes, up to the end of a line. Text after '#' is left out.
type Scanner struct{ s scanner }

// maxWord limits the length of a word of a command.
const maxWord = 1025

// NewScanner returns a Scanner of r. It reads no further than the end of a line.
func NewScanner(r io.ByteScanner) *Scanner {
	return &Scanner{scanner{r: r, limit: maxWord, lines: true}}
}

// Next returns the next word, and reports whether there is one before the end of the line. At the end
// of the input the error is io.EOF.
func (s *Scanner) Next() (word string, ok bool, err error) {
	word, err = s.s.next()
	switch err {
	case nil:
		return word, true, nil
	case errLine:
		return "", false, nil
	case errEnd:
		return "", false, io.EOF
	}
	return "", false, err
}

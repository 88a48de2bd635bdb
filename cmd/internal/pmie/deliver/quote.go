package deliver

import (
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// A quoting is the quoting state of a shell at a place in a text.
type quoting byte

const (
	unquoted     quoting = 0
	singleQuoted quoting = '\''
	doubleQuoted quoting = '"'
	// doubtful is a place where no quoting keeps a character from being interpreted by some shell: a
	// comment, a here document, backquotes, ${...}, $((...)) and $'...'.
	doubtful quoting = '?'
)

// A shellScanner finds the quoting state of a shell at the end of a text. Where it may be
// mistaken it returns doubtful.
type shellScanner struct {
	stack []quoting // the open quotes and parentheses; '(' also is that of a command substitution
	lost  bool      // doubtful from here on
	word  int       // the start of the current word, outside of quotes; less than 0 between words
}

const parenthesis quoting = '('

// quotingAt returns the quoting state of a shell at the end of a text.
func quotingAt(text []byte) quoting {
	s := shellScanner{word: -1}
	for i := 0; i < len(text) && !s.lost; {
		i = s.step(text, i)
	}
	if s.lost {
		return doubtful
	}
	if q := s.top(); q != parenthesis {
		return q
	}
	return unquoted
}

// top returns the quoting of the text that follows.
func (s *shellScanner) top() quoting {
	if len(s.stack) == 0 {
		return unquoted
	}
	return s.stack[len(s.stack)-1]
}

func (s *shellScanner) push(q quoting) { s.stack = append(s.stack, q) }
func (s *shellScanner) pop()           { s.stack = s.stack[:len(s.stack)-1] }

// step reads text[i] and returns the index of the next byte to read.
func (s *shellScanner) step(text []byte, i int) int {
	c := text[i]
	next := byte(0)
	if i+1 < len(text) {
		next = text[i+1]
	}
	q := s.top()
	if q == singleQuoted {
		if c == '\'' {
			s.pop()
		}
		return i + 1
	}
	switch {
	case c == '\\':
		if i+1 == len(text) {
			s.lost = true // it would remove the quoting of the first character
		}
		if next != '\n' {
			s.begin(i)
		}
		return i + 2
	case c == '`':
		s.lost = true
	case c == '$' && next == '(':
		if i+2 < len(text) && text[i+2] == '(' {
			s.lost = true
		}
		s.push(parenthesis)
		s.word = -1
		return i + 2
	case c == '$' && (next == '{' || next == '[' || next == '\'' && q != doubleQuoted || i+1 == len(text)):
		s.lost = true
	case c == '"' && q == doubleQuoted:
		s.pop()
	case q == doubleQuoted:
	case c == '\'' || c == '"':
		s.begin(i)
		s.push(quoting(c))
	case c == '<' && next == '<':
		s.lost = true
	case c == '#' && s.word < 0:
		s.lost = true
	case c == '(':
		if next == '(' {
			s.lost = true
		}
		s.push(parenthesis)
		s.end(text, i)
	case c == ')':
		s.end(text, i)
		if q != parenthesis {
			s.lost = true
			break
		}
		s.pop()
	case strings.IndexByte(" \t\n;&|<>", c) >= 0:
		s.end(text, i)
	default:
		s.begin(i)
	}
	return i + 1
}

// begin notes that a word begins, if none has.
func (s *shellScanner) begin(i int) {
	if s.word < 0 {
		s.word = i
	}
}

// end handles the end of a word. The patterns of a case have parentheses that close
// nothing.
func (s *shellScanner) end(text []byte, i int) {
	if s.word >= 0 && len(s.stack) > 0 && string(text[s.word:i]) == "case" {
		s.lost = true
	}
	s.word = -1
}

// AppendQuoted appends a value to a command of the shell so that the shell takes each of its
// characters literally. Where that is impossible, characters that a shell may interpret become
// underscores.
func AppendQuoted(command []byte, value string) []byte {
	q := quotingAt(command)
	for _, c := range []byte(ctext.String(value)) {
		harmless := c >= 0x80 || ctext.IsAlnum(c) || strings.IndexByte("_-+:,./@%", c) >= 0
		switch {
		case q == singleQuoted && c == '\'':
			command = append(command, `'\''`...)
			continue
		case q == doubleQuoted && strings.IndexByte("$`\"\\", c) >= 0:
			command = append(command, '\\')
		case q == unquoted && c == '\n':
			command = append(command, "'\n'"...)
			continue
		case q == unquoted && !harmless:
			command = append(command, '\\')
		case q == doubtful && !harmless:
			c = '_'
		}
		command = append(command, c)
	}
	return command
}

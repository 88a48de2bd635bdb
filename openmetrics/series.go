package openmetrics

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Series is the part of a line before the value.
type Series struct {
	Name   string
	Labels []Label // sorted by name
	// Braces is set if there is a list of labels, even an empty list.
	Braces bool
}

// A Label is a label of a series.
type Label struct{ Name, Value string }

// A lexer walks over the name and labels at the beginning of a line. Its values are
// those of the line, with escapes.
type lexer struct {
	line []byte
	at   int
}

// name finds the name of the metric, and reports whether labels follow.
func (l *lexer) name() (name []byte, labels bool) {
	line := l.line
	for l.at < len(line) && isSpace(line[l.at]) {
		l.at++
	}
	start := l.at
	if l.at < len(line) {
		l.at++ // any character, as in the Python agent
	}
	for l.at < len(line) && line[l.at] != '{' && !isSpace(line[l.at]) {
		l.at++
	}
	end := l.at
	for l.at < len(line) && isSpace(line[l.at]) {
		l.at++
	}
	if l.at < len(line) && line[l.at] == '{' {
		l.at++
		return line[start:end], true
	}
	l.at = end
	return line[start:end], false
}

// Errors of series, which have the message and the position.
var (
	errNoEquals = errors.New("= is missing")
	errNoQuote  = errors.New("its value must be in double quotes")
	errNoComma  = errors.New("a comma or } is missing")
	errNoEnd    = errors.New("its value does not end")
)

// label finds the next label. At the end of the list name is nil.
func (l *lexer) label() (name, value []byte, err error) {
	line := l.line
	l.space()
	if l.at == len(line) {
		return nil, nil, errNoComma
	}
	if line[l.at] == '}' {
		l.at++
		return nil, nil, nil
	}
	start := l.at
	l.at++
	for l.at < len(line) && line[l.at] != '=' && !isSpace(line[l.at]) {
		l.at++
	}
	name = line[start:l.at]
	l.space()
	if l.at == len(line) || line[l.at] != '=' {
		return name, nil, errNoEquals
	}
	l.at++
	l.space()
	if l.at == len(line) || line[l.at] != '"' {
		return name, nil, errNoQuote
	}
	l.at++
	start = l.at
	for {
		i := bytes.IndexByte(line[l.at:], '"')
		if i < 0 {
			return name, nil, errNoEnd
		}
		l.at += i + 1
		back := l.at - 2
		for back >= start && line[back] == '\\' {
			back--
		}
		if (l.at-back)%2 == 0 { // an even number of backslashes
			break
		}
	}
	value = line[start : l.at-1]
	l.space()
	switch {
	case l.at < len(line) && line[l.at] == ',':
		l.at++
	case l.at == len(line) || line[l.at] != '}':
		return name, nil, errNoComma
	}
	return name, value, nil
}

func (l *lexer) space() {
	for l.at < len(l.line) && isSpace(l.line[l.at]) {
		l.at++
	}
}

// SeriesLen returns the length of the name and labels at the beginning of a line. It allocates
// nothing unless there is an error, and finds the same length and errors as lenient [ParseSeries].
func SeriesLen(line []byte) (int, error) {
	l := lexer{line: line}
	if name, labels := l.name(); !labels {
		if len(name) == 0 {
			return 0, errNoName
		}
		return l.at, nil
	}
	for {
		name, _, err := l.label()
		if err != nil {
			return 0, labelError(name, err)
		}
		if name == nil {
			return l.at, nil
		}
	}
}

var errNoName = errors.New("the name of a metric is missing")

func labelError(name []byte, err error) error {
	if name == nil {
		return err
	}
	return fmt.Errorf("label %.100s: %w", name, err)
}

// ParseSeries parses the name and labels at the beginning of a line, and returns their
// length.
func ParseSeries(line []byte, strict bool) (s Series, n int, err error) {
	l := lexer{line: line}
	name, labels := l.name()
	if len(name) == 0 || strict && NameLen(string(name)) == 0 {
		return s, 0, fmt.Errorf("%.40q does not begin with the name of a metric", line)
	}
	if strict && NameLen(string(name)) != len(name) {
		return s, 0, fmt.Errorf("%.40q is not the name of a metric", name)
	}
	s = Series{Name: text(name), Braces: labels}
	for labels {
		before := l.at
		name, value, err := l.label()
		if err == nil && name == nil {
			break
		}
		if strict && !labelName(name) {
			return s, 0, fmt.Errorf("%s: %.40q does not begin with the name of a label", s.Name, bytes.TrimLeft(line[before:], " \t"))
		}
		if err != nil {
			return s, 0, fmt.Errorf("%s: %w", s.Name, labelError(name, err))
		}
		s.Labels = append(s.Labels, Label{text(name), text(unescape(value))})
	}
	slices.SortStableFunc(s.Labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	out := s.Labels[:0]
	for i, label := range s.Labels {
		if i+1 < len(s.Labels) && s.Labels[i+1].Name == label.Name {
			if strict {
				return s, 0, fmt.Errorf("%s: label %s is there twice", s.Name, label.Name)
			}
			continue
		}
		if strict && strings.IndexByte(label.Value, 0) >= 0 {
			return s, 0, fmt.Errorf("%s: label %s: a NUL in its value", s.Name, label.Name)
		}
		out = append(out, label)
	}
	s.Labels = out
	return s, l.at, nil
}

// text returns b as a string of valid UTF-8.
func text(b []byte) string { return strings.ToValidUTF8(string(b), "\ufffd") }

// unescape replaces \\, \" and \n.
func unescape(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+1 < len(b) {
			i++
			switch b[i] {
			case 'n':
				out = append(out, '\n')
				continue
			case '\\', '"':
			default:
				out = append(out, '\\')
			}
		}
		out = append(out, b[i])
	}
	return out
}

// NameLen returns the length of the name of a metric at the beginning of s.
func NameLen(s string) int {
	for i := range len(s) {
		c := s[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == ':' || i > 0 && c >= '0' && c <= '9') {
			return i
		}
	}
	return len(s)
}

func labelName(b []byte) bool {
	s := string(b)
	return s != "" && NameLen(s) == len(s) && !strings.Contains(s, ":")
}

package genmap

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// MaxLine is the maximum length of a line of a specification in bytes.
const MaxLine = 1 << 16

// A kind is the kind of a line of a specification.
type kind int

const (
	comment kind = iota // consecutive comment lines, in words
	blank
	open  // NAME {
	entry // metric SYMBOL
	shut  // }
)

// An item is a line of a specification, or several lines of comment.
type item struct {
	kind   kind
	name   string   // of an array or metric
	symbol string   // of an entry
	ord    int      // of an entry within its group
	text   []string // lines of a comment
}

// read calls emit for the items of a specification, in order. The error is the message
// about an invalid line; file is the name of the file in it.
func read(r io.Reader, file string, emit func(item)) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, MaxLine)
	in.Split(splitLines)
	var text []string
	flush := func() {
		if text != nil {
			emit(item{kind: comment, text: text})
			text = nil
		}
	}
	ord, inside, n := 0, false, 0
	for in.Scan() {
		n++
		words := strings.FieldsFunc(in.Text(), func(r rune) bool { return r == ' ' || r == '\t' })
		if len(words) > 0 && words[0] == "#" {
			text = append(text, strings.Join(words[1:], " "))
			continue
		}
		flush()
		switch {
		case len(words) == 0:
			emit(item{kind: blank})
		case len(words) == 2 && words[1] == "{":
			if inside {
				return fmt.Errorf("[%s:%d] nested group?\n[%[1]s:%[2]d] unterminated group?", file, n)
			}
			ord, inside = 0, true
			emit(item{kind: open, name: words[0]})
		case len(words) == 2 && inside:
			emit(item{kind: entry, name: words[0], symbol: words[1], ord: ord})
			ord++
		case len(words) == 1 && words[0] == "}":
			inside = false
			emit(item{kind: shut})
		default:
			if inside {
				return fmt.Errorf("[%s:%d] syntax error\n[%[1]s:%[2]d] unterminated group?", file, n)
			}
			return fmt.Errorf("[%s:%d] syntax error", file, n)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("[%s:%d] %w", file, n+1, err)
	}
	if inside {
		return fmt.Errorf("[%s:%d] unterminated group?", file, n)
	}
	flush()
	return nil
}

// splitLines splits text at newlines and carriage returns, each of which ends a line.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	for i, c := range data {
		if c == '\n' || c == '\r' {
			return i + 1, data[:i], nil
		}
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

package controlfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of a control file.
const (
	MaxFile = 1 << 20 // bytes
	MaxLine = 1 << 16 // bytes, including continuations
)

// Stopped is the prefix that pmlogctl adds to the line of a stopped program.
const Stopped = "#!#"

// A RawLine is an unmodified line of a control file. Lines joined by a backslash are one line.
type RawLine struct {
	Number int    // number of its first line in the file
	Text   string // without its newline; a newline within follows a backslash
}

// ReadRaw reads the lines of a control file. A last line may lack its newline.
func ReadRaw(r io.Reader) ([]RawLine, error) {
	var list []RawLine
	br := bufio.NewReader(io.LimitReader(r, MaxFile+1))
	number, size, joined := 0, 0, false
	for {
		text, err := br.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return list, err
		}
		if size += len(text); size > MaxFile {
			return list, fmt.Errorf("more than %d bytes", MaxFile)
		}
		if text != "" {
			number++
			if line, ok := strings.CutSuffix(text, "\n"); ok {
				text = strings.TrimSuffix(line, "\r")
			}
			if joined {
				last := &list[len(list)-1]
				last.Text += "\n" + text
			} else {
				list = append(list, RawLine{Number: number, Text: text})
			}
			if n := len(list[len(list)-1].Text); n > MaxLine {
				return list, fmt.Errorf("line %d: more than %d bytes", number, MaxLine)
			}
			joined = continues(text)
		}
		if err != nil {
			return list, nil
		}
	}
}

// continues reports whether text ends with a backslash that is not itself escaped. This applies to
// comments as well, as in the shell's read.
func continues(text string) bool {
	rest := strings.TrimRight(text, `\`)
	return (len(text)-len(rest))%2 == 1
}

// Fields splits a line as the shell's read does: into four words and the rest; a backslash quotes the next
// character.
func (l RawLine) Fields() (f [5]string) {
	s := strings.ReplaceAll(l.Text, "\\\n", "")
	for i := range f {
		s = strings.TrimLeft(s, " \t\n")
		f[i], s = word(s, i == len(f)-1)
	}
	return f
}

// word returns the first word of s without its backslashes, or all of s except trailing blanks, and the rest.
func word(s string, all bool) (text, rest string) {
	var b strings.Builder
	keep := 0 // length of b up to its last nonblank
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
			keep = b.Len()
		case c != ' ' && c != '\t' && c != '\n':
			b.WriteByte(c)
			keep = b.Len()
		case all:
			b.WriteByte(c)
		default:
			return b.String(), s[i:]
		}
	}
	return b.String()[:keep], ""
}

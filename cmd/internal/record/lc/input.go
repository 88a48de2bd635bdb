package lc

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/go-pcp/pcp/internal/console"
)

// A lineReader reads whole lines from a terminal.
type lineReader interface {
	ReadLine(prompt string) (string, error)
}

// end is the value of input.last after the last character.
const end = -1

// An input reads commands a character at a time. It prompts before the first character of a
// line.
type input struct {
	s    *session
	in   *bufio.Reader
	tty  lineReader // nil if standard input is not a terminal
	edit []byte     // rest of the line from tty

	echo, prompt bool
	metrics      bool // in the metrics of a statement, which have a prompt of their own
	last         int  // the character before, or end
	lineno       int
	err          error
}

func newInput(s *session, in io.Reader, echo, prompt bool, tty lineReader) *input {
	return &input{s: s, in: bufio.NewReader(in), tty: tty, echo: echo, prompt: prompt, last: '\n'}
}

// ended reports whether there is nothing more to read (yywrap).
func (in *input) ended() bool { return in.last == end }

// next returns the next character. At the end ok is false.
func (in *input) next() (c byte, ok bool) {
	if in.last == end {
		return 0, false
	}
	prompt := ""
	if in.last == '\n' {
		in.lineno++
		if in.prompt {
			prompt = "pmlc> "
			if in.metrics {
				prompt = "? "
			}
		}
	}
	c, err := in.read(prompt)
	if err != nil {
		if err != io.EOF {
			in.err = err
		}
		in.last = end
		return 0, false
	}
	in.last = int(c)
	if in.echo {
		in.s.out.Write([]byte{c})
	}
	return c, true
}

// read takes a character from the source.
func (in *input) read(prompt string) (byte, error) {
	if in.tty == nil {
		in.s.out.Write([]byte(prompt))
		if in.in.Buffered() == 0 {
			in.s.flush()
		}
		return in.in.ReadByte()
	}
	if len(in.edit) == 0 {
		in.s.flush()
		line, err := in.tty.ReadLine(prompt)
		if err != nil {
			return 0, err
		}
		in.edit = append([]byte(line), '\n')
	}
	c := in.edit[0]
	in.edit = in.edit[1:]
	return c, nil
}

// skip reads up to the end of the line, or of the list of metrics and its line, unless that has been
// read already (skipAhead).
func (in *input) skip(list bool) {
	if list {
		for in.last != '}' && in.last != end {
			in.next()
		}
		in.metrics = false
	}
	for in.last != '\n' && in.last != end {
		in.next()
	}
}

// interrupted reports whether the user ended the input by Ctrl-C.
func (in *input) interrupted() bool { return errors.Is(in.err, console.ErrInterrupted) }

// warnf warns about the line that is being read (yywarn).
func (in *input) warnf(format string, args ...any) {
	in.s.errorf("Warning [<stdin>, line %d]\n%s\n", in.lineno, fmt.Sprintf(format, args...))
}

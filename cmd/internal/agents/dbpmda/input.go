package dbpmda

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-pcp/pcp/internal/console"
)

const (
	rcFile = ".dbpmdarc"
	// maxLine is the maximum length of a line.
	maxLine = 1 << 20
)

// A lineReader reads whole lines from a terminal.
type lineReader interface {
	ReadLine(prompt string) (string, error)
}

// An input reads commands a character at a time: first from .dbpmdarc, then from
// standard input.
type input struct {
	s    *session
	in   *bufio.Reader
	rc   *bufio.Reader // until its end
	tty  lineReader    // nil if standard input is not a terminal
	edit []byte        // rest of the line from tty

	echo, prompt bool // of standard input; the file is always echoed
	last         byte // the character before: 0 at the end
	line         []byte
	lineno       int
	err          error
}

func newInput(s *session, echo, prompt, norc bool, tty lineReader) *input {
	in := &input{s: s, in: bufio.NewReader(s.env.Stdin), tty: tty, echo: echo, prompt: prompt, last: '\n'}
	if !norc {
		if data, err := os.ReadFile(rcFile); err == nil {
			in.rc = bufio.NewReader(strings.NewReader(string(data)))
		}
	}
	return in
}

// name is the prompt, and config is the file name in errors.
func (in *input) name() string {
	if in.rc != nil {
		return rcFile
	}
	return "dbpmda"
}

func (in *input) prompting() bool { return in.rc != nil || in.prompt }

// ended reports whether there is nothing more to read (yywrap).
func (in *input) ended() bool { return in.last == 0 }

// next returns the next character. At the end ok is false.
func (in *input) next() (c byte, ok bool) {
	if in.last == 0 {
		return 0, false
	}
	if in.last == '\n' {
		if in.prompting() && (in.rc != nil || in.tty == nil) {
			in.s.printf("%s> ", in.name())
		}
		in.lineno++
		in.line = in.line[:0]
	}
	for {
		c := in.read()
		if c != 0 && len(in.line) == maxLine {
			in.err = fmt.Errorf("line %d has more than %d characters", in.lineno, maxLine)
			c = 0
		}
		if c != 0 {
			in.line = append(in.line, c)
			in.last = c
			return c, true
		}
		if in.rc == nil || in.err != nil {
			in.last = 0
			return 0, false
		}
		// The first line of the input continues a last line without a newline.
		in.rc = nil
		in.lineno = 1
		if in.prompt {
			if in.tty != nil {
				in.s.printf("\n")
			} else {
				in.s.printf("%s> ", in.name())
			}
		}
	}
}

// read reads a character from the source, 0 at the end.
func (in *input) read() byte {
	if in.rc == nil && in.tty != nil {
		return in.readTerminal()
	}
	r, echo := in.in, in.echo
	if in.rc != nil {
		r, echo = in.rc, true
	}
	for {
		if r.Buffered() == 0 {
			in.s.flush()
		}
		c, err := r.ReadByte()
		if err != nil {
			if err != io.EOF {
				in.err = err
			}
			return 0
		}
		if c == '\r' {
			continue
		}
		if echo && c != 0 {
			in.s.out.Write([]byte{c})
		}
		return c
	}
}

func (in *input) readTerminal() byte {
	for len(in.edit) == 0 {
		in.s.flush()
		prompt := ""
		if in.prompt {
			prompt = in.name() + "> "
		}
		line, err := in.tty.ReadLine(prompt)
		if err != nil {
			if err != io.EOF && err != console.ErrInterrupted {
				in.err = err
			}
			return 0
		}
		if line != "" {
			in.edit = append([]byte(line), '\n')
		}
	}
	c := in.edit[0]
	in.edit = in.edit[1:]
	return c
}

// errorf reports a mistake in the line that is being read, and skips the rest
// of it (yyerror).
func (in *input) errorf(format string, args ...any) {
	mark := len(in.line)
	for c, ok := in.last, true; ok && c != '\n'; {
		c, ok = in.next()
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", len(in.name())+1))
	for _, c := range in.line[:min(mark, len(in.line))] {
		if c == '\n' {
			break
		}
		if c != '\t' {
			c = ' '
		}
		b.WriteByte(c)
	}
	in.s.printf("%s^ at or near here\n", b.String())
	where := ""
	if in.rc != nil {
		where = fmt.Sprintf(" [%s, line %d]", rcFile, in.lineno)
	}
	in.s.errorf("Error%s: %s\nType 'help' for a list of commands.\n", where, fmt.Sprintf(format, args...))
}

// warnf warns about the line that is being read (yywarn).
func (in *input) warnf(format string, args ...any) {
	if in.rc != nil {
		in.s.errorf("Warning [%s, line %d]\n%s\n", rcFile, in.lineno, fmt.Sprintf(format, args...))
		return
	}
	in.s.errorf("Warning: %s\n", fmt.Sprintf(format, args...))
}

// words splits the rest of the line into arguments of a program like a simple shell:
// blanks separate, quotes of either kind keep them together.
func (in *input) words() []string {
	var words []string
	var word []byte
	var quote byte
	if in.last == '\n' {
		return nil
	}
	for {
		c, ok := in.next()
		switch {
		case ok && quote != 0 && c == quote:
			quote = 0
		case ok && quote != 0:
			word = append(word, c)
		case !ok || c == ' ' || c == '\t' || c == '\n':
			if len(word) > 0 {
				words = append(words, string(word))
				word = word[:0]
			}
			if !ok || c == '\n' {
				return words
			}
		case c == '"' || c == '\'':
			quote = c
		default:
			word = append(word, c)
		}
	}
}

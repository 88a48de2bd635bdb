package console

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/term"
)

// ErrInterrupted is returned by ReadLine for Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// An Editor reads lines from a terminal, with editing and history. The terminal is
// in raw mode only meanwhile.
type Editor struct {
	fd   int
	in   interruptible
	term *term.Terminal
	raw  atomic.Pointer[term.State] // the state to restore, nil if restored
}

// NewEditor returns an Editor that shows the lines on out, which must not keep anything back,
// or nil if in is not a terminal.
func NewEditor(in io.Reader, out io.Writer) *Editor {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	e := &Editor{fd: int(f.Fd()), in: interruptible{r: f}}
	e.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&e.in, out}, "")
	return e
}

// ReadLine reads a line, and returns it without its end. At the end of the input the error is io.EOF.
func (e *Editor) ReadLine(prompt string) (string, error) {
	old, err := term.MakeRaw(e.fd)
	if err != nil {
		return "", err
	}
	e.raw.Store(old)
	defer e.Restore()
	if width, height, err := term.GetSize(e.fd); err == nil && width > 0 {
		e.term.SetSize(width, height)
	}
	e.term.SetPrompt(prompt)
	e.in.interrupted = false
	line, err := e.term.ReadLine()
	if err == io.EOF && e.in.interrupted {
		err = ErrInterrupted
	}
	return line, err
}

// Restore has the terminal be as it was, for a program that ends while a ReadLine in another
// goroutine still waits.
func (e *Editor) Restore() {
	if old := e.raw.Swap(nil); old != nil {
		term.Restore(e.fd, old)
	}
}

// interruptible notes the character that Ctrl-C sends, which a term.Terminal takes for the end.
type interruptible struct {
	r           io.Reader
	interrupted bool
}

func (i *interruptible) Read(b []byte) (int, error) {
	n, err := i.r.Read(b)
	if bytes.IndexByte(b[:n], 3) >= 0 {
		i.interrupted = true
	}
	return n, err
}

package cli

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// A Mark precedes each control character that a command itself sends to a terminal, for colours and
// to move the cursor; see Env.Own. It is chosen at random when the program starts, so that names
// and values from elsewhere cannot have it. The zero Mark is for output that goes to no [Terminal].
type Mark string

// newMark returns a Mark. Its first byte is a control character, which few texts have.
func newMark() Mark { return Mark("\x00" + rand.Text()) }

// own returns s with the mark before each control character.
func (m Mark) own(s string) string {
	if m == "" || strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if isControl(rune(s[i])) {
			b.WriteString(string(m))
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isControl reports whether a character of ASCII does something to a terminal other than to end a
// line or advance to a tab.
func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }

// A Terminal writes to a terminal. Bytes that could do anything there except show characters become
// question marks, as with ps(1) and ls(1): control characters, bytes that are not UTF-8, and
// characters that reverse text or hide in it. Only control characters behind the mark pass, which
// are those of the command. All output of commands to a terminal goes through a Terminal, except
// output to [Env.Screen].
//
// Once the file is no longer a terminal, as when a daemon replaces standard error by its log,
// everything passes.
//
// Its methods may be called from several goroutines.
type Terminal struct {
	f    *os.File
	w    io.Writer
	is   func() bool // reports whether w is still a terminal
	mark Mark
	// ascii is set if the terminal does not have UTF-8: bytes of it would be control characters there.
	ascii bool

	mu   sync.Mutex
	rest []byte // the incomplete character at the end of the output
	buf  []byte
}

// newTerminal returns a Terminal on f.
func newTerminal(f *os.File, mark Mark, getenv func(string) string) *Terminal {
	return &Terminal{f: f, w: f, is: func() bool { return term.IsTerminal(int(f.Fd())) }, mark: mark, ascii: otherCharset(getenv)}
}

// otherCharset reports whether the environment names a character set other than UTF-8. Where it names none, as in a container, the
// terminal has UTF-8.
func otherCharset(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			_, set, found := strings.Cut(v, ".")
			set, _, _ = strings.Cut(set, "@")
			return found && !strings.EqualFold(strings.ReplaceAll(set, "-", ""), "utf8")
		}
	}
	return false
}

func (t *Terminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.is() {
		if err := t.putRest(); err != nil {
			return 0, err
		}
		return t.w.Write(b)
	}
	src := b
	if len(t.rest) > 0 {
		src = append(t.rest, b...)
	}
	out, rest := t.clean(t.buf[:0], src)
	t.rest = append(t.rest[:0:0], rest...)
	if t.buf = out[:0]; cap(out) > 1<<16 {
		t.buf = nil
	}
	if len(out) == 0 {
		return len(b), nil
	}
	if _, err := t.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close writes an incomplete character. The file stays open.
func (t *Terminal) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.putRest()
}

func (t *Terminal) putRest() error {
	if len(t.rest) == 0 {
		return nil
	}
	rest := t.rest
	if t.is() {
		rest = bytes.Repeat([]byte("?"), len(rest))
	}
	t.rest = nil
	_, err := t.w.Write(rest)
	return err
}

// clean appends src as it is shown to dst. The rest is the beginning of a character or of a mark.
func (t *Terminal) clean(dst, src []byte) (out, rest []byte) {
	for len(src) > 0 {
		n := 0
		for n < len(src) && (src[n] >= ' ' && src[n] < 0x7f || src[n] == '\n' || src[n] == '\t') {
			n++
		}
		dst = append(dst, src[:n]...)
		if src = src[n:]; len(src) == 0 {
			break
		}
		switch c := src[0]; {
		case t.mark != "" && c == t.mark[0]:
			own, found := bytes.CutPrefix(src, []byte(t.mark))
			switch {
			case found && len(own) > 0:
				dst, src = append(dst, own[0]), own[1:]
			case found || strings.HasPrefix(string(t.mark), string(src)):
				return dst, src
			default:
				dst, src = append(dst, '?'), src[1:]
			}
		case c == '\r' && len(src) == 1:
			return dst, src
		case c == '\r' && src[1] == '\n': // the end of a line of some formats
			dst, src = append(dst, "\r\n"...), src[2:]
		case c < utf8.RuneSelf:
			dst, src = append(dst, '?'), src[1:]
		case !utf8.FullRune(src):
			return dst, src
		default:
			r, size := utf8.DecodeRune(src)
			if t.ascii || r == utf8.RuneError && size == 1 || Hidden(r) {
				dst = append(dst, '?')
			} else {
				dst = append(dst, src[:size]...)
			}
			src = src[size:]
		}
	}
	return dst, nil
}

// Hidden reports whether a character does something to a line of text except show itself: controls,
// and characters that reverse text, end lines or are invisible. Joiners are not included: scripts
// and emoji need them.
func Hidden(r rune) bool {
	switch {
	case r < 0x80:
		return isControl(r) || r == '\n' || r == '\t'
	case r < 0xa0:
		return true
	case r < 0x600:
		return r == 0xad
	case r == 0x200c || r == 0x200d:
		return false
	case r == 0x2028 || r == 0x2029 || r >= 0xe0000 && r <= 0xe00ff:
		return true
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Streams makes standard output and standard error of this process those of e. Output to a terminal
// goes through a [Terminal]; other output is written unchanged. The caller must call the returned
// function at the end of the program; it flushes the output.
func (e *Env) Streams() (finish func() error) {
	is := func(f *os.File) func() bool {
		yes := term.IsTerminal(int(f.Fd()))
		return func() bool { return yes }
	}
	e.OutTerminal, e.ErrTerminal = is(os.Stdout), is(os.Stderr)
	if e.OutTerminal() || e.ErrTerminal() {
		e.mark = newMark()
	}
	e.Stderr = os.Stderr
	var ends []io.Closer
	if e.ErrTerminal() {
		t := newTerminal(os.Stderr, e.mark, e.Getenv)
		e.Stderr, ends = t, append(ends, t)
	}
	out := output{Writer: bufio.NewWriterSize(os.Stdout, outputSize), lines: isDevice(os.Stdout)}
	if e.OutTerminal() {
		t := newTerminal(os.Stdout, e.mark, e.Getenv)
		out.Writer, ends = bufio.NewWriterSize(t, outputSize), append(ends, t)
		e.Screen = os.Stdout
	}
	e.Stdout = out
	return func() error {
		err := out.Flush()
		for _, t := range ends {
			if e := t.Close(); err == nil {
				err = e
			}
		}
		return err
	}
}

// outputSize is the size of the buffer of standard output.
const outputSize = 4096

func isDevice(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}

// An output buffers standard output as C's stdio does, so that output on a
// terminal, or in one file with standard error, is in the same order as with
// the C tools: by lines to a terminal, else in blocks.
type output struct {
	*bufio.Writer
	lines bool
}

func (o output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err == nil && o.lines && bytes.IndexByte(b, '\n') >= 0 {
		err = o.Flush()
	}
	return n, err
}

func (o output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

func (o output) WriteByte(c byte) error {
	err := o.Writer.WriteByte(c)
	if err == nil && o.lines && c == '\n' {
		err = o.Flush()
	}
	return err
}

// Own returns s, a text of the command itself and not of its data, so that control characters in it reach the terminal that Stdout
// is. If Stdout is not a terminal, it returns s as it is.
func (e *Env) Own(s string) string {
	if e.OutTerminal == nil || !e.OutTerminal() {
		return s
	}
	return e.mark.own(s)
}

// OwnErr is Own for Stderr.
func (e *Env) OwnErr(s string) string {
	if e.ErrTerminal == nil || !e.ErrTerminal() {
		return s
	}
	return e.mark.own(s)
}

// Editor returns a writer to Stdout that does not buffer, for a line editor: all control characters
// are its own.
func (e *Env) Editor() io.Writer { return editing{e} }

type editing struct{ env *Env }

func (w editing) Write(b []byte) (int, error) {
	_, err := io.WriteString(w.env.Unbuffered(), w.env.Own(string(b)))
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// ProcessStderr returns the file of standard error if Stderr is that of this process, and reports whether it is: for programs that
// write there themselves, and for logs that take its place.
func (e *Env) ProcessStderr() (*os.File, bool) {
	stderr := e.Stderr
	if w, ok := stderr.(words); ok {
		stderr = w.w
	}
	switch w := stderr.(type) {
	case *os.File:
		return w, w == os.Stderr
	case *Terminal:
		return w.f, w.f == os.Stderr
	}
	return nil, false
}

// ChildStderr returns the standard error of a child process: the file itself if there is one, so
// that the child finds a terminal if there is one.
func (e *Env) ChildStderr() io.Writer {
	if f, ok := e.ProcessStderr(); ok {
		return f
	}
	return e.Stderr
}

package cpp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Limits of the input. Beyond them Next returns an error.
const (
	MaxLevel = 5       // files open at a time, the first one included
	MaxLine  = 1 << 16 // bytes in a line, before and after substitution
	MaxLines = 1 << 24 // lines read from all files
)

// A Config configures a Reader. Its zero value reads like pmcpp(1) without
// options, except that nothing runs a command or names a directory to search.
type Config struct {
	// Percent makes % introduce control lines, and # and /* mean nothing (-s).
	Percent bool
	// Restrict substitutes only in #name and #{name} (-r).
	Restrict bool
	// IncludeDirs are searched for included files, after the working
	// directory and that of the first file.
	IncludeDirs []string
	// Builtin, if not nil, returns the text of an included file that is not found.
	Builtin func(name string) (text string, ok bool)
	// Shell starts the command of a #shell line; its output replaces the line,
	// and Close waits for its end. Nil refuses such lines. See Shell.
	Shell func(command string) (io.ReadCloser, error)
	// Warn, if not nil, is called with problems that do not end the reading.
	Warn func(message string)
}

// A Line is a line of output or, with Marker set, a note that the next line is
// line No of File. Text has no newline and is valid until the next call of Next.
type Line struct {
	File   string
	No     int
	Text   []byte
	Marker bool
}

// An Error is the error that ended the reading.
type Error struct {
	File string
	Line int    // 0 if it concerns the file as a whole
	Text string // of the line, without its newline
	Msg  string
	Err  error // if there is a cause
}

// Error returns the place and the message, in one line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Diagnostic returns the error as pmcpp prints it on its standard error.
func (e *Error) Diagnostic() string {
	if e.Line == 0 {
		return fmt.Sprintf("pmcpp: %s:\npmcpp: Error: %s\n", e.File, e.Msg)
	}
	return fmt.Sprintf("pmcpp: %s[%d]: %s\npmcpp: Error: %s\n", e.File, e.Line, e.Text, e.Msg)
}

// A Reader preprocesses a file line by line. Use it from one goroutine.
type Reader struct {
	cfg    Config
	ctl    byte
	dirs   []string
	macros map[string]string
	files  []file // the last is being read
	marker bool   // due before the next line
	lines  int

	comment int // line on which a comment began, 0 outside
	cond    int // line of the #ifdef that is open, 0 if none
	skip    bool

	size      int // of pmcpp's buffer; see read
	line, out []byte
	err       error
}

type file struct {
	name  string
	r     *bufio.Reader
	c     io.Closer
	line  int
	shell bool
}

// Open reads the file of that name, which must not be a directory or pipe.
func Open(name string, cfg Config) (*Reader, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, &Error{File: name, Msg: message(err), Err: err}
	}
	r := NewReader(f, name, cfg)
	r.dirs = append([]string{filepath.Dir(name)}, cfg.IncludeDirs...)
	r.files[0].c = f
	return r, nil
}

// NewReader reads from in, which errors call name; pmcpp calls its standard input
// <stdin>.
func NewReader(in io.Reader, name string, cfg Config) *Reader {
	r := &Reader{cfg: cfg, ctl: '#', dirs: cfg.IncludeDirs, macros: make(map[string]string), marker: true, size: firstSize}
	if cfg.Percent {
		r.ctl = '%'
	}
	r.push(name, in, nil, false)
	return r
}

func openFile(name string) (*os.File, error) {
	// Opening a pipe, which is refused, must not wait.
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if m := st.Mode(); !m.IsRegular() && m&fs.ModeCharDevice == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return os.Open(name)
}

// message is the text of strerror(3) for err.
func message(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func (r *Reader) push(name string, in io.Reader, c io.Closer, shell bool) {
	r.files = append(r.files, file{name: name, r: bufio.NewReader(in), c: c, shell: shell})
	r.marker = true
}

func (r *Reader) cur() *file { return &r.files[len(r.files)-1] }

// Close closes the open files.
func (r *Reader) Close() error {
	var errs []error
	for len(r.files) > 0 {
		if c := r.cur().c; c != nil && !r.cur().shell {
			errs = append(errs, c.Close())
		} else if c != nil {
			c.Close()
		}
		r.files = r.files[:len(r.files)-1]
	}
	if r.err == nil {
		r.err = fs.ErrClosed
	}
	return errors.Join(errs...)
}

// Next returns the next line. At the end its error is io.EOF, or an *Error.
// Further calls return the same error.
func (r *Reader) Next() (Line, error) {
	for r.err == nil {
		f := r.cur()
		if r.marker {
			r.marker = false
			return Line{File: f.name, No: f.line + 1, Marker: true}, nil
		}
		ok, err := r.read(f)
		if err != nil {
			r.err = err
			break
		}
		if !ok {
			r.err = r.pop()
			continue
		}
		text, emit, err := r.process()
		if err != nil {
			r.err = err
			break
		}
		if emit {
			return Line{File: f.name, No: f.line, Text: text}, nil
		}
	}
	return Line{}, r.err
}

// Copy writes the lines of Next to w until the end of the input, markers as lines
// like # 1 "file" if they are wanted. It is pmcpp(1).
func (r *Reader) Copy(w io.Writer, markers bool) error {
	b := bufio.NewWriter(w)
	for {
		l, err := r.Next()
		if err != nil {
			if werr := b.Flush(); werr != nil || err == io.EOF {
				return werr
			}
			return err
		}
		if l.Marker {
			if markers {
				fmt.Fprintf(b, "# %d \"%s\"\n", l.No, l.File)
			}
			continue
		}
		b.Write(l.Text)
		if err := b.WriteByte('\n'); err != nil {
			return err
		}
	}
}

// read reads a line into r.line, without its newline. Like pmcpp it reads pieces
// that fit into a buffer. A piece with a NUL ends there, and the line continues
// with the next piece. A last line without a newline is not a line.
func (r *Reader) read(f *file) (bool, error) {
	r.line = r.line[:0]
	for {
		whole, err := r.piece(f, r.size-len(r.line)-1)
		switch {
		case len(r.line) >= MaxLine:
			f.line++
			r.line = r.line[:0]
			return false, r.fail("line of more than %d bytes", MaxLine)
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, &Error{File: f.name, Msg: message(err), Err: err}
		case !whole:
			r.size = min(2*r.size, 1<<30)
			continue
		}
		f.line++
		if r.lines++; r.lines > MaxLines {
			return false, r.fail("more than %d lines in all", MaxLines)
		}
		return true, nil
	}
}

// firstSize is the initial size of pmcpp's buffer.
const firstSize = 256

// piece adds to r.line the bytes that fgets(3) reads with room for size bytes, and
// reports whether the line ends with it. It keeps only enough to show that the
// line is too long.
func (r *Reader) piece(f *file, size int) (whole bool, err error) {
	ended := false // at a NUL
	for ; size > 0; size-- {
		c, err := f.r.ReadByte()
		switch {
		case err != nil:
			return false, err
		case c == '\n':
			return !ended, nil
		case c == 0:
			ended = true
		case !ended:
			if r.line = append(r.line, c); len(r.line) >= MaxLine {
				return false, nil
			}
		}
	}
	return false, nil
}

// pop leaves a file at its end.
func (r *Reader) pop() error {
	f := r.cur()
	if f.c != nil {
		if err := f.c.Close(); err != nil && f.shell {
			r.warn(err)
		}
		f.c = nil
	}
	if len(r.files) > 1 {
		r.files = r.files[:len(r.files)-1]
		r.marker = true
		return nil
	}
	switch {
	case r.comment > 0:
		return &Error{File: f.name, Msg: fmt.Sprintf("Comment at line %d not terminated before end of file", r.comment)}
	case r.cond > 0:
		return &Error{File: f.name, Msg: fmt.Sprintf("End of input and no matching %cendif for %[1]cifdef or %[1]cifndef at line %[2]d", r.ctl, r.cond)}
	}
	return io.EOF
}

func (r *Reader) fail(format string, args ...any) error {
	f := r.cur()
	return &Error{File: f.name, Line: f.line, Text: string(r.line), Msg: fmt.Sprintf(format, args...)}
}

// process turns r.line into its output, if any.
func (r *Reader) process() (text []byte, emit bool, err error) {
	if !r.cfg.Percent {
		r.stripComments()
		if r.comment > 0 && len(r.line) == 0 {
			return nil, true, nil
		}
	}
	if len(r.line) > 0 && r.line[0] == r.ctl {
		done, emit, err := r.control()
		if done || err != nil {
			return nil, emit, err
		}
	}
	if r.skip {
		return nil, true, nil
	}
	text, err = r.expand()
	return text, true, err
}

// stripComments blanks comments, and drops the white space that is then at the
// end of such a line.
func (r *Reader) stripComments() {
	if r.comment == 0 && !bytes.Contains(r.line, []byte("/*")) {
		return
	}
	b := r.line
	for i := 0; i < len(b); i++ {
		open := r.comment > 0
		mark := "/*"
		if open {
			mark = "*/"
		}
		if b[i] == mark[0] && i+1 < len(b) && b[i+1] == mark[1] {
			b[i], b[i+1] = ' ', ' '
			i++
			if r.comment = r.cur().line; open {
				r.comment = 0
			}
		} else if open {
			b[i] = ' '
		}
	}
	r.line = bytes.TrimRight(b, " \t\v\f\r")
}

// control handles a control line. Done is false if it is not one: pmcpp then
// treats it as text.
func (r *Reader) control() (done, emit bool, err error) {
	word, rest := r.directive()
	switch word {
	case "":
		return false, false, nil
	case "include", "shell":
		if r.skip {
			return true, true, nil
		}
		return true, false, r.enter(word, rest)
	}
	return true, true, r.condition(word, rest)
}

// directive finds the directive at the beginning of the line. The text after it
// need not be separated by a space.
func (r *Reader) directive() (word, rest string) {
	line := string(r.line[1:])
	for _, w := range [...]string{"include", "shell", "define", "undef", "ifdef", "ifndef", "endif", "else"} {
		if rest, ok := strings.CutPrefix(line, w); ok {
			return w, strings.TrimLeft(rest, " \t")
		}
	}
	return "", ""
}

// enter handles #include and #shell.
func (r *Reader) enter(word, rest string) error {
	quotes, expected, after, other := `""<>`, `" or <`, "file name", "shell"
	if word == "shell" {
		quotes, expected, after, other = `""''`, `" or '`, "command", "include"
	}
	var end byte
	for i := 0; i < len(quotes) && rest != ""; i += 2 {
		if rest[0] == quotes[i] {
			end = quotes[i+1]
		}
	}
	if end == 0 {
		return r.fail("Expected %s after %c%s", expected, r.ctl, word)
	}
	arg, tail, ok := strings.Cut(rest[1:], string(end))
	if !ok {
		return r.fail("Expected %c after %s", end, after)
	}
	if len(r.files) == MaxLevel {
		return r.fail("%c%s and/or %[1]c%[3]s nesting too deep", r.ctl, word, other)
	}
	if strings.TrimSpace(tail) != "" {
		return r.fail("Unexpected extra text in %c%s line", r.ctl, word)
	}
	if word == "include" {
		return r.include(arg)
	}
	if r.cfg.Shell == nil {
		return r.fail("%cshell is not supported here", r.ctl)
	}
	out, err := r.cfg.Shell(arg)
	if err != nil {
		return r.fail("Cannot open pipe for %cshell", r.ctl)
	}
	r.push("<shell>", out, out, true)
	return nil
}

func (r *Reader) include(name string) error {
	paths := []string{name}
	if !filepath.IsAbs(name) {
		for _, dir := range r.dirs {
			paths = append(paths, dir+"/"+name)
		}
	}
	for _, path := range paths {
		if f, err := openFile(path); err == nil {
			r.push(path, f, f, false)
			return nil
		}
	}
	if r.cfg.Builtin != nil {
		if text, ok := r.cfg.Builtin(name); ok {
			r.push("<"+name+">", strings.NewReader(text), nil, false)
			return nil
		}
	}
	return r.fail("Cannot open file for %cinclude", r.ctl)
}

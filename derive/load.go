package derive

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/ctext"
)

// maxFile is the maximum size of a file of definitions, in bytes.
const maxFile = 16 << 20

// maxNesting is the maximum nesting of directories of definitions.
const maxNesting = 16

// Read adds the definitions of r and returns their number. The name of the file
// is for messages. Each line defines a metric or gives it a text:
//
//	disk.dev.read_pct = 100 * delta(disk.dev.read) / \
//	    (delta(disk.dev.read) + delta(disk.dev.write))
//	disk.dev.read_pct(oneline) = percentage of disk reads
//	disk.dev.read_pct(helptext) = "Percentage of disk reads
//	compared to the total number of disk reads and writes."
//
// A line whose first character is # is a comment, except "#control" with settings, see [Control]. Errors in
// definitions are returned as one [Errors]; the other definitions are added. An error of r is returned unchanged.
func (s *Set) Read(r io.Reader, file string) (n int, err error) {
	return s.read(r, file, 0)
}

// read is Read, for a file that has about size bytes.
func (s *Set) read(r io.Reader, file string, size int64) (n int, err error) {
	buf := bytes.NewBuffer(make([]byte, 0, min(size, maxFile)+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(r, maxFile+1)); err != nil {
		return 0, err
	}
	if buf.Len() > maxFile {
		return 0, fmt.Errorf("%s: more than %d bytes: %w", file, maxFile, pcp.ErrTooBig)
	}
	return s.readText(buf.String(), file)
}

// maxExpected is the maximum number of definitions of a file for which memory is
// allocated in advance.
const maxExpected = 1 << 10

// readText is Read of a text.
func (s *Set) readText(text, file string) (n int, err error) {
	s.expect(min(strings.Count(text, "\n"), maxExpected))
	d := reader{set: s, file: file, rest: text}
	d.read()
	if len(d.errs) > 0 {
		return d.added, d.errs
	}
	return d.added, nil
}

// A reader reads the lines of a file.
type reader struct {
	set   *Set
	file  string
	rest  string // the unread part
	line  int    // lines read
	added int
	errs  Errors
}

// readLine returns a line without its end, false after the last.
func (d *reader) readLine() (string, bool) {
	if d.rest == "" {
		return "", false
	}
	line, rest, _ := strings.Cut(d.rest, "\n")
	d.rest = rest
	d.line++
	return line, true
}

func (d *reader) read() {
	for {
		line, ok := d.readLine()
		if !ok {
			return
		}
		at := d.line
		for strings.HasSuffix(line, `\`) && !d.isText(line) {
			next, ok := d.readLine()
			if !ok {
				break
			}
			line = line[:len(line)-1] + next
		}
		line = ctext.String(line)
		if line == "" {
			continue
		}
		if line[0] == '#' {
			d.control(line)
			continue
		}
		d.statement(line, at)
	}
}

// isText reports whether line starts a text: a backslash at its end is part of it.
func (d *reader) isText(line string) bool {
	before, _, ok := strings.Cut(line, "=")
	return ok && strings.Contains(before, "(")
}

func (d *reader) fail(at int, name, format string, args ...any) {
	d.report(&Error{File: d.file, Line: at, Name: name, Column: -1, Msg: fmt.Sprintf(format, args...)})
}

// report reports an error, or keeps it for later.
func (d *reader) report(e *Error) {
	if d.set.Report != nil {
		d.set.Report(e)
		return
	}
	d.errs = append(d.errs, e)
}

// statement processes the line that started at line number at.
func (d *reader) statement(line string, at int) {
	const load = "Error: pmLoadDerivedConfig: "
	name, value, ok := strings.Cut(line, "=")
	if !ok {
		d.fail(at, "", load+"missing ``='' after derived metric name\n%s", line)
		return
	}
	open, end := strings.IndexByte(name, '('), strings.IndexByte(name, ')')
	left := name
	if open >= 0 {
		left = name[:open]
	}
	left = strings.Trim(left, ctext.Space)
	switch {
	case left == "":
		d.fail(at, "", load+"derived metric name missing\n%s", line)
		return
	case !validName(left):
		d.fail(at, "", load+"illegal derived metric name (%s)", left)
		return
	case open >= 0 && end < 0:
		d.fail(at, left, load+"missing ')' after attribute\n%s", line)
		return
	case open < 0 && end >= 0:
		d.fail(at, left, load+"missing '(' before attribute\n%s", line)
		return
	case open < 0:
		d.define(left, value, line, at)
		return
	}
	attr := strings.Trim(name[min(open+1, max(end, 0)):max(end, 0)], ctext.Space)
	if attr == "" {
		d.fail(at, left, load+"attribute name missing\n%s", line)
		return
	}
	value = ctext.TrimSpace(value)
	if quoted := value != "" && (value[0] == '"' || value[0] == '\''); value == "" || quoted && len(value) == 1 {
		d.fail(at, left, load+"attribute value missing\n%s", line)
		return
	} else if quoted {
		if value, ok = d.quoted(left, value, at); !ok {
			return
		}
	}
	kind := pcp.TextKind(0)
	switch attr {
	case "oneline":
		kind = pcp.TextOneLine
	case "helptext":
		kind = pcp.TextHelp
	}
	_, defined := d.set.index(left)
	if log := d.set.tracing(traceParse); log != nil {
		log.Printf("setattr: name=\"%s\" attr=\"%s\" value=\"%s\"\n", left, attr, value)
	}
	switch {
	case !defined:
		d.fail(at, left, load+"cannot set attribute, derived metric (%s) not defined\n%s", left, line)
	case kind == 0:
		d.fail(at, left, load+"attribute (%s) is unknown for metric (%s)\n%s", attr, left, line)
	case d.set.AddText(left, kind, value) != nil:
		d.fail(at, left, load+"duplicate value for attribute (%s) of metric (%s)\n%s", attr, left, line)
	}
}

// define adds a metric. The message of an error shows everything after the equals
// sign.
func (d *reader) define(name, value, line string, at int) {
	expr := ctext.TrimSpace(value)
	if expr == "" {
		d.fail(at, name, "Error: pmLoadDerivedConfig: expression missing\n%s", line)
		return
	}
	if e := d.set.add(name, expr); e != nil {
		e.File, e.Line = d.file, at
		e.Column += len(value) - len(expr)
		e.Expr = value
		d.report(e)
		return
	}
	d.added++
}

// usualText is the usual maximum length of a text in quotes.
const usualText = 256

// quoted reads a text in quotes, whose first line has been read. It returns false
// if the text does not end.
func (d *reader) quoted(name, line string, at int) (string, bool) {
	quote := line[0]
	rest, lines := line[1:], 0
	var text strings.Builder
	text.Grow(usualText)
	for {
		i := strings.IndexByte(rest, quote)
		if j := strings.IndexByte(rest, '\\'); j >= 0 && (i < 0 || j < i) {
			i = j
		}
		switch {
		case i >= 0 && rest[i] == quote:
			text.WriteString(rest[:i])
			d.extra(rest[i+1:], lines, at)
			return ctext.String(text.String()), true
		case i >= 0 && i+1 < len(rest):
			text.WriteString(rest[:i])
			text.WriteByte(rest[i+1])
			rest = rest[i+2:]
			continue
		case i >= 0: // at the end of the line, which continues
			text.WriteString(rest[:i])
		default:
			text.WriteString(rest)
			text.WriteByte('\n')
		}
		next, ok := d.readLine()
		if !ok {
			d.fail(at, name, "Error: pmLoadDerivedConfig: missing termination (%c) for value", quote)
			return "", false
		}
		rest = next
		lines++
	}
}

// extra warns of text after a closing quote. C ignores the first character if the
// text has several lines.
func (d *reader) extra(rest string, lines, at int) {
	if lines > 0 && rest != "" {
		rest = rest[1:]
	}
	if rest = ctext.TrimSpace(rest); rest != "" {
		d.fail(at, "", "Warning: pmLoadDerivedConfig: extra text (%s) after attribute value will be ignored", rest)
	}
}

// Load adds the definitions of files and returns their number: path is a list of
// files and directories, separated by colons (pmLoadDerivedConfig(3)). It reads
// all files of a directory, including those of directories in it.
//
// It stops at a file that it cannot read. Errors in definitions are returned as
// one [Errors], joined with the error of the file if there is one.
func (s *Set) Load(path string) (n int, err error) {
	s.begin()
	l := loader{set: s}
	err = l.list(path)
	return l.added, l.result(err)
}

// LoadInstalled adds the definitions of an installation: those of
// $PCP_DERIVED_CONFIG, a list as for Load, or if it is not set of
// $PCP_VAR_DIR/config/derived, or if that does not exist those of [Set.LoadBuiltin].
// An empty variable means none. Files and directories that cannot be read are
// skipped; the error is an [Errors].
//
// Before that it applies the settings of $PCP_DERIVED_CONTROL, see [Control].
func (s *Set) LoadInstalled(cfg *config.Config) error {
	l := loader{set: s, lenient: true}
	if list := cfg.Getenv("PCP_DERIVED_CONTROL"); cfg.IsSet("PCP_DERIVED_CONTROL") {
		s.setControls(list, true, func(_, msg string) {
			l.errs = append(l.errs, &Error{File: controlVariable, Column: -1, Msg: "Warning: " + controlVariable + ": " + msg})
		})
	}
	path := cfg.Getenv("PCP_DERIVED_CONFIG")
	from := "$PCP_DERIVED_CONFIG"
	s.begin()
	if !cfg.IsSet("PCP_DERIVED_CONFIG") {
		path = filepath.Join(cfg.Get("PCP_VAR_DIR"), "config", "derived")
		if _, err := os.Stat(path); err != nil {
			return l.result(s.LoadBuiltin())
		}
		from = path
	}
	if path != "" {
		s.tracing().Printf("Derived metric initialization from %s\n", from)
	}
	return l.result(l.list(path))
}

//go:embed builtin.conf
var builtin string

// LoadBuiltin adds this module's own definitions: the load of processors, disks,
// memory and network interfaces (kernel.cpu.util, disk.dev.await and others).
// Definitions that an installation of PCP also has have the same names.
func (s *Set) LoadBuiltin() error {
	first := s.count()
	_, err := s.readText(builtin, "builtin.conf")
	for _, d := range s.snapshot(first) {
		d.quiet = true
	}
	return err
}

// A loader reads files and directories.
type loader struct {
	set     *Set
	lenient bool // skips unreadable files
	added   int
	errs    Errors
}

// result joins the errors in definitions and the error of a file.
func (l *loader) result(err error) error {
	switch {
	case len(l.errs) == 0:
		return err
	case err == nil:
		return l.errs
	}
	return errors.Join(l.errs, err)
}

func (l *loader) list(path string) error {
	for name := range strings.SplitSeq(path, ":") {
		if name == "" {
			continue
		}
		if err := l.load(name, 0); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) load(name string, depth int) error {
	err := l.open(name, depth)
	if l.lenient {
		return nil
	}
	return err
}

func (l *loader) open(name string, depth int) error {
	log := l.set.tracing()
	info, err := os.Stat(name)
	if err != nil {
		log.Printf("Warning: derived metrics path component: %s: %v\n", name, pcp.Code(err))
		return err
	}
	switch {
	case info.Mode().IsRegular():
		return l.file(name, info.Size())
	case info.IsDir() && depth >= maxNesting:
		return &fs.PathError{Op: "read", Path: name, Err: errors.New("directories nested too deep")}
	case info.IsDir():
		return l.dir(name, depth)
	}
	log.Printf("Warning: derived metrics path component: %s: unexpected st_mode=%o?\n", name, unixMode(info.Mode()))
	return nil
}

// unixMode returns the type and permissions of a file as stat(2) has them, for names
// that are neither files nor directories.
func unixMode(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	switch {
	case m&fs.ModeNamedPipe != 0:
		bits |= 0o010000
	case m&fs.ModeSocket != 0:
		bits |= 0o140000
	case m&fs.ModeCharDevice != 0:
		bits |= 0o020000
	case m&fs.ModeDevice != 0:
		bits |= 0o060000
	}
	return bits
}

func (l *loader) file(name string, size int64) error {
	log := l.set.tracing()
	log.Printf("pmLoadDerivedConfig(\"%s\")\n", name)
	f, err := os.Open(name)
	if err != nil {
		log.Printf("pmLoadDerivedConfig(%s): %v\n", name, pcp.Code(err))
		return err
	}
	defer f.Close()
	n, err := l.set.read(f, name, size)
	l.added += n
	if errs := Errors(nil); errors.As(err, &errs) {
		l.errs = append(l.errs, errs...)
		return nil
	}
	return err
}

// dir reads a directory in its own order, as C does: PMIDs depend on it.
func (l *loader) dir(name string, depth int) error {
	f, err := os.Open(name)
	if err != nil {
		l.set.tracing().Printf("Warning: derived metrics path directory component: %s: %v\n", name, pcp.Code(err))
		return err
	}
	names, err := f.Readdirnames(-1)
	f.Close()
	if err != nil {
		return err
	}
	for _, entry := range names {
		if err := l.load(name+string(filepath.Separator)+entry, depth+1); err != nil {
			return err
		}
	}
	return nil
}

package derive

import (
	"bufio"
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

// MaxFile is how large a file of definitions can be, in bytes.
const MaxFile = 16 << 20

// maxNesting is how deep directories of definitions can be nested.
const maxNesting = 16

// Read adds the definitions of r and returns how many it added. The name of the
// file is for messages. Each line defines a metric or gives it a text:
//
//	disk.dev.read_pct = 100 * delta(disk.dev.read) / \
//	    (delta(disk.dev.read) + delta(disk.dev.write))
//	disk.dev.read_pct(oneline) = percentage of disk reads
//	disk.dev.read_pct(helptext) = "Percentage of disk reads
//	compared to the total number of disk reads and writes."
//
// A line whose first character is # is a comment. What is wrong with
// definitions is one [Errors]; the others are added. An error of r
// is returned as it is.
func (s *Set) Read(r io.Reader, file string) (n int, err error) {
	d := reader{set: s, file: file, in: bufio.NewReader(io.LimitReader(r, MaxFile+1))}
	if err := d.read(); err != nil {
		return d.added, err
	}
	if len(d.errs) > 0 {
		return d.added, d.errs
	}
	return d.added, nil
}

// A reader reads the lines of a file.
type reader struct {
	set   *Set
	file  string
	in    *bufio.Reader
	size  int
	line  int // lines read
	added int
	errs  Errors
}

// readLine returns a line without its end, io.EOF after the last.
func (d *reader) readLine() (string, error) {
	line, err := d.in.ReadString('\n')
	if d.size += len(line); d.size > MaxFile {
		return "", fmt.Errorf("%s: more than %d bytes: %w", d.file, MaxFile, pcp.ErrTooBig)
	}
	if err != nil && (err != io.EOF || line == "") {
		return "", err
	}
	d.line++
	return strings.TrimSuffix(line, "\n"), nil
}

func (d *reader) read() error {
	for {
		line, err := d.readLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		at := d.line
		for strings.HasSuffix(line, `\`) && !d.isText(line) {
			next, err := d.readLine()
			if err != nil {
				break
			}
			line = line[:len(line)-1] + next
		}
		line = ctext.String(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := d.statement(line, at); err != nil {
			return err
		}
	}
}

// isText reports whether line starts a text: a backslash at its end is part of it.
func (d *reader) isText(line string) bool {
	before, _, ok := strings.Cut(line, "=")
	return ok && strings.Contains(before, "(")
}

func (d *reader) fail(at int, name, format string, args ...any) {
	d.errs = append(d.errs, &Error{File: d.file, Line: at, Name: name, Column: -1, Msg: fmt.Sprintf(format, args...)})
}

// statement takes in the line that started at line number at.
func (d *reader) statement(line string, at int) error {
	const load = "Error: pmLoadDerivedConfig: "
	name, value, ok := strings.Cut(line, "=")
	if !ok {
		d.fail(at, "", load+"missing ``='' after derived metric name\n%s", line)
		return nil
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
		return nil
	case !validName(left):
		d.fail(at, "", load+"illegal derived metric name (%s)", left)
		return nil
	case open >= 0 && end < 0:
		d.fail(at, left, load+"missing ')' after attribute\n%s", line)
		return nil
	case open < 0 && end >= 0:
		d.fail(at, left, load+"missing '(' before attribute\n%s", line)
		return nil
	case open < 0:
		d.define(left, value, line, at)
		return nil
	}
	attr := strings.Trim(name[min(open+1, max(end, 0)):max(end, 0)], ctext.Space)
	if attr == "" {
		d.fail(at, left, load+"attribute name missing\n%s", line)
		return nil
	}
	value = ctext.TrimSpace(value)
	if quoted := value != "" && (value[0] == '"' || value[0] == '\''); value == "" || quoted && len(value) == 1 {
		d.fail(at, left, load+"attribute value missing\n%s", line)
		return nil
	} else if quoted {
		text, err := d.quoted(left, value, at)
		if err != nil || text == nil {
			return err
		}
		value = *text
	}
	kind, ok := map[string]pcp.TextKind{"oneline": pcp.TextOneLine, "helptext": pcp.TextHelp}[attr]
	_, defined := d.set.Lookup(left)
	switch {
	case !defined:
		d.fail(at, left, load+"cannot set attribute, derived metric (%s) not defined\n%s", left, line)
	case !ok:
		d.fail(at, left, load+"attribute (%s) is unknown for metric (%s)\n%s", attr, left, line)
	case d.set.AddText(left, kind, value) != nil:
		d.fail(at, left, load+"duplicate value for attribute (%s) of metric (%s)\n%s", attr, left, line)
	}
	return nil
}

// define adds a metric. The message of an error shows all that follows the
// equals sign.
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
		d.errs = append(d.errs, e)
		return
	}
	d.added++
}

// quoted reads a text in quotes, of which the first line is here. It returns
// nil if the text does not end.
func (d *reader) quoted(name, line string, at int) (*string, error) {
	quote := line[0]
	rest, lines, escaped := line[1:], 0, false
	var text []byte
	for {
		for i := 0; i < len(rest); i++ {
			c := rest[i]
			switch {
			case escaped:
				escaped = false
				text = append(text, c)
			case c == '\\':
				escaped = true
			case c == quote:
				d.extra(rest[i+1:], lines, at)
				s := ctext.String(string(text))
				return &s, nil
			default:
				text = append(text, c)
			}
		}
		if !escaped {
			text = append(text, '\n')
		}
		escaped = false
		next, err := d.readLine()
		if err == io.EOF {
			d.fail(at, name, "Error: pmLoadDerivedConfig: missing termination (%c) for value", quote)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		rest = next
		lines++
	}
}

// extra warns of what follows a closing quote. C does not look at the first
// character if the text has several lines.
func (d *reader) extra(rest string, lines, at int) {
	if lines > 0 && rest != "" {
		rest = rest[1:]
	}
	if rest = ctext.TrimSpace(rest); rest != "" {
		d.fail(at, "", "Warning: pmLoadDerivedConfig: extra text (%s) after attribute value will be ignored", rest)
	}
}

// Load adds the definitions of files and returns how many it added: path is a
// list of files and directories, separated by colons (pmLoadDerivedConfig(3)).
// Of a directory it reads all files, also those of directories in it.
//
// It stops at a file that it cannot read. What is wrong with definitions is one
// [Errors], joined with the error of the file if there is one.
func (s *Set) Load(path string) (n int, err error) {
	l := loader{set: s}
	err = l.list(path)
	return l.added, l.result(err)
}

// LoadInstalled adds the definitions of an installation: those of
// $PCP_DERIVED_CONFIG, a list as for Load, or if it is not set of
// $PCP_VAR_DIR/config/derived, or if that does not exist those of [Set.LoadBuiltin].
// An empty variable asks for none. Files and directories that cannot be read are
// skipped; the error is an [Errors].
func (s *Set) LoadInstalled(cfg *config.Config) error {
	path := cfg.Getenv("PCP_DERIVED_CONFIG")
	if !cfg.IsSet("PCP_DERIVED_CONFIG") {
		path = filepath.Join(cfg.Get("PCP_VAR_DIR"), "config", "derived")
		if _, err := os.Stat(path); err != nil {
			return s.LoadBuiltin()
		}
	}
	l := loader{set: s, lenient: true}
	return l.result(l.list(path))
}

//go:embed builtin.conf
var builtin string

// LoadBuiltin adds definitions of our own: how busy processors, disks, memory
// and network interfaces are (kernel.cpu.util, disk.dev.await and others). Those that
// an installation of PCP has, too, have its names.
func (s *Set) LoadBuiltin() error {
	_, err := s.Read(strings.NewReader(builtin), "builtin.conf")
	return err
}

// A loader reads files and directories.
type loader struct {
	set     *Set
	lenient bool // skips what cannot be read
	added   int
	errs    Errors
}

// result joins what is wrong with definitions and the error of a file.
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
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		return l.file(name)
	case info.IsDir() && depth >= maxNesting:
		return &fs.PathError{Op: "read", Path: name, Err: errors.New("directories nested too deep")}
	case info.IsDir():
		return l.dir(name, depth)
	}
	return nil
}

func (l *loader) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := l.set.Read(f, name)
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

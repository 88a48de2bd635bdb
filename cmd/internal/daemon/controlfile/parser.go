package controlfile

import (
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Config configures the reading of control files.
type Config struct {
	PMIE       bool   // lines are pmie's, whose format is checked more strictly
	ArchiveDir string // value of PCP_ARCHIVE_DIR
	LogDir     string // value of PCP_LOG_DIR
	Hostname   string // of this host, as printed by hostname(1)
	Stopped    bool   // treat lines stopped by pmlogctl ("#!#host ...") like the others

	Getenv func(string) string // environment variables; nil: there are none
	Now    time.Time           // for date commands; zero: the current time
}

// A Parser reads the control files of one run, one after the other. A variable set in one of them applies
// to the lines and files that follow.
type Parser struct {
	cfg   Config
	vars  map[string]string
	names []string // in the order of their first assignment
}

// NewParser returns a Parser without variables.
func NewParser(cfg Config) *Parser {
	if cfg.Getenv == nil {
		cfg.Getenv = func(string) string { return "" }
	}
	if cfg.Now.IsZero() {
		cfg.Now = time.Now()
	}
	return &Parser{cfg: cfg, vars: make(map[string]string)}
}

// Getenv returns the value of a variable, from the files or else the environment.
func (p *Parser) Getenv(name string) string {
	if v, ok := p.vars[name]; ok {
		return v
	}
	return p.cfg.Getenv(name)
}

func (p *Parser) isSet(name string) bool {
	_, ok := p.vars[name]
	return ok || p.cfg.Getenv(name) != ""
}

// Environ returns the variables set by the files so far, as "NAME=value".
func (p *Parser) Environ() []string {
	list := make([]string, 0, len(p.names))
	for _, name := range p.names {
		list = append(list, name+"="+p.vars[name])
	}
	return list
}

// maxVars is the maximum number of variables set by all files.
const maxVars = 1000

func (p *Parser) set(name, value string) error {
	if _, ok := p.vars[name]; !ok {
		if len(p.names) == maxVars {
			return fmt.Errorf("more than %d variables", maxVars)
		}
		p.names = append(p.names, name)
	}
	p.vars[name] = value
	return nil
}

// A Problem is a problem with a line.
type Problem struct {
	Warning bool // the line is still valid, or did not start a program
	Text    string
}

// A Line is a line that is neither empty nor a comment: an assignment, or a program to run.
type Line struct {
	File   string
	Number int
	Fields [5]string // unexpanded, except for PCP_ARCHIVE_DIR and PCP_LOG_DIR

	// Assignment is an assignment in the form for the shell of the C implementation, "export
	// NAME; NAME=value". It is "" for other lines, and for assignments that are ignored.
	Assignment string

	// Valid reports whether the line describes a program to run, with these fields: variables,
	// commands, LOCALHOSTNAME in Dir and a Host that means this host are replaced. Dir is a log
	// file for pmie.
	Valid   bool
	Host    string // "local:" for this host
	Primary bool
	Socks   bool
	Dir     string
	Args    string // words between blanks; quotes have no effect

	Problems []Problem

	pmie bool // from one of pmie's files
	last bool // the rest of the file is ignored
}

// Local is the host of lines for this host's collector.
const Local = "local:"

// Message formats a problem with a line like the C implementation's scripts. Host is the line's host as far as it is
// known, by default unexpanded.
func (l *Line) Message(prog, host string, pr Problem) string {
	if host == "" {
		host = l.Fields[0]
	}
	if pr.Warning {
		return fmt.Sprintf("%s [%s:%d]\nWarning: %s\n", prog, l.File, l.Number, pr.Text)
	}
	what := "logging"
	if l.pmie {
		what = "automated performance reasoning"
	}
	return fmt.Sprintf("%s: [%s:%d]\nError: %s\n... %s for host \"%s\" unchanged\n", prog, l.File, l.Number, pr.Text, what, host)
}

func (l *Line) warn(format string, args ...any) {
	l.Problems = append(l.Problems, Problem{Warning: true, Text: fmt.Sprintf(format, args...)})
}

func (l *Line) fail(format string, args ...any) {
	l.Problems = append(l.Problems, Problem{Text: fmt.Sprintf(format, args...)})
}

// backups are the suffixes with which package managers name the old or the new version of a file.
var backups = [...]string{".rpmsave", ".rpmnew", ".rpmorig", ".dpkg-dist", ".dpkg-old", ".dpkg-new"}

// IsBackup reports whether a file is a package manager's backup, which is ignored.
func IsBackup(path string) bool {
	return slices.ContainsFunc(backups[:], func(s string) bool { return strings.HasSuffix(path, s) })
}

// Files returns the control file at path and those in the directory path.d, sorted by name. Both may be
// missing.
func Files(path string) []string {
	list := []string{path}
	entries, _ := os.ReadDir(path + ".d")
	for _, e := range entries {
		list = append(list, filepath.Join(path+".d", e.Name()))
	}
	return list
}

// File yields the lines of a file. If it cannot be read, a Line has the problem.
func (p *Parser) File(path string) iter.Seq[*Line] {
	return func(yield func(*Line) bool) {
		top := &Line{File: path, pmie: p.cfg.PMIE}
		if IsBackup(path) {
			top.warn("ignored backup control file \"%s\"", path)
			yield(top)
			return
		}
		st, err := os.Stat(path)
		if err == nil && !st.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a file", path)
		}
		var f *os.File
		if err == nil {
			f, err = os.Open(path)
		}
		if err != nil {
			if pe, ok := err.(*fs.PathError); ok {
				err = pe.Err
			}
			top.fail("cannot read control file: %v", err)
			yield(top)
			return
		}
		defer f.Close()
		p.Read(f, path)(yield)
	}
}

// Read yields the lines of a control file called name.
func (p *Parser) Read(r io.Reader, name string) iter.Seq[*Line] {
	return func(yield func(*Line) bool) {
		list, err := ReadRaw(r)
		version := ""
		for _, raw := range list {
			if l := p.line(raw, name, &version); l != nil && (!yield(l) || l.last) {
				return
			}
		}
		if err != nil {
			end := &Line{File: name, pmie: p.cfg.PMIE}
			if len(list) > 0 {
				end.Number = list[len(list)-1].Number
			}
			end.fail("cannot read control file: %v", err)
			yield(end)
		}
	}
}

// line parses a line, and returns nil for an empty line or a comment. Version is the version of the file, unless a
// variable overrides it.
func (p *Parser) line(raw RawLine, name string, version *string) *Line {
	raw.Text = strings.ReplaceAll(raw.Text, "PCP_ARCHIVE_DIR", p.cfg.ArchiveDir)
	raw.Text = strings.ReplaceAll(raw.Text, "PCP_LOG_DIR", p.cfg.LogDir)
	l := &Line{File: name, Number: raw.Number, Fields: raw.Fields(), pmie: p.cfg.PMIE}
	if p.cfg.Stopped {
		l.Fields[0] = strings.TrimPrefix(l.Fields[0], Stopped)
	}
	switch host := l.Fields[0]; {
	case host == "" || host[0] == '#':
		return nil
	case strings.IndexByte(raw.Text, 0) >= 0:
		l.fail("NUL byte in control file record")
	case host[0] == '$':
		p.assign(l)
	default:
		p.record(l, version)
	}
	return l
}

// assign parses a line that begins with a dollar.
func (p *Parser) assign(l *Line) {
	text := strings.Join(l.Fields[:], " ")[1:]
	k := nameLen(text)
	switch {
	case k == 0 || text[0] == '_' || k == len(text) || text[k] != '=':
		l.warn("in-line command is not a variable assignment, line ignored")
		return
	case text[:k] == "PATH" || text[:k] == "IFS":
		l.warn("cannot change $%s, line ignored", text[:k])
		return
	}
	name, source := text[:k], text[k+1:]
	value, rest, err := p.expand(source, " \t;&<>|")
	if err == nil {
		err = p.set(name, value)
	}
	if err != nil {
		l.warn("cannot set $%s: %v, line ignored", name, err)
		return
	}
	value, rest = source[:len(source)-len(rest)], strings.TrimLeft(rest, " \t")
	if !strings.ContainsAny(value[:min(len(value), 1)], `'"`) { // the C implementation prints the rest, too
		value = source
		if end := strings.IndexAny(source, ";&<>|"); end >= 0 {
			value = source[:end]
		}
	}
	l.Assignment = fmt.Sprintf("export %s; %s=%s", name, name, value)
	if rest != "" && !strings.HasPrefix(rest, "#") && !isExport(rest, name) {
		l.warn("\"%s\" after the value of $%s ignored, no command is run", strings.TrimRight(rest, " "), name)
	}
}

// isExport reports whether rest only exports a variable; all variables are exported.
func isExport(rest, name string) bool {
	return slices.Equal(strings.Fields(strings.TrimLeft(rest, "; ")), []string{"export", name})
}

// record parses a line that describes a program to run.
func (p *Parser) record(l *Line, version *string) {
	f := l.Fields
	host, primary, socks, dir, args := f[0], f[1], f[2], f[3], f[4]
	if v := p.vars["version"]; v != "" {
		*version = v
	}
	switch {
	case *version == "" && p.cfg.PMIE:
		l.warn("missing $version, assuming version 1.0 control format")
		*version = "1.0"
	case *version == "":
		l.warn("processing default version 1.0 control format")
		*version = "1.0"
	case *version != "1.0" && *version != "1.1":
		l.fail("bad version (%s) in control file", *version)
		l.last = p.cfg.PMIE
		return
	}
	if *version == "1.0" {
		args = strings.TrimSpace(dir + " " + args)
		dir = socks
		if p.cfg.PMIE {
			primary, socks = "n", primary
		} else {
			socks = "n"
		}
	}
	dir, args, err := p.Directory(dir, args)
	if err != nil {
		l.fail("%v", err)
		return
	}
	switch {
	case primary == "" || socks == "" || dir == "" || args == "":
		l.fail("insufficient fields in control file record")
	case p.cfg.PMIE && primary != "y" && primary != "n":
		l.fail("primary field in control file record must be y or n, not \"%s\"", primary)
	case p.cfg.PMIE && socks != "y" && socks != "n":
		l.fail("socks field in control file record must be y or n, not \"%s\"", socks)
	case p.cfg.PMIE && args[0] != '-':
		l.fail("args field in control file must begin with a hyphen not \"%s\"", args)
	default:
		l.Valid = true
		l.Host, l.Primary, l.Socks, l.Args = host, primary == "y", socks == "y", args
		l.Dir = strings.Replace(dir, "LOCALHOSTNAME", p.cfg.Hostname, 1)
		if l.Primary || host == "LOCALHOSTNAME" {
			l.Host = Local
		}
	}
}

// Directory evaluates the directory field, whose quotes or command may extend into the arguments. It returns
// the directory, and the rest of the arguments.
func (p *Parser) Directory(dir, args string) (newDir, newArgs string, err error) {
	end := ""
	switch {
	case len(dir) > 1 && dir[0] == '"' && dir[len(dir)-1] == '"':
		return dir[1 : len(dir)-1], args, nil
	case strings.HasPrefix(dir, `"`):
		end = `"`
	case strings.HasPrefix(dir, "`"):
		end = "`"
	case strings.Contains(dir, "`"):
		return "", "", fmt.Errorf("embedded ` without initial \": %s", dir)
	case strings.HasPrefix(dir, "$("):
		end = ")"
	case strings.Contains(dir, "$("):
		return "", "", fmt.Errorf("embedded $( without initial \": %s", dir)
	case !strings.Contains(dir, "$"):
		return dir, args, nil
	}
	if end != "" {
		words := strings.Fields(args)
		n := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, end) })
		if n < 0 {
			return "", "", fmt.Errorf("quote not terminated: %s %s", dir, args)
		}
		dir, args = dir+" "+strings.Join(words[:n+1], " "), strings.Join(words[n+1:], " ")
	}
	value, rest, err := p.expand(dir, ";&<>|")
	switch {
	case err != nil:
		return "", "", fmt.Errorf("%w: %s", err, dir)
	case rest != "":
		return "", "", fmt.Errorf("\"%s\" in a directory without quotes: %s", rest[:1], dir)
	}
	return value, args, nil
}

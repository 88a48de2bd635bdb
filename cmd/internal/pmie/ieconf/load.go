package ieconf

import (
	"bufio"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	pcp "github.com/go-pcp/pcp"
)

//go:embed rules
var embedded embed.FS

// BuiltinRules returns the built-in rule files. They watch the metrics of the agents of a Linux host:
// processors, memory, file systems, disks, network interfaces, stalls, and the collector itself. All write to
// the log of the system.
func BuiltinRules() fs.FS {
	sub, err := fs.Sub(embedded, "rules")
	if err != nil {
		panic(err) // the name is valid
	}
	return sub
}

// Builtin returns the Set of BuiltinRules.
func Builtin(cfg Config) (*Set, error) {
	cfg.Path = cmp.Or(cfg.Path, DefaultPath)
	return LoadFS(BuiltinRules(), cfg)
}

// Generate returns the configuration of the built-in rules, unchanged.
func Generate(cfg Config) ([]byte, error) {
	s, err := Builtin(cfg)
	if err != nil {
		return nil, err
	}
	return s.Generate()
}

// Load reads the rules of a path: names of files, and of directories of files at any depth, with colons between. A
// file without the beginning of a rule file is left out. The files of a directory are read in the order in which it
// has them, as the C tool does: this is the order of global variables and actions.
func Load(path string, cfg Config) (*Set, error) {
	cfg.Path = cmp.Or(cfg.Path, path)
	s := newSet(cfg)
	for name := range strings.SplitSeq(path, ":") {
		if name == "" {
			continue
		}
		if err := s.load(osFS{}, name, 0); err != nil {
			return nil, err
		}
	}
	return s.sorted(), nil
}

// LoadFS reads the rules of a file system.
func LoadFS(fsys fs.FS, cfg Config) (*Set, error) {
	cfg.Path = cmp.Or(cfg.Path, DefaultPath)
	s := newSet(cfg)
	if err := s.load(fsys, ".", 0); err != nil {
		return nil, err
	}
	return s.sorted(), nil
}

// AddBuiltin adds the built-in rules whose names the Set does not have. Global variables and actions stay those of the Set.
func (s *Set) AddBuiltin() error {
	more, err := Builtin(Config{})
	if err != nil {
		return err
	}
	for _, r := range more.rules {
		if s.byName[r.Name] != nil || len(s.rules) >= maxRules {
			continue
		}
		s.rules, s.byName[r.Name] = append(s.rules, r), r
	}
	s.sorted()
	return nil
}

func (s *Set) sorted() *Set {
	slices.SortFunc(s.rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// osFS is the file system of the host, for any path. That of os.DirFS refuses many.
type osFS struct{}

// Open opens a file. It does not block on a FIFO.
func (osFS) Open(name string) (fs.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (osFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// reason returns the text of an error of a file, as C prints it.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return pcp.Error(-int32(errno)).Error()
	}
	return err.Error()
}

// load reads a file, or the files of a directory.
func (s *Set) load(fsys fs.FS, name string, depth int) error {
	if depth > maxDepth {
		return s.failf("cannot stat %s: more than %d directories deep", name, maxDepth)
	}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return s.failf("cannot stat %s: %s", name, reason(err))
	}
	what := "open"
	if info.IsDir() {
		what = "opendir"
	} else if depth > 0 && !info.Mode().IsRegular() {
		return nil // a device or a FIFO is not a rule file
	}
	f, err := fsys.Open(name)
	if err != nil {
		return s.failf("cannot %s %s: %s", what, name, reason(err))
	}
	defer f.Close()
	if !info.IsDir() {
		return s.parse(f, name)
	}
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return s.failf("cannot opendir %s: %s", name, errors.ErrUnsupported)
	}
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return s.failf("cannot opendir %s: %s", name, reason(err))
	}
	f.Close()
	for _, e := range entries {
		path := e.Name()
		if name != "." {
			path = name + "/" + path
		}
		if err := s.load(fsys, path, depth+1); err != nil {
			return err
		}
	}
	return nil
}

const rulesFormat, rulesVersion = "pmieconf-rules", "1"

// parse reads a rule file. Other files are left out.
func (s *Set) parse(r io.Reader, name string) error {
	limited := &io.LimitedReader{R: r, N: maxRuleFile}
	p := &parser{Set: s, scanner: scanner{
		position: position{file: name, line: 1}, r: bufio.NewReader(limited), limit: maxToken,
	}}
	if !p.header() {
		return nil
	}
	err := p.objects()
	if limited.N <= 0 {
		return s.failf("%s: a rule file has no more than %d bytes", name, maxRuleFile)
	}
	return err
}

// A parser reads one rule file into its Set.
type parser struct {
	*Set
	scanner
	rule *Rule // to which variables belong
}

func (p *parser) header() bool {
	if p.get() != '#' {
		return false
	}
	found := ""
	for i, want := range []string{rulesFormat, rulesVersion} {
		got, err := p.next()
		if err == nil {
			found = got
		}
		switch {
		case err != nil || i == 0 && got != want:
			p.failf("%s is not a rule description file (bad header)\nfound \"%s\", expected \"%s\"", p.file, found, rulesFormat)
			return false
		case got != want:
			p.failf("unknown version number in %s: \"%s\" (expected %s)", p.file, got, want)
			return false
		}
	}
	return true
}

// objects reads the text after the header:
//
//	type identifier [ attribute = value ]... ;
func (p *parser) objects() error {
	for {
		text, err := p.next()
		if err == errEnd {
			return nil
		} else if err != nil {
			return p.failed(err)
		}
		kind := Type(slices.Index(typeNames[:], text))
		if kind < 0 {
			return p.fail(p.expected("type keyword", text))
		}
		name, err := p.next()
		if err == errEnd {
			return &mistake{p.last} // as the C tool does
		} else if err != nil {
			return p.failed(err)
		}
		name, global := strings.CutPrefix(name, "global.")
		switch {
		case kind == RuleType && (global || strings.HasPrefix(name, "global")):
			return p.failf("rule name may not be \"global\" - this is reserved")
		case p.rule == nil && !global && kind != RuleType:
			return p.failf("no rule defined, cannot make sense of %s \"%s\" without one\n    line number: %d (\"%s\")\n",
				kind, name, p.line, p.file)
		}
		if p.eof {
			return nil // as the C tool does: a rule without attributes and end is left out
		}
		if kind == RuleType {
			err = p.readRule(name)
		} else {
			err = p.readVariable(name, kind, global)
		}
		if err != nil {
			return err
		}
	}
}

// half is about a token that is incomplete or missing: as in the C tool, the message names the expected token,
// not the mistake in it.
func (p *parser) half(want string, err error) error {
	if _, ok := err.(*mistake); !ok {
		return err
	}
	return p.fail(p.expected(want, p.part))
}

// failed records the mistake that a scanner returned.
func (p *parser) failed(err error) error {
	if m, ok := err.(*mistake); ok {
		return p.fail(m)
	}
	return err
}

func (p *parser) readRule(name string) error {
	r := &Rule{Variable: Variable{Name: name, Type: RuleType, enabled: true, Display: true}, version: 1}
	err := p.attributes(func(a Attribute, value string) error {
		switch a {
		case Predicate:
			r.predicate = value
		case Enumerate:
			r.enumerate = value
			if value == "" {
				r.enumerate = " " // there is one, of no variables
			}
		case Version:
			n, all := scanInt(value, 1<<64-1)
			if !all {
				return p.fail(p.expected("version number", "be a positive integer number"))
			}
			r.version = uint32(n)
		default:
			return p.setAttribute(p.position, &r.Variable, name, a, value, false)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case p.byName[name] != nil:
		return p.failf("rule name \"%s\" has already been used, duplicate name found in:\n\t\"%s\", line %d.", name, short(p.file), p.line)
	case len(p.rules) >= maxRules:
		return p.failf("%s: more than %d rules", p.file, maxRules)
	}
	p.last = fmt.Sprintf("rule named \"%s\" does not exist", name)
	p.rules, p.byName[name], p.rule = append(p.rules, r), r, r
	return nil
}

func (p *parser) readVariable(name string, kind Type, global bool) error {
	v := &Variable{Name: name, Type: kind, enabled: true, Display: true, modifiable: true}
	called, r := name, p.rule
	if global {
		called, r = "global."+name, p.global
	}
	err := p.attributes(func(a Attribute, value string) error {
		return p.setAttribute(p.position, v, called, a, value, false)
	})
	if err != nil {
		return err
	}
	if len(r.vars) >= maxVariables {
		return p.failf("%s: more than %d variables in rule %s", p.file, maxVariables, r.Name)
	}
	r.vars = append(r.vars, v)
	return nil
}

// attributes reads the attributes of an object, and its end.
func (p *parser) attributes(set func(Attribute, string) error) error {
	need := func(want string) (string, error) {
		text, err := p.next()
		if err == errEnd {
			p.part = "end-of-file"
			return "", p.fail(p.expected(want, p.part))
		}
		return text, err
	}
	for {
		name, err := need("attribute or ';'")
		if err != nil {
			return p.failed(err)
		}
		if strings.HasPrefix(name, ";") {
			return nil
		}
		a := AttributeOf(name)
		if a == NoAttribute {
			return p.fail(p.expected("attribute keyword", name))
		}
		equals, err := need("=")
		switch {
		case err != nil:
			return p.half("=", err)
		case !strings.HasPrefix(equals, "="):
			return p.fail(p.expected("=", equals))
		}
		value, err := need("attribute value")
		if err != nil {
			return p.half("attribute value", err)
		}
		if err := set(a, value); err != nil {
			return err
		}
	}
}

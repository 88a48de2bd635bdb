package logconf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/pmapi"
)

// DefaultDir is the directory of installed groups, below PCP_VAR_DIR.
const DefaultDir = "/var/lib/pcp/config/pmlogconf"

// A Config configures the generation of a configuration.
type Config struct {
	Dir  string // name of the directory of groups in the configuration and messages; default DefaultDir
	File string // name of the configuration in messages

	// Auto adds the time and the program to the configuration, and drops groups from it
	// that have no file any more.
	Auto    bool
	Program string    // default "pmlogconf", or "pmrepconf"
	Now     time.Time // default: the current time

	// Pmrep generates a pmrep configuration in place of a recorder's: the metrics of all included groups are in one
	// section, and intervals are ignored. Options are lines for the section [options] of a new configuration.
	Pmrep   bool
	Options []string

	// Include lists groups, by their tags, that Generate includes with a given interval although they are only
	// available: "process/each": "5 minutes". Groups whose metrics the source lacks stay excluded.
	Include map[string]string

	// Warn receives warnings about groups, a line at a time, with its newline. nil discards them.
	Warn func(msg string)
}

// A Set is the groups of a configuration, and the user's part of it.
type Set struct {
	cfg     Config
	groups  []*Group
	header  []byte // of a configuration that was read; nil in a new one
	trailer []byte
	changed bool
}

// Load reads the group files below the root of a file system, at any depth. It skips files of
// other formats, names that begin with a dot, and v1.0, the directory of an old format.
func Load(groups fs.FS, cfg Config) (*Set, error) {
	s := newSet(cfg)
	if err := s.walk(groups, ".", 0); err != nil {
		return nil, err
	}
	return s, nil
}

// Add reads further groups, and adds those with new tags whose metrics are in none of the groups so far.
func (s *Set) Add(groups fs.FS) error {
	more, err := Load(groups, s.cfg)
	if err != nil {
		return err
	}
	known := make(map[string]bool)
	for _, g := range s.groups {
		for _, name := range g.Metrics {
			known[metricName(name)] = true
		}
	}
	before := slices.Clone(s.groups)
	for _, g := range more.groups {
		same := func(o *Group) bool { return o.Tag == g.Tag }
		if slices.ContainsFunc(before, same) || slices.ContainsFunc(g.Metrics, func(name string) bool { return overlaps(known, metricName(name)) }) {
			continue
		}
		if len(s.groups) == maxGroups {
			return fmt.Errorf("%s: more than %d groups", g.Tag, maxGroups)
		}
		s.groups = append(s.groups, g)
	}
	return nil
}

// metricName returns the name in a line of a group, without instances.
func metricName(line string) string {
	if i := strings.IndexAny(line, " \t["); i >= 0 {
		line = line[:i]
	}
	return line
}

// overlaps reports whether a name, one above it or one below it is among the names.
func overlaps(names map[string]bool, name string) bool {
	for above := name; ; {
		if names[above] {
			return true
		}
		i := strings.LastIndexByte(above, '.')
		if i < 0 {
			break
		}
		above = above[:i]
	}
	for other := range names {
		if strings.HasPrefix(other, name+".") {
			return true
		}
	}
	return false
}

// LoadGroup reads one group file as a Set of one group, or an empty Set if it has another format.
func LoadGroup(r io.Reader, tag string, cfg Config) (*Set, error) {
	s := newSet(cfg)
	text, err := readAll(r, maxGroupFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tag, err)
	}
	if g, err := parseGroup(text, tag); err == nil {
		s.groups = append(s.groups, g)
	}
	return s, nil
}

func newSet(cfg Config) *Set {
	if cfg.Program == "" && cfg.Pmrep {
		cfg.Program = "pmrepconf"
	}
	cfg.Program = cmp.Or(cfg.Program, "pmlogconf")
	if cfg.Auto && cfg.Now.IsZero() {
		cfg.Now = time.Now()
	}
	return &Set{cfg: cfg}
}

func (s *Set) warnf(format string, args ...any) {
	if s.cfg.Warn != nil {
		s.cfg.Warn(fmt.Sprintf(format, args...))
	}
}

// walk reads the groups of a directory. It skips unreadable files, which may belong to other
// users.
func (s *Set) walk(fsys fs.FS, dir string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d directories deep", dir, maxDepth)
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil && depth == 0 {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "v1.0" {
			continue
		}
		tag := path.Join(dir, e.Name())
		// A symbolic link is followed. Reading a FIFO would never end.
		info, err := fs.Stat(fsys, tag)
		switch {
		case err != nil:
		case info.IsDir():
			if err := s.walk(fsys, tag, depth+1); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if err := s.load(fsys, tag); err != nil {
				return err
			}
		}
	}
	return nil
}

var errTooLong = errors.New("file too large")

func (s *Set) load(fsys fs.FS, tag string) error {
	f, err := fsys.Open(tag)
	if err != nil {
		return nil // as above
	}
	defer f.Close()
	text, err := readAll(f, maxGroupFile)
	if errors.Is(err, errTooLong) && !bytes.HasPrefix(text, []byte("#pmlogconf-setup")) {
		return nil
	}
	if err != nil {
		s.warnf("Error: %s/%s: %v\n", s.cfg.Dir, tag, err)
		return nil
	}
	g, err := parseGroup(text, tag)
	if err != nil {
		return nil
	}
	if len(s.groups) == maxGroups {
		return fmt.Errorf("%s: more than %d groups", tag, maxGroups)
	}
	s.groups = append(s.groups, g)
	return nil
}

// readAll reads r to its end; if it has more than limit bytes, the error is errTooLong.
func readAll(r io.Reader, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(text) > limit {
		return text[:limit], fmt.Errorf("%w: the limit is %d bytes", errTooLong, limit)
	}
	return text, err
}

// Rules parses the control lines of the groups, and sorts the groups. It warns about mistakes
// and marks the group as invalid. It reports whether all groups are valid.
func (s *Set) Rules() bool {
	s.sort()
	good := true
	for _, g := range s.groups {
		good = s.rule(g) && good
	}
	return good
}

func (s *Set) sort() {
	slices.SortStableFunc(s.groups, func(a, b *Group) int { return strings.Compare(a.Tag, b.Tag) })
}

// Groups returns the groups, after Rules sorted by tag.
func (s *Set) Groups() []*Group { return s.groups }

// Generate returns the configuration of a recorder for a source: it probes the groups below the root of
// a file system, such as [Builtin]. It reports mistakes in groups to cfg.Warn; the errors are those of
// the file system and of the source.
func Generate(ctx context.Context, c *pmapi.Context, groups fs.FS, cfg Config) ([]byte, error) {
	cfg.Dir = cmp.Or(cfg.Dir, DefaultDir)
	s, err := Load(groups, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.Probe(ctx, c); err != nil {
		return nil, err
	}
	s.Rules()
	for _, g := range s.groups {
		if delta, ok := cfg.Include[g.Tag]; ok {
			s.include(g, delta)
		}
	}
	return s.New(nil), nil
}

// include includes an available group, if its metrics exist.
func (s *Set) include(g *Group, delta string) {
	if checkDelta(delta) != nil {
		s.warnf("Warning: %s: %q is not an interval\n", g.Tag, delta)
		return
	}
	if g.ifTrue == Available {
		g.ifTrue, g.delta = Include, &delta
	}
}

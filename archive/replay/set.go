package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/storage"
)

// Options configures how archives are opened and replayed.
type Options struct {
	archive.Options

	// IgnoreMarks makes interpolation ignore marks: all of them if IgnoreGap is
	// 0, otherwise those between records that are at most that far apart
	// (PCP_IGNORE_MARK_RECORDS).
	IgnoreMarks bool
	IgnoreGap   time.Duration

	// CounterWrap treats an integer counter that fell as wrapped
	// (PCP_COUNTER_WRAP).
	CounterWrap bool

	// Nearest gives an instantaneous or discrete number the value of the nearer
	// bound, as the C library does from version 7 on. Older versions, and this
	// package without Nearest, use that of the earlier bound.
	Nearest bool
}

// A Set is one archive, or several that follow each other in time. It is safe for
// concurrent use, but not while Refresh runs.
type Set struct {
	archives []*archive.Archive // by start time
	parts    []part
	meta     *archive.Meta
	start    pcp.Timestamp
	opts     Options
	refs     atomic.Int32

	mu     sync.Mutex
	indoms map[pcp.InDom]*lifetimes
}

// Open opens the archives of spec: the base name of an archive, or any of its
// files; a directory, for all archives in it; or several of these separated by
// commas. Several archives must be of one host, and all descriptors of a metric
// must agree; see [archive.Options.OpenAll]. Archives of several recorders, whose
// names are a time and a recorder as those of pcp record --fleet, can overlap: each
// moment is read from the archive that began last, of those that reach it. Any other
// overlap in time is only noticed when reading passes from one archive to the other:
// Fetch then returns pcp.ErrLogOverlap once.
func Open(spec string, o Options) (*Set, error) {
	var list []*archive.Archive
	for try := 1; ; try++ {
		paths, listed, err := expand(spec)
		if err != nil {
			return nil, err
		}
		list, err = o.OpenAll(paths)
		if err == nil {
			break
		}
		if !listed || try == openTries || !passing(err) {
			return nil, err
		}
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
	slices.SortFunc(list, func(a, b *archive.Archive) int { return a.Label().Start.Compare(b.Label().Start) })
	s := &Set{archives: list, parts: parts(list), meta: list[0].Meta(), start: list[0].Label().Start, opts: o}
	s.refs.Store(1)
	return s, nil
}

// openTries is the number of attempts to read a directory whose files are replaced meanwhile:
// compressed, removed, or begun.
const openTries = 20

// passing reports whether an error can be caused by a file that was replaced between the listing
// of its directory and its opening.
func passing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, pcp.ErrLogFile) || errors.Is(err, pcp.ErrLabel) || errors.Is(err, pcp.ErrLogRec)
}

// begun returns the archives with data in a volume. Archives that a recorder is about to begin have empty
// files.
func begun(entries []fs.DirEntry) map[string]bool {
	bases := make(map[string]bool)
	for _, e := range entries {
		base, part, ok := archive.BaseName(e.Name())
		if !ok || part == "meta" || part == "index" || bases[base] {
			continue
		}
		if st, err := e.Info(); err == nil && st.Size() > 0 {
			bases[base] = true
		}
	}
	return bases
}

// expand lists the archives that spec names, and reports whether it has a directory.
func expand(spec string) (paths []string, listed bool, err error) {
	for rest, more := spec, spec != ""; more; {
		var name string
		name, rest, more = strings.Cut(rest, ",")
		if rest == "" {
			more = false // as in C a comma may end the list
		}
		entries, err := storage.ReadDir(name)
		if err != nil || name == "" {
			paths = append(paths, name)
			continue
		}
		listed = true
		last := ""
		var list, empty []string
		has := begun(entries)
		for _, e := range entries {
			if base, part, ok := archive.BaseName(e.Name()); ok && part == "meta" && base != last {
				last = base
				if path := storage.Join(name, base); has[base] {
					list = append(list, path)
				} else {
					empty = append(empty, path)
				}
			}
		}
		if len(list) == 0 {
			list = empty // opening them returns the error
		}
		paths = append(paths, list...)
	}
	if len(paths) == 0 {
		return nil, listed, fmt.Errorf("archive %q: %w", spec, pcp.ErrLogFile)
	}
	return paths, listed, nil
}

// Retain makes another call of Close necessary.
func (s *Set) Retain() { s.refs.Add(1) }

// Close closes the files. Cursors must not be used after it.
func (s *Set) Close() error {
	if s.refs.Add(-1) > 0 {
		return nil
	}
	var err error
	for _, a := range s.archives {
		if e := a.Close(); err == nil {
			err = e
		}
	}
	return err
}

// Archives returns the archives by start time. They belong to s.
func (s *Set) Archives() []*archive.Archive { return s.archives }

// Meta returns the metadata of all archives.
func (s *Set) Meta() *archive.Meta { return s.meta }

// Label returns the label of the first archive.
func (s *Set) Label() archive.Label { return s.archives[0].Label() }

// End returns the time of the last record.
func (s *Set) End() (pcp.Timestamp, error) { return s.parts[len(s.parts)-1].End() }

// Refresh reads the additions to the last archive, which may still grow.
func (s *Set) Refresh() error {
	s.mu.Lock()
	s.indoms = nil
	s.mu.Unlock()
	return s.parts[len(s.parts)-1].Refresh()
}

// lifetimes are the instances that an instance domain ever had.
type lifetimes struct {
	list  []archive.Lifetime
	most  int           // at a time
	index map[int32]int // of list, by instance; made when first needed
}

func (s *Set) lifetimes(indom pcp.InDom) *lifetimes {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.indoms[indom]
	if l == nil {
		l = new(lifetimes)
		l.list, l.most = s.meta.Lifetimes(indom)
		if s.indoms == nil {
			s.indoms = make(map[pcp.InDom]*lifetimes)
		}
		s.indoms[indom] = l
	}
	return l
}

// Instances returns all instances that an instance domain ever had
// (pmGetInDomArchive(3)); pcp.ErrInDomLog if it is unknown.
func (s *Set) Instances(indom pcp.InDom) ([]pcp.Instance, error) {
	l := s.lifetimes(indom)
	if len(l.list) == 0 {
		return nil, fmt.Errorf("instance domain %v: %w", indom, pcp.ErrInDomLog)
	}
	list := make([]pcp.Instance, len(l.list))
	for i, e := range l.list {
		list[i] = pcp.Instance{Inst: e.Inst, Name: e.Name}
	}
	return list, nil
}

// InstanceName returns the latest name that an instance had
// (pmNameInDomArchive(3)).
func (s *Set) InstanceName(indom pcp.InDom, inst int32) (string, error) {
	l := s.lifetimes(indom)
	if len(l.list) == 0 {
		return "", fmt.Errorf("instance domain %v: %w", indom, pcp.ErrInDomLog)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.index == nil {
		l.index = make(map[int32]int, len(l.list))
		for i := range l.list {
			l.index[l.list[i].Inst] = i
		}
	}
	i, ok := l.index[inst]
	if !ok {
		return "", fmt.Errorf("instance %d of %v: %w", inst, indom, pcp.ErrInstLog)
	}
	return l.list[i].Name, nil
}

// seconds returns a-b in seconds, correctly rounded.
func seconds(a, b pcp.Timestamp) float64 {
	sec, nsec := a.Sec-b.Sec, int64(a.Nsec-b.Nsec)
	if -9e6 < sec && sec < 9e6 {
		return float64(sec*1e9+nsec) / 1e9
	}
	return float64(sec) + float64(nsec)/1e9
}

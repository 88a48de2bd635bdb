package janitor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
)

// A Policy limits the archives in a directory. The zero Policy keeps all.
type Policy struct {
	MaxAge   time.Duration // since the last change of an archive; 0 means no limit
	MaxBytes int64         // of all archives together, on disk; 0 means no limit

	// Shipped, if not nil, reports whether a verified copy of an archive is in object storage. Of archives in excess of
	// MaxBytes those with a copy are removed first. Those with a copy are also removed KeepShipped after
	// their last change: 0 means no limit, a negative time at once.
	Shipped     func(*Archive) bool
	KeepShipped time.Duration
	// Ready, if not nil, reports whether Shipped knows the archives of a directory. Until then none is removed there, as those with a
	// copy are not known.
	Ready func(dir string) bool
	// Dropped is called for each archive that is removed although it has no copy, if Shipped is not nil.
	Dropped func(*Archive)
}

func (p *Policy) ready(dir string) bool { return p.Ready == nil || p.Ready(dir) }

// A candidate is an archive that may be removed.
type candidate struct {
	*Archive
	shipped bool
}

// candidates returns the archives in the order in which they are to be removed.
func (p *Policy) candidates(list []*Archive, written func(*Archive) bool) []candidate {
	var first, rest []candidate
	for _, a := range list {
		switch {
		case written(a):
		case p.Shipped != nil && p.Shipped(a):
			first = append(first, candidate{a, true})
		default:
			rest = append(rest, candidate{a, false})
		}
	}
	return append(first, rest...)
}

// remove removes an archive.
func (p *Policy) remove(c candidate) error {
	if err := Remove(c.Archive); err != nil {
		return err
	}
	if p.Shipped != nil && !c.shipped && p.Dropped != nil {
		p.Dropped(c.Archive)
	}
	return nil
}

// Cull removes archives that exceed a policy, the oldest first, and returns their base
// names. It never removes an archive for which written returns true, though its size
// counts. It continues after an error.
func Cull(dir string, p Policy, now time.Time, written func(*Archive) bool) (removed []string, err error) {
	list, err := List(dir)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	have := make(map[string]bool)
	for _, a := range list {
		total += a.Size
		have[filepath.Base(a.Base)] = true
	}
	orphans(dir, have)
	if !p.ready(dir) {
		return nil, nil
	}
	var errs []error
	cull := func(excess bool) {
		for _, c := range p.candidates(list, written) {
			age := now.Sub(c.Time)
			due := p.MaxAge > 0 && age > p.MaxAge || c.shipped && p.KeepShipped != 0 && age > p.KeepShipped
			if excess {
				due = p.MaxBytes > 0 && total > p.MaxBytes
			}
			if !due {
				continue
			}
			list = slices.DeleteFunc(slices.Clone(list), func(a *Archive) bool { return a == c.Archive })
			if err := p.remove(c); err != nil {
				errs = append(errs, err)
				continue
			}
			total -= c.Size
			removed = append(removed, c.Base)
		}
	}
	cull(false)
	cull(true)
	return removed, errors.Join(errs...)
}

// orphans removes files of columns of archives that are gone, such as those merged into others. Errors do not matter, as the files
// are found again.
func orphans(dir string, have map[string]bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if base, ok := columns.BaseName(e.Name()); ok && (!have[base] || e.Name() != filepath.Base(columns.Path(base))) {
			columns.Orphan(filepath.Join(dir, e.Name()))
		}
	}
}

// culled is the suffix of the metadata of an archive being removed.
const culled = ".meta.culled" + temporary

// Remove removes the files of an archive. It renames the metadata first: without them no
// tool takes the rest for an archive, and [Recover] removes the rest if Remove is
// interrupted.
func Remove(a *Archive) error {
	dir, name := filepath.Split(a.Base)
	marker := filepath.Join(dir, "."+name+culled)
	for _, f := range a.Files {
		if f.Volume != archive.VolMeta {
			continue
		}
		if err := os.Rename(f.Path, marker); err != nil {
			return err
		}
		if err := fsdir.Sync(dir); err != nil {
			return err
		}
	}
	errs := []error{columns.Remove(a.Base)}
	for _, f := range a.Files {
		if f.Volume != archive.VolMeta {
			errs = append(errs, ignoreMissing(os.Remove(f.Path)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err // the marker remains, so Recover retries
	}
	return errors.Join(ignoreMissing(os.Remove(marker)), fsdir.Sync(dir))
}

// markedBase returns the base name of a marker's archive.
func markedBase(name string) (string, bool) {
	rest, ok := strings.CutSuffix(name, culled)
	if !ok || len(rest) < 2 || rest[0] != '.' {
		return "", false
	}
	return rest[1:], true
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

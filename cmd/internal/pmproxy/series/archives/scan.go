package archives

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/catalog"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/storage"
)

// found describes the files of an archive in a directory.
type found struct {
	meta    string // metadata file, with size and time
	size    int64  // size of the metadata
	volumes string
}

func stamp(path string, info fs.FileInfo) string {
	return filepath.Base(path) + " " + strconv.FormatInt(info.Size(), 10) + " " + strconv.FormatInt(info.ModTime().UnixNano(), 10)
}

// absolute returns the absolute path of a directory. An address of a store is absolute.
func absolute(dir string) (string, error) {
	if storage.Remote(dir) {
		return storage.Clean(dir), nil
	}
	return filepath.Abs(dir)
}

// depth returns the number of directories above a path.
func depth(path string) int { return strings.Count(storage.Clean(path), string(filepath.Separator)) }

// list returns the archives below the directories, by the paths of their base names. It also returns
// the directories that exist but cannot be read.
func (s *Store) list(ctx context.Context) (all map[string]*found, unread []string, err error) {
	all = map[string]*found{}
	var extra []string // files of columns
	s.watch.begin()
	dirs := s.cfg.Dirs
	if s.cfg.More != nil {
		for _, dir := range s.cfg.More() {
			if abs, err := absolute(dir); err == nil && !slices.Contains(dirs, abs) {
				dirs = append(slices.Clip(dirs), abs)
			}
		}
	}
	for _, dir := range dirs {
		info, statErr := storage.Stat(dir)
		if statErr != nil && !errors.Is(statErr, fs.ErrNotExist) {
			s.warnOnce(dir, statErr)
			unread = append(unread, dir)
			s.watch.miss()
			continue
		}
		if statErr != nil || !info.IsDir() {
			// It may be the base name of an archive, or one of its files.
			base := filepath.Base(dir)
			if name, _, ok := archive.BaseName(base); ok && statErr == nil {
				base = name
			}
			s.watch.add(storage.Dir(dir))
			parent, err := storage.ReadDirPrefix(storage.Dir(dir), base)
			if err != nil {
				continue
			}
			s.listFiles(storage.Dir(dir), parent, base, all)
			continue
		}
		root := depth(dir)
		err := storage.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if ctxErr := ctx.Err(); ctxErr != nil {
				return ctxErr
			}
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) {
					unread = append(unread, path)
					s.watch.miss()
					s.warnOnce(path, err)
				}
				return fs.SkipDir
			}
			if !d.IsDir() {
				return nil
			}
			if depth(path)-root > maxDepth {
				return fs.SkipDir
			}
			s.watch.add(path)
			files, err := storage.ReadDir(path)
			if err != nil {
				return nil // WalkDir reports it too
			}
			s.listFiles(path, files, "", all)
			for _, f := range files {
				if _, ok := columns.BaseName(f.Name()); ok && !storage.Remote(path) {
					extra = append(extra, filepath.Join(path, f.Name()))
				}
			}
			if len(all) > maxArchives {
				return fmt.Errorf("more than %d archives", maxArchives)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	if len(unread) == 0 {
		s.orphans(extra, all)
	}
	return all, unread, nil
}

// warnOnce logs an error of a directory, unless it was the same at the last scan.
func (s *Store) warnOnce(dir string, err error) {
	if text := err.Error(); s.unread[dir] != text {
		s.unread[dir] = text
		s.log.Warn("directory of archives", "err", err)
	}
}

// listFiles finds the archives among the files of a directory; with only, the archive of that name.
func (s *Store) listFiles(dir string, files []fs.DirEntry, only string, all map[string]*found) {
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		base, part, ok := archive.BaseName(f.Name())
		if !ok || only != "" && base != only {
			continue
		}
		info, err := storage.Stat(storage.Join(dir, f.Name()))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		path := storage.Join(dir, base)
		a := all[path]
		if a == nil {
			a = &found{}
			all[path] = a
		}
		switch part {
		case "index":
		case "meta":
			a.meta, a.size = stamp(f.Name(), info), info.Size()
		default:
			a.volumes += stamp(f.Name(), info) + "\n"
		}
	}
}

// metaSize returns the size in a stamp of metadata, -1 if there is none.
func metaSize(stamp string) int64 {
	parts := strings.Fields(stamp)
	if len(parts) < 2 {
		return -1
	}
	n, err := strconv.ParseInt(parts[len(parts)-2], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// scan updates the index with changes in the directories. The caller holds scanning.
func (s *Store) scan(ctx context.Context) error {
	s.mu.RLock()
	closed := s.closed
	s.mu.RUnlock()
	if closed {
		return series.ErrClosed
	}
	all, unread, err := s.list(ctx)
	if err != nil {
		return err
	}
	st := s.state.Load()
	kept := func(path string) bool { // in a directory that cannot be read now
		return slices.ContainsFunc(unread, func(dir string) bool {
			return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
		})
	}

	// If archives are gone or replaced, their sources are removed, and the other archives of these sources
	// are read again.
	var gone []string
	again := map[uint32]bool{}
	for path, a := range st.archs {
		f := all[path]
		switch {
		case f == nil && kept(path):
		case f == nil || f.meta == "" || f.volumes == "":
			gone = append(gone, path)
			if a.err == "" {
				again[a.source] = true
			}
		case a.err == "" && f.meta != a.meta && f.size < metaSize(a.meta):
			again[a.source] = true
		}
	}
	if len(gone) > 0 || len(again) > 0 {
		if err := s.forget(st, gone, again); err != nil {
			return err
		}
	}

	var work []string
	for path, f := range all {
		if f.meta == "" || f.volumes == "" {
			continue
		}
		if a := st.archs[path]; a == nil || a.meta != f.meta || a.volumes != f.volumes || a.err == "" && again[a.source] {
			work = append(work, path)
		}
	}
	slices.Sort(work)
	changed := map[uint32]bool{}
	for part := range slices.Chunk(work, batch) {
		if err := s.take(ctx, st, part, all, again, changed); err != nil {
			return err
		}
	}
	if len(gone)+len(again)+len(work) == 0 {
		return nil
	}
	if err := s.reload(); err != nil || len(changed) == 0 {
		return err
	}
	// All archives of these sources are read again, after their old records are removed.
	if err := s.forget(s.state.Load(), nil, changed); err != nil {
		return err
	}
	if err := s.reload(); err != nil {
		return err
	}
	return s.scan(ctx)
}

// changed reports whether an archive had other series before: it was read while its metadata were written,
// and identifiers depend on labels.
func (s *Store) changed(was *arch, c *catalog.Catalog) (bool, error) {
	now := make(map[sid.ID]bool, len(c.Metrics))
	for i := range c.Metrics {
		now[c.Metrics[i].ID] = true
	}
	changed := false
	err := s.x.view(func(tx *tx) error {
		return eachHas(tx.get("has", u32(nil, was.num)), func(has seriesOf) bool {
			v := tx.get("ser", u32(nil, has.series))
			changed = len(v) < sid.Size || !now[sid.ID(v[:sid.Size])]
			return !changed
		})
	})
	return changed, err
}

// same reports whether the files of an archive are unchanged since they were listed.
func (s *Store) same(path string, f *found) bool {
	files, err := storage.ReadDir(storage.Dir(path))
	if err != nil {
		return false
	}
	all := map[string]*found{}
	s.listFiles(storage.Dir(path), files, filepath.Base(path), all)
	now := all[path]
	return now != nil && *now == *f
}

// forget removes archives, and sources.
func (s *Store) forget(st *state, gone []string, sources map[uint32]bool) error {
	return s.x.update(func(tx *tx) error {
		for _, path := range gone {
			if err := tx.dropArchive(path); err != nil {
				return err
			}
			s.files.forget(path)
		}
		for num := range sources {
			// Until they are read again, these archives are not in the index.
			for _, a := range st.bySource[num] {
				if err := tx.dropArchive(a.path); err != nil {
					return err
				}
			}
			if err := tx.dropSource(st.ids[num]); err != nil {
				return err
			}
		}
		return nil
	})
}

// An item is an archive that take adds.
type item struct {
	path string
	rec  archiveRecord
	c    *catalog.Catalog
	only bool // only volumes grew
	err  error
}

// take adds archives. It postpones those that have been replaced, and records their sources in changed.
func (s *Store) take(ctx context.Context, st *state, paths []string, all map[string]*found, again, changed map[uint32]bool) error {
	looked := make([]item, len(paths))
	for i, path := range paths {
		f, was := all[path], st.archs[path]
		it := item{path: path, rec: archiveRecord{meta: f.meta, volumes: f.volumes}}
		if was != nil && was.err == "" && was.meta == f.meta && !again[was.source] {
			it.rec, it.only = was.archiveRecord, true
			it.rec.volumes = f.volumes
		}
		looked[i] = it
	}
	if err := s.lookAll(ctx, looked); err != nil {
		return err
	}
	var items []item
	for _, it := range looked {
		f, was := all[it.path], st.archs[it.path]
		if err := it.err; err != nil {
			if errors.Is(err, fs.ErrNotExist) || !s.same(it.path, f) {
				continue // it vanished, or is being written; the next scan decides
			}
			if was == nil || was.err != err.Error() {
				s.log.Warn("archive is left out", "path", it.path, "err", err)
			}
			it.rec.err, it.only, it.c = err.Error(), false, nil
		}
		if it.c != nil && was != nil && was.err == "" && !again[was.source] {
			other, err := s.changed(was, it.c)
			if err != nil {
				return err
			}
			if other {
				changed[was.source] = true
				continue
			}
		}
		items = append(items, it)
	}
	return s.x.update(func(tx *tx) error {
		for _, it := range items {
			if it.only {
				if err := tx.put("arch", []byte(it.path), it.rec.append(nil)); err != nil {
					return err
				}
				continue
			}
			if _, err := tx.add(it.path, it.rec, it.c); err != nil {
				return err
			}
		}
		return nil
	})
}

// atOnce is the number of archives in a store of objects that are read side by side: the time to read one is
// mostly that of the answers of the store.
const atOnce = 8

// lookAll reads the metadata of archives.
func (s *Store) lookAll(ctx context.Context, items []item) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range items {
		if err := ctx.Err(); err != nil {
			break
		}
		it := &items[i]
		look := func() error {
			it.c, it.err = s.look(it.path, &it.rec, !it.only)
			return nil
		}
		if storage.Remote(it.path) {
			group.Go(look)
		} else {
			_ = look() // its error is in the item
		}
	}
	_ = group.Wait()
	return ctx.Err()
}

// look reads the metadata of an archive for the index.
func (s *Store) look(path string, rec *archiveRecord, whole bool) (c *catalog.Catalog, err error) {
	a, err := archive.Options{NoMeta: true}.Open(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if whole {
		if c, err = catalog.Read(a); err != nil {
			return nil, err
		}
		rec.host, rec.start = c.Host, c.Start
	}
	end, err := a.End()
	if err != nil {
		if end.IsZero() {
			return nil, err
		}
		s.log.Warn("archive is damaged at its end", "path", path, "err", err)
	}
	rec.end = end
	return c, nil
}

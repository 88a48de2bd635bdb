package keys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/pacing"
)

// Limits and defaults of Follow.
const (
	DefaultInterval = 10 * time.Second // between looks at the directories
	recent          = 5 * time.Minute  // an archive that grew then is followed
	maxDepth        = 8                // of directories
	maxFollowed     = 1 << 14          // archives
	retryFailed     = time.Minute
)

// FollowOptions are options of Follow.
type FollowOptions struct {
	LoadOptions

	// Dirs returns the directories, which are searched with all directories below them, 8 deep. They need not exist.
	Dirs func() []string

	// Interval is the time between looks at them, 0 for DefaultInterval.
	Interval time.Duration
}

// A followed archive.
type followed struct {
	loader *Loader
	stamp  string // of its files when it was loaded
	retry  time.Time
	first  time.Time // of the errors
	failed string    // the last error
}

// Follow writes the archives in some directories as they grow, each from its beginning on, until ctx is done. Archives that do not grow
// any more, such as compressed ones, are left out. Errors of archives are logged.
func (s *Store) Follow(ctx context.Context, opt FollowOptions) {
	if opt.Interval <= 0 {
		opt.Interval = DefaultInterval
	}
	all := map[string]*followed{}
	w := newWriter(&s.cfg, s.client, s.log)
	defer func() {
		for _, f := range all {
			f.close()
		}
		w.close()
	}()
	for {
		begin := time.Now()
		s.followOnce(ctx, opt, all, w)
		if !pacing.Until(ctx, begin.Add(opt.Interval)) {
			return
		}
	}
}

func (f *followed) close() {
	if f.loader != nil {
		f.loader.a.Close()
		f.loader = nil
	}
}

// followOnce loads the additions to all archives.
func (s *Store) followOnce(ctx context.Context, opt FollowOptions, all map[string]*followed, w *writer) {
	found := map[string]string{}
	for _, dir := range opt.Dirs() {
		if err := growing(dir, found); err != nil {
			s.log.Warn("directory of archives", "err", err)
		}
	}
	for path, f := range all {
		if _, ok := found[path]; !ok {
			if _, err := os.Stat(path + ".meta"); err != nil { // it is renamed, compressed or removed
				f.close()
				delete(all, path)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if ctx.Err() != nil {
			return
		}
		f := all[path]
		if f == nil {
			f = &followed{}
			all[path] = f
		}
		if f.stamp == found[path] || time.Now().Before(f.retry) {
			continue
		}
		err := s.follow(ctx, path, f, opt.LoadOptions, w)
		if err == nil {
			f.stamp, f.failed = found[path], ""
			continue
		}
		// All of it is loaded again: it is not certain how much is in the keys.
		f.close()
		w.reset()
		if f.first.IsZero() {
			f.first = time.Now()
		}
		if isNew(err) && time.Since(f.first) < retryFailed {
			continue
		}
		f.retry = time.Now().Add(retryFailed)
		if ctx.Err() == nil && f.failed != err.Error() {
			f.failed = err.Error()
			s.log.Warn("archive is not loaded", "path", path, "err", err)
		}
	}
}

// isNew reports whether an error is that of an archive that is just made: files are missing, or have no labels yet.
func isNew(err error) bool {
	return errors.Is(err, pcp.ErrNoData) || errors.Is(err, pcp.ErrLogFile) || errors.Is(err, fs.ErrNotExist)
}

// follow loads the additions to an archive.
func (s *Store) follow(ctx context.Context, path string, f *followed, opt LoadOptions, w *writer) error {
	if f.loader == nil {
		l, err := s.newLoader(ctx, path, opt, w)
		if err != nil {
			return err
		}
		f.loader = l
		s.log.Info("archive is loaded as it grows", "path", path)
	}
	return f.loader.Run(ctx)
}

// growing adds the archives below a directory that were written recently, with the sizes of their files.
func growing(dir string, found map[string]string) error {
	root := strings.Count(filepath.Clean(dir), string(filepath.Separator))
	files := map[string]string{}
	latest := map[string]time.Time{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if d.IsDir() {
			if strings.Count(path, string(filepath.Separator))-root > maxDepth {
				return fs.SkipDir
			}
			return nil
		}
		base, part, ok := archive.BaseName(path)
		if !ok || part == "index" || path != base+"."+part { // compressed files do not grow
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		files[base] += fmt.Sprintf("%s %d\n", part, info.Size())
		if t := info.ModTime(); t.After(latest[base]) {
			latest[base] = t
		}
		return nil
	})
	for base, stamp := range files {
		if strings.Contains(stamp, "meta ") && time.Since(latest[base]) < recent {
			if len(found) >= maxFollowed {
				return fmt.Errorf("%s: more than %d archives grow", dir, maxFollowed)
			}
			found[base] = stamp
		}
	}
	return err
}

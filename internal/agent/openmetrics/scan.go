package openmetrics

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// settleTime is how long a folder or file must not have changed for its time stamp to be trusted.
	settleTime = 100 * time.Millisecond
	// fullScan is how often files are looked at too, whose modes may have changed.
	fullScan = 5 * time.Second
	// maxDepth and maxFiles limit the search.
	maxDepth = 16
	maxFiles = 1 << 14
)

// A folder is a directory with files of sources.
type folder struct {
	path    string
	dirs    []seenDir // it, and all below it
	scanned time.Time
	files   []found
	logged  map[string]bool // files with a logged problem
}

// A seenDir is a directory as it was read.
type seenDir struct {
	path string
	info fs.FileInfo // nil if there is none
	at   time.Time
}

// found is a file of a source.
type found struct {
	name, path string
	script     bool
	info       fs.FileInfo
}

// stale reports whether the folder must be read again. This is one call of the system for each directory.
func (f *folder) stale(now time.Time) bool {
	if now.Sub(f.scanned) >= fullScan || len(f.dirs) == 0 {
		return true
	}
	for _, d := range f.dirs {
		info, err := os.Stat(d.path)
		if err != nil || d.info == nil {
			if (err == nil) != (d.info != nil) {
				return true
			}
			continue
		}
		if !info.ModTime().Equal(d.info.ModTime()) || !os.SameFile(info, d.info) || d.at.Sub(d.info.ModTime()) < settleTime {
			return true
		}
	}
	return false
}

// sourceName is what the path of a source, with dots, must be like.
func sourceName() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*$`)
}

// scan reads the folder.
func (f *folder) scan(a *Agent, now time.Time) {
	f.scanned = now
	f.dirs, f.files = f.dirs[:0], f.files[:0]
	f.walk(a, f.path, "", 0)
	if a.sorted {
		slices.SortFunc(f.files, func(a, b found) int { return strings.Compare(a.path, b.path) })
	}
}

func (f *folder) walk(a *Agent, dir, prefix string, depth int) {
	at := time.Now()
	info, err := os.Stat(dir)
	if err != nil {
		f.dirs = append(f.dirs, seenDir{dir, nil, at})
		if depth > 0 || !os.IsNotExist(err) {
			f.ignore(a, dir, err.Error())
		}
		return
	}
	f.dirs = append(f.dirs, seenDir{dir, info, at})
	entries, err := os.ReadDir(dir)
	if err != nil {
		f.ignore(a, dir, err.Error())
	}
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		if e.IsDir() {
			if depth+1 < maxDepth {
				f.walk(a, path, prefix+name+".", depth+1)
			}
			continue
		}
		if strings.HasPrefix(name, ".") || len(f.files) >= maxFiles {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		ext := filepath.Ext(name)
		script := info.Mode()&0o100 != 0
		if !script && ext != ".url" {
			continue
		}
		name = prefix + strings.TrimSuffix(name, ext)
		switch {
		case name == "control":
			f.ignore(a, path, "control is the name of the metrics about sources")
		case !a.sourceName.MatchString(name) || len(name) > maxSourceName:
			f.ignore(a, path, "its name cannot be part of the name of metrics")
		default:
			f.files = append(f.files, found{name, path, script, info})
		}
	}
}

// maxSourceName is how long the name of a source may be.
const maxSourceName = 512

// ignore logs why a file is ignored, once.
func (f *folder) ignore(a *Agent, path, why string) {
	if f.logged == nil {
		f.logged = make(map[string]bool)
	}
	if !f.logged[path] && len(f.logged) < 1000 {
		f.logged[path] = true
		a.log.Warn("file is ignored", "file", path, "err", why)
	}
}

// check looks for files that have come, gone or changed. It is called before each request, and starts to read
// sources that have not been read, or not with success. It returns those that were never read.
func (a *Agent) check() (unread []*source) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.folders, func(f *folder) bool { return f.stale(now) }) {
		a.rescan(now)
	}
	for _, s := range a.ordered {
		s.mu.Lock()
		empty, again := len(s.metrics) == 0, s.changed
		s.changed = false
		wants := s.run == nil && (again || s.tried.IsZero() || empty && now.Sub(s.tried) >= emptyPause)
		s.mu.Unlock()
		if wants {
			a.start(s)
		}
		select {
		case <-s.first:
		default:
			unread = append(unread, s)
		}
	}
	return unread
}

// emptyPause is how long a source that had no metrics is left alone unless somebody asks for it.
const emptyPause = 10 * time.Second

// rescan reads the folders. Called with a.mu held.
func (a *Agent) rescan(now time.Time) {
	here := make(map[string]bool)
	for _, f := range a.folders {
		f.scan(a, now)
		for _, file := range f.files {
			if here[file.name] {
				f.ignore(a, file.path, "there is another source of that name")
				continue
			}
			here[file.name] = true
			if s := a.byName[file.name]; s != nil && s.path == file.path && s.script == file.script {
				s.mu.Lock()
				if was := s.listed; !was.ModTime().Equal(file.info.ModTime()) || was.Size() != file.info.Size() || was.Mode() != file.info.Mode() {
					s.listed, s.changed = file.info, true
				}
				s.mu.Unlock()
				continue
			} else if s != nil {
				a.forget(s)
			}
			a.adopt(f, file, now)
		}
	}
	for _, s := range slices.Clone(a.ordered) {
		if !here[s.name] {
			a.forget(s)
		}
	}
	if r, ok := a.clusters.record(); ok {
		a.warnUnkept(r.write())
	}
}

// adopt adds a source. Called with a.mu held.
func (a *Agent) adopt(f *folder, file found, now time.Time) {
	cluster, ok := a.clusters.add(file.name, maxClusters)
	if !ok {
		f.ignore(a, file.path, "there are too many sources")
		return
	}
	s := a.retired[file.name]
	if s != nil && s.script == file.script && s.path == file.path {
		delete(a.retired, file.name)
		s.mu.Lock()
		s.gone = false
		s.mu.Unlock()
		a.enlist(s, file, now)
		s.mu.Lock()
		for _, m := range s.metrics {
			a.announce(s, m)
		}
		s.mu.Unlock()
		return
	}
	s = &source{
		a: a, name: file.name, cluster: int(cluster), path: file.path, dir: f.path, script: file.script,
		metrics: make(map[string]*metric), byItem: make(map[int32]*metric), first: make(chan struct{}), found: now,
		stats: stats{status: "unknown"},
	}
	var err error
	if s.items, err = openNumbering(a.namesPath(s.cluster)); err != nil {
		a.log.Warn("numbers of metrics of before are not known", "source", s.name, "err", err)
	}
	a.log.Info("found source", "source", s.name, "cluster", s.cluster)
	a.enlist(s, file, now)
}

func (a *Agent) enlist(s *source, file found, _ time.Time) {
	s.mu.Lock()
	s.listed, s.changed = file.info, true
	s.mu.Unlock()
	a.budget.count(1)
	a.byName[s.name] = s
	a.byCluster[s.cluster] = s
	a.ordered = append(a.ordered, s)
	a.namesChanged.Store(true)
}

// forget drops a source whose file has gone; its numbers stay. Called with a.mu held.
func (a *Agent) forget(s *source) {
	delete(a.byName, s.name)
	delete(a.byCluster, s.cluster)
	a.ordered = slices.DeleteFunc(a.ordered, func(o *source) bool { return o == s })
	a.retired[s.name] = s
	a.budget.count(-1)
	s.mu.Lock()
	s.gone = true
	if s.run == nil {
		s.release()
		a.keep(s)
	}
	s.mu.Unlock()
	a.tree = nil
	a.namesChanged.Store(true)
	a.log.Info("source has gone", "source", s.name)
}

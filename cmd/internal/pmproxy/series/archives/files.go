package archives

import (
	"container/list"
	"sync"

	"github.com/go-pcp/pcp/archive"
)

// maxEntries is the number of entries of temporal indexes that are kept in memory for archives without open volumes: 40 bytes each.
const maxEntries = 512 << 10

// openFiles keeps recently read archives open: the last ones with their volumes, more of them with their lists of files and their
// temporal indexes only, so that they need not be searched and read again. A query of all hosts over a month uses thousands, one after
// the other.
type openFiles struct {
	mu      sync.Mutex
	max     int
	all     map[string]*file
	recent  *list.List // unused *files, the latest first
	idle    *list.List // those of which no volume is open
	entries int        // of their indexes
	opened  int        // archives so far
}

// A file is an open archive, without its metadata.
type file struct {
	*archive.Archive
	path    string
	volumes string
	refs    int
	stale   bool // no longer in all
	elem    *list.Element
	in      *list.List // of elem
}

func newOpenFiles(most int) *openFiles {
	return &openFiles{max: most, all: map[string]*file{}, recent: list.New(), idle: list.New()}
}

// get returns an archive with the given volumes. The caller must release it with put.
func (o *openFiles) get(path, volumes string) (*file, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.all[path]; f != nil {
		if f.volumes == volumes {
			o.unlist(f)
			f.refs++
			return f, nil
		}
		o.drop(f)
	}
	a, err := archive.Options{NoMeta: true}.Open(path)
	if err != nil {
		return nil, err
	}
	f := &file{Archive: a, path: path, volumes: volumes, refs: 1}
	o.all[path] = f
	o.opened++
	return f, nil
}

// unlist removes an unused archive from its list, if it is in one, and reports whether it was.
func (o *openFiles) unlist(f *file) bool {
	if f.elem == nil {
		return false
	}
	f.in.Remove(f.elem)
	if f.in == o.idle {
		o.entries -= f.cost()
	}
	f.elem, f.in = nil, nil
	return true
}

// enlist adds an unused archive to a list.
func (o *openFiles) enlist(f *file, in *list.List) {
	f.elem, f.in = in.PushFront(f), in
	if in == o.idle {
		o.entries += f.cost()
	}
}

// cost returns the memory of an archive, in entries of its index.
func (f *file) cost() int { return len(f.Index()) + 32 }

// put releases the result of get.
func (o *openFiles) put(f *file) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f.refs--; f.refs > 0 {
		return
	}
	if f.stale {
		f.Close()
		return
	}
	o.enlist(f, o.recent)
	for o.recent.Len() > o.max {
		old := o.recent.Back().Value.(*file)
		o.unlist(old)
		old.CloseIdle()
		o.enlist(old, o.idle)
	}
	for o.entries > maxEntries {
		o.drop(o.idle.Back().Value.(*file))
	}
}

// drop removes a file, and closes it when it is not in use.
func (o *openFiles) drop(f *file) {
	delete(o.all, f.path)
	f.stale = true
	if o.unlist(f) {
		f.Close()
	}
}

// forget removes an archive that is gone or damaged.
func (o *openFiles) forget(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.all[path]; f != nil {
		o.drop(f)
	}
}

// len returns the number of archives with open volumes.
func (o *openFiles) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all) - o.idle.Len()
}

func (o *openFiles) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.all {
		o.drop(f)
	}
}

package archives

import (
	"container/list"
	"sync"

	"github.com/go-pcp/pcp/archive"
)

// openFiles keeps recently read archives open.
type openFiles struct {
	mu     sync.Mutex
	max    int
	all    map[string]*file
	recent *list.List // unused *files, the latest first
}

// A file is an open archive, without its metadata.
type file struct {
	*archive.Archive
	path    string
	volumes string
	refs    int
	stale   bool // no longer in all
	elem    *list.Element
}

func newOpenFiles(most int) *openFiles {
	return &openFiles{max: most, all: map[string]*file{}, recent: list.New()}
}

// get returns an archive with the given volumes. The caller must release it with put.
func (o *openFiles) get(path, volumes string) (*file, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.all[path]; f != nil {
		if f.volumes == volumes {
			if f.elem != nil {
				o.recent.Remove(f.elem)
				f.elem = nil
			}
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
	return f, nil
}

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
	f.elem = o.recent.PushFront(f)
	for o.recent.Len() > o.max {
		o.drop(o.recent.Back().Value.(*file))
	}
}

// drop removes a file, and closes it when it is not in use.
func (o *openFiles) drop(f *file) {
	delete(o.all, f.path)
	f.stale = true
	if f.elem != nil {
		o.recent.Remove(f.elem)
		f.elem = nil
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

func (o *openFiles) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}

func (o *openFiles) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.all {
		o.drop(f)
	}
}

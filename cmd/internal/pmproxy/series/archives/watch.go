package archives

import (
	"path/filepath"
	"runtime"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"

	"github.com/go-pcp/pcp/archive"
)

// A watch notices that files of archives change. It is a hint, which can be missing, as with files that another host
// writes: the store also scans without it from time to time. If a directory cannot be watched, the store
// scans as often as it may.
type watch struct {
	w       *fsnotify.Watcher // nil where directories are not watched
	changed chan struct{}     // holds one if a file has changed
	done    chan struct{}     // closed when no more changes are noticed
	blind   atomic.Bool       // there are directories that are not watched
}

// newWatch returns a watch; if on is false it watches nothing.
func newWatch(on bool) *watch {
	w := &watch{changed: make(chan struct{}, 1), done: make(chan struct{})}
	// Elsewhere a watched directory keeps each of its files open.
	on = on && (runtime.GOOS == "linux" || runtime.GOOS == "windows")
	if on {
		if watcher, err := fsnotify.NewWatcher(); err == nil {
			w.w = watcher
			go w.run()
			return w
		}
	}
	close(w.done)
	return w
}

func (w *watch) run() {
	defer close(w.done)
	for {
		select {
		case e, ok := <-w.w.Events:
			if !ok {
				return
			}
			if !matters(e) {
				continue
			}
		case _, ok := <-w.w.Errors: // such as an overflow
			if !ok {
				return
			}
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// matters reports whether an event can be about an archive: about its files, or a directory.
func matters(e fsnotify.Event) bool {
	if !e.Has(fsnotify.Write) {
		return true
	}
	_, _, ok := archive.BaseName(filepath.Base(e.Name))
	return ok
}

// begin is called before a scan adds the directories.
func (w *watch) begin() { w.blind.Store(w.w == nil) }

// add watches a directory; it is called before the directory is read.
func (w *watch) add(dir string) {
	if w.w != nil && w.w.Add(dir) != nil {
		w.blind.Store(true)
	}
}

// miss notes a directory that cannot be watched.
func (w *watch) miss() { w.blind.Store(true) }

func (w *watch) close() {
	if w.w != nil {
		w.w.Close()
	}
	<-w.done
}

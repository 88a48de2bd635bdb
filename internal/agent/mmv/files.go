package mmv

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/mmv"
)

const (
	// settleTime is the time without changes after which the time stamp of a
	// folder is trusted: two changes within a tick of the clock leave the same
	// stamp.
	settleTime = 100 * time.Millisecond
	// fluxGrace is the time for which a file that is being written keeps its old
	// definitions.
	fluxGrace = time.Second
	// retryPause is the time before an unusable file is tried again.
	retryPause = time.Second
	// fluxTries is the number of immediate retries of a file in flux, since
	// programs mostly need microseconds to complete it.
	fluxTries = 20
	fluxPause = 20 * time.Microsecond
	// maxValues is the maximum number of values of all files together.
	maxValues = 1 << 22
	// maxFiles is the maximum number of files.
	maxFiles = 1 << 16
)

// A dir is a folder with files.
type dir struct {
	path    string
	info    os.FileInfo // as it was read
	err     error       // why it was not
	settled bool
	files   map[string]*file
	alive   func(pid int) bool // whether a process that a file names exists
}

// A file is a name in a folder that is, or was, that of a regular file.
type file struct {
	dir  *dir
	name string
	path string

	cur   *loaded // nil if it cannot be used
	stale bool    // the path leads to a file other than cur, or cur is damaged
	sig   signature

	pending bool      // being written; look again each time
	since   time.Time // when that began
	retry   time.Time // when to try an unusable file again
	lastLog string    // the last message about it
	cluster int       // as assigned
}

// A signature identifies the state of a file.
type signature struct {
	dev, ino     uint64
	size         int64
	mtime, ctime unix.Timespec
	header       [headerSize]byte
}

// loaded is a file as read.
type loaded struct {
	path       string
	fd         *os.File // nil if it is opened each time
	dev, ino   uint64
	size       int64
	generation uint64
	pid        int // 0 if it does not matter
	def        *mmv.File
	order      binary.ByteOrder
	names      []string // full, of def.Metrics; "" for metrics without one
	problems   []string // of single metrics
	damaged    bool     // it has become shorter
	header     [headerSize]byte

	values
}

// errGone is returned if the path now leads to another file.
var errGone = errors.New("another file has taken its place")

// reader returns a reader of the file, and a function that closes it.
func (l *loaded) reader() (io.ReaderAt, func(), error) {
	if l.fd != nil {
		return l.fd, func() {}, nil
	}
	fd, st, err := openRegular(l.path)
	if err != nil {
		return nil, nil, err
	}
	if uint64(st.Dev) != l.dev || st.Ino != l.ino {
		fd.Close()
		return nil, nil, errGone
	}
	return fd, func() { fd.Close() }, nil
}

// errIrregular is returned if a path is not that of a regular file.
var errIrregular = errors.New("not a regular file")

// openRegular opens the regular file at path. It never waits, as opening a
// pipe could, and opens no device.
func openRegular(path string) (*os.File, *unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, nil, errIrregular
	}
	fd, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &st, err
	}
	if err := unix.Fstat(int(fd.Fd()), &st); err != nil {
		fd.Close()
		return nil, nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		fd.Close()
		return nil, nil, errIrregular
	}
	return fd, &st, nil
}

// check checks folders and files, and updates the index. It checks files if all
// is set, or if their last check was short compared with the time since.
func (a *Agent) check(all bool) {
	changed := false
	forced := a.forced
	now := a.clock()
	for _, d := range a.dirs {
		if forced || d.changed() {
			changed = a.scan(d, now) || changed
		}
	}
	if forced || all || now.Sub(a.checked) > 20*a.checkCost {
		for _, f := range a.files {
			if forced {
				f.stale, f.retry, f.sig = true, time.Time{}, signature{}
			}
			changed = a.checkFile(f, now) || changed
		}
		a.checked = a.clock()
		a.checkCost = a.checked.Sub(now)
	}
	if changed {
		a.build()
	}
	a.reload, a.forced = 0, false
	for _, f := range a.files {
		if f.pending {
			a.reload = 1
			break
		}
	}
}

// changed reports whether the folder must be read again.
func (d *dir) changed() bool {
	st, err := os.Stat(d.path)
	if err != nil {
		changed := d.err == nil || d.err.Error() != err.Error() || len(d.files) > 0
		d.err, d.settled = err, false
		return changed
	}
	if d.err == nil && d.settled && st.ModTime().Equal(d.info.ModTime()) && os.SameFile(st, d.info) {
		return false
	}
	d.err, d.info = nil, st
	d.settled = time.Since(st.ModTime()) > settleTime
	return true
}

// scan reads a folder. It returns whether files were loaded or dropped.
func (a *Agent) scan(d *dir, now time.Time) (changed bool) {
	var names []string
	if d.err == nil {
		f, err := os.OpenFile(d.path, os.O_RDONLY|unix.O_DIRECTORY, 0)
		if err == nil {
			names, err = f.Readdirnames(maxFiles)
			f.Close()
		}
		if err != nil && err != io.EOF {
			a.debugf("%s: %v", d.path, err)
		}
	}
	there := make(map[string]bool, len(names))
	added := false
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		path := filepath.Join(d.path, name)
		var st unix.Stat_t
		if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		there[name] = true
		f := d.files[name]
		if f == nil {
			f = &file{dir: d, name: name, path: path}
			d.files[name] = f
			added = true
		}
		switch {
		case f.cur != nil:
			f.stale = f.stale || f.cur.dev != uint64(st.Dev) || f.cur.ino != st.Ino
		default:
			f.retry = time.Time{}
		}
	}
	for name, f := range d.files {
		if !there[name] {
			changed = a.drop(f) || changed
			delete(d.files, name)
			added = true
		}
	}
	if added {
		a.files = a.files[:0]
		for _, d := range a.dirs {
			first := len(a.files)
			for _, f := range d.files {
				a.files = append(a.files, f)
			}
			slices.SortFunc(a.files[first:], func(f, g *file) int { return cmp.Compare(f.name, g.name) })
		}
	}
	for _, f := range d.files {
		if f.cur == nil || f.stale {
			changed = a.checkFile(f, now) || changed
		}
	}
	return changed
}

// drop stops using a file.
func (a *Agent) drop(f *file) bool {
	if f.cur == nil {
		return false
	}
	if f.cur.fd != nil {
		f.cur.fd.Close()
		a.open--
	}
	f.cur, f.stale = nil, false
	return true
}

// checkFile checks one file. It returns whether its definitions changed.
func (a *Agent) checkFile(f *file, now time.Time) (changed bool) {
	switch {
	case f.cur != nil && !f.stale:
		if f.cur.unchanged() {
			f.pending = false
			if f.cur.pid == 0 || f.dir.alive(f.cur.pid) {
				return false
			}
			a.report(f, slog.LevelError, "owning process PID %d vanished", f.cur.pid)
			a.drop(f)
			f.retry = now.Add(retryPause)
			return true
		}
	case f.cur == nil && !f.pending && now.Before(f.retry):
		return false
	}
	return a.load(f, now)
}

// unchanged reports whether the header of the file is still that of the loaded file.
func (l *loaded) unchanged() bool {
	r, done, err := l.reader()
	if err != nil {
		return false
	}
	defer done()
	if l.damaged {
		return false
	}
	if len(l.def.Problems) > 0 && l.fd != nil { // the missing parts may be there now
		if st, err := l.fd.Stat(); err != nil || st.Size() != l.size {
			return false
		}
	}
	return l.sameGeneration(r)
}

func (l *loaded) sameGeneration(r io.ReaderAt) bool {
	if _, err := r.ReadAt(l.header[:], 0); err != nil {
		return false
	}
	return l.order.Uint64(l.header[8:]) == l.generation && l.order.Uint64(l.header[16:]) == l.generation
}

// report logs a message about a file unless it is the last one logged about it.
func (a *Agent) report(f *file, level slog.Level, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if text != f.lastLog {
		f.lastLog = text
		a.log.Log(context.Background(), level, fmt.Sprintf("%s: %s: %s", a.prefix, f.name, text))
	}
}

// reportProblems logs the parts of a file that are left out, unless it has done so
// before.
func (a *Agent) reportProblems(f *file) {
	var all strings.Builder
	for _, err := range f.cur.def.Problems {
		fmt.Fprintf(&all, "%s\n", err)
	}
	for _, text := range f.cur.problems {
		fmt.Fprintf(&all, "%s\n", text)
	}
	text := all.String()
	if text == f.lastLog {
		return
	}
	f.lastLog = text
	for _, err := range f.cur.def.Problems {
		a.log.Error(fmt.Sprintf("%s: %s: %s", a.prefix, f.name, err))
	}
	for _, text := range f.cur.problems {
		a.log.Error(fmt.Sprintf("%s: %s", a.prefix, text))
	}
	if text == "" {
		a.debugf("%s: loading client from %s", f.name, f.path)
	}
}

// debugf logs messages that mmv.control.debug enables.
func (a *Agent) debugf(format string, args ...any) {
	if a.debug != 0 {
		a.log.Info(a.prefix + ": " + fmt.Sprintf(format, args...))
	}
}

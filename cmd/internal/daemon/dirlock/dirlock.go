// Package dirlock takes the lock files by which programs that tend the same directory keep apart, those of the C implementation
// too: who could create the file has the lock, and removes it when done.
//
//	l, err := dirlock.Take(ctx, dir+"/lock", dirlock.Config{})
//	...
//	defer l.Release()
//
// A lock that is older than 30 minutes counts as left behind, as in C. One of this program names its process, so
// that it does not count any more when that process has gone.
package dirlock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// What the zero Config means.
const (
	Wait  = 20 * time.Second
	Pause = 100 * time.Millisecond
	Stale = 30 * time.Minute
)

// A Config says how a lock is taken.
type Config struct {
	Wait  time.Duration // how long another one's lock is waited for; 0: Wait
	Pause time.Duration // between two attempts; 0: Pause
	Stale time.Duration // age from which a lock does not count; 0: Stale

	// Removing is told of a lock that is left behind, before it goes, and why; nil: it is not.
	Removing func(path, why string)
}

// ErrHeld is that another has the lock, and still had it when the wait was over.
var ErrHeld = errors.New("file exists")

// A Lock is one that Take has taken.
type Lock struct {
	path string
	made os.FileInfo
}

// Take makes the file at path. If it is there already it waits until it goes.
func Take(ctx context.Context, path string, cfg Config) (*Lock, error) {
	if cfg.Wait == 0 {
		cfg.Wait = Wait
	}
	if cfg.Pause == 0 {
		cfg.Pause = Pause
	}
	if cfg.Stale == 0 {
		cfg.Stale = Stale
	}
	end := time.Now().Add(cfg.Wait)
	for {
		l, err := create(path)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return l, err
		}
		if why := stale(path, cfg.Stale); why != "" && remove(path, why, cfg) {
			continue
		}
		if !time.Now().Before(end) {
			return nil, fmt.Errorf("%s: %w", path, ErrHeld)
		}
		timer := time.NewTimer(cfg.Pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

func create(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(f, "%d %s\n", os.Getpid(), host())
	st, errStat := f.Stat()
	if err = errors.Join(err, errStat, f.Close()); err != nil {
		os.Remove(path) // of a full disk, say
		return nil, err
	}
	return &Lock{path, st}, nil
}

// Release removes the lock, unless it is another one's by now.
func (l *Lock) Release() {
	if st, err := os.Lstat(l.path); err == nil && os.SameFile(st, l.made) {
		os.Remove(l.path)
	}
}

func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// maxLock is how much of a lock is read.
const maxLock = 300

// stale returns why a lock does not count any more, "" if it does.
func stale(path string, age time.Duration) string {
	st, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	if time.Since(st.ModTime()) > age {
		return fmt.Sprintf("older than %d minutes", int(age/time.Minute))
	}
	if !st.Mode().IsRegular() || st.Size() > maxLock {
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	words := strings.Fields(string(b))
	if len(words) != 2 || words[1] != host() {
		return ""
	}
	pid, err := strconv.Atoi(words[0])
	if err != nil || pid <= 0 || pid == os.Getpid() || alive(pid) {
		return ""
	}
	return fmt.Sprintf("of process %d, which has ended", pid)
}

// remove removes a lock that does not count any more, and reports whether it did. Of several that try at once one
// succeeds, and none of them removes the lock that follows.
func remove(path, why string, cfg Config) bool {
	unlock, ok := alone(path)
	if !ok {
		return false
	}
	defer unlock()
	if stale(path, cfg.Stale) == "" {
		return true // it is another one's now, or gone
	}
	if cfg.Removing != nil {
		cfg.Removing(path, why)
	}
	return os.Remove(path) == nil
}

// Package dirlock takes the lock files that exclude other programs, those of the C implementation included, from
// maintaining the same directory: the program that created the file holds the lock, and removes the file when it is
// done.
//
//	l, err := dirlock.Take(ctx, dir+"/lock", dirlock.Config{})
//	...
//	defer l.Release()
//
// A lock older than 30 minutes is stale, as in C. A lock of this program names its process, so that it is also
// stale when that process has ended.
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

	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/processes"
)

// Defaults of a Config.
const (
	Wait  = 20 * time.Second
	Pause = 100 * time.Millisecond
	Stale = 30 * time.Minute
)

// A Config configures Take.
type Config struct {
	Wait  time.Duration // time to wait for a lock that is held; 0: Wait
	Pause time.Duration // time between attempts; 0: Pause
	Stale time.Duration // age from which a lock is stale; 0: Stale

	// Removing, if not nil, is called with a stale lock and the reason, before the lock is removed.
	Removing func(path, why string)
}

// ErrHeld is the error of a lock that another program still holds after the wait.
var ErrHeld = errors.New("file exists")

// A Lock is a lock taken by Take.
type Lock struct {
	path string
	made os.FileInfo
}

// Take creates the file at path. If the file exists it waits for its removal.
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
		if !pacing.Sleep(ctx, cfg.Pause) {
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
		os.Remove(path) // full disk, for example
		return nil, err
	}
	return &Lock{path, st}, nil
}

// Release removes the lock, unless another program has taken it meanwhile.
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

// maxLock limits the bytes read of a lock.
const maxLock = 300

// stale returns the reason why a lock is stale, "" if it is not.
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
	if err != nil || pid <= 0 || pid == os.Getpid() || processes.Exists(pid) {
		return ""
	}
	return fmt.Sprintf("of process %d, which has ended", pid)
}

// remove removes a stale lock, and reports whether it did. Of several concurrent callers one succeeds, and none
// of them removes the next lock.
func remove(path, why string, cfg Config) bool {
	unlock, ok := alone(path)
	if !ok {
		return false
	}
	defer unlock()
	if stale(path, cfg.Stale) == "" {
		return true // taken again meanwhile, or gone
	}
	if cfg.Removing != nil {
		cfg.Removing(path, why)
	}
	return os.Remove(path) == nil
}

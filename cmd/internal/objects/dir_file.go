package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
)

// Files of a shared directory that are not listed.
const (
	lockName   = ".lock"
	newPrefix  = ".new-"
	newAge     = 24 * time.Hour // until a file of a process that was killed is removed
	defaultDir = 0o755          // mode of a directory without a parent
)

// shared is a directory on a file system. Writers hold a lock on a file in the directory while they compare and replace
// files, which are complete when they get their names.
type shared struct{}

// version returns the version of contents.
func version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func (shared) read(_ context.Context, path string) ([]byte, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", bare(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	switch {
	case err != nil:
		return nil, "", bare(err)
	case len(data) > maxSmall:
		return nil, "", fmt.Errorf("it has more than %d bytes", maxSmall)
	}
	return data, version(data), nil
}

// bare returns an error of package os without the path.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// makeDir makes a directory with the mode of the directory that it is in, except that not everyone may write.
func makeDir(dir string) (fs.FileMode, error) {
	st, err := os.Stat(dir)
	switch {
	case err == nil && !st.IsDir():
		return 0, &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case err == nil:
		return st.Mode().Perm(), nil
	case !errors.Is(err, fs.ErrNotExist):
		return 0, err
	}
	mode := fs.FileMode(defaultDir)
	if up := filepath.Dir(dir); up != dir {
		if mode, err = makeDir(up); err != nil {
			return 0, err
		}
	}
	mode = mode&^0o002 | 0o700
	if err := os.Mkdir(dir, mode); errors.Is(err, fs.ErrExist) {
		return mode, nil // another process was faster
	} else if err != nil {
		return 0, err
	}
	return mode, errors.Join(os.Chmod(dir, mode), fsdir.Sync(filepath.Dir(dir)))
}

// create writes a file that has no name yet, or a hidden one, beside path.
func create(path string, src io.Reader) (name string, err error) {
	dir := filepath.Dir(path)
	mode, err := makeDir(dir)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, newPrefix)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, src)
	err = errors.Join(err, f.Chmod(mode&0o666), f.Sync(), f.Close())
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

func (s shared) write(ctx context.Context, path string, data []byte, cond Condition) (string, error) {
	name, err := create(path, bytes.NewReader(data))
	if err != nil {
		return "", bare(err)
	}
	defer os.Remove(name) // if it was not renamed
	unlock, err := lock(ctx, filepath.Join(filepath.Dir(path), lockName))
	if err != nil {
		return "", err
	}
	defer unlock()
	if cond != (Condition{}) {
		_, now, err := s.read(ctx, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if now != cond.version {
			return "", ErrConflict
		}
	}
	if err := os.Rename(name, path); err != nil {
		return "", bare(err)
	}
	return version(data), fsdir.Sync(filepath.Dir(path))
}

func (shared) upload(ctx context.Context, path string, src *os.File, sums *Sums) error {
	name, err := create(path, &cancelled{ctx, io.NewSectionReader(src, 0, sums.Size)})
	if err != nil {
		return bare(err)
	}
	if err := os.Rename(name, path); err != nil {
		os.Remove(name)
		return bare(err)
	}
	return fsdir.Sync(filepath.Dir(path))
}

// cancelled is a Reader that ends with a context.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

// Read reads unless the context is done.
func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

func (shared) verify(ctx context.Context, path string, sums *Sums) error {
	f, err := os.Open(path)
	if err != nil {
		return bare(err)
	}
	defer f.Close()
	return sums.same(&cancelled{ctx, f})
}

func (shared) entries(_ context.Context, dir string) ([]Entry, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, bare(err)
	}
	var entries []Entry
	for _, e := range list {
		st, err := e.Info()
		switch {
		case err != nil:
			continue // it was just removed
		case strings.HasPrefix(e.Name(), newPrefix) && time.Since(st.ModTime()) > newAge:
			os.Remove(filepath.Join(dir, e.Name())) // of a process that was killed
		}
		if strings.HasPrefix(e.Name(), ".") || !st.IsDir() && !st.Mode().IsRegular() {
			continue
		}
		if st.IsDir() {
			entries = append(entries, Entry{Name: e.Name(), Dir: true})
		} else {
			entries = append(entries, Entry{Name: e.Name(), Size: st.Size(), Time: st.ModTime()})
		}
	}
	return entries, nil
}

func (shared) remove(ctx context.Context, path string) error {
	unlock, err := lock(ctx, filepath.Join(filepath.Dir(path), lockName))
	if err != nil {
		return bare(err)
	}
	defer unlock()
	return bare(os.Remove(path))
}

package logmv

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// mustCopy reports whether a link cannot be made because of the locations of the two
// names, or limits of the file system.
func mustCopy(err error) bool {
	for _, e := range []error{syscall.EXDEV, syscall.EPERM, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// copy copies a file, and reports whether that worked.
func (m *mover) copy(src, dst string) bool {
	if m.checksum && m.verbose > 0 && !m.summing {
		m.printf("checksum cmd: md5sum")
		m.summing = true
	}
	sum, made, err := m.copyFile(src, dst)
	if made && err != nil && m.ctx.Err() == nil {
		os.Remove(dst)
	} else if made {
		m.made = append(m.made, dst)
	}
	if err != nil && m.ctx.Err() != nil {
		m.caught()
		return false
	}
	if err != nil {
		// Two lines, as pmlogcp prints since it makes its copies itself.
		what := dst
		if e, ok := errors.AsType[*stepError](err); ok {
			what = e.what
		}
		m.complain("%s: %s", what, cli.ErrText(err))
		m.complain("copy %s -> %s failed", src, dst)
		return false
	}
	if m.checksum {
		// The data read back may be from the system's cache rather than the disk.
		got, err := m.sum(dst)
		if err != nil {
			m.complain("%s: %s", dst, cli.ErrText(err))
			return false
		}
		if m.verbose > 0 {
			m.printf("source checksum: %s\ndestination checksum: %s", sum, got)
		}
		if sum != got {
			m.complain("checksums %s ? %s differ", sum, got)
			return false
		}
	}
	if m.verbose > 0 {
		m.printf("copy %s -> %s", src, dst)
	}
	return true
}

// A stepError is an error of a step in copying a file.
type stepError struct {
	what string // "cannot open x", "write to x failed"
	err  error
}

func (e *stepError) Error() string { return e.what + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

func step(what string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{what, err}
}

// copyFile copies a file to a new file, which must not exist, with its mode and times,
// syncs it to disk, and returns the checksum of the bytes read.
func (m *mover) copyFile(src, dst string) (sum string, made bool, err error) {
	r, err := os.Open(src)
	if err != nil {
		return "", false, step("cannot open "+src, err)
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		return "", false, step("cannot stat "+src, err)
	}
	w, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm()|0o200)
	if err != nil {
		return "", false, step("cannot open "+dst, err)
	}
	defer w.Close()
	h := md5.New()
	var in io.Reader = reader{m.ctx, r, m.progress}
	if m.checksum {
		in = io.TeeReader(in, h)
	}
	read := "read from " + src + " failed"
	wrote := "write to " + dst + " failed"
	to := writerFunc(func(p []byte) (int, error) {
		n, err := w.Write(p)
		return n, step(wrote, err)
	})
	if _, err := io.CopyBuffer(to, in, make([]byte, 1<<20)); err != nil {
		if _, ok := errors.AsType[*stepError](err); !ok {
			err = step(read, err)
		}
		return "", true, err
	}
	if err := errors.Join(w.Chmod(st.Mode().Perm()), w.Sync(), w.Close()); err != nil {
		return "", true, step(wrote, err)
	}
	if err := os.Chtimes(dst, st.ModTime(), st.ModTime()); err != nil {
		return "", true, step("cannot set the times of "+dst, err)
	}
	return hex.EncodeToString(h.Sum(nil)), true, nil
}

// A writerFunc is a writer without other methods, so that all data passes through it.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (m *mover) sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := md5.New()
	if _, err := io.Copy(h, reader{m.ctx, f, m.progress}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// A reader ends with ctx.
type reader struct {
	ctx      context.Context
	r        io.Reader
	progress *cli.Progress
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	r.progress.Add(int64(n))
	return n, err
}

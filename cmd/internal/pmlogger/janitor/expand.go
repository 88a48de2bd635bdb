package janitor

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
)

// Expand writes the contents of a compressed file of an archive to a new file, which has the mode, the owner and the time of
// the compressed one. It gets its name after it was read back and synced to the disk. Then the compressed file is removed, unless
// keep is set. A file that is truncated or damaged is an error, and is kept. If Expand is interrupted, [Recover] cleans up.
func Expand(ctx context.Context, path, to string, keep bool) error {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "decompress", Path: to, Err: fs.ErrExist}
	}
	plain, before, err := openRegular(path)
	if err != nil {
		return err
	}
	plain.Close()
	temp := temporaryName(to, "")
	drop := func(err error) error {
		return errors.Join(fmt.Errorf("decompress %s: %w", path, err), ignoreMissing(os.Remove(temp)))
	}
	if err := writeExpanded(ctx, temp, path, before); err != nil {
		return drop(err)
	}
	after, err := os.Lstat(path)
	if err != nil {
		return drop(err)
	}
	if !os.SameFile(before, after) || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return drop(errors.New("it is still written"))
	}
	if err := os.Rename(temp, to); err != nil {
		return drop(err)
	}
	if err := fsdir.Sync(filepath.Dir(to)); err != nil || keep {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return fsdir.Sync(filepath.Dir(path))
}

// writeExpanded writes the contents of a compressed file to a new one, and reads that back.
func writeExpanded(ctx context.Context, temp, path string, like fs.FileInfo) error {
	in, err := archive.OpenFile(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	sum := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(out, sum), 256<<10)
	if _, err := io.Copy(buffered, &interruptible{ctx, io.NewSectionReader(in, 0, math.MaxInt64)}); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	if err := resemble(out, like); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	again := sha256.New()
	if _, err := io.Copy(again, &interruptible{ctx, io.NewSectionReader(out, 0, math.MaxInt64)}); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), again.Sum(nil)) {
		return fmt.Errorf("%s has other contents than were written", temp)
	}
	return out.Close()
}

// Measure returns the size that a file would have in the format.
func (f Format) Measure(ctx context.Context, path string) (int64, error) {
	in, fi, err := openRegular(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	var n counter
	z, err := f.writer(&n, fi.Size())
	if err != nil {
		return 0, err
	}
	if _, err := io.Copy(z, &interruptible{ctx, in}); err != nil {
		return 0, err
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	return int64(n), nil
}

// A counter counts the bytes written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

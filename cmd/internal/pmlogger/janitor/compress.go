package janitor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/internal/zstdframes"
)

// A Format is a compression format.
type Format int

// Formats. Version 6 of the C implementation and earlier versions can read XZ but not Zstd.
const (
	Zstd Format = iota // in frames of 4 MiB with a table, so that readers need not decompress the whole file
	XZ                 // in blocks of 10 MiB, for the same reason
)

const xzBlock = 10 << 20

// Suffix returns the suffix of file names.
func (f Format) Suffix() string {
	if f == XZ {
		return ".xz"
	}
	return ".zst"
}

// ParseFormat returns the format with a name, "zstd" or "xz".
func ParseFormat(name string) (Format, error) {
	switch name {
	case "zstd":
		return Zstd, nil
	case "xz":
		return XZ, nil
	}
	return 0, fmt.Errorf("unknown format %q, want zstd or xz", name)
}

// String returns the name of the format.
func (f Format) String() string {
	if f == XZ {
		return "xz"
	}
	return "zstd"
}

func (f Format) writer(w io.Writer, size int64) (io.WriteCloser, error) {
	if f == XZ {
		return xz.WriterConfig{BlockSize: xzBlock, DictCap: int(min(max(size, 4<<10), xzBlock))}.NewWriter(w)
	}
	return zstdframes.NewWriter(w)
}

// temporary is the suffix of incomplete files. With a dot before the name of the final
// file as well, no tool takes them for parts of archives.
const temporary = ".janitor"

func temporaryName(path, suffix string) string {
	dir, name := filepath.Split(path)
	return filepath.Join(dir, "."+name+suffix+temporary)
}

// Compress replaces a file of an archive with a compressed one, and returns its path. The
// file must not be written to. The new file has the mode, the owner and the time of the old
// one, which is removed after the new one was read back, compared and synced to the disk. If
// Compress is interrupted, [Recover] cleans up.
func Compress(ctx context.Context, path string, format Format) (string, error) {
	to := path + format.Suffix()
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return "", &fs.PathError{Op: "compress", Path: to, Err: fs.ErrExist}
	}
	in, before, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	temp := temporaryName(path, format.Suffix())
	if err := writeCompressed(ctx, temp, in, before, format); err != nil {
		return "", errors.Join(fmt.Errorf("compress %s: %w", path, err), ignoreMissing(os.Remove(temp)))
	}
	drop := func(err error) (string, error) {
		return "", errors.Join(err, os.Remove(temp))
	}
	if err := sameContents(ctx, path, temp, format.Suffix()); err != nil {
		return drop(err)
	}
	after, err := os.Lstat(path)
	if err != nil {
		return drop(err)
	}
	if !os.SameFile(before, after) || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return drop(fmt.Errorf("compress %s: it is still written", path))
	}
	if err := os.Rename(temp, to); err != nil {
		return drop(err)
	}
	if err := fsdir.Sync(filepath.Dir(path)); err != nil {
		return to, err
	}
	if err := os.Remove(path); err != nil {
		return to, err
	}
	return to, fsdir.Sync(filepath.Dir(path))
}

// openRegular opens a regular file, and no link.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(fi, opened) {
		err = fmt.Errorf("%s was replaced just now", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, opened, nil
}

func writeCompressed(ctx context.Context, temp string, in io.Reader, like fs.FileInfo, format Format) error {
	out, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	buffered := bufio.NewWriterSize(out, 256<<10)
	z, err := format.writer(buffered, like.Size())
	if err != nil {
		return err
	}
	if _, err := io.Copy(z, io.LimitReader(&interruptible{ctx, in}, like.Size())); err != nil {
		return err
	}
	if err := errors.Join(z.Close(), buffered.Flush()); err != nil {
		return err
	}
	if err := resemble(out, like); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	return out.Close()
}

// resemble copies the owner, the mode and the time of another file.
func resemble(f *os.File, like fs.FileInfo) error {
	own(f, like) // unprivileged users have no files of other owners
	if err := f.Chmod(like.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(f.Name(), like.ModTime(), like.ModTime())
}

// An interruptible is a reader that fails when its context is done.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (r *interruptible) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(b)
}

// A relation is the relation of two files' contents.
type relation int

const (
	different relation = iota
	same
	plainShorter  // the plain file is a prefix of the other
	packedShorter // the reverse; the compressed one may be truncated or damaged
)

// sameContents reads a compressed file back, and returns an error unless it has the contents
// of the plain file.
func sameContents(ctx context.Context, path, packed, suffix string) error {
	rel, err := compare(ctx, path, packed, suffix)
	if err == nil && rel != same {
		err = fmt.Errorf("%s has other contents than %s", packed, path)
	}
	return err
}

// compare reads a plain file and a compressed one of a given format, whatever its name,
// and returns their relation.
func compare(ctx context.Context, path, packed, suffix string) (relation, error) {
	plain, _, err := openRegular(path)
	if err != nil {
		return different, err
	}
	defer plain.Close()
	f, _, err := openRegular(packed)
	if err != nil {
		return different, err
	}
	defer f.Close()
	var r io.Reader
	switch suffix {
	case ".zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return different, fmt.Errorf("%s: %w", packed, err)
		}
		defer z.Close()
		r = z
	case ".xz":
		if r, err = xz.NewReader(bufio.NewReader(f)); err != nil {
			r = bytes.NewReader(nil) // not even a header
		}
	default:
		return different, fmt.Errorf("%s: not a format that is known here", packed)
	}
	a, b := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		if ctx.Err() != nil {
			return different, context.Cause(ctx)
		}
		n, plainErr := readFull(plain, a)
		if plainErr != nil && plainErr != io.EOF {
			return different, plainErr
		}
		m, packedErr := readFull(r, b)
		if _, ok := errors.AsType[*fs.PathError](packedErr); ok {
			return different, packedErr // a disk error, not bad contents
		}
		k := min(n, m)
		switch {
		case !bytes.Equal(a[:k], b[:k]):
			return different, nil
		case n > m:
			return packedShorter, nil
		case n < m:
			return plainShorter, nil
		case packedErr != nil && packedErr != io.EOF:
			return packedShorter, nil // the rest is damaged or missing
		case plainErr != nil && packedErr != nil:
			return same, nil // both end here
		}
	}
}

// readFull is io.ReadFull, except that it returns the error of the reader.
func readFull(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		k, err = r.Read(b[n:])
		n += k
	}
	return n, err
}

// CompressArchive compresses the volumes and the metadata of a complete archive, or all
// volumes but the last of an archive still being written. The temporal index is not
// compressed, since it is small and read first. It returns the paths of the new files.
func CompressArchive(ctx context.Context, a *Archive, format Format, written bool) (made []string, err error) {
	last := lastVolume(a)
	var errs []error
	for _, f := range a.Files {
		if f.Suffix != "" || f.Volume == archive.VolIndex || written && (f.Volume == archive.VolMeta || f.Volume == last) {
			continue
		}
		if ctx.Err() != nil {
			return made, context.Cause(ctx)
		}
		to, err := Compress(ctx, f.Path, format)
		if to != "" {
			made = append(made, to)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return made, errors.Join(errs...)
}

func lastVolume(a *Archive) int {
	last := -1
	for _, f := range a.Files {
		last = max(last, f.Volume)
	}
	return last
}

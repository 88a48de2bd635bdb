package objects

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Limits of a Dir.
const (
	maxSmall    = 16 << 20        // bytes of a file for Read and Write
	partSize    = 8 << 20         // bytes of a part of a large file, at least
	maxParts    = 9000            // of a file; S3 has 10,000
	slowestRate = 16 << 10        // bytes a second; slower uploads time out
	uploadTime  = 2 * time.Minute // for a request with a body, besides the time for the body
)

// ErrConflict is the error of a write whose condition does not hold: another process has written or removed the file.
var ErrConflict = errors.New("another process has written or removed it")

// ErrDiffers is the error of a stored file that is not equal to the local one.
var ErrDiffers = errors.New("the stored file differs from the local one")

// A Condition is what must hold for a write. The zero Condition always holds.
type Condition struct {
	absent  bool
	version string
}

// IfAbsent is the condition that the file does not exist.
func IfAbsent() Condition { return Condition{absent: true} }

// IfVersion is the condition that the file has a version that Read or Write returned. Without a version it is IfAbsent.
func IfVersion(version string) Condition { return Condition{absent: version == "", version: version} }

// An Entry is a file or a directory in a directory.
type Entry struct {
	Name    string // without the directory
	Size    int64
	Time    time.Time // of the last write
	Version string    // as of Read; "" in a directory of a file system
	Dir     bool
}

// A Dir is a directory that can be written: s3://BUCKET/PREFIX, or a path on a file system that all its users share.
// Names of files are relative to it, with slashes; parts of a name do not begin with a dot. Directories are made and
// vanish with their files. A Dir is safe for concurrent use. Errors wrap fs.ErrNotExist, fs.ErrPermission, ErrConflict and ErrDiffers.
type Dir struct {
	address string // without a slash at the end
	back    writer
}

// A writer writes to a kind of store.
type writer interface {
	read(ctx context.Context, address string) (data []byte, version string, err error)
	write(ctx context.Context, address string, data []byte, cond Condition) (version string, err error)
	upload(ctx context.Context, address string, src *os.File, sums *Sums) error
	verify(ctx context.Context, address string, sums *Sums) error
	entries(ctx context.Context, dir string) ([]Entry, error)
	remove(ctx context.Context, address string) error
	// try writes a file and removes it. Its error names the file or directory that is in the way.
	try(ctx context.Context, address string) error
}

// OpenDir opens a directory. Endpoint, region and credentials of S3 come from getenv, as for [Register]. Nothing is
// requested before the first call of a method.
func OpenDir(address string, getenv func(string) string) (*Dir, error) {
	scheme, rest, remote := strings.Cut(address, "://")
	switch {
	case address == "":
		return nil, errors.New("no directory is given")
	case !remote && strings.HasPrefix(address, "s3:"):
		return nil, fmt.Errorf("%q is not of the form s3://BUCKET/PREFIX", address)
	case !remote:
		abs, err := filepath.Abs(address)
		if err != nil {
			return nil, err
		}
		return &Dir{abs, shared{}}, nil
	case scheme != "s3":
		return nil, fmt.Errorf("%s: only directories and s3://BUCKET/PREFIX can be written", address)
	case strings.Contains("/"+rest+"/", "/../") || strings.Contains("/"+rest+"/", "/./"):
		return nil, fmt.Errorf("%s: the prefix has . or .. as a part", address)
	}
	client := newClient()
	client.Timeout = 0 // requests have their own
	s, err := newS3(client, getenv)
	if err != nil {
		return nil, err
	}
	if _, _, err := s.parse(address); err != nil {
		return nil, fmt.Errorf("%q is not of the form s3://BUCKET/PREFIX", address)
	}
	return &Dir{strings.TrimRight(address, "/"), s}, nil
}

// String returns the address of the directory.
func (d *Dir) String() string { return d.address }

// Address returns the address of a file, for the readers of archives.
func (d *Dir) Address(name string) string {
	if strings.Contains(d.address, "://") {
		return d.address + "/" + name
	}
	return filepath.Join(d.address, filepath.FromSlash(name))
}

// Sub returns the directory of the files whose names begin with name and a slash.
func (d *Dir) Sub(name string) (*Dir, error) {
	address, err := d.file(name)
	if err != nil {
		return nil, err
	}
	return &Dir{address, d.back}, nil
}

// file returns the address of a file after it has checked the name.
func (d *Dir) file(name string) (string, error) {
	if !fs.ValidPath(name) || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") || strings.ContainsAny(name, "\x00\\") {
		return "", fmt.Errorf("%s: %q is not the name of a file here", d.address, name)
	}
	return d.Address(name), nil
}

// Read returns the contents of a file of at most 16 MiB, and its version for [IfVersion].
func (d *Dir) Read(ctx context.Context, name string) (data []byte, version string, err error) {
	address, err := d.file(name)
	if err != nil {
		return nil, "", err
	}
	if data, version, err = d.back.read(ctx, address); err != nil {
		return nil, "", wrap(address, err)
	}
	return data, version, nil
}

// Write writes a file of at most 16 MiB as a whole if the condition holds, otherwise it returns ErrConflict. It is on the disk, or
// acknowledged by the store, when Write returns. Equal contents may have equal versions, so the contents of a file that is
// written with IfVersion must not repeat.
//
// A request whose answer is lost is repeated. If its condition no longer holds then, and the file has the given contents, it was
// written.
func (d *Dir) Write(ctx context.Context, name string, data []byte, cond Condition) (version string, err error) {
	address, err := d.file(name)
	if err == nil && len(data) > maxSmall {
		err = fmt.Errorf("%s: %d bytes are more than %d", address, len(data), maxSmall)
	}
	if err != nil {
		return "", err
	}
	if version, err = d.back.write(ctx, address, data, cond); err != nil {
		return "", wrap(address, err)
	}
	return version, nil
}

// Upload stores a copy of a local file, of any size, and verifies it as Verify does. The local file must not change meanwhile.
func (d *Dir) Upload(ctx context.Context, name string, src *os.File) (*Sums, error) {
	address, err := d.file(name)
	if err != nil {
		return nil, err
	}
	sums, err := Sum(ctx, src)
	if err != nil {
		return nil, err
	}
	return sums, d.uploadTo(ctx, address, src, sums)
}

// UploadSums is Upload of the beginning of a file that has these sums, such as a file that grows.
func (d *Dir) UploadSums(ctx context.Context, name string, src *os.File, sums *Sums) error {
	address, err := d.file(name)
	if err != nil {
		return err
	}
	return d.uploadTo(ctx, address, src, sums)
}

func (d *Dir) uploadTo(ctx context.Context, address string, src *os.File, sums *Sums) error {
	err := d.back.upload(ctx, address, src, sums)
	if err == nil {
		err = d.back.verify(ctx, address, sums)
	}
	if err != nil {
		return wrap(address, err)
	}
	return nil
}

// Verify checks that a stored file is equal to a local one, of which it has the sums: by a checksum that the store computed, or by
// reading the file back if there is no such checksum. If it is not equal, it returns ErrDiffers.
func (d *Dir) Verify(ctx context.Context, name string, sums *Sums) error {
	address, err := d.file(name)
	if err != nil {
		return err
	}
	if err := d.back.verify(ctx, address, sums); err != nil {
		return wrap(address, err)
	}
	return nil
}

// List lists the files and directories in a directory, "." for d itself, sorted by name. A missing directory is empty.
func (d *Dir) List(ctx context.Context, dir string) ([]Entry, error) {
	address := d.address
	if dir != "." && dir != "" {
		var err error
		if address, err = d.file(dir); err != nil {
			return nil, err
		}
	}
	list, err := d.back.entries(ctx, address)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wrap(address, err)
	}
	return list, nil
}

// Remove removes a file. It is not an error if there is none.
func (d *Dir) Remove(ctx context.Context, name string) error {
	address, err := d.file(name)
	if err != nil {
		return err
	}
	if err := d.back.remove(ctx, address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap(address, err)
	}
	return nil
}

// CheckConditions checks that the store honours the conditions of writes, which some do not, by writing a file with the given name,
// which is removed.
func (d *Dir) CheckConditions(ctx context.Context, name string) error {
	version, err := d.Write(ctx, name, []byte("1\n"), Condition{})
	if err != nil {
		return err
	}
	defer d.Remove(context.WithoutCancel(ctx), name)
	if _, err = d.Write(ctx, name, []byte("2\n"), IfAbsent()); errors.Is(err, ErrConflict) {
		if _, err = d.Write(ctx, name, []byte("3\n"), IfVersion(version)); err != nil {
			return err
		}
		_, err = d.Write(ctx, name, []byte("4\n"), IfVersion(version))
	}
	if err == nil {
		return fmt.Errorf("%s: the store ignores If-None-Match or If-Match, so that several writers cannot share it", d.address)
	} else if !errors.Is(err, ErrConflict) {
		return err
	}
	return nil
}

// Sums are the size and the checksums of a file.
type Sums struct {
	Size   int64
	SHA256 string // of the file, in hexadecimal
	parts  []partSum
}

// A partSum has the checksums of a part of a file.
type partSum struct {
	sha [sha256.Size]byte
	md5 [md5.Size]byte
}

// part returns the size of the parts of a file in S3.
func part(size int64) int64 {
	n := int64(partSize)
	for size/n >= maxParts {
		n *= 2
	}
	return n
}

// Sum reads a local file and returns its checksums.
func Sum(ctx context.Context, src *os.File) (*Sums, error) {
	st, err := src.Stat()
	if err != nil {
		return nil, err
	}
	return SumOf(ctx, src, st.Size())
}

// SumOf returns the checksums of the first bytes of a local file.
func SumOf(ctx context.Context, src *os.File, size int64) (*Sums, error) {
	step := part(size)
	s := &Sums{Size: size}
	whole := sha256.New()
	buf := make([]byte, 64<<10)
	for off := int64(0); off < size || len(s.parts) == 0; off += step {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sha, md := sha256.New(), md5.New()
		n := min(step, size-off)
		if m, err := io.CopyBuffer(only{io.MultiWriter(whole, sha, md)}, io.NewSectionReader(src, off, n), buf); err != nil {
			return nil, err
		} else if m != n {
			return nil, fmt.Errorf("%s was cut while it was read", src.Name())
		}
		s.parts = append(s.parts, partSum{[sha256.Size]byte(sha.Sum(nil)), [md5.Size]byte(md.Sum(nil))})
	}
	s.SHA256 = hex.EncodeToString(whole.Sum(nil))
	return s, nil
}

// only hides the other methods of a Writer, so that io.CopyBuffer uses the buffer.
type only struct{ io.Writer }

// same reads a stored file and compares it with the sums.
func (s *Sums) same(r io.Reader) error {
	whole := sha256.New()
	n, err := io.Copy(whole, io.LimitReader(r, s.Size+1))
	switch {
	case err != nil:
		return fmt.Errorf("reading it back: %w", err)
	case n != s.Size:
		return fmt.Errorf("%w: it has %d bytes or more, not %d", ErrDiffers, n, s.Size)
	case hex.EncodeToString(whole.Sum(nil)) != s.SHA256:
		return fmt.Errorf("%w in its contents", ErrDiffers)
	}
	return nil
}

// conflict reports whether an answer means that a condition does not hold.
func conflict(err error, cond Condition) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && (e.status == http.StatusPreconditionFailed || cond.version != "" && e.status == http.StatusNotFound && e.code != "NoSuchBucket")
}

//go:build unix

package mmv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
)

// A mapping is the file in memory. Its address never changes, so that a
// pointer to a value stays valid while the program runs, after release too: the
// file's pages are then replaced by unused memory.
type mapping struct {
	base unsafe.Pointer
	room int // address space reserved
	fd   int // to extend the file; closed by release
	dev  uint64
	ino  uint64
	temp string
	end  int // minimum length of the file
}

// supported is set if this system supports mappings.
const supported = true

// createMapping writes b to a new file next to path and maps it with room for it
// to grow. The file gets its name by publish.
func createMapping(path string, b []byte, room int) (*mapping, error) {
	f, temp, err := createTemp(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := &mapping{room: pageUp(max(room, len(b))), temp: temp}
	err = func() error {
		if _, err := f.Write(b); err != nil {
			return err
		}
		m.end = len(b)
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return err
		}
		m.dev, m.ino = uint64(st.Dev), st.Ino
		if m.fd, err = unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			return err
		}
		m.base, err = unix.MmapPtr(m.fd, 0, nil, uintptr(m.room), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			unix.Close(m.fd)
		}
		return err
	}()
	if err != nil {
		os.Remove(temp)
		return nil, err
	}
	return m, nil
}

// createTemp creates the file under a name that agents ignore. It removes a file
// of that name left by a killed program, or picks another name if it may not
// remove it.
func createTemp(path string) (*os.File, string, error) {
	for i := 0; ; i++ {
		temp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.%d", filepath.Base(path), os.Getpid(), i))
		f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) || i == 100 {
			return f, temp, err
		}
		os.Remove(temp)
	}
}

// publish gives the file its name, replacing an earlier file of that name.
func (m *mapping) publish(path string) error {
	if err := os.Rename(m.temp, path); err != nil {
		os.Remove(m.temp)
		return err
	}
	return nil
}

// zeros are only read.
var zeros [1 << 18]byte

// allocate writes n bytes of zeros to the file at offset at, where it has a hole. A
// store into a hole without space on the disk would kill the program, while a write
// only fails. It is also faster than having the kernel allocate each page when it
// is touched.
func (m *mapping) allocate(at, n int) error {
	if at+n > m.room {
		return -pcp.Error(unix.ENOSPC)
	}
	for n > 0 {
		k, err := unix.Pwrite(m.fd, zeros[:min(n, len(zeros))], int64(at))
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("let the file grow: %w", err)
		}
		at, n = at+max(k, 0), n-max(k, 0)
		m.end = max(m.end, at)
	}
	return nil
}

// check returns an error if others have removed, replaced or cut the file.
func (m *mapping) check(path string) error {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s has been removed: %w", path, err)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case uint64(st.Dev) != m.dev || st.Ino != m.ino:
		return fmt.Errorf("%s is now the file of another registry: %w", path, errReplaced)
	case st.Size < int64(m.end):
		return fmt.Errorf("%s has been cut to %d bytes of %d: %w", path, st.Size, m.end, errReplaced)
	}
	return nil
}

// remove removes the file, unless path is now the name of another.
func (m *mapping) remove(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || uint64(st.Dev) != m.dev || st.Ino != m.ino {
		return nil
	}
	return os.Remove(path)
}

// release unmaps the file. Memory at its address stays readable and writable.
func (m *mapping) release() {
	_, err := unix.MmapPtr(-1, 0, m.base, uintptr(m.room), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED|noReserve)
	if err != nil {
		return // the mapping of the removed file stays; nothing reads it
	}
	unix.Close(m.fd)
}

func pageUp(n int) int {
	page := os.Getpagesize()
	return (n + page - 1) / page * page
}

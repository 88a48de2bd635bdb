//go:build unix

package procfs

import "syscall"

// A handle is a bare descriptor: os.File would add a poller, a lock and a read
// that finds the end to each reading.
type handle int

func openHandle(path string) (handle, error) { return open(path, 0) }

// openAtOnce is openHandle, but does not wait for the other end of a pipe.
func openAtOnce(path string) (handle, error) { return open(path, syscall.O_NONBLOCK) }

func open(path string, flags int) (handle, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|flags, 0)
		if err != syscall.EINTR {
			return handle(fd), err
		}
	}
}

func (h handle) readAt(b []byte, off int64) (int, error) {
	for {
		n, err := syscall.Pread(int(h), b, off)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

func (h handle) close() error { return syscall.Close(int(h)) }

// Exists reports whether there is a file or directory of that name.
func Exists(path string) bool {
	const fOK = 0 // F_OK
	return syscall.Access(path, fOK) == nil
}

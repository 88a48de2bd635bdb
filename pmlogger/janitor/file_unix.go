//go:build unix

package janitor

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// own gives a file the owner of another one, as far as the process may.
func own(f *os.File, like fs.FileInfo) {
	if st, ok := like.Sys().(*syscall.Stat_t); ok {
		if f.Chown(int(st.Uid), int(st.Gid)) != nil {
			_ = f.Chown(-1, int(st.Gid))
		}
	}
}

// syncDir makes sure that the names in a directory survive a crash of the machine.
func syncDir(dir string) error {
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // a file system that cannot
	}
	return errors.Join(err, d.Close())
}

// lockDir locks a directory for one janitor, until the file that it returns is closed.
func lockDir(dir string) (*os.File, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		d.Close()
		return nil, ErrBusy
	}
	return d, nil
}

// alive reports whether there is a process of that number.
func alive(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

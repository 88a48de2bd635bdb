package nsenter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// A Kind is a set of name spaces.
type Kind uint

// Kinds of name spaces.
const (
	UTS   Kind = 1 << iota // what the host is called
	Net                    // network interfaces, and the files in /proc/thread-self/net
	Mount                  // the tree of files: all paths
)

var kinds = [...]struct {
	kind Kind
	file string
	flag int
}{{UTS, "uts", unix.CLONE_NEWUTS}, {Net, "net", unix.CLONE_NEWNET}, {Mount, "mnt", unix.CLONE_NEWNS}}

// A Process is one whose name spaces can be entered even if its number is
// another's in the meantime.
type Process struct {
	PID   int
	files [len(kinds)]*os.File
}

// Open opens the name spaces of a process.
func Open(pid int, which Kind) (*Process, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("process %d: %w", pid, unix.ENOENT)
	}
	p := &Process{PID: pid}
	for i, k := range kinds {
		if which&k.kind == 0 {
			continue
		}
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, k.file))
		if err != nil {
			p.Close()
			return nil, err
		}
		p.files[i] = f
	}
	return p, nil
}

// Identity names the name spaces: two processes in the same ones have the same.
func (p *Process) Identity() (string, error) {
	var b []byte
	for _, f := range p.files {
		if f == nil {
			continue
		}
		var s unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &s); err != nil {
			return "", err
		}
		b = fmt.Appendf(b, "%d:%d ", s.Dev, s.Ino)
	}
	return string(b), nil
}

// Close closes p.
func (p *Process) Close() error {
	var errs []error
	for i, f := range p.files {
		if f != nil {
			errs = append(errs, f.Close())
			p.files[i] = nil
		}
	}
	return errors.Join(errs...)
}

// Enter moves the thread into the name spaces. Only functions that OnThread runs
// may call it.
func (p *Process) Enter(which Kind) error {
	for i, k := range kinds {
		if which&k.kind == 0 {
			continue
		}
		if p.files[i] == nil {
			return fmt.Errorf("%s name space of process %d is not open", k.file, p.PID)
		}
		if k.kind == Mount {
			// Threads share their root and current directory, which the kernel
			// does not let one of them move.
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return fmt.Errorf("unshare: %w", err)
			}
		}
		if err := unix.Setns(int(p.files[i].Fd()), k.flag); err != nil {
			return fmt.Errorf("enter the %s name space of process %d: %w", k.file, p.PID, err)
		}
	}
	return nil
}

// Run runs fn in name spaces of a process, and waits for it.
func Run(pid int, which Kind, fn func() error) error {
	p, err := Open(pid, which)
	if err != nil {
		return err
	}
	defer p.Close()
	done := make(chan error)
	OnThread(func() {
		err := p.Enter(which)
		if err == nil {
			err = fn()
		}
		done <- err
	})
	return <-done
}

// OnThread runs fn on a thread that is thrown away, and does not wait for it.
func OnThread(fn func()) {
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			fn()
			return
		}
		// The main thread would not end, and /proc/self shows its namespaces to
		// everybody. While it is locked here fn gets another thread.
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			fn()
		}()
		<-done
		runtime.UnlockOSThread()
	}()
}

// InHostNet runs fn in the network of the host whose root directory is root: "/", or where a container has it. If that is the
// network of this process, as in a container that shares it, fn runs on the caller's thread and needs no right. Otherwise
// the error is fs.ErrPermission without the capabilities SYS_ADMIN and SYS_PTRACE.
func InHostNet(root string, fn func() error) error {
	if root == "" || root == "/" || sameNet(root) {
		return fn()
	}
	f, err := os.Open(filepath.Join(root, "proc/1/ns/net"))
	if err != nil {
		return err
	}
	defer f.Close()
	done := make(chan error)
	OnThread(func() {
		err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = fn()
		} else {
			err = fmt.Errorf("enter the network of the host: %w", err)
		}
		done <- err
	})
	return <-done
}

// sameNet reports whether the network of this process is that of the host: the files of each network have inodes of their own.
func sameNet(root string) bool {
	var own, host unix.Stat_t
	if unix.Stat("/proc/self/net/dev", &own) != nil || unix.Stat(filepath.Join(root, "proc/1/net/dev"), &host) != nil {
		return false
	}
	return own.Ino == host.Ino
}

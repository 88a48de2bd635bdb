package linux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/nsenter"
	"github.com/go-pcp/pcp/pmda/column"
)

// readInside reads sources in the container of a process. A file system of the
// container that does not answer can block that forever. The reading is then
// abandoned, and the container is not read again before it has ended.
func (a *Agent) readInside(ctx context.Context, name string, pid int, want column.Set) (*column.Agent, error) {
	proc, err := nsenter.Open(pid, nsenter.UTS|nsenter.Net|nsenter.Mount)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil, fmt.Errorf("%v: %w", err, pcp.ErrNoContainer)
	} else if err != nil {
		return nil, err
	}
	space, err := proc.Identity()
	if err != nil {
		proc.Close()
		return nil, err
	}
	b := a.boxes.byName[name]
	if b != nil && b.reading() {
		proc.Close()
		return nil, fmt.Errorf("an earlier reading has not come back: %w", pcp.ErrTimeout)
	}
	if b == nil || b.space != space || b.pid != pid {
		if b, err = a.newBox(name, space, pid); err != nil {
			proc.Close()
			return nil, err
		}
	}
	a.boxes.use(b)
	if want.Empty() {
		return b.engine, proc.Close()
	}
	busy, result := make(chan struct{}), make(chan error, 1)
	b.busy = busy
	nsenter.OnThread(func() {
		result <- b.readIn(proc, want)
		close(busy)
	})
	timer := time.NewTimer(a.host.cfg.StatfsTimeout)
	defer timer.Stop()
	select {
	case err := <-result:
		<-busy
		return b.engine, err
	case <-timer.C:
		return nil, fmt.Errorf("not read within %v: %w", a.host.cfg.StatfsTimeout, pcp.ErrTimeout)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readIn reads sources on a thread that is thrown away, and closes proc. It
// enters the mount name space last, after which /proc is the container's.
func (b *box) readIn(proc *nsenter.Process, want column.Set) error {
	defer proc.Close()
	in := b.engine
	if in.Has(want, scopeMounts) {
		// Opened here, and read below.
		if _, err := b.mounts.Read(); err != nil {
			return err
		}
		defer b.mounts.Close()
	}
	if in.Has(want, scopeNet) {
		if err := proc.Enter(nsenter.Net); err != nil {
			return err
		}
		b.host.devices.Size = 0
		in.ReadScope(want, scopeNet)
	}
	if in.Has(want, scopeUTS) {
		if err := proc.Enter(nsenter.UTS); err != nil {
			return err
		}
		in.ReadScope(want, scopeUTS)
	}
	if in.Has(want, scopeSys) || in.Has(want, scopeMounts) {
		if err := proc.Enter(nsenter.Mount); err != nil {
			return err
		}
		b.host.devices.Size = maxInsideFile
		if isSysfs("/sys/class/net") {
			in.ReadScope(want, scopeSys)
		} else {
			in.ClearScope(want, scopeSys)
		}
		in.ReadScope(want, scopeMounts)
	}
	in.ReadScope(want, scopeBoth)
	return nil
}

// isSysfs reports whether a directory is the kernel's, not made by the container.
func isSysfs(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Type == unix.SYSFS_MAGIC
}

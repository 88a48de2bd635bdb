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
)

// readInside reads sources in the container of a process. A container can make
// that take for ever, with a file system that does not answer; it is then given
// up, and not tried again before it has come to its end.
func (a *Agent) readInside(ctx context.Context, name string, pid int, want sources) (*Agent, error) {
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
		b = a.newBox(name, space, pid)
	}
	a.boxes.use(b)
	if want == 0 {
		return b.agent, proc.Close()
	}
	busy, result := make(chan struct{}), make(chan error, 1)
	b.busy = busy
	nsenter.OnThread(func() {
		result <- b.agent.readIn(proc, want)
		close(busy)
	})
	timer := time.NewTimer(a.cfg.StatfsTimeout)
	defer timer.Stop()
	select {
	case err := <-result:
		<-busy
		return b.agent, err
	case <-timer.C:
		return nil, fmt.Errorf("not read within %v: %w", a.cfg.StatfsTimeout, pcp.ErrTimeout)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readIn reads sources on a thread that is thrown away, and closes proc. The
// tree of files is entered last: what is in /proc is then the container's.
func (a *Agent) readIn(proc *nsenter.Process, want sources) error {
	defer proc.Close()
	if want&sourcesOfMounts != 0 {
		// Opened here, and read below.
		if _, err := a.mounts.file.Read(); err != nil {
			return err
		}
		defer a.mounts.file.Close()
	}
	if want&sourcesOfNet != 0 {
		if err := proc.Enter(nsenter.Net); err != nil {
			return err
		}
		a.devices.Size = 0
		a.readOnly(want & sourcesOfNet)
	}
	if want&sourcesOfUTS != 0 {
		if err := proc.Enter(nsenter.UTS); err != nil {
			return err
		}
		if err := readUname(a); err != nil {
			return err
		}
	}
	if want&(sourcesOfSys|sourcesOfMounts) != 0 {
		if err := proc.Enter(nsenter.Mount); err != nil {
			return err
		}
		a.devices.Size = maxInsideFile
		if isSysfs("/sys/class/net") {
			a.readOnly(want & sourcesOfSys)
		} else {
			a.forget(want & sourcesOfSys)
		}
		a.readOnly(want & sourcesOfMounts)
	}
	a.readOnly(want & sourcesOfBoth)
	return nil
}

// isSysfs tells whether the kernel answers for a directory, and not somebody in
// the container.
func isSysfs(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Type == unix.SYSFS_MAGIC
}

// forget has the metrics of sources have no values.
func (a *Agent) forget(list sources) {
	for s := range numSources {
		if list&s.bit() != 0 {
			for _, b := range a.filled[s] {
				a.blocks[b].clear()
			}
		}
	}
}

//go:build linux || darwin

package txmon

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
)

const ipcRmid = 0 // IPC_RMID, which is missing in the constants of some systems

// create makes the segment, or takes over the segment that a dead agent left.
func create(key, size int) (id int, s segment, err error) {
	if id, err = unix.SysvShmGet(key, size, unix.IPC_CREAT|0o666); err != nil {
		return 0, nil, fmt.Errorf("shmget: key 0x%x: %w", uint32(key), err)
	}
	if s, err = unix.SysvShmAttach(id, 0, 0); err != nil {
		remove(id)
		return 0, nil, fmt.Errorf("shmat: key 0x%x: %w", uint32(key), err)
	}
	return id, s, nil
}

// attach finds the segment of an agent.
func attach(key int) (segment, error) {
	id, err := unix.SysvShmGet(key, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("shmid: %w", pcp.Code(err))
	}
	s, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("shmat: %w", pcp.Code(err))
	}
	return s, nil
}

func detach(s segment) error { return unix.SysvShmDetach(s) }

// remove has the segment removed when the last process detaches it.
func remove(id int) error {
	_, err := unix.SysvShmCtl(id, ipcRmid, nil)
	return err
}

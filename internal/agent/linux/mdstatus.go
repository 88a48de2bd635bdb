package linux

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/procfs"
)

// arrayStatus returns the status of the process mdadm --detail --test, as wait(2)
// gives it and the C agent reports it: 256 times the program's exit status. That is
// 0 for an array in order, 1 if disks are missing, 2 if it cannot be used, and 4 if
// its state is unknown. Unless Config.MDAdm names a program, it is read from the
// kernel instead.
func (r *diskReader) arrayStatus(d *disk) int {
	if r.host.cfg.MDAdm != "" {
		return runMDAdm(r.host.cfg.MDAdm, d.kernel)
	}
	return d.kernelStatus() << 8
}

// mdadmTimeout is the time limit of a program that reports on an array.
const mdadmTimeout = 5 * time.Second

// runMDAdm runs a program for the status of the array called name. The status is
// -1 if it cannot be run.
func runMDAdm(program, name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), mdadmTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--detail", "--test", "/dev/"+name)
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case cmd.ProcessState == nil || err != nil && ctx.Err() != nil:
		return -1
	case cmd.ProcessState.ExitCode() < 0:
		return 4 << 8 // ended by a signal
	}
	return cmd.ProcessState.ExitCode() << 8
}

// kernelStatus is the exit status of mdadm --detail --test, taken from /sys.
func (d *disk) kernelStatus() int {
	b, err := d.mdState.Read()
	if err != nil {
		return 4
	}
	switch string(procfs.Trim(b)) {
	case "clear", "inactive", "suspended", "broken":
		return 2
	}
	// Levels without redundancy have no such file: nothing can be missing.
	if number(d.mdMissing, 0) > 0 {
		return 1
	}
	return 0
}

// mdName returns the name of a RAID device in /dev/md, or its own name. Links
// that begin with a digit are made by the system and do not count.
func (r *diskReader) mdName(kernel string) string {
	dir := r.host.path("dev/md")
	for _, name := range procfs.Names(dir) {
		if name[0] == '.' || ctext.IsDigit(name[0]) {
			continue
		}
		if target, err := os.Readlink(filepath.Join(dir, name)); err == nil && filepath.Base(target) == kernel {
			return name
		}
	}
	return kernel
}

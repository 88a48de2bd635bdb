package proc

import (
	"math"

	"github.com/go-pcp/pcp/internal/procfs"
)

// Files of processes that may stay open: the kernel makes their text at each reading, and checks the
// reader each time. Others are of the memory that the process had when they were opened (maps,
// smaps_rollup, environ), and would be wrong after it executes another program.
const (
	fileStat = iota
	fileStatus
	fileStatm
	fileSchedstat
	fileIO
	fileCgroup
	fileWchan
	fileOOMScore
	fileAutogroup
	numFiles
)

// openFiles are those of a process that are open.
type openFiles [numFiles]procfs.Open

// maxOpen is the maximum number of files of processes that stay open. Each takes some 4
// KiB of the kernel's memory.
const maxOpen = 4096

// Of this program's limit of open files, otherOpen are for its other parts. openShare is the share of the rest, as a divisor.
const (
	otherOpen = 128
	openShare = 4
)

func keptFile(name string) int {
	switch name {
	case "stat":
		return fileStat
	case "status":
		return fileStatus
	case "statm":
		return fileStatm
	case "schedstat":
		return fileSchedstat
	case "io":
		return fileIO
	case "cgroup":
		return fileCgroup
	case "wchan":
		return fileWchan
	case "oom_score":
		return fileOOMScore
	case "autogroup":
		return fileAutogroup
	}
	return -1
}

// kept returns a file of a process that stays open, or will, and nil if it must not.
func (p *processes) kept(pid int32, name string) *procfs.Open {
	if !p.keeps {
		return nil
	}
	n, proc := keptFile(name), p.known[pid]
	if n < 0 || proc == nil {
		return nil
	}
	if proc.open == nil || !proc.open[n].IsOpen() {
		if p.open >= p.maxOpen {
			return nil
		}
		if proc.open == nil {
			proc.open = new(openFiles)
		}
	}
	return &proc.open[n]
}

// readKept reads a file that stays open. If it can no longer be read, readKept opens it
// again, as another process may have got the identifier.
func (p *processes) readKept(o *procfs.Open, pid int32, name string) ([]byte, error) {
	if o.IsOpen() {
		if b, err := p.buffer.ReadKept(o, "", true); err == nil {
			return b, nil
		}
		p.open--
	}
	path := p.pathOf(pid, name, false)
	if p.opened != nil {
		p.opened(path)
	}
	b, err := p.buffer.ReadKept(o, path, true)
	if o.IsOpen() {
		p.open++
	}
	return b, err
}

// close closes the files of a process.
func (p *processes) close(proc *process) {
	if proc.open == nil {
		return
	}
	for i := range proc.open {
		if o := &proc.open[i]; o.IsOpen() {
			o.Close()
			p.open--
		}
	}
	proc.open = nil
}

// closeAll closes the files of all processes.
func (p *processes) closeAll() {
	for _, proc := range p.known {
		p.close(proc)
	}
}

// number returns a process identifier.
func number(name []byte) (pid int32, ok bool) {
	if len(name) == 0 || len(name) > len("2147483647") || name[0] < '0' || name[0] > '9' {
		return 0, false
	}
	v, rest, ok := procfs.Uint(name)
	if !ok || len(rest) > 0 || v > math.MaxInt32 {
		return 0, false
	}
	return int32(v), true
}

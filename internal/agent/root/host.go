package root

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	labels "github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/internal/hostroot"
)

// A host is the root directory of the host whose containers are reported: "/", or where a container has it.
type host string

func (h host) isOther() bool { return hostroot.IsOther(string(h)) }

// path returns the path of a file of the host.
func (h host) path(name string) string {
	if !h.isOther() {
		return name
	}
	real, err := hostroot.Resolve(string(h), hostroot.Name(name))
	if err != nil {
		return hostroot.Path(string(h), name)
	}
	return filepath.Join(string(h), real)
}

// proc returns the path of a file of a process.
func (h host) proc(pid int, name string) string {
	return filepath.Join(string(h), "proc", strconv.Itoa(pid), name)
}

// exists reports whether a process of the host exists.
func (h host) exists(pid int) bool {
	if !h.isOther() {
		return exists(pid)
	}
	_, err := os.Stat(h.proc(pid, ""))
	return err == nil
}

// sharesNumbers reports whether this process knows the processes of the host by the same numbers, as it does unless it is in a
// container with numbers of its own.
func (h host) sharesNumbers() bool {
	if !h.isOther() {
		return true
	}
	self, err := os.Readlink(filepath.Join(string(h), "proc/self"))
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// Limits on the search for a process.
const (
	maxProcFile   = 64 << 10 // bytes of a file of a process, or of a control group
	maxCandidates = 256      // processes of a group, of which one is the first of the container
	maxBelow      = 64       // groups below that of a container
)

// groupOf returns the control group of a process by a line of /proc/PID/cgroup that has the identifier of its container, and
// whether there is one.
func (h host) groupOf(pid int, id string) (group string, ok bool) {
	b, err := readFile(h.proc(pid, "cgroup"), maxProcFile)
	if err != nil {
		return "", false
	}
	for line := range bytes.Lines(b) {
		words := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(words) == 3 && labels.ID(words[2]) == id {
			return containerGroup(words[2]), true
		}
	}
	return "", false
}

// setGroup sets the control group of a container to that of its process, unless a better one is known, or it is outside of the groups that are
// visible here.
func (c *container) setGroup(group string) {
	if !c.sure && !strings.HasPrefix(group, "/..") {
		c.cgroup, c.sure = cut(group), true
	}
}

// containerGroup returns the part of the path of a control group up to the group of the container.
func containerGroup(path string) string {
	for i := 1; i <= len(path); i++ {
		if (i == len(path) || path[i] == '/') && labels.ID(path[:i]) != "" {
			return path[:i]
		}
	}
	return path
}

// firstProcess returns the first process of a container by the directory of its control group: process 1 of name spaces of its
// own, or the lowest number. It returns 0 if there is none, or it has no number here.
func (h host) firstProcess(dir string) int {
	var pids []int
	add := func(dir string) {
		b, err := readFile(filepath.Join(dir, "cgroup.procs"), maxProcFile)
		if err != nil {
			return
		}
		for line := range bytes.Lines(b) {
			if pid, ok := parsePID(line); ok { // a process without a number here has 0
				pids = append(pids, pid)
			}
		}
	}
	add(dir)
	if len(pids) == 0 {
		// The processes may be in groups below, as in systemd's or podman's.
		below := names(dir)
		slices.Sort(below)
		for _, name := range below[:min(len(below), maxBelow)] {
			add(filepath.Join(dir, name))
		}
	}
	if len(pids) == 0 {
		return 0
	}
	slices.Sort(pids)
	for _, pid := range pids[:min(len(pids), maxCandidates)] {
		if b, err := readFile(h.proc(pid, "status"), maxProcFile); err == nil && isFirst(b) {
			return pid
		}
	}
	return pids[0]
}

// isFirst reports whether a /proc/PID/status is that of process 1 in name spaces below those of the reader.
func isFirst(status []byte) bool {
	_, rest, ok := bytes.Cut(status, []byte("\nNSpid:"))
	if !ok {
		return false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	numbers := bytes.Fields(line)
	return len(numbers) > 1 && string(numbers[len(numbers)-1]) == "1"
}

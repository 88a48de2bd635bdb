package sockets

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-pcp/pcp/internal/procfs"
)

// devices knows the names of network interfaces.
type devices struct {
	root  string
	names map[uint32]string
}

// maxDevices is the maximum number of interfaces kept.
const maxDevices = 1 << 12

// append appends the name of an interface, or "if" and its number if it has gone.
func (s *devices) append(b []byte, index uint32) []byte {
	name, ok := s.names[index]
	if !ok || !s.is(name, index) { // numbers of interfaces are reused late, names sooner
		name = ""
		for _, n := range procfs.Names(s.dir()) {
			if s.is(n, index) {
				name = n
				break
			}
		}
		if s.names == nil || len(s.names) >= maxDevices {
			s.names = make(map[uint32]string)
		}
		if name != "" {
			s.names[index] = name
		}
	}
	if name == "" {
		return strconv.AppendUint(append(b, "if"...), uint64(index), 10)
	}
	return append(b, name...)
}

func (s *devices) dir() string { return filepath.Join("/", s.root, "sys/class/net") }

// is reports whether an interface has a number.
func (s *devices) is(name string, index uint32) bool {
	b, err := procfs.ReadOnce(filepath.Join(s.dir(), name, "ifindex"))
	if err != nil {
		return false
	}
	v, _, ok := procfs.Uint(b)
	return ok && v == uint64(index)
}

// cgroups knows the paths of control groups of version 2 by their numbers, which are those of
// the inodes of their directories.
type cgroups struct {
	root    string
	paths   map[uint64]string
	scanned bool // in this reading
}

// Limits of a walk over the directories of control groups.
const (
	maxCgroups     = 1 << 16
	maxCgroupDepth = 32
)

// begin begins a reading, in which directories are walked at most once.
func (c *cgroups) begin() { c.scanned = false }

// append appends the path of a group below the root of the hierarchy, or "unreachable:" and the number.
func (c *cgroups) append(b []byte, id uint64) []byte {
	path, ok := c.paths[id]
	if !ok && !c.scanned {
		c.scan()
		path, ok = c.paths[id]
	}
	if !ok {
		return fmt.Appendf(b, "unreachable:%x", id)
	}
	return append(b, path...)
}

// scan finds all groups.
func (c *cgroups) scan() {
	c.scanned = true
	c.paths = make(map[uint64]string)
	for _, dir := range [...]string{"sys/fs/cgroup/unified", "sys/fs/cgroup"} { // the first if version 1 is mounted too
		dir = filepath.Join("/", c.root, dir)
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			c.walk(dir, "/", 0)
			return
		}
	}
}

func (c *cgroups) walk(dir, path string, depth int) {
	if len(c.paths) >= maxCgroups || depth > maxCgroupDepth {
		return
	}
	if id, ok := inode(dir); ok {
		c.paths[id] = path
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return // for other users, or gone
	}
	for _, e := range list {
		if e.IsDir() {
			c.walk(filepath.Join(dir, e.Name()), filepath.Join(path, e.Name()), depth+1)
		}
	}
}

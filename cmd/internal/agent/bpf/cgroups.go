package bpf

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// groupDir returns the directory of the control groups that the agent distinguishes: those of the unified hierarchy, or on a host that has the controller cpu in a
// hierarchy of version 1, that hierarchy.
func groupDir(hostRoot string) (dir string, v1 bool) {
	base := filepath.Join(hostRoot, "sys/fs/cgroup")
	if _, err := os.Stat(filepath.Join(base, "cgroup.controllers")); err == nil {
		return base, false
	}
	for _, name := range []string{"cpu", "cpu,cpuacct", "cpuacct,cpu"} {
		if _, err := os.Stat(filepath.Join(base, name, "cpu.shares")); err == nil {
			return filepath.Join(base, name), true
		}
	}
	return base, false
}

// Limits of a search for control groups.
const (
	maxGroupDirs  = 20_000
	groupInterval = 2 * time.Second
)

// groups has the names of control groups by their identifiers in the kernel, which are the numbers of the inodes of their directories.
type groups struct {
	dir    string
	names  map[uint64]string
	looked time.Time
}

// name returns the path of a group from the root of its hierarchy. The name of a group that has gone before it was looked for is its number.
func (g *groups) name(id uint64) string {
	if id == 0 { // the scheduler's group of a session (autogroup), which only tasks of the root have
		return "/"
	}
	if name, ok := g.names[id]; ok {
		return name
	}
	if now := time.Now(); now.Sub(g.looked) >= groupInterval {
		g.looked = now
		g.look()
	}
	if name, ok := g.names[id]; ok {
		return name
	}
	return "cgroup-" + strconv.FormatUint(id, 10)
}

// look lists the directories. Names of groups that have gone are kept, up to a limit, as their counts are still there.
func (g *groups) look() {
	if len(g.names) > maxGroupDirs {
		g.names = nil
	}
	if g.names == nil {
		g.names = make(map[uint64]string)
	}
	seen := 0
	_ = filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it has gone
		}
		if seen++; seen > maxGroupDirs {
			return fs.SkipAll
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			name := path[len(g.dir):]
			if name == "" {
				name = "/"
			}
			g.names[st.Ino] = name
		}
		return nil
	})
}

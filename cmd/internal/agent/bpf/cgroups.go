package bpf

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/pmda/column"
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

// blockGroupDir returns the directory of the control groups to which the kernel charges requests to block devices.
func blockGroupDir(hostRoot string) string {
	base := filepath.Join(hostRoot, "sys/fs/cgroup")
	for _, name := range []string{"blkio", "unified"} {
		if _, err := os.Stat(filepath.Join(base, name, "cgroup.procs")); err == nil {
			return filepath.Join(base, name)
		}
	}
	return base
}

// maxGroupCounts is how many counts of groups, kinds and ranges a module has.
const maxGroupCounts = 16384

// groupRanges fills a block with the counts of control groups: its instances are groups and ranges, and its columns are kinds.
type groupRanges struct {
	names  groups
	ranges pairs
}

func newGroupRanges(dir string, b *column.Block) *groupRanges {
	return &groupRanges{names: groups{dir: dir}, ranges: pairs{block: b}}
}

// groupInDom returns the instance domain of control groups and ranges.
func groupInDom(serial int, of string) *column.InDom {
	return &column.InDom{
		Serial: serial, Help: "Control groups, with ranges of " + of,
		Long: "The path of the group, and a range, as in /system.slice/cron.service::1024-2047. A group that was removed before its name was looked for is called cgroup- and its number.",
	}
}

// groupCounts adds the map of counts; see code.countGroup.
func (o *object) groupCounts() { o.counts("groups", 16, maxGroupCounts) }

func (g *groupRanges) read(o *object) error {
	g.ranges.begin()
	if o == nil {
		return nil
	}
	return each(o.maps["groups"], func(key [2]uint64, n uint64) {
		if kind, slot := int(key[1]>>8), int(key[1]&0xff); kind < g.ranges.block.Cols() && slot < numBuckets {
			g.ranges.add(g.names.name(key[0]), slot, kind, n)
		}
	})
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

//go:build unix

package report

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// owner returns the number of links of a file and its owner, by name if there is one.
func owner(st os.FileInfo) (links uint64, name, group string) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 1, "?", "?"
	}
	name, group = strconv.Itoa(int(s.Uid)), strconv.Itoa(int(s.Gid))
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	return uint64(s.Nlink), name, group
}

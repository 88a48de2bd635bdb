package linux

import (
	"path/filepath"
	"strconv"
	"strings"
)

// FromEnvironment changes c as the variables say by which the C agent is made
// to read the files of another machine: LINUX_STATSPATH, the root directory;
// LINUX_HERTZ and LINUX_PAGESIZE; and LINUX_NNODES, which has all processors
// be in one node.
//
// LINUX_NCPUS has no effect: here the number of processors is always that of
// the files.
func (c *Config) FromEnvironment(getenv func(string) string) {
	if s := getenv("LINUX_STATSPATH"); s != "" {
		c.Root, c.Replaced = filepath.Clean(s), true
	}
	for name, p := range map[string]*int{"LINUX_HERTZ": &c.HZ, "LINUX_PAGESIZE": &c.PageSize} {
		if s := getenv(name); s != "" {
			// As in C what is no number is 0, which means 1.
			n, _ := strconv.Atoi(strings.TrimSpace(s))
			*p = max(n, 1)
		}
	}
	if getenv("LINUX_NNODES") != "" {
		c.OneNode = true
	}
}

package linux

import (
	"path/filepath"
	"strconv"
	"strings"
)

// fromEnvironment sets fields of c from the variables that make the C agent read the files of another machine: LINUX_STATSPATH, the root
// directory; LINUX_HERTZ and LINUX_PAGESIZE; LINUX_NNODES, which puts all processors into one node; LINUX_MDADM, the program that reports the
// status of arrays; and LINUX_ACCESS, which gives all clients the values that otherwise only root may read.
//
// LINUX_NCPUS has no effect: here the number of processors is always that of
// the files.
func (c *Config) fromEnvironment(getenv func(string) string) {
	if s := getenv("LINUX_STATSPATH"); s != "" {
		c.Root, c.Replaced, c.Live = filepath.Clean(s), true, false
	}
	for name, p := range map[string]*int{"LINUX_HERTZ": &c.HZ, "LINUX_PAGESIZE": &c.PageSize} {
		if s := getenv(name); s != "" {
			// As in C text that is not a number is 0, which means 1.
			n, _ := strconv.Atoi(strings.TrimSpace(s))
			*p = max(n, 1)
		}
	}
	if getenv("LINUX_NNODES") != "" {
		c.OneNode = true
	}
	c.MDAdm = getenv("LINUX_MDADM")
	if n, _ := strconv.Atoi(strings.TrimSpace(getenv("LINUX_ACCESS"))); n != 0 {
		c.AllAccess = true
	}
}

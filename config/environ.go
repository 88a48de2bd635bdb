package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Environ returns the variables that pcp.env(5) adds to the environment of scripts,
// as "NAME=value": the settings whose names begin with PCP_, the settings of the
// user's file ~/.pcp/pcp.conf, and a PATH with the directories of PCP's programs. A
// variable that is set and not empty is not changed. The user's file therefore adds
// settings, of any name, and changes none.
func (c *Config) Environ() []string {
	var list []string
	seen := map[string]bool{}
	add := func(name, value string) {
		if !seen[name] && isName(name) && c.Getenv(name) == "" {
			list = append(list, name+"="+value)
		}
		seen[name] = true
	}
	file := c.file()
	for _, name := range file.names {
		if strings.HasPrefix(name, "PCP_") {
			add(name, file.values[name])
		}
	}
	if len(file.names) > 0 {
		add("PCP_ENV_DONE", "y") // a script that sources pcp.env need not read the file again
	}
	for _, b := range builtins {
		add(b.name, b.value)
	}
	if home := c.Getenv("HOME"); home != "" {
		user := read(filepath.Join(home, ".pcp", "pcp.conf"))
		for _, name := range user.names {
			add(name, user.values[name])
		}
	}
	return append(list, "PATH="+c.searchPath())
}

// searchPath returns the search path of programs with PCP's directories in front,
// in the reverse order of pcp.env, if they exist and are not in it already.
func (c *Config) searchPath() string {
	path := c.Getenv("PATH")
	for _, dir := range []string{
		"/usr/sbin",
		c.Get("PCP_BIN_DIR"),
		c.Get("PCP_BINADM_DIR"),
		filepath.Join(c.Get("PCP_SHARE_DIR"), "bin"),
		c.Get("PCP_PLATFORM_PATHS"),
	} {
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() || slices.Contains(strings.Split(path, ":"), dir) {
			continue
		}
		path = strings.TrimSuffix(dir+":"+path, ":")
	}
	return path
}

// isName reports whether a shell takes s for the name of a variable.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

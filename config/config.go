package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// MaxFile is how large a pcp.conf can be, in bytes.
const MaxFile = 1 << 20

// A Config holds settings. It does not change.
type Config struct {
	getenv func(string) string
	file   map[string]string
	names  []string // in the order of the file
}

// Load reads $PCP_CONF, or else $PCP_DIR/etc/pcp.conf, or if neither is set
// /etc/pcp.conf or, in its absence, /usr/local/etc/pcp.conf. Only a file that
// the environment names must exist.
func Load(getenv func(string) string) (*Config, error) {
	path := getenv("PCP_CONF")
	if dir := getenv("PCP_DIR"); path == "" && dir != "" {
		path = filepath.Join(dir, "etc", "pcp.conf")
	}
	if path != "" {
		return LoadFile(path, getenv)
	}
	for _, path := range []string{"/etc/pcp.conf", "/usr/local/etc/pcp.conf"} {
		if c, err := LoadFile(path, getenv); !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return Default(getenv), nil
}

// LoadFile reads the file at path, and ignores lines that are not settings. It
// fails if the file cannot be opened or read, or is longer than MaxFile.
func LoadFile(path string, getenv func(string) string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := Default(getenv)
	if err := c.parse(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Default returns what holds without a file: the environment and what is built
// in.
func Default(getenv func(string) string) *Config {
	return &Config{getenv: getenv, file: make(map[string]string)}
}

// parse reads NAME=value lines; the value may be in quotes. Other lines mean
// nothing, as in C.
func (c *Config) parse(r io.Reader) error {
	sc := bufio.NewScanner(io.LimitReader(r, MaxFile+1))
	sc.Buffer(nil, 1<<16)
	size := 0
	for sc.Scan() {
		line := sc.Text()
		if size += len(line) + 1; size > MaxFile+1 {
			return fmt.Errorf("more than %d bytes", MaxFile)
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || name == "" || strings.ContainsAny(name, " \t") {
			continue
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		if _, ok := c.file[name]; !ok {
			c.names = append(c.names, name)
		}
		c.file[name] = value
	}
	return sc.Err()
}

// Get returns the value of a setting, "" if it has none (pmGetOptionalConfig).
// One that is empty in the environment counts as absent there.
func (c *Config) Get(name string) string {
	if v := c.getenv(name); v != "" {
		return v
	}
	if v, ok := c.file[name]; ok {
		return v
	}
	return builtin[name]
}

// Named reports whether the environment or the file has a setting, so that it is
// not one that is built in.
func (c *Config) Named(name string) bool {
	_, ok := c.file[name]
	return ok || c.getenv(name) != ""
}

// Names returns which settings the file has, in its order.
func (c *Config) Names() []string { return c.names }

// builtin is what a plain installation under / has in its pcp.conf.
var builtin = map[string]string{
	"PCP_ETC_DIR":          "/etc",
	"PCP_SYSCONF_DIR":      "/etc/pcp",
	"PCP_SYSCONFIG_DIR":    "/etc/default",
	"PCP_BIN_DIR":          "/usr/bin",
	"PCP_BINADM_DIR":       "/usr/lib/pcp/bin",
	"PCP_LIB_DIR":          "/usr/lib",
	"PCP_SHARE_DIR":        "/usr/share/pcp",
	"PCP_VAR_DIR":          "/var/lib/pcp",
	"PCP_PMCDCONF_PATH":    "/etc/pcp/pmcd/pmcd.conf",
	"PCP_PMCDOPTIONS_PATH": "/etc/pcp/pmcd/pmcd.options",
	"PCP_PMDAS_DIR":        "/var/lib/pcp/pmdas",
	"PCP_PMDASADM_DIR":     "/usr/lib/pcp/pmdas",
	"PCP_RUN_DIR":          "/run/pcp",
	"PCP_LOG_DIR":          "/var/log/pcp",
	"PCP_ARCHIVE_DIR":      "/var/log/pcp/pmlogger",
	"PCP_ARCHIVE_VERSION":  "2",
	"PCP_TMP_DIR":          "/var/lib/pcp/tmp",
	"PCP_TMPFILE_DIR":      "/var/tmp",
	"PCP_USER":             "pcp",
	"PCP_GROUP":            "pcp",
}

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
	"sync"
	"sync/atomic"
)

// maxFile is the maximum size of a pcp.conf, in bytes.
const maxFile = 1 << 20

// A Config holds the settings of an installation. A program makes one and passes
// it to others. It can be used by several goroutines at a time.
type Config struct {
	lookup func(string) (string, bool)
	file   func() contents
	trace  atomic.Pointer[tracer]
}

// A tracer reports the requested settings.
type tracer struct {
	printf func(format string, args ...any)
	file   sync.Once // all its settings are reported
}

// Trace makes [Config.Get] and [Config.Lookup] report each requested setting to printf from now on, and before the first
// one all settings of the file, as with -D config. A second call has no effect.
func (c *Config) Trace(printf func(format string, args ...any)) {
	c.trace.CompareAndSwap(nil, &tracer{printf: printf})
}

// tell prints a setting for Trace.
func (c *Config) tell(name, value string, ok bool) {
	t := c.trace.Load()
	if t == nil {
		return
	}
	t.file.Do(func() {
		contents := c.file()
		for _, name := range contents.names {
			value, ok := c.lookup(name)
			if !ok {
				if value, ok = contents.quoted[name]; !ok {
					value = contents.values[name]
				}
			}
			t.printf("pmgetconfig: (init) %s=%s\n", name, value)
		}
	})
	if !ok {
		t.printf("pmgetconfig: getenv(%s) -> NULL\n", name)
	}
	t.printf("pmgetconfig: %s=%s\n", name, value)
}

// contents are the settings of a pcp.conf.
type contents struct {
	values map[string]string
	quoted map[string]string // settings in quotes, with their quotes
	names  []string          // in the order of the file
	err    error             // error of reading them
}

// New returns the settings of the installation that getenv, such as os.Getenv,
// describes. They are those of $PCP_CONF, or else of $PCP_DIR/etc/pcp.conf, or if
// neither is set of /etc/pcp.conf or, in its absence, /usr/local/etc/pcp.conf. The
// file is read once, when a setting is requested that the environment does not
// have. Without a file only the environment and the built-in settings apply; see
// Err.
func New(getenv func(string) string) *Config {
	return NewLookup(func(name string) (string, bool) {
		value := getenv(name)
		return value, value != ""
	})
}

// NewLookup is like [New] for an environment in which a variable can be set and
// empty, such as that of os.LookupEnv.
func NewLookup(lookup func(string) (string, bool)) *Config {
	c := &Config{lookup: lookup}
	c.file = sync.OnceValue(func() contents { return find(c.Getenv) })
	return c
}

// Process returns the settings for the environment of this process. Functions of
// this module that were not given a Config use it.
func Process() *Config { return NewLookup(os.LookupEnv) }

// find reads the file that the environment names.
func find(getenv func(string) string) contents {
	path := getenv("PCP_CONF")
	if dir := getenv("PCP_DIR"); path == "" && dir != "" {
		path = filepath.Join(dir, "etc", "pcp.conf")
	}
	if path != "" {
		return read(path)
	}
	for _, path := range []string{"/etc/pcp.conf", "/usr/local/etc/pcp.conf"} {
		if f := read(path); !errors.Is(f.err, fs.ErrNotExist) {
			return f
		}
	}
	return contents{}
}

// read reads the file at path, and ignores lines that are not settings.
func read(path string) contents {
	f, err := os.Open(path)
	if err != nil {
		return contents{err: err}
	}
	defer f.Close()
	c := contents{values: make(map[string]string)}
	if err := c.parse(f); err != nil {
		return contents{err: fmt.Errorf("%s: %w", path, err)}
	}
	return c
}

// Err returns the error of reading the file, nil if there is no file. Only a file
// that the environment names must exist.
func (c *Config) Err() error { return c.file().err }

// parse reads NAME=value lines; the value may be in quotes. Other lines are
// ignored, as in C, and so are further lines of a name.
func (c *contents) parse(r io.Reader) error {
	sc := bufio.NewScanner(io.LimitReader(r, maxFile+1))
	sc.Buffer(nil, 1<<16)
	size := 0
	for sc.Scan() {
		line := sc.Text()
		if size += len(line) + 1; size > maxFile+1 {
			return fmt.Errorf("more than %d bytes", maxFile)
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || name == "" || strings.ContainsAny(name, " \t") {
			continue
		}
		if _, ok := c.values[name]; ok {
			continue
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			if c.quoted == nil {
				c.quoted = make(map[string]string)
			}
			c.quoted[name] = value
			value = value[1 : n-1]
		}
		c.names = append(c.names, name)
		c.values[name] = value
	}
	return sc.Err()
}

// Getenv returns the value of a variable of the environment, ignoring the file,
// "" if it is not set.
func (c *Config) Getenv(name string) string {
	value, _ := c.lookup(name)
	return value
}

// IsSet reports whether a variable is in the environment, even if it is empty.
func (c *Config) IsSet(name string) bool {
	_, ok := c.lookup(name)
	return ok
}

// Get returns the value of a setting, "" if it is not set (pmGetConfig(3)). An
// empty variable of the environment counts as not set.
func (c *Config) Get(name string) string {
	v := c.get(name)
	c.tell(name, v, v != "")
	return v
}

func (c *Config) get(name string) string {
	if v := c.Getenv(name); v != "" {
		return v
	}
	if v, ok := c.file().values[name]; ok {
		return v
	}
	v, _ := builtin(name)
	return v
}

// Lookup returns the value of a setting, and whether there is one, which may be empty
// (pmGetOptionalConfig(3)). Unlike [Config.Get] it accepts an empty variable of the
// environment if the Config is of [NewLookup] or [Process].
func (c *Config) Lookup(name string) (value string, ok bool) {
	value, ok = c.find(name)
	c.tell(name, value, ok)
	return value, ok
}

func (c *Config) find(name string) (value string, ok bool) {
	if v, ok := c.lookup(name); ok {
		return v, true
	}
	if v, ok := c.file().values[name]; ok {
		return v, true
	}
	return builtin(name)
}

// Named reports whether the environment or the file has a setting, so that it is
// not a built-in one.
func (c *Config) Named(name string) bool {
	_, ok := c.file().values[name]
	return ok || c.Getenv(name) != ""
}

// Names returns the names of the file's settings, in its order.
func (c *Config) Names() []string { return c.file().names }

// builtins has the settings of the pcp.conf of a plain installation under /, sorted.
var builtins = [...]struct{ name, value string }{
	{"PCP_ARCHIVE_DIR", "/var/log/pcp/pmlogger"},
	{"PCP_ARCHIVE_VERSION", "2"},
	{"PCP_BINADM_DIR", "/usr/lib/pcp/bin"},
	{"PCP_BIN_DIR", "/usr/bin"},
	{"PCP_ETC_DIR", "/etc"},
	{"PCP_GROUP", "pcp"},
	{"PCP_IMPORTRUN_DIR", "/run/pmimport"},
	{"PCP_LIB_DIR", "/usr/lib"},
	{"PCP_LOG_DIR", "/var/log/pcp"},
	{"PCP_PMCDCONF_PATH", "/etc/pcp/pmcd/pmcd.conf"},
	{"PCP_PMCDOPTIONS_PATH", "/etc/pcp/pmcd/pmcd.options"},
	{"PCP_PMDASADM_DIR", "/usr/lib/pcp/pmdas"},
	{"PCP_PMDAS_DIR", "/var/lib/pcp/pmdas"},
	{"PCP_PYTHON_PROG", "python3"},
	{"PCP_RUN_DIR", "/run/pcp"},
	{"PCP_SHARE_DIR", "/usr/share/pcp"},
	{"PCP_SYSCONFIG_DIR", "/etc/default"},
	{"PCP_SYSCONF_DIR", "/etc/pcp"},
	{"PCP_TMPFILE_DIR", "/var/tmp"},
	{"PCP_TMP_DIR", "/var/lib/pcp/tmp"},
	{"PCP_USER", "pcp"},
	{"PCP_VAR_DIR", "/var/lib/pcp"},
}

// builtin returns one of these, and whether there is one of this name.
func builtin(name string) (value string, ok bool) {
	for _, b := range builtins {
		if b.name == name {
			return b.value, true
		}
	}
	return "", false
}

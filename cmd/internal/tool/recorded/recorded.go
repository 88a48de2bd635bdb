package recorded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
)

// DefaultServer is the key server if none is named. It is never contacted; its name only
// distinguishes lists.
const DefaultServer = "localhost:6379"

// maxList is how long a list may be, in bytes.
const maxList = 16 << 20

// Dirs returns the directories with archives of this host's loggers, of those pushed to its pmproxy
// and, if own is set, of this user's collectors. They need not exist.
func Dirs(env *cli.Env, own bool) []string {
	cfg := env.Config()
	dirs := []string{cfg.Get("PCP_ARCHIVE_DIR"), Pushed(env)}
	if dir := cfg.StateDir(); own && dir != "" {
		dirs = append(dirs, filepath.Join(dir, "pmlogger"))
	}
	return dirs
}

// Pushed returns the directory of archives pushed to this host's pmproxy.
func Pushed(env *cli.Env) string {
	if dir := env.Config().Get("PCP_REMOTE_ARCHIVE_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(env.Config().Get("PCP_LOG_DIR"), "pmproxy")
}

// A List is the archives and directories that were loaded by name, in a file of this user. Where pmseries(1)
// of the C implementation copies an archive into a key server, ours adds it to the list
// of that server.
type List struct {
	path string // "" if there is no place for it
}

// ListOf returns the list of the key server at HOST:PORT.
func ListOf(env *cli.Env, server string) List {
	dir := cacheDir(env)
	if dir == "" {
		return List{}
	}
	if server == DefaultServer || server == "" {
		return List{filepath.Join(dir, "series.paths")}
	}
	return List{filepath.Join(dir, "series-"+fileName(server)+".paths")}
}

// Index returns the path of the index to the archives of a list and of Dirs, or "" if there is no place for it.
func (l List) Index() string {
	if l.path == "" {
		return ""
	}
	return strings.TrimSuffix(l.path, ".paths") + ".db"
}

// Server returns HOST:PORT of a key server, of which the empty parts are the defaults.
func Server(host, port string) string {
	if host == "" || host == "127.0.0.1" || host == "::1" {
		host = "localhost"
	}
	if port == "" {
		port = "6379"
	}
	return net.JoinHostPort(host, port)
}

// fileName makes part of the name of a file of a server's address.
func fileName(server string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, server)
}

func cacheDir(env *cli.Env) string {
	cache := env.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home := env.Getenv("HOME")
		if home == "" {
			return ""
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "pcp")
}

// Paths returns the paths on the list. A list that cannot be read is empty.
func (l List) Paths() []string {
	paths, _ := l.read()
	return paths
}

func (l List) read() ([]string, error) {
	if l.path == "" {
		return nil, nil
	}
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxList))
	if err != nil {
		return nil, err
	}
	var paths []string
	for line := range strings.Lines(string(text)) {
		if line, ok := strings.CutSuffix(line, "\n"); ok && line != "" {
			paths = append(paths, line)
		}
	}
	return paths, nil
}

// A Stamp identifies a state of a list.
type Stamp struct {
	size int64
	time time.Time
}

// Stamp returns that of the list as it is now.
func (l List) Stamp() Stamp {
	info, err := os.Stat(l.path)
	if err != nil {
		return Stamp{}
	}
	return Stamp{info.Size(), info.ModTime()}
}

// Add puts a path on the list, unless it is there already.
func (l List) Add(path string) error {
	switch {
	case l.path == "":
		return fmt.Errorf("there is no place to remember %s: HOME is not set", path)
	case strings.Contains(path, "\n"):
		return fmt.Errorf("%q: a path with a new line", path)
	}
	have, err := l.read()
	if err != nil || slices.Contains(have, path) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	f, _, err := safefile.OpenAppend(l.path, 0, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, path+"\n")
	return errors.Join(err, f.Close())
}

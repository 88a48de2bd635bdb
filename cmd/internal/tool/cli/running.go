package cli

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/safefile"
)

// StateDir returns where this user's collectors keep their state:
// $XDG_STATE_HOME/pcp, by default ~/.local/state/pcp.
func (e *Env) StateDir() (string, error) {
	dir := e.Config().StateDir()
	if dir == "" {
		return "", errors.New("no home directory is known; choose a state directory with --dir")
	}
	return dir, nil
}

// A Running is a collector that "pcp up" has started and that serves clients.
type Running struct {
	Version   int      `json:"version,omitempty"` // of a file, 1 if it is not there
	PID       int      `json:"pid"`
	Socket    string   `json:"socket"`
	Addresses []string `json:"addresses"`       // "127.0.0.1:44321"
	Dir       string   `json:"dir"`             // its state directory
	Page      string   `json:"page,omitempty"`  // the address of its page, "http://localhost:44323/", or ""
	Token     string   `json:"token,omitempty"` // grants this user's rights on the page
}

// Host returns the argument of -h that reaches the collector, for a shell: its socket. Over the
// socket the collector knows the client's user, and shows processes.
func (r *Running) Host() string { return SocketHost(r.Socket) }

// SocketHost returns the argument of -h for a collector's socket, quoted for a shell if it must be.
func SocketHost(path string) string {
	host := "unix:" + path
	if strings.ContainsFunc(path, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/._-+,@%", c)
	}) {
		host = "'" + strings.ReplaceAll(host, "'", `'\''`) + "'"
	}
	return host
}

// Serves reports whether r serves address.
func (r *Running) Serves(network, address string) bool {
	if network == "unix" {
		return address == r.Socket
	}
	_, port, err := net.SplitHostPort(address)
	return err == nil && slices.ContainsFunc(r.Addresses, func(a string) bool {
		_, p, err := net.SplitHostPort(a)
		return err == nil && p == port
	})
}

// runningTimeout is how long a collector may take to accept.
const runningTimeout = 200 * time.Millisecond

// alive reports whether a process serves r's socket. A file that a crash has left
// behind names a socket that none does.
func (r *Running) alive() bool {
	conn, err := net.DialTimeout("unix", r.Socket, runningTimeout)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// collectorsDir returns the directory that holds a file for each collector that
// this user has started, wherever its own state directory is.
func (e *Env) collectorsDir() (string, error) {
	dir, err := e.StateDir()
	return filepath.Join(dir, "collectors"), err
}

// Announce lets the commands of this user know of a collector, until remove is
// called. It also removes the files of collectors that have ended.
func (e *Env) Announce(r *Running) (remove func(), err error) {
	dir, err := e.collectorsDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	e.collectors(true)
	file := *r
	file.Version = fileversion.Announcement
	b, err := json.Marshal(&file)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, strconv.Itoa(r.PID)+".json")
	if err := safefile.ReplaceBytes(path, append(b, '\n'), safefile.Replacement{Mode: 0o600, Uid: -1, Gid: -1}); err != nil {
		return nil, err
	}
	return func() { os.Remove(path) }, nil
}

// Running returns the collectors that "pcp up" has started for this user and
// that serve.
func (e *Env) Running() []Running { return e.collectors(false) }

// maxRunning is the largest file about a collector that is read.
const maxRunning = 64 << 10

func (e *Env) collectors(clean bool) []Running {
	dir, err := e.collectorsDir()
	if err != nil {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil
	}
	var list []Running
	for _, path := range files {
		st, err := os.Stat(path)
		if err != nil || st.Size() > maxRunning {
			continue
		}
		b, err := os.ReadFile(path)
		var r Running
		if err == nil {
			err = fileversion.Unmarshal(b, fileversion.Announcement, &r)
		}
		if err == nil && r.alive() {
			r.Version = 0
			list = append(list, r)
		} else if clean && !fileversion.IsNewer(err) {
			os.Remove(path)
		}
	}
	return list
}

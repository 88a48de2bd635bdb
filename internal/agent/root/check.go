//go:build unix

package root

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/rootproto"
)

// check reports whether a command may be started for sender, and returns the path
// of its program. An accepted sender may start the commands that the
// administrator has configured; root may start every program that no other user
// can have tampered with.
func (ps *processes) check(words []string, sender *rootproto.Cred) (path string, err error) {
	switch {
	case len(words) == 0:
		return "", errors.New("no command")
	case len(words) > maxWords:
		return "", fmt.Errorf("command of %d words", len(words))
	}
	for _, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("control character in %.60q", w)
		}
	}
	if sender.UID != 0 && !listed(ps.cfg.Commands, words) {
		return "", fmt.Errorf("command is not in %s: %w", ps.cfg.Commands, pcp.ErrPermission)
	}
	path = words[0]
	if !strings.Contains(path, "/") {
		if path, err = exec.LookPath(path); err != nil {
			return "", err
		}
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s: not an absolute path", path)
	}
	if path, err = secure(path); err != nil {
		return "", err
	}
	// The script for an interpreter.
	if len(words) > 1 && filepath.IsAbs(words[1]) {
		if info, err := os.Stat(words[1]); err == nil && info.Mode().IsRegular() {
			if _, err := secure(words[1]); err != nil {
				return "", err
			}
		}
	}
	return path, nil
}

// secure resolves path and returns it if only root and the user of this process
// can have put the file there: neither it nor a directory above it belongs to
// another user, or is writable by one.
func secure(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		mode := info.Mode()
		switch {
		case !ok:
			return "", fmt.Errorf("%s: owner is not known", at)
		case at == real && !mode.IsRegular():
			return "", fmt.Errorf("%s: not a regular file", at)
		case st.Uid != 0 && int(st.Uid) != os.Geteuid():
			return "", fmt.Errorf("%s: belongs to uid %d: %w", at, st.Uid, pcp.ErrPermission)
		case mode&os.ModeSticky != 0 && mode.IsDir(): // others can add files, but not replace them
		case mode&0o002 != 0, mode&0o020 != 0 && st.Gid != 0:
			return "", fmt.Errorf("%s: others may write (mode %04o): %w", at, mode.Perm(), pcp.ErrPermission)
		}
		if at == filepath.Dir(at) {
			return real, nil
		}
	}
}

// maxCommands is the number of bytes read of the collector's configuration.
const maxCommands = 1 << 20

// listed reports whether a configuration file of the collector has an agent with
// this command. The file must be root's, as a program must.
func listed(file string, words []string) bool {
	if file == "" {
		return false
	}
	real, err := secure(file)
	if err != nil {
		return false
	}
	b, err := readFile(real, maxCommands)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 0 && strings.HasPrefix(f[0], "[") {
			return false // access rules, to the end
		}
		if len(f) < 5 || strings.HasPrefix(f[0], "#") {
			continue
		}
		var command []string
		switch strings.ToLower(f[2]) {
		case "pipe": // name domain pipe binary [notready] command
			command = f[4:]
		case "socket": // name domain socket inet port [notready] command
			command = f[5:]
		default:
			continue
		}
		if len(command) > 0 && command[0] == "notready" {
			command = command[1:]
		}
		if slices.Equal(command, words) {
			return true
		}
	}
	return false
}

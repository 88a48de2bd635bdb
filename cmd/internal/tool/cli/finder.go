package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/go-pcp/pcp/cmd/internal/daemon/pidof"
)

// Finder returns a finder of the processes of the program called name: in PCP's directories and
// those of PATH, and among those of this program.
func (e *Env) Finder(name string) pidof.Finder {
	cfg := e.Config()
	f := pidof.Finder{Dirs: append([]string{cfg.Get("PCP_BIN_DIR"), cfg.Get("PCP_BINADM_DIR")}, filepath.SplitList(e.Getenv("PATH"))...)}
	for _, c := range e.Commands {
		if c.Link != name {
			continue
		}
		if exe, err := os.Executable(); err == nil {
			f.Own, f.Command = exe, c.Name
		}
	}
	return f
}

// Sibling returns a command line that runs another program of PCP: the installed one, or else the
// same command of this program. It fails if there is neither.
func (e *Env) Sibling(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	cfg := e.Config()
	for _, dir := range []string{cfg.Get("PCP_BINADM_DIR"), cfg.Get("PCP_BIN_DIR")} {
		if path := filepath.Join(dir, name); Executable(path) {
			return exec.CommandContext(ctx, path, args...), nil
		}
	}
	for _, c := range e.Commands {
		if c.Link != name {
			continue
		}
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, exe, args...)
		cmd.Args[0] = filepath.Join(filepath.Dir(exe), name) // selects the command
		return cmd, nil
	}
	return nil, fmt.Errorf("there is no program %s", name)
}

// Owner returns the numbers of PCP's user and group, or those of this process if there is no such
// account.
func (e *Env) Owner() (uid, gid int) {
	uid, gid = os.Getuid(), os.Getgid()
	if u, err := user.Lookup(e.Config().Get("PCP_USER")); err == nil {
		if n, err := strconv.Atoi(u.Uid); err == nil {
			uid = n
		}
	}
	if g, err := user.LookupGroup(e.Config().Get("PCP_GROUP")); err == nil {
		if n, err := strconv.Atoi(g.Gid); err == nil {
			gid = n
		}
	}
	return uid, gid
}

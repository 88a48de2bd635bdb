package loggercheck

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
)

// A progLog is the log of this program. It gets its name at the end, so that concurrent runs do not mix.
type progLog struct {
	path, mine string
	file       *os.File
}

// openLog keeps the previous run's log as path.prev, and begins a new one.
func openLog(path string) (*progLog, error) {
	if err := safefile.MkdirAll(filepath.Dir(path), 0o755, nil); err != nil {
		return nil, err
	}
	switch st, err := os.Lstat(path); {
	case err != nil:
	case st.Mode()&os.ModeSymlink != 0:
		return nil, fmt.Errorf("\"%s\" exists and is a symlink", path)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("\"%s\" exists and is not a file", path)
	default:
		if err := os.Rename(path, path+".prev"); err != nil {
			return nil, err
		}
	}
	mine := fmt.Sprintf("%s.%d", path, os.Getpid())
	f, err := safefile.Create(mine, 0o644)
	if err != nil {
		return nil, err
	}
	return &progLog{path, mine, f}, nil
}

// close gives the log its name, or removes it if it is empty.
func (l *progLog) close() {
	st, err := l.file.Stat()
	l.file.Close()
	if err == nil && st.Size() > 0 {
		os.Rename(l.mine, l.path)
	} else {
		os.Remove(l.mine)
	}
}

// post leaves a note in the file of notices, as pmpost does.
func (c *checker) post(ctx context.Context, text string) {
	cmd := cli.Find(c.env.Commands, "pmpost")
	if cmd == nil || c.dry {
		return
	}
	env := *c.env
	env.Name, env.Command, env.Args, env.Stdout, env.Stderr = cmd.Link, cmd, []string{text}, io.Discard, c.out
	cmd.Run(ctx, &env)
}

// compress runs pmlogger_daily to compress the archives that are due.
func (c *checker) compress(ctx context.Context) {
	if !c.kind.archives {
		return
	}
	if c.quick {
		c.very("Skip compression, -q/--quick on command line")
		return
	}
	c.very("Doing compression ...")
	cmd, err := c.env.Sibling(ctx, "pmlogger_daily", append([]string{"-K"}, c.daily...)...)
	if err != nil {
		c.very("%v, nothing is compressed", err)
		return
	}
	cmd.Env = append(cmd.Environ(), c.cfg.Environ()...)
	c.env.FlushOut()
	cmd.Stdout, cmd.Stderr = c.out, c.out
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		c.very("pmlogger_daily -K: %v", err)
	}
}

// enabled reports whether the administrator enabled the service, for -C.
func (c *checker) enabled(ctx context.Context) bool {
	if c.env.Getenv("PCP_DIR") != "" {
		return true // not the system's own installation
	}
	if dir := c.cfg.Get("PCP_SYSTEMDUNIT_DIR"); dir != "" && exists(filepath.Join(dir, c.kind.name+".service")) {
		if path, err := c.env.LookPath("systemctl"); err == nil {
			return exec.CommandContext(ctx, path, "-q", "is-enabled", c.kind.name+".service").Run() == nil
		}
	}
	for _, dir := range []string{"/etc/rc3.d", "/etc/rc.d/rc3.d"} {
		if list, err := filepath.Glob(dir + "/S[0-9]*" + c.kind.name); err == nil && len(list) > 0 {
			return true
		}
	}
	return false
}

package logctl

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Time limits for an instance to appear, and to go.
const (
	startWait = 20 * time.Second
	stopWait  = 5 * time.Second
	pause     = 100 * time.Millisecond
)

// edit returns the new text of a control file. It calls change with the text and the five fields of each line of a row's host and
// directory; change returns the new line, or keep false to remove it. Changed reports whether there is a change, and active whether a line
// that names an instance is left.
func (c *controller) edit(r row, change func(text string, f [5]string) (line string, keep bool)) (text string, changed, active bool) {
	var b strings.Builder
	for _, raw := range c.read(r.file) {
		line, keep := raw.Text, true
		if x, _, ok := c.parse(r.file, raw, true); ok && x.host == r.host && x.dir == r.dir {
			line, keep = change(raw.Text, raw.Fields())
		}
		changed = changed || !keep || line != raw.Text
		if keep {
			b.WriteString(line + "\n")
			active = active || line != "" && !strings.ContainsRune("$# \t", rune(line[0]))
		}
	}
	return b.String(), changed, active
}

// rewrite changes a control file, and reports it in words such as "Enable" and "enabled in".
func (c *controller) rewrite(r row, does, done string, quiet bool, change func(text string, f [5]string) (line string, keep bool)) error {
	text, changed, _ := c.edit(r, change)
	host, dir := c.unexpand(r.host), c.unexpand(r.dir)
	switch {
	case changed:
		c.loud("%s %s for host %s and directory %s in control file %s", does, c.kind.name, host, dir, r.file)
		return c.install(text, r.file)
	case !quiet:
		c.loud("%s for host %s and directory %s already %s control file %s", c.kind.name, host, dir, done, r.file)
	}
	return nil
}

// install writes a control file, or in a dry run prints that it would.
func (c *controller) install(text, path string) error {
	if c.dry {
		c.printf("+ cp %s.XXXXXXXXX/control %s\n", filepath.Join(c.cfg.Get("PCP_TMPFILE_DIR"), c.prog()), path)
		return nil
	}
	if err := safefile.MkdirAll(filepath.Dir(path), 0o755, nil); err != nil {
		return fmt.Errorf("%s", cli.FileErrText(err))
	}
	err := safefile.ReplaceBytes(path, []byte(text), safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1, Keep: true, Lenient: true})
	if err != nil {
		return fmt.Errorf("%s", cli.FileErrText(err))
	}
	return nil
}

// joined returns the fields of a line with a blank between them.
func joined(f [5]string) string { return strings.TrimRight(strings.Join(f[:], " "), " ") }

// start starts instances that do not run.
func (c *controller) start(ctx context.Context, rows []row, restart bool) error {
	failed := false
	for _, r := range rows {
		c.loud("Looking for %s using directory %s ...", c.kind.name, r.dir)
		if l, ok := c.find(r.dir); ok {
			c.loud("%s PID %d already running for host %s, nothing to do", c.kind.name, l.pid, r.host)
			if restart {
				c.loud("Not expected for restart!")
			}
			c.moveToFarm(ctx, l.pid)
			continue
		}
		if restart {
			c.loud("Not found as expected, launching new %s", c.kind.name)
		} else {
			c.loud("Not found, launching new %s", c.kind.name)
		}
		if _, err := os.Stat(r.file); err != nil {
			c.warn("control file %s for host %s %s has vanished", r.file, r.host, c.kind.name)
			failed = true
			continue
		}
		err := c.rewrite(r, "Enable", "enabled in", restart, func(text string, f [5]string) (string, bool) {
			var ok bool
			if f[0], ok = strings.CutPrefix(f[0], controlfile.Stopped); !ok {
				return text, true
			}
			return joined(f), true
		})
		if err != nil {
			return err
		}
		if !c.launch(ctx, r.file, r.host, r.dir) {
			failed = true
		}
	}
	if failed {
		return errSaid
	}
	return nil
}

// launch runs pmlogger_check or pmie_check on a control file, and checks that an instance for a directory is then
// running.
func (c *controller) launch(ctx context.Context, file, host, dir string) bool {
	name := c.kind.name + "_check"
	args := append(append([]string(nil), c.check...), "-c", file)
	if c.dry {
		c.printf("+ sudo -u %s -g %s %s %s\n", c.cfg.Get("PCP_USER"), c.cfg.Get("PCP_GROUP"), filepath.Join(c.cfg.Get("PCP_BINADM_DIR"), name), strings.Join(args, " "))
		return true
	}
	cmd, err := c.env.Sibling(ctx, name, args...)
	if err != nil {
		c.warn("%v", err)
		return false
	}
	cmd.Env = append(cmd.Environ(), c.cfg.Environ()...)
	c.env.FlushOut()
	cmd.Stdout, cmd.Stderr = c.env.Stdout, c.env.ChildStderr()
	if uid, gid := c.env.Owner(); os.Getuid() == 0 && uid > 0 {
		become(cmd, uid, gid)
	}
	if err := cmd.Run(); err != nil {
		c.warn("%s: %v", name, err)
	}
	for end := time.Now().Add(startWait); ; {
		if l, ok := c.find(dir); ok {
			c.very("Started? yes")
			c.moveToFarm(ctx, l.pid)
			return true
		}
		if !time.Now().Before(end) || !pacing.Sleep(ctx, pause) {
			break
		}
	}
	c.very("Started? no")
	c.warn("%s failed to start for host %s and directory %s", c.kind.name, host, dir)
	return false
}

// stop ends instances and, unless keep is set, marks their lines so that they stay stopped.
func (c *controller) stop(ctx context.Context, rows []row, keep bool) error {
	failed := false
	for _, r := range rows {
		if c.isStopped(r) {
			c.warn("%s for host %s already stopped, nothing to do", c.kind.name, c.unexpand(r.host))
			continue
		}
		c.loud("Looking for %s using directory %s ...", c.kind.name, r.dir)
		l, ok := c.find(r.dir)
		switch {
		case !ok:
			c.warn("cannot find PID for host %s %s, already exited?", r.host, c.kind.name)
		case c.dry:
			c.loud("Found PID %d to stop using signal TERM", l.pid)
			c.printf("+ %s -s TERM %d\n", filepath.Join(c.cfg.Get("PCP_BINADM_DIR"), "pmsignal"), l.pid)
		default:
			signal := c.env.Getenv("PCPQA_KILL_SIGNAL")
			if signal == "" {
				signal = "TERM"
			}
			c.loud("Found PID %d to stop using signal %s", l.pid, signal)
			if err := kill(l.pid, signal); err != nil {
				c.warn("cannot stop PID %d: %s", l.pid, cli.ErrText(err))
				failed = true
				continue
			}
			if !c.gone(ctx, r.dir) {
				c.warn("%s failed to stop for host %s and directory %s (PID=%d)", c.kind.name, r.host, r.dir, l.pid)
				failed = true
				continue
			}
		}
		if keep {
			continue
		}
		if _, err := os.Stat(r.file); err != nil {
			c.warn("control file %s for host %s %s has vanished", r.file, r.host, c.kind.name)
			failed = true
			continue
		}
		err := c.rewrite(r, "Disable", "disabled in", false, func(_ string, f [5]string) (string, bool) {
			f[0] = controlfile.Stopped + f[0]
			return joined(f), true
		})
		if err != nil {
			return err
		}
	}
	if failed {
		return errSaid
	}
	return nil
}

// isStopped reports whether the line of r is marked as stopped.
func (c *controller) isStopped(r row) bool {
	for _, raw := range c.read(r.file) {
		if x, stopped, ok := c.parse(r.file, raw, true); ok && stopped && x.host == r.host && x.dir == r.dir {
			return true
		}
	}
	return false
}

// gone waits until no instance writes to a directory.
func (c *controller) gone(ctx context.Context, dir string) bool {
	for end := time.Now().Add(stopWait); ; {
		if _, ok := c.find(dir); !ok {
			c.very("Stopped? yes")
			return true
		}
		if !time.Now().Before(end) || !pacing.Sleep(ctx, pause) {
			c.very("Stopped? no")
			return false
		}
	}
}

// restart stops instances and starts them again.
func (c *controller) restart(ctx context.Context) error {
	for _, r := range c.rows {
		if err := c.stop(ctx, []row{r}, true); err != nil {
			return fmt.Errorf("restart failed to stop host %s in class %s", r.host, r.class)
		}
		if err := c.start(ctx, []row{r}, true); err != nil {
			return fmt.Errorf("restart failed to start host %s in class %s", r.host, r.class)
		}
	}
	return nil
}

// destroy stops instances and removes their lines, and control files without other lines.
func (c *controller) destroy(ctx context.Context) error {
	for _, r := range c.rows {
		if err := c.stop(ctx, []row{r}, true); err != nil {
			return fmt.Errorf("control file changes skipped because %s could not be stopped", c.kind.name)
		}
		remove := func(string, [5]string) (string, bool) { return "", false }
		text, changed, active := c.edit(r, remove)
		host, dir := c.unexpand(r.host), c.unexpand(r.dir)
		if changed {
			c.loud("Remove %s for host %s and directory %s in control file %s", c.kind.name, host, dir, r.file)
		} else {
			c.loud("%s for host %s and directory %s already removed from control file %s", c.kind.name, host, dir, r.file)
		}
		if active || r.file == c.control {
			if err := c.install(text, r.file); err != nil {
				return err
			}
			continue
		}
		c.loud("Remove control file %s", r.file)
		if c.dry {
			c.printf("+ rm %s\n", r.file)
		} else if err := os.Remove(r.file); err != nil {
			return fmt.Errorf("%s", cli.FileErrText(err))
		}
	}
	return nil
}

// moveToFarm moves a process to the control group of the service for processes started here, if -m is given.
func (c *controller) moveToFarm(ctx context.Context, pid int) {
	const what = "migrate_pid_service"
	if !c.migrate || c.dry {
		return
	}
	if st, err := os.Stat("/run/systemd/system"); err != nil || !st.IsDir() {
		c.loud("%s: ignored, not using systemd", what)
		return
	}
	unit := c.kind.name + "_farm.service"
	path, err := c.env.LookPath("systemctl")
	var group []byte
	if err == nil {
		group, err = exec.CommandContext(ctx, path, "show", "-p", "ControlGroup", "--value", unit).Output()
	}
	name := strings.TrimSpace(string(group))
	if err != nil || !strings.HasPrefix(name, "/") || !fs.ValidPath(strings.TrimPrefix(name, "/")) {
		c.loud("%s: couldn't find cgroup.procs for service \"%s\"", what, unit)
		return
	}
	for _, below := range []string{"", "/unified", "/systemd", "/pids", "/memory"} {
		f, err := os.OpenFile("/sys/fs/cgroup"+below+name+"/cgroup.procs", os.O_WRONLY, 0)
		if err != nil {
			continue
		}
		_, err = f.WriteString(number(pid) + "\n")
		f.Close()
		if err == nil {
			c.loud("%s: added pid %d to service \"%s\" using namespace \"%s\"", what, pid, unit, below)
			return
		}
	}
	c.loud("%s: failed to add pid %d to service \"%s\"", what, pid, unit)
}

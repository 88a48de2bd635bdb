package logctl

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// status prints the table of instances.
func (c *controller) status(ctx context.Context) error {
	system := c.systemState(ctx)
	var table []string
	dirs := map[string]string{}
	pick := len(c.rows) > 0
	for _, file := range c.files() {
		class := "default"
		for _, raw := range c.read(file) {
			if rest, ok := strings.CutPrefix(raw.Fields()[0], "$class="); ok {
				class = rest
			}
			r, stopped, ok := c.parse(file, raw, true)
			if !ok {
				continue
			}
			if pick {
				i := slices.IndexFunc(c.rows, func(x row) bool { return x.host == r.host && x.dir == r.dir })
				if i < 0 {
					continue
				}
				c.rows = slices.Delete(c.rows, i, i+1)
			}
			state := "running"
			if stopped {
				state = "stopped by " + c.prog()
			}
			cells, pid := c.kind.unknown, "?"
			if x, ok := c.find(r.dir); ok {
				cells, pid = x.cells, number(x.pid)
			} else if !stopped {
				if state = "dead"; system != "" {
					state = system
				}
			}
			shown := class
			if r.primary == "y" {
				shown = "primary"
			}
			line := tableLine(r.host, cells, shown, pid, state)
			if c.verbose > 0 {
				line += " " + c.kind.ident(r.dir)
				if state == "dead" {
					dirs[line] = r.dir
				}
			}
			table = append(table, line)
		}
	}
	slices.Sort(table)
	if len(table) > 0 {
		line := tableLine("pmcd Host", c.kind.titles, "Class", "PID", "State")
		if c.verbose > 0 {
			line += " Instance Id"
		}
		c.printf("%s\n", line)
	}
	for _, line := range table {
		c.printf("%s\n", line)
		if dir, ok := dirs[line]; ok {
			c.diagnose(dir)
		}
	}
	if len(c.rows) > 0 {
		c.printf("No %s configuration found for:\n", c.kind.name)
		for _, r := range c.rows {
			c.printf("  host %s directory %s", r.host, r.dir)
			if r.class != "-" {
				c.printf(" class %s", r.class)
			}
			c.printf("\n")
		}
	}
	return nil
}

// tableLine is a line of the table, whose cells describe the state of an instance.
func tableLine(host, cells, class, pid, state string) string {
	return fmt.Sprintf("%-20s %s %-8s %7s %-8s", host, cells, class, pid, state)
}

// systemState returns the reason why the system runs no instances, "" if it does.
func (c *controller) systemState(ctx context.Context) string {
	dir := c.cfg.Get("PCP_SYSTEMDUNIT_DIR")
	path, err := c.env.LookPath("systemctl")
	unit := c.kind.name + ".service"
	if err != nil || dir == "" {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, unit)); err != nil {
		return ""
	}
	ask := func(what string) string {
		out, _ := exec.CommandContext(ctx, path, what, unit).Output()
		return strings.TrimSpace(string(out))
	}
	switch {
	case ask("is-enabled") != "enabled":
		return "disabled by systemctl"
	case ask("is-active") == "inactive":
		return "stopped by systemctl"
	}
	return ""
}

// maxLog is the number of bytes read from the log of a dead instance.
const maxLog = 1 << 20

// diagnose prints the log of a dead instance, without the messages about a valid configuration.
func (c *controller) diagnose(dir string) {
	f, err := os.Open(c.kind.log(dir))
	if err != nil {
		c.printf("   + %s.log not available\n", c.kind.name)
		return
	}
	defer f.Close()
	sc := bufio.NewScanner(io.LimitReader(f, maxLog))
	keep := c.kind.filter()
	for sc.Scan() {
		if line := sc.Text(); strings.Trim(line, " \t") != "" && keep(line) {
			c.printf("   + %s\n", line)
		}
	}
	if err := sc.Err(); err != nil {
		c.warn("%s", cli.FileErrText(err))
	}
}

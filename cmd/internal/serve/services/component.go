package services

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// isDaemon reports whether a daemon is a component without a script.
func isDaemon(name string) bool {
	switch name {
	case "pmcd", "pmie", "pmlogger", "pmproxy":
		return true
	}
	return false
}

// daemon is the script of a daemon: it returns the output and the exit status.
func (c *check) daemon(ctx context.Context, name string) ([]byte, int) {
	var out bytes.Buffer
	say := func(format string, args ...any) {
		if c.verbose {
			fmt.Fprintf(&out, format+"\n", args...)
		}
	}
	if c.does('l') {
		say("%s", map[string]string{
			"pmcd": "the collector, which serves the metrics of this host", "pmie": "the engines of rules about metrics",
			"pmlogger": "the recorders of metrics", "pmproxy": "the proxy, which serves metrics over HTTP",
		}[name])
		return out.Bytes(), 0
	}
	systemctl, err := exec.LookPath("systemctl")
	unit := ""
	if err == nil {
		unit = c.unit(name)
	}
	if c.does('s') {
		text, status, err := of(c.env, name).status()
		switch {
		case err != nil:
			say("%v", err)
		case status == running:
			say("%s", text)
			return out.Bytes(), 0
		default:
			say("%s", text)
		}
		if unit == "" {
			say("no unit of systemd; \"pcp service start %s\" starts it until the next boot", name)
			return out.Bytes(), 2
		}
		return out.Bytes(), 1
	}
	if unit == "" {
		say("no unit of systemd; see \"pcp service\"")
		return out.Bytes(), 1
	}
	verbs := []string{"enable", "start"}
	if c.does('d') {
		verbs = []string{"stop", "disable"}
	}
	for _, verb := range verbs {
		if c.dryRun {
			fmt.Fprintf(&out, "# systemctl %s %s\n", verb, unit)
			continue
		}
		text, err := exec.CommandContext(ctx, systemctl, verb, unit).CombinedOutput()
		if err != nil {
			say("systemctl %s %s: %v", verb, unit, err)
			say("%s", strings.TrimSpace(string(text[:min(len(text), maxScript)])))
			return out.Bytes(), 1
		}
	}
	return out.Bytes(), 0
}

// unit returns the unit of a daemon, that of this package before that of the C implementation, or "".
func (c *check) unit(name string) string {
	dirs := []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
	if dir := c.env.Config().Get("PCP_SYSTEMDUNIT_DIR"); dir != "" {
		dirs = []string{dir}
	}
	for _, unit := range []string{"pcp-" + name + ".service", name + ".service"} {
		for _, dir := range dirs {
			if _, err := os.Stat(filepath.Join(dir, unit)); err == nil {
				return unit
			}
		}
	}
	return ""
}

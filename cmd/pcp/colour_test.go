//go:build unix

package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// colour is a code that sets a colour of a terminal (select graphic rendition).
var colour = regexp.MustCompile("\x1b\\[([0-9]+;)*(3[0-8]|4[0-8]|9[0-7]|10[0-7])(;[0-9]+)*m")

// TestNoColour runs the commands that use colours on a terminal: with NO_COLOR, on a terminal
// without colours, and into a pipe they print none. Otherwise they print some, which shows that the
// test can see them.
func TestNoColour(t *testing.T) {
	pcp := program(t)
	dir := t.TempDir()
	for _, name := range []string{"machine", "tasks"} {
		twin.Fixture(t, name, filepath.Join(dir, name))
	}
	for _, ext := range []string{"0", "meta"} {
		if err := os.WriteFile(filepath.Join(dir, "damaged."+ext), []byte("nothing"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(terminal bool, vars []string, args []string) string {
		t.Helper()
		cmd := exec.Command(pcp, args...)
		if strings.HasPrefix(args[0], "pcp-") {
			cmd.Args = args
		}
		cmd.Dir = dir
		cmd.Env = append([]string{"HOME=" + dir, "PCP_CONF=/dev/null", "TZ=UTC", "PMCD_PORT=1", "PMCD_SOCKET=" + dir + "/nobody", "PCP_ARCHIVE=machine"}, vars...)
		if !terminal {
			out, _ := cmd.Output()
			return string(out)
		}
		f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
		if err != nil {
			t.Skipf("no pseudo terminals: %v", err)
		}
		defer f.Close()
		kill := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		defer kill.Stop()
		io.WriteString(f, "q")
		out, err := io.ReadAll(f)
		if perr := (*fs.PathError)(nil); err != nil && !(errors.As(err, &perr) && perr.Err == syscall.EIO) { // which is the end of it
			t.Errorf("%q: %v", args, err)
		}
		await.Exit(t, cmd)
		return string(out)
	}
	for _, line := range []string{
		"archive verify damaged",
		"archive ls",
		"dstat -l 1 2",
		"pcp-dstat -l 1 2",
		"top",
		"top --once",
		"iostat -s 2",
		"agent list",
		"alerts -h localhost:1",
		"info -f kernel.all.load",
	} {
		args := strings.Fields(line)
		for _, vars := range [][]string{{"TERM=xterm", "NO_COLOR=1"}, {"TERM=dumb"}} {
			if out := run(true, vars, args); colour.MatchString(out) {
				t.Errorf("%q: colours with %q: %q", args, vars, out)
			} else if vars[0] == "TERM=dumb" && strings.Contains(out, "\x1b") {
				t.Errorf("%q: codes on a terminal that has none: %q", args, out)
			}
		}
		if out := run(false, []string{"TERM=xterm", "CLICOLOR_FORCE=1"}, args); strings.Contains(out, "\x1b") {
			t.Errorf("%q: codes in a pipe: %q", args, out)
		}
		if args[0] != "top" && args[0] != "pcp-dstat" || strings.Contains(line, "--once") {
			continue
		}
		if out := run(true, []string{"TERM=xterm"}, args); !colour.MatchString(out) {
			t.Errorf("%q: no colours on a terminal: %q", args, out)
		}
	}
}

// TestHelpColours prints the help of each command: bold on a terminal with colours, plain
// elsewhere.
func TestHelpColours(t *testing.T) {
	help := func(c *cli.Command, vars map[string]string) string {
		var b strings.Builder
		env := &cli.Env{
			Name: "pcp " + c.Name, Program: "pcp", Stdout: &b, Stderr: io.Discard, Version: "0", OutTerminal: func() bool { return true },
			Getenv: func(name string) string { return vars[name] }, Command: c, Commands: commands(),
		}
		env.Help(c)
		return b.String()
	}
	each(commands(), func(c *cli.Command) {
		plain := help(c, map[string]string{"NO_COLOR": "1", "TERM": "xterm"})
		if strings.Contains(plain, "\x1b") || plain == "" {
			t.Errorf("%s: %q", c.Name, plain)
		}
		if dumb := help(c, map[string]string{"TERM": "dumb"}); dumb != plain {
			t.Errorf("%s: on a terminal that has none: %q", c.Name, dumb)
		}
		if bold := help(c, map[string]string{"TERM": "xterm"}); !strings.Contains(bold, "\x1b[1m") {
			t.Errorf("%s: nothing bold: %q", c.Name, bold)
		}
	})
}

package sendsignal

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
)

func call(getenv func(string) string, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(context.Background(), &cli.Env{
		Name: "pmsignal", Args: args, Command: Command, Stdout: &o, Stderr: &e, Getenv: getenv,
	})
	return status, o.String(), e.String()
}

// TestSend ends processes by number, by name and by the file of a program.
func TestSend(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no program sleep:", err)
	}
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc:", err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "pcp-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Symlink(sleep, path); err != nil {
		t.Skip(err)
	}
	getenv := func(name string) string {
		return map[string]string{"PCP_RUN_DIR": dir, "PCP_CONF": os.DevNull}[name]
	}
	for _, how := range []string{"", "-a", "-p"} {
		cmd := exec.Command(path, "600")
		if err := cmd.Start(); err != nil {
			t.Skip(err)
		}
		pid := strconv.Itoa(cmd.Process.Pid)
		var args []string
		switch how {
		case "":
			args = []string{pid}
		case "-a":
			args = []string{"-a", "/x/" + filepath.Base(path)}
		case "-p":
			if err := os.WriteFile(filepath.Join(dir, "prog.pid"), []byte(pid+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			args = []string{"-p", "prog"}
		}
		status, out, errs := call(getenv, append(args, "-n")...)
		if want := "kill -TERM " + pid + "\n"; status != 0 || out != want || errs != "" {
			t.Errorf("%s, dry: %d %q %q", how, status, out, errs)
		}
		if status, out, errs := call(getenv, append([]string{"-s", "KILL"}, args...)...); status != 0 || out != "" || errs != "" {
			t.Errorf("%s: %d %q %q", how, status, out, errs)
			cmd.Process.Kill()
		}
		if err := await.Exit(t, cmd); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%s: the process ended with %v", how, err)
		}
		if how == "" {
			if status, _, errs := call(getenv, pid); status != 1 || errs != "pmsignal: kill: ("+pid+") - No such process\n" {
				t.Errorf("once more: %d %q", status, errs)
			}
		}
	}
}

// TestMistakes has arguments of which no process gets a signal.
func TestMistakes(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		status, out, errs := call(func(string) string { return "" }, args...)
		if status != 1 || out != "" || !strings.HasPrefix(errs, want) {
			t.Errorf("%q: %d %q %q, want %q", args, status, out, errs, want)
		}
	}
	f("pmsignal: Insufficient arguments\nUsage: pmsignal [options] PID ... | name ...\n")
	f("pmsignal: invalid signal - FOO\n", "-s", "FOO", "1")
	f("pmsignal: Cannot specify both \"all\" and \"program\" modes\n", "-a", "-p", "x")
	for _, arg := range []string{"abc", "0", "-1", "1x", "", "99999999999999999999"} {
		f("pmsignal: kill "+arg+": not the number of a process\n", "--", arg)
	}
}

package oracle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// version is the release whose behaviour is the reference.
const version = "6.0"

// hidden is the value of PCP_ORACLE on a machine that is to look as if the real
// tools were not there.
const hidden = "none"

// toolTimeout ends a tool that hangs.
const toolTimeout = 2 * time.Minute

func dirs() []string {
	switch dir := os.Getenv("PCP_ORACLE"); dir {
	case "":
	case hidden:
		return nil
	default:
		return []string{dir}
	}
	return []string{"/usr/bin", "/usr/lib/pcp/bin", "/usr/libexec/pcp/bin"}
}

// Path returns the path of a real tool, "" if there is none.
func Path(tool string) string {
	for _, dir := range dirs() {
		path := filepath.Join(dir, tool)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// installed checks once whether the real tools are installed, and returns the
// reason if not.
var installed = sync.OnceValue(func() error {
	path := Path("pminfo")
	if os.Getenv("PCP_ORACLE") == hidden {
		return errors.New("PCP_ORACLE=" + hidden)
	}
	if path == "" {
		return fmt.Errorf("no pminfo in %s", strings.Join(dirs(), ", "))
	}
	out, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s --version: %v", path, err)
	}
	if !strings.Contains(string(out), "version "+version) {
		return fmt.Errorf("%s says %q, wanted version %s", path, strings.TrimSpace(string(out)), version)
	}
	return nil
})

// Require skips the test if the real PCP is not installed.
func Require(t testing.TB) {
	t.Helper()
	if err := installed(); err != nil {
		Missing(t, err.Error())
	}
}

// Missing skips a test that cannot run without some part of the real PCP, with the reason
// why. With PCP_ORACLE or CI set it fails instead.
func Missing(t testing.TB, why string) {
	t.Helper()
	for _, name := range []string{"PCP_ORACLE", "CI"} {
		if os.Getenv("PCP_ORACLE") == hidden {
			break
		}
		if v := os.Getenv(name); v != "" && v != "0" && v != "false" {
			t.Fatalf("real PCP is not installed although %s is set: %s", name, why)
		}
	}
	t.Skipf("SKIPPED: real PCP is not installed: %s", why)
}

// Output is what a tool did.
type Output struct {
	Stdout, Stderr string
	Exit           int // status, or -1 if a signal ended it
}

// Env is the environment in which tools run: nothing of the caller's but a
// path, so that PCP_HOST and its like have no effect; UTC and the C locale; no
// derived metrics of the system's configuration; more time for a collector to
// answer than tools give it by themselves.
func Env() []string {
	return []string{
		"PATH=" + strings.Join(append(dirs(), "/usr/bin", "/bin", "/usr/sbin", "/sbin"), ":"),
		"HOME=" + os.TempDir(), "LC_ALL=C", "TZ=UTC", "PCP_DERIVED_CONFIG=",
		"PMCD_CONNECT_TIMEOUT=60", "PMCD_REQUEST_TIMEOUT=60",
	}
}

// Run runs a real tool in Env. It fails the test only if the tool cannot be
// started or does not end; the exit status is for the test to judge.
func Run(t testing.TB, tool string, args ...string) Output {
	t.Helper()
	return RunEnv(t, nil, tool, args...)
}

// RunEnv is Run with more environment.
func RunEnv(t testing.TB, env []string, tool string, args ...string) Output {
	t.Helper()
	Require(t)
	path := Path(tool)
	if path == "" {
		Missing(t, "no "+tool+" in "+strings.Join(dirs(), ", "))
	}
	return run(t, env, "", path, args...)
}

// RunStdin is Run with text on standard input.
func RunStdin(t testing.TB, stdin, tool string, args ...string) Output {
	t.Helper()
	Require(t)
	path := Path(tool)
	if path == "" {
		Missing(t, "no "+tool+" in "+strings.Join(dirs(), ", "))
	}
	return run(t, nil, stdin, path, args...)
}

// Python runs a script with the system's Python and its pcp module, in Env and
// env. It skips the test where the module is missing.
func Python(t testing.TB, env []string, script string, args ...string) Output {
	t.Helper()
	Require(t)
	if err := python(); err != nil {
		Missing(t, err.Error())
	}
	return run(t, env, script, "/usr/bin/python3", append([]string{"-"}, args...)...)
}

var python = sync.OnceValue(func() error {
	out, err := exec.Command("/usr/bin/python3", "-c", "import pcp.pmapi").CombinedOutput()
	if err != nil {
		return fmt.Errorf("python3 has no module pcp.pmapi: %v: %s", err, bytes.TrimSpace(out))
	}
	return nil
})

func run(t testing.TB, env []string, stdin, path string, args ...string) Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(Env(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%s %s: %v\n%s%s", path, strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return Output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

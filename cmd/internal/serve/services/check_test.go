package services

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// scripts are components: each prints its arguments.
var scripts = map[string]string{
	"active":   "#!/bin/sh\necho \"$*\"\n[ \"$2\" = -v ] && echo '  second line'\nexit 0\n",
	"idle":     "#!/bin/sh\ncase $1 in -a) echo \"# systemctl enable idle\" ; exit 0;; -d) exit 1;; esac\nexit 1\n",
	"never":    "#!/bin/sh\nexit 2\n",
	"odd":      "#!/bin/sh\nexit 5\n",
	"pmie":     "#!/bin/sh\necho in place of ours\n",
	".hidden":  "#!/bin/sh\n",
	"babbling": "#!/bin/sh\nyes | head -c 3000000\nexit 1\n",
}

// site makes an installation with these components, and returns a function that calls pmcheck.
func site(t *testing.T, units ...string) (dir string, call func(name string, args ...string) (out, errs string, status int)) {
	t.Helper()
	dir = t.TempDir()
	at := filepath.Join(dir, "share/lib/pmcheck")
	for _, d := range []string{at, filepath.Join(dir, "run"), filepath.Join(dir, "bin"), filepath.Join(dir, "units")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range scripts {
		write(filepath.Join(at, name), text, 0o755)
	}
	write(filepath.Join(at, "text"), "no script\n", 0o644)
	write(filepath.Join(dir, "bin/systemctl"), "#!/bin/sh\necho \"$@\" >>"+dir+"/called\n[ \"$1\" != disable ] || { echo refused; exit 3; }\n", 0o755)
	for _, unit := range units {
		write(filepath.Join(dir, "units", unit), "", 0o644)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	vars := map[string]string{
		"PCP_CONF": "/dev/null", "PCP_SHARE_DIR": filepath.Join(dir, "share"), "PCP_RUN_DIR": filepath.Join(dir, "run"),
		"PCP_SYSTEMDUNIT_DIR": filepath.Join(dir, "units"), "PCP_TMP_DIR": dir,
	}
	return dir, func(name string, args ...string) (string, string, int) {
		t.Helper()
		var out, errs bytes.Buffer
		env := &cli.Env{
			Name: name, Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Command: CheckCommand,
			Getenv: func(name string) string { return vars[name] },
		}
		status := runCheck(context.Background(), env)
		return out.String(), errs.String(), status
	}
}

func TestCheck(t *testing.T) {
	dir, call := site(t, "pcp-pmcd.service")
	share := filepath.Join(dir, "share/lib/pmcheck")
	f := func(want string, status int, args ...string) {
		t.Helper()
		out, errs, got := call("pmcheck", args...)
		if out != want || errs != "" || got != status {
			t.Errorf("pmcheck %q printed\n%s%sstatus %d, want\n%sstatus %d", args, out, errs, got, want, status)
		}
	}
	const blank = "                                    "
	f("active          active               -s active\n", 0, "active")
	f("active          active               -s -v active\n"+blank+" second line\n", 0, "-s", "-v", "active")
	f("idle            could be activated  \nnever           cannot be activated \nodd             botch, rc=5         \n", 0, "idle", "never", "odd")
	f("active          active               -s active\nidle            could be activated  \n", 0, "[ai]*")
	f("idle            success              # systemctl enable idle\n", 0, "-a", "idle")
	f("idle            failure             \n", 0, "-d", "idle")
	f("# systemctl enable idle\n", 0, "-a", "-n", "idle")
	f("pmie            active               in place of ours\n", 0, "pmie")
	f("active         \nidle           \n", 0, "-l", "active", "idle")
	f("active          -l -v active\n                second line\n", 0, "-lv", "active")
	f("pmcheck: Error: "+share+"/none not found or not executable\npmcheck: Error: "+share+"/text not found or not executable\n", 0, "none", "text")
	f("pmcheck: Error: "+share+"/../pmcheck/active not found or not executable\n", 0, "../pmcheck/active")
	f("active         \nbabbling       \nidle           \nnever          \nodd            \npmcd           \npmie           \npmlogger       \npmproxy        \n"+
		"pmcheck: Error: "+share+"/text not found or not executable\n", 0, "-l")
	file := filepath.Join(share, "idle")
	f(file+" could be activated  \n", 0, "-c", file)

	// The daemons without a script.
	f("pmcd            could be activated   not running\n", 0, "-v", "pmcd")
	f("# systemctl enable pcp-pmcd.service\n# systemctl start pcp-pmcd.service\n", 0, "-an", "pmcd")
	f("# systemctl stop pcp-pmcd.service\n# systemctl disable pcp-pmcd.service\n", 0, "-dn", "pmcd")
	if _, err := os.Stat(filepath.Join(dir, "called")); err == nil {
		t.Error("-n calls systemctl")
	}
	f("pmcd            success             \n", 0, "-a", "pmcd")
	f("pmcd            failure              systemctl disable pcp-pmcd.service: exit status 3\n"+blank+" refused\n", 0, "-dv", "pmcd")
	if b, err := os.ReadFile(filepath.Join(dir, "called")); err != nil || string(b) != "enable pcp-pmcd.service\nstart pcp-pmcd.service\nstop pcp-pmcd.service\ndisable pcp-pmcd.service\n" {
		t.Errorf("systemctl was called with %q, %v", b, err)
	}

	// Output that is too long is cut.
	if out, _, status := call("pmcheck", "babbling"); status != 0 || len(out) < maxScript || len(out) > 40*maxScript {
		t.Errorf("%d bytes of a script, status %d", len(out), status)
	}
}

func TestCheckErrors(t *testing.T) {
	dir, call := site(t)
	f := func(name string, status int, want string, args ...string) {
		t.Helper()
		out, errs, got := call(name, args...)
		if !strings.Contains(out+errs, want) || got != status {
			t.Errorf("%s %q printed\n%s%sstatus %d, want %q, status %d", name, args, out, errs, got, want, status)
		}
	}
	f("pmcheck", 9, "at most one of -a, -d, -l or -s may be specified", "-a", "-d")
	f("pmcheck", 9, "option -c and component arguments are mutually exclusive", "-c", "x", "y")
	f("pmcheck", 9, `"/none" does not exist`, "-c", "/none")
	f("pmcheck", 9, "must be an executable script", "-c", filepath.Join(dir, "share/lib/pmcheck/text"))
	f("pmcheck", 9, "invalid option -- 'z'", "-z")
	f("pmcheck", 0, "neither -a nor -d specified, so -n ignored", "-n", "idle")
	f("pmcheck", 1, "syntax error in pattern", "[")
	f("pcp check", 1, "not found or not executable", "none")
	f("pcp check", 1, "failure", "-d", "idle")
	f("pcp check", 0, "could be activated", "idle")
	f("pcp check", 1, "botch, rc=5", "odd")
	f("pcp check", 0, "+ exit 2", "-x", "never")
	script := filepath.Join(dir, "share/lib/pmcheck/broken")
	if err := os.WriteFile(script, []byte("#!/none/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f("pcp check", 1, "botch, rc=126", "broken")
	f("pcp check", 0, "pmcd            cannot be activated", "pmcd")
	f("pcp check", 1, "no unit of systemd", "-av", "pmlogger")
}

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// simulated is what apt-get -s install prints.
const simulated = `Reading package lists...
The following additional packages will be installed:
  libpcp3
Inst libc6 [2.36-9+deb12u4] (2.36-9+deb12u9 Debian:12.8/stable [amd64]) []
Conf libc6 (2.36-9+deb12u9 Debian:12.8/stable [amd64])
Inst libpcp3 (6.0.3-1.1 Debian:12.8/stable [amd64])
Inst pcp (6.0.3-1.1 Debian:12.8/stable [amd64])
`

// TestOraclePlan checks that scripts/oracle prints its changes in advance.
func TestOraclePlan(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		cmd := exec.Command("./oracle", "-plan")
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("oracle -plan = %q, %v, want %q", out, err, want)
		}
	}
	f(simulated, "new: libpcp3 pcp\nupgraded:\n\tlibc6 [2.36-9+deb12u4] -> 2.36-9+deb12u9\n")
	f(simulated+"Remv pcp-old [1.0]\n", "new: libpcp3 pcp\nupgraded:\n\tlibc6 [2.36-9+deb12u4] -> 2.36-9+deb12u9\nremoved: pcp-old\n")
	f("", "")
}

// machine makes a directory of programs in place of those of a machine, which apt
// would change as a script describes.
func machine(t *testing.T, simulation string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	programs := map[string]string{
		"dpkg-query": "exit 1",
		"id":         "echo 0",
		"apt-get":    "echo \"$*\" >>" + dir + "/log\ncase \"$*\" in *-s*) cat <<'END'\n" + simulation + "END\nesac",
		"install":    ":",
	}
	for name, body := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestOracleInstalls checks that upgrades are announced before anything is installed,
// and that they, removals and machines without apt end with the right status.
func TestOracleInstalls(t *testing.T) {
	f := func(simulation string, env []string, status int, says string, installs bool) {
		t.Helper()
		dir := machine(t, simulation)
		cmd := exec.Command("./oracle")
		cmd.Env = append([]string{"PATH=" + dir + ":/usr/bin:/bin"}, env...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != status || !strings.Contains(string(out), says) {
			t.Errorf("%q: status %d, %q, want %d and %q", env, got, out, status, says)
		}
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		lines := strings.Split(string(log), "\n")
		simulated := -1
		for i, line := range lines {
			if strings.Contains(line, "-s ") {
				simulated = i
			}
			if strings.Contains(line, "-y --no-install-recommends") && (!installs || simulated < 0) {
				t.Errorf("%q: installs without having looked, or at all:\n%s", env, log)
			}
		}
	}
	f(simulated, []string{"ORACLE_UPGRADE=1"}, 0, "oracle: \tlibc6 [2.36-9+deb12u4] -> 2.36-9+deb12u9\n", true)
	f(simulated, nil, 0, "ORACLE_UPGRADE=1 permits that", false)
	f(simulated, []string{"CI=true"}, 1, "ORACLE_UPGRADE=1 permits that", false)
	f("Remv pcp-old [1.0]\n", nil, 0, "would be removed", false)
	f("Remv pcp-old [1.0]\n", []string{"CI=true"}, 1, "would be removed", false)
}

// TestBuildWithoutNetwork checks that scripts/build makes one sentence of the errors of a first build without a network,
// and leaves others as they are.
func TestBuildWithoutNetwork(t *testing.T) {
	f := func(errs, want string) {
		t.Helper()
		dir := t.TempDir()
		stub := "#!/bin/sh\ncase $1 in env) echo https://proxy.example;; *) cat >&2 <<'END'\n" + errs + "END\nexit 1;; esac\n"
		if err := os.WriteFile(filepath.Join(dir, "go"), []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("scripts/build", "-o", "bin/pcp", "./cmd/pcp")
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "GO="+filepath.Join(dir, "go"))
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != 1 || !strings.HasPrefix(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("status %d, %q, want one line that begins with %q", got, out, want)
		}
	}
	const line = `x/y.go:9:2: golang.org/x/sys@v0.49.0: Get "https://proxy.example/golang.org/x/sys/@v/v0.49.0.zip": dial tcp: lookup proxy.example: no such host` + "\n"
	f("go: downloading golang.org/x/sys v0.49.0\n"+line+line, "build: the first build needs Go 1.26.7 and the network, to fetch libraries from https://proxy.example, which cannot be reached")
	f("x/y.go:9:2: undefined: z\n", "x/y.go:9:2: undefined: z")
}

// TestFuzzShares checks that scripts/fuzz gives every target its share of a total, and
// that a finding neither stops the rest nor is lost.
func TestFuzzShares(t *testing.T) {
	dir := t.TempDir()
	pkgs := filepath.Join(dir, "pkgs")
	for name, text := range map[string]string{
		"a/a_test.go": "func FuzzOne(f *testing.F) {}\nfunc FuzzTwo(f *testing.F) {}\n",
		"b/b_test.go": "func FuzzThree(f *testing.F) {}\n",
		"c/c_test.go": "func TestNone(t *testing.T) {}\n",
	} {
		path := filepath.Join(pkgs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stub := "#!/bin/sh\nif [ \"$1\" = list ]; then for p in a b c; do echo m/$p " + pkgs + "/$p; done; exit; fi\n" +
		"echo \"$*\"\ncase \"$*\" in *FuzzTwo*) exit 1;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, int) {
		cmd := exec.Command("./fuzz", args...)
		cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, c := range []struct {
		args []string
		each string
	}{{[]string{"-total", "1m"}, "20s"}, {[]string{"-total", "2s"}, "1s"}, {[]string{"5m"}, "5m"}, {nil, "30s"}} {
		out, status := run(c.args...)
		if status != 1 || !strings.Contains(out, "fuzz: 3 targets, "+c.each+" each\n") || !strings.HasSuffix(out, "fuzz: FOUND something: m/a:FuzzTwo\n") {
			t.Errorf("fuzz %q: status %d, %s", c.args, status, out)
		}
		if !strings.Contains(out, "-fuzz ^FuzzThree$ -fuzztime "+c.each+" ") {
			t.Errorf("fuzz %q does not go on after a finding: %s", c.args, out)
		}
	}
}

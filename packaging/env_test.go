package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/config"
)

// settings are the settings in the files of TestEnv.
const (
	settings = `# A comment=no
PCP_VAR_DIR=/var/other
PCP_AWK_PROG="/usr/bin/gawk --posix"
PCP_CC_PROG='gcc '
PCP_ECHO_C=
PCP_SET=of the file
OTHER=no
PCP_TRICK=$(touch trick)` + "`touch trick`" + `
 PCP_INDENTED=x
PCP_LAST=no newline`
	ofUser = "# mine\nPCP_VAR_DIR=/var/mine\nPCP_MINE=a b\nPERL5LIB='/x y'\n"
)

// TestEnv sources pcp.env and compares its settings with the environment that our program gives
// to the programs that it runs.
func TestEnv(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("SKIPPED: there is no sh")
	}
	dir := t.TempDir()
	conf, home := filepath.Join(dir, "pcp.conf"), filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(home, ".pcp"), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{conf: settings, filepath.Join(home, ".pcp", "pcp.conf"): ofUser} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs("config/pcp.env")
	if err != nil {
		t.Fatal(err)
	}
	given := []string{"PCP_CONF=" + conf, "HOME=" + home, "PCP_SET=here", "PCP_EMPTY=", "PATH=/usr/bin:/bin", "PCP_BINADM_DIR=" + dir}
	source := func(environ []string, script string) ([]string, string) {
		t.Helper()
		cmd := exec.Command(sh, "-c", `. "$1" && env`, "sh", script)
		cmd.Env, cmd.Dir = environ, dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, string(out)
		}
		list := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		list = slices.DeleteFunc(list, func(v string) bool {
			return strings.HasPrefix(v, "PWD=") || strings.HasPrefix(v, "_=") || strings.HasPrefix(v, "SHLVL=") || strings.HasPrefix(v, "OLDPWD=")
		})
		slices.Sort(list)
		return list, ""
	}
	got, problem := source(given, script)
	if problem != "" {
		t.Fatal(problem)
	}
	lookup := func(name string) (string, bool) {
		for _, v := range given {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
	// A program has the built-in settings too.
	made := config.NewLookup(lookup).Environ()
	for _, v := range got {
		name, _, _ := strings.Cut(v, "=")
		if name != "PATH" && slices.Contains(given, v) {
			continue
		}
		if v == "PCP_ECHO_C=" { // empty either way
			continue
		}
		if !slices.Contains(made, v) {
			t.Errorf("pcp.env sets %q; Environ does not: %q", v, made)
		}
	}
	for _, want := range []string{
		"PCP_VAR_DIR=/var/other", "PCP_AWK_PROG=/usr/bin/gawk --posix", "PCP_CC_PROG=gcc ", "PCP_SET=here", "PCP_LAST=no newline",
		"PCP_MINE=a b", "PERL5LIB=/x y", "PCP_ENV_DONE=y", "PCP_TRICK=$(touch trick)`touch trick`",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("pcp.env does not set %q:\n%s", want, strings.Join(got, "\n"))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "trick")); err == nil {
		t.Error("a setting was executed")
	}
	if _, problem := source([]string{"PCP_CONF=/no/such", "PATH=/usr/bin:/bin"}, script); !strings.Contains(problem, `pcp.env: Fatal Error: "/no/such" not found`) {
		t.Errorf("without a file: %q", problem)
	}

	// The C implementation's pcp.env, where it is installed, has the same effect for settings that both accept.
	const theirs = "/etc/pcp.env"
	if _, err := os.Stat(theirs); err != nil || os.Getenv("PCP_ORACLE") == "none" {
		t.Skip("SKIPPED: there is no pcp.env of the C implementation to compare with")
	}
	text := strings.ReplaceAll(strings.ReplaceAll(settings, "PCP_CC_PROG='gcc '\n", ""), "PCP_TRICK", "TRICK")
	if err := os.WriteFile(conf, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".pcp", "pcp.conf"), []byte(strings.ReplaceAll(ofUser, "'", "")), 0o666); err != nil {
		t.Fatal(err)
	}
	ours, problem := source(given, script)
	if problem != "" {
		t.Fatal(problem)
	}
	real, problem := source(given, theirs)
	if problem != "" {
		t.Fatal(problem)
	}
	if diff := cmp.Diff(real, ours); diff != "" {
		t.Errorf("pcp.env (-theirs +ours):\n%s", diff)
	}
}

// TestEnvProcesses tests the functions of pcp.env that print the IDs of processes.
func TestEnvProcesses(t *testing.T) {
	if _, err := exec.LookPath("ps"); err != nil {
		t.Skip("SKIPPED: there is no ps")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "pcp.conf")
	if err := os.WriteFile(conf, []byte("PCP_BIN_DIR="+dir+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("config/pcp.env")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `. "$1"; ln -s "$(command -v sleep)" "$2/pcpsleeper"; "$2/pcpsleeper" 60 & p=$!
sleep 0.2
[ "$(_get_pids_by_name pcpsleeper)" = $p ] && [ "$(_get_pids_by_args pcpsleeper)" = $p ] && [ -z "$(_get_pids_by_name nosuchprogram)" ]
s=$?; kill $p; exit $s`, "sh", script, dir)
	cmd.Env = []string{"PCP_CONF=" + conf, "PATH=/usr/bin:/bin", "HOME=" + dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

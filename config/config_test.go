package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const conf = `# a comment = no
PCP_VAR_DIR=/var/other
  indented=x
PCP_AWK_PROG="/usr/bin/gawk --posix"
PCP_CC_PROG='gcc '
PCP_ECHO_C=
PCP_ODD=a=b
no equals sign
=nothing
PCP_VAR_DIR=/var/second
`

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "etc", "pcp.conf")
	os.Mkdir(filepath.Dir(path), 0o777)
	if err := os.WriteFile(path, []byte(conf), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, getenv := range []func(string) string{
		env("PCP_CONF", path, "PCP_RUN_DIR", "/run/mine"),
		env("PCP_DIR", dir, "PCP_RUN_DIR", "/run/mine"),
		env("PCP_CONF", path, "PCP_DIR", "/nowhere", "PCP_RUN_DIR", "/run/mine"),
	} {
		c := New(getenv)
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		f := func(name, want string) {
			t.Helper()
			if got := c.Get(name); got != want {
				t.Errorf("Get(%s) = %q, want %q", name, got, want)
			}
		}
		f("PCP_VAR_DIR", "/var/other")
		f("PCP_AWK_PROG", "/usr/bin/gawk --posix")
		f("PCP_CC_PROG", "gcc ")
		f("PCP_ECHO_C", "")
		f("PCP_ODD", "a=b")
		f("PCP_RUN_DIR", "/run/mine")    // from the environment
		f("PCP_LOG_DIR", "/var/log/pcp") // built in
		f("PCP_NO_SUCH", "")
		want := []string{"PCP_VAR_DIR", "PCP_AWK_PROG", "PCP_CC_PROG", "PCP_ECHO_C", "PCP_ODD"}
		if names := c.Names(); !slices.Equal(names, want) {
			t.Errorf("Names() = %q, want %q", names, want)
		}
	}
}

func TestNoFile(t *testing.T) {
	for _, name := range []string{"PCP_CONF", "PCP_DIR"} {
		c := New(env(name, "/no/such/file"))
		if err := c.Err(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("with %s naming no file: %v", name, err)
		}
		if got := c.Get("PCP_VAR_DIR"); got != "/var/lib/pcp" {
			t.Errorf("built-in PCP_VAR_DIR is %q", got)
		}
	}
	if got := New(env("PCP_CONF", os.DevNull, "PCP_VAR_DIR", "/x")).Get("PCP_VAR_DIR"); got != "/x" {
		t.Errorf("PCP_VAR_DIR of the environment is %q", got)
	}
}

func TestTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pcp.conf")
	os.WriteFile(path, bytes.Repeat([]byte("A=b\n"), maxFile/4+1), 0o666)
	if err := New(env("PCP_CONF", path)).Err(); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a large file: %v", err)
	}
	os.WriteFile(path, bytes.Repeat([]byte("A"), 1<<17), 0o666)
	if err := New(env("PCP_CONF", path)).Err(); err == nil {
		t.Error("a line of 128 KiB is accepted")
	}
}

// TestOracle compares all settings with those of pmconfig.
func TestOracle(t *testing.T) {
	const pmconfig = "/usr/lib/pcp/bin/pmconfig"
	if _, err := os.Stat(pmconfig); err != nil {
		t.Skipf("real PCP is not installed: %v", err)
	}
	cmd := exec.Command(pmconfig)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PCP_TMP_DIR=/elsewhere"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	c := New(env("PCP_TMP_DIR", "/elsewhere"))
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		name, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok || !strings.HasPrefix(name, "PCP_") {
			continue
		}
		n++
		if got := c.Get(name); got != want {
			t.Errorf("Get(%s) = %q, pmconfig says %q", name, got, want)
		}
	}
	if n < 20 {
		t.Errorf("pmconfig printed %d settings", n)
	}
}

func TestNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pcp.conf")
	c := New(env("PCP_CONF", path, "PCP_RUN_DIR", "/run/mine"))
	if got := c.Get("PCP_RUN_DIR"); got != "/run/mine" {
		t.Errorf("PCP_RUN_DIR is %q", got)
	}
	os.WriteFile(path, []byte(conf), 0o666) // not requested yet
	if got := c.Get("PCP_VAR_DIR"); got != "/var/other" || c.Err() != nil {
		t.Errorf("PCP_VAR_DIR is %q, %v", got, c.Err())
	}
	os.Remove(path)
	if got := c.Get("PCP_VAR_DIR"); got != "/var/other" || c.Err() != nil {
		t.Errorf("the second time PCP_VAR_DIR is %q, %v", got, c.Err())
	}
	c = New(env("PCP_CONF", path))
	if got := c.Get("PCP_VAR_DIR"); got != "/var/lib/pcp" || !errors.Is(c.Err(), fs.ErrNotExist) {
		t.Errorf("without the file PCP_VAR_DIR is %q, %v", got, c.Err())
	}
}

func TestIsSet(t *testing.T) {
	t.Setenv("PCP_TEST_EMPTY", "")
	if c := Process(); !c.IsSet("PCP_TEST_EMPTY") || c.IsSet("PCP_TEST_NO_SUCH") {
		t.Error("a variable that is empty counts as not set")
	}
	if c := New(os.Getenv); c.IsSet("PCP_TEST_EMPTY") {
		t.Error("os.Getenv cannot say that a variable is set and empty")
	}
}

// TestTrace checks that each requested setting is reported, and before the first one all settings of the
// file.
func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pcp.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	c := New(env("PCP_CONF", path, "PCP_ODD", "even"))
	c.Get("PCP_ECHO_C") // before Trace
	var told strings.Builder
	c.Trace(func(format string, args ...any) { fmt.Fprintf(&told, format, args...) })
	c.Get("PCP_AWK_PROG")
	c.Lookup("PCP_NOWHERE")
	want := `pmgetconfig: (init) PCP_VAR_DIR=/var/other
pmgetconfig: (init) PCP_AWK_PROG="/usr/bin/gawk --posix"
pmgetconfig: (init) PCP_CC_PROG='gcc '
pmgetconfig: (init) PCP_ECHO_C=
pmgetconfig: (init) PCP_ODD=even
pmgetconfig: PCP_AWK_PROG=/usr/bin/gawk --posix
pmgetconfig: getenv(PCP_NOWHERE) -> NULL
pmgetconfig: PCP_NOWHERE=
`
	if told.String() != want {
		t.Errorf("it tells\n%s, want\n%s", &told, want)
	}
}

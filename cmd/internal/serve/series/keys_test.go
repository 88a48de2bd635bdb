package series

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys/keystest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestLoadKeys copies archives into a key server and prints their series.
func TestLoadKeys(t *testing.T) {
	server := keystest.Start(t)
	dir := t.TempDir()
	writeArchive(t, filepath.Join(dir, "one"), "first.metric", 3)
	writeArchive(t, filepath.Join(dir, "two"), "second.metric", 4)
	f := func(want string, args ...string) {
		t.Helper()
		if got := call(t, server.Address, args...); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("[pmseries]\nstream.maxlen = 100\nstream.expire = 60\n[discover]\nexclude.metrics = second.*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f("pmseries: [Info] processed 3 archive records from "+dir+"/one\n", "-c", conf, "--load", dir+"/one")
	f("first.metric\n", "-c", conf, "-m")
	if n, err := server.Do(t, "TTL", "pcp:values:series:"+strings.TrimSpace(call(t, server.Address, "-c", conf, "first.metric"))).AsInt64(); err != nil || n > 60 || n < 30 {
		t.Errorf("the values expire in %d s, %v, want 60", n, err)
	}
	f("pmseries: [Info] processed 4 archive records from "+dir+"/two\n", "-c", conf, "--load", `{source.path: "`+dir+`/two"}`)
	f("first.metric\n", "-c", conf, "-m")
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f("pmseries: [Info] processed 4 archive records from "+dir+"/two\n", "-c", conf, "-F", "--load", dir+"/two")
	f("first.metric\nsecond.metric\n", "-c", conf, "-m", "-g", "*.metric")
	f("", "-c", conf, "second.metric[samples:1]") // -F loads no values
	f("stderr: pmseries: [Error] cannot open archive \"/no/such\": No such file or directory\nstatus 1\n", "-c", conf, "--load", "/no/such")
	if err := os.WriteFile(conf, []byte("[keys]\nenabled = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := call(t, server.Address, "-c", conf, "-m"); !strings.Contains(got, "status 1") {
		t.Errorf("a key server that is disabled is used: %q", got)
	}
}

// TestLoadKeysOracle prints the same as the real pmseries about the archive that it loaded.
func TestLoadKeysOracle(t *testing.T) {
	oracle.Require(t)
	const archive = "/var/lib/pcp/testsuite/archives/bozo-disk"
	if _, err := os.Stat(archive + ".meta"); err != nil {
		oracle.Missing(t, err.Error())
	}
	server := keystest.Start(t)
	conf := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, want := server.LoadC(t, conf, archive), call(t, server.Address, "-c", conf, "--load", archive); out != want {
		t.Errorf("--load: %q, want %q", want, out)
	}
	id := strings.TrimSpace(call(t, server.Address, "-c", conf, "disk.all.read"))
	for _, args := range [][]string{
		{"disk.all.read"},
		{"-t", "disk.all.read[samples:3]"},
		{"-t", "rate(disk.all.read[samples:3])"},
		{"-d", id},
		{"-a", id},
		{"-v", "hostname"},
		{"-S"},
	} {
		args = append([]string{"-c", conf}, args...)
		out, err := exec.CommandContext(context.Background(), oracle.Path("pmseries"), append([]string{"-p", server.Port}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v", args, err)
		}
		if d := cmp.Diff(strings.Fields(string(out)), strings.Fields(call(t, server.Address, args...))); d != "" {
			t.Errorf("%q: real -, ours +:\n%s", args, d)
		}
	}
}

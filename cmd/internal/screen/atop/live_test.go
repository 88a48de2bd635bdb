package atop

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// run1 runs a command with an environment and returns its output.
func run1(t *testing.T, c *cli.Command, vars map[string]string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	env := &cli.Env{
		Name: c.Link, Program: c.Link, Args: args, Stdout: &out, Stderr: &out, Command: c,
		Getenv:    func(name string) string { return vars[name] },
		LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c.Run(ctx, env)
	return out.String()
}

// TestLive samples this machine, with agents in the process.
func TestLive(t *testing.T) {
	local := map[string]string{"PCP_LOCALPMDA": "1", "PCP_CONF": "/dev/null"} // the names are those of the agents
	for _, s := range []struct {
		c    *cli.Command
		args string
		want string
	}{
		{SarCommand, "-p 0.05 2", "loadavg1"},
		{SarCommand, "-c -m -P 0.05 2", "report not available for live measurements"},
		{Command, "-a 0.05 2", "System and Process Activity since Boot"},
		{Command, "-P CPU,PRG 0.05 2", "RESET"},
	} {
		if out := run1(t, s.c, local, strings.Fields(s.args)...); !strings.Contains(out, s.want) && !strings.Contains(out, "no per-") { // a machine without disks
			t.Errorf("%s %s: %q is not in\n%s", s.c.Link, s.args, s.want, out)
		}
	}
}

// TestArchiveNames gives -r all that it takes.
func TestArchiveNames(t *testing.T) {
	archive := fixture(t)
	folio := filepath.Join(filepath.Dir(archive), "session.folio")
	if err := os.WriteFile(folio, []byte("PCPFolio\nVersion: 1\nArchive: cellar "+filepath.Base(archive)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	zone := map[string]string{"PCP_HOSTZONE": "1"}
	for _, s := range []struct{ args, want string }{
		{"-c -r " + archive + " 1 2", "12:00:02"},
		{"-c -b 12:00:02 -e 12:00:04 -r " + archive + " 1", "12:00:04"},
		{"-c -r " + folio + " 1 2", "12:00:02"},
		{"-c -r nowhere 1", "cannot find archive from \"nowhere\""},
		{"-c -r 20240305 1", "20240305"},
		{"-c -r yy 1", "Cannot open archive"},
		{"-c -r /dev/null/x/y 1", "cannot find archive"},
		{"-c -r " + archive + " x", "Usage:"},
		{"-R", "Usage:"},
		{"-?", "Usage:"},
		{"--version", "version"},
	} {
		if out := run1(t, SarCommand, zone, strings.Fields(s.args)...); !strings.Contains(out, s.want) {
			t.Errorf("atopsar %s: %q is not in\n%s", s.args, s.want, out)
		}
	}
	for _, s := range []struct{ args, want string }{
		{"-b 12:00:02 -e 12:00:04 -r " + archive + " 1", "12:00:04"},
		{"-w /dev/null/x -r " + archive + " 1 1", "making folio path"},
		{"-S -k -r " + archive + " 1 1", ""},
		{"-?", "Usage:"},
		{"--hotproc -d -X -n -r " + archive + " 1 3", "request ignored"},
	} {
		if out := run1(t, Command, zone, strings.Fields(s.args)...); !strings.Contains(out, s.want) {
			t.Errorf("atop %s: %q is not in\n%s", s.args, s.want, out)
		}
	}
}

// FuzzSettings reads any atoprc.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{
		"flags af1\n", "ownallcpuline CPUIDLE:5 CPUSYS:6\n", "ownprocline PID:5 CMD:4\n", "linelen 99999999999\n", "interval 1 # a\n",
		"procname (\n", "colorinfo red\n", "atopsarflags -A\n", "averyveryverylongtagname 1\n", "flags\n", "\n \n#\n", "ownmemline MEMTOT:+\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, rc []byte) {
		var out bytes.Buffer
		s := &settings{Settings: screen.NewSettings(false)}
		if err := s.read(&cli.Env{Stderr: &out}, bytes.NewReader(rc), "atoprc", false, tags()); err == nil && s.Width < 0 {
			t.Errorf("a width of %d", s.Width)
		}
	})
}

// BenchmarkScreens prints the screens of an archive of six samples.
func BenchmarkScreens(b *testing.B) {
	archive := fixture(b)
	b.ReportAllocs()
	for b.Loop() {
		call(b, Command, archive, "1")
	}
}

package iestatus

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func TestMain(m *testing.M) { twin.Main(m, Command, DumpCommand) }

// makeFiles makes what the tests show: statistics, others of another version, and other files.
func makeFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := pmiestats.Stats{
		Config: "/etc/rules", Log: "/var/log/pmie.log", Host: "somehost", Expected: 2.125,
		Rules: 1, Actions: 2, True: 3, False: 4, Unknown: 5, Actual: 1<<32 - 1, Version: pmiestats.Version,
	}
	good := s.Append(nil)
	s.Version = 1 << 31
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("123", good)
	write("124", s.Append(nil))
	write("short", good[:100])
	write("long", append(good, 0))
	write("empty", nil)
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func call(t *testing.T, c *cli.Command, name string, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = c.Run(t.Context(), &cli.Env{Name: name, Args: args, Stdout: &o, Stderr: &e, Command: c, Getenv: func(string) string { return "" }})
	return status, o.String(), e.String()
}

func TestStatus(t *testing.T) {
	dir := makeFiles(t)
	t.Chdir(dir)
	f := func(c *cli.Command, name string, args []string, wantStatus int, wantOut, wantErr string) {
		t.Helper()
		if status, out, errs := call(t, c, name, args...); status != wantStatus || out != wantOut || errs != wantErr {
			t.Errorf("%s %q = %d\n%s%s, want %d\n%s%s", name, args, status, out, errs, wantStatus, wantOut, wantErr)
		}
	}
	const three = "/etc/rules\n/var/log/pmie.log\nsomehost\n"
	f(Command, "pmiestatus", nil, 0, "", "")
	f(Command, "pmiestatus", []string{"123", "nosuch", "124", "short", "dir", "./123"}, 0, three+three,
		"pmiestatus: cannot open nosuch - No such file or directory\npmiestatus: unsupported version -2147483648 in 124\n"+
			"pmiestatus: short is not a valid pmie stats file\npmiestatus: dir is not a valid pmie stats file\n")
	f(Command, "pcp iestatus", []string{"123"}, 0, three, "")
	f(Command, "pcp iestatus", []string{"empty"}, 1, "", "pcp iestatus: empty is not a valid pmie stats file\n")
	if status, _, errs := call(t, Command, "pcp iestatus"); status != 1 || errs == "" {
		t.Errorf("pcp iestatus without files = %d, %q", status, errs)
	}
	const all = "123:config=/etc/rules\n123:logfile=/var/log/pmie.log\n123:pmcd_host=somehost\n123:eval_expected=2.12\n123:numrules=1\n123:actions=2\n" +
		"123:eval_true=3\n123:eval_false=4\n123:eval_unknown=5\n123:eval_actual=-1\n123:version=1\n"
	f(DumpCommand, "pmie_dump_stats", []string{"short", "./123", "dir", "empty"}, 0, all,
		"short: read 100 != 8292 as expected\ndir: read -1 != 8292 as expected\nempty: read 0 != 8292 as expected\n")
	f(DumpCommand, "pmie_dump_stats", []string{"nosuch", "123"}, 1, "", "nosuch: No such file or directory\n")
	f(DumpCommand, "pmie_dump_stats", nil, 1, "", "Usage: pmie_dump_stats file ...\n")
	f(DumpCommand, "pcp ie-dump-stats", []string{"123"}, 0, all, "")
	if status, _, errs := call(t, DumpCommand, "pcp ie-dump-stats"); status != 1 || errs == "" {
		t.Errorf("pcp ie-dump-stats without files = %d, %q", status, errs)
	}
}

// TestAsC compares with the C tools.
func TestAsC(t *testing.T) {
	oracle.Require(t)
	dir := makeFiles(t)
	for _, args := range [][]string{
		nil, {"123"}, {"124"}, {"123", "124", "short", "long", "empty", "dir", "nosuch", "123"}, {"long", "dir/", "./123", "-?", "-V"},
	} {
		for _, tool := range []string{"pmiestatus", "pmie_dump_stats"} {
			if diff := twin.Compare(t, twin.Call{Tool: tool, Args: args, Dir: dir}); diff != "" {
				t.Error(diff)
			}
		}
	}
}

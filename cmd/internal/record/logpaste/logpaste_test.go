package logpaste

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// runIn runs the tool in a directory and returns its status and messages.
func runIn(t *testing.T, dir, stdin string, env map[string]string, args ...string) (int, string) {
	t.Helper()
	t.Chdir(dir)
	var errs bytes.Buffer
	get := func(name string) string {
		if v, ok := env[name]; ok {
			return v
		}
		return os.Getenv(name)
	}
	status := Command.Run(context.Background(), &cli.Env{
		Name: "pmlogpaste", Args: args, Stdin: strings.NewReader(stdin), Stdout: &errs, Stderr: &errs, Getenv: get, Command: Command,
	})
	return status, errs.String()
}

// first returns the value in an archive, and the archive.
func first(t *testing.T, base, metric string) (string, *archive.Archive) {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	id, ok := a.Meta().LookupName(metric)
	if !ok {
		t.Fatalf("%s: no metric %s", base, metric)
	}
	r := a.NewReader()
	defer r.Close()
	res, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Sets) != 1 || res.Sets[0].PMID != id || len(res.Sets[0].Values) != 1 {
		t.Fatalf("%s: %v", base, res.Sets)
	}
	return string(res.Sets[0].Values[0].Bytes()), a
}

func TestPaste(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("from a\nfile\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := func(want, stdin string, args ...string) *archive.Archive {
		t.Helper()
		base := filepath.Join(t.TempDir(), "out")
		status, errs := runIn(t, dir, stdin, nil, append([]string{"-o", base}, args...)...)
		if status != 0 || errs != "" {
			t.Fatalf("%q: status %d: %s", args, status, errs)
		}
		name := "paste.value"
		for i, arg := range args {
			if arg == "-m" {
				name = args[i+1]
			}
		}
		got, a := first(t, base, name)
		if got != want {
			t.Errorf("%q: value %q, want %q", args, got, want)
		}
		return a
	}
	f("hello big world", "", "hello", "big", "world")
	f("typed\n", "typed\n")
	f("up to", "up to\x00here", "-f", "-")
	f("", "")
	a := f("from a\nfile\n", "", "-f", "text", "-m", "my.text", "-h", "somehost", "-t", "EST5EDT", "-l", "room:cellar", "-l", "wet:true")
	if l := a.Label(); l.Host != "somehost" || l.TimeZone != "EST5EDT" || l.Version != archive.Version2 {
		t.Errorf("label %+v", l)
	}
	labels := a.Meta().LabelRecords()
	if len(labels) != 1 || labels[0].Level != pcp.LabelContext || labels[0].Sets[0].JSON != `{"room":"cellar","wet":true}` {
		t.Errorf("labels %+v", labels)
	}
}

func TestVersion3(t *testing.T) {
	base := filepath.Join(t.TempDir(), "out")
	if status, errs := runIn(t, t.TempDir(), "", map[string]string{"PCP_ARCHIVE_VERSION": "3"}, "-o", base, "x"); status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	if _, a := first(t, base, "paste.value"); a.Version() != archive.Version3 {
		t.Errorf("version %d", a.Version())
	}
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	f := func(want string, args ...string) {
		t.Helper()
		status, errs := runIn(t, dir, "", nil, args...)
		if status != 1 || !strings.HasPrefix(errs, want) {
			t.Errorf("%q: status %d: %s", args, status, errs)
		}
	}
	f("pmlogpaste: -f/--file cannot be used with command line input\nUsage: ", "-f", "x", "y")
	f("pmlogpaste: nosuch: No such file or directory\n", "-f", "nosuch")
	f("pmlogpaste: error adding metric descriptor: Illegal metric name\n", "-m", "bad..name", "x")
	f("pmlogpaste: error adding label foo:(null): Label value is empty\n", "-l", "foo", "x")
	f("pmlogpaste: invalid label token :: No error\n", "-l", ":", "x")
	f("__pmLogNewFile: failed to create \"nosuch/a.index\": No such file or directory\npmlogpaste: error writing archive: No such file or directory\n", "-o", "nosuch/a", "x")
	f("pmlogpaste: invalid option -- 'Q'\nUsage: ", "-Q")
	if status, errs := runIn(t, dir, "", nil, "-o", "twice", "x"); status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	f("__pmLogNewFile: \"twice.index\" already exists, not over-written\npmlogpaste: error writing archive: File exists\n", "-o", "twice", "x")
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 3 {
		t.Errorf("files %q, want those of one archive", left)
	}
}

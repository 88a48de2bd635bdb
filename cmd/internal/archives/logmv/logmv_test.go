package logmv

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// newArchive writes an archive of three volumes to dir/foo.
func newArchive(t *testing.T, dir string) {
	t.Helper()
	w, err := archive.Create(filepath.Join(dir, "foo"), archive.WriterConfig{Label: archive.Label{Version: 2, PID: 1, Host: "here", TimeZone: "UTC", Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	id := pcp.NewPMID(60, 2, 0)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "a.b"); err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		if i > 0 {
			if err := w.NewVolume(); err != nil {
				t.Fatal(err)
			}
		}
		res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000 + i}}
		res.AddSet(id)
		res.Add(pcp.Uint32Value(uint32(i)))
		if err := w.WriteResult(res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func runTool(t *testing.T, ours bool, dir string, args ...string) twin.Left {
	t.Helper()
	return twin.Call{Tool: "pmlogmv", Dir: dir, Args: args}.Leave(t, ours)
}

// TestOracle compares the output and the effects of both tools.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	for _, tt := range []struct {
		files string // created before, separated by blanks
		args  []string
	}{
		{"", []string{"foo", "bar"}},
		{"", []string{"-V", "foo", "bar"}},
		{"", []string{"-V", "foo.0", "bar"}},
		{"", []string{"-V", "foo.meta", "bar"}},
		{"", []string{"-N", "foo", "bar"}},
		{"", []string{"-NVV", "foo.index", "bar"}},
		{"", []string{"-Vc", "./foo", "./bar"}},
		{"bar.meta", []string{"-V", "foo", "bar"}},
		{"bar.index", []string{"-V", "foo", "bar"}},
		{"bar.1", []string{"foo", "bar"}},
		{"bar.0", []string{"-N", "foo", "bar"}},
		{"", []string{"foo", "a b"}},
		{"", []string{"-f", "-V", "foo", "a b"}},
		{"", []string{"foo", "a$b"}},
		{"", []string{"foo", "nosuch/bar"}},
		{"", []string{"nosuch", "bar"}},
		{"", []string{"foo"}},
		{"", []string{"foo", "bar", "baz"}},
		{"", []string{"-?"}},
		{"", []string{"-x", "foo", "bar"}},
	} {
		var dirs []string
		for range 2 {
			dir := t.TempDir()
			newArchive(t, dir)
			for _, f := range strings.Fields(tt.files) {
				if err := os.WriteFile(filepath.Join(dir, f), []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			dirs = append(dirs, dir)
		}
		if diff := cmp.Diff(runTool(t, false, dirs[0], tt.args...), runTool(t, true, dirs[1], tt.args...)); diff != "" {
			t.Errorf("%q with %q: -C +ours\n%s", tt.args, tt.files, diff)
		}
	}
}

// newMover returns a mover of dir/foo to dir/bar that writes to b.
func newMover(ctx context.Context, dir string, b *bytes.Buffer) (*mover, []string) {
	env := &cli.Env{Name: "pmlogmv", Stdout: b, Stderr: b, Getenv: func(string) string { return "" }, Command: Command}
	return &mover{ctx: ctx, env: env, link: os.Link, old: dir + "/foo", new: dir + "/bar"}, []string{"0", "1", "2", "index", "meta"}
}

// TestInterrupted stops the work before each file.
func TestInterrupted(t *testing.T) {
	for stop := range 6 {
		dir := t.TempDir()
		newArchive(t, dir)
		before := testdir.Contents(t, dir)
		ctx, cancel := context.WithCancelCause(context.Background())
		var b bytes.Buffer
		m, parts := newMover(ctx, dir, &b)
		n := 0
		m.link = func(src, dst string) error {
			if n++; n > stop {
				cancel(errors.New("terminated signal received"))
			}
			return os.Link(src, dst)
		}
		ok := m.all(parts)
		if stop == 5 {
			// Now it is too late to undo, and the work must be finished.
			cancel(errors.New("interrupt signal received"))
			if m.remove(parts); !ok {
				t.Errorf("not interrupted, but failed: %s", b.String())
			}
			want := make(map[string]string)
			for name, data := range before {
				want[strings.Replace(name, "foo", "bar", 1)] = data
			}
			if diff := cmp.Diff(want, testdir.Contents(t, dir)); diff != "" {
				t.Errorf("interrupted at the end: %s", diff)
			}
			continue
		}
		if ok {
			t.Fatalf("interrupted at file %d, but went on", stop)
		}
		m.undo()
		if diff := cmp.Diff(before, testdir.Contents(t, dir)); diff != "" || !strings.HasPrefix(b.String(), "Caught signal 15\n") {
			t.Errorf("interrupted at file %d: %s\n%s", stop, b.String(), diff)
		}
	}
}

// TestCopy makes copies where links cannot be made.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	newArchive(t, dir)
	before := testdir.Contents(t, dir)
	if err := os.Chmod(dir+"/foo.1", 0o440); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	m, parts := newMover(context.Background(), dir, &b)
	m.link = func(src, dst string) error {
		return &os.LinkError{Op: "link", Old: src, New: dst, Err: syscall.EXDEV}
	}
	m.checksum, m.verbose = true, 1
	if !m.all(parts) {
		t.Fatal(b.String())
	}
	m.remove(parts)
	want := make(map[string]string)
	for name, data := range before {
		want[strings.Replace(name, "foo", "bar", 1)] = data
	}
	if diff := cmp.Diff(want, testdir.Contents(t, dir)); diff != "" {
		t.Error(diff)
	}
	if st, err := os.Stat(dir + "/bar.1"); err != nil || st.Mode().Perm() != 0o440 {
		t.Errorf("mode of the copy: %v, %v", st, err)
	}
	for _, line := range []string{"checksum cmd: md5sum\n", "source checksum: ", "destination checksum: ", "copy " + dir + "/foo.0 -> " + dir + "/bar.0\n", "remove " + dir + "/foo.meta\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no %q in %s", line, b.String())
		}
	}
}

// TestCopyFails checks that a failed copy prints two lines with the error and the file,
// and leaves no files.
func TestCopyFails(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir+"/folder", 0o700))
	must(os.WriteFile(dir+"/file", []byte("x"), 0o600))
	f := func(src, dst, want string) {
		t.Helper()
		var b bytes.Buffer
		m, _ := newMover(context.Background(), dir, &b)
		m.mode, m.env.Command = duplicate, CopyCommand
		if m.copy(dir+"/"+src, dir+"/"+dst) {
			t.Errorf("%s can be copied to %s", src, dst)
		}
		if want := strings.ReplaceAll(want, "DIR", dir); b.String() != want {
			t.Errorf("%s to %s: %q, want %q", src, dst, b.String(), want)
		}
		if len(m.made) > 0 || len(testdir.Contents(t, dir)) != 1 {
			t.Errorf("%s to %s: left %q, of which made %q", src, dst, testdir.Contents(t, dir), m.made)
		}
	}
	f("none", "new", "pmlogcp: cannot open DIR/none: No such file or directory\npmlogcp: copy DIR/none -> DIR/new failed\n")
	f("file", "none/new", "pmlogcp: cannot open DIR/none/new: No such file or directory\npmlogcp: copy DIR/file -> DIR/none/new failed\n")
	f("folder", "new", "pmlogcp: read from DIR/folder failed: Is a directory\npmlogcp: copy DIR/folder -> DIR/new failed\n")
}

// TestOthers runs the other two tools, and moves into a directory.
func TestOthers(t *testing.T) {
	dir := t.TempDir()
	newArchive(t, dir)
	before := testdir.Contents(t, dir)
	run := func(c *cli.Command, args ...string) string {
		t.Helper()
		var b bytes.Buffer
		if status := c.Run(context.Background(), &cli.Env{
			Name: c.Link, Args: args, Stdout: &b, Stderr: &b, Getenv: func(string) string { return "" }, Command: c,
		}); status != 0 {
			t.Fatalf("%s %q exits with %d: %s", c.Link, args, status, b.String())
		}
		return b.String()
	}
	want := ""
	for _, name := range []string{"0", "1", "2", "index", "meta"} {
		want += dir + "/foo." + name + "\n"
	}
	if got := run(ListCommand, dir+"/foo"); got != want {
		t.Errorf("pmlogls: %q, want %q", got, want)
	}
	run(CopyCommand, dir+"/foo", dir+"/bar")
	if got := len(testdir.Contents(t, dir)); got != 10 {
		t.Errorf("pmlogcp: %d files, want 10", got)
	}
	if err := os.Mkdir(dir+"/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	run(Command, dir+"/bar", dir+"/sub")
	got := testdir.Contents(t, dir)
	for name, data := range before {
		if got[name] != data || got["sub/"+strings.Replace(name, "foo", "bar", 1)] != data {
			t.Errorf("%s is not there twice: %q", name, slices.Sorted(maps.Keys(got)))
		}
	}
}

package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// dirs returns the directories of a logger, with short names, as sockets require.
func dirs(t *testing.T) (tmp, run string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "port")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"tmp", "run"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "tmp"), filepath.Join(dir, "run")
}

// names lists a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// TestPorts creates and removes the files for finding a logger.
func TestPorts(t *testing.T) {
	tmp, run := dirs(t)
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	first := taken.Addr().(*net.TCPAddr).Port
	var warned []string
	e, err := Listen(Ports{Tmp: tmp, Run: run, First: first, Local: true, Primary: true, Warn: func(s string) { warned = append(warned, s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.Port <= first || len(warned) > 0 {
		t.Errorf("port %d, where %d is taken; warned of %q", e.Port, first, warned)
	}
	pid := strconv.Itoa(os.Getpid())
	if err := e.Publish("host\nwith a line", "/some/archive", "a note"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(tmp, "pmlogger", pid))
	if want := fmt.Sprintf("%d\nhost\n/some/archive\na note\n", e.Port); err != nil || string(text) != want {
		t.Errorf("map file %q, %v, want %q", text, err, want)
	}
	if got, want := names(t, filepath.Join(tmp, "pmlogger")), pid+" primary"; got != want {
		t.Errorf("files %q, want %q", got, want)
	}
	if got, want := names(t, run), "pmlogger."+pid+".socket pmlogger.primary.socket"; got != want {
		t.Errorf("sockets %q, want %q", got, want)
	}
	for _, path := range []string{"primary", pid} {
		if b, err := os.ReadFile(filepath.Join(tmp, "pmlogger", path)); err != nil || string(b) != string(text) {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	conn, err := net.Dial("unix", filepath.Join(run, "pmlogger.primary.socket"))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	e.Close()
	if got := names(t, filepath.Join(tmp, "pmlogger")) + names(t, run); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// TestPrimary checks that there is only one primary logger.
func TestPrimary(t *testing.T) {
	tmp, run := dirs(t)
	dir := filepath.Join(tmp, "pmlogger")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "primary")
	plant := func(pid int) {
		t.Helper()
		path := filepath.Join(dir, strconv.Itoa(pid))
		os.Remove(link)
		if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Symlink(path, link)); err != nil {
			t.Fatal(err)
		}
	}
	var traced []string
	p := Ports{Tmp: tmp, Run: run, Local: true, Primary: true, Trace: func(s string) { traced = append(traced, s) }}
	plant(os.Getppid())
	_, err := Listen(p)
	want := fmt.Sprintf("ERROR: there is already a primary pmlogger running, pid %d linkfile=%s", os.Getppid(), link)
	if err == nil || err.Error() != want {
		t.Errorf("beside another one: %v, want %s", err, want)
	}
	if e, ok := errors.AsType[*ErrPrimary](err); !ok || e.PID != os.Getppid() {
		t.Errorf("error %#v", err)
	}
	// A killed process left its files.
	plant(999999999)
	e, err := Listen(p)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if want := []string{
		fmt.Sprintf("info: found primary symlink -> pid %d", os.Getppid()),
		"info: found primary symlink -> pid 999999999",
		"info: removed '" + link + "' symlink to stale control file for pid 999999999",
	}; !slices.Equal(traced, want) {
		t.Errorf("traced %q, want %q", traced, want)
	}
	if err := e.Publish("host", "archive", ""); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), strconv.Itoa(os.Getpid())+" "+strconv.Itoa(os.Getppid())+" primary"; len(got) != len(want) {
		t.Errorf("files %q, want %q", got, want)
	}
	// Files that another logger took over stay.
	plant(os.Getppid())
	e.Close()
	if _, err := os.Stat(link); err != nil {
		t.Errorf("the other's link is gone: %v", err)
	}
}

// TestNoFolders checks that a logger works without files if they cannot be created.
func TestNoFolders(t *testing.T) {
	tmp, _ := dirs(t)
	var warned []string
	e, err := Listen(Ports{Tmp: filepath.Join(tmp, "no", "such"), Run: filepath.Join(tmp, "nor", "this"), Local: true, Warn: func(s string) { warned = append(warned, s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if len(warned) != 2 || e.Port == 0 || e.Socket != "" {
		t.Errorf("warned of %q, port %d, socket %q", warned, e.Port, e.Socket)
	}
	if err := e.Publish("host", "archive", ""); err == nil {
		t.Error("no error of a map file that cannot be")
	}
}

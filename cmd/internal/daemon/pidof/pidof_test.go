package pidof

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFind finds processes of the program among similar ones.
func TestFind(t *testing.T) {
	proc := t.TempDir()
	add := func(pid, cmdline, exe string) {
		t.Helper()
		dir := filepath.Join(proc, pid)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cmdline"), []byte(cmdline), 0o600); err != nil {
			t.Fatal(err)
		}
		if exe != "" {
			if err := os.Symlink(exe, filepath.Join(dir, "exe")); err != nil {
				t.Fatal(err)
			}
		}
	}
	self, other := filepath.Join(proc, "pcp"), filepath.Join(proc, "other")
	for _, path := range []string{self, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add("20", "/bin/pmlogger\x00-P\x00", "")
	add("3", "/adm/pmlogger\x00", "")
	add("4", "/elsewhere/pmlogger\x00", "")
	add("5", "pmlogger\x00-c\x00x", self)
	add("6", "/own/pcp\x00logger\x00", self)
	add("7", "/own/pcp\x00info\x00logger\x00", self)
	add("8", "/other/pcp\x00logger\x00", other)
	add("9", "vi\x00/bin/pmlogger\x00", "")
	add("10", "/bin/pmlogger_check\x00", "")
	add("11", "", "")
	add("12", "pmlogger\x00", other)
	if err := os.WriteFile(filepath.Join(proc, "13"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(finder Finder, all bool, want ...int) {
		t.Helper()
		finder.Proc = proc
		got, err := finder.Find("pmlogger", all)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v %v: got %v, %v, want %v", finder, all, got, err, want)
		}
		for pid := range 21 {
			if !all && finder.Is(pid, "pmlogger") != slices.Contains(want, pid) {
				t.Errorf("Is(%d) = %v", pid, !slices.Contains(want, pid))
			}
		}
	}
	dirs := []string{"/bin", "/adm"}
	f(Finder{Dirs: dirs}, false, 3, 20)
	f(Finder{Dirs: dirs}, true, 3, 4, 20)
	f(Finder{Dirs: dirs, Own: self, Command: "logger"}, false, 3, 5, 6, 20)
	f(Finder{}, false)
	if got, err := (Finder{Proc: filepath.Join(proc, "none")}).Find("pmlogger", true); err == nil {
		t.Errorf("without /proc: %v", got)
	}
}

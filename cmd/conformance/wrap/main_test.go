package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "pmval"), nil, 0o777)
	os.Symlink("pmval", filepath.Join(dir, "pmevent"))
	os.Symlink("elsewhere", filepath.Join(dir, "pmother"))
	exe := filepath.Join(dir, "pmval")
	far := t.TempDir()
	os.Symlink(exe, filepath.Join(far, "pmfar"))
	for arg0, want := range map[string]string{
		"pmval": "pmval", exe: "pmval", "pmevent": "pmevent", dir + "/pmevent": "pmevent",
		"pmother": "pmval", "-x": "pmval", "": "pmval", "pmfar": "pmfar", "/lib/pmfar": "pmfar",
	} {
		if got := command(exe, arg0, far); got != want {
			t.Errorf("command(%q) = %q, want %q", arg0, got, want)
		}
	}
}

func TestEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passwd")
	text := "root:x:0:0:root:/root:/bin/sh\nrootlet:x:7:8::/:\nbad:x:y:z\nadm:x:4:syslog,me\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	f := func(name string, third, fourth int, ok bool) {
		t.Helper()
		a, b, err := entry(path, name)
		if a != third || b != fourth || (err == nil) != ok {
			t.Errorf("entry(%s) = %d, %d, %v", name, a, b, err)
		}
	}
	f("root", 0, 0, true)
	f("rootlet", 7, 8, true)
	f("adm", 4, 0, true)
	f("bad", 0, 0, false)
	f("nobody", 0, 0, false)
	if uid, gid, err := identity("#12", ""); uid != 12 || gid != 12 || err != nil {
		t.Errorf("identity(#12) = %d, %d, %v", uid, gid, err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "tool"), nil, 0o755)
	os.WriteFile(filepath.Join(dir, "text"), nil, 0o644)
	t.Setenv("PATH", "/nowhere:"+dir)
	if path, err := find("tool"); err != nil || path != filepath.Join(dir, "tool") {
		t.Errorf("find(tool) = %s, %v", path, err)
	}
	if path, err := find("text"); err == nil {
		t.Errorf("find(text) = %s", path)
	}
	if path, err := find("./x"); err != nil || path != "./x" {
		t.Errorf("find(./x) = %s, %v", path, err)
	}
}

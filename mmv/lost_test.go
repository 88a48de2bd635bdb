package mmv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrLost removes, replaces and cuts the file of a running program.
func TestErrLost(t *testing.T) {
	for _, fixed := range []bool{true, false} {
		f := func(what string, harm func(path string) error, want string) {
			t.Helper()
			dir := filepath.Join(t.TempDir(), "mmv")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			reg, err := New("app", Options{Dir: dir, Fixed: fixed, MaxValues: 16})
			if err != nil {
				t.Fatal(err)
			}
			defer reg.Close()
			count := reg.Counter(Metric{Name: "count"})
			if err := errors.Join(reg.Start(), reg.Err()); err != nil {
				t.Fatal(err)
			}
			if err := harm(reg.Path()); err != nil {
				t.Fatal(err)
			}
			if what != "cut" { // then the program must not touch it
				count.Inc()
			}
			if err := reg.Err(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "app") {
				t.Errorf("%s, fixed %v: Err() = %v, want %q", what, fixed, err, want)
			}
			reg.Close()
			if err := reg.Err(); err != nil {
				t.Errorf("%s: after Close: %v", what, err)
			}
		}
		f("removed", os.Remove, "has been removed")
		f("folder gone", func(path string) error { return os.RemoveAll(filepath.Dir(path)) }, "has been removed")
		f("replaced", func(path string) error {
			other, err := New("app", Options{Dir: filepath.Dir(path), MaxValues: 16})
			if err == nil {
				t.Cleanup(func() { other.Close() })
			}
			return err
		}, "another registry")
		f("cut", func(path string) error {
			st, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, st.Size()-1)
		}, "has been cut")
	}
	reg, err := New("app", Options{Dir: t.TempDir(), MaxValues: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	os.Remove(reg.Path())
	if err := reg.Err(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Err() = %v, want fs.ErrNotExist", err)
	}
}

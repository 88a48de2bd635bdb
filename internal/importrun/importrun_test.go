package importrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := Status{PID: 4711, Version: "7.2.0", Args: "a b=c", Archive: "/x/y"}
	if err := Write(dir, "sadc", s); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "sadc")); err != nil || string(b) != "pid=4711\nversion=7.2.0\nargs=a b=c\narchive=/x/y\n" {
		t.Errorf("the file is %q, %v", b, err)
	}
	want := []Tool{{"sadc", s}}
	if got, err := List(dir, func(pid int) bool { return pid == 4711 }); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("List = %v, %v, want %v", got, err, want)
	}
	if err := Remove(dir, "sadc", 4712); err != nil {
		t.Error(err)
	}
	if got, err := List(dir, func(int) bool { return true }); err != nil || len(got) != 1 {
		t.Errorf("List after another process ended = %v, %v", got, err)
	}
	if err := errors.Join(Remove(dir, "sadc", 4711), Remove(dir, "sadc", 4711)); err != nil {
		t.Error(err)
	}
	if got, err := List(dir, func(int) bool { return true }); err != nil || len(got) != 0 {
		t.Errorf("List at the end = %v, %v", got, err)
	}
	for _, name := range []string{"", ".x", "a/b", "..", "a\nb", strings.Repeat("x", 256)} {
		if err := Write(dir, name, s); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("program %q: %v", name, err)
		}
	}
	for _, s := range []Status{{PID: -1}, {Args: "a\nb"}, {Version: "\r"}, {Archive: "\x00"}, {Args: strings.Repeat("x", MaxFile)}} {
		if err := Write(dir, "x", s); err == nil {
			t.Errorf("%.40v is accepted", s)
		}
	}
	if err := Write(filepath.Join(dir, "a/b"), "x", s); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory whose parent does not exist: %v", err)
	}
}

func TestParse(t *testing.T) {
	f := func(text string, want Status, problem string) {
		t.Helper()
		got, err := Parse(text)
		if got != want || fmt.Sprint(err) != problem {
			t.Errorf("Parse(%.60q) = %v, %v, want %v, %s", text, got, err, want, problem)
		}
	}
	const none = "<nil>"
	f("", Status{}, none)
	f("version=12.8.0\r\nargs=CPU,DISK\narchive=/var/log/sa/sa01", Status{Version: "12.8.0", Args: "CPU,DISK", Archive: "/var/log/sa/sa01"}, none)
	f("pid=1\npid=2\nother=3\n=\npid\n", Status{}, `line 5: "" is not a process`)
	f("pid=1\npid=2\nother=3\n=\n", Status{PID: 2}, none)
	f("pid=99999999999\n", Status{}, `line 1: "99999999999" is not a process`)
	f("\npid=-7\n", Status{}, `line 2: "-7" is not a process`)
	f("args=a\x00b", Status{}, "line 1: a value with a NUL")
	f("args="+strings.Repeat("x", MaxFile), Status{}, "more than 8192 bytes")
}

// TestHostile lists a directory with files of others that are not statuses.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(at("good"), []byte("version=1\n"), 0o644))
	must(os.WriteFile(at("dead"), []byte("pid=500\n"), 0o644))
	must(os.WriteFile(at(".hidden"), []byte("version=1\n"), 0o644))
	must(os.WriteFile(at("long"), []byte(strings.Repeat("x", 1<<20)), 0o644))
	must(os.WriteFile(at("a\nb"), []byte("version=1\n"), 0o644))
	must(os.Mkdir(at("dir"), 0o755))
	must(syscall.Mkfifo(at("pipe"), 0o644))
	must(os.Symlink(at("good"), at("link")))
	got, err := List(dir, func(int) bool { return false })
	if want := []Tool{{"good", Status{Version: "1"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("List = %v, want %v", got, want)
	}
	for _, name := range []string{"long", `a\nb`, "dir", "pipe", "link"} {
		if !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	for i := range MaxTools + 1 {
		must(Write(dir, fmt.Sprint("tool", i), Status{PID: i + 1}))
	}
	got, err = List(dir, func(pid int) bool { return pid > 1 && pid < 100 })
	if len(got) != MaxTools || got[1].Name != "tool1" || !strings.Contains(fmt.Sprint(err), "more than 8 programs") {
		t.Errorf("with too many: %v, %v", got, err)
	}
	if got, err := List(at("none"), nil); got != nil || err != nil {
		t.Errorf("without a directory: %v, %v", got, err)
	}
	if _, err := List(at("good"), nil); err == nil {
		t.Error("a file in place of the directory is no error")
	}
}

// FuzzParse reads files of any bytes: a status that is accepted is written and read again.
func FuzzParse(f *testing.F) {
	f.Add("pid=4711\nversion=7.2.0\nargs=a b\narchive=/x/y\n")
	f.Add("pid=2147483648\n")
	f.Add("args==\r\r\nversion=\x00")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		b, err := s.Append(nil)
		if err != nil {
			if strings.Contains(s.Version+s.Args+s.Archive, "\r") {
				return // within a line
			}
			t.Fatalf("%q is read and not written: %v", text, err)
		}
		if again, err := Parse(string(b)); err != nil || again != s {
			t.Errorf("%v becomes %v, %v", s, again, err)
		}
	})
}

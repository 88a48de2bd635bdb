package mapfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestList lists a directory with files of loggers, and others.
func TestList(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"300": "4330\nhost.example\n/var/log/a/20260101.00.10\npmlogger_check\n", "20": "4331\nfar\n/x/y", "7": "", "8": "\x00\xff\n\n\n\n\n\n",
		"9": "1\nh\nrelative/path\n", "10": strings.Repeat("x", maxFile+1), "notes": "x", "-4": "1\nh\n/a\n", "0": "1\nh\n/a\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "11"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("300", filepath.Join(dir, "primary")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "12")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range List(dir) {
		got = append(got, fmt.Sprintf("%d:%d:%s:%s:%s", l.PID, l.Port, l.Host, l.Dir(), l.Note))
	}
	want := "7:0:::|8:0:::|20:4331:far:/x:|300:4330:host.example:/var/log/a:pmlogger_check"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if List(filepath.Join(dir, "none")) != nil {
		t.Error("no directory has loggers")
	}

	run := t.TempDir()
	if pid, err := Primary(run, dir); pid != 300 || err != nil {
		t.Errorf("primary by the link: %d, %v", pid, err)
	}
	pid := filepath.Join(run, "pmlogger.pid")
	for _, c := range []struct {
		text string
		want int
	}{{"42\n", 42}, {"x", 300}, {"-1", 300}, {"", 300}} {
		if err := os.WriteFile(pid, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Primary(run, dir); got != c.want || err != nil {
			t.Errorf("%q: %d, %v", c.text, got, err)
		}
	}
	if _, err := Primary(run, t.TempDir()); !errors.Is(err, ErrNoPrimary) {
		t.Errorf("without a link: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("4330\nhost\n/var/log/a/x\nnote\n"))
	f.Add([]byte("\n\n\n"))
	path := filepath.Join(f.TempDir(), "12")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Read(path)
		if err == nil && (l.PID != 12 || l.Archive != "" && !filepath.IsAbs(l.Archive)) {
			t.Errorf("%q: %+v", b, l)
		}
	})
}

package browser

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func testEnv(vars map[string]string) *cli.Env {
	return &cli.Env{Name: "pcp chart", Getenv: func(name string) string { return vars[name] }}
}

// programs makes a directory of programs that do nothing.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	dir := programs(t, "browse")
	for _, c := range []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{"PATH": dir}, "[]"},
		{map[string]string{"PATH": dir, "BROWSER": "missing"}, "[]"},
		{map[string]string{"PATH": dir, "BROWSER": "browse %s"}, "[]"},
		{map[string]string{"PATH": dir, "BROWSER": "browse"}, fmt.Sprintf("[%s/browse]", dir)},
	} {
		if got := fmt.Sprint(find(testEnv(c.vars))); got != c.want {
			t.Errorf("%v: %s, want %s", c.vars, got, c.want)
		}
	}
}

// TestWindow opens a window by programs that write down their arguments.
func TestWindow(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: the browsers of Linux")
	}
	f := func(display, want string, names ...string) {
		t.Helper()
		dir := t.TempDir()
		seen := filepath.Join(dir, "seen")
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho \"${0##*/} $*\" >"+seen+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		vars := map[string]string{"PATH": dir, "DISPLAY": display, "XDG_STATE_HOME": dir}
		w, err := NewWindow(testEnv(vars), "http://127.0.0.1:43000/#TOKEN", 640, 300)
		if want == "" {
			if !errors.Is(err, ErrNone) {
				t.Errorf("%v: %v", names, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case err = <-w.Done():
		case <-time.After(time.Minute):
			t.Fatal("the program does not end")
		}
		if err != nil {
			t.Fatal(err)
		}
		door := dir + "/pcp/open-43000.html"
		b, _ := os.ReadFile(seen)
		if got := strings.TrimSpace(string(b)); got != strings.ReplaceAll(want, "DOOR", door) {
			t.Errorf("%v: %s, want %s", names, got, want)
		}
		b, err = os.ReadFile(door)
		if info, e := os.Stat(door); err != nil || e != nil || info.Mode() != 0o600 || !strings.Contains(string(b), `content="0;url=http://127.0.0.1:43000/#TOKEN"`) {
			t.Errorf("the file has %s, %v, %v", b, info, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(door); err == nil {
			t.Error("the file with the token stays")
		}
	}
	f(":0", "chromium --app=file://DOOR --window-size=640,300", "chromium", "firefox", "xdg-open")
	f(":0", "google-chrome --app=file://DOOR --window-size=640,300", "google-chrome", "firefox")
	f(":0", "firefox --new-window DOOR", "firefox", "xdg-open")
	f(":0", "xdg-open DOOR", "xdg-open")
	f(":0", "", "browse")
	f("", "", "chromium")
}

// FuzzMessage reads what a browser may send.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("{}\x00{\"id\":1}\x00rest"))
	f.Add(bytes.Repeat([]byte("x"), 10000))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := &driven{in: bufio.NewReaderSize(bytes.NewReader(text), 16)}
		var got []byte
		for {
			m, err := b.message()
			if err != nil {
				break
			}
			got = append(append(got, m...), 0)
		}
		if end := bytes.LastIndexByte(text, 0) + 1; !bytes.Equal(got, text[:end]) {
			t.Fatalf("%q: got %q", text, got)
		}
	})
}

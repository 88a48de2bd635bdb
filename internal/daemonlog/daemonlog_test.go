package daemonlog

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestHandler(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(NewHandler(&b, "pmcd", slog.LevelInfo))
	log.Debug("not seen")
	log.With("agent", "linux").WithGroup("x").Warn("agent dropped", "n", 3, "err", errors.New("two\nlines"))
	want := regexp.MustCompile(`^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d\] pmcd\(\d+\) Warning: agent dropped agent=linux x\.n=3 x\.err="two\\nlines"\n$`)
	if !want.MatchString(b.String()) {
		t.Errorf("log is %q, want %v", b.String(), want)
	}
}

// TestHandlerQuotes has what a peer could write to make a mess of the log.
func TestHandlerQuotes(t *testing.T) {
	for _, text := range []string{"", "two words", "two\nlines", "\r", "\x00", "\x1b[2J", "\x9b2J", "\u009b2J", "\u2028", "\u202e", "\xff", "\"", "\x7f", "\t"} {
		var b bytes.Buffer
		slog.New(NewHandler(&b, "pmcd", slog.LevelInfo)).Info("x", "user", text)
		if want := "Info: x user=" + strconv.Quote(text) + "\n"; !strings.HasSuffix(b.String(), want) {
			t.Errorf("log is %q, want %q at its end", b.String(), want)
		}
	}
}

func TestOpenKeepsThePreviousLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pmcd.log")
	for range 2 {
		f, err := Open(path, "pmcd")
		if err != nil {
			t.Fatal(err)
		}
		if err := Footer(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for _, p := range []string{path, path + ".prev"} {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(b), "Log for pmcd on ") || !strings.Contains(string(b), "\nLog finished ") {
			t.Errorf("%s holds %q", p, b)
		}
	}
}

// TestOpenOfADevice goes through a link, so that the device itself is safe.
func TestOpenOfADevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "null.log")
	if err := os.Symlink(os.DevNull, path); err != nil {
		t.Skip(err)
	}
	f, err := Open(path, "pmcd")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Mode()&os.ModeDevice == 0 {
		t.Errorf("the log is %v, %v", st.Mode(), err)
	}
	if target, err := os.Readlink(path); err != nil || target != os.DevNull {
		t.Errorf("%s is now a link to %q, %v", path, target, err)
	}
}

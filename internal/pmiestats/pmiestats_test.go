package pmiestats

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(dir, 123)
	if err != nil {
		t.Fatal(err)
	}
	read := func() (s Stats) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, "123"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Decode(b); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := read(); s != (Stats{}) {
		t.Errorf("a new file has %+v", s)
	}
	long := strings.Repeat("x", 5000)
	for _, s := range []Stats{
		{Config: "<stdin>", Log: "/x/log", Host: "h", Expected: 0.25, Rules: 1, Actions: 2, True: 3, False: 4, Unknown: 5, Actual: 6, Version: Version},
		{Config: "<stdin>", Log: "/x/log", Host: "other", Expected: 0.25, Rules: 1, Actions: 1 << 31, Version: Version},
		{Config: long, Log: long, Host: long},
	} {
		if err := f.Write(s); err != nil {
			t.Fatal(err)
		}
		if len(s.Config) > 4096 {
			s.Config, s.Log, s.Host = long[:4096], long[:4096], long[:64]
		}
		if got := read(); got != s {
			t.Errorf("got %+v, want %+v", got, s)
		}
	}
	if err := f.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "123")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if err := errors.Join(f.Remove(), f.Write(Stats{})); err != nil {
		t.Error(err)
	}

	none, err := Create(filepath.Join(dir, "none"), 1)
	if err == nil {
		t.Error("made a file in no directory")
	}
	if err := errors.Join(none.Write(Stats{Rules: 1}), none.Remove()); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add((&Stats{Config: "a", Log: "b", Host: "c", Expected: 1, Version: 1}).Append(nil))
	f.Add(bytes.Repeat([]byte{0xff}, Size))
	f.Add([]byte("1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Stats
		if err := s.Decode(b); (err == nil) != (len(b) == Size) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if len(b) == Size {
			var again Stats
			if err := again.Decode(s.Append(nil)); err != nil {
				t.Fatal(err)
			}
			if s.Expected == s.Expected && !(len(s.Config) == 4097 || len(s.Log) == 4097 || len(s.Host) == 65) && again != s {
				t.Fatalf("%+v became %+v", s, again)
			}
		}
	})
}

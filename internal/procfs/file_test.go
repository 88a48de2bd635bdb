package procfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, f := range []*File{NewFile(path), NewWholeFile(path)} {
		if _, err := f.Read(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no file: %v", err)
		}
		for _, text := range []string{"one", "", strings.Repeat("x", 4096), strings.Repeat("y", 100000), "short"} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if b, err := f.Read(); err != nil || string(b) != text {
				t.Errorf("%d bytes read, %v, want %d", len(b), err, len(text))
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if b, err := f.Read(); err != nil || string(b) != "short" {
			t.Errorf("after Close: %q, %v", b, err)
		}
		f.Close()
		small := NewFile(path)
		if _, err := small.Read(); err != nil || len(small.buf) > 2*leastRoom {
			t.Errorf("%v, and a buffer of %d bytes for a small file", err, len(small.buf))
		}
		small.Close()
		os.Remove(path)
	}
	// A directory can be opened, but not read.
	f := NewFile(filepath.Dir(path))
	if _, err := f.Read(); err == nil {
		t.Error("a directory was read")
	}
	if f.open {
		t.Error("a file that cannot be read stays open")
	}
}

func TestTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, MaxSize+1); err != nil {
		t.Fatal(err)
	}
	f := NewFile(path)
	defer f.Close()
	if _, err := f.Read(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, want %v", err, ErrTooLarge)
	}
}

func TestReadAllocs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	missing := NewFile(path + "x")
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := NewFile(path)
	defer f.Close()
	if n := testing.AllocsPerRun(100, func() { f.Read() }); n > 0 {
		t.Errorf("%v allocations to read", n)
	}
	if n := testing.AllocsPerRun(100, func() { missing.Read() }); n > 1 {
		t.Errorf("%v allocations to find no file", n)
	}
}

func TestPool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	pool := &Pool{Max: 2}
	var files []*File
	for range 4 {
		files = append(files, NewFile(path).In(pool))
	}
	for range 2 {
		open := 0
		for i, f := range files {
			if b, err := f.Read(); err != nil || string(b) != "text" {
				t.Errorf("file %d: %q, %v", i, b, err)
			}
			if f.open {
				open++
			}
		}
		if open != 2 || pool.open != 2 {
			t.Errorf("%d files are open, the pool counts %d, want 2", open, pool.open)
		}
	}
	files[0].Close()
	files[0].Close()
	if files[3].Read(); !files[3].open || pool.open != 2 {
		t.Errorf("the room of a closed file is not used: %d", pool.open)
	}
}

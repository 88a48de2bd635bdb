// Package testdir has tests write, read and list the files of a folder.
package testdir

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Dir is a folder of a test.
type Dir struct {
	T    testing.TB
	Path string
}

// Write makes a file with this text, and its folders.
func (d Dir) Write(name, text string) {
	d.T.Helper()
	path := filepath.Join(d.Path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.T.Fatal(err)
	}
}

// Read returns the text of a file. If there is none, the test fails and
// continues.
func (d Dir) Read(name string) string {
	d.T.Helper()
	text, err := os.ReadFile(filepath.Join(d.Path, name))
	if err != nil {
		d.T.Error(err)
	}
	return string(text)
}

// Contents returns the texts of all files in a folder and below it, by their names
// from there.
func Contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		files[strings.TrimPrefix(p, dir+"/")] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Repo returns the path of a file of the repository that the test is part of, regardless of the
// folder it runs in.
func Repo(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(name))
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	t.Fatalf("%s: there is no go.work above: %v", name, err)
	return ""
}

package damage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		d    Damage
		want string
	}{
		{Damage{Kind: Flip, At: 1, Bytes: "\x01"}, "acc"}, // b ^ 1 = c
		{Damage{Kind: Write, At: 2, Bytes: "xyz"}, "abx"},
		{Damage{Kind: Zero, At: 1, N: 9}, "a\x00\x00"},
		{Damage{Kind: Delete, At: 0, N: 2}, "c"},
		{Damage{Kind: Insert, At: 3, Bytes: "d"}, "abcd"},
		{Damage{Kind: Cut, At: 1}, "a"},
		{Damage{Kind: Cut, At: 9}, "abc"},
	} {
		b := []byte("abc")
		if got := string(tt.d.Of(b)); got != tt.want || string(b) != "abc" {
			t.Errorf("%v of abc is %q, want %q; the input is now %q", tt.d, got, tt.want, b)
		}
	}
}

// archive makes the files of something like an archive.
func archive(t *testing.T) *Archive {
	t.Helper()
	dir := t.TempDir()
	for name, size := range map[string]int{
		"a.0": 5000, "a.1.xz": 700, "a.index": 300, "a.meta.zst": 900, "a.log": 10, "ab.0": 10, "a.0.b.c": 10,
	} {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Copy(t.TempDir(), filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestCopy(t *testing.T) {
	a := archive(t)
	if diff := cmp.Diff([]string{".0", ".1.xz", ".index", ".meta.zst"}, a.Files); diff != "" {
		t.Errorf("files of the archive: (-want +got)\n%s", diff)
	}
	if n := a.Size(".index"); n != 300 {
		t.Errorf("the size of .index is %d, want 300", n)
	}
	if _, err := Copy(t.TempDir(), a.Base+"x"); err == nil {
		t.Error("Copy of no archive succeeds")
	}
	if err := a.Apply(Damage{File: ".9"}); err == nil {
		t.Error("a file that is not there is damaged")
	}
}

// TestDraw checks the properties that tests rely on: the same damages for the
// same seed, every kind and every file among them, nearly all of which change
// something, and files that are whole after Restore.
func TestDraw(t *testing.T) {
	a := archive(t)
	list := a.Draw(7, 300)
	if diff := cmp.Diff(list, a.Draw(7, 300)); diff != "" {
		t.Errorf("the same seed draws something else:\n%s", diff)
	}
	if cmp.Equal(list, a.Draw(8, 300)) {
		t.Error("another seed draws the same")
	}
	kinds, files, changed := make(map[Kind]int), make(map[string]int), 0
	for _, d := range list {
		kinds[d.Kind]++
		files[d.File]++
		if d.At >= a.Size(d.File) {
			t.Errorf("%v is beyond the file's %d bytes", d, a.Size(d.File))
		}
		if err := a.Apply(d); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(a.Base + d.File)
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != string(a.whole[d.File]) {
			changed++
		}
		if err := a.Restore(); err != nil {
			t.Fatal(err)
		}
		if b, err = os.ReadFile(a.Base + d.File); err != nil || string(b) != string(a.whole[d.File]) {
			t.Fatalf("%v: %s is not restored: %v", d, d.File, err)
		}
	}
	if len(kinds) != int(Cut)+1 || len(files) != len(a.Files) {
		t.Errorf("300 damages are of kinds %v in files %v, want all", kinds, files)
	}
	if changed < 280 {
		t.Errorf("%d of 300 damages change something", changed)
	}
	for _, d := range a.DrawFrom(7, 20, ".index") {
		if d.File != ".index" {
			t.Errorf("DrawFrom .index draws %v", d)
		}
	}
}

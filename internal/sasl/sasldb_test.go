package sasl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleDatabase(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/sasldb2")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDatabase(t *testing.T) {
	db, err := ReadDatabase(bytes.NewReader(sampleDatabase(t)))
	want := Database{
		{"tux", "example"}: "secret", {"eve", "example"}: "two", {"root", "example"}: "three", {"tux", "elsewhere"}: "other",
	}
	if diff := cmp.Diff(want, db); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestDatabaseOfMany has saslpasswd2 fill several pages, change and remove.
func TestDatabaseOfMany(t *testing.T) {
	tool, err := exec.LookPath("saslpasswd2")
	if err != nil {
		t.Skip("SKIPPED: saslpasswd2 is not installed (Debian: sasl2-bin)")
	}
	path := filepath.Join(t.TempDir(), "db")
	passwd := func(password string, args ...string) {
		t.Helper()
		cmd := exec.Command(tool, append([]string{"-p", "-u", "realm", "-f", path}, args...)...)
		cmd.Stdin = strings.NewReader(password)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	want := Database{}
	for i := range 120 {
		name, password := fmt.Sprintf("user%d", i), strings.Repeat(fmt.Sprint(i), 1+i%40)
		passwd(password, "-c", name)
		want[DatabaseKey{name, "realm"}] = password
	}
	passwd("changed", "user7")
	want[DatabaseKey{"user7", "realm"}] = "changed"
	passwd("", "-d", "user8")
	delete(want, DatabaseKey{"user8", "realm"})
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := ReadDatabase(file)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestBadDatabase(t *testing.T) {
	good := sampleDatabase(t)
	page := 0
	for p := 4096; p < len(good); p += 4096 {
		if good[p+25] == pageHash && binary.LittleEndian.Uint16(good[p+20:]) > 0 {
			page = p
		}
	}
	if page == 0 {
		t.Fatal("no page with pairs")
	}
	for what, change := range map[string]func(b []byte) []byte{
		"empty":      func(b []byte) []byte { return nil },
		"short":      func(b []byte) []byte { return b[:400] },
		"magic":      func(b []byte) []byte { b[12]++; return b },
		"version":    func(b []byte) []byte { b[16] = 3; return b },
		"page size":  func(b []byte) []byte { b[21] = 0x11; return b },
		"encrypted":  func(b []byte) []byte { b[24] = 1; return b },
		"btree":      func(b []byte) []byte { b[25] = 9; return b },
		"checksums":  func(b []byte) []byte { b[26] = 1; return b },
		"odd items":  func(b []byte) []byte { b[page+20] = 3; return b },
		"many items": func(b []byte) []byte { b[page+21] = 0xff; return b },
		"item low":   func(b []byte) []byte { b[page+26], b[page+27] = 1, 0; return b },
		"item high":  func(b []byte) []byte { b[page+29] = 0xff; return b },
		"off page":   func(b []byte) []byte { return offPage(b, page) },
	} {
		if db, err := ReadDatabase(bytes.NewReader(change(bytes.Clone(good)))); err == nil {
			t.Errorf("%s: read as %v", what, db)
		}
	}
}

// offPage marks the first password as stored in another page.
func offPage(b []byte, page int) []byte {
	b[page+int(binary.LittleEndian.Uint16(b[page+28:]))] = 3
	return b
}

package folio

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const sample = `PCPFolio
Version: 1
# use pmafm(1) to process this PCP archive folio
#
Created: on bozo at Tue Mar  5 10:00:00 2024
Creator: pmchart overview.view

Archive:	bozo	20240305
Archive:        gonzo.example.com       /var/log/x   trailing words
`

func TestParse(t *testing.T) {
	got, err := Parse(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := Folio{
		Version: 1,
		Created: "on bozo at Tue Mar  5 10:00:00 2024",
		Creator: "pmchart overview.view",
		Archives: []Archive{
			{"bozo", "20240305"},
			{"gonzo.example.com", "/var/log/x"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, want %+v", got, want)
	}
	if p := got.Archives[0].Path("f"); p != "./20240305" {
		t.Errorf("Path = %q", p)
	}
	if p := got.Archives[0].Path("/a/b/f"); p != "/a/b/20240305" {
		t.Errorf("Path = %q", p)
	}
	if p := got.Archives[1].Path("/a/b/f"); p != "/var/log/x" {
		t.Errorf("Path = %q", p)
	}
}

func TestParseErrors(t *testing.T) {
	f := func(in string, want error) {
		t.Helper()
		_, err := Parse(strings.NewReader(in))
		if !errors.Is(err, want) {
			t.Errorf("Parse(%q) = %v, want %v", in, err, want)
		}
	}
	f("", ErrNoHeader)
	f("PCP\n", ErrMagic)
	f("PCPFolio\n", ErrNoVersion)
	f("PCPFolio\nVersion: 2\n", ErrVersion)

	line := func(in string, want LineError) {
		t.Helper()
		_, err := Parse(strings.NewReader(in))
		var got *LineError
		if !errors.As(err, &got) || *got != want {
			t.Errorf("Parse(%q) = %v, want %v", in, err, &want)
		}
	}
	line("PCPFolio\nVersion: 1\n\nArchive:\n", LineError{4, "host"})
	line("PCPFolio\nVersion: 1\nArchive: bozo \n", LineError{3, "path"})

	if _, err := Parse(strings.NewReader("PCPFolio\nVersion: 1\n" + strings.Repeat("x", MaxLine+1))); err == nil {
		t.Error("a line without end is accepted")
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := Open(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open of nothing = %v", err)
	}
	if err := os.WriteFile(path, []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(path); err != nil || len(f.Archives) != 2 {
		t.Errorf("Open = %+v, %v", f, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("PCPFolio\nVersion: 1\nArchive:\n")
	f.Fuzz(func(t *testing.T, in string) {
		a, err := Parse(strings.NewReader(in))
		if err != nil {
			return
		}
		var b strings.Builder
		if _, err := a.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if c, err := Parse(strings.NewReader(b.String())); err != nil || !reflect.DeepEqual(a, c) {
			t.Errorf("%+v written and read is %+v, %v", a, c, err)
		}
	})
}

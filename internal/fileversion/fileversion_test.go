package fileversion_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/fileversion"
)

func TestUnmarshal(t *testing.T) {
	type file struct {
		Version int    `json:"version"`
		Name    string `json:"name"`
	}
	for text, want := range map[string]string{
		`{"name":"a"}`:              "",
		`{"version":1,"name":"a"}`:  "",
		`{"version":2,"name":"a"}`:  "",
		`{"version":3,"name":"a"}`:  "the file has version 3, and this release reads versions up to 2",
		`{"version":3,"name":[7]}`:  "the file has version 3",
		`{"version":0,"name":"a"}`:  "version 0 is not",
		`{"version":1,"name":[7]}`:  "cannot unmarshal",
		`{"version":"3","name":""}`: "cannot unmarshal",
		`{"version":3`:              "unexpected end",
	} {
		var f file
		err := fileversion.Unmarshal([]byte(text), 2, &f)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if newer := strings.HasPrefix(want, "the file"); fileversion.IsNewer(fmt.Errorf("path: %w", err)) != newer {
			t.Errorf("%s: IsNewer is not %v", text, newer)
		}
	}
}

func TestCheckText(t *testing.T) {
	f := func(text string, ok, newer bool) {
		t.Helper()
		is, err := fileversion.CheckText(text, "pcp names", 1)
		if is != ok || fileversion.IsNewer(err) != newer {
			t.Errorf("%q: %v, %v", text, is, err)
		}
	}
	f("pcp names 1", true, false)
	f("pcp names 2", true, true)
	f("pcp names", false, false)
	f("pcp names x", false, false)
	f("pcp names -1", false, false)
	f("2", false, false)
	if ok, err := fileversion.CheckText("pcp names 0", "pcp names", 1); !ok || err == nil {
		t.Errorf("version 0: %v, %v", ok, err)
	}
}

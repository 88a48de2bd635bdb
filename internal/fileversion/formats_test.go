package fileversion_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestPage compares the versions with those in docs/upgrading.md.
func TestPage(t *testing.T) {
	find := func(path, pattern string) (list []string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(b, -1) {
			list = append(list, fmt.Sprintf("%s %s", m[1], m[2]))
		}
		return list
	}
	code := find("formats.go", `(?m)^\t(\w+) += (\d+) //`)
	page := find("../../docs/upgrading.md", `(?m)^\| (\w+) \| [^|]+ \| (\d+) \|`)
	if len(code) == 0 || !slices.Equal(code, page) {
		t.Errorf("docs/upgrading.md has\n%q\nand formats.go\n%q", page, code)
	}
}

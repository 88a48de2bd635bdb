package pmapi

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// TestSourcesStayApart checks that a Context does not depend on the type of its
// source: behavior that differs is a method of source.
func TestSourcesStayApart(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	assertion := regexp.MustCompile(`\.(src|source)\.\(`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(b), "\n") {
			if assertion.MatchString(line) {
				t.Errorf("%s:%d asserts the kind of a source: %s", file, i+1, strings.TrimSpace(line))
			}
		}
	}
}

func TestFillRest(t *testing.T) {
	f := func(in, below string) {
		t.Helper()
		asked := ""
		out := make([]byte, len(in))
		for i := range out {
			if out[i] = in[i]; in[i] >= 'a' {
				out[i] = 0
			}
		}
		err := fillRest([]byte(in), out, 0, func(in, out []byte) error {
			asked += string(in)
			copy(out, in)
			return pcp.ErrName
		})
		if asked != below || (err != nil) != (below != "") {
			t.Errorf("fillRest(%s) asked for %q, %v; want %q", in, asked, err, below)
		}
		if string(out) != in {
			t.Errorf("fillRest(%s) = %s", in, out)
		}
	}
	f("abc", "abc")
	f("Abc", "bc")
	f("abC", "ab")
	f("aBc", "ac")
	f("ABC", "")
	f("aBCdE", "ad")
}

// TestProfileIsLent holds that a request keeps the profile that it started with.
func TestProfileIsLent(t *testing.T) {
	c := newContext(&host{}, nil)
	first := c.lendProfile()
	if err := c.DelProfile(pcp.InDomNull); err != nil {
		t.Fatal(err)
	}
	second := c.lendProfile()
	if !first.IsAll() || second.IsAll() || first.gen == second.gen {
		t.Errorf("profiles are %v and %v", first, second)
	}
	if err := c.AddProfile(pcp.NewInDom(1, 1), 7); err != nil {
		t.Fatal(err)
	}
	if second.Includes(pcp.NewInDom(1, 1), 7) || !c.lendProfile().Includes(pcp.NewInDom(1, 1), 7) {
		t.Error("a profile that was lent has changed")
	}
}

package rewrite

import "testing"

// TestPatterns checks that patterns find the longest match, also over several lines.
func TestPatterns(t *testing.T) {
	f := func(pattern, with, in, want string, found bool) {
		t.Helper()
		re, err := compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		r := replacement{pattern, with, re}
		if got, ok := r.apply(in); got != want || ok != found {
			t.Errorf("/%s/ -> %q of %q: %q, %t, want %q, %t", pattern, with, in, got, ok, want, found)
		}
	}
	f("([0-9]+) /.*/(.*)", `\1 \2`, "8087 /usr/bin/awk {\n\tprint \"/a\"\n}", "8087 a\"\n}", true)
	f(".*", "x", "one\ntwo", "x", true)
	f("^two", "x", "one\ntwo", "one\ntwo", false)
	f("one$", "x", "one\ntwo", "one\ntwo", false)
	f("e[^x]t", "-", "one\ntwo", "on-wo", true)
	f("a|ab", "x", "abc", "xc", true)
	if _, err := compile("a[foo"); err == nil {
		t.Error("an open bracket is accepted")
	}
}

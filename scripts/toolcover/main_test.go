package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const profile = `mode: set
github.com/go-pcp/pcp/cmd/internal/live/a/x.go:1.1,2.2 3 0
github.com/go-pcp/pcp/cmd/internal/live/a/x.go:3.1,4.2 1 1
github.com/go-pcp/pcp/cmd/internal/live/b/y.go:1.1,2.2 2 0
mode: set
github.com/go-pcp/pcp/cmd/internal/live/a/x.go:3.1,4.2 1 0
github.com/go-pcp/pcp/cmd/internal/live/b/y.go:1.1,2.2 2 1
`
	var b strings.Builder
	err := report(&b, strings.NewReader(profile))
	if err == nil || err.Error() != "below 70 %: live/a" {
		t.Errorf("report: %v", err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	if want := "live/a 4 25.0 % live/b 2 100.0 % all 6 50.0 %"; got != want {
		t.Errorf("report: %q, want %q", got, want)
	}
	if err := report(&b, strings.NewReader("a b\n")); err == nil {
		t.Error("a line that is not of a profile is taken")
	}
	if err := report(&b, strings.NewReader("mode: set\n")); err == nil {
		t.Error("a profile without statements is taken")
	}
	if err := report(&b, strings.NewReader("x/y.go:1.1,2.2 7 1\nx/y.go:3.1,4.2 3 0\n")); err != nil {
		t.Errorf("70 %%: %v", err)
	}
}

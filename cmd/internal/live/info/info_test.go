package info

import (
	"fmt"
	"testing"

	"github.com/go-pcp/pcp"
)

func TestScanNumbers(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		if got := fmt.Sprint(scanNumbers(s)); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
	f("60.2.0", "[60 2 0]")
	f("60.2", "[60 2]")
	f("60", "[60]")
	f("60.", "[60]")
	f("60.x", "[60]")
	f("60.2x", "[60 2]")
	f("60.2.0.1", "[60 2 0]")
	f("60..2", "[60]")
	f("x", "[]")
	f("", "[]")
}

func TestHelpText(t *testing.T) {
	f := func(text string, err error, want string) {
		t.Helper()
		r := &reporter{}
		r.helpText(text, err)
		if got := string(r.out); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("one\ntwo\n\n", nil, "Help:\none\ntwo\n")
	f("\n", nil, "Help: <empty entry>\n")
	f("", pcp.ErrText, "Full Help: Error: One-line or help text is not available\n")
}

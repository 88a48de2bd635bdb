package pcp_test

import (
	"testing"

	"github.com/go-pcp/pcp"
)

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", "kernel.all.load", "a1_.B2"} {
		if !pcp.ValidName(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", ".", "a.", ".a", "a..b", "1a", "a.1", "_a", "a-b", "a b", "a\x00", "\xc3\xa4"} {
		if pcp.ValidName(name) {
			t.Errorf("%q is accepted", name)
		}
	}
}

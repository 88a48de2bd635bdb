//go:build unix

package openmetrics

import (
	"io"
	"strings"
	"testing"
)

// TestBounded copies more bytes than a script may print, as package os/exec does.
func TestBounded(t *testing.T) {
	in := func() io.Reader { return struct{ io.Reader }{strings.NewReader("0123456789")} }
	taken := 0
	out := bounded{limit: 9, take: func(n int) error { taken += n; return nil }}
	if _, err := io.Copy(&out, in()); err == nil || taken != 0 {
		t.Errorf("10 bytes of 9: %v, %d are counted", err, taken)
	}
	out.limit = 10
	if _, err := io.Copy(&out, in()); err != nil || taken != 10 || string(out.b) != "0123456789" {
		t.Errorf("10 bytes of 10: %v, %d are counted, %q", err, taken, out.b)
	}
	said := bounded{limit: 4, drop: true}
	if _, err := io.Copy(&said, in()); err != nil || string(said.b) != "0123" {
		t.Errorf("the rest is not dropped: %v, %q", err, said.b)
	}
}

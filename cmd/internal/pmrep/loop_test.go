package pmrep

import (
	"testing"

	"github.com/go-pcp/pcp"
)

// TestAfter compares times of records with the end of the window.
func TestAfter(t *testing.T) {
	for _, c := range []struct {
		exact bool
		at    pcp.Timestamp
		want  bool
	}{
		{false, pcp.Timestamp{Sec: 10, Nsec: 910_500_000}, false},
		{false, pcp.Timestamp{Sec: 11}, true},
		{true, pcp.Timestamp{Sec: 10, Nsec: 910_000_999}, false},
		{true, pcp.Timestamp{Sec: 10, Nsec: 910_001_000}, true},
		{true, pcp.Timestamp{Sec: 11}, true},
	} {
		l := Loop{Finish: pcp.Timestamp{Sec: 10, Nsec: 910_000_000}, Exact: c.exact}
		if got := l.after(c.at); got != c.want {
			t.Errorf("exact %t: %v is after the end: %t", c.exact, c.at, got)
		}
	}
}

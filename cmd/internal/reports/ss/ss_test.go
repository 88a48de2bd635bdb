package ss

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// TestSeven checks which sockets are listed, with PCP_COMPAT=7 and without.
func TestSeven(t *testing.T) {
	sockets := []string{"a", "b", "c", "d"}
	text := func(list ...string) func(int, string) string {
		return func(_ int, inst string) string { return list[inst[0]-'a'] }
	}
	base := reporttest.Record(
		t, time.Second,
		reporttest.Metric{Name: filter, Type: pcp.TypeString, Value: func(int, string) string { return "all" }},
		reporttest.Metric{Name: tree + ".netid", Type: pcp.TypeString, InDom: 3, Insts: sockets, Value: text("tcp", "tcp", "udp", "udp")},
		reporttest.Metric{Name: tree + ".state", Type: pcp.TypeString, InDom: 3, Insts: sockets, Value: text("ESTAB", "LISTEN", "UNCONN", "ESTAB")},
		reporttest.Metric{Name: tree + ".src", Type: pcp.TypeString, InDom: 3, Insts: sockets, Value: text("1.1.1.1:1", "1.1.1.1:2", "1.1.1.1:3", "1.1.1.1:4")},
		reporttest.Metric{Name: tree + ".dst", Type: pcp.TypeString, InDom: 3, Insts: sockets, Value: text("2.2.2.2:1", "2.2.2.2:2", "2.2.2.2:3", "2.2.2.2:4")},
	)
	for _, c := range []struct{ compat, args, want string }{
		{"", "", "1 2 3 4"},
		{"", "-l", "2"},
		{"", "-a", "1 2 3 4"},
		{"7", "", "1 4"},
		{"7", "-l", "2 3"},
		{"7", "-a", "1 2 4"},
		{"7", "-al", "1 2 3 4"},
		{"7", "-tal", "1 2"},
	} {
		args := append([]string{"-H"}, strings.Fields(c.args)...)
		out, status := reporttest.RunEnv(t, Command, map[string]string{"PCP_COMPAT": c.compat}, base, args...)
		between := strings.Repeat(" ", 17) + "1.1.1.1:"
		width := 26 // of the last column
		if c.compat == "7" {
			width = 25
		}
		var got []string
		for line := range strings.Lines(out) {
			_, rest, _ := strings.Cut(line, between)
			n := rest[:min(len(rest), 1)]
			if rest != fmt.Sprintf("%s %-*s\n", n, width, "2.2.2.2:"+n) {
				t.Errorf("PCP_COMPAT=%s: the addresses of %q", c.compat, line)
			}
			got = append(got, n)
		}
		if status != 0 || strings.Join(got, " ") != c.want {
			t.Errorf("PCP_COMPAT=%s, %s: status %d, sockets %s, want %s\n%s", c.compat, c.args, status, got, c.want, out)
		}
	}
}

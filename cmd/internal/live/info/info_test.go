package info

import (
	"fmt"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestFetchError has the errors of metrics without a descriptor: as PCP 6 and 7 print them.
func TestFetchError(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	two := []metric{{name: "a"}, {name: "b", vs: pcp.ValueSet{Err: pcp.ErrPMID}}}
	for _, c := range []struct {
		r       reporter
		metrics []metric
		want    bool
	}{
		{reporter{seven: yes, want: wants{value: true}}, two, true},
		{reporter{seven: yes, want: wants{verify: true}}, two, true},
		{reporter{seven: yes, want: wants{verify: true}}, two[1:], false},
		{reporter{seven: yes, want: wants{value: true, desc: true}}, two, false},
		{reporter{seven: yes, want: wants{labels: true}}, two, false},
		{reporter{seven: no, want: wants{value: true}}, two, false},
	} {
		if got := c.r.fetchError(c.metrics, len(c.metrics)-1); got != c.want {
			t.Errorf("%+v: %v, want %v", c.r.want, got, c.want)
		}
		if c.r.fetchError(two, 0) {
			t.Errorf("%+v: an error of the fetch without one", c.r.want)
		}
	}
	r := reporter{env: &cli.Env{Getenv: func(string) string { return "" }}, want: wants{verify: true, checked: true}}
	if r.verify(&metric{name: "b", vs: two[1].vs, noDesc: true}); string(r.out) != "b: Unknown or illegal metric identifier\n" {
		t.Errorf("pminfo -v of a metric without a descriptor: %q", r.out)
	}
}

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

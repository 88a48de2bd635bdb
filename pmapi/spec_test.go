package pmapi

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/wire"
)

func TestParseHostSpec(t *testing.T) {
	f := func(spec string, want HostSpec) {
		t.Helper()
		got, err := ParseHostSpec(spec)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ParseHostSpec(%q): %v (-want +got):\n%s", spec, err, diff)
		}
	}
	f("web1", HostSpec{Hosts: []HostPort{{Name: "web1"}}})
	f("web1:1,2@gate:3", HostSpec{Hosts: []HostPort{{"web1", []int{1, 2}}, {"gate", []int{3}}}})
	f("[fe80::1%eth0]:44321", HostSpec{Hosts: []HostPort{{"fe80::1%eth0", []int{44321}}}})
	f("pcps://web1?container=a%2Fb&user=x", HostSpec{
		Protocol: "pcps", Hosts: []HostPort{{Name: "web1"}},
		Attrs: []HostAttr{{wire.AttrContainer, "a/b"}, {wire.AttrUserName, "x"}},
	})
	f("unix:", HostSpec{Protocol: "unix", Hosts: []HostPort{{}}})
	f("unix:///run/x", HostSpec{Protocol: "unix", Hosts: []HostPort{{Name: "/run/x"}}})
	f("local:?container=c", HostSpec{Protocol: "local", Hosts: []HostPort{{}}, Attrs: []HostAttr{{wire.AttrContainer, "c"}}})
	f("", HostSpec{})

	bad := func(spec string, offset int, msg string) {
		t.Helper()
		_, err := ParseHostSpec(spec)
		var se *SpecError
		if !errors.As(err, &se) || se.Offset != offset || se.Msg != msg {
			t.Errorf("ParseHostSpec(%q): %v, want %d, %q", spec, err, offset, msg)
		}
	}
	bad("web1:x", 5, "non-numeric port")
	bad("web1:", 5, "missing port")
	bad("web1:65536", 5, "port out of range")
	bad("web1:99999999999999999999", 5, "port out of range")
	bad("[::1", 4, "missing closing ']' for host spec")
	bad("[::1]x", 5, "extra characters after host spec")
	bad("web1@", 5, "host name expected")
	bad("web1@:1", 5, "host name expected")
	bad("a\x00b", 1, "unexpected terminal character")
	bad("[]", 0, "host name expected")
	bad("unix:/a:b", 7, "unexpected terminal character")
	bad("h?user=%zz", 2, "bad %-escape in attribute")
	bad("h?user=%0", 2, "bad %-escape in attribute")
	bad("h?user=%00", 2, "bad %-escape in attribute")
}

// Every accepted specification is printed in a form that parses to the same.
func FuzzParseHostSpec(f *testing.F) {
	for _, s := range hostSpecs {
		f.Add(s)
	}
	// Hosts with the names of protocols. (C prints the first one as unix:44321, which is a socket.)
	for _, s := range []string{"[unix]:44321", "[local]:1,2?unix", "[pcp]:3@[unix]:4", "pcp://unix:1", "[unix]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		hs, err := ParseHostSpec(s)
		if err != nil {
			var se *SpecError
			if !errors.As(err, &se) || se.Offset < 0 || se.Offset > len(s) || se.Detail() == "" {
				t.Fatalf("ParseHostSpec(%q): %v", s, err)
			}
			return
		}
		again, err := ParseHostSpec(hs.String())
		if diff := cmp.Diff(hs, again); diff != "" || err != nil {
			t.Fatalf("%q printed as %q: %v (-want +got):\n%s", s, hs, err, diff)
		}
	})
}

func FuzzParseMetricSpec(f *testing.F) {
	for _, s := range metricSpecs {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ms, err := ParseMetricSpec(s, SourceHost, "h")
		if err != nil {
			var se *SpecError
			if !errors.As(err, &se) || se.Offset < 0 || se.Offset > len(s) || se.Detail() == "" {
				t.Fatalf("ParseMetricSpec(%q): %v", s, err)
			}
			return
		}
		if ms.Metric == "" || ms.Source == "" {
			t.Fatalf("ParseMetricSpec(%q) = %+v", s, ms)
		}
	})
}

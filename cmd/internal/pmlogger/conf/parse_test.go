package conf

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func describe(c *Config) string {
	var b strings.Builder
	for _, g := range c.Groups {
		fmt.Fprintf(&b, "%+v %v:", g.State, g.Interval)
		for _, m := range g.Metrics {
			fmt.Fprintf(&b, " %s@%s:%d", m.Name, m.Place.File, m.Place.Line)
			for _, i := range m.Instances {
				fmt.Fprintf(&b, "[%q %d]", i.Name, i.ID)
			}
		}
		b.WriteByte('\n')
	}
	for _, a := range c.Access {
		fmt.Fprintf(&b, "%s %d/%d line %d\n", a.Host, a.Rule.Ops, a.Rule.Deny, a.Place.Line)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"# only a comment", ""},
		{"log on once a.b c", "line 1: syntax error"},
		{"log mandatory on every 10 seconds { a.b, c [ x \"y z\" 3 ]\nd }", "{Mandatory:true On:true Maybe:false} 10s: a.b@f:1 c@f:1[\"x\" 0][\"y z\" 0][\"\" 3] d@f:2\n"},
		{"on default a\non 5 min b", "{Mandatory:false On:true Maybe:false} 1m0s: a@f:2\n{Mandatory:false On:true Maybe:false} 5m0s: b@f:2\n"},
		{"advisory off a mandatory maybe {b}", "{Mandatory:false On:false Maybe:false} 0s: a@f:1\n{Mandatory:false On:false Maybe:true} 0s: b@f:1\n"},
		{"log on once { log on once }", "{Mandatory:false On:true Maybe:false} 0s: log@f:1 on@f:1 once@f:1\n"},
		{"# 7 \"g\"\non once a\n", "{Mandatory:false On:true Maybe:false} 0s: a@g:8\n"},
		{"on 100msecs { a }", "{Mandatory:false On:true Maybe:false} 100ms: a@f:1\n"},
		{"on 1 hour a [access]\nallow x : all;", "line 1: syntax error"}, // taken for an instance
		{
			"on 1 hour {a} [access]\nallow x-y, 10.*, fe80::1, local:* : all except enquire;\ndisallow * : mandatory, advisory;",
			"{Mandatory:false On:true Maybe:false} 1h0m0s: a@f:1\nx-y 7/4 line 2\n10.* 7/4 line 2\nfe80::1 7/4 line 2\nlocal:* 7/4 line 2\n* 3/3 line 3\n",
		},
		{"disallow * : all;", "line 1: syntax error"},
		{"[access]", "line 1: syntax error"},
		{"on 268435456 msec a", "line 1: Logging delta (268435456 msec) cannot be bigger than 268435455 msec"},
		{"on 99999999999999999999 hours a", "cannot be bigger than"},
		{"on once { a ! }", "line 1: Unexpected character '!'"},
		{"on once { a [ \"\" ] }", "line 1: Unexpected character '\"'"},
		{"on once { }", "line 1: syntax error"},
		{"on once { a,, b }", "line 1: syntax error"},
		{"on once { a", "line 1: syntax error"},
		{"on every once a", "line 1: syntax error"},
		{"maybe a", "line 1: syntax error"},
		{"advisory maybe a", "line 1: syntax error"},
	} {
		c, err := Read(strings.NewReader(test.text), "f", time.Minute)
		got := ""
		if err != nil {
			e, ok := err.(*Error)
			if !ok {
				t.Errorf("%q: %v", test.text, err)
				continue
			}
			got = fmt.Sprintf("line %d: %s", e.Place.Line, e.Msg)
			if strings.Contains(got, test.want) && test.want != "" {
				continue
			}
		} else {
			got = describe(c)
		}
		if got != test.want {
			t.Errorf("%q:\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]int{
		"10.1.2.3": 8, "10.1.2.*": 8, "10.*": 4, "10.1.*": 6, ".*": 2, "*": 1, "10.1": 2, "10.1.": 2, "1a2b": 4,
		"::": 2, "::1": 3, "fe80::1": 7, "fe80::": 6, "fe80:*": 6, "fe80::1:*": 9, ":*": 2, "1:2:3:4:5:6:7:8": 15, "::*": 3, ":": 0, "x": 0, "": 0,
	} {
		got := 0
		if text != "" {
			got = address([]byte(text))
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"log mandatory on every 10 seconds { a.b, c [ x \"y z\" 3 ]\nd }\n[access]\nallow x-y, 10.*, fe80::1, unix:* : all except enquire;",
		"# 7 \"g\"\non once a\n", "on default a mandatory maybe { b } off c", "[access] disallow :* : all;", "on 5", "# ", "# 1 \"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(strings.NewReader(string(text)), "f", time.Minute)
		if err != nil {
			return
		}
		for _, g := range c.Groups {
			if g.Interval < 0 || g.Interval > MaxInterval || len(g.Metrics) == 0 {
				t.Errorf("%q: %+v", text, g)
			}
		}
		for _, a := range c.Access {
			if a.Host == "" || a.Rule.Deny&^a.Rule.Ops != 0 || a.Rule.Ops == 0 {
				t.Errorf("%q: %+v", text, a)
			}
		}
	})
}

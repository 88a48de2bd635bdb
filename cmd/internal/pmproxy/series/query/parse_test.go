package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcptime"
)

var testNow = time.Unix(1700000000, 0)

// show formats an expression with all parentheses.
func show(e *Expr) string {
	switch {
	case e.Match != nil:
		s := showMatch(e.Match)
		if e.Window != nil {
			s += "[…]"
		}
		return s
	case e.Number != "":
		return e.Number
	case e.Func != 0:
		s := e.Func.String() + "(" + show(e.Left)
		if e.Arg != "" {
			s += "; " + e.Arg
		}
		return s + ")"
	}
	return "(" + show(e.Left) + e.Op.String() + show(e.Right) + ")"
}

func showMatch(m *Match) string {
	if m.Op == OpAnd || m.Op == OpOr {
		return "<" + showMatch(m.Left) + m.Op.String() + showMatch(m.Right) + ">"
	}
	return fmt.Sprint(m.Name, m.Op, [...]string{`"` + m.Text + `"`, m.Text, "#" + m.Text}[m.Kind])
}

// TestParse reads queries.
func TestParse(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"kernel.all.load", `metric.name=="kernel.all.load"`},
		{"disk.*", `metric.name~~"disk.*"`},
		{`a\*b`, `metric.name=="a\*b"`},
		{"a%*b", `metric.name=="a%*b"`},
		{" x = a ", `metric.name=="a"`},
		{`a{b == "c"}`, `<metric.name=="a"&&b=="c">`},
		{`{b == c}`, `b==c`},
		{`{"b" == 3, c != 4.5}`, `<b==#3&&c!=#4.5>`},
		{`{a==1&&b==2||c==3&&d==4}`, `<<<a==#1&&b==#2>||c==#3>&&d==#4>`},
		{`{a==1,b==2||c==3,d==4}`, `<<a==#1&&<b==#2||c==#3>>&&d==#4>`},
		{`{a<1,a<=2,a>3,a>=4,a:5,a~~b,a=~b,a!~"c"}`, `<<<<<<<a<#1&&a<=#2>&&a>#3>&&a>=#4>&&a~~#5>&&a~~b>&&a=~b>&&a!~"c">`},
		{`{a == 1}[samples: 2]`, `a==#1[…]`},
		{`a[samples:3]`, `metric.name=="a"[…]`},
		{`rate(a)`, `rate(metric.name=="a")`},
		{`rate (a)`, "error 0 5"},
		{`a+b * c-d`, `((metric.name=="a"+(metric.name=="b"*metric.name=="c"))-metric.name=="d")`},
		{`a * 2 * b`, `((metric.name=="a"*2)*metric.name=="b")`},
		{`a/2*b * c`, `((metric.name=="a"/(2*metric.name=="b"))*metric.name=="c")`},
		{`2*3*a`, `(2*(3*metric.name=="a"))`},
		{`a+2*b`, `(metric.name=="a"+(2*metric.name=="b"))`},
		{`a * 2.5+b`, `((metric.name=="a"*2.5)+metric.name=="b")`},
		{`rate(a{b==1}[5min])+sum(c[interval:10])`, `(rate(<metric.name=="a"&&b==#1>[…])+sum(metric.name=="c"[…]))`},
		{`log(a)`, `log(metric.name=="a")`},
		{`log(a, 2.5)`, `log(metric.name=="a"; 2.5)`},
		{`topk_inst(max(a), 3)`, `topk_inst(max(metric.name=="a"); 3)`},
		{`nth_percentile_sample(a,100)`, `nth_percentile_sample(metric.name=="a"; 100)`},
		{`rescale(rate(a), "mbytes/s")`, `rescale(rate(metric.name=="a"); mbytes/s)`},
		{"rates(a)", "error 0 5"},
		{"count(a)", "error 0 0"},
		{"delta(a)", "error 0 0"},
		{"a + 2", "error 0 4"},
		{"a / 2 / b", "error 0 6"},
		{"2", "error 0 0"},
		{"2*3", "error 0 2"},
		{"a + b[samples:1]", "error 0 5"},
		{"a[samples:1] + b", "error 0 15"},
		{"(a)", "error 0 0"},
		{"-a", "error 0 0"},
		{"", "error 0 0"},
		{"   ", "error 0 2"},
		{"a b", "error 0 2"},
		{"a{}", "error 0 2"},
		{"a{b}", "error 0 3"},
		{"a{b == }", "error 0 7"},
		{"a{b < c}", "error 0 6"},
		{"a{b =~ 3}", "error 0 7"},
		{"a{type == 3}", "error 0 2"},
		{"a{b @ 3}", "error 0 4"},
		{`a{b == "c}`, "error 0 7"},
		{"a[5]", "error 0 2"},
		{"a[]", "error 0 2"},
		{"a[samples:5min]", "error 0 10"},
		{"a[samples:1.5]", "error 0 10"},
		{`a[samples:"1"]`, "error 0 10"},
		{"a[timezone:1]", "error 0 11"},
		{"a[samples:99999999999]", "error 0 10"},
		{"nth_percentile_inst(a, 101)", "error 0 26"},
		{`rescale(a, "bad")`, "error 0 16"},
		{"rescale(a)", "error 0 9"},
		{"topk_inst(a, 1.5)", "error 0 13"},
		{"a = b = c", "error 0 6"},
		{"[samples:2]", "Invalid series query specification"},
		{"a[samples:1, samples:2]", `Invalid second sample count requested - "2" vs "1"`},
		{`a[interval:1, delta:2]`, `Invalid second time delta requested - "1" vs "2"`},
		{`a[samples:1, count:1]`, `metric.name=="a"[…]`},
		{`a[interval:"x"]`, "Cannot parse time delta with pmParseHighResInterval:\nx\n^ -- unexpected value\n"},
		{`a[start:"foo"]`, "Cannot parse time with __pmParseHighResTime:\nfoo\n^ -- unexpected value\n"},
		{`a[samples:4294967295]`, `Invalid sample count requested - "4294967295"`},
	} {
		got := ""
		q, err := Parse(c.query, testNow, time.UTC)
		var se *SyntaxError
		switch {
		case errors.As(err, &se):
			got = fmt.Sprintf("error 0 %d", se.Off)
		case err != nil:
			got = err.Error()
		default:
			got = show(q.Expr)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
	_, err := Parse("a + 2", testNow, time.UTC)
	if want := "cannot parse given string\n\na + 2\n    ^ -- syntax error\n"; err == nil || err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// TestWindows reads time windows.
func TestWindows(t *testing.T) {
	at := func(sec int64) pcp.Timestamp { return pcp.Timestamp{Sec: sec} }
	for _, c := range []struct {
		text string
		want Window
	}{
		{"[samples:3]", Window{Count: 3, Newest: true, Given: true}},
		{"[count:0]", Window{Given: true}},
		{"[samples:3, offset:2]", Window{Count: 3, Offset: 2, Newest: true, Given: true}},
		{"[samples:3, interval:10]", Window{Count: 3, Interval: 10 * time.Second, Given: true}},
		{`[delta:"2min"]`, Window{Interval: 2 * time.Minute, Given: true}},
		{"[5min]", Window{Start: at(1700000000 - 300), Finish: pcptime.Never, Given: true}},
		{"[start:1000,finish:2000.5]", Window{Start: at(1000), Finish: pcp.Timestamp{Sec: 2000, Nsec: 5e8}, Given: true}},
		{`[start:"@2023-11-14 10:00", tz:"EST5"]`, Window{Start: at(1699974000), Given: true}},
		{`[begin:"-1hour", end:"-1min"]`, Window{Start: at(1700000000 - 3600), Finish: at(1700000000 - 60), Given: true}},
		{`[align:"1min"]`, Window{Align: at(60)}},
		{`[timezone:"UTC"]`, Window{}},
	} {
		w, err := ParseWindow(c.text, testNow, time.UTC)
		if err != nil || w != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.text, w, err, c.want)
		}
	}
	if _, err := ParseWindow("a[samples:1]", testNow, nil); err == nil || err.Error() != "Invalid time window specification" {
		t.Error(err)
	}
}

// TestLimits refuses queries that are too large.
func TestLimits(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a", MaxLength+1),
		strings.Repeat("max(", MaxDepth+1) + "a" + strings.Repeat(")", MaxDepth+1),
		"a" + strings.Repeat("+a", MaxDepth+1),
		strings.Repeat("2*", MaxDepth+1) + "a",
		"{a==1" + strings.Repeat(",a==1", MaxMatchers) + "}",
	} {
		if _, err := Parse(text, testNow, nil); !errors.Is(err, ErrLimit) {
			t.Errorf("%.40s…: %v", text, err)
		}
	}
	if _, err := Parse(strings.Repeat("max(", MaxDepth-1)+"a"+strings.Repeat(")", MaxDepth-1), testNow, nil); err != nil {
		t.Error(err)
	}
}

// FuzzParse parses any text. Accepted queries have a canonical form that is
// accepted too.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"kernel.all.load", `disk.dev.*{hostname == "a", instance.name =~ "^sd"}`, "rate(a[samples:3])*2.5", "2*3*a/b-c",
		`rescale(rate(a), "mbytes/s")`, `nth_percentile_inst(topk_sample(a, 3), 50)`, `a[start:"@10:00", finish:"-1min", tz:"UTC"]`, "a[5min]",
		"{a<1||b>=2.5&&c!~d}", `x = log(a, 10)`, `{"a" == true}`, "a{", `"`, "\x00", "a[samples:",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text, testNow, time.UTC)
		if err != nil {
			if err.Error() == "" {
				t.Error("an empty message")
			}
			return
		}
		again := Text(q.Expr)
		r, err := Parse(again, testNow, time.UTC)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, again, err)
		}
		if a, b := strings.ReplaceAll(show(q.Expr), "[…]", ""), show(r.Expr); a != b {
			t.Fatalf("%q: %s; written as %q: %s", text, a, again, b)
		}
	})
}

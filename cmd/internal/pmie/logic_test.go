package pmie

import (
	"bytes"
	"strings"
	"testing"
)

// TestTruthTables checks all cells of the tables of and, or and not, and those with a
// missing operand.
func TestTruthTables(t *testing.T) {
	const f, tr, u = isFalse, isTrue, isUnknown
	for _, c := range []struct{ a, b, and, or int8 }{
		{f, f, f, f},
		{f, tr, f, tr},
		{f, u, f, u},
		{tr, f, f, tr},
		{tr, tr, tr, tr},
		{tr, u, u, tr},
		{u, f, f, u},
		{u, tr, u, tr},
		{u, u, u, u},
	} {
		if got := and.both(c.a, c.b); got != c.and {
			t.Errorf("%d and %d is %d, want %d", c.a, c.b, got, c.and)
		}
		if got := or.both(c.a, c.b); got != c.or {
			t.Errorf("%d or %d is %d, want %d", c.a, c.b, got, c.or)
		}
	}
	for _, c := range []struct{ a, and, or, not int8 }{{f, f, u, tr}, {tr, u, tr, f}, {u, u, u, u}} {
		if got := and.one(c.a); got != c.and {
			t.Errorf("%d and nothing is %d, want %d", c.a, got, c.and)
		}
		if got := or.one(c.a); got != c.or {
			t.Errorf("%d or nothing is %d, want %d", c.a, got, c.or)
		}
		x := newExpr(opNot, truth(c.a), nil, none, none, none, 1, semTruth)
		x.settle()
		compute(x.cell, x.arg1.cell, nil)
		if got := x.truth(0)[0]; got != c.not {
			t.Errorf("not %d is %d, want %d", c.a, got, c.not)
		}
	}
	for _, c := range []struct {
		list      []int8
		all, some int8
	}{
		{[]int8{tr, tr}, tr, tr}, {[]int8{tr, f}, f, tr}, {[]int8{f, f}, f, f}, {[]int8{u, tr}, u, tr}, {[]int8{tr, u}, u, u}, {[]int8{u, u}, u, u},
	} {
		if got := allOf(c.list, 1, len(c.list)); got != c.all {
			t.Errorf("all of %d is %d, want %d", c.list, got, c.all)
		}
		if got := someOf(c.list, 1, len(c.list)); got != c.some {
			t.Errorf("some of %d is %d, want %d", c.list, got, c.some)
		}
	}
}

// FuzzLoad reads rules, evaluates those that are valid, and shows them.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"1 + 2 * $minute;", "a = 1 Kbyte / sec; $a > 5 -> print \"%v\" & shell 10 sec \"x\";", "rising ($hour > 3) || ! (true && false);",
		`ruleset true -> print "a" else false -> print "b" unknown -> print "c" otherwise -> print "d";`, `x = "$"; y = "$x"; '$x';`,
		"some_inst foo.bar #a #b @0..3 > 50 count;", "50 %_sample foo :host @1;", `match_inst "a.*" foo > 1;`, "/* comment", "// comment\n1;", ".5 ..5 1e-3 5.;",
		`"a" == "b";`, `syslog "-p daemon.info" "-t" "tag" "x";`, "delta = 0; 1 > 2;", "} .", "rate instant - 5;", "a = a = a", "$'x y'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rules string) {
		if len(rules) > 1<<12 {
			return
		}
		var out bytes.Buffer
		e, err := New(t.Context(), Config{
			Out: &out, Err: &out, Verbose: Satisfying, Dial: nowhere,
			Act: nothing,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := e.Load(t.Context(), strings.NewReader(rules), "rules"); err != nil {
			return
		}
		e.Print(&out, "")
		e.PrintBindings(&out, "")
		for range 3 {
			for _, task := range e.get.tasks {
				if err := e.evaluate(task); err != nil {
					t.Fatal(err)
				}
			}
		}
		e.Forget()
	})
}

// TestTooManySamples checks that rules are refused that would keep more values than the
// limit.
func TestTooManySamples(t *testing.T) {
	for rule, want := range map[string]string{
		"ten.m0 @0..1000000000 > 1;": "rules\nsample number(s) must be less than 1048576",
		"ten.m0 @1e300 > 1;":         "sample number(s) must be less than 1048576",
		"ten.m0 @0..5 > 1;":          "",
	} {
		var said bytes.Buffer
		e, err := New(t.Context(), Config{Dial: nowhere, Err: &said, Quiet: true})
		if err != nil {
			t.Fatal(err)
		}
		sound, err := e.Load(t.Context(), strings.NewReader(rule), "rules")
		if err != nil || sound != (want == "") || !strings.Contains(said.String(), want) {
			t.Errorf("%s: %t, %v: %s", rule, sound, err, &said)
		}
		e.Close()
	}
}

package pmie

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzLoad reads rules, evaluates those that are valid, and shows them.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"1 + 2 * $minute;", "a = 1 Kbyte / sec; $a > 5 -> print \"%v\" & shell 10 sec \"x\";", "rising ($hour > 3) || ! (true && false);",
		`ruleset true -> print "a" else false -> print "b" unknown -> print "c" otherwise -> print "d";`, `x = "$"; y = "$x"; '$x';`,
		"some_inst foo.bar #a #b @0..3 > 50 count;", "50 %_sample foo :host @1;", `match_inst "a.*" foo > 1;`, "/* comment", "// comment\n1;", ".5 ..5 1e-3 5.;",
		`"a" == "b";`, `syslog "-p daemon.info" "-t" "tag" "x";`, "delta = 0; 1 > 2;", "} .", "rate instant - 5;", "a = a = a", "$'x y'",
		"t = true; - $t; $t + 1; instant $t; max_inst $t;",
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

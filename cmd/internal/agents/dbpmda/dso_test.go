package dbpmda_test

import (
	"strings"
	"testing"
)

// TestDSO opens the agents of this program in its own process.
func TestDSO(t *testing.T) {
	out, status := ask(t, `open dso /somewhere/pmda_simple.so simple_init 253
status
getdesc on
getiname on
fetch simple.color
desc 253.9.9
store simple.numfetch "7"
store simple.color "-5"
store 253.0.1 "300"
fetch 253.0.0
profile 253.0 none
profile 253.0 add 1
fetch 253.0.1
instance 253.0
instance 253.7
label domain
text indom 253.7
open dso simple
children x
close
open dso trivial
fetch 250.0.0
open dso /etc/passwd init
open dso nosuch init
open dso pmcd init
`)
	if status != 0 {
		t.Errorf("status %d", status)
	}
	rest := out
	for _, part := range []string{
		"PMDA:                   /somewhere/pmda_simple.so\nConnection:             dso\n",
		"pmResult dump from 0x", "timestamp: 0.000000 ", "  253.0.1 (simple.color): numval: 3 valfmt: 0 vlist[]:\n",
		"    inst [0 or \"red\"] value ",
		"Error: DSO desc() failed: Unknown or illegal metric identifier",
		"253.0.0: 2 -> 7\n", "Error: DSO store() failed: ", "253.0.1 [2]: ", "value 10",
		"inst [1 or \"green\"]", "name: \"red\"",
		"Error: DSO instance() failed: Unknown or illegal instance domain identifier",
		"role=\"testing\"", "Error: DSO text() failed: ", "Error: DSO children() failed: ",
		"  250.0.0 (<noname>): numval: 1",
		"opendso: /etc/passwd: a shared object of another program cannot be loaded",
		"opendso: ./nosuch: No such file or directory",
		"opendso: ./pmcd: No such file or directory",
	} {
		i := strings.Index(rest, part)
		if i < 0 {
			t.Fatalf("no %q in\n%s\nof\n%s", part, rest, out)
		}
		rest = rest[i+len(part):]
	}
	if strings.Contains(out, "Sending Result") {
		t.Errorf("prints what concerns connections:\n%s", out)
	}
}

// TestDSOOrder checks that an agent's output for a request without an answer precedes
// the next request, and that -D pdu reports the opening.
func TestDSOOrder(t *testing.T) {
	out, _ := ask(t, `debug auth pdu
open dso /x/pmda_sample.so sample_init 30
attr "username" "me"
attr "username" "you"
close
`, "-e")
	rest := out
	for _, part := range []string{
		"DSO init sample_init->0x0() domain=0 challenge: pmda_interface=0xff pmapi_version=2\n",
		"DSO has domain=30 pmda_interface=7 pmapi_version=2\n",
		"Attribute: username=me\n", "username=me\n", "Success\n",
		"Attribute: username=you\n", "username=you\n", "Success\n",
	} {
		i := strings.Index(rest, part)
		if i < 0 {
			t.Fatalf("no %q in\n%s\nof\n%s", part, rest, out)
		}
		rest = rest[i+len(part):]
	}
}

package logger

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/pmcd/access"
)

// TestAccess has a rule that clashes with another for one of its addresses, which is a warning, and a rule without any
// effect, which is an error.
func TestAccess(t *testing.T) {
	allow, deny := access.Rule{Ops: access.OpAll}, access.Rule{Ops: access.OpAll, Deny: access.OpAll}
	list := []conf.Access{{Host: "localhost", Rule: allow}, {Host: "local:*", Rule: deny}}
	var b strings.Builder
	if err := checkAccess(&b, list); err != nil || !strings.HasSuffix(b.String(), "Error: Permission clash for localhost with earlier statement for localhost\n") {
		t.Errorf("%v, %s", err, &b)
	}
	b.Reset()
	list = append(list, conf.Access{Host: "10.300.*", Rule: allow, Place: conf.Place{File: "config", Line: 7}})
	err := checkAccess(&b, list)
	if err == nil || err.Error() != "error was on line 7" || !strings.HasSuffix(b.String(), "Error: Bad IP address wildcard, 10.300.*\n") {
		t.Errorf("%v, %s", err, &b)
	}
}

package access

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reload has the collector read another section.
func (p *program) reload(t *testing.T, section string) {
	t.Helper()
	// Files are a second apart, or the real collector takes the file for the
	// file that it has read.
	if err := os.WriteFile(p.dir+"/pmcd.conf", []byte(agentLines+"\n[access]\n"+section), 0o644); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(2 * time.Second)
	if err := os.Chtimes(p.dir+"/pmcd.conf", later, later); err != nil {
		t.Fatal(err)
	}
	before := p.log()
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if strings.Contains(strings.TrimPrefix(p.log(), before), "access list empty") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not read its configuration again\n%s", p.path, p.log())
		}
	}
}

// TestReload shows why each section has a collector of its own: once the real one has had a rule for a user,
// it requires the account of each client for as long as it runs, and refuses all over TCP that do
// not log in. Ours then behaves like a newly started collector, of either kind.
func TestReload(t *testing.T) {
	if outside(t) {
		return
	}
	sasl := saslDir(t)
	stranger := &visit{from: "10.1.2.4", ends: -1}
	for _, p := range []*program{newProgram(t, false, sasl), newProgram(t, true, sasl)} {
		ask := func() bool {
			got, c := p.visit(t, stranger)
			if c != nil {
				c.Close()
			}
			return got.may() != 0
		}
		p.start(t, "allow \"*\" : all;\nallow users alice : all;\n")
		if !p.up(t) {
			t.Fatal(p.log())
		}
		if ask() {
			t.Errorf("%s serves a client without a name", p.path)
		}
		p.reload(t, "allow \"*\" : all;\n")
		if got := ask(); got == p.real {
			t.Errorf("%s, real %v: after the rule is gone, a client without a name is served: %v\n%s", p.path, p.real, got, p.log())
		}
		p.stop(t)
		p.start(t, "allow \"*\" : all;\n")
		if !p.up(t) {
			t.Fatal(p.log())
		}
		if !ask() {
			t.Errorf("%s, started afresh, does not serve a client without a name\n%s", p.path, p.log())
		}
		p.stop(t)
	}
}

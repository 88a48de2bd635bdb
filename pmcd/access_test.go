package pmcd

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// accessOf parses the statements of an [access] section.
func accessOf(t *testing.T, text string) *Access {
	t.Helper()
	file, err := ParseFile(strings.NewReader("[access]\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	return file.Access
}

func TestAccess(t *testing.T) {
	const none, nobody = Ops(0), OpAll
	f := func(a *Access, client string, want Ops) {
		t.Helper()
		var addr net.Addr = &net.UnixAddr{Net: "unix"}
		if client != "unix" {
			addr = &net.TCPAddr{IP: net.ParseIP(client), Port: 7}
		}
		ad, err := a.admit(addr, client == "unix")
		if ad.deny != want || (err != nil) != (want == OpAll) {
			t.Errorf("%s is denied %b (%v), want %b", client, ad.deny, err, want)
		}
	}
	byDefault := DefaultAccess()
	f(byDefault, "unix", none)
	f(byDefault, "127.0.0.1", OpStore)
	f(byDefault, "::1", OpStore)
	f(byDefault, "10.1.2.3", OpStore)
	f(byDefault, "2001:db8::1", OpStore)
	f(byDefault, "::ffff:10.1.2.3", OpStore)
	f(new(Access), "10.1.2.3", none)

	a := accessOf(t, `
disallow ".*" : all;
allow 10.* : fetch;
allow 10.1.* : store;
disallow 10.1.2.3 : store;
disallow ":*" : store;
disallow "2001:db8:*" : fetch;
allow "2001:db8::1" : all;
disallow "unix:" : all except fetch;`)
	f(a, "9.1.2.3", nobody)
	f(a, "10.2.2.3", OpStore)
	f(a, "10.1.9.9", none)
	f(a, "10.1.2.3", OpStore)
	f(a, "fe80::1", OpStore)
	f(a, "2001:db8:1::", nobody)
	f(a, "2001:db8::1", none)
	f(a, "unix", OpStore)

	f(accessOf(t, `disallow * : all;`), "unix", nobody)
	f(accessOf(t, `disallow ".*" : all; allow "local:*" : fetch;`), "127.0.0.1", OpStore)
	f(accessOf(t, `allow * : all except store;`), "10.1.2.3", OpStore)
	f(accessOf(t, `allow * : all except store;`), "::2", OpStore)
}

func TestConnectionLimit(t *testing.T) {
	a := accessOf(t, `allow 10.* : all, maximum 2 connections; allow 10.1.1.1 : all;`)
	from := func(ip string) (admission, error) {
		return a.admit(&net.TCPAddr{IP: net.ParseIP(ip)}, false)
	}
	first, err := from("10.1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from("10.9.9.9"); err != nil {
		t.Fatal(err)
	}
	if _, err := from("10.1.2.3"); !errors.Is(err, pcp.ErrConnLimit) {
		t.Errorf("third connection: %v, want %v", err, pcp.ErrConnLimit)
	}
	// The rule that names a client most closely is the one that limits it.
	if _, err := from("10.1.1.1"); err != nil {
		t.Errorf("a host with a rule of its own: %v", err)
	}
	a.leave(first)
	if _, err := from("10.1.2.3"); !errors.Is(err, pcp.ErrConnLimit) {
		t.Errorf("after one of three left: %v, want %v", err, pcp.ErrConnLimit)
	}
}

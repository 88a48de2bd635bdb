package access

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// add adds the rules of statements in the form of an [access] section, those that
// are right and have one host, user or group each.
func add(t *testing.T, a *Rules, text string) *Rules {
	t.Helper()
	for statement := range strings.SplitSeq(strings.TrimRight(text, "; \n"), ";") {
		head, list, _ := strings.Cut(strings.TrimSpace(statement), " : ")
		words := strings.Fields(strings.ReplaceAll(head, `"`, ""))
		name, add := words[len(words)-1], a.AddHost
		switch {
		case slices.Contains(words, "user"):
			add = a.AddUser
		case slices.Contains(words, "group"):
			add = a.AddGroup
		}
		var rule Rule
		list, limit, ok := strings.Cut(list, ", maximum ")
		if ok {
			rule.Max = int(limit[0] - '0')
		}
		ops := map[string]Ops{"all": OpAll, "fetch": OpFetch, "store": OpStore}
		list, except, _ := strings.Cut(list, " except ")
		rule.Ops, rule.Deny = ops[list], ops[except]
		if words[0] == "disallow" {
			rule.Deny = ops[list] &^ ops[except]
		}
		if _, err := add(name, rule); err != nil || rule.Ops == 0 {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return a
}

// rulesOf returns the rules of statements.
func rulesOf(t *testing.T, text string) *Rules { return add(t, new(Rules), text) }

func TestAccess(t *testing.T) {
	const none, nobody = Ops(0), OpAll
	f := func(a *Rules, client string, want Ops) {
		t.Helper()
		var addr net.Addr = &net.UnixAddr{Net: "unix"}
		if client != "unix" {
			addr = &net.TCPAddr{IP: net.ParseIP(client), Port: 7}
		}
		ad, err := a.Admit(addr, client == "unix")
		if ad.Deny != want || (err != nil) != (want == OpAll) {
			t.Errorf("%s is denied %b (%v), want %b", client, ad.Deny, err, want)
		}
	}
	byDefault := Default()
	f(byDefault, "unix", none)
	f(byDefault, "127.0.0.1", OpStore)
	f(byDefault, "::1", OpStore)
	f(byDefault, "10.1.2.3", OpStore)
	f(byDefault, "2001:db8::1", OpStore)
	f(byDefault, "::ffff:10.1.2.3", OpStore)
	f(new(Rules), "10.1.2.3", none)

	a := rulesOf(t, `
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

	f(rulesOf(t, `disallow * : all;`), "unix", nobody)
	f(rulesOf(t, `disallow ".*" : all; allow "local:*" : fetch;`), "127.0.0.1", OpStore)
	f(rulesOf(t, `allow * : all except store;`), "10.1.2.3", OpStore)
	f(rulesOf(t, `allow * : all except store;`), "::2", OpStore)
}

func TestConnectionLimit(t *testing.T) {
	a := rulesOf(t, `allow 10.* : all, maximum 2 connections; allow 10.1.1.1 : all;`)
	from := func(ip string) (Admission, error) {
		return a.Admit(&net.TCPAddr{IP: net.ParseIP(ip)}, false)
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
	a.Leave(first)
	if _, err := from("10.1.2.3"); !errors.Is(err, pcp.ErrConnLimit) {
		t.Errorf("after one of three left: %v, want %v", err, pcp.ErrConnLimit)
	}
}

// TestLoopbackIsThisHost judges clients of this host by rules for any of its
// addresses, by whichever they come.
func TestLoopbackIsThisHost(t *testing.T) {
	here := []netip.Addr{netip.MustParseAddr("192.168.7.5")}
	f := func(text, client string, want Ops) {
		t.Helper()
		a := add(t, &Rules{here: here}, text)
		if ad, _ := a.Admit(&net.TCPAddr{IP: net.ParseIP(client)}, false); ad.Deny != want {
			t.Errorf("%q: %s is denied %b, want %b", text, client, ad.Deny, want)
		}
	}
	for _, client := range []string{"127.0.0.1", "::1", "127.3.2.1", "192.168.7.5"} {
		f(`allow localhost : fetch; disallow "*" : all;`, client, OpStore)
		f(`disallow "*" : store; allow "local:*" : all;`, client, 0)
		f(`disallow "192.168.7.5" : store;`, client, OpStore)
		f(`disallow "192.168.*" : store;`, client, OpStore)
		f(`disallow ".*" : store;`, client, OpStore)
		f(`disallow ".*" : store; allow "::1" : fetch;`, client, OpStore)
		f(`disallow "*" : all;`, client, OpAll)
	}
	f(`allow 127.0.0.1 : all; disallow 192.168.7.5 : store;`, "::1", OpStore) // as close, so deny counts
	f(`allow ".*" : all; disallow ":*" : store;`, "::1", OpStore)
	f(`allow ".*" : all; disallow ":*" : store;`, "127.0.0.1", 0)
	f(`disallow ":*" : store;`, "127.0.0.1", 0)
	f(`disallow localhost : all;`, "192.168.7.6", 0)
}

// TestIPv6WithoutRules checks that clients by IPv6 are judged by the rule for ".*" if
// there are no rules for IPv6.
func TestIPv6WithoutRules(t *testing.T) {
	f := func(text, client string, want Ops) {
		t.Helper()
		if ad, _ := rulesOf(t, text).Admit(&net.TCPAddr{IP: net.ParseIP(client)}, false); ad.Deny != want {
			t.Errorf("%q: %s is denied %b, want %b", text, client, ad.Deny, want)
		}
	}
	f(`disallow ".*" : store;`, "2001:db8::1", OpStore)
	f(`disallow ".*" : all; allow 10.1.2.3 : all;`, "2001:db8::1", OpAll)
	f(`disallow 10.1.2.3 : all;`, "2001:db8::1", 0)
	f(`disallow ".*" : store; allow "fe80:*" : fetch;`, "2001:db8::1", 0) // rules for IPv6 are there
	f(`disallow ".*" : store; allow "::*" : fetch;`, "2001:db8::1", 0)
	f(`disallow ":*" : store;`, "10.1.2.3", 0)
}

// TestNextClientOfAHost has clients come from one place, which costs no memory,
// and from others, which must not get what holds for the first.
func TestNextClientOfAHost(t *testing.T) {
	a := Default()
	for _, host := range []string{"10.1.2.*", "10.1.*"} {
		if _, err := a.AddHost(host, Rule{Ops: OpAll, Deny: OpFetch}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.AddHost("10.1.2.3", Rule{Ops: OpAll, Deny: OpStore}); err != nil {
		t.Fatal(err)
	}
	from := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }
	admit := func(addr net.Addr, unix bool, want Ops) {
		t.Helper()
		ad, err := a.Admit(addr, unix)
		if err != nil || ad.Deny != want {
			t.Errorf("%v, %v: %v, %v, want %v", addr, unix, ad.Deny, err, want)
		}
	}
	near, far := from("10.1.2.3"), from("10.2.2.3")
	for range 2 {
		admit(near, false, OpStore)
		admit(far, false, OpStore)
		admit(from("10.1.2.4"), false, OpFetch)
		admit(&net.UnixAddr{}, true, 0)
	}
	if n := testing.AllocsPerRun(100, func() { a.Admit(near, false) }); n > 0 {
		t.Errorf("a client from the same host costs %v allocations", n)
	}
	if _, err := a.AddHost("10.2.2.3", Rule{Ops: OpAll, Deny: OpFetch}); err != nil {
		t.Fatal(err)
	}
	admit(far, false, OpFetch)
	if _, err := a.AddHost("10.2.2.3", Rule{Ops: OpAll, Deny: OpAll}); err == nil {
		t.Error("a rule that clashes is accepted")
	}
}

// TestAddressPatterns has the networks that patterns stand for.
func TestAddressPatterns(t *testing.T) {
	f := func(host, want string, level int) {
		t.Helper()
		rules, _, err := new(Rules).hostRules(host)
		if err != nil || len(rules) != 1 || rules[0].prefix.String() != want || rules[0].level != level {
			t.Errorf("%s is %+v, %v, want %s, level %d", host, rules, err, want, level)
		}
	}
	f("10.*", "10.0.0.0/8", 3)
	f("10.1.2.*", "10.1.2.0/24", 1)
	f("10.1*", "10.1.0.0/16", 2)
	f("fe80:*", "fe80::/16", 7)
	f("fe80::*", "fe80::/16", 6)
	f("fe80::1:*", "fe80::1:0/112", 5)
	f("::1:*", "::1:0/112", 6)
	f("1:2:3:4:5:6:7:*", "1:2:3:4:5:6:7:0/112", 1)
	f("::ffff:10.1.2.3", "10.1.2.3/32", 0)
}

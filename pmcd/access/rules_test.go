package access

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
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
	// The rule that names a client most closely limits it.
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
	for _, client := range []string{"127.0.0.1", "::1", "192.168.7.5"} {
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

	// In C the addresses of the host's name alone judge these, so no other rule lets them in.
	for _, client := range []string{"127.0.0.1", "::1"} {
		f(`disallow "*" : all; allow 127.0.0.1, "::1" : all;`, client, OpAll)
		f(`disallow "192.168.*" : fetch; allow 127.0.0.1, "::1" : all;`, client, OpFetch)
		f(`disallow "192.168.7.5" : fetch; disallow 127.0.0.1, "::1" : store;`, client, OpAll)
	}
	f(`allow localhost : all; disallow "*" : store;`, "127.3.2.1", OpStore) // not one of the two, in C
	f(`disallow localhost : store;`, "127.3.2.1", OpStore)
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

// TestNextClientOfAHost has clients connect from one place, which costs no
// memory, and from others, which must not get the result of the first.
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

// TestAddressPatterns has the networks that patterns match.
func TestAddressPatterns(t *testing.T) {
	f := func(host, want string, level int) {
		t.Helper()
		rules, _, err := new(Rules).hostRules(host)
		if err != nil || len(rules) != 1 {
			t.Fatalf("%s: %d rules, %v", host, len(rules), err)
		}
		got := rules[0].prefix.String()
		if rules[0].mask.IsValid() {
			got += " " + rules[0].mask.String()
		}
		if got != want || rules[0].level != level {
			t.Errorf("%s is %s, level %d, want %s, level %d", host, got, rules[0].level, want, level)
		}
	}
	f("10.*", "10.0.0.0/8", 3)
	f("10.1.2.*", "10.1.2.0/24", 1)
	f("10.1*", "10.1.0.0/16", 2)
	f("fe80:*", "fe80::/16", 7)
	f("fe80::*", "fe80::/16", 6)
	f("fe80::1:*", "fe80::1:0/16 ffff::ffff:0", 5)
	f("1:2:3:4:5:6:7:*", "1:2:3:4:5:6:7:0/112", 1)
	f("::ffff:10.1.2.3", "::ffff:10.1.2.3/128", 0)
}

// TestPatternThatStartsWithGap has a pattern refused that C refuses.
func TestPatternThatStartsWithGap(t *testing.T) {
	for _, host := range []string{"::1:*", "::1:2:*"} {
		if notes, err := new(Rules).AddHost(host, Rule{Ops: OpAll}); err == nil || len(notes) != 1 || notes[0].Text != "__pmStringToSockAddr failure" {
			t.Errorf("%s: %v, %v", host, notes, err)
		}
	}
}

// TestPatternWithGap checks that "::" matches anything between the parts of a pattern, and
// that the rule added first decides among those with as many parts, as in C.
func TestPatternWithGap(t *testing.T) {
	f := func(text, client string, want Ops) {
		t.Helper()
		if ad, _ := rulesOf(t, text).Admit(&net.TCPAddr{IP: net.ParseIP(client)}, false); ad.Deny != want {
			t.Errorf("%q: %s is denied %b, want %b", text, client, ad.Deny, want)
		}
	}
	f(`disallow "fe80::1:*" : store;`, "fe80:2:3:4:5:6:1:8", OpStore)
	f(`disallow "fe80::1:*" : store;`, "fe80:2:3:4:5:6:7:8", 0)
	f(`disallow "fe80::1:*" : store;`, "10.1.2.3", 0)
	f(`disallow "fe80::*" : store; allow "fe80:1:*" : all;`, "fe80:1::7", OpStore)
	f(`allow "fe80:1:*" : all; disallow "fe80::*" : store;`, "fe80:1::7", 0)
}

// TestMappedAddress has an IPv4 address that is written as one of IPv6 deny, but not allow: in C its rule
// never applies.
func TestMappedAddress(t *testing.T) {
	f := func(text string, want Ops) {
		t.Helper()
		if ad, _ := rulesOf(t, text).Admit(&net.TCPAddr{IP: net.ParseIP("10.1.2.3")}, false); ad.Deny != want {
			t.Errorf("%q: 10.1.2.3 is denied %b, want %b", text, ad.Deny, want)
		}
	}
	f(`disallow "::ffff:10.1.2.3" : store;`, OpStore)
	f(`disallow "10.*" : all; allow "::ffff:10.1.2.3" : all;`, OpAll)
	f(`allow "10.1.2.3" : all; disallow "::ffff:10.1.2.3" : store;`, OpStore)
	f(`disallow "::ffff:10.1.2.4" : store;`, 0)
}

// TestOwnAddressesMatter has rules that do not name this host judge a client from a loopback address by the
// addresses of the host's name, which must be known by then.
func TestOwnAddressesMatter(t *testing.T) {
	for text, want := range map[string]bool{
		`disallow ":*" : store;`: true, `disallow ".*" : store;`: true, `disallow "10.*" : store;`: true,
		`disallow ".*" : store; disallow ":*" : all;`: true, `allow "*" : all, maximum 2 connections;`: true,
		`disallow "*" : store; allow "unix:" : fetch;`: false, `allow "unix:" : fetch;`: false,
	} {
		if a := rulesOf(t, text); (a.here != nil) != want {
			t.Errorf("%q: addresses %v are looked up, want %v", text, a.here, want)
		}
	}
	if a := Default(); a.here != nil {
		t.Errorf("the default rules look up %v", a.here)
	}
}

// TestNamelessHost checks that no rule for localhost counts where the host's name has no address, as in C:
// operations they allow are not allowed.
func TestNamelessHost(t *testing.T) {
	a := &Rules{here: loopback(), nameless: "nowhere"}
	for _, host := range []string{".*", ":*"} {
		if _, err := a.AddHost(host, Rule{Ops: OpAll, Deny: OpStore}); err != nil {
			t.Fatal(err)
		}
	}
	if notes, err := a.AddHost("localhost", Rule{Ops: OpAll}); err != ErrUnknownHost || len(notes) != 1 {
		t.Errorf("localhost: %v, %v", notes, err)
	}
	if notes, err := a.AddHost("local:*", Rule{Ops: OpAll}); err != nil || len(notes) != 1 {
		t.Errorf("local: %v, %v", notes, err)
	}
	for addr, want := range map[net.Addr]Ops{
		&net.TCPAddr{IP: net.ParseIP("127.0.0.1")}: OpStore, &net.TCPAddr{IP: net.ParseIP("::1")}: OpStore, &net.UnixAddr{}: 0,
	} {
		_, unix := addr.(*net.UnixAddr)
		if ad, _ := a.Admit(addr, unix); ad.Deny != want {
			t.Errorf("%v is denied %b, want %b", addr, ad.Deny, want)
		}
	}
}

// TestMyhostname finds the addresses of a host whose name only nss-myhostname knows.
func TestMyhostname(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]bool{
		"hosts: files dns\n": false,
		"passwd: files myhostname\nhosts: files # myhostname":                    false,
		"# hosts:\nhosts:      files myhostname resolve [!UNAVAIL=return] dns\n": true,
	} {
		path := filepath.Join(dir, "nsswitch.conf")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		addrs, err := lookupOwn("no-such-host.invalid", path)
		if got := err == nil; got != want || want && (len(addrs) == 0 || slices.Contains(addrs, netip.MustParseAddr("127.0.0.1"))) {
			t.Errorf("%q: %v, %v", text, addrs, err)
		}
	}
}

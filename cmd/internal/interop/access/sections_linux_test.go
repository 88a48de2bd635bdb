package access

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A sectionMaker writes random [access] sections. It leaves out rules that make the real
// collector read uninitialized memory (for the user or group "*" after others), and documented
// ones that it does not accept ("unlimited connections").
type sectionMaker struct {
	*rand.Rand
	accounts map[string]bool // kinds that have a rule
	meant    []*statement
}

func (m *sectionMaker) of(words ...string) string { return words[m.IntN(len(words))] }

func (m *sectionMaker) section() string {
	m.accounts, m.meant = map[string]bool{}, nil
	var b strings.Builder
	if m.IntN(3) == 0 { // as most do: first a denial for all, then rules for some
		s := &statement{kind: "host", names: [][]string{{"*"}, {".*"}, {`":*"`}, {".*", `":*"`}}[m.IntN(4)]}
		m.meant = append(m.meant, s)
		b.WriteString("disallow " + strings.Join(s.names, ", ") + " : " + m.of("all", "store", "fetch") + ";\n")
	}
	for range 1 + m.IntN(5) {
		b.WriteString(m.statement())
	}
	return b.String()
}

func (m *sectionMaker) statement() string {
	allow := m.of("allow", "disallow")
	kind := m.of("", "", "hosts ", "host ", "hosts ", "user ", "users ", "group ", "groups ")
	s := &statement{kind: cmp.Or(strings.TrimSuffix(strings.TrimSpace(kind), "s"), "host")}
	m.meant = append(m.meant, s)
	for range 1 + m.IntN(1+m.IntN(3)) {
		s.names = append(s.names, m.name(s.kind))
	}
	ops := m.of("all", "all", "all", "fetch", "store", "store", "fetch, store", "all except store", "all except fetch")
	if allow == "allow" && m.IntN(4) == 0 {
		s.max = []int{1, 2, 2, 3, 100}[m.IntN(5)]
		ops += fmt.Sprintf(", maximum %d connections", s.max)
	}
	text := allow + " " + kind + strings.Join(s.names, ", ") + " : " + ops + ";\n"
	if m.IntN(60) == 0 { // a mistake
		i := m.IntN(len(text) - 2)
		text = text[:i] + m.of(":", ",", ";", " all ", "x", "") + text[i+1:]
		if strings.Count(text, `"`)%2 != 0 {
			text = strings.ReplaceAll(text, `"`, "") // would continue into other lines
		}
	}
	return text
}

func (m *sectionMaker) name(kind string) string {
	switch kind {
	case "user":
		return m.account(kind, "root", "alice", "alice", "bob", "carol", "dave", "nobody", "*", "*")
	case "group":
		return m.account(kind, "root", "alice", "bob", "ops", "ops", "staff", "empty", "*", "*")
	}
	if m.IntN(60) == 0 {
		return m.of("10.300.*", "10.1.2.3.*", "1.*.2", `"fe8z:*"`, "10*", `"2001:db8:::*"`, `"::1:*"`)
	}
	return m.of("*", ".*", `":*"`, "localhost", `"local:*"`, `"unix:"`, `"unix:*"`, "own.one", "own.debian", "own.both",
		"alpha", "beta", "six", "both", "no-such-host", "127.0.0.1", "127.3.2.1", `"::1"`, "127.*", "10.*", "10.1.*", "10.1.2.*", "10.1.2.3", "10.9.9.9",
		"192.0.2.*", `"2001:*"`, `"2001:db8:*"`, `"2001:db8::*"`, `"2001:db8:1:*"`, `"2001::*"`, `"2001:db8::5"`, `"2001:0:5::1"`, `"2001::5:*"`,
		`"::*"`, `"::ffff:10.1.2.3"`, `"2001:db8:5:6:7:*"`, `"2001:db8:5:6:7:8:9:*"`, `"2001:db8::8:9:*"`)
}

// account returns a name of a kind, in most cases an existing one.
func (m *sectionMaker) account(kind string, names ...string) string {
	name := m.of(names...)
	if name == "*" && m.accounts[kind] {
		name = "alice"
	}
	if m.IntN(60) == 0 {
		name = "no-such-one"
	}
	m.accounts[kind] = true
	return name
}

// A visit is one client: its address, its account, and whether it stays.
type visit struct {
	unix  bool
	from  string // an address, or the number of a user
	user  int    // by the Unix socket: its index in users
	login string // "" if it does not log in
	wrong bool   // has a wrong password
	scram bool
	stays bool // to the end of the section, or until a later visit ends it
	ends  int  // the number of the visit that ends before this one, -1 if there is not one
}

func (v *visit) String() string {
	s := "tcp from " + v.from
	if v.unix {
		s = "unix as " + users[v.user].name
	}
	if v.login != "" {
		s += ", logs in as " + v.login
		if v.scram {
			s += " by scram"
		}
		if v.wrong {
			s += " with a wrong password"
		}
	}
	if v.stays {
		s += ", stays"
	}
	if v.ends >= 0 {
		s += fmt.Sprintf(", after the end of %d", v.ends)
	}
	return s
}

// visits makes the clients of a collector with a section.
func (m *sectionMaker) visits() []*visit {
	accounts := len(m.accounts) > 0
	var list []*visit
	for i := range 8 + m.IntN(5) {
		v := &visit{from: addresses[m.IntN(len(addresses))], unix: m.IntN(3) == 0, user: m.IntN(len(users)), stays: m.IntN(2) == 0, ends: -1}
		if !v.unix && accounts && m.IntN(3) > 0 || m.IntN(8) == 0 {
			v.login = logins[m.IntN(len(logins))]
			v.wrong, v.scram = m.IntN(12) == 0, m.IntN(6) == 0
		}
		if i > 0 && m.IntN(4) == 0 { // repeats the visit before
			again := *list[i-1]
			again.stays = v.stays
			v = &again
			v.ends = -1
		}
		if i > 2 && m.IntN(4) == 0 {
			v.ends = m.IntN(i)
		}
		list = append(list, v)
	}
	return list
}

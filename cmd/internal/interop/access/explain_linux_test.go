package access

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// A statement is a statement of a section, as intended.
type statement struct {
	kind  string // host, user or group
	names []string
	max   int // 0 if there is no limit
}

// account is the account of a client, as far as the collector can know it.
type account struct {
	known    bool
	uid, gid int
}

// lines returns the fields of the lines of a file such as passwdFile.
func lines(file string) (list [][]string) {
	for line := range strings.Lines(file) {
		list = append(list, strings.Split(strings.TrimSpace(line), ":"))
	}
	return list
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// accountOf returns the account of a visitor. Over the Unix socket the kernel identifies it, and a
// login does not change it where there are rules for accounts.
func accountOf(v *visit) account {
	if v.unix {
		return account{true, users[v.user].uid, users[v.user].gid}
	}
	var who account
	for _, f := range lines(passwdFile) {
		if f[0] == v.login {
			who = account{true, number(f[2]), number(f[3])}
		}
	}
	return who
}

// namesAccount reports whether a rule for a user or group applies to a client. others
// are the names with rules of that kind, which precede "*".
func namesAccount(kind, name string, who account, others []string) bool {
	if !who.known {
		return false
	}
	if name == "*" {
		return !slices.ContainsFunc(others, func(o string) bool { return o != "*" && namesAccount(kind, o, who, nil) })
	}
	if kind == "user" {
		for _, f := range lines(passwdFile) {
			if f[0] != name {
				continue
			}
			if number(f[2]) == who.uid || number(f[3]) == who.gid {
				return true
			}
		}
		for _, f := range lines(groupFile) {
			if number(f[2]) == who.gid && slices.Contains(strings.Split(f[3], ","), name) {
				return true
			}
		}
		return false
	}
	for _, f := range lines(groupFile) {
		if f[0] != name {
			continue
		}
		if number(f[2]) == who.gid {
			return true
		}
		for _, u := range lines(passwdFile) {
			if number(u[2]) == who.uid && (slices.Contains(strings.Split(f[3], ","), u[0]) || u[3] == f[2]) {
				return true
			}
		}
	}
	return false
}

// ownAddresses are those by which a client from a loopback address is judged.
func ownAddresses(host string) (list []netip.Addr) {
	for line := range strings.Lines(hostsFile) {
		if f := strings.Fields(line); f[1] == host || host == "own.none" && f[1] == "localhost" {
			list = append(list, netip.MustParseAddr(f[0]))
		}
	}
	return append(list, netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback())
}

// namesHost reports whether a rule for a host is about a client. A pattern is compared as a text, by its first part.
func namesHost(name string, v *visit, host string) bool {
	switch {
	case name == "*":
		return true
	case strings.HasPrefix(name, "unix:"):
		return v.unix
	case strings.HasPrefix(name, "local:"):
		if v.unix {
			return true
		}
		name = "localhost"
	}
	if v.unix {
		return false
	}
	ids := []netip.Addr{netip.MustParseAddr(v.from)}
	if ids[0].IsLoopback() {
		ids = append(ids, ownAddresses(host)...)
	}
	var addrs []netip.Addr
	switch {
	case name == "localhost":
		addrs = ownAddresses(host)
	case strings.HasSuffix(name, "*"):
		first, _, _ := strings.Cut(strings.Trim(strings.TrimSuffix(name, "*"), ".:"), ":")
		first, _, _ = strings.Cut(first, ".")
		return slices.ContainsFunc(ids, func(id netip.Addr) bool {
			return id.Is6() == strings.Contains(name, ":") && (first == "" || strings.HasPrefix(id.String(), first))
		})
	default:
		for line := range strings.Lines(hostsFile) {
			if f := strings.Fields(line); f[1] == name {
				addrs = append(addrs, netip.MustParseAddr(f[0]))
			}
		}
		if ip, err := netip.ParseAddr(name); err == nil {
			addrs = append(addrs, ip.Unmap())
		}
	}
	return slices.ContainsFunc(ids, func(id netip.Addr) bool { return slices.Contains(addrs, id) })
}

// about reports whether a rule of a kind for a name is about a client.
func about(kind, name string, v *visit, host string, all []*statement) bool {
	if kind == "host" {
		return namesHost(name, v, host)
	}
	var others []string
	for _, o := range all {
		if o.kind == kind {
			others = append(others, o.names...)
		}
	}
	return namesAccount(kind, name, accountOf(v), others)
}

// full reports whether a limit for a client is reached, with those present. Each name has a limit
// of its own, and local: is two of them.
func full(all []*statement, v *visit, host string, present []*visit) bool {
	for _, s := range all {
		if s.max == 0 {
			continue
		}
		for _, name := range s.names {
			name = strings.Trim(name, `"`)
			if strings.HasPrefix(name, "local:") {
				name = "localhost"
				if v.unix {
					name = "unix:"
				}
			}
			if !about(s.kind, name, v, host, all) {
				continue
			}
			n := 0
			for _, p := range present {
				if about(s.kind, name, p, host, all) {
					n++
				}
			}
			if n >= s.max {
				return true
			}
		}
	}
	return false
}

// explain names the known difference, one of docs/differences.md, by which a row differs, or returns "".
func explain(got, want verdict, all []*statement, v *visit, host string, present []*visit) string {
	limited := full(all, v, host, present)
	switch {
	case want.Refused && want.Dial == pcp.ErrConnLimit && !limited:
		// By the section there is room: it counts clients that have gone.
		return "the real one counts connections that are not there"
	case got.may()&^want.may() != 0:
		return ""
	case got.Refused && got.Dial == pcp.ErrConnLimit && limited:
		return "ours keeps a limit that the real one does not"
	case got.Refused && want.Refused && (got.Dial == pcp.ErrConnLimit || want.Dial == pcp.ErrConnLimit):
		return "refused for another reason than a limit"
	case v.unix:
		return ""
	}
	from := netip.MustParseAddr(v.from)
	switch {
	case from.IsLoopback():
		return "ours judges loopback addresses by more rules"
	case from.Is6() && !namesIPv6(all):
		return "ours judges IPv6 by the rules for IPv4"
	case namesMapped(all):
		return "ours keeps a rule for an IPv4 address in the form of IPv6"
	}
	return ""
}

// namesIPv6 reports whether there is a rule for an address of IPv6.
func namesIPv6(all []*statement) bool {
	for _, s := range all {
		for _, name := range s.names {
			name = strings.Trim(name, `"`)
			switch {
			case s.kind != "host":
			case name == "*", name == "six", name == "both", name == "own.both":
				return true
			case strings.HasPrefix(name, "unix:"), strings.HasPrefix(name, "local:"), name == "localhost":
			case strings.Contains(name, ":"):
				return true
			}
		}
	}
	return false
}

// namesMapped reports whether there is a rule for an IPv4 address in the form of IPv6.
func namesMapped(all []*statement) bool {
	return slices.ContainsFunc(all, func(s *statement) bool {
		return slices.ContainsFunc(s.names, func(name string) bool { return strings.Contains(name, "::ffff:") })
	})
}

package pmcd

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/go-pcp/pcp"
)

// Ops is a set of operations that a client can be denied (PMCD_OP_*).
type Ops uint8

// Operations.
const (
	OpFetch Ops = 1 << 0 // all that reads
	OpStore Ops = 1 << 1
	OpAll       = OpFetch | OpStore
)

// Access holds the rules of an [access] section: which hosts, users and groups
// may do what. Of hosts, for each operation the rule that names the client most
// closely counts; where none does, the operation is allowed. Of users and
// groups all rules that match count. The zero Access allows everything.
type Access struct {
	rules  []*hostRule // most general last
	users  accountList
	groups accountList
	mu     sync.Mutex // guards the rules' counts
}

// A limit counts the connections to which a rule applies.
type limit struct{ max, cur int } // max 0 is no limit

func (l *limit) full() bool { return l.max > 0 && l.cur >= l.max }

// A hostRule is one row of the host access list.
type hostRule struct {
	name   string // as the log shows it
	unix   bool
	prefix netip.Prefix
	spec   Ops // the operations that the rule is about
	deny   Ops // and of them those that are denied
	limit
}

// DefaultAccess lets everybody read, and those store who come by a Unix socket,
// whose permissions say who that is. Of a TCP connection from this host it is
// not known which user made it.
func DefaultAccess() *Access {
	a := new(Access)
	for _, r := range []struct {
		host string
		deny Ops
		spec Ops
	}{{".*", OpStore, OpStore}, {":*", OpStore, OpStore}, {"unix:", 0, OpAll}} {
		if err := a.add(r.host, r.spec, r.deny, 0); err != nil {
			panic("pmcd: default access: " + err.Error())
		}
	}
	return a
}

// add adds a rule for a host as pmcd.conf names it.
func (a *Access) add(host string, spec, deny Ops, maximum int) error {
	rules, err := hostRules(host)
	if err != nil {
		return err
	}
	for _, r := range rules {
		r.spec, r.deny, r.max = spec, deny&spec, maximum
		i := slices.IndexFunc(a.rules, func(o *hostRule) bool { return o.unix == r.unix && o.prefix == r.prefix })
		if i < 0 {
			a.rules = append(a.rules, r)
			continue
		}
		have := a.rules[i]
		if clash(have.spec, have.deny, have.max, r.spec, r.deny, r.max) {
			return fmt.Errorf("rules for %s contradict each other: %w", host, pcp.ErrGeneric)
		}
		have.spec |= r.spec
		have.deny |= r.deny
		have.max = max(have.max, r.max)
	}
	slices.SortStableFunc(a.rules, func(x, y *hostRule) int { return cmp.Compare(y.closeness(), x.closeness()) })
	return nil
}

// closeness orders rules; it compares only those that can match one client.
func (r *hostRule) closeness() int {
	if r.unix {
		return 0
	}
	return r.prefix.Bits()
}

// hostRules turns a host name or pattern into addresses: "*" is everybody,
// ".*" IPv4, ":*" IPv6, "local:" and "unix:" this host, "10.1.*" and "fe80:*"
// networks.
func hostRules(host string) ([]*hostRule, error) {
	ipv4 := &hostRule{name: ".*", prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0)}
	ipv6 := &hostRule{name: ":*", prefix: netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
	bad := func(why string) ([]*hostRule, error) {
		return nil, fmt.Errorf("host %q: %s", host, why)
	}
	unix := &hostRule{name: "unix:", unix: true}
	switch {
	case host == "*":
		return []*hostRule{ipv4, ipv6, unix}, nil
	case host == ".*":
		return []*hostRule{ipv4}, nil
	case host == ":*":
		return []*hostRule{ipv6}, nil
	case strings.HasPrefix(host, "unix:"):
		return []*hostRule{unix}, nil
	case strings.HasPrefix(host, "local:"):
		local := []*hostRule{unix}
		for _, addr := range []string{"127.0.0.1/32", "::1/128"} {
			local = append(local, &hostRule{name: "localhost", prefix: netip.MustParsePrefix(addr)})
		}
		return local, nil
	case strings.Contains(host, "*"):
		return wildcard(host, bad)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap().WithZone("")
		return []*hostRule{{name: host, prefix: netip.PrefixFrom(addr, addr.BitLen())}}, nil
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return nil, fmt.Errorf("host %q: %w", host, err)
	}
	var rules []*hostRule
	for _, ip := range ips {
		if addr, ok := netip.AddrFromSlice(ip); ok {
			addr = addr.Unmap()
			rules = append(rules, &hostRule{name: host, prefix: netip.PrefixFrom(addr, addr.BitLen())})
		}
	}
	return rules, nil
}

// wildcard parses a network, whose last part is "*".
func wildcard(host string, bad func(string) ([]*hostRule, error)) ([]*hostRule, error) {
	head, ok := strings.CutSuffix(host, "*")
	if !ok || strings.Contains(head, "*") {
		return bad("the wildcard must be last")
	}
	var prefix netip.Prefix
	switch {
	case strings.HasSuffix(head, ".") && !strings.Contains(head, ":"):
		n := strings.Count(head, ".")
		if n > 3 {
			return bad("too many parts")
		}
		addr, err := netip.ParseAddr(head + strings.Repeat("0.", 3-n) + "0")
		if err != nil {
			return bad("not an IPv4 network")
		}
		prefix = netip.PrefixFrom(addr, 8*n)
	case strings.HasSuffix(head, ":"):
		bits := 0
		text := head
		if before, after, ok := strings.Cut(head, "::"); ok {
			// What "::" leaves out cannot be told from what the wildcard
			// does, so it stands for all that is not written.
			bits = 128 - 16
			if after == "" {
				return bad("\"::\" next to the wildcard")
			}
			text = before + "::" + strings.TrimSuffix(after, ":") + ":0"
		} else {
			n := strings.Count(head, ":")
			if n > 7 {
				return bad("too many parts")
			}
			bits = 16 * n
			text = strings.TrimSuffix(head, ":") + "::"
			if n == 7 {
				text = head + "0"
			}
		}
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return bad("not an IPv6 network")
		}
		prefix = netip.PrefixFrom(addr, bits)
	default:
		return bad("a wildcard stands for whole parts of an address")
	}
	return []*hostRule{{name: host, prefix: prefix.Masked()}}, nil
}

// An admission is what a client may not do, and the rules that count it.
type admission struct {
	deny    Ops
	counted []*limit
}

// count has a rule with a limit count the client. The mutex of Access is held.
func (ad *admission) count(l *limit) {
	if l.max > 0 {
		l.cur++
		ad.counted = append(ad.counted, l)
	}
}

// admit decides on a connection. The error is pcp.ErrPermission if nothing is
// allowed, pcp.ErrConnLimit if there are too many already.
func (a *Access) admit(addr net.Addr, unix bool) (admission, error) {
	var ip netip.Addr
	if !unix {
		if tcp, ok := addr.(*net.TCPAddr); ok {
			ip = tcp.AddrPort().Addr().Unmap().WithZone("")
		}
	}
	var ad admission
	var closest *hostRule
	var matching []*hostRule
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range slices.Backward(a.rules) {
		if r.unix != unix || !unix && !r.prefix.Contains(ip) {
			continue
		}
		ad.deny = ad.deny&^r.spec | r.deny
		closest = r
		matching = append(matching, r)
	}
	switch {
	case ad.deny == OpAll:
		return ad, pcp.ErrPermission
	case closest != nil && closest.full():
		return ad, pcp.ErrConnLimit
	}
	for _, r := range matching {
		ad.count(&r.limit)
	}
	return ad, nil
}

// leave undoes what admit counted.
func (a *Access) leave(ad admission) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range ad.counted {
		r.cur--
	}
}

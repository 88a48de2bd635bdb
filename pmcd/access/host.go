package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
)

// A Note is a log message about a rule.
type Note struct {
	Level slog.Level
	Text  string
}

// ErrUnknownHost is the error of a rule for a host that has no address. The
// collector continues without such a rule, as the name service may be down.
const ErrUnknownHost = -pcp.Error(syscall.EHOSTUNREACH)

// ErrNotLookedUp is the error of a rule for a host that is not looked up, see
// [Unresolved].
var ErrNotLookedUp = errors.New("not looked up")

// resolveTimeout bounds how long the name service has for one host.
const resolveTimeout = 10 * time.Second

// lookupHost returns the addresses of a host, each once.
func lookupHost(host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	for _, ip := range ips {
		if ip = ip.Unmap().WithZone(""); !slices.Contains(addrs, ip) {
			addrs = append(addrs, ip)
		}
	}
	if len(addrs) == 0 {
		return nil, errors.New("no address")
	}
	return addrs, nil
}

// loopback are the addresses by which this host always reaches itself.
func loopback() []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
}

// resolveHere looks up this host's own addresses, which rules for localhost are about
// (access.c: getmyhostid). If its name has no address, clients from a loopback address are
// judged by those of localhost, but there are no rules for localhost.
func (a *Rules) resolveHere() {
	if a.here != nil {
		return
	}
	if a.syntax {
		a.here = loopback()
		return
	}
	name, err := os.Hostname()
	if err == nil {
		a.here, err = lookupOwn(name, "/etc/nsswitch.conf")
	}
	if err != nil {
		a.nameless = cmp.Or(name, "localhost")
		a.here, err = lookupHost("localhost")
	}
	if err != nil {
		a.here = loopback()
	}
}

// lookupOwn returns the addresses of this host's name. Where the C library asks nss-myhostname, which
// Go does not know, they are those of the network interfaces.
func lookupOwn(name, nsswitch string) ([]netip.Addr, error) {
	addrs, err := lookupHost(name)
	if err == nil || !usesMyhostname(nsswitch) {
		return addrs, err
	}
	list, errAddrs := net.InterfaceAddrs()
	if errAddrs != nil {
		return nil, errAddrs
	}
	for _, at := range list {
		if network, ok := at.(*net.IPNet); ok && !network.IP.IsLoopback() {
			if ip, ok := netip.AddrFromSlice(network.IP); ok && !slices.Contains(addrs, ip.Unmap()) {
				addrs = append(addrs, ip.Unmap())
			}
		}
	}
	if len(addrs) == 0 {
		addrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 2}), netip.IPv6Loopback()}
	}
	return addrs, nil
}

// usesMyhostname reports whether hosts are looked up by nss-myhostname(8).
func usesMyhostname(nsswitch string) bool {
	b, err := os.ReadFile(nsswitch)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "#")
		if db, sources, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(db) == "hosts" {
			return slices.Contains(strings.Fields(sources), "myhostname")
		}
	}
	return false
}

// hostRules turns a host name or pattern into a rule for each address: "*" is
// everybody, ".*" IPv4, ":*" IPv6, "local:" and "unix:" this host, "10.1.*" and
// "fe80:*" networks.
func (a *Rules) hostRules(host string) (rules []*hostRule, notes []Note, err error) {
	ipv4 := &hostRule{name: ".*", prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0), level: 4}
	ipv6 := &hostRule{name: ":*", prefix: netip.PrefixFrom(netip.IPv6Unspecified(), 0), level: 8}
	if host == "*" {
		return []*hostRule{ipv4, ipv6, unixRule()}, nil, nil
	}
	if i := strings.IndexByte(host, '*'); i >= 0 && i < len(host)-1 {
		return nil, []Note{{slog.LevelError, fmt.Sprintf("Wildcard in host pattern \"%s\" is not at the end", host)}}, errClash
	}
	name, path, sep := strings.Cut(host, ":")
	switch {
	case sep && (name == "local" || name == "unix"):
		if strings.TrimSuffix(strings.TrimLeft(path, "/"), "*") != "" {
			notes = append(notes, Note{slog.LevelWarn, fmt.Sprintf("Ignoring the path in host pattern \"%s\"", path)})
		}
		rules = append(rules, unixRule())
		if name == "unix" {
			return rules, notes, nil
		}
		host = "localhost"
	case strings.HasSuffix(host, "*"):
		r, problem := wildcard(host)
		if problem != "" {
			return nil, []Note{{slog.LevelError, problem}}, errClash
		}
		return []*hostRule{r}, nil, nil
	}
	var addrs []netip.Addr
	if strings.EqualFold(host, "localhost") {
		a.resolveHere()
		addrs = a.here
		if a.nameless != "" {
			notes = append(notes, unknownHost(a.nameless))
			if len(rules) > 0 {
				return rules, notes, nil
			}
			return nil, notes, ErrUnknownHost
		}
	} else if ip, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{ip.WithZone("")}
	} else if a.syntax {
		return nil, notes, ErrNotLookedUp
	} else if addrs, err = lookupHost(host); err != nil {
		return nil, []Note{unknownHost(host)}, ErrUnknownHost
	}
	for _, ip := range addrs {
		rules = append(rules, &hostRule{name: host, prefix: netip.PrefixFrom(ip, ip.BitLen())})
	}
	return rules, notes, nil
}

func unknownHost(name string) Note {
	return Note{slog.LevelError, fmt.Sprintf("__pmGetAddrInfo(%s), Unknown host", name)}
}

func unixRule() *hostRule { return &hostRule{name: "unix:", unix: true, level: 1} }

// wildcard parses a network, which ends with "*". The messages are those of
// the C library (access.c: parseWildCard).
func wildcard(host string) (r *hostRule, problem string) {
	switch {
	case strings.Contains(host, ":"):
		return wildcardIPv6(host)
	case strings.Contains(host, "."):
		return wildcardIPv4(host)
	}
	return nil, "Bad IP address wildcard, " + host
}

// wildcardIPv4 parses parts with dots between them. The last one is all of its
// part even without a dot before the "*", and an empty one is 0, as in C.
func wildcardIPv4(host string) (r *hostRule, problem string) {
	head := strings.TrimSuffix(host, "*")
	if head == "." {
		head = ""
	}
	var ip [4]byte
	n := 0
	for head != "" {
		var part string
		part, head, _ = strings.Cut(head, ".")
		number, err := strconv.ParseUint(cmp.Or(part, "0"), 10, 8)
		if err != nil || n == 0 && part == "" {
			return nil, "Bad IP address wildcard, " + host
		}
		if n == 3 {
			return nil, fmt.Sprintf("Too many dots in host pattern \"%s\"", host)
		}
		ip[n] = byte(number)
		n++
	}
	return &hostRule{name: host, prefix: netip.PrefixFrom(netip.AddrFrom4(ip), 8*n), level: 4 - n}, ""
}

// wildcardIPv6 parses parts with colons between them. "::" before the "*" leaves out the
// rest as the "*" does. Elsewhere it matches anything, as in C, and the "*" the last
// part.
func wildcardIPv6(host string) (r *hostRule, problem string) {
	head := strings.TrimSuffix(host, "*")
	if head == ":" || head == "::" {
		return &hostRule{name: host, prefix: netip.PrefixFrom(netip.IPv6Unspecified(), 0), level: 8}, ""
	}
	if strings.HasPrefix(head, ":") && !strings.HasPrefix(head, "::") {
		return nil, "Bad IPv6 address wildcard, " + host
	}
	var parts []uint16
	gap, n := -1, 0 // the place of "::" among the parts, and the count of C
	rest := strings.TrimPrefix(head, ":")
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, ":")
		if part == "" {
			if gap >= 0 {
				return nil, fmt.Sprintf("Too many empty regions in host pattern \"%s\"", host)
			}
			gap = len(parts)
		} else {
			number, err := strconv.ParseUint(part, 16, 16)
			if err != nil {
				return nil, "Bad IPv6 address wildcard, " + host
			}
			parts = append(parts, uint16(number))
		}
		if n++; n > 7 {
			return nil, fmt.Sprintf("Too many colons in host pattern \"%s\"", host)
		}
	}
	if gap == 0 && len(parts) > 0 {
		return nil, "__pmStringToSockAddr failure" // C makes a text of it that is not an address
	}
	r = &hostRule{name: host, level: 8 - n}
	var ip, mask [16]byte
	bits := 16 * len(parts)
	for i, part := range parts {
		at := i
		if gap >= 0 && i >= gap {
			at, bits = 7-len(parts)+i, 16*gap
		}
		ip[2*at], ip[2*at+1] = byte(part>>8), byte(part)
		mask[2*at], mask[2*at+1] = 0xff, 0xff
	}
	if bits < 16*len(parts) {
		r.mask = netip.AddrFrom16(mask)
	}
	r.prefix = netip.PrefixFrom(netip.AddrFrom16(ip), bits)
	return r, ""
}

// contains reports whether the rule names the host that has an address.
func (r *hostRule) contains(ip netip.Addr) bool {
	if !r.mask.IsValid() {
		return r.prefix.Contains(ip)
	}
	if !ip.Is6() || ip.Is4In6() {
		return false
	}
	at, mask, want := ip.As16(), r.mask.As16(), r.prefix.Addr().As16()
	for i := range at {
		if at[i]&mask[i] != want[i] {
			return false
		}
	}
	return true
}

// A judgement is an ordered list of rules, in tiers: the rules of the first tier that are about an
// operation decide on it, and what any of them denies is denied.
type judgement [][]*hostRule

// deny returns the denied operations.
func (j judgement) deny() (deny Ops) {
	var decided Ops
	for _, tier := range j {
		var spec, no Ops
		for _, r := range tier {
			spec |= r.Ops
			no |= r.Deny
		}
		deny |= no &^ decided
		decided |= spec
	}
	return deny
}

// judge applies the rules for addresses of the kind of ip to the host that has it, in separate tiers:
// those with the fewest parts left open first, then those that were added first.
func (a *Rules) judge(ip netip.Addr) (j judgement) {
	for _, r := range a.rules {
		if !r.unix && r.contains(ip) {
			j = append(j, []*hostRule{r})
		}
	}
	return j
}

// judgements returns the judgements of rules on a client. An operation denied by any of them is denied:
// none may admit a client that the C collector refuses.
func (a *Rules) judgements(ip netip.Addr, unix bool) (list []judgement) {
	if unix {
		var j judgement
		for _, r := range a.rules {
			if r.unix {
				j = append(j, []*hostRule{r})
			}
		}
		return []judgement{j}
	}
	// In C a client from one of the two loopback addresses has the addresses of the host's name instead.
	if !slices.Contains(loopback(), ip) {
		list = append(list, a.judge(ip))
	} else {
		for _, here := range a.here {
			list = append(list, a.judge(here))
		}
	}
	switch {
	case ip.IsLoopback():
		list = append(list, a.judgeHere(ip))
	case ip.Is6() && !slices.ContainsFunc(a.rules, func(r *hostRule) bool { return r.prefix.Addr().Is6() }):
		list = append(list, a.judge(netip.IPv4Unspecified()))
	case ip.Is4():
		mapped := netip.AddrFrom16(ip.As16())
		for _, r := range a.rules {
			if r.prefix.Addr() == mapped && r.Deny != 0 {
				list = append(list, judgement{{r}})
			}
		}
	}
	return list
}

// The tiers of rules that name an address of the client itself, networks of
// its own kind of address, and networks of the other kind. Networks with a
// longer prefix are closer.
const (
	tierSelf    = 0
	tierNetwork = 10_000
	tierOther   = 20_000
)

// judgeHere has rules for any address of this host judge a client that came from it: first those that name an
// address, then networks of the client's kind of address. ::1 is judged by networks of IPv4 last.
func (a *Rules) judgeHere(ip netip.Addr) (j judgement) {
	ids := slices.Concat([]netip.Addr{ip}, loopback(), a.here)
	tiers := map[int][]*hostRule{}
	for _, r := range a.rules {
		if r.unix || !slices.ContainsFunc(ids, r.contains) {
			continue
		}
		tier := tierSelf
		switch {
		case r.prefix.IsSingleIP():
		case r.prefix.Addr().Is4() == ip.Is4():
			tier = tierNetwork - 10*r.prefix.Bits() + r.level
		case ip.Is6():
			tier = tierOther - 10*r.prefix.Bits() + r.level
		default:
			continue
		}
		tiers[tier] = append(tiers[tier], r)
	}
	for _, tier := range slices.Sorted(maps.Keys(tiers)) {
		j = append(j, tiers[tier])
	}
	return j
}

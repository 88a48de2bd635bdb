package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// A Note is what the log says of a rule.
type Note struct {
	Level slog.Level
	Text  string
}

// ErrUnknownHost is the error of a rule for a host that has no address. The
// collector goes on without such a rule, as the name service may be down.
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

// resolveHere looks up this host's own addresses, which rules for localhost
// are about (access.c: getmyhostid).
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
		a.here, err = lookupHost(name)
	}
	if err != nil {
		a.here, err = lookupHost("localhost")
	}
	if err != nil {
		a.here = loopback()
	}
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
	} else if ip, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{ip.Unmap().WithZone("")}
	} else if a.syntax {
		return nil, notes, ErrNotLookedUp
	} else if addrs, err = lookupHost(host); err != nil {
		return nil, []Note{{slog.LevelError, fmt.Sprintf("__pmGetAddrInfo(%s), Unknown host", host)}}, ErrUnknownHost
	}
	for _, ip := range addrs {
		rules = append(rules, &hostRule{name: host, prefix: netip.PrefixFrom(ip, ip.BitLen())})
	}
	return rules, notes, nil
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

// wildcardIPv6 parses parts with colons between them. "::" before the "*"
// leaves out what follows as the "*" does. Elsewhere it stands for zeros, and
// the "*" for the last part (in C it then stands for anything).
func wildcardIPv6(host string) (r *hostRule, problem string) {
	head := strings.TrimSuffix(host, "*")
	if head == ":" || head == "::" {
		return &hostRule{name: host, prefix: netip.PrefixFrom(netip.IPv6Unspecified(), 0), level: 8}, ""
	}
	if strings.HasPrefix(head, ":") && !strings.HasPrefix(head, "::") {
		return nil, "Bad IPv6 address wildcard, " + host
	}
	var parts []uint16
	gap, n := -1, 0 // where "::" is among the parts, and what C counts
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
	bits := 16 * len(parts)
	var ip [16]byte
	at := func(i int, part uint16) { ip[2*i], ip[2*i+1] = byte(part>>8), byte(part) }
	for i, part := range parts {
		if gap >= 0 && i >= gap {
			at(7-len(parts)+i, part)
			bits = 128 - 16
		} else {
			at(i, part)
		}
	}
	return &hostRule{name: host, prefix: netip.PrefixFrom(netip.AddrFrom16(ip), bits), level: 8 - n}, ""
}

// A match is a rule that names a client. A lower rank is closer; rules of one
// rank count together, and what any of them denies is denied.
type match struct {
	*hostRule
	rank int
}

// The ranks of rules that name an address of the client itself, networks of
// its own kind of address, and networks of the other kind. Networks with a
// longer prefix are closer.
const (
	rankSelf    = 0
	rankNetwork = 10_000
	rankOther   = 20_000
)

// matching returns the rules that name a client, the closest first.
func (a *Rules) matching(ip netip.Addr, unix bool) []match {
	ids := []netip.Addr{ip}
	other := false // rules for IPv4 count for IPv6, too
	if ip.IsLoopback() {
		ids = slices.Concat(ids, loopback(), a.here)
		other = ip.Is6()
	} else if ip.Is6() && !slices.ContainsFunc(a.rules, func(r *hostRule) bool { return r.prefix.Addr().Is6() }) {
		ids = append(ids, netip.IPv4Unspecified())
		other = true
	}
	var found []match
	for _, r := range a.rules {
		if r.unix != unix || !unix && !slices.ContainsFunc(ids, r.prefix.Contains) {
			continue
		}
		m := match{r, rankSelf}
		switch {
		case unix, r.prefix.IsSingleIP():
		case r.prefix.Addr().Is4() == ip.Is4():
			m.rank = rankNetwork - 10*r.prefix.Bits() + r.level
		case other:
			m.rank = rankOther - 10*r.prefix.Bits() + r.level
		default:
			continue
		}
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(x, y match) int { return x.rank - y.rank })
	return found
}

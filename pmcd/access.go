package pmcd

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
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
//
// A client from a loopback address is this host: rules for any address of this
// host are rules for it. A client by IPv6 that no rule for IPv6 could name is
// judged by those for IPv4.
type Access struct {
	rules  []*hostRule  // most general last
	here   []netip.Addr // the addresses of this host's name
	syntax bool         // no host is looked up; those that would be have no rules
	users  accountList
	groups accountList
	mu     sync.Mutex // guards the rules' counts, and last

	// last are the rules that name the client that came last: clients that come
	// often come from one place.
	last struct {
		ip   netip.Addr
		unix bool
		have bool
		list []match
	}
}

// A limit counts the connections to which a rule applies.
type limit struct{ max, cur int } // max 0 is no limit

func (l *limit) full() bool { return l.max > 0 && l.cur >= l.max }

// A hostRule is one row of the host access list.
type hostRule struct {
	name   string // as the log shows it
	unix   bool
	prefix netip.Prefix
	level  int // how many parts of the address the log shows as left open; 0 is one host
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
	_, err := a.addHost(host, spec, deny, maximum)
	return err
}

// addHost adds a rule for each address of a host. One that contradicts an
// earlier rule for the same address is left out, and a note says so. If
// none is left, or the host cannot be a host, that is an error; if the host
// has no address it is errUnknownHost.
func (a *Access) addHost(host string, spec, deny Ops, maximum int) (notes []note, err error) {
	rules, notes, err := a.hostRules(host)
	if err != nil {
		return notes, err
	}
	added := 0
	for _, r := range rules {
		r.spec, r.deny, r.max = spec, deny&spec, maximum
		i := slices.IndexFunc(a.rules, func(o *hostRule) bool {
			return o.unix == r.unix && o.prefix.Addr() == r.prefix.Addr() && o.level == r.level
		})
		if i < 0 {
			a.insert(r)
			added++
			continue
		}
		have := a.rules[i]
		if clash(have.spec, have.deny, have.max, r.spec, r.deny, r.max) {
			told := note{slog.LevelError, fmt.Sprintf("Permission clash for %s [spec:%x deny:%x] with earlier statement for %s [spec:%x deny:%x]",
				r.name, r.spec, deny, have.name, have.spec, have.deny)}
			if !slices.Contains(notes, told) { // a host can have several addresses
				notes = append(notes, told)
			}
			continue
		}
		have.spec |= r.spec
		have.deny |= r.deny
		have.max = max(have.max, r.max)
		added++
	}
	if added == 0 {
		return notes, errClash
	}
	return notes, nil
}

// insert puts a rule behind those of its level and below, as the log lists them.
func (a *Access) insert(r *hostRule) {
	i := slices.IndexFunc(a.rules, func(o *hostRule) bool { return o.level > r.level })
	if i < 0 {
		i = len(a.rules)
	}
	a.rules = slices.Insert(a.rules, i, r)
	a.last.have = false
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
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := &a.last; !last.have || last.ip != ip || last.unix != unix {
		last.ip, last.unix, last.have, last.list = ip, unix, true, a.matching(ip, unix)
	}
	matching := a.last.list
	var decided Ops
	for rest := matching; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].rank == rest[0].rank {
			n++
		}
		var spec, deny Ops
		for _, m := range rest[:n] {
			spec |= m.spec
			deny |= m.deny
		}
		ad.deny |= deny &^ decided
		decided |= spec
		rest = rest[n:]
	}
	if ad.deny == OpAll {
		return ad, pcp.ErrPermission
	}
	for _, m := range matching {
		if m.rank == matching[0].rank && m.full() {
			return ad, pcp.ErrConnLimit
		}
	}
	for _, m := range matching {
		ad.count(&m.limit)
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

package access

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

// Rules are the permissions of hosts, users and groups, as in an [access]
// section. For each operation the rule that names the client's host most closely
// counts; without such a rule the operation is allowed. All matching rules for
// users and groups count. The zero Rules allow everything. Several goroutines
// may evaluate Rules at a time, but no rules may be added then.
//
// A client from a loopback address is this host: it is judged by the addresses of the host's name, and
// operations denied by rules for a loopback address are denied as well. A client that connects by IPv6 is
// also judged by the rules for IPv4 if there are none for IPv6.
type Rules struct {
	ops    Ops          // all operations; 0 means OpAll
	rules  []*hostRule  // most general last
	here   []netip.Addr // the addresses of this host's name
	syntax bool         // no host is looked up; those that would be have no rules
	users  accountList
	groups accountList
	mu     sync.Mutex // guards the rules' counts, and last

	nameless string // this host's name, if it has no address

	// last are the rules that name the last client: consecutive clients are often
	// from one place.
	last struct {
		ip   netip.Addr
		unix bool
		have bool
		list []judgement
	}
}

// A Rule allows or denies operations to whom it is added for.
type Rule struct {
	Ops  Ops // the operations that the rule is about
	Deny Ops // those of them that are denied
	Max  int // how many connections there can be at a time; 0 means no limit
}

// clashes reports whether two rules for the same client contradict each other:
// their limits differ, or they are about the same operation but do not deny the
// same. This is stricter than it needs to be (access.c: __pmAccAddUser).
func (r Rule) clashes(o Rule) bool {
	return r.Max != 0 && o.Max != 0 && r.Max != o.Max || r.Ops&o.Ops != 0 && r.Deny != o.Deny
}

// add merges o into r.
func (r *Rule) add(o Rule) {
	r.Ops |= o.Ops
	r.Deny |= o.Deny
	r.Max = max(r.Max, o.Max)
}

// A limit is a rule, and the number of connections to which it applies now.
type limit struct {
	Rule
	cur int
}

func (l *limit) full() bool { return l.Max > 0 && l.cur >= l.Max }

// A hostRule is one row of the host access list.
type hostRule struct {
	name   string // as the log shows it
	unix   bool
	prefix netip.Prefix
	mask   netip.Addr // of a pattern that leaves out its middle parts; not valid in others
	level  int        // how many parts of the address the log shows as left open; 0 is one host
	limit
}

// Default allows everybody to fetch, and clients of a Unix socket to store: the
// permissions of the socket limit who can connect. The user of a TCP connection is
// not known, even from this host.
func Default() *Rules {
	a := new(Rules)
	for _, r := range []struct {
		host string
		rule Rule
	}{{".*", Rule{Ops: OpStore, Deny: OpStore}}, {":*", Rule{Ops: OpStore, Deny: OpStore}}, {"unix:", Rule{Ops: OpAll}}} {
		if _, err := a.addHost(r.host, r.rule); err != nil {
			panic("access: default rules: " + err.Error())
		}
	}
	return a
}

// New returns rules about other operations than those of a collector. A client that is denied
// all of them is not admitted.
func New(all Ops) *Rules { return &Rules{ops: all} }

// all returns all operations.
func (a *Rules) all() Ops {
	if a.ops == 0 {
		return OpAll
	}
	return a.ops
}

// Unresolved returns rules for a check of their syntax: no host is looked up,
// which can take long, and a rule that needs it is ErrNotLookedUp.
func Unresolved() *Rules { return &Rules{syntax: true} }

// AddHost adds a rule for each address of a host, which is named as in a
// pmcd.conf. A rule that contradicts an earlier one for the same address is left
// out, with a note. If no rule is left, or the host cannot be a host, that is an
// error; if the host has no address it is ErrUnknownHost.
func (a *Rules) AddHost(host string, rule Rule) (notes []Note, err error) {
	notes, err = a.addHost(host, rule)
	if !a.alike() {
		a.resolveHere()
	}
	return notes, err
}

// alike reports whether all hosts that do not come by a Unix socket are judged alike, so that it does not matter
// which addresses this host has.
func (a *Rules) alike() bool {
	var all []*hostRule
	for _, r := range a.rules {
		switch {
		case r.unix:
		case r.prefix.Bits() != 0, r.Max != 0, len(all) > 0 && r.Rule != all[0].Rule:
			return false
		default:
			all = append(all, r)
		}
	}
	return len(all) != 1
}

func (a *Rules) addHost(host string, rule Rule) (notes []Note, err error) {
	rules, notes, err := a.hostRules(host)
	if err != nil {
		return notes, err
	}
	rule.Deny &= rule.Ops
	added := 0
	for _, r := range rules {
		r.Rule = rule
		i := slices.IndexFunc(a.rules, func(o *hostRule) bool {
			return o.unix == r.unix && o.prefix.Addr() == r.prefix.Addr() && o.level == r.level
		})
		if i < 0 {
			a.insert(r)
			added++
			continue
		}
		have := a.rules[i]
		if have.clashes(rule) {
			told := Note{slog.LevelError, fmt.Sprintf("Permission clash for %s with earlier statement for %s", r.name, have.name)}
			if !slices.Contains(notes, told) { // a host can have several addresses
				notes = append(notes, told)
			}
			continue
		}
		have.add(rule)
		added++
	}
	if added == 0 {
		return notes, errClash
	}
	return notes, nil
}

// insert puts a rule after those of its level and below, in the order of the log.
func (a *Rules) insert(r *hostRule) {
	i := slices.IndexFunc(a.rules, func(o *hostRule) bool { return o.level > r.level })
	if i < 0 {
		i = len(a.rules)
	}
	a.rules = slices.Insert(a.rules, i, r)
	a.last.have = false
}

// An Admission is what a client may not do, and the rules that count it.
type Admission struct {
	Deny    Ops
	counted []*limit
}

// count has a rule with a limit count the client. The mutex of Rules is held.
func (ad *Admission) count(l *limit) {
	if l.Max > 0 {
		l.cur++
		ad.counted = append(ad.counted, l)
	}
}

// Admit decides on a connection by the rules for hosts. The error is
// pcp.ErrPermission if nothing is allowed, pcp.ErrConnLimit if there are too many
// already. A client that is admitted counts until Leave.
func (a *Rules) Admit(addr net.Addr, unix bool) (Admission, error) {
	var ip netip.Addr
	if !unix {
		if tcp, ok := addr.(*net.TCPAddr); ok {
			ip = tcp.AddrPort().Addr().Unmap().WithZone("")
		}
	}
	var ad Admission
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := &a.last; !last.have || last.ip != ip || last.unix != unix {
		last.ip, last.unix, last.have, last.list = ip, unix, true, a.judgements(ip, unix)
	}
	for _, j := range a.last.list {
		ad.Deny |= j.deny()
	}
	if ad.Deny == a.all() {
		return ad, pcp.ErrPermission
	}
	for _, j := range a.last.list {
		if len(j) > 0 && slices.ContainsFunc(j[0], func(r *hostRule) bool { return r.full() }) {
			return ad, pcp.ErrConnLimit
		}
	}
	for _, j := range a.last.list {
		for _, tier := range j {
			for _, r := range tier {
				if !slices.Contains(ad.counted, &r.limit) {
					ad.count(&r.limit)
				}
			}
		}
	}
	return ad, nil
}

// Leave undoes what Admit and AdmitUser counted.
func (a *Rules) Leave(ad Admission) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range ad.counted {
		r.cur--
	}
}

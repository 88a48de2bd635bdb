package access

import (
	"fmt"
	"net"
	"net/netip"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// Describe returns the tables of the rules in the layout of pmcd's log, the
// closest rules for hosts first.
func (a *Rules) Describe() string {
	var b strings.Builder
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.rules) == 0 {
		b.WriteString("Host access list empty: host-based access control turned off\n")
	} else {
		a.describeHosts(&b)
	}
	a.users.describe(&b, "user")
	a.groups.describe(&b, "group")
	return b.String()
}

func (a *Rules) describeHosts(b *strings.Builder) {
	const width = 39
	line := strings.Repeat("=", width)
	fmt.Fprintf(b, "Host access list:\n00 01 Cur/MaxCons %-*s %-*s lvl host-name\n", width, "host-spec", width, "host-mask")
	fmt.Fprintf(b, "== == =========== %s %s === ==============\n", line, line)
	for _, r := range a.rules {
		writeOps(b, r.Rule)
		spec, mask := "/", "/"
		if !r.unix {
			spec = r.prefix.Addr().String()
			ones, _ := netip.AddrFromSlice(net.CIDRMask(r.prefix.Bits(), r.prefix.Addr().BitLen()))
			mask = ones.String()
			if r.mask.IsValid() {
				mask = r.mask.String()
			}
		}
		fmt.Fprintf(b, "%5d %5d %-*s %-*s %3d %s\n", r.cur, r.Max, width, spec, width, mask, r.level, r.name)
	}
}

// describe writes the list in the layout of pmcd's log, the last rule first.
func (l *accountList) describe(b *strings.Builder, kind string) {
	what := strings.ToUpper(kind[:1]) + kind[1:]
	if !l.on() {
		fmt.Fprintf(b, "%s access list empty: %s-based access control turned off\n", what, kind)
		return
	}
	const idWidth, nameWidth, listWidth = 7, 31, 58
	id, list := "uid", "group-list"
	nameOf := groupName
	if kind == "group" {
		id, list, nameOf = "gid", "user-list", userName
	}
	fmt.Fprintf(b, "%s access list:\n00 01 Cur/MaxCons %*s %-*s %s\n", what, idWidth, id, nameWidth, kind+"-name", list)
	line := func(n int) string { return strings.Repeat("=", n) }
	fmt.Fprintf(b, "== == =========== %s %s %s\n", line(idWidth), line(nameWidth), line(listWidth))
	row := func(r *accountRule, id string) {
		writeOps(b, r.Rule)
		fmt.Fprintf(b, "%5d %5d %*s %-*s", r.cur, r.Max, idWidth, id, nameWidth, r.name)
		for i, n := range r.ids {
			sep := ","
			if i == 0 {
				sep = " "
			}
			fmt.Fprintf(b, "%s%d(%s)", sep, n, nameOf(n))
		}
		b.WriteByte('\n')
	}
	for _, r := range slices.Backward(l.rules) {
		row(r, strconv.Itoa(r.id))
	}
	row(l.any, "*")
}

// writeOps writes the effect of a rule on each operation.
func writeOps(b *strings.Builder, r Rule) {
	for _, op := range []Ops{OpFetch, OpStore} {
		switch {
		case r.Ops&op == 0:
			b.WriteString("   ")
		case r.Deny&op != 0:
			b.WriteString(" n ")
		default:
			b.WriteString(" y ")
		}
	}
}

func groupName(id int) string {
	g, err := user.LookupGroupId(strconv.Itoa(id))
	if err != nil {
		return "unknown"
	}
	return g.Name
}

func userName(id int) string {
	u, err := user.LookupId(strconv.Itoa(id))
	if err != nil {
		return "unknown"
	}
	return u.Username
}

package pmcd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
)

// An account is who a client is, as far as access rules go.
type account struct{ uid, gid int }

// An accountRule is one row of the access list of users or of groups.
type accountRule struct {
	name string
	id   int   // of the user or the group; not used for "*"
	ids  []int // the user's groups, or the group's users
	spec Ops
	deny Ops
	limit
}

// An accountList is the access list of users, or of groups. It is off while it
// has no rule. Once it has one, it denies everything to all whom none matches,
// unless there is a rule for "*".
type accountList struct {
	any      *accountRule
	explicit bool // any is of the configuration
	rules    []*accountRule
}

func (l *accountList) on() bool { return l.any != nil }

// errClash is what the C library says of rules that contradict each other, and
// of names that nobody has.
const errClash = -pcp.Error(syscall.EINVAL)

// add adds a rule for a user or a group, as kind says. Why one cannot be added
// is in the notes.
func (l *accountList) add(kind, name string, find func(string) (*accountRule, error), spec, deny Ops, maximum int) (notes []note, err error) {
	r := &accountRule{name: name}
	if name != "*" {
		if r, err = find(name); err != nil {
			why := err.Error()
			if _, ok := errors.AsType[user.UnknownUserError](err); ok {
				why = "No such file or directory" // the words of the C library
			} else if _, ok := errors.AsType[user.UnknownGroupError](err); ok {
				why = "No such file or directory"
			}
			return []note{{slog.LevelError, fmt.Sprintf("Failed to lookup %s \"%s\": %s", kind, name, why)}}, errClash
		}
	}
	r.spec, r.deny, r.max = spec, deny&spec, maximum
	have := l.any
	if name != "*" {
		have = nil
		if i := slices.IndexFunc(l.rules, func(o *accountRule) bool { return o.id == r.id }); i >= 0 {
			have = l.rules[i]
		}
	} else if !l.explicit {
		l.explicit, l.any = true, r
		return nil, nil
	}
	if have == nil {
		if l.any == nil {
			l.any = &accountRule{name: "*", spec: OpAll, deny: OpAll}
		}
		l.rules = append(l.rules, r)
		return nil, nil
	}
	if clash(have.spec, have.deny, have.max, r.spec, r.deny, r.max) {
		return []note{{slog.LevelError, fmt.Sprintf("Permission clash for %s %s [spec:%x deny:%x] with earlier statement [spec:%x deny:%x]",
			kind, name, spec, deny, have.spec, have.deny)}}, errClash
	}
	have.spec |= r.spec
	have.deny |= r.deny
	have.max = max(have.max, r.max)
	return nil, nil
}

// clash tells whether two rules for the same contradict each other: their limits
// differ, or they are about the same operation but do not deny the same. This
// is stricter than it needs be (access.c: __pmAccAddUser).
func clash(spec1, deny1 Ops, max1 int, spec2, deny2 Ops, max2 int) bool {
	return max1 != 0 && max2 != 0 && max1 != max2 || spec1&spec2 != 0 && deny1 != deny2
}

// match returns the rules that count for who has one id, or is among the others
// of a rule.
func (l *accountList) match(id, other int) []*accountRule {
	if !l.on() {
		return nil
	}
	var found []*accountRule
	for _, r := range l.rules {
		if r.id == id || slices.Contains(r.ids, other) {
			found = append(found, r)
		}
	}
	if found == nil {
		found = append(found, l.any)
	}
	return found
}

// credsNeeded tells whether only those may come of whom it is known who they are.
func (a *Access) credsNeeded() bool { return a.users.on() || a.groups.on() }

// admitAccount goes on where admit ended, when it is known who the client is,
// or with nil that this is not known. The operations that any of the rules for
// a user and his groups denies are denied; limits of all of them count.
func (a *Access) admitAccount(ad *admission, who *account) error {
	if !a.credsNeeded() {
		return nil
	}
	if who == nil {
		return pcp.ErrPermission
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	rules := append(a.users.match(who.uid, who.gid), a.groups.match(who.gid, who.uid)...)
	deny := ad.deny
	for _, r := range rules {
		if r.full() {
			return pcp.ErrConnLimit
		}
		deny |= r.deny
	}
	if deny == OpAll {
		return pcp.ErrPermission
	}
	ad.deny = deny
	for _, r := range rules {
		ad.count(&r.limit)
	}
	return nil
}

// maxAccountFile bounds what is read of the files of users and groups.
const maxAccountFile = 64 << 20

// findUser makes a rule for a user, with the groups that he is in.
func findUser(name string) (*accountRule, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	r := &accountRule{name: name}
	if r.id, err = strconv.Atoi(u.Uid); err != nil {
		return nil, err
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		n, err := strconv.Atoi(g)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(r.ids, n) {
			r.ids = append(r.ids, n)
		}
	}
	return r, nil
}

// findGroup makes a rule for a group, with the users that are in it.
func findGroup(name string) (*accountRule, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return nil, err
	}
	r := &accountRule{name: name}
	if r.id, err = strconv.Atoi(g.Gid); err != nil {
		return nil, err
	}
	groups, err := os.Open("/etc/group")
	if err != nil {
		return nil, err
	}
	defer groups.Close()
	passwd, err := os.Open("/etc/passwd")
	if err != nil {
		return nil, err
	}
	defer passwd.Close()
	members, err := groupMembers(groups, name)
	if err != nil {
		return nil, err
	}
	r.ids, err = usersOf(passwd, r.id, members)
	return r, err
}

// groupMembers reads who the file of groups says is in one.
func groupMembers(file io.Reader, name string) ([]string, error) {
	var members []string
	err := accountLines(file, 4, func(f []string) {
		if f[0] == name && members == nil && f[3] != "" {
			members = strings.Split(f[3], ",")
		}
	})
	return members, err
}

// usersOf reads from the file of users the ids of those who are in a group:
// it is their first, or they are named.
func usersOf(file io.Reader, gid int, names []string) ([]int, error) {
	var ids []int
	err := accountLines(file, 4, func(f []string) {
		uid, err := strconv.Atoi(f[2])
		if err != nil || slices.Contains(ids, uid) {
			return
		}
		if f[3] == strconv.Itoa(gid) || slices.Contains(names, f[0]) {
			ids = append(ids, uid)
		}
	})
	return ids, err
}

// accountLines calls yield for each line with at least n fields.
func accountLines(file io.Reader, n int, yield func(fields []string)) error {
	lines := bufio.NewScanner(io.LimitReader(file, maxAccountFile))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if f := strings.Split(line, ":"); len(f) >= n && !strings.HasPrefix(line, "#") {
			yield(f)
		}
	}
	return lines.Err()
}

// addUser adds a rule for a user of this host, or for "*".
func (a *Access) addUser(name string, spec, deny Ops, maximum int) (notes []note, err error) {
	return a.users.add("user", name, findUser, spec, deny, maximum)
}

// addGroup adds a rule for a group of this host, or for "*".
func (a *Access) addGroup(name string, spec, deny Ops, maximum int) (notes []note, err error) {
	return a.groups.add("group", name, findGroup, spec, deny, maximum)
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
		writeOps(b, r.spec, r.deny)
		fmt.Fprintf(b, "%5d %5d %*s %-*s", r.cur, r.max, idWidth, id, nameWidth, r.name)
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

// writeOps writes what a rule says of each operation.
func writeOps(b *strings.Builder, spec, deny Ops) {
	for _, op := range []Ops{OpFetch, OpStore} {
		switch {
		case spec&op == 0:
			b.WriteString("   ")
		case deny&op != 0:
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

// lookupAccount finds the account of this host that a user has by his name.
func lookupAccount(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		var unknown user.UnknownUserError
		if errors.As(err, &unknown) {
			return account{}, fmt.Errorf("%w: %w", -pcp.Error(syscall.ESRCH), err)
		}
		return account{}, err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return account{uid, gid}, errors.Join(err1, err2)
}

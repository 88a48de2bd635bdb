package access

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

// A User is the user of a client for access rules.
type User struct{ UID, GID int }

// An accountRule is one row of the access list of users or of groups.
type accountRule struct {
	name string
	id   int   // of the user or the group; not used for "*"
	ids  []int // the user's groups, or the group's users
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

// errClash is the error of the C library for rules that contradict each other, and
// for names of users and groups that do not exist.
const errClash = -pcp.Error(syscall.EINVAL)

// add adds a rule for a user or a group, depending on kind. The notes have the
// reason if it cannot be added.
func (l *accountList) add(kind, name string, find func(string) (*accountRule, error), rule Rule) (notes []Note, err error) {
	r := &accountRule{name: name}
	if name != "*" {
		if r, err = find(name); err != nil {
			why := err.Error()
			if _, ok := errors.AsType[user.UnknownUserError](err); ok {
				why = "No such file or directory" // the words of the C library
			} else if _, ok := errors.AsType[user.UnknownGroupError](err); ok {
				why = "No such file or directory"
			}
			return []Note{{slog.LevelError, fmt.Sprintf("Failed to lookup %s \"%s\": %s", kind, name, why)}}, errClash
		}
	}
	rule.Deny &= rule.Ops
	r.Rule = rule
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
			l.any = &accountRule{name: "*", limit: limit{Rule: Rule{Ops: OpAll, Deny: OpAll}}}
		}
		l.rules = append(l.rules, r)
		return nil, nil
	}
	if have.clashes(rule) {
		return []Note{{slog.LevelError, fmt.Sprintf("Permission clash for %s %s with earlier statement", kind, name)}}, errClash
	}
	have.add(rule)
	return nil, nil
}

// match returns the rules that count for an account with one id, or among the
// others of a rule.
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

// NeedUsers reports whether there are rules for users or groups, so that only
// clients are let in whose user is known.
func (a *Rules) NeedUsers() bool { return a.users.on() || a.groups.on() }

// AdmitUser continues where Admit ended, when the client's user is known; nil
// means unknown. The operations that any of the rules for the user and the user's
// groups denies are denied; limits of all of them count.
func (a *Rules) AdmitUser(ad *Admission, who *User) error {
	if !a.NeedUsers() {
		return nil
	}
	if who == nil {
		return pcp.ErrPermission
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	rules := append(a.users.match(who.UID, who.GID), a.groups.match(who.GID, who.UID)...)
	deny := ad.Deny
	for _, r := range rules {
		if r.full() {
			return pcp.ErrConnLimit
		}
		deny |= r.Deny
	}
	if deny == a.all() {
		return pcp.ErrPermission
	}
	ad.Deny = deny
	for _, r := range rules {
		ad.count(&r.limit)
	}
	return nil
}

// maxAccountFile bounds the bytes read of the files of users and groups.
const maxAccountFile = 64 << 20

// findUser makes a rule for a user, with the groups that the user is in.
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

// groupMembers reads the members of a group from the file of groups.
func groupMembers(file io.Reader, name string) ([]string, error) {
	var members []string
	err := accountLines(file, 4, func(f []string) {
		if f[0] == name && members == nil && f[3] != "" {
			members = strings.Split(f[3], ",")
		}
	})
	return members, err
}

// usersOf reads from the file of users the ids of the users that are in a
// group: those whose first group it is, and those that are named.
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

// AddUser adds a rule for a user of this host, or for "*".
func (a *Rules) AddUser(name string, rule Rule) (notes []Note, err error) {
	return a.users.add("user", name, findUser, rule)
}

// AddGroup adds a rule for a group of this host, or for "*".
func (a *Rules) AddGroup(name string, rule Rule) (notes []Note, err error) {
	return a.groups.add("group", name, findGroup, rule)
}

// LookupUser finds the user of this host with a name. If there is none, the error
// is ESRCH as a pcp.Error.
func LookupUser(name string) (User, error) {
	u, err := user.Lookup(name)
	if err != nil {
		var unknown user.UnknownUserError
		if errors.As(err, &unknown) {
			return User{}, fmt.Errorf("%w: %w", -pcp.Error(syscall.ESRCH), err)
		}
		return User{}, err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return User{uid, gid}, errors.Join(err1, err2)
}

package access

import (
	"errors"
	"net"
	"os/user"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
)

// userID finds a user that every Debian has. The ids of these differ, and none is
// in the other's groups.
func userID(t *testing.T, name string) User {
	t.Helper()
	who, err := LookupUser(name)
	if err != nil {
		t.Skipf("no user %q here: %v", name, err)
	}
	return who
}

// TestAccountAccess judges users by rules, after the real one's measure: see
// TestAccessLikeTheRealOne in the tests of cmd/internal/serve/pmcd.
func TestAccountAccess(t *testing.T) {
	root, daemon, games := userID(t, "root"), userID(t, "daemon"), userID(t, "games")
	unix := &net.UnixAddr{Net: "unix"}
	f := func(text string, who *User, want Ops, refused error) {
		t.Helper()
		a := rulesOf(t, text)
		ad, err := a.Admit(unix, true)
		if err != nil {
			t.Fatal(err)
		}
		err = a.AdmitUser(&ad, who)
		if !errors.Is(err, refused) || err == nil && ad.Deny != want {
			t.Errorf("%q: %v is denied %b, %v, want %b, %v", text, who, ad.Deny, err, want, refused)
		}
	}
	f("allow * : all;", nil, 0, nil)
	f("allow user root : all;", nil, 0, pcp.ErrPermission)
	f("allow user root : all;", &root, 0, nil)
	f("allow user root : all;", &daemon, 0, pcp.ErrPermission)
	f("allow user root : fetch;", &root, 0, nil) // store is not spoken of
	f("disallow user root : store;", &root, OpStore, nil)
	f("disallow user root : all;", &root, 0, pcp.ErrPermission)
	f("allow user root : all; disallow user * : store;", &daemon, OpStore, nil)
	f("allow user root : all; disallow user * : store;", &root, 0, nil)
	f("disallow user * : store; allow user root : all;", &root, 0, nil)
	f("allow group root : all;", &root, 0, nil)
	f("allow group root : all;", &games, 0, pcp.ErrPermission)
	f("allow group root : all; disallow group * : store;", &games, OpStore, nil)
	// Both lists count, and all that any of them denies is denied.
	f("allow user root : all; disallow group root : store;", &root, OpStore, nil)
	f("disallow user root : fetch; disallow group root : store;", &root, 0, pcp.ErrPermission)
	f("allow user root : all; allow group daemon : all;", &root, 0, pcp.ErrPermission)
	// So do hosts.
	f("disallow \"unix:\" : store; allow user root : all;", &root, OpStore, nil)
	f("disallow \"unix:\" : store; disallow user root : fetch;", &root, 0, pcp.ErrPermission)
	// A list of users counts for whose first group is among the groups of one.
	f("disallow user root : store; allow user * : all;", &User{12345, 0}, OpStore, nil)
}

func TestAccountLimits(t *testing.T) {
	root, daemon := userID(t, "root"), userID(t, "daemon")
	a := rulesOf(t, "allow user root : all, maximum 2 connections; allow user * : all, maximum 1 connections;")
	come := func(who User) (Admission, error) {
		ad, err := a.Admit(&net.UnixAddr{Net: "unix"}, true)
		if err != nil {
			t.Fatal(err)
		}
		err = a.AdmitUser(&ad, &who)
		if err != nil {
			a.Leave(ad)
		}
		return ad, err
	}
	first, err := come(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := come(root); err != nil {
		t.Errorf("second connection: %v", err)
	}
	if _, err := come(root); !errors.Is(err, pcp.ErrConnLimit) {
		t.Errorf("third connection: %v, want %v", err, pcp.ErrConnLimit)
	}
	if _, err := come(daemon); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	if _, err := come(User{12345, 12345}); !errors.Is(err, pcp.ErrConnLimit) {
		t.Errorf("second of all others: %v, want %v", err, pcp.ErrConnLimit)
	}
	a.Leave(first)
	if _, err := come(root); err != nil {
		t.Errorf("after the first left: %v", err)
	}
}

func TestAccountFiles(t *testing.T) {
	members, err := groupMembers(strings.NewReader("root:x:0:\n# users:x:1:eve\nbad\nusers:x:100:tux,eve\nusers:x:101:mallory\n"), "users")
	if diff := cmp.Diff([]string{"tux", "eve"}, members); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	ids, err := usersOf(strings.NewReader("root:x:0:0:::\ntux:x:7:7:::\nbob:x:8:100:::\neve:x:9:9:::\nx\ntux:x:7:100:::\nbad:x:y:100:::\n"), 100, members)
	if diff := cmp.Diff([]int{7, 8, 9}, ids); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestAccountTables(t *testing.T) {
	root := userID(t, "root")
	a := rulesOf(t, "allow user root : fetch, maximum 3 connections; disallow user * : store; allow group root : all;")
	ad, _ := a.Admit(&net.UnixAddr{Net: "unix"}, true)
	if err := a.AdmitUser(&ad, &root); err != nil {
		t.Fatal(err)
	}
	u, err := user.Lookup("root")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := u.GroupIds()
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range groups {
		n, _ := strconv.Atoi(g)
		groups[i] = g + "(" + groupName(n) + ")"
	}
	g, err := findGroup("root")
	if err != nil {
		t.Fatal(err)
	}
	var members []string
	for _, id := range g.ids {
		members = append(members, strconv.Itoa(id)+"("+userName(id)+")")
	}
	want := `Host access list empty: host-based access control turned off
User access list:
00 01 Cur/MaxCons     uid user-name                       group-list
== == =========== ======= =============================== ==========================================================
 y        1     3       0 root                            ` + strings.Join(groups, ",") + `
    n     0     0       * *                              
Group access list:
00 01 Cur/MaxCons     gid group-name                      user-list
== == =========== ======= =============================== ==========================================================
 y  y     0     0       0 root                            ` + strings.Join(members, ",") + `
 n  n     0     0       * *                              
`
	if diff := cmp.Diff(want, a.Describe()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// FuzzAccountFiles reads files of users and groups.
func FuzzAccountFiles(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/sh\n", "root:x:0:tux,eve\n")
	f.Add("a:b:c:d", "a:b:c:d")
	f.Fuzz(func(t *testing.T, passwd, groups string) {
		members, err := groupMembers(strings.NewReader(groups), "root")
		if err != nil {
			return
		}
		ids, err := usersOf(strings.NewReader(passwd), 0, members)
		if err == nil && len(ids) > strings.Count(passwd, "\n")+1 {
			t.Errorf("%d users in %q", len(ids), passwd)
		}
	})
}

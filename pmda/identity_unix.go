//go:build unix

package pmda

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"github.com/go-pcp/pcp/config"
)

// defaultUser returns the user that daemons run as when root started them.
func defaultUser(getenv func(string) string) string {
	return cmp.Or(config.New(getenv).Get("PCP_USER"), "pcp")
}

// dropPrivileges makes the process run as the user called username. If username
// is empty, a process of root becomes PCP's user, if there is one, and others
// stay as they are (pmSetProcessIdentity(3)).
func dropPrivileges(username string, getenv func(string) string) error {
	asked := username != ""
	if !asked {
		if os.Geteuid() != 0 {
			return nil
		}
		username = defaultUser(getenv)
	}
	uid, gid, err := lookupUser(username)
	if err != nil {
		if !asked {
			return nil
		}
		return fmt.Errorf("cannot find the %s user to switch to: %w", username, err)
	}
	if os.Geteuid() == uid && os.Getegid() == gid {
		return nil
	}
	if err := syscall.Setgid(gid); err != nil {
		return fmt.Errorf("setgid to gid of %s user (gid=%d): %w", username, gid, err)
	}
	if err := syscall.Setgroups([]int{gid}); err != nil && err != syscall.EPERM {
		return fmt.Errorf("setgroups with gid of %s user (gid=%d): %w", username, gid, err)
	}
	if err := syscall.Setuid(uid); err != nil {
		return fmt.Errorf("setuid to uid of %s user (uid=%d): %w", username, uid, err)
	}
	return nil
}

func lookupUser(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, err
	}
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}

//go:build !unix

package pmda

import "errors"

func dropPrivileges(username string, _ func(string) string) error {
	if username != "" {
		return errors.New("running as another user is not supported on this system")
	}
	return nil
}

func defaultUser(func(string) string) string { return "" }

func lookupUser(string) (uid, gid int, err error) { return 0, 0, errors.ErrUnsupported }

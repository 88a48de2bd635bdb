//go:build !unix

package pmda

import "errors"

func dropPrivileges(username string, _ func(string) string) error {
	if username != "" {
		return errors.New("running as another user is not supported on this system")
	}
	return nil
}

func shareSocket(string, func(string) string) error { return errors.ErrUnsupported }

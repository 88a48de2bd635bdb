package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// identity finds the numbers of a user and a group, "" being the user's own.
func identity(user, group string) (uid, gid int, err error) {
	if n, ok := strings.CutPrefix(user, "#"); ok {
		uid, err = strconv.Atoi(n)
		gid = uid
	} else {
		uid, gid, err = entry("/etc/passwd", user)
	}
	if err == nil && group != "" {
		gid, _, err = entry("/etc/group", group)
	}
	return uid, gid, err
}

// entry returns the third and fourth field of a line; the fourth is 0 if it is
// not a number.
func entry(path, name string) (third, fourth int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 || f[0] != name {
			continue
		}
		if third, err = strconv.Atoi(f[2]); err != nil {
			return 0, 0, err
		}
		fourth, _ = strconv.Atoi(f[3])
		return third, fourth, nil
	}
	return 0, 0, fmt.Errorf("%s has no %s", path, name)
}

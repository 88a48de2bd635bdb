//go:build !linux

package proc

import "github.com/go-pcp/pcp"

// asUser is for Linux only.
func asUser(_, _ int, _ func() error) error { return pcp.ErrPermission }

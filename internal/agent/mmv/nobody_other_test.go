//go:build !linux

package mmv_test

import "testing"

func asNobody(t *testing.T) func(func()) {
	t.Skip("root may read everything")
	return nil
}

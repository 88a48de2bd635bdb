//go:build !linux

package kvm

import "errors"

func openGroup(int, []uint64) (group, error) { return nil, errors.ErrUnsupported }

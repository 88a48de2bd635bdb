//go:build !linux

package linux

import "errors"

func statfs(string) (fsStat, error) { return fsStat{}, errors.ErrUnsupported }

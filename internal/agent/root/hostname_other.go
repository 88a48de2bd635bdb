//go:build !linux

package root

import "errors"

func hostName(int) (string, error) { return "", errors.ErrUnsupported }

//go:build !linux

package top

import (
	"errors"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/ui"
)

func do(ui.Action) error { return errors.New("not supported on this system") }

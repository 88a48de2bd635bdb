//go:build !linux

package pmcd

import (
	"runtime"
	"time"

	"github.com/go-pcp/pcp"
)

func machine() string { return runtime.GOARCH }

func highestDescriptor() (pcp.Value, error) { return pcp.Value{}, pcp.ErrAppVersion }

func cpuTime() (time.Duration, error) { return 0, pcp.ErrAppVersion }

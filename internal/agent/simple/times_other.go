//go:build !unix

package simple

import (
	"time"

	"github.com/go-pcp/pcp"
)

func runTimes() (user, sys time.Duration, err error) { return 0, 0, pcp.ErrAppVersion }

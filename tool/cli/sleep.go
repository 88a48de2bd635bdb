package cli

import (
	"context"
	"time"
)

// Sleep waits for d and tells whether ctx let it: a tool between two samples.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

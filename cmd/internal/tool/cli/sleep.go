package cli

import (
	"context"
	"time"
)

// Sleep waits for d, as a tool does between two samples. It reports false if ctx
// is done before.
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

package series

import (
	"context"
	"time"
)

// resolutionKey is the key of a resolution in a context.
type resolutionKey struct{}

// WithResolution returns a context for Sweep whose samples may be as far apart as d: a store with archives of a lower resolution may
// read those in place of the recorded ones.
func WithResolution(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, resolutionKey{}, d)
}

// Resolution returns the resolution of a context, 0 if all samples are wanted.
func Resolution(ctx context.Context) time.Duration {
	d, _ := ctx.Value(resolutionKey{}).(time.Duration)
	return d
}

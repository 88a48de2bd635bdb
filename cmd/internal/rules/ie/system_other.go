//go:build !unix

package ie

import (
	"context"
	"errors"
	"os"
	"os/signal"
)

const (
	sigInt  = 2
	sigTerm = 15
)

func settle(*os.File, bool) error { return errors.ErrUnsupported } // nothing waits

func separate() {}

// signals has an interrupt end ctx from now on.
func (set *settings) signals(ctx context.Context, _ func()) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
		case <-ch:
			end(&caught{number: sigInt, running: set.running.Load()})
		}
	}()
	return ctx, func() {
		end(nil)
		<-done
	}
}

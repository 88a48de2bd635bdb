//go:build !unix

package logger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
)

// catch returns a channel of the signals that arrive from now on.
func catch() chan os.Signal {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt)
	return ch
}

// signals ends the recording when it is interrupted.
func signals(ctx context.Context, ch chan os.Signal, _ *pmlogger.Recorder, end context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
	case <-ch:
		end(&caught{number: 2})
	}
}

// private reports whether a directory belongs to this user only, which is not known here.
func private(fs.FileInfo) bool { return false }

func separate() {}

func settle(*os.File) error { return errors.ErrUnsupported } // nothing waits

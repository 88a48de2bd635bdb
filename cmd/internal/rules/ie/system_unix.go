//go:build unix

package ie

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	sigInt  = int(syscall.SIGINT)
	sigTerm = int(syscall.SIGTERM)
)

// settle has a file take the place of standard error, and of standard output if out.
func settle(f *os.File, out bool) error {
	err := unix.Dup2(int(f.Fd()), int(os.Stderr.Fd()))
	if out {
		err = errors.Join(err, unix.Dup2(int(f.Fd()), int(os.Stdout.Fd())))
	}
	return err
}

// separate leaves the terminal. That the process leads a group already is not an error.
func separate() { syscall.Setsid() }

// signals has signals end ctx from now on. SIGHUP calls rotate, or is ignored.
func (set *settings) signals(ctx context.Context, rotate func()) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	if rotate != nil {
		signal.Notify(ch, syscall.SIGHUP)
	} else {
		signal.Ignore(syscall.SIGHUP)
	}
	if set.agent {
		signal.Ignore(syscall.SIGPIPE) // the write fails
	}
	if set.daemon {
		signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGTSTP)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case sig := <-ch:
				number := sig.(syscall.Signal)
				if number == syscall.SIGHUP {
					rotate()
					continue
				}
				fatal := number != syscall.SIGINT && number != syscall.SIGTERM
				end(&caught{number: int(number), running: set.running.Load(), fatal: fatal})
				return
			}
		}
	}()
	return ctx, func() {
		end(nil)
		<-done
	}
}

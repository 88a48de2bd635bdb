//go:build unix

package logger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
)

// The effects of signals. Signals that end the recording write its end; for signals on which
// the C program would dump core, the exit status is the number of the signal.
var (
	ending  = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGVTALRM, syscall.SIGPROF}
	failing = []os.Signal{syscall.SIGQUIT, syscall.SIGXCPU, syscall.SIGXFSZ}
	ignored = []os.Signal{syscall.SIGALRM, syscall.SIGPIPE, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGTTIN, syscall.SIGTTOU}
)

// catch returns a channel of the signals that arrive from now on. A logger that others can
// find must not lose any.
func catch() chan os.Signal {
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	signal.Notify(ch, ending...)
	signal.Notify(ch, failing...)
	signal.Notify(ch, ignored...)
	return ch
}

// signals handles signals until ctx is done.
func signals(ctx context.Context, ch chan os.Signal, r *pmlogger.Recorder, end context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-ch:
			number := int(sig.(syscall.Signal))
			switch {
			case sig == syscall.SIGHUP:
				hangUp(ctx, r)
			case sig == syscall.SIGUSR1:
				r.Call(ctx, func() {
					if err := r.Flush(); err != nil {
						r.Stop(err)
					}
				})
			case sig == syscall.SIGUSR2:
				end(&caught{number: number, again: true})
				return
			case contains(ending, sig):
				end(&caught{number: number})
				return
			case contains(failing, sig):
				end(&caught{number: number, status: number})
				return
			}
		}
	}
}

func contains(list []os.Signal, sig os.Signal) bool {
	for _, s := range list {
		if s == sig {
			return true
		}
	}
	return false
}

// private reports whether a directory belongs to this user, and no other user can enter it.
func private(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}

// separate makes the process the leader of its own group, so that signals for its parent's
// group do not reach it.
func separate() { syscall.Setpgid(0, 0) }

// settle replaces standard output and standard error with a log: the program that started the
// logger may wait for them to be closed, and a program that replaces this one continues the
// log.
func settle(log *os.File) error {
	fd := int(log.Fd())
	return errors.Join(unix.Dup2(fd, int(os.Stdout.Fd())), unix.Dup2(fd, int(os.Stderr.Fd())))
}

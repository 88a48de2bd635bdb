package pmcd

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"
)

// acceptPause is how long accepting rests when there are no descriptors left.
const acceptPause = 50 * time.Millisecond

// accept admits clients until closing is closed or the listener fails.
func accept(ln net.Listener, log *slog.Logger, closing <-chan struct{}, admit func(net.Conn)) error {
	var lastLog time.Time
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			admit(conn)
		case ended(closing):
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("listen on %v: %w", ln.Addr(), err)
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE),
			errors.Is(err, syscall.ECONNABORTED), errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM):
			if time.Since(lastLog) > time.Minute {
				lastLog = time.Now()
				log.Error("clients cannot be let in", "on", ln.Addr().String(), "err", err)
			}
			select {
			case <-time.After(acceptPause):
			case <-closing:
			}
		default:
			return fmt.Errorf("accept on %v: %w", ln.Addr(), err)
		}
	}
}

// ended reports whether c is closed.
func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

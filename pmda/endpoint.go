package pmda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"

	"github.com/go-pcp/pcp/internal/safefile"
)

// An endpoint is how a daemon meets its collector: kind is the option that
// chose it, 0 or 'p' for a pipe.
type endpoint struct {
	kind rune
	addr string
}

func (e endpoint) pipe() bool { return e.kind == 0 || e.kind == 'p' }

// A pipe is standard input and output.
type pipe struct {
	io.Reader
	io.Writer
}

// Flush writes out what a buffered standard output holds.
func (p pipe) Flush() error {
	if f, ok := p.Writer.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// open returns the connection. On a socket it waits for the collector to
// connect, and then stops listening.
func (e endpoint) open(ctx context.Context, env Environment, log *slog.Logger) (io.ReadWriter, error) {
	var ln net.Listener
	var err error
	var lc net.ListenConfig
	switch e.kind {
	case 'i':
		ln, err = lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", e.addr))
	case '6':
		ln, err = lc.Listen(ctx, "tcp6", net.JoinHostPort("::1", e.addr))
	case 'u':
		ln, err = listenUnix(e.addr, env.Getenv, log)
	default:
		return pipe{env.Stdin, env.Stdout}, nil
	}
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	c, err := ln.Accept()
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("waiting for the collector: %w", err)
	}
	return c, nil
}

// listenUnix listens on a socket that PCP's user may use, too: the collector may
// run as that user. It removes a file that was at the path before.
func listenUnix(path string, getenv func(string) string, log *slog.Logger) (net.Listener, error) {
	switch err := safefile.Remove(path); {
	case err == nil:
		log.Warn("socket existed and was unlinked", "path", path)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	mode := safefile.SocketMode{Perm: 0o660, Uid: -1, Gid: -1}
	if uid, gid, err := lookupUser(defaultUser(getenv)); err == nil && os.Geteuid() == 0 {
		mode.Uid, mode.Gid = uid, gid
	}
	ln, err := safefile.Listen(path, mode)
	if err != nil {
		return nil, err
	}
	if u, ok := ln.(interface{ SetUnlinkOnClose(bool) }); ok {
		u.SetUnlinkOnClose(false) // the collector reconnects after a restart
	}
	return ln, nil
}

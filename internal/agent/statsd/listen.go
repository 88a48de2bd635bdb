package statsd

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// socketBuffer is the number of bytes that the system is asked to buffer.
	socketBuffer = 4 << 20
	// maxUnix is the longest datagram of a Unix socket.
	maxUnix = 64 << 10
	// socketMode lets all users of the host send, as over UDP.
	socketMode = 0o666
	// readPause is the time that the agent waits after it could not read.
	readPause = 100 * time.Millisecond
)

// listen opens an address: the path of a Unix socket if it begins with / or unix:, otherwise UDP.
func listen(addr string) (net.Conn, error) {
	path, ok := strings.CutPrefix(addr, "unix:")
	if !ok && !strings.HasPrefix(addr, "/") {
		u, err := net.ResolveUDPAddr("udp", addr)
		if err != nil {
			return nil, err
		}
		c, err := net.ListenUDP("udp", u)
		if err != nil {
			return nil, err
		}
		c.SetReadBuffer(socketBuffer) // as much as the system allows
		return c, nil
	}
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("listen %s: the path of a socket is absolute", addr)
	}
	name := &net.UnixAddr{Name: path, Net: "unixgram"}
	if st, err := os.Lstat(path); err == nil && st.Mode().Type() == fs.ModeSocket {
		// A socket without a process remains of an agent that was killed.
		other, err := net.DialUnix("unixgram", nil, name)
		if err == nil {
			other.Close()
			return nil, fmt.Errorf("listen %s: %w", addr, syscall.EADDRINUSE)
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			os.Remove(path)
		}
	}
	c, err := net.ListenUnixgram("unixgram", name)
	if err != nil {
		return nil, err
	}
	c.SetReadBuffer(socketBuffer)
	if err := os.Chmod(path, socketMode); err != nil {
		c.Close()
		os.Remove(path)
		return nil, err
	}
	return &unixConn{c, path}, nil
}

// A unixConn removes its socket when it is closed.
type unixConn struct {
	*net.UnixConn
	path string
}

func (c *unixConn) Close() error {
	return errors.Join(c.UnixConn.Close(), os.Remove(c.path))
}

// serve takes datagrams until the connection is closed.
func (a *Agent) serve(c net.Conn) {
	size := a.cfg.MaxUDP
	if _, ok := c.(*unixConn); ok {
		size = max(size, maxUnix)
	}
	b := make([]byte, size)
	for {
		n, err := c.Read(b)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			a.cfg.Log.Error("datagram cannot be read", "err", err)
			time.Sleep(readPause)
		case n == len(b): // and more that was cut
			a.oversized(b[:n])
		default:
			a.packet(b[:n])
		}
	}
}

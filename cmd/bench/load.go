//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// A load is a closed loop of fetches: each of Clients sends its next request
// as soon as it has the reply to the one before. One thread drives all of
// them over epoll with requests encoded once, so that the server is measured
// and not the client.
type load struct {
	Addr    string // host:port, or the path of a Unix socket
	Clients int
	Time    time.Duration
	PMIDs   []pcp.PMID

	Patience time.Duration // time limit of a reply; 0 means 2 s
}

// A loadResult is the result of a load.
type loadResult struct {
	Fetches       int
	Elapsed       time.Duration
	P50, P95, P99 time.Duration
	Max           time.Duration
	ReplyBytes    int
	Metrics       int // in a reply
	WithValues    int // number of these with values at the start
}

func (r loadResult) PerSecond() float64 { return float64(r.Fetches) / r.Elapsed.Seconds() }

// maxReply is the maximum size of a reply.
const maxReply = 4 << 20

type loadConn struct {
	fd    int
	sent  time.Time
	got   int // bytes of the reply so far
	want  int // its length, 0 while the header is incomplete
	hdr   [wire.HeaderSize + 4]byte
	count int
}

// run connects the clients and drives them. Any reply that is not a result
// with the metrics asked for ends it with an error.
func (l *load) run() (loadResult, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	var res loadResult
	request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: l.PMIDs})
	conns := make([]*loadConn, 0, l.Clients)
	defer func() {
		for _, c := range conns {
			unix.Close(c.fd)
		}
	}()
	for range l.Clients {
		fd, err := dialRaw(l.Addr)
		if err != nil {
			return res, fmt.Errorf("client %d: %w", len(conns), err)
		}
		conns = append(conns, &loadConn{fd: fd})
	}

	// One fetch by hand shows the form of a good reply.
	first, err := fetchOnce(conns[0].fd, request)
	if err != nil {
		return res, err
	}
	res.ReplyBytes, res.Metrics, res.WithValues = first.bytes, first.metrics, first.withValues
	if first.metrics != len(l.PMIDs) {
		return res, fmt.Errorf("%d metrics in the reply to a request for %d", first.metrics, len(l.PMIDs))
	}

	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return res, err
	}
	defer unix.Close(ep)
	for i, c := range conns {
		if err := unix.SetNonblock(c.fd, true); err != nil {
			return res, err
		}
		ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}
		if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, c.fd, &ev); err != nil {
			return res, err
		}
	}

	lat := make([]time.Duration, 0, 1<<20)
	start := time.Now()
	for _, c := range conns {
		if err := c.send(request); err != nil {
			return res, err
		}
	}
	patience := l.Patience
	if patience == 0 {
		patience = 2 * time.Second
	}
	buf := make([]byte, 256<<10)
	events := make([]unix.EpollEvent, 256)
	for {
		n, err := unix.EpollWait(ep, events, int(patience/time.Millisecond))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return res, err
		}
		if n == 0 {
			return res, fmt.Errorf("no reply within %v", patience)
		}
		now := time.Now()
		for _, ev := range events[:n] {
			c := conns[ev.Fd]
			done, err := c.receive(buf, len(l.PMIDs), res.ReplyBytes)
			if err != nil {
				return res, fmt.Errorf("client %d, fetch %d: %w", ev.Fd, c.count, err)
			}
			if !done {
				continue
			}
			c.count++
			lat = append(lat, now.Sub(c.sent))
			if now.Sub(start) < l.Time {
				if err := c.send(request); err != nil {
					return res, err
				}
			}
		}
		if now.Sub(start) >= l.Time {
			break
		}
	}
	res.Elapsed = time.Since(start)
	res.Fetches = len(lat)
	slices.Sort(lat)
	res.P50, res.P95, res.P99, res.Max = lat[len(lat)/2], lat[len(lat)*95/100], lat[len(lat)*99/100], lat[len(lat)-1]
	return res, nil
}

func (c *loadConn) send(request []byte) error {
	c.got, c.want = 0, 0
	c.sent = time.Now()
	n, err := unix.Write(c.fd, request)
	if err == nil && n < len(request) {
		err = io.ErrShortWrite
	}
	return err
}

// receive reads the available bytes and reports whether a reply is complete. It
// checks the header and the number of metrics, and assumes that a reply of less
// than nine tenths of the usual size has lost its values.
func (c *loadConn) receive(buf []byte, metrics, usual int) (bool, error) {
	n, err := unix.Read(c.fd, buf)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return false, nil
	case err != nil:
		return false, err
	case n == 0:
		return false, io.ErrUnexpectedEOF
	}
	if c.got < len(c.hdr) {
		copy(c.hdr[c.got:], buf[:n])
	}
	c.got += n
	if c.want == 0 && c.got >= len(c.hdr) {
		c.want = int(binary.BigEndian.Uint32(c.hdr[:]))
		typ := wire.Type(binary.BigEndian.Uint32(c.hdr[4:]))
		num := int(binary.BigEndian.Uint32(c.hdr[wire.HeaderSize:]))
		if typ != wire.TypeHighResResult || num != metrics || c.want > maxReply || c.want < usual*9/10 {
			return false, fmt.Errorf("reply of %d bytes (usually %d), type %#x, %d metrics", c.want, usual, uint32(typ), num)
		}
	}
	if c.want != 0 && c.got > c.want {
		return false, fmt.Errorf("%d bytes after the reply", c.got-c.want)
	}
	return c.want != 0 && c.got == c.want, nil
}

type firstReply struct{ bytes, metrics, withValues int }

// fetchOnce sends request on a blocking socket and decodes the reply in full.
func fetchOnce(fd int, request []byte) (firstReply, error) {
	var f firstReply
	if _, err := unix.Write(fd, request); err != nil {
		return f, err
	}
	r := wire.NewReader(fdReader(fd))
	r.Max = maxReply
	h, body, err := r.Next()
	if err != nil {
		return f, err
	}
	if h.Type == wire.TypeError { // notices of changed names may precede
		var news wire.Error
		if err := news.DecodeBody(body); err != nil {
			return f, err
		}
		if news.Code < 0 {
			return f, news.Code
		}
		if h, body, err = r.Next(); err != nil {
			return f, err
		}
	}
	if h.Type != wire.TypeHighResResult {
		return f, fmt.Errorf("a PDU of type %#x answers the first fetch", uint32(h.Type))
	}
	res := wire.Result{HighRes: true}
	if err := res.DecodeBody(body); err != nil {
		return f, err
	}
	f.bytes, f.metrics = int(h.Len), len(res.Sets)
	for _, vs := range res.Sets {
		if len(vs.Values) > 0 {
			f.withValues++
		}
	}
	return f, nil
}

type fdReader int

func (fd fdReader) Read(b []byte) (int, error) {
	n, err := unix.Read(int(fd), b)
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err
}

// dialRaw connects a blocking socket, does the handshake and sends a profile
// that includes everything.
func dialRaw(addr string) (int, error) {
	fd, err := connectRaw(addr)
	if err != nil {
		return -1, err
	}
	if err := handshake(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func handshake(fd int) error {
	h, body, err := wire.NewReader(fdReader(fd)).Next()
	if err != nil {
		return fmt.Errorf("no challenge: %w", err)
	}
	var e wire.Error
	if h.Type != wire.TypeError || e.DecodeBody(body) != nil || e.Code < 0 {
		return fmt.Errorf("the challenge is %#x % x", uint32(h.Type), body)
	}
	out := wire.Append(nil, int32(os.Getpid()), &wire.Creds{Creds: []wire.Cred{{Type: 1, A: 2}}})
	out = append(out, wire.Append(nil, wire.FromAnon, &wire.Profile{})...)
	_, err = unix.Write(fd, out)
	return err
}

func connectRaw(addr string) (int, error) {
	if strings.HasPrefix(addr, "/") {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: addr}); err != nil {
			unix.Close(fd)
			return -1, err
		}
		return fd, nil
	}
	fd, sa, err := tcpSocket(addr, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, sa); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

// connectLater begins to connect to a TCP address and does not wait.
func connectLater(addr string) (int, error) {
	fd, sa, err := tcpSocket(addr, unix.SOCK_NONBLOCK)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, sa); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func tcpSocket(addr string, flags int) (int, unix.Sockaddr, error) {
	tcp, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return -1, nil, err
	}
	sa := &unix.SockaddrInet4{Port: tcp.Port}
	copy(sa.Addr[:], tcp.IP.To4())
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|flags, 0)
	return fd, sa, err
}

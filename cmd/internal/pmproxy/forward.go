package pmproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The proxy protocol of PCP (connect.c: negotiate_proxy; pcp.c). It is part of
// the wire protocol; do not change it.
const (
	clientHello = "pmproxy-client 1\n"
	serverHello = "pmproxy-server 1\n"
)

// maxTarget is the maximum length of the line that names a collector, in bytes:
// a DNS name, a space, a port and a newline.
const maxTarget = 255 + 1 + 5 + 1

var errHandshake = errors.New("proxy handshake")

// readTarget reads the request that follows a client's hello: the name of a
// collector, a space, a port and a newline. It reads byte by byte, since the
// bytes that follow are for the collector.
func readTarget(r io.Reader) (host string, port int, err error) {
	line, err := readLine(r, maxTarget)
	if err != nil {
		return "", 0, err
	}
	return parseTarget(line)
}

func readLine(r io.Reader, limit int) (string, error) {
	line := make([]byte, 0, 64)
	var b [1]byte
	for {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		if len(line) == limit {
			return "", fmt.Errorf("%w: a line of more than %d bytes", errHandshake, limit)
		}
		line = append(line, b[0])
	}
}

// parseTarget splits HOST PORT.
func parseTarget(line string) (host string, port int, err error) {
	host, text, ok := strings.Cut(strings.TrimSuffix(line, "\r"), " ")
	if !ok || host == "" || strings.ContainsAny(host, "\x00/") {
		return "", 0, fmt.Errorf("%w: %q does not name a collector", errHandshake, line)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%w: %q is not a port", errHandshake, text)
	}
	return host, int(n), nil
}

// forward connects a client to its server, and relays between the two until one
// of them disconnects.
func (s *Server) forward(c *conn, connect func(*conn) (net.Conn, error)) {
	s.stats.forwards.Inc()
	server, err := connect(c)
	if err != nil {
		s.stats.failed.Inc()
		if !s.stopping() {
			s.lines.log(s.log, slog.LevelInfo, "client is not forwarded", "client", c.from(), "err", err)
		}
		return
	}
	defer server.Close()
	s.stats.forwarding.Add(1)
	defer s.stats.forwarding.Add(-1)
	// When the server stops it closes the client's connection, which ends both directions.
	var back sync.WaitGroup
	back.Go(func() {
		relay(c, server, s.stats.toClients.Add)
		// A collector that has disconnected sends nothing more.
		c.closeWrite()
		c.Conn.SetReadDeadline(time.Now())
	})
	var in io.Reader = c
	if limit := s.now.Load().MaxPDU; limit > 0 && c.speaks == speaksPCP {
		in = &pduLimit{r: c, limit: limit}
	}
	err = relay(server, in, s.stats.toCollectors.Add)
	if errors.Is(err, errLargePDU) {
		s.lines.log(s.log, slog.LevelWarn, "client dropped", "client", c.from(), "err", err)
		c.Conn.Close()
	}
	if err == nil {
		// The client may still wait for the rest of the response.
		closeWrite(server)
		server.SetReadDeadline(time.Now().Add(drainTimeout))
	} else {
		server.Close()
	}
	back.Wait()
}

// connect reads the handshake and connects to the collector.
func (s *Server) connect(c *conn) (net.Conn, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, err
	}
	hello, err := readLine(c, len(clientHello)-1)
	if err != nil {
		return nil, err
	}
	if hello+"\n" != clientHello {
		return nil, fmt.Errorf("%w: client says %q", errHandshake, hello)
	}
	if _, err := io.WriteString(c, serverHello); err != nil {
		return nil, err
	}
	host, port, err := readTarget(c)
	if err != nil {
		return nil, err
	}
	if !s.MayReach(host, port) {
		return nil, fmt.Errorf("collector %s, port %d is not one that clients may reach", host, port)
	}
	if err := c.Conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return s.dial(net.JoinHostPort(host, strconv.Itoa(port)))
}

// connectKeys connects to the key server.
func (s *Server) connectKeys(*conn) (net.Conn, error) { return s.dial(s.now.Load().KeyServer) }

// dial connects to a server; it gives up if this server stops meanwhile.
func (s *Server) dial(address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.DialTimeout)
	defer cancel()
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.closing:
			cancel()
		case <-stop:
		}
	})
	server, err := s.cfg.Dial(ctx, "tcp", address)
	close(stop)
	watch.Wait()
	return server, err
}

// MayReach reports whether [Config.Collectors] lets clients reach a collector. Handlers
// call it before they connect to a host that a client names.
func (s *Server) MayReach(host string, port int) bool {
	patterns := s.now.Load().Collectors
	if len(patterns) == 0 {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, p := range patterns {
		name, only := splitPattern(p)
		if ok, _ := path.Match(strings.ToLower(name), host); ok && (only == 0 || only == port) {
			return true
		}
	}
	return false
}

// splitPattern splits HOST or HOST:PORT; port 0 is any. An IPv6 address with a
// port is in brackets.
func splitPattern(p string) (host string, port int) {
	if h, text, err := net.SplitHostPort(p); err == nil {
		if n, err := strconv.ParseUint(text, 10, 16); err == nil && n > 0 {
			return h, int(n)
		}
	}
	return strings.Trim(p, "[]"), 0
}

func checkPattern(p string) error {
	host, port := splitPattern(p)
	if _, err := path.Match(host, ""); err != nil || host == "" || port == 0 && strings.Count(host, ":") == 1 {
		return fmt.Errorf("%q is not a collector: want HOST or HOST:PORT", p)
	}
	return nil
}

const (
	smallBuffer = 2 << 10 // buffer size for each direction of an idle connection
	largeBuffer = 64 << 10
)

// relay copies src to dst until src ends, which is not an error. It uses little
// memory until a long response arrives.
func relay(dst io.Writer, src io.Reader, count func(uint64)) error {
	small := make([]byte, smallBuffer)
	buf := small
	var large []byte
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
			count(uint64(n))
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case n == len(buf) && n == smallBuffer:
			large = make([]byte, largeBuffer)
			buf = large
		case n <= smallBuffer && large != nil:
			large, buf = nil, small
		}
	}
}

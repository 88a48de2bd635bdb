package keys

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
)

// Limits of replies.
const (
	maxLine     = 64 << 10
	maxBulk     = 64 << 20 // bytes of a string
	maxElements = 1 << 21  // of an array
	maxNested   = 8        // arrays in arrays
)

// errUnasked is the error for a reply without a command.
var errUnasked = errors.New("a reply without a command")

// A guard is a connection to a server that is not trusted. The library panics at a reply without a command, and allocates
// as much memory as a length claims: reading fails before such bytes reach it.
type guard struct {
	net.Conn
	out, in   frames
	asked     atomic.Int64 // commands
	replied   int64
	violation error // of the replies; later reads return it
}

// guarded connects to a server.
func guarded(ctx context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &guard{Conn: c}, nil
}

// Write counts the commands before the server can answer them.
func (g *guard) Write(b []byte) (int, error) {
	if _, err := g.out.take(b, func() error { g.asked.Add(1); return nil }); err != nil {
		return 0, fmt.Errorf("command: %w", err)
	}
	return g.Conn.Write(b)
}

// Read returns the bytes of replies to commands.
func (g *guard) Read(b []byte) (int, error) {
	if g.violation != nil {
		return 0, g.violation
	}
	n, err := g.Conn.Read(b)
	good, bad := g.in.take(b[:n], func() error {
		if g.replied++; g.replied > g.asked.Load() {
			return errUnasked
		}
		return nil
	})
	if bad != nil {
		g.violation = fmt.Errorf("%v: not a reply of a key server: %w", g.RemoteAddr(), bad)
		if good == 0 {
			return 0, g.violation
		}
		return good, nil
	}
	return n, err
}

// frames follows the messages of version 2 of the protocol (RESP) in a stream of bytes.
type frames struct {
	left [maxNested]int // elements that remain of the open arrays, the outermost first
	open int            // number of open arrays
	kind byte           // of the line under way; 0 between lines
	line int            // its length
	num  int            // the number in it
	neg  bool           // it has a minus sign
	skip int            // bytes that remain of a string and its end
}

// take follows b, and calls begin at the first byte of each message. It returns the number of bytes before the element with an
// error.
func (f *frames) take(b []byte, begin func() error) (good int, err error) {
	for i := 0; i < len(b); {
		if f.skip > 0 {
			n := min(f.skip, len(b)-i)
			f.skip -= n
			if i += n; f.skip == 0 {
				f.ended()
			}
			continue
		}
		c := b[i]
		switch {
		case f.kind == 0:
			if f.open == 0 {
				if err := begin(); err != nil {
					return i, err
				}
			}
			switch c {
			case '+', '-', ':', '$', '*':
			default:
				return i, fmt.Errorf("unknown type %q", c)
			}
			f.kind, f.line, f.num, f.neg = c, 0, 0, false
			good = i
		case c == '\n':
			if err := f.lineEnded(); err != nil {
				return good, err
			}
		default:
			if err := f.inLine(c); err != nil {
				return good, err
			}
		}
		i++
	}
	return len(b), nil
}

// inLine takes a byte of a line.
func (f *frames) inLine(c byte) error {
	f.line++
	switch {
	case f.kind != '$' && f.kind != '*':
		if f.line > maxLine {
			return fmt.Errorf("a line of more than %d bytes", maxLine)
		}
	case c == '\r':
	case c == '-' && f.line == 1:
		f.neg = true
	case c < '0' || c > '9' || f.line > 12:
		return fmt.Errorf("length with the byte %q", c)
	default:
		f.num = f.num*10 + int(c-'0')
	}
	return nil
}

// lineEnded takes the end of a line.
func (f *frames) lineEnded() error {
	kind := f.kind
	f.kind = 0
	switch {
	case kind != '$' && kind != '*' || f.neg:
		f.ended()
	case kind == '$' && f.num > maxBulk:
		return fmt.Errorf("a string of %d bytes; %d are allowed", f.num, maxBulk)
	case kind == '$':
		f.skip = f.num + 2
	case f.num > maxElements:
		return fmt.Errorf("an array of %d elements; %d are allowed", f.num, maxElements)
	case f.num == 0:
		f.ended()
	case f.open == maxNested:
		return fmt.Errorf("arrays nested more than %d deep", maxNested)
	default:
		f.left[f.open] = f.num
		f.open++
	}
	return nil
}

// ended notes that an element has ended, and with it maybe arrays.
func (f *frames) ended() {
	for f.open > 0 {
		if f.left[f.open-1]--; f.left[f.open-1] > 0 {
			return
		}
		f.open--
	}
}

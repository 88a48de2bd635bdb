package fleet

import (
	"context"
	"net"
)

// A turn is the right of a host's goroutine to work. Only that goroutine may use it.
type turn struct {
	slots chan struct{} // of the fleet
	held  bool
}

// Take waits for a turn.
func (t *turn) Take() {
	t.slots <- struct{}{}
	t.held = true
}

// Give gives the turn back.
func (t *turn) Give() {
	t.held = false
	<-t.slots
}

// rest calls f, which waits, without the turn.
func (t *turn) rest(f func()) {
	if !t.held {
		f()
		return
	}
	t.Give()
	f()
	t.Take()
}

// A conn releases the turn while it waits for its peer.
type conn struct {
	net.Conn
	t *turn
}

// largeWrite is the size of a write that may block although the last request was answered.
const largeWrite = 8 << 10

func (c *conn) Read(b []byte) (n int, err error) {
	c.t.rest(func() { n, err = c.Conn.Read(b) })
	return n, err
}

func (c *conn) Write(b []byte) (n int, err error) {
	if len(b) < largeWrite {
		return c.Conn.Write(b)
	}
	c.t.rest(func() { n, err = c.Conn.Write(b) })
	return n, err
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dial returns a dial function that releases the turn while it waits, as do its connections.
func (t *turn) dial(below dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (nc net.Conn, err error) {
		t.rest(func() { nc, err = below(ctx, network, address) })
		if err != nil {
			return nil, err
		}
		return &conn{nc, t}, nil
	}
}

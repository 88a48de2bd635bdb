package trace

import (
	"context"
	"errors"
	"sync"
	"time"
)

// asynchronous is the state of a client whose calls do not wait. Calls append to next; a goroutine
// sends it and puts an empty buffer in its place.
type asynchronous struct {
	limit int
	wake  chan struct{} // wakes the goroutine if there is work
	ended chan struct{} // the goroutine has returned

	mu       sync.Mutex
	used     bool
	next     []byte
	spare    []byte
	count    uint64 // records in next
	appended uint64 // records ever
	settled  uint64 // records that were written, or are lost
	failure  error  // error of the last connection, until there is another one; calls fail with it
	backoff  backoff
	changed  chan struct{} // closed when settled or failure has changed; made by waiters
	want     bool          // connect even without anything to send
	link     *link
	up       bool
}

func (a *asynchronous) init(limit int) {
	a.limit = limit
	a.wake = make(chan struct{}, 1)
	a.ended = make(chan struct{})
}

func (a *asynchronous) isUsed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// errFull is the error of a call without room for its record.
var errFull error = &failure{ErrIPC, errors.New("the agent does not keep up: the buffer is full")}

// start starts the goroutine. The caller holds mu.
func (c *Client) start() {
	if !c.asyn.used {
		c.asyn.used = true
		go c.sendAll()
	}
}

func (a *asynchronous) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// sendAsync puts a record into the buffer.
func (c *Client) sendAsync(kind Kind, tag string, value float64) error {
	a := &c.asyn
	a.mu.Lock()
	if c.isClosed() {
		a.mu.Unlock()
		return errClosed
	}
	if a.failure != nil {
		if err := a.backoff.wait(); err != nil {
			a.mu.Unlock()
			return err
		}
		a.failure = nil
	}
	if len(a.next)+maxPDU > a.limit && len(a.next) > 0 {
		a.mu.Unlock()
		return errFull
	}
	c.start()
	first := len(a.next) == 0
	a.next = appendRecord(a.next, c.pid, asyncAlign, kind, false, value, tag)
	a.count++
	a.appended++
	a.mu.Unlock()
	if first {
		a.signal()
	}
	return nil
}

// connectAsync waits for a connection, or for the failure of one.
func (c *Client) connectAsync(ctx context.Context) error {
	a := &c.asyn
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.backoff.wait(); a.failure != nil && err != nil {
		return err
	}
	a.failure = nil
	c.start()
	a.want = true
	a.signal()
	for !a.up && a.failure == nil {
		if err := a.await(ctx, c.closed); err != nil {
			return err
		}
	}
	return a.failure
}

// flush waits until all appended records are settled.
func (a *asynchronous) flush(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for target := a.appended; a.settled < target; {
		if err := a.await(ctx, nil); err != nil {
			return err
		}
	}
	return a.failure
}

// await waits for a change. The caller holds mu.
func (a *asynchronous) await(ctx context.Context, closed <-chan struct{}) error {
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	changed := a.changed
	a.mu.Unlock()
	defer a.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-closed:
		return errClosed
	case <-ctx.Done():
		return failed(context.Cause(ctx))
	}
}

// tell wakes all waiters for a change. The caller holds mu.
func (a *asynchronous) tell() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// sendAll is the goroutine that sends the appended records, until the client is closed.
func (c *Client) sendAll() {
	a := &c.asyn
	defer close(a.ended)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-c.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-a.wake:
		case <-c.closed:
			a.mu.Lock()
			a.drop(c, a.count)
			a.next, a.count = a.next[:0], 0
			a.mu.Unlock()
			return
		}
		a.mu.Lock()
		for a.count > 0 || a.want {
			a.want = false
			if l := a.link; l == nil {
				a.mu.Unlock()
				l, err := c.dial(ctx)
				a.mu.Lock()
				if err != nil {
					a.fail(c, err)
					break
				}
				a.link, a.up, a.backoff = l, true, backoff{}
				a.tell()
				go c.listen(l)
				continue
			}
			l, out, n := a.link, a.next, a.count
			a.next, a.count = a.spare[:0], 0
			a.mu.Unlock()
			err := c.write(l, out)
			a.mu.Lock()
			a.spare = out
			if err != nil {
				l.Close()
				if a.link == l {
					a.link, a.up = nil, false
				}
				a.drop(c, n)
				if errors.Is(err, ErrTimeout) || l.young() {
					a.fail(c, err)
					break
				}
				continue // with a new connection
			}
			a.settled += n
			a.tell()
		}
		a.mu.Unlock()
	}
}

// maxWrite is the maximum length of a write, so that each write has its own time limit.
const maxWrite = 32 << 10

func (c *Client) write(l *link, b []byte) error {
	if c.State()&StatePDU != 0 {
		for rest := b; len(rest) > 0; {
			n := int(be32(rest))
			c.showPDU("__pmtracexmitPDU", l, rest[:n])
			rest = rest[n:]
		}
	}
	for len(b) > 0 {
		n := min(len(b), maxWrite)
		err := l.SetWriteDeadline(time.Now().Add(c.requestTimeout))
		if err == nil {
			_, err = l.Write(b[:n])
		}
		if err != nil {
			return failed(err)
		}
		b = b[n:]
	}
	return nil
}

// fail makes calls fail until the next attempt to connect; appended records are lost. The caller holds mu.
func (a *asynchronous) fail(c *Client, err error) {
	a.backoff.failed(c.reconnect, err)
	a.failure = err
	a.drop(c, a.count)
	a.next, a.count = a.next[:0], 0
}

// drop settles n records as lost. The caller holds mu.
func (a *asynchronous) drop(c *Client, n uint64) {
	c.lost.Add(n)
	a.settled += n
	a.tell()
}

// listen reads from the agent after its greeting. The agent sends nothing, so that listen notices when it
// has gone.
func (c *Client) listen(l *link) {
	a := &c.asyn
	var why error
	for why == nil {
		ack, err := c.ack(l)
		if why = err; err == nil && ack < 0 {
			why = refused(ack)
		}
	}
	l.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == l {
		a.link, a.up = nil, false
		if l.young() && !c.isClosed() {
			a.fail(c, why)
		}
	}
}

// closeAsync ends the goroutine, if there is one.
func (c *Client) closeAsync() {
	a := &c.asyn
	a.mu.Lock()
	used := a.used
	a.mu.Unlock()
	if !used {
		return
	}
	<-a.ended
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link != nil {
		a.link.Close()
		a.link, a.up = nil, false
	}
}

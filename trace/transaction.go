package trace

import (
	"context"
	"time"
)

// progress is a transaction by its tag.
type progress struct {
	start   time.Time
	running bool
}

// Begin begins the transaction called tag, or begins it again after its end (pmtracebegin(3)). There is one of each tag
// in a client, no matter which goroutine begins it; [Client.Start] is for transactions of which many run at a time. The
// error is [ErrInProgress] if it has begun already.
func (c *Client) Begin(tag string) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if c.isClosed() {
		return errClosed
	}
	if c.State()&StateNoAgent != 0 {
		c.skipConnect()
	}
	c.tagsMu.Lock()
	defer c.tagsMu.Unlock()
	p := c.tags[tag]
	what := "updating"
	switch {
	case p == nil:
		p, what = new(progress), "new"
		c.tags[tag] = p
	case p.running:
		return ErrInProgress
	}
	if c.State()&StateAPI != 0 {
		c.debugf("pmtracebegin: %s transaction '%s' (id=0x%x)\n", what, tag, c.pid)
	}
	p.running, p.start = true, time.Now()
	return nil
}

// End ends the transaction called tag and reports its duration to the agent (pmtraceend(3)). The
// error is [ErrNoSuchTag] if there has never been one, and [ErrNoProgress] if it has ended.
func (c *Client) End(tag string) error {
	now := time.Now()
	start, err := c.stop(tag, "pmtraceend: sending transaction data")
	if err != nil {
		return err
	}
	return c.send(Transact, tag, now.Sub(start).Seconds())
}

// Abort ends the transaction called tag, which is not reported to the agent
// (pmtraceabort(3)).
func (c *Client) Abort(tag string) error {
	_, err := c.stop(tag, "pmtraceabort: aborting transaction")
	return err
}

// stop removes a transaction from the running ones.
func (c *Client) stop(tag, doing string) (start time.Time, err error) {
	if err := checkTag(tag); err != nil {
		return start, err
	}
	c.tagsMu.Lock()
	defer c.tagsMu.Unlock()
	p := c.tags[tag]
	switch {
	case p == nil:
		return start, ErrNoSuchTag
	case !p.running:
		return start, ErrNoProgress
	}
	if c.State()&StateAPI != 0 {
		c.debugf("%s '%s' (id=0x%x)\n", doing, tag, c.pid)
	}
	p.running = false
	return p.start, nil
}

// A Transaction is a transaction that has begun. Many of the same tag may run at a time. A Transaction
// belongs to one goroutine, and is not copied. The zero Transaction has ended.
type Transaction struct {
	c     *Client
	tag   string
	start time.Time
}

// Start begins a transaction.
func (c *Client) Start(tag string) (Transaction, error) {
	if err := checkTag(tag); err != nil {
		return Transaction{}, err
	}
	if c.isClosed() {
		return Transaction{}, errClosed
	}
	if c.State()&StateNoAgent != 0 {
		c.skipConnect()
	}
	if c.State()&StateAPI != 0 {
		c.debugf("pmtracebegin: new transaction '%s' (id=0x%x)\n", tag, c.pid)
	}
	return Transaction{c, tag, time.Now()}, nil
}

// Tag returns the tag of the transaction, "" if it has ended.
func (t *Transaction) Tag() string {
	if t.c == nil {
		return ""
	}
	return t.tag
}

// End ends the transaction and reports its duration to the agent. The error is [ErrNoProgress] if it has
// ended already.
func (t *Transaction) End() error {
	if t.c == nil {
		return ErrNoProgress
	}
	took := time.Since(t.start)
	c := t.c
	t.c = nil
	if c.State()&StateAPI != 0 {
		c.debugf("pmtraceend: sending transaction data '%s' (id=0x%x)\n", t.tag, c.pid)
	}
	return c.send(Transact, t.tag, took.Seconds())
}

// Abort ends the transaction, which is not reported to the agent. After End it only returns
// [ErrNoProgress], so that it can be deferred.
func (t *Transaction) Abort() error {
	if t.c == nil {
		return ErrNoProgress
	}
	if t.c.State()&StateAPI != 0 {
		t.c.debugf("pmtraceabort: aborting transaction '%s' (id=0x%x)\n", t.tag, t.c.pid)
	}
	t.c = nil
	return nil
}

// Record reports a transaction of known duration to the agent.
func (c *Client) Record(tag string, took time.Duration) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if c.State()&StateAPI != 0 {
		c.debugf("pmtraceend: sending transaction data '%s' (id=0x%x)\n", tag, c.pid)
	}
	return c.send(Transact, tag, took.Seconds())
}

type contextKey struct{}

// NewContext begins a transaction and returns a context that carries it to the place where it ends or is
// aborted. If ctx already carries one, that continues: transactions nest.
func (c *Client) NewContext(ctx context.Context, tag string) (context.Context, *Transaction, error) {
	t, err := c.Start(tag)
	if err != nil {
		return ctx, nil, err
	}
	return context.WithValue(ctx, contextKey{}, &t), &t, nil
}

// FromContext returns the innermost transaction that ctx carries, nil if there is none.
func FromContext(ctx context.Context) *Transaction {
	t, _ := ctx.Value(contextKey{}).(*Transaction)
	return t
}

package keys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

// Limits of writers.
const (
	batchCommands = 2000
	batchBytes    = 1 << 20
	writeTimeout  = 2 * time.Minute        // for a batch, failures included
	waitTime      = time.Second            // for replicas, before their number is looked up again
	checkReplicas = 10 * time.Second       // between looks for replicas of a master without replicas
	slowestRetry  = time.Second            // between tries
	fastestRetry  = 100 * time.Millisecond // after the first failure
	slots         = 16384                  // of a cluster
	maxRanges     = 1 << 16                // of slots
)

// A command is a write to one key.
type command struct {
	name, key string
	args      []string
	announce  string // published in pcp:channel:CHANNEL if the answer is 1
	channel   string
	soft      bool // an error is only logged
}

func (c *command) size() int {
	n := len(c.name) + len(c.key)
	for _, a := range c.args {
		n += len(a)
	}
	return n
}

// A writer sends commands in batches, in order for each key. It is for one goroutine.
type writer struct {
	cfg    *Config
	client valkey.Client // for questions about the cluster, and for slots that move
	log    *slog.Logger

	queue []command
	bytes int

	owners []string         // of slots; nil if there is no cluster
	nodes  map[string]*node // masters, by address

	sent       map[cacheKey]bool // strings that were written to maps
	duplicates int               // values that were there before
}

// A node is a connection to a master.
type node struct {
	client   valkey.Client
	conn     valkey.DedicatedClient
	release  func()
	replicas int
	looked   time.Time
}

func newWriter(cfg *Config, client valkey.Client, log *slog.Logger) *writer {
	return &writer{cfg: cfg, client: client, log: log, nodes: map[string]*node{}, sent: map[cacheKey]bool{}}
}

// add queues a command. It sends the queue if that is long.
func (w *writer) add(ctx context.Context, c command) error {
	w.queue = append(w.queue, c)
	w.bytes += c.size()
	if len(w.queue) >= batchCommands || w.bytes >= batchBytes {
		return w.send(ctx)
	}
	return nil
}

// flush sends all queued commands. When it returns without an error they are safe, as the package describes.
func (w *writer) flush(ctx context.Context) error {
	for len(w.queue) > 0 { // announcements follow
		if err := w.send(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reset forgets the queue and the strings that were written.
func (w *writer) reset() {
	w.queue, w.bytes = nil, 0
	clear(w.sent)
}

func (w *writer) close() {
	for _, n := range w.nodes {
		n.close()
	}
	clear(w.nodes)
}

func (n *node) close() {
	n.release()
	n.client.Close()
}

// send sends the queue and waits until it is done.
func (w *writer) send(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writeTimeout, fmt.Errorf("key server does not accept writes for %v", writeTimeout))
	defer cancel()
	pending := w.queue
	w.queue, w.bytes = nil, 0
	var last error
	for delay := fastestRetry; ; delay = min(2*delay, slowestRetry) {
		left, err := w.try(ctx, pending)
		if err == nil && len(left) == 0 {
			if last != nil {
				w.log.Info("key server accepts writes again")
			}
			return nil
		}
		var fatal *fatalError
		if errors.As(err, &fatal) {
			return fatal.err
		}
		if last == nil {
			w.log.Warn("key server does not accept writes, trying again", "err", err)
		}
		pending, last = left, err
		w.forget()
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
}

// forget closes all connections and looks for the masters at the next try.
func (w *writer) forget() {
	w.close()
	w.owners = nil
}

// A fatalError ends the attempts to send a batch.
type fatalError struct{ err error }

func (f *fatalError) Error() string { return f.err.Error() }

// try sends commands once, and returns those that are not done, in order.
func (w *writer) try(ctx context.Context, all []command) (left []command, err error) {
	if err := w.findMasters(ctx); err != nil {
		return all, err
	}
	parts := map[string][]int{}
	for i := range all {
		a := w.owner(all[i].key)
		if a == "" {
			return all, fmt.Errorf("no node of the cluster has the key %s", all[i].key)
		}
		parts[a] = append(parts[a], i)
	}
	type outcome struct {
		open    []int // not done
		news    []command
		existed int
		err     error
	}
	var mu sync.Mutex
	var sum outcome
	var wg sync.WaitGroup
	for a, list := range parts {
		n, err := w.node(ctx, a)
		if err != nil {
			mu.Lock()
			sum.open, sum.err = append(sum.open, list...), err
			mu.Unlock()
			continue
		}
		wg.Go(func() {
			open, news, existed, err := w.sendTo(ctx, n, all, list)
			mu.Lock()
			defer mu.Unlock()
			sum.open, sum.news, sum.existed = append(sum.open, open...), append(sum.news, news...), sum.existed+existed
			var fatal *fatalError
			if err != nil && !errors.As(sum.err, &fatal) {
				sum.err = err
			}
		})
	}
	wg.Wait()
	for i := range sum.news {
		w.queue = append(w.queue, sum.news[i])
		w.bytes += sum.news[i].size()
	}
	w.duplicates += sum.existed
	if len(sum.open) == 0 {
		return nil, sum.err
	}
	open := make(map[int]bool, len(sum.open))
	for _, i := range sum.open {
		open[i] = true
	}
	for i := range all {
		if open[i] {
			left = append(left, all[i])
		}
	}
	return left, sum.err
}

// sendTo sends the commands with the numbers of list to a node. It returns the numbers of those that are not done.
func (w *writer) sendTo(ctx context.Context, n *node, all []command, list []int) (open []int, news []command, existed int, err error) {
	if n.replicas == 0 && time.Since(n.looked) > checkReplicas {
		if err := n.look(ctx); err != nil {
			return list, nil, 0, err
		}
	}
	multi := make([]valkey.Completed, 0, len(list)+1)
	for _, i := range list {
		multi = append(multi, n.conn.B().Arbitrary(all[i].name).Keys(all[i].key).Args(all[i].args...).Build())
	}
	if n.replicas > 0 {
		multi = append(multi, n.wait())
	}
	results := n.conn.DoMulti(ctx, multi...)
	for k, i := range list {
		c := &all[i]
		err := results[k].Error()
		if err == nil {
			if c.announce != "" {
				if n, err := results[k].AsInt64(); err == nil && n > 0 {
					news = append(news, command{name: "PUBLISH", key: "pcp:channel:" + c.channel, args: []string{c.announce}})
				}
			}
			continue
		}
		reply, ok := valkey.IsValkeyErr(err)
		switch {
		case valkey.IsValkeyNil(err):
		case !ok: // the connection is broken: nothing of this batch is certain
			return list, nil, 0, err
		case c.name == "XADD" && strings.Contains(reply.Error(), "The ID specified in XADD"):
			existed++
		case isAsk(reply):
			// The slot is on the move. The client follows it.
			if err := w.client.Do(ctx, w.client.B().Arbitrary(c.name).Keys(c.key).Args(c.args...).Build()).Error(); err != nil && !valkey.IsValkeyNil(err) {
				return list, nil, 0, err
			}
		case temporary(reply):
			return list, nil, 0, fmt.Errorf("%s %s: %w", c.name, c.key, err)
		case c.soft:
			w.log.Warn("key server refuses a command", "command", c.name, "key", c.key, "err", err)
		default:
			return nil, nil, 0, &fatalError{fmt.Errorf("%s %s: %w", c.name, c.key, err)}
		}
	}
	if n.replicas > 0 {
		if err := n.confirm(ctx, results[len(list)]); err != nil {
			return list, nil, 0, err
		}
	}
	return nil, news, existed, nil
}

// wait returns the command that waits until a replica has what this connection wrote.
func (n *node) wait() valkey.Completed {
	return n.conn.B().Arbitrary("WAIT").Args("1", strconv.FormatInt(waitTime.Milliseconds(), 10)).Build()
}

// confirm returns nil if a replica has the batch, or if the master has no replica any more.
func (n *node) confirm(ctx context.Context, r valkey.ValkeyResult) error {
	for {
		got, err := r.AsInt64()
		if err != nil {
			return fmt.Errorf("WAIT: %w", err)
		}
		if got > 0 {
			return nil
		}
		if err := n.look(ctx); err != nil || n.replicas == 0 {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r = n.conn.Do(ctx, n.wait())
	}
}

// look asks a master for the number of its replicas.
func (n *node) look(ctx context.Context) error {
	info, err := n.conn.Do(ctx, n.conn.B().Info().Section("replication").Build()).ToString()
	if err != nil {
		return err
	}
	if role, ok := infoField(info, "role"); ok && role != "master" {
		return fmt.Errorf("not a master: %s", role)
	}
	text, _ := infoField(info, "connected_slaves")
	n.replicas, _ = strconv.Atoi(text)
	n.looked = time.Now()
	return nil
}

func isAsk(e *valkey.ValkeyError) bool { _, ok := e.IsAsk(); return ok }

// temporary reports whether a command may succeed later, or at another node.
func temporary(e *valkey.ValkeyError) bool {
	if _, moved := e.IsRedirect(); moved || e.IsTryAgain() || e.IsLoading() || e.IsClusterDown() {
		return true
	}
	code, _, _ := strings.Cut(e.Error(), " ")
	switch code {
	case "READONLY", "MASTERDOWN", "NOREPLICAS", "BUSY":
		return true
	}
	return false
}

// findMasters finds out which master has which slot.
func (w *writer) findMasters(ctx context.Context) error {
	if w.client.Mode() != valkey.ClientModeCluster || w.owners != nil {
		return nil
	}
	// A node that is down may be asked first; another one is at the next try.
	one, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	reply, err := w.client.Do(one, w.client.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return fmt.Errorf("CLUSTER SLOTS: %w", err)
	}
	w.owners, err = owners(reply, w.cfg.addresses()[0])
	return err
}

// owners decodes the answer to CLUSTER SLOTS. A node without address is that which answered.
func owners(reply []valkey.ValkeyMessage, first string) ([]string, error) {
	if len(reply) > maxRanges {
		return nil, fmt.Errorf("CLUSTER SLOTS: %d ranges", len(reply))
	}
	list := make([]string, slots)
	for i := range reply {
		part, err := reply[i].ToArray()
		if err != nil || len(part) < 3 {
			return nil, fmt.Errorf("CLUSTER SLOTS: range %d has %d parts", i, len(part))
		}
		from, err1 := part[0].AsInt64()
		to, err2 := part[1].AsInt64()
		at, err3 := part[2].ToArray()
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, fmt.Errorf("CLUSTER SLOTS: range %d: %w", i, err)
		}
		if from < 0 || to >= slots || len(at) < 2 {
			return nil, fmt.Errorf("CLUSTER SLOTS: range %d is %d to %d", i, from, to)
		}
		host, _ := at[0].ToString()
		port, err := at[1].AsInt64()
		if err != nil {
			return nil, fmt.Errorf("CLUSTER SLOTS: port of range %d: %w", i, err)
		}
		if host == "" || host == "?" {
			if host, _, err = net.SplitHostPort(first); err != nil {
				return nil, err
			}
		}
		address := net.JoinHostPort(host, strconv.FormatInt(port, 10))
		for s := from; s <= to; s++ {
			list[s] = address
		}
	}
	return list, nil
}

// owner returns the address of the master of a key.
func (w *writer) owner(key string) string {
	if w.owners == nil {
		return w.cfg.addresses()[0]
	}
	return w.owners[slot(key)]
}

// node returns the connection to a master.
func (w *writer) node(ctx context.Context, address string) (*node, error) {
	if n := w.nodes[address]; n != nil {
		return n, nil
	}
	o := w.cfg.options(address)
	o.ForceSingleClient = true
	c, err := valkey.NewClient(o)
	if err != nil {
		return nil, fmt.Errorf("key server %s: %w", address, err)
	}
	n := &node{client: c}
	n.conn, n.release = c.Dedicate()
	if err := n.look(ctx); err != nil {
		n.close()
		return nil, fmt.Errorf("key server %s: %w", address, err)
	}
	w.nodes[address] = n
	return n, nil
}

// slot returns the slot of a key in a cluster: the remainder of the checksum of the part in the first braces that are not empty, or of the
// whole key.
func slot(key string) int {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if n := strings.IndexByte(key[i+1:], '}'); n > 0 {
			key = key[i+1 : i+1+n]
		}
	}
	var crc uint16 // CRC-16/XMODEM
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

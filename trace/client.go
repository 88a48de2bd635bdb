package trace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Defaults.
const (
	DefaultTimeout        = 3 * time.Second  // of a connection, until the agent has greeted
	defaultRequestTimeout = 10 * time.Second // of an acknowledgement
	defaultBuffer         = 256 << 10        // bytes
)

// defaultReconnect are the pauses before the next attempts to connect; the last is for all later ones.
func defaultReconnect() []time.Duration {
	return []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second}
}

// Limits of the values of a variable or a Config.
const (
	maxSeconds   = 1e9
	maxReconnect = 100 // pauses
)

// A Config sets the address of the agent and the behavior of the connection. A zero field has the
// value of its environment variable, or else the default.
type Config struct {
	Host string // of the agent; PCP_TRACE_HOST; "localhost"
	Port int    // PCP_TRACE_PORT; [Port]

	// State has the flags of the client. PCP_TRACE_NOAGENT, set to anything, adds StateNoAgent.
	State State

	// Timeout is the time limit of a connection, with the agent's greeting; PCP_TRACE_TIMEOUT, in
	// seconds; DefaultTimeout. RequestTimeout is the time limit for the acknowledgement of a call,
	// and for Close to send all records; PCP_TRACE_REQTIMEOUT, in seconds; by default 3 seconds.
	Timeout, RequestTimeout time.Duration

	// Reconnect are the pauses after attempts to connect that failed: after the first, after the
	// second, and so on, the last one for all others; PCP_TRACE_RECONNECT, in seconds with commas
	// between; 5, 10, 20, 40 and 80 seconds.
	Reconnect []time.Duration

	// Buffer is the maximum number of bytes of unsent records of an asynchronous
	// client; by default 256 KiB.
	Buffer int

	Config *config.Config // the environment; nil means config.Process
	Debug  io.Writer      // output of StateAPI and similar flags; nil discards it
}

// A Client sends measurements to the agent. Any number of goroutines may use it.
type Client struct {
	addr           string // host and port
	host           string
	port           int
	timeout        time.Duration
	requestTimeout time.Duration
	reconnect      []time.Duration
	pid            int
	state          atomic.Uint32
	debugMu        sync.Mutex
	debug          io.Writer
	closed         chan struct{}
	closeOnce      sync.Once
	lost           atomic.Uint64

	tagsMu sync.Mutex
	tags   map[string]*progress

	syn  synchronous
	asyn asynchronous
}

// New returns a client. It does not connect: the first measurement or [Client.Connect] does. The error is
// [ErrEnvFormat] if a variable of the environment is wrong.
func New(cfg Config) (*Client, error) {
	env := cfg.Config
	if env == nil {
		env = config.Process()
	}
	c := &Client{
		host: cmp.Or(cfg.Host, env.Getenv("PCP_TRACE_HOST"), "localhost"), port: cfg.Port,
		timeout: cfg.Timeout, requestTimeout: cfg.RequestTimeout, reconnect: cfg.Reconnect,
		pid: os.Getpid(), debug: cfg.Debug, tags: map[string]*progress{},
		closed: make(chan struct{}),
	}
	if env.IsSet("PCP_TRACE_NOAGENT") {
		cfg.State |= StateNoAgent
	}
	c.state.Store(uint32(cfg.State))
	var err error
	if c.port == 0 {
		if c.port, err = portOf(env.Getenv("PCP_TRACE_PORT")); err != nil {
			return nil, err
		}
	}
	if c.port < 0 || c.port > math.MaxUint16 {
		return nil, fmt.Errorf("trace: port %d is not in 0..%d: %w", c.port, math.MaxUint16, pcp.Error(-int32(syscall.EINVAL)))
	}
	for _, t := range []struct {
		d        *time.Duration
		name     string
		standard time.Duration
	}{{&c.timeout, "PCP_TRACE_TIMEOUT", DefaultTimeout}, {&c.requestTimeout, "PCP_TRACE_REQTIMEOUT", defaultRequestTimeout}} {
		if *t.d <= 0 {
			if *t.d, err = secondsOf(t.name, env.Getenv(t.name)); err != nil {
				return nil, err
			}
			*t.d = cmp.Or(*t.d, t.standard)
		}
	}
	if len(c.reconnect) == 0 {
		if c.reconnect, err = pausesOf(env.Getenv("PCP_TRACE_RECONNECT")); err != nil {
			return nil, err
		}
	}
	c.addr = joinHostPort(c.host, c.port)
	c.syn.init()
	c.asyn.init(cmp.Or(max(cfg.Buffer, 0), defaultBuffer))
	return c, nil
}

func portOf(v string) (int, error) {
	if v == "" {
		return Port, nil
	}
	n, err := strconv.ParseUint(v, 0, 16)
	if err != nil {
		return 0, fmt.Errorf("trace: PCP_TRACE_PORT: %q is not a port: %w", v, ErrEnvFormat)
	}
	return int(n), nil
}

// secondsOf returns the duration in a variable, 0 if it is empty.
func secondsOf(name, v string) (time.Duration, error) {
	if v == "" {
		return 0, nil
	}
	x, end, err := ctext.Strtod(v)
	if err != nil || end < len(v) || !(x >= 0 && x <= maxSeconds) {
		return 0, fmt.Errorf("trace: %s: %q is not a number of seconds: %w", name, v, ErrEnvFormat)
	}
	return time.Duration(x * float64(time.Second)), nil
}

func pausesOf(v string) ([]time.Duration, error) {
	if v == "" {
		return defaultReconnect(), nil
	}
	var list []time.Duration
	for word := range strings.SplitSeq(v, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n <= 0 || n > maxSeconds || len(list) == maxReconnect {
			return nil, fmt.Errorf("trace: PCP_TRACE_RECONNECT: %q is not a list of seconds: %w", v, ErrEnvFormat)
		}
		list = append(list, time.Duration(n)*time.Second)
	}
	return list, nil
}

// State returns the flags of the client.
func (c *Client) State() State { return State(c.state.Load()) }

// SetState sets the flags of the client and returns the old ones (pmtracestate(3)). Flags of diagnostics
// can be changed at any time; StateAsync can be set only before the first measurement, and then stays.
// Otherwise the error is EINVAL, as a [pcp.Error].
func (c *Client) SetState(s State) (State, error) {
	c.syn.lock()
	defer c.syn.unlock()
	old := c.State()
	if c.syn.used || c.asyn.isUsed() {
		if s&^old&StateAsync != 0 {
			return old, fmt.Errorf("trace: a client that has connected cannot become asynchronous: %w", pcp.Error(-int32(syscall.EINVAL)))
		}
		s |= old & StateAsync
	}
	c.state.Store(uint32(s))
	return old, nil
}

// Lost returns the number of measurements that did not reach the agent although
// their calls succeeded. There are none unless the client is asynchronous.
func (c *Client) Lost() uint64 { return c.lost.Load() }

// Connect connects to the agent unless there is a connection. It is optional: it is for programs that want to
// check that the agent is running before a measurement is lost.
func (c *Client) Connect(ctx context.Context) error {
	switch s := c.State(); {
	case c.isClosed():
		return errClosed
	case s&StateNoAgent != 0:
		c.skipConnect()
		return nil
	case s&StateAsync != 0:
		return c.connectAsync(ctx)
	}
	return c.connectSync(ctx)
}

// Point counts a pass of a point of the program (pmtracepoint(3)).
func (c *Client) Point(tag string) error { return c.common(Point, tag, -1) }

// Observe reports an observed value to the agent (pmtraceobs(3)).
func (c *Client) Observe(tag string, value float64) error { return c.common(Observe, tag, value) }

// Counter reports the value of a counter of the program to the agent (pmtracecounter(3)).
func (c *Client) Counter(tag string, value float64) error { return c.common(Counter, tag, value) }

func (c *Client) common(kind Kind, tag string, value float64) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if c.State()&StateAPI != 0 {
		c.debugf("_pmtracecommon: trace tag '%s' (type=%d,value=%f)\n", tag, kind, value)
	}
	return c.send(kind, tag, value)
}

// checkTag returns the error of a tag, as a bare Error: calls that fail cost no more than others.
func checkTag(tag string) error {
	switch {
	case tag == "" || tag[0] == 0:
		return ErrTagName
	case len(tag) > MaxTag:
		return ErrTagLength
	}
	return nil
}

// send sends a measurement to the agent, or passes it to the background sender.
func (c *Client) send(kind Kind, tag string, value float64) error {
	if i := strings.IndexByte(tag, 0); i >= 0 {
		tag = tag[:i]
	}
	switch s := c.State(); {
	case s&StateNoAgent != 0:
		return c.skip(kind)
	case s&StateAsync != 0:
		return c.sendAsync(kind, tag, value)
	}
	return c.sendSync(kind, tag, value)
}

// skip logs the steps that a call would take with an agent.
func (c *Client) skip(kind Kind) error {
	if c.isClosed() {
		return errClosed
	}
	if kind != Transact { // whose beginning has printed it
		c.skipConnect()
	}
	remapped := func() {
		if c.State()&StateComms != 0 {
			c.debugf("_pmtraceremaperr: status 0 remapped to 0\n")
		}
	}
	c.debugf("_pmtracereconnect: reconnect attempt (skipped)\n")
	remapped()
	c.debugf("__pmtracesenddata: sending data (skipped)\n")
	remapped()
	if c.State()&StateAsync == 0 {
		c.debugf("_pmtracegetack: awaiting ack (skipped)\n")
	}
	return nil
}

func (c *Client) skipConnect() {
	c.syn.lock()
	used := c.syn.skipped
	c.syn.skipped = true
	c.syn.unlock()
	if !used || c.State()&StateAsync == 0 {
		c.debugf("_pmtraceconnect: connecting to PMDA (skipped)\n")
	}
}

// Flush waits until all earlier measurements have been written, or are lost. A synchronous client has nothing to
// wait for.
func (c *Client) Flush(ctx context.Context) error { return c.asyn.flush(ctx) }

// Close sends the remaining records, for at most RequestTimeout, and closes the connection. Later calls
// fail.
func (c *Client) Close() error {
	var err error
	c.closeOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.requestTimeout)
		defer cancel()
		err = c.asyn.flush(ctx)
		c.asyn.mu.Lock() // no call appends anything afterwards
		close(c.closed)
		c.asyn.mu.Unlock()
		c.closeSync()
		c.closeAsync()
	})
	return err
}

func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// debugf writes a diagnostic.
func (c *Client) debugf(format string, args ...any) {
	if c.debug != nil {
		c.debugMu.Lock()
		defer c.debugMu.Unlock()
		fmt.Fprintf(c.debug, format, args...)
	}
}

package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/trace"
)

// Domain is the agent's default domain (TRACE).
const Domain = 10

// Defaults of a Config, and limits.
const (
	DefaultPeriod     = time.Minute
	DefaultBuckets    = 5
	DefaultMaxClients = 4096

	maxBuckets = 3600
	maxPeriod  = 100 * 365 * 24 * time.Hour
)

// A Config configures the agent. Zero fields mean the defaults.
type Config struct {
	Domain     int           // 0 means Domain
	Address    string        // to listen on, host:port; "" means port 4323 of all addresses
	Period     time.Duration // of rates, averages and extrema; 0 means DefaultPeriod
	Buckets    int           // into which the period is divided; 0 means DefaultBuckets
	MaxClients int           // connections at a time; 0 means DefaultMaxClients

	// Access limits the hosts that may send and the connections of each; nil allows all.
	Access *access.Rules

	// Units of trace.observe.value and trace.counter.value.
	ObserveUnits, CounterUnits pcp.Units

	Log *slog.Logger // nil discards
}

// An Agent is the agent. Close ends it.
type Agent struct {
	*pmda.Table
	log      *slog.Logger
	listener net.Listener
	rules    *access.Rules
	limit    int
	port     uint32
	period   time.Duration
	clock    func() time.Time
	serving  sync.WaitGroup
	debug    atomic.Pointer[[]string]
	verbose  atomic.Bool // the option appl0 is set
	full     atomic.Bool // the excess of tags has been logged

	mu      sync.Mutex
	window  *window
	clients map[net.Conn]struct{}
	closed  bool

	views [trace.Counter + 1]view // of the last Refresh
}

// New makes the agent, which listens for programs at once.
func New(cfg Config) (*Agent, error) {
	period, buckets := cmp.Or(cfg.Period, DefaultPeriod), cmp.Or(cfg.Buckets, DefaultBuckets)
	if buckets < 1 || buckets > maxBuckets {
		return nil, fmt.Errorf("agent trace: %d buckets, want 1 to %d", buckets, maxBuckets)
	}
	if period < time.Duration(buckets) || period > maxPeriod {
		return nil, fmt.Errorf("agent trace: a period of %v cannot be divided into %d", period, buckets)
	}
	a := &Agent{
		log: cfg.Log, rules: cfg.Access, limit: cmp.Or(max(cfg.MaxClients, 0), DefaultMaxClients),
		period: period, clock: time.Now, clients: map[net.Conn]struct{}{},
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.rules == nil {
		a.rules = new(access.Rules)
	}
	a.debug.Store(new([]string))
	a.window = newWindow(period, buckets, a.clock())
	var err error
	if a.Table, err = a.table(&cfg); err != nil {
		return nil, err
	}
	address := cmp.Or(cfg.Address, fmt.Sprintf(":%d", trace.Port))
	if a.listener, err = net.Listen("tcp", address); err != nil {
		return nil, fmt.Errorf("agent trace: %w", err)
	}
	if addr, ok := a.listener.Addr().(*net.TCPAddr); ok {
		a.port = uint32(addr.Port)
	}
	a.serving.Go(a.accept)
	return a, nil
}

// Addr returns the address that the agent listens on.
func (a *Agent) Addr() net.Addr { return a.listener.Addr() }

// Close ends all connections, and returns when all goroutines of the agent have ended.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	for conn := range a.clients {
		conn.Close()
	}
	a.mu.Unlock()
	err := a.listener.Close()
	a.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// refresh reads the records that programs have sent.
func (a *Agent) refresh(kinds ...trace.Kind) {
	now := a.clock()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range kinds {
		a.views[k] = a.window.view(k, now, a.views[k])
	}
}

// kindOf returns the kind of a metric, 0 for those of the agent itself.
func kindOf(item int) trace.Kind {
	switch {
	case item <= 5:
		return trace.Transact
	case item <= 7:
		return trace.Point
	case item <= 10:
		return trace.Observe
	case item >= 17:
		return trace.Counter
	}
	return 0
}

// Items of the metrics that take values.
const (
	itemReset = 15
	itemDebug = 16
)

// Store implements [pmda.Storer]: trace.control.reset and trace.control.debug take values. The error for
// others is that of the C agent.
func (a *Agent) Store(ctx context.Context, client *pmda.Client, res *pcp.Result) error {
	for i := range res.Sets {
		if item := res.Sets[i].PMID.Item(); res.Sets[i].PMID.Cluster() != 0 || item != itemReset && item != itemDebug {
			return pcp.ErrPMID
		}
		if len(res.Sets[i].Values) != 1 {
			return pcp.ErrBadStore
		}
	}
	return a.Table.Store(ctx, client, res)
}

// Debug implements [pmda.Debugger]: appl0 logs connections and records that are refused. The other flags of the C agent
// are accepted and do nothing.
func (a *Agent) Debug(names []string) (unknown []string) {
	a.debug.Store(&names)
	a.verbose.Store(slices.Contains(names, "appl0"))
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains([]string{"appl0", "appl1", "pdu", "pdubuf"}, name)
	})
}

// reset serves a store into trace.control.reset.
func (a *Agent) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.window.reset(a.clock())
	a.full.Store(false)
	a.log.Info("PMDA reset")
}

// setDebug sets the options whose bits a number has.
func (a *Agent) setDebug(bits int32) error {
	names, ok := debug.Parse(strconv.Itoa(int(bits)))
	if !ok {
		return pcp.ErrConv
	}
	a.Debug(names)
	a.log.Info("debug options set to " + strings.Join(names, ","))
	return nil
}

// debugBits returns the options that are set, as a number.
func (a *Agent) debugBits() (bits int32) {
	for _, name := range *a.debug.Load() {
		bits |= debug.Bit(name)
	}
	return bits
}

func (a *Agent) table(cfg *Config) (*pmda.Table, error) {
	seconds := pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0)
	count := pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne)
	rate := pcp.NewUnits(0, -1, 1, 0, pcp.TimeSec, pcp.CountOne)

	indom := func(kind trace.Kind, oneLine, help string) *pmda.InDom {
		return &pmda.InDom{
			Serial: int(kind) - 1, OneLine: oneLine, Help: help,
			Refresh: func(context.Context) error { a.refresh(kind); return nil },
			List:    func(context.Context) ([]pcp.Instance, error) { return a.views[kind].insts, nil },
		}
	}
	indoms := [...]*pmda.InDom{
		trace.Transact: indom(trace.Transact, "tags of transactions", "The tags of the transactions that programs have ended."),
		trace.Point:    indom(trace.Point, "tags of points", "The tags of the points that programs have passed."),
		trace.Observe:  indom(trace.Observe, "tags of observations", "The tags of the values that programs have observed."),
		trace.Counter:  indom(trace.Counter, "tags of counters", "The tags of the counters of programs."),
	}
	var metrics []pmda.Metric
	tagged := func(name string, item int, typ pcp.Type, sem pcp.Sem, units pcp.Units, oneLine, help string, value func(*stat) pcp.Value) {
		kind := kindOf(item)
		metrics = append(metrics, pmda.Metric{
			Name: "trace." + name, Item: item, Type: typ, InDom: indoms[kind], Sem: sem, Units: units,
			OneLine: oneLine, Help: help,
			Value: func(_ int32, i int) (pcp.Value, error) { return value(&a.views[kind].stats[i]), nil },
		})
	}
	// A tag without records in the period has no recent value.
	recent := func(name string, item int, units pcp.Units, oneLine, help string, value func(*bucket) float64) {
		kind := kindOf(item)
		metrics = append(metrics, pmda.Metric{
			Name: "trace." + name, Item: item, Type: pcp.TypeFloat, InDom: indoms[kind], Sem: pcp.SemInstant, Units: units,
			OneLine: oneLine, Help: help,
			Value: func(_ int32, i int) (pcp.Value, error) {
				b := &a.views[kind].stats[i].recent
				if b.count == 0 {
					return pcp.Value{}, pmda.ErrNoValue
				}
				return pcp.FloatValue(float32(value(b))), nil
			},
		})
	}
	counts := func(s *stat) pcp.Value { return pcp.Uint64Value(s.count) }
	perSecond := func(b *bucket) float64 { return float64(b.count) / a.period.Seconds() }
	last := func(s *stat) pcp.Value { return pcp.DoubleValue(s.last) }

	tagged("transact.count", 0, pcp.TypeU64, pcp.SemCounter, count,
		"transactions that have ended",
		"How many transactions of each tag have ended since the agent started, or was\nreset. Those that were aborted are not among them.", counts)
	recent("transact.rate", 1, rate,
		"transactions a second", "How many transactions of each tag ended per second, on average over\ntrace.control.period.", perSecond)
	recent("transact.ave_time", 2, pcp.NewUnits(0, 1, -1, 0, pcp.TimeSec, pcp.CountOne),
		"average time of transactions", "How long the transactions of each tag took on average, of those that ended\nwithin trace.control.period.",
		func(b *bucket) float64 { return b.sum / float64(b.count) })
	recent("transact.min_time", 3, seconds,
		"time of the shortest transaction", "How long the shortest transaction of each tag took, of those that ended within\ntrace.control.period.",
		func(b *bucket) float64 { return b.min })
	recent("transact.max_time", 4, seconds,
		"time of the longest transaction", "How long the longest transaction of each tag took, of those that ended within\ntrace.control.period.",
		func(b *bucket) float64 { return b.max })
	tagged("transact.total_time", 5, pcp.TypeDouble, pcp.SemCounter, seconds,
		"time of all transactions together",
		"The times of all transactions of each tag, added up since the agent started, or\nwas reset. Divided by trace.transact.count, both as rates, it is the average\ntime over any interval.",
		func(s *stat) pcp.Value { return pcp.DoubleValue(s.total) })

	tagged("point.count", 6, pcp.TypeU64, pcp.SemCounter, count,
		"times that a point was passed", "How often the point of each tag was passed since the agent started, or was\nreset.", counts)
	recent("point.rate", 7, rate,
		"times a second that a point was passed", "How often per second the point of each tag was passed, on average over\ntrace.control.period.", perSecond)

	tagged("observe.count", 8, pcp.TypeU64, pcp.SemCounter, count,
		"observations", "How many values of each tag were observed since the agent started, or was\nreset.", counts)
	recent("observe.rate", 9, rate,
		"observations a second", "How many values of each tag were observed per second, on average over\ntrace.control.period.", perSecond)
	tagged("observe.value", 10, pcp.TypeDouble, pcp.SemInstant, cfg.ObserveUnits,
		"the value observed last", "The last value observed of each tag. Its units are those that the agent's\noption -U names, by default none.", last)

	control := func(name string, item int, units pcp.Units, oneLine, help string, value func() uint32) {
		metrics = append(metrics, pmda.Metric{
			Name: "trace.control." + name, Item: item, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: units,
			OneLine: oneLine, Help: help,
			Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(value()), nil },
		})
	}
	control("period", 11, seconds,
		"seconds that rates and averages cover", "Rates, averages and extrema are of so many seconds, which ended when they last\nchanged. The agent's option -T sets it.",
		func() uint32 { return uint32(min(a.period/time.Second, 1<<32-1)) })
	control("interval", 12, seconds,
		"seconds between two updates of rates and averages", "Rates, averages and extrema change once in so many seconds: it is\ntrace.control.period divided by trace.control.buckets.",
		func() uint32 { return uint32(min(a.window.interval/time.Second, 1<<32-1)) })
	control("buckets", 13, pcp.Units{},
		"parts of the period", "Into how many parts trace.control.period is divided. The agent's option -N sets\nit.",
		func() uint32 { return uint32(a.window.buckets) })
	control("port", 14, pcp.Units{},
		"port on which the agent hears programs", "The TCP port that programs connect to. The agent's option -I sets it, or\nPCP_TRACE_PORT in its environment.",
		func() uint32 { return a.port })
	control("reset", itemReset, pcp.Units{},
		"forgets all that programs have sent", "If any value is stored here, all tags go, with their counts and values. A tag\nthat is used again gets the instance number that it had. The value is always 1.",
		func() uint32 { return 1 })
	metrics[len(metrics)-1].Store = func(*pmda.Client, int32, int, pcp.Value) error { a.reset(); return nil }
	metrics = append(metrics, pmda.Metric{
		Name: "trace.control.debug", Item: itemDebug, Type: pcp.Type32, Sem: pcp.SemDiscrete,
		OneLine: "debug options of the agent",
		Help:    "The options of pmdbg(1) that are set for the agent, each a bit of this number.\nAnother number can be stored. With appl0, 2048, the agent logs connections.",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.Int32Value(a.debugBits()), nil },
		Store:   func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error { return a.setDebug(v.Int32()) },
	})

	tagged("counter.count", 17, pcp.TypeU64, pcp.SemCounter, count,
		"times that a counter was sent", "How often the counter of each tag was sent since the agent started, or was\nreset.", counts)
	recent("counter.rate", 18, rate,
		"times a second that a counter was sent", "How often per second the counter of each tag was sent, on average over\ntrace.control.period. How fast the counter itself grows is the rate of\ntrace.counter.value.", perSecond)
	tagged("counter.value", 19, pcp.TypeDouble, pcp.SemCounter, cfg.CounterUnits,
		"the counter as it was sent last", "The last value of the counter of each tag. Its units are those that the agent's\noption -V names, by default none.", last)

	return pmda.NewTable(pmda.Config{
		Name: "trace", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log, Metrics: metrics,
		Labels: "{}", // the C agent is older than labels
		Refresh: func(_ context.Context, ids []pcp.PMID) error {
			var kinds []trace.Kind
			for _, id := range ids {
				if k := kindOf(id.Item()); k != 0 && !slices.Contains(kinds, k) {
					kinds = append(kinds, k)
				}
			}
			a.refresh(kinds...)
			return nil
		},
	})
}

var (
	_ pmda.Agent     = (*Agent)(nil)
	_ pmda.Refresher = (*Agent)(nil)
	_ pmda.Storer    = (*Agent)(nil)
	_ pmda.Debugger  = (*Agent)(nil)
)

package txmon

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the agent's default domain (TXMON).
const Domain = 248

// startLevel is the level until a client stores another.
const startLevel = 2

// KeyFrom returns the key that PCP_TXMON_KEY names, else [Key], for programs
// that cannot get the key another way: with it a second agent can run on a host.
// The C agent and its programs use a single key.
func KeyFrom(getenv func(string) string) (int, error) {
	v := getenv("PCP_TXMON_KEY")
	if v == "" {
		return Key, nil
	}
	key, err := strconv.ParseUint(v, 0, 32)
	if err != nil || key == 0 { // IPC_PRIVATE: no other process would find it
		return 0, fmt.Errorf("PCP_TXMON_KEY: %q is no key of shared memory", v)
	}
	return int(key), nil
}

// A Config configures the agent.
type Config struct {
	Domain int      // 0 means Domain
	Types  []string // the names of the transaction types, at least one; 19 bytes of each count
	Key    int      // of the shared memory; 0 means Key
	Log    *slog.Logger
}

// An Agent is the agent. Close removes the shared memory.
type Agent struct {
	*pmda.Table
	id      int
	seg     segment
	records []record // at offsets chosen by the agent
}

// New makes the agent and its shared memory.
func New(cfg Config) (*Agent, error) {
	n := len(cfg.Types)
	switch {
	case n == 0:
		return nil, errors.New("no transaction types specified")
	case n > MaxTypes:
		return nil, fmt.Errorf("%d transaction types where %d are possible", n, MaxTypes)
	}
	a := &Agent{}
	var err error
	if a.id, a.seg, err = create(cmp.Or(cfg.Key, Key), offset(n, n)); err != nil {
		return nil, err
	}
	a.seg.setup(cfg.Types, startLevel)
	instances := make([]pcp.Instance, n)
	for i := range n {
		off := offset(n, i)
		rec := record(a.seg[off : off+recordSize])
		a.records = append(a.records, rec)
		// The name is not read again: others can change it now.
		instances[i] = pcp.Instance{Inst: int32(i), Name: rec.name()}
	}
	if a.Table, err = a.table(cfg, instances); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close removes the shared memory; programs that have attached it keep it.
func (a *Agent) Close() error {
	if a.seg == nil {
		return nil
	}
	err := remove(a.id)
	if errors.Is(err, fs.ErrPermission) {
		err = nil // another user's agent left it
	} else if err != nil {
		err = fmt.Errorf("remove shared memory: %w", err)
	}
	err = errors.Join(err, detach(a.seg))
	a.seg, a.records = nil, nil
	return err
}

func (a *Agent) table(cfg Config, instances []pcp.Instance) (*pmda.Table, error) {
	types := &pmda.InDom{
		Serial:    0,
		Instances: instances,
		OneLine:   "types of transactions",
		Help:      "The types of transactions that the agent was started with.",
	}
	count := pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne)
	seconds := pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0)
	// from gives the value of a metric if the level is high enough for it.
	from := func(level int32, value func(record) pcp.Value) func(int32, int) (pcp.Value, error) {
		return func(_ int32, i int) (pcp.Value, error) {
			if a.seg.level() < level {
				return pcp.Value{}, pcp.ErrAgain
			}
			return value(a.records[i]), nil
		}
	}
	return pmda.NewTable(pmda.Config{
		Name: "txmon", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log,
		Metrics: []pmda.Metric{
			{
				Name: "txmon.count", Item: 0, Type: pcp.TypeU32, InDom: types, Sem: pcp.SemCounter, Units: count,
				OneLine: "transactions of a type",
				Help:    "How many transactions of each type have been recorded since the agent started.",
				Value:   from(1, func(r record) pcp.Value { return pcp.Uint32Value(r.count()) }),
			},
			{
				Name: "txmon.ave_time", Item: 1, Type: pcp.TypeFloat, InDom: types, Sem: pcp.SemInstant,
				Units:   pcp.NewUnits(0, 1, -1, 0, pcp.TimeSec, pcp.CountOne),
				OneLine: "average time of a type's transactions",
				Help: "How long the transactions of each type took on average since the last\n" +
					"reset, -1 if there were none.",
				Value: from(2, func(r record) pcp.Value {
					n := r.count() - r.resets()
					if n == 0 {
						return pcp.FloatValue(-1)
					}
					return pcp.FloatValue(float32(r.sum() / float64(n)))
				}),
			},
			{
				Name: "txmon.max_time", Item: 2, Type: pcp.TypeFloat, InDom: types, Sem: pcp.SemInstant, Units: seconds,
				OneLine: "longest time of a type's transactions",
				Help:    "How long the longest transaction of each type took since the last reset, -1 if\nthere was none.",
				Value:   from(2, func(r record) pcp.Value { return pcp.FloatValue(r.max()) }),
			},
			{
				Name: "txmon.reset_count", Item: 3, Type: pcp.TypeU32, InDom: types, Sem: pcp.SemInstant, Units: count,
				OneLine: "transactions of a type since the reset",
				Help:    "How many transactions of each type have been recorded since the last reset.",
				Value:   from(1, func(r record) pcp.Value { return pcp.Uint32Value(r.count() - r.resets()) }),
			},
			{
				Name: "txmon.control.level", Item: 4, Type: pcp.TypeU32, Sem: pcp.SemInstant,
				OneLine: "level of recording",
				Help: "Programs record nothing with 0, the counts of transactions with 1, and also\n" +
					"their times with 2. A value can be stored.",
				Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(uint32(a.seg.level())), nil },
				Store: func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error {
					level := int32(v.Uint32())
					if level < 0 { // refused, and set to 0 all the same, as in C (txmon.c)
						a.seg.setLevel(0)
						return pcp.ErrSign
					}
					a.seg.setLevel(level)
					return nil
				},
			},
			{
				Name: "txmon.control.reset", Item: 5, Type: pcp.TypeU32, Sem: pcp.SemInstant,
				OneLine: "resets the statistics",
				Help:    "Whatever is stored here, all metrics but txmon.count start again. The value is\nalways 1.",
				Value:   func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(1), nil },
				Store: func(*pmda.Client, int32, int, pcp.Value) error {
					for _, r := range a.records {
						r.setResets(r.count())
						r.setSum(0)
						r.setMax(-1)
					}
					return nil
				},
			},
		},
	})
}

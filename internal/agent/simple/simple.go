package simple

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the agent's domain unless a configuration sets another (SIMPLE).
const Domain = 253

// A Config configures the agent.
type Config struct {
	Domain int          // 0 means Domain
	Path   string       // of the configuration file; "" means DefaultPath(config.Process())
	Log    *slog.Logger // nil discards
}

// DefaultPath returns the path of the configuration file in an installation.
func DefaultPath(cfg *config.Config) string {
	return filepath.Join(cfg.Get("PCP_PMDAS_DIR"), "simple", "simple.conf")
}

// An Agent is the agent. The table answers all requests; Fetch and Refresh do the
// work that is the same for all metrics of a request.
type Agent struct {
	*pmda.Table
	numfetch  uint32
	color     [3]int32
	user, sys time.Duration
	runErr    error
	now       nowDomain
}

// Colors are the starting values of simple.color.
const (
	red   = 0
	green = 100
	blue  = 200
)

// New returns an agent.
func New(cfg Config) (*Agent, error) {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{
		color: [3]int32{red, green, blue},
		now:   nowDomain{path: cmp.Or(cfg.Path, DefaultPath(config.Process())), log: log},
	}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{
		Name:    "simple",
		Domain:  cmp.Or(cfg.Domain, Domain),
		Labels:  `{"role":"testing"}`,
		Metrics: a.metrics(),
		Log:     log,
	})
	return a, err
}

// metrics returns the table of metrics, in the order in which an installation
// of the C agent lists them.
func (a *Agent) metrics() []pmda.Metric {
	color := &pmda.InDom{
		Serial:    0,
		Instances: []pcp.Instance{{Inst: 0, Name: "red"}, {Inst: 1, Name: "green"}, {Inst: 2, Name: "blue"}},
		Labels:    `{"indom_name":"color","model":"RGB"}`,
		OneLine:   "the colours of simple.color",
		Help:      `Always the same three: "red" (0), "green" (1) and "blue" (2).`,
	}
	now := &pmda.InDom{
		Serial:         1,
		Refresh:        func(context.Context) error { a.now.check(); return nil },
		List:           func(context.Context) ([]pcp.Instance, error) { return a.now.active, nil },
		Labels:         `{"indom_name":"time","unitsystem":"SI"}`,
		InstanceLabels: func(_ int32, i int) string { return `{"units":"` + a.now.active[i].Name + `"}` },
		OneLine:        "the parts of the time that simple.now shows",
		Help:           "Read from a file and read again when it changes; see the help of simple.now.",
	}
	seconds := pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0)
	return []pmda.Metric{{
		Name: "simple.numfetch", Cluster: 0, Item: 0, Type: pcp.TypeU32, Sem: pcp.SemInstant,
		OneLine: "how often values were fetched from this agent",
		Help:    "Each request for values counts as one, whatever it asks for.\nIt can be set with pmstore(1).",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(a.numfetch), nil },
		Store:   a.storeNumfetch,
	}, {
		Name: "simple.color", Cluster: 0, Item: 1, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: color,
		OneLine: "saw-teeth, one step with each fetch",
		Help: "Counts from 0 to 255 and starts over. At first \"red\" is 0, \"green\" 100\n" +
			"and \"blue\" 200. Each can be set with pmstore(1).",
		Value: func(inst int32, i int) (pcp.Value, error) {
			a.color[i] = (a.color[i] + 1) % 256
			return pcp.Int32Value(a.color[i]), nil
		},
		Store: a.storeColor,
	}, {
		Name: "simple.now", Cluster: 2, Item: 4, Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: now,
		OneLine: "the time of day in parts that a file chooses",
		Help: "The first line of $PCP_PMDAS_DIR/simple/simple.conf lists the parts, with\n" +
			"commas between: \"sec\", \"min\" and \"hour\" of the local time. Whenever the\n" +
			"file has changed, the next fetch follows it. Without the file it is all three.",
		Value: func(_ int32, i int) (pcp.Value, error) { return pcp.Uint32Value(a.now.value(i)), nil },
	}, {
		Name: "simple.time.user", Cluster: 1, Item: 2, Type: pcp.TypeDouble, Sem: pcp.SemCounter, Units: seconds,
		OneLine: "processor time the agent spent in user mode",
		Help:    "Seconds of processor time that the agent's process has spent in its own code.",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.DoubleValue(a.user.Seconds()), a.runErr },
	}, {
		Name: "simple.time.sys", Cluster: 1, Item: 3, Type: pcp.TypeDouble, Sem: pcp.SemCounter, Units: seconds,
		OneLine: "processor time the agent spent in the kernel",
		Help:    "Seconds of processor time that the kernel has spent on behalf of the\nagent's process.",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.DoubleValue(a.sys.Seconds()), a.runErr },
	}}
}

// Refresh reads the clocks and follows the configuration file.
func (a *Agent) Refresh(ctx context.Context, ids []pcp.PMID) error {
	a.now.check()
	a.now.time = time.Now()
	a.user, a.sys, a.runErr = runTimes()
	return a.Table.Refresh(ctx, ids)
}

// Fetch counts the fetch.
func (a *Agent) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	a.numfetch++
	return a.Table.Fetch(ctx, req)
}

// storeNumfetch refuses values that are negative as the signed number that the C
// agent keeps; like it, it then stores 0.
func (a *Agent) storeNumfetch(_ *pmda.Client, _ int32, _ int, v pcp.Value) error {
	if v.Int32() < 0 {
		a.numfetch = 0
		return pcp.ErrBadStore
	}
	a.numfetch = v.Uint32()
	return nil
}

// storeColor refuses values outside 0..255; like the C agent, it then stores the
// nearest valid value.
func (a *Agent) storeColor(_ *pmda.Client, _ int32, i int, v pcp.Value) error {
	a.color[i] = min(max(v.Int32(), 0), 255)
	if a.color[i] != v.Int32() {
		return pcp.ErrBadStore
	}
	return nil
}

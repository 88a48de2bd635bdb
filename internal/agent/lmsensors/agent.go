package lmsensors

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (LMSENSORS in stdpmid).
const Domain = 74

// Config sets the files that an Agent reads. The zero Config reads those of this machine.
type Config struct {
	// Root is the directory of sys; "" means /.
	Root string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Log gets a line if metrics cannot be made; nil discards.
	Log *slog.Logger
}

// An Agent serves the sensors.
type Agent struct {
	*pmda.Table
	r      *reader
	fixed  []pmda.Metric
	logged bool
	log    *slog.Logger
}

// Clusters of metrics, and serial numbers of domains: first that of the C agent.
const (
	clusterSingle = 0
	own           = 1000
	maxSingle     = 1024 // items of a cluster
)

// dynamic is the root of all names of the C agent. Names of chips, which contain the bus, are not those of kinds.
const dynamic = "lmsensors"

// New returns an agent for the sensors of the machine that cfg names.
func New(cfg Config) (*Agent, error) {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{r: newReader(cfg.Root), log: cfg.Log}
	a.fixed = a.table()
	t, err := pmda.NewTable(pmda.Config{
		Name: "lmsensors", Domain: cfg.Domain, Metrics: a.fixed, Dynamic: []string{dynamic}, Log: cfg.Log,
		Refresh: a.refresh, Update: a.update,
	})
	if err != nil {
		return nil, err
	}
	a.Table = t
	return a, a.update(context.Background())
}

// update finds the sensors, and has the table list them.
func (a *Agent) update(context.Context) error {
	before := len(a.r.single)
	a.r.find()
	if len(a.r.single) == before {
		return nil
	}
	// A metric keeps its number, and its name if the sensor goes: then it has no value.
	metrics := append(make([]pmda.Metric, 0, len(a.fixed)+len(a.r.single)), a.fixed...)
	for item, s := range a.r.single {
		metrics = append(metrics, pmda.Metric{
			Name: dynamic + "." + s.single, Cluster: clusterSingle, Item: item, Type: pcp.TypeFloat, Sem: pcp.SemInstant,
			OneLine: "Value of the sensor " + s.name,
			Help:    "The value that the kernel reports, in " + s.kind.unit + ". The metrics below\nlmsensors." + s.kind.name + " have the same with its unit.",
			Value: func(int32, int) (pcp.Value, error) {
				v, ok := a.r.value(s, attrInput)
				if !ok {
					return pcp.Value{}, pmda.ErrNoValue
				}
				return pcp.FloatValue(float32(v)), nil
			},
			User: s,
		})
	}
	if err := a.SetMetrics(metrics); err != nil && !a.logged {
		a.logged = true
		a.log.Error("sensors have no metrics of their own", "err", err)
	}
	return nil
}

// refresh reads the sensors of the metrics that are fetched.
func (a *Agent) refresh(ctx context.Context, ids []pcp.PMID) error {
	if err := a.update(ctx); err != nil {
		return err
	}
	a.r.begin()
	for _, id := range ids {
		m := a.Metric(id)
		if m == nil {
			continue
		}
		switch what := m.User.(type) {
		case *sensor:
			a.r.read(what, attrInput)
		case quantity:
			for _, s := range a.r.ofKind(what.kind) {
				a.r.read(s, what.attr)
			}
		}
	}
	return nil
}

// Origin implements [pmda.Originator].
func (a *Agent) Origin(id pcp.PMID) string {
	m := a.Metric(id)
	if m == nil {
		return ""
	}
	switch what := m.User.(type) {
	case *sensor:
		return "/sys/class/hwmon, the sensor " + what.name
	case quantity:
		return "/sys/class/hwmon/hwmon*/" + what.kind.prefix + "*_" + what.attr
	}
	return "/sys/class/hwmon"
}

// A quantity is what a fixed metric has of each sensor of a kind.
type quantity struct {
	kind *kind
	attr string
}

// table returns the metrics that do not depend on the sensors that there are.
func (a *Agent) table() []pmda.Metric {
	metrics := []pmda.Metric{{
		Name: "lmsensors.nchips", Cluster: own, Item: 0, Type: pcp.TypeU32, Sem: pcp.SemDiscrete,
		OneLine: "Number of chips with sensors", Help: "Directories of /sys/class/hwmon in which there is a sensor that the agent\nknows.",
		Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(uint32(a.r.chips)), nil },
	}}
	for i, k := range a.r.kinds {
		indom := &pmda.InDom{
			Serial: own + i, OneLine: k.indom, Help: "Names have the chip and the sensor; labels have them apart, and the name of the\nkernel's file.",
			Refresh: a.update,
			List: func(context.Context) ([]pcp.Instance, error) {
				var list []pcp.Instance
				for _, s := range a.r.ofKind(k) {
					list = append(list, pcp.Instance{Inst: s.inst, Name: s.name})
				}
				return list, nil
			},
		}
		indom.InstanceLabels = func(inst int32, _ int) string {
			for _, s := range a.r.ofKind(k) {
				if s.inst == inst {
					b, err := json.Marshal(map[string]string{"chip": s.chip, "sensor": s.label, "file": s.file})
					if err != nil {
						return ""
					}
					return string(b)
				}
			}
			return ""
		}
		for item, q := range k.metrics {
			metrics = append(metrics, pmda.Metric{
				Name: "lmsensors." + k.name + "." + q.attr, Cluster: own + 1 + i, Item: item, Type: pcp.TypeDouble, Sem: q.sem, Units: k.units, InDom: indom,
				OneLine: q.oneLine, Help: q.help, User: quantity{k, q.attr},
				Value: func(_ int32, i int) (pcp.Value, error) {
					if list := a.r.ofKind(k); i < len(list) {
						if v, ok := a.r.value(list[i], q.attr); ok {
							return pcp.DoubleValue(v), nil
						}
					}
					return pcp.Value{}, pmda.ErrNoValue
				},
			})
		}
	}
	return metrics
}

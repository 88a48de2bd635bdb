package nvidia

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (NVML in stdpmid).
const Domain = 120

// Config sets what an Agent reads.
type Config struct {
	// Root is the directory of dev and proc; "" means /.
	Root string
	// Program is the path of pcp-gpu; "" means that there is none, and there are no cards.
	Program string
	// Library is the file of the driver's library; "" means libnvidia-ml.so.1, and that pcp-gpu is only started if there is a
	// driver.
	Library string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Log gets a line if pcp-gpu fails; nil discards.
	Log *slog.Logger

	wait, pause time.Duration // in tests: how long pcp-gpu may take, and after a failure is not started
}

// An Agent serves the cards.
type Agent struct {
	*pmda.Table
	helper     *helper
	state      *state
	containers *containers.Finder
}

// New returns an agent. It starts pcp-gpu when values are first requested.
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
	a := &Agent{helper: newHelper(cfg), containers: containers.New(cfg.Root, cfg.Log)}
	a.state = newState(cfg.Root, a.containers)
	t, err := pmda.NewTable(pmda.Config{Name: "nvidia", Domain: cfg.Domain, Metrics: a.metrics(), Log: cfg.Log, Refresh: a.refresh})
	if err != nil {
		return nil, err
	}
	a.Table = t
	return a, nil
}

// Close ends pcp-gpu.
func (a *Agent) Close() error {
	a.helper.stop()
	return a.containers.Close()
}

// refresh reads the cards, and their processes if a metric wants those.
func (a *Agent) refresh(_ context.Context, ids []pcp.PMID) error {
	processes := false
	for _, id := range ids {
		processes = processes || id.Cluster() != clusterCards || id.Item() == itemProcs
	}
	a.read(processes)
	return nil
}

func (a *Agent) read(processes bool) {
	r, ok := a.helper.read(processes)
	a.state.update(r, ok, processes)
}

// Clusters of metrics.
const (
	clusterCards = iota
	clusterCardProcesses
	clusterAll
	clusterCompute
	clusterGraphics

	clusterContainers = 1000 // the C agent does not have it
)

// itemProcs is nvidia.nprocs, the metric of a card that wants its processes.
const itemProcs = 22

// metrics returns the table.
func (a *Agent) metrics() []pmda.Metric {
	const (
		instant, discrete, counter = pcp.SemInstant, pcp.SemDiscrete, pcp.SemCounter
		u32, u64                   = pcp.TypeU32, pcp.TypeU64
	)
	none := pcp.Units{}
	bytes := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	count := pcp.Units{DimCount: 1}
	msec := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	s := a.state

	cards := &pmda.InDom{
		Serial: 0, OneLine: "Cards that NVIDIA's driver runs", Help: "gpu0, gpu1 and so on, in the order of the driver. Labels have the UUID.",
		Labels: `{"device_type":"gpu","indom_name":"per gpu"}`,
		List:   func(context.Context) ([]pcp.Instance, error) { return s.cardList(), nil },
		Refresh: func(context.Context) error {
			if len(s.cards) == 0 {
				a.read(false)
			}
			return nil
		},
		InstanceLabels: func(inst int32, _ int) string {
			if int(inst) >= len(s.cards) || s.cards[inst].UUID == "" {
				return ""
			}
			return fmt.Sprintf(`{"gpu":%d,"uuid":%q}`, inst, s.cards[inst].UUID)
		},
	}
	again := func(context.Context) error { a.read(true); return nil }
	both := &pmda.InDom{
		Serial: 1, OneLine: "Processes on each card", Help: "The card and the identifier of the process: gpu0::1234.",
		Labels: `{"device_type":"gpu","indom_name":"per processes per gpu"}`, Refresh: again,
		List: func(context.Context) ([]pcp.Instance, error) { return s.bothList(), nil },
		InstanceLabels: func(inst int32, i int) string {
			if i >= len(s.both) {
				return ""
			}
			return fmt.Sprintf(`{"gpu":%d,"pid":%d}`, s.both[i].card, s.both[i].pid)
		},
	}
	processes := &pmda.InDom{
		Serial: 2, OneLine: "Processes that use a card", Help: "Their identifiers.", Refresh: again,
		List: func(context.Context) ([]pcp.Instance, error) { return s.processList(), nil },
		InstanceLabels: func(_ int32, i int) string {
			if i >= len(s.processes) {
				return ""
			}
			return s.labels(s.processes[i].path, map[string]any{"pid": s.processes[i].pid})
		},
	}
	groups := &pmda.InDom{
		Serial: 1000, OneLine: "Containers that use a card", Help: "The identifiers that the runtimes give; labels have the names, images and pods.", Refresh: again,
		List: func(context.Context) ([]pcp.Instance, error) { return s.groupList(), nil },
		InstanceLabels: func(_ int32, i int) string {
			if i >= len(s.groups) {
				return ""
			}
			return s.labels(s.groups[i].path, map[string]any{})
		},
	}

	var metrics []pmda.Metric
	ofCard := func(item int, name string, typ pcp.Type, sem pcp.Sem, units pcp.Units, labels, oneLine, help string, value func(c *card) (pcp.Value, error)) {
		metrics = append(metrics, pmda.Metric{
			Name: "nvidia." + name, Cluster: clusterCards, Item: item, Type: typ, InDom: cards, Sem: sem, Units: units, Labels: labels, OneLine: oneLine, Help: help,
			Value: func(_ int32, i int) (pcp.Value, error) {
				if i >= len(s.cards) {
					return pcp.Value{}, pmda.ErrNoValue
				}
				return value(s.cards[i])
			},
		})
	}
	text := func(f func(c *card) string) func(*card) (pcp.Value, error) {
		return func(c *card) (pcp.Value, error) {
			if f(c) == "" || !c.ok {
				return pcp.Value{}, pcp.ErrValue
			}
			return pcp.StringValue(f(c)), nil
		}
	}
	num := func(missing pcp.Error, f func(c *card) *uint32) func(*card) (pcp.Value, error) {
		return func(c *card) (pcp.Value, error) {
			if v := f(c); v != nil && c.ok {
				return pcp.Uint32Value(*v), nil
			}
			return pcp.Value{}, missing
		}
	}
	mem := func(f func(c *card) uint64) func(*card) (pcp.Value, error) {
		return func(c *card) (pcp.Value, error) {
			if c.Memory == nil || !c.ok {
				return pcp.Value{}, pcp.ErrValue
			}
			return pcp.Uint64Value(f(c)), nil
		}
	}
	sum := func(f func(c *card) uint64) func(*card) (pcp.Value, error) {
		return func(c *card) (pcp.Value, error) { return pcp.Uint64Value(f(c)), nil }
	}
	metrics = append(metrics, pmda.Metric{
		Name: "nvidia.numcards", Cluster: clusterCards, Item: 0, Type: u32, Sem: instant, OneLine: "Number of cards",
		Help:  "Cards that NVIDIA's driver runs now. Without a driver, or without the program\npcp-gpu beside this one, it is 0.",
		Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(uint32(s.count)), nil },
	})
	ofCard(1, "gpuid", u32, discrete, none, "", "Number of each card", "The number in the name of the instance: 0 for gpu0.", func(c *card) (pcp.Value, error) { return pcp.Uint32Value(uint32(c.number)), nil })
	ofCard(2, "cardname", pcp.TypeString, discrete, none, "", "Name of each card", "The name under which the card is sold.", text(func(c *card) string { return c.Name }))
	ofCard(3, "busid", pcp.TypeString, discrete, none, "", "PCI address of each card", "As the driver prints it: with a domain of eight digits, unlike lspci.", text(func(c *card) string { return c.Bus }))
	ofCard(4, "temperature", u32, instant, pcp.Units{Extra: pcp.Celsius}, `{"units":"degrees celsius"}`, "Temperature of each card in degrees Celsius", "That of the chip.", num(pcp.ErrAppVersion, func(c *card) *uint32 { return c.Temperature }))
	ofCard(5, "fanspeed", u32, instant, none, "", "Speed of the fan of each card in percent", "What the driver wants, as a share of the highest speed. A fan that is blocked\nhas a speed, too. Cards without a fan have no value.", num(pcp.ErrAppVersion, func(c *card) *uint32 { return c.Fan }))
	ofCard(6, "perfstate", u32, instant, none, "", "Performance state of each card", "From 0, the fastest, to 15; 32 if the driver does not know.", num(pcp.ErrAppVersion, func(c *card) *uint32 { return c.State }))
	ofCard(7, "gpuactive", u32, instant, none, "", "Load of each card in percent", "The share of the driver's last sample, of a sixth of a second to a second, in\nwhich at least one kernel ran.", num(pcp.ErrValue, func(c *card) *uint32 { return c.Busy }))
	ofCard(8, "memactive", u32, instant, none, "", "Time in which the memory of each card was accessed, in percent", "As nvidia.gpuactive, for reading and writing memory. It is not the amount of\nmemory in use.", num(pcp.ErrValue, func(c *card) *uint32 { return c.MemoryBusy }))
	ofCard(9, "memused", u64, instant, bytes, "", "Memory of each card in use", "Memory that is allocated. The driver keeps some of it for itself.", mem(func(c *card) uint64 { return c.Memory.Used }))
	ofCard(10, "memtotal", u64, discrete, bytes, "", "Memory of each card", "The size of the card's own memory.", mem(func(c *card) uint64 { return c.Memory.Total }))
	ofCard(11, "memfree", u64, instant, bytes, "", "Memory of each card not in use", "Memory that can be allocated.", mem(func(c *card) uint64 { return c.Memory.Free }))
	ofCard(19, "carduuid", pcp.TypeString, discrete, none, "", "Identifier of each card", "A UUID that stays with the card, as nvidia-smi -L prints it.", text(func(c *card) string { return c.UUID }))
	ofCard(20, "energy", u64, instant, none, `{"units":"millijoules"}`, "Energy that each card used, in millijoules", "Since the driver was loaded. Cards before Volta do not count it.", func(c *card) (pcp.Value, error) {
		if c.Energy == nil || !c.ok {
			return pcp.Value{}, pcp.ErrAppVersion
		}
		return pcp.Uint64Value(*c.Energy), nil
	})
	ofCard(21, "power", u32, instant, pcp.Units{Extra: pcp.Milliwatt}, `{"units":"milliwatts"}`, "Power that each card draws, in milliwatts", "That of the whole card, with its memory. Some cards report an average over a\nsecond.", num(pcp.ErrAppVersion, func(c *card) *uint32 { return c.Power }))
	ofCard(itemProcs, "nprocs", u32, instant, none, "", "Processes that use each card", "A process that computes and draws counts twice.", func(c *card) (pcp.Value, error) { return pcp.Uint32Value(uint32(len(c.Processes))), nil })
	ofCard(23, "samples", u64, counter, none, "", "Readings of each card", "The number of readings that the sums below nvidia have, such as\nnvidia.gpuutilaccum.", sum(func(c *card) uint64 { return c.samples }))
	ofCard(24, "gpuutilaccum", u64, counter, none, "", "Sum of nvidia.gpuactive over all readings", "Divided by nvidia.samples it is the average load.", sum(func(c *card) uint64 { return c.busySum }))
	ofCard(25, "memutilaccum", u64, counter, none, "", "Sum of nvidia.memactive over all readings", "Divided by nvidia.samples it is the average.", sum(func(c *card) uint64 { return c.memoryBusySum }))
	ofCard(26, "memusedaccum", u64, counter, bytes, "", "Sum of nvidia.memused over all readings", "Divided by nvidia.samples it is the average use.", sum(func(c *card) uint64 { return c.memorySum }))

	// value returns the value of a quantity of a process.
	value := func(q quantity, typ pcp.Type, u *use) (pcp.Value, error) {
		v, ok := u.get(q)
		switch {
		case !ok:
			return pcp.Value{}, pmda.ErrNoValue
		case typ == u32:
			return pcp.Uint32Value(uint32(v)), nil
		}
		return pcp.Uint64Value(v), nil
	}
	type row struct {
		q     quantity
		name  string
		typ   pcp.Type
		sem   pcp.Sem
		units pcp.Units
		line  string
		help  string
	}
	const load = "If accounting is on (nvidia-smi -am 1) it is the average over the life of the\nprocess, and else the average of the driver's last samples."
	rows := []row{
		{qSamples, "samples", u64, counter, count, "Readings of each process", "The number of readings that the sum memaccum has."},
		{qMemory, "memused", u64, instant, bytes, "Memory of cards that each process uses", "Memory of all cards that the process uses, of the driver's own too."},
		{qMemorySum, "memaccum", u64, counter, bytes, "Sum of the memory of each process over all readings", "Divided by the number of samples it is the average use."},
		{qBusy, "gpuactive", u64, instant, none, "Load by each process in percent", load},
		{qMemoryBusy, "memactive", u32, instant, none, "Time of memory access by each process in percent", load},
		{qTime, "time", u64, counter, msec, "Time that each process has used the card", "From the first use on. It is known if accounting is on (nvidia-smi -am 1)."},
		{qRunning, "running", u32, counter, none, "Whether each process is still running", "1 if it is."},
		{qList, "gpulist", u32, instant, none, "Cards that each process uses, as bits", "Bit 0 for gpu0. Cards from gpu32 on are missing."},
		{qCards, "ngpus", u32, instant, none, "Number of cards that each process uses", "A card on which the process computes and draws counts twice in nvidia.proc.all."},
	}
	for i, r := range rows[:qList] { // nvidia.proc, by card
		typ, sem, line := r.typ, r.sem, r.line+", by card"
		if r.q == qBusy {
			typ = u32
		}
		if r.q == qRunning {
			sem = instant
		}
		metrics = append(metrics, pmda.Metric{
			Name: "nvidia.proc." + r.name, Cluster: clusterCardProcesses, Item: 12 + i, Type: typ, InDom: both, Sem: sem, Units: r.units, OneLine: line, Help: r.help,
			Value: func(_ int32, i int) (pcp.Value, error) {
				if i >= len(s.both) {
					return pcp.Value{}, pmda.ErrNoValue
				}
				return value(r.q, typ, &s.both[i].use)
			},
		})
	}
	for _, k := range []struct {
		cluster     int
		name, about string
		use         func(p *process) *use
	}{
		{clusterAll, "all", ", for all cards", func(p *process) *use { return p.all() }},
		{clusterCompute, "compute", ", for computing", func(p *process) *use { return &p.compute }},
		{clusterGraphics, "graphics", ", for graphics", func(p *process) *use { return &p.graphics }},
	} {
		for item, r := range rows {
			metrics = append(metrics, pmda.Metric{
				Name: "nvidia.proc." + k.name + "." + r.name, Cluster: k.cluster, Item: item, Type: r.typ, InDom: processes, Sem: r.sem, Units: r.units, OneLine: r.line + k.about, Help: r.help,
				Value: func(_ int32, i int) (pcp.Value, error) {
					if i >= len(s.processes) {
						return pcp.Value{}, pmda.ErrNoValue
					}
					return value(r.q, r.typ, k.use(s.processes[i]))
				},
			})
		}
	}
	group := func(item int, name string, typ pcp.Type, units pcp.Units, oneLine, help string, q quantity) {
		metrics = append(metrics, pmda.Metric{
			Name: "nvidia.container." + name, Cluster: clusterContainers, Item: item, Type: typ, InDom: groups, Sem: instant, Units: units, OneLine: oneLine, Help: help,
			Value: func(_ int32, i int) (pcp.Value, error) {
				if i >= len(s.groups) {
					return pcp.Value{}, pmda.ErrNoValue
				}
				return value(q, typ, &s.groups[i].use)
			},
		})
	}
	group(0, "memused", u64, bytes, "Memory of cards that each container uses", "The sum over its processes.", qMemory)
	group(1, "gpuactive", u64, none, "Load by each container in percent", "The sum of nvidia.proc.all.gpuactive over its processes.", qBusy)
	group(2, "nprocs", u32, none, "Processes of each container that use a card", "A process counts once for each card, and twice if it computes and draws.", qCards)
	return metrics
}

package drm

import (
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent, which the C implementation does not have.
const Domain = 390

// Config sets the files that an Agent reads. The zero Config reads those of this machine.
type Config struct {
	// Root is the directory of sys and proc; "" means /.
	Root string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// AllAccess gives all clients the metrics of processes, and not only those whose user the collector knows.
	AllAccess bool
	// Log gets a line about files that cannot be read; nil discards.
	Log *slog.Logger
}

// An Agent serves graphics processors. It implements the interfaces of a [column.Agent].
type Agent struct {
	*column.Agent
	r *reader
}

// New returns an agent for the machine that cfg names. It reads nothing yet.
func New(cfg Config) *Agent {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := newReader(cfg.Root, cfg.Log)
	trusts := func(c *pmda.Client) bool {
		return cfg.AllAccess || c != nil && c.Attrs[pmda.AttrUserID] != ""
	}
	a, err := column.New(column.Config{Name: "drm", Domain: cfg.Domain, Trusts: trusts, Log: cfg.Log}, r.family())
	if err != nil {
		panic(err) // the tables are wrong
	}
	return &Agent{a, r}
}

// Close ends requests to the runtimes of containers.
func (a *Agent) Close() error { return a.r.containers.Close() }

// Limits of the input.
const (
	maxFile    = 1 << 16 // bytes of a file
	maxCards   = 256
	maxClients = 1 << 16
)

// A reader knows the cards and their clients.
type reader struct {
	root       string
	blocks     []*column.Block
	buffer     procfs.Buffer
	cards      map[string]*card
	order      []*card // those in the last list
	usage      usage
	containers *containers.Finder
	now        func() time.Time
}

func newReader(root string, log *slog.Logger) *reader {
	return &reader{
		root: root, buffer: procfs.Buffer{Max: maxFile}, cards: make(map[string]*card), usage: newUsage(),
		containers: containers.New(root, log), now: time.Now,
	}
}

func (r *reader) path(elem ...string) string {
	return filepath.Join(append([]string{r.root}, elem...)...)
}

// Blocks of the table.
const (
	blockCount = iota
	blockCards
	blockState
	blockClients
	blockEngines
	blockRegions
	blockGroups
	blockGroupEngines
	blockProcesses
	blockProcessEngines
	numBlocks
)

// Columns of blockCards.
const (
	cardDriver = iota
	cardAddress
	cardIDs
)

// Columns of blockState.
const (
	stateBusy = iota
	stateIdle
	stateClock
	stateClockMax
	stateMemUsed
	stateMemTotal
)

// Columns of blockEngines.
const (
	engineTime = iota
	engineCapacity
)

// Columns of blockRegions.
const (
	regionResident = iota
	regionTotal
	regionShared
)

// Columns of blockGroups and blockProcesses.
const (
	useTime = iota
	useMemory
	useLocal
)

// metrics returns the table. The order is that of the blocks.
func metrics() []column.Metric {
	const discrete, instant, counter = pcp.SemDiscrete, pcp.SemInstant, pcp.SemCounter
	bytes := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	mhz := pcp.Units{DimTime: -1, DimCount: 1, ScaleTime: pcp.TimeUsec}
	ns := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec}
	msec := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	return []column.Metric{
		{Name: "drm.ncards", Cluster: 0, Item: 0, Type: pcp.TypeU32, Sem: discrete, From: blockCount, Help: "Number of graphics cards", Long: "Cards with a driver of the Direct Rendering Manager, built-in ones too."},
		{Name: "drm.card.driver", Cluster: 0, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockCards, Col: cardDriver, Help: "Driver of each card", Long: "The name of the kernel's driver, such as amdgpu, i915 or xe."},
		{Name: "drm.card.address", Cluster: 0, Item: 2, Type: pcp.TypeString, Sem: discrete, From: blockCards, Col: cardAddress, Help: "PCI address of each card", Long: "As lspci prints it: 0000:03:00.0. A card that is not on a PCI bus has no value."},
		{Name: "drm.card.id", Cluster: 0, Item: 3, Type: pcp.TypeString, Sem: discrete, From: blockCards, Col: cardIDs, Help: "PCI identifiers of the maker and model of each card", Long: "As lspci -n prints them: 1002:73bf."},
		{Name: "drm.card.busy", Cluster: 1, Item: 0, Type: pcp.TypeU32, Sem: instant, From: blockState, Col: stateBusy, Help: "Load of each card in percent", Long: "The firmware of the card measures it over a short time (amdgpu). For other\ncards see drm.card.idle and drm.engine.time."},
		{Name: "drm.card.idle", Cluster: 1, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockState, Col: stateIdle, Help: "Time in which each card was idle", Long: "Time in the sleep state RC6 (i915), or another idle state (xe), of the card's\nfirst part."},
		{Name: "drm.card.clock", Cluster: 1, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: mhz, From: blockState, Col: stateClock, Help: "Clock of each card in MHz", Long: "The actual clock of the graphics processor; 0 while it sleeps."},
		{Name: "drm.card.clock_max", Cluster: 1, Item: 3, Type: pcp.TypeU32, Sem: discrete, Units: mhz, From: blockState, Col: stateClockMax, Help: "Highest clock of each card in MHz", Long: "The limit that the driver has now, which users can lower (i915, xe)."},
		{Name: "drm.card.memory.used", Cluster: 1, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockState, Col: stateMemUsed, Help: "Memory of each card in use", Long: "The card's own memory that is allocated, also by the driver (amdgpu). For other\ncards drm.memory.resident has the memory of programs."},
		{Name: "drm.card.memory.total", Cluster: 1, Item: 5, Type: pcp.TypeU64, Sem: discrete, Units: bytes, From: blockState, Col: stateMemTotal, Help: "Memory of each card", Long: "The size of the card's own memory (amdgpu, xe)."},
		{Name: "drm.card.clients", Cluster: 2, Item: 0, Type: pcp.TypeU32, Sem: instant, From: blockClients, Help: "Clients of each card", Long: "A client is a device that a process opened; processes may have several, and\nshare them. Only those of processes that the agent may look into count."},
		{Name: "drm.engine.time", Cluster: 2, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: ns, From: blockEngines, Col: engineTime, Help: "Time that the engines of each card worked for programs", Long: "The sum over all clients since the agent was first asked. Its rate, divided by\ndrm.engine.capacity, is the utilization. Work of a client that begins and ends\nbetween two fetches is not seen. Drivers that count cycles (xe) report no time:\nit is the time between fetches, multiplied by the share of cycles."},
		{Name: "drm.engine.capacity", Cluster: 2, Item: 2, Type: pcp.TypeU32, Sem: discrete, From: blockEngines, Col: engineCapacity, Help: "Number of engines of each class", Long: "Engines of one class work at the same time, each at most one second a second."},
		{Name: "drm.memory.resident", Cluster: 2, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockRegions, Col: regionResident, Help: "Memory of clients that is in each region", Long: "The sum over all clients, of buffers that several share more than once."},
		{Name: "drm.memory.total", Cluster: 2, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockRegions, Col: regionTotal, Help: "Memory of clients that belongs to each region", Long: "As drm.memory.resident, with buffers that are elsewhere now, as in the memory\nof the machine or on disk."},
		{Name: "drm.memory.shared", Cluster: 2, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockRegions, Col: regionShared, Help: "Memory of clients in each region that several have", Long: "The part of drm.memory.total that other clients have too."},
		{Name: "drm.container.time", Cluster: 3, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: ns, From: blockGroups, Col: useTime, Help: "Time that engines worked for each container", Long: "The sum over all cards and engines, as drm.engine.time."},
		{Name: "drm.container.memory", Cluster: 3, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockGroups, Col: useMemory, Help: "Graphics memory of each container", Long: "Memory that is resident in any region, that of the machine too."},
		{Name: "drm.container.vram", Cluster: 3, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockGroups, Col: useLocal, Help: "Memory of cards that each container uses", Long: "Memory that is resident in regions of the cards: vram, vram0, local0 and so on."},
		{Name: "drm.container.engine.time", Cluster: 3, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: ns, From: blockGroupEngines, Help: "Time that engines of each class worked for each container", Long: "As drm.engine.time, for the processes of a container."},
		{Name: "drm.proc.time", Cluster: 4, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: ns, From: blockProcesses, Col: useTime, Help: "Time that engines worked for each process", Long: "The sum over all cards and engines, as drm.engine.time."},
		{Name: "drm.proc.memory", Cluster: 4, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockProcesses, Col: useMemory, Help: "Graphics memory of each process", Long: "Memory that is resident in any region, that of the machine too."},
		{Name: "drm.proc.vram", Cluster: 4, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockProcesses, Col: useLocal, Help: "Memory of cards that each process uses", Long: "Memory that is resident in regions of the cards: vram, vram0, local0 and so on."},
		{Name: "drm.proc.engine.time", Cluster: 4, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: ns, From: blockProcessEngines, Help: "Time that engines of each class worked for each process", Long: "As drm.engine.time, for the clients of a process."},
	}
}

func (r *reader) family() column.Family {
	table := metrics()
	cards := &column.InDom{
		Serial: 0, Help: "Graphics cards", Long: "The kernel's names: card0, card1 and so on. Labels have driver and PCI address.",
		Labels: `{"device_type":"gpu","indom_name":"per gpu"}`,
		InstanceLabels: func(_ int32, name string) map[string]any {
			c := r.cards[name]
			if c == nil {
				return nil
			}
			m := map[string]any{"driver": c.driver}
			if c.address != "" {
				m["pci"] = c.address
			}
			return m
		},
	}
	part := func(key string) func(int32, string) map[string]any {
		return func(_ int32, name string) map[string]any { return partLabels(key, name) }
	}
	const classes = "Classes of engines are those of the driver: gfx, compute, dec and enc of\namdgpu, render, copy and video of i915, rcs, ccs and vcs of xe."
	engines := &column.InDom{Serial: 1, Help: "Classes of engines of each card", Long: classes, InstanceLabels: part("engine")}
	regions := &column.InDom{Serial: 2, Help: "Regions of memory of each card", Long: "Regions are those of the driver: vram is the memory of the card, and gtt, cpu\nor system are parts of the machine's memory that the card uses.", InstanceLabels: part("region")}
	group := func(_ int32, name string) map[string]any {
		id, _, _ := strings.Cut(name, ":")
		return r.groupLabels(id)
	}
	groups := &column.InDom{Serial: 3, Help: "Containers", Long: "Names are the identifiers that the runtimes give; labels have the names, images\nand pods.", InstanceLabels: group}
	groupEngines := &column.InDom{Serial: 4, Help: "Classes of engines that containers use", Long: classes, InstanceLabels: group}
	process := func(_ int32, name string) map[string]any { return r.processLabels(name) }
	processes := &column.InDom{Serial: 5, Help: "Processes that use graphics cards", Long: "By their identifiers; names have the identifier and the command.", InstanceLabels: process}
	processEngines := &column.InDom{Serial: 6, Help: "Classes of engines that processes use", Long: classes, InstanceLabels: process}
	r.blocks = column.NewBlocks(
		table,
		column.Layout{Cols: 1},
		column.Layout{Cols: 3, InDom: cards, Lists: true},
		column.Layout{Cols: 6, InDom: cards},
		column.Layout{Cols: 1, InDom: cards},
		column.Layout{Cols: 2, InDom: engines, Lists: true},
		column.Layout{Cols: 3, InDom: regions, Lists: true},
		column.Layout{Cols: 3, InDom: groups, Lists: true},
		column.Layout{Cols: 1, InDom: groupEngines, Lists: true},
		column.Layout{Cols: 3, InDom: processes, Lists: true},
		column.Layout{Cols: 1, InDom: processEngines, Lists: true},
	)
	list := &column.Source{Name: "/sys/class/drm", Read: r.list, Blocks: r.blocks[blockCount:blockState]}
	scan := &column.Source{Name: "/proc/PID/fdinfo", Read: r.scan, Blocks: r.blocks[blockClients:blockProcesses], After: []*column.Source{list}}
	return column.Family{Name: "drm", Metrics: table, Sources: []*column.Source{
		list,
		{Name: "/sys/class/drm/card*", Read: r.state, Blocks: r.blocks[blockState:blockClients], After: []*column.Source{list}},
		scan,
		{Name: "/proc/PID/fdinfo", Read: r.byProcess, Blocks: r.blocks[blockProcesses:numBlocks], After: []*column.Source{scan}, Restricted: true},
	}}
}

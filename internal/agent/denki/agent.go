package denki

import (
	"log/slog"
	"math"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (DENKI in the stdpmid of PCP 7).
const Domain = 156

// Config sets the files that an Agent reads. The zero Config reads those of this machine.
type Config struct {
	// Root is the directory of sys, proc and dev; "" means /.
	Root string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// AllAccess gives all clients the estimates by process, and not only those whose user the
	// collector knows.
	AllAccess bool
	// Log gets a line about files that cannot be read; nil discards.
	Log *slog.Logger
}

// An Agent serves energy. It implements the interfaces of a [column.Agent].
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
	a, err := column.New(column.Config{Name: "denki", Domain: cfg.Domain, Trusts: trusts, Log: cfg.Log}, r.family())
	if err != nil {
		panic(err) // the tables are wrong
	}
	return &Agent{a, r}
}

// Close closes the files that the agent keeps open.
func (a *Agent) Close() error {
	for _, z := range a.r.zones {
		z.energy.Close()
	}
	return a.r.containers.Close()
}

// Limits of the input.
const (
	maxFile      = 4096    // bytes of a file about a zone or battery
	maxText      = 1 << 20 // bytes of another file
	maxZones     = 1024    // zones, and packages
	maxName      = 255     // bytes of a name in it
	maxBatteries = 64      // at a time
	maxNames     = 1024    // of batteries, ever
)

// A reader knows the sources.
type reader struct {
	root       string
	blocks     []*column.Block
	small      procfs.Buffer // for one file after another
	large      procfs.Buffer
	zones      map[string]*zone
	zoneNames  column.Names
	packages   []*msrPackage
	msrs       []msrValue
	msrNames   column.Names
	batteries  []*battery
	ofBattery  map[string]*battery
	share      share
	containers *containers.Finder
}

func newReader(root string, log *slog.Logger) *reader {
	return &reader{
		root: root, small: procfs.Buffer{Max: maxFile}, large: procfs.Buffer{Max: maxText},
		zones: make(map[string]*zone), ofBattery: make(map[string]*battery),
		share: share{known: make(map[int32]*process), groups: make(map[string]*group)}, containers: containers.New(root, log),
	}
}

// path returns the path of a file of the machine.
func (r *reader) path(elem ...string) string {
	return filepath.Join(append([]string{r.root}, elem...)...)
}

// text returns the contents of a small file without blanks around them, "" if it cannot be read or shown.
func (r *reader) text(path string) string {
	b, err := r.small.Read(path, true)
	if err != nil {
		return ""
	}
	b = procfs.Trim(b)
	if len(b) > maxName {
		return ""
	}
	for _, c := range b {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return string(b)
}

// number returns the number in a small file.
func (r *reader) number(path string) (v int64, ok bool) {
	b, err := r.small.Read(path, true)
	if err != nil {
		return 0, false
	}
	return parseNumber(b)
}

// parseNumber reads a file with a single number in it.
func parseNumber(b []byte) (v int64, ok bool) {
	v, rest, ok := procfs.Int(procfs.Trim(b))
	return v, ok && len(rest) == 0 && v != math.MaxInt64 && v != math.MinInt64 // which also mean more
}

// A counter continues a counter of the hardware that starts at 0 again.
type counter struct {
	last, sum uint64
	known     bool
}

// add takes a reading, and returns the sum. most is the highest value of the counter.
func (c *counter) add(v, most uint64) uint64 {
	switch {
	case !c.known:
		c.sum = v
	case v >= c.last:
		c.sum += v - c.last
	case most >= c.last:
		c.sum += most - c.last + v
	default: // the driver was loaded again
		c.sum += v
	}
	c.last, c.known = v, true
	return c.sum
}

// double returns a cell with a floating point number.
func double(v float64) column.Cell { return column.Num(math.Float64bits(v)) }

// Units of metrics.
var (
	watts      = pcp.Units{Extra: pcp.Watt}
	wattHours  = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeHour, Extra: pcp.Watt}
	joules     = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec, Extra: pcp.Watt}
	volts      = pcp.Units{Extra: pcp.Volt}
	cycleCount = pcp.Units{DimCount: 1}
)

// Blocks of the table.
const (
	blockZones = iota
	blockMSR
	blockEnergy
	blockPower
	blockCapacity
	blockState
	blockProcesses
	blockGroups
	numBlocks
)

// Columns of blockZones.
const (
	zoneWhole = iota // joules
	zoneExact
)

// Columns of blockEnergy.
const (
	energyNow = iota
	energyFull
	energyDesign
)

// Columns of blockState.
const (
	stateText = iota
	stateVolts
	stateCycles
)

// metrics returns the table. The order is that of the blocks.
func metrics() []column.Metric {
	const instant, counter, discrete = pcp.SemInstant, pcp.SemCounter, pcp.SemDiscrete
	const own = 1000 // the first cluster of metrics that the C agent lacks
	return []column.Metric{
		{Name: "denki.rapl.sysfs", Cluster: 0, Item: 0, Type: pcp.TypeU64, Sem: counter, From: blockZones, Col: zoneWhole, Help: "Energy used by parts of the processors, in joules", Long: "The rate of the counter is power in watts. The hardware counts by itself; its\ncounter starts at 0 again after some minutes or hours, which the agent makes\nup for if the metric is fetched meanwhile. Only root can read it."},
		{Name: "denki.rapl.energy", Cluster: own, Item: 0, Type: pcp.TypeDouble, Sem: counter, Units: joules, From: blockZones, Col: zoneExact, Help: "Energy used by parts of the processors, with its unit", Long: "As denki.rapl.sysfs, in steps of a tenth of a joule, and with a unit, so that\nrates are in watts. Finer steps would show what other programs compute."},
		{Name: "denki.rapl.msr", Cluster: 0, Item: 1, Type: pcp.TypeU64, Sem: counter, From: blockMSR, Help: "Energy used by parts of Intel processors, in joules, from their registers", Long: "As denki.rapl.sysfs, but read from model specific registers. That needs the\nkernel's module msr and the right to use it (CAP_SYS_RAWIO)."},
		{Name: "denki.bat.energy_now", Cluster: 1, Item: 0, Type: pcp.TypeDouble, Sem: instant, Units: wattHours, From: blockEnergy, Col: energyNow, Help: "Energy left in each battery", Long: "If the battery reports its charge, the energy is the charge times the voltage\nthat the battery was designed for, or else its present voltage."},
		{Name: "denki.bat.energy_full", Cluster: own, Item: 1, Type: pcp.TypeDouble, Sem: discrete, Units: wattHours, From: blockEnergy, Col: energyFull, Help: "Energy of each battery when it is full", Long: "What the battery takes now. It becomes less as the battery ages."},
		{Name: "denki.bat.energy_design", Cluster: own, Item: 2, Type: pcp.TypeDouble, Sem: discrete, Units: wattHours, From: blockEnergy, Col: energyDesign, Help: "Energy that each battery was designed for", Long: "What the battery took when it was new."},
		{Name: "denki.bat.power_now", Cluster: 1, Item: 1, Type: pcp.TypeDouble, Sem: instant, Units: watts, From: blockPower, Help: "Power that each battery gives or takes", Long: "It is never negative: denki.bat.status has the direction. If the battery does\nnot report its power, it is the product of its current and its voltage."},
		{Name: "denki.bat.capacity", Cluster: 1, Item: 2, Type: pcp.Type32, Sem: instant, From: blockCapacity, Help: "Charge of each battery in percent", Long: "The share of its full charge that the battery has, as its driver reports it."},
		{Name: "denki.bat.status", Cluster: own, Item: 3, Type: pcp.TypeString, Sem: instant, From: blockState, Col: stateText, Help: "State of each battery, such as Charging", Long: "Charging, Discharging, Not charging, Full or Unknown."},
		{Name: "denki.bat.voltage", Cluster: own, Item: 4, Type: pcp.TypeDouble, Sem: instant, Units: volts, From: blockState, Col: stateVolts, Help: "Voltage of each battery", Long: "The present voltage between the poles of the battery."},
		{Name: "denki.bat.cycles", Cluster: own, Item: 5, Type: pcp.TypeU32, Sem: discrete, Units: cycleCount, From: blockState, Col: stateCycles, Help: "Charge cycles of each battery", Long: "How often the battery was charged and discharged as a whole. Batteries that do\nnot count have no value."},
		{Name: "denki.proc.energy", Cluster: own + 1, Item: 0, Type: pcp.TypeDouble, Sem: counter, Units: joules, From: blockProcesses, Help: "Estimate of the energy used by each process", Long: "This is an estimate: energy cannot be measured by process. Between two fetches\nof the metric, the energy of all packages and their memory (denki.rapl.sysfs)\nis divided among processes by their share of the time in which processors were\nbusy. What a computation is, and the clock it runs at, does not count. Nor do\nprocesses that start and end between fetches: their share is lost. The counter\nof a process begins at 0 when the agent first sees it."},
		{Name: "denki.container.energy", Cluster: own + 1, Item: 1, Type: pcp.TypeDouble, Sem: counter, Units: joules, From: blockGroups, Help: "Estimate of the energy used by each container", Long: "This is an estimate: the sum of denki.proc.energy over the processes of the\ncontainer, of those that ended too."},
	}
}

func (r *reader) family() column.Family {
	table := metrics()
	zones := &column.InDom{
		Serial: 0, Help: "Parts of processors whose energy the kernel reports", Labels: `{"indom_name":"rapl sysfs","units":"watt"}`,
		Long: "A package is a whole processor; core, uncore (graphics) and dram (memory) are\nparts, and psys is all of the board. With several packages the number of the\npackage comes first: 0-core.",
	}
	msr := &column.InDom{
		Serial: 1, Help: "Parts of processors whose registers report energy", Labels: `{"indom_name":"rapl msr","units":"watt"}`,
		Long: "With several packages the number of the package comes first.",
	}
	labels := func(inst int32, _ string) map[string]any {
		for _, b := range r.batteries {
			if b.inst == inst {
				return b.labels()
			}
		}
		return nil
	}
	const numbered = "Batteries are numbered in the order of their names, and keep their numbers as\nlong as the agent runs. Labels have their names and models."
	energy := &column.InDom{Serial: 2, Help: "Batteries, with their energy", Long: numbered, Labels: `{"units":"watt hours"}`, InstanceLabels: labels}
	power := &column.InDom{Serial: 3, Help: "Batteries, with their power", Long: numbered, Labels: `{"units":"watt"}`, InstanceLabels: labels}
	capacity := &column.InDom{Serial: 4, Help: "Batteries, with their charge", Long: numbered, Labels: `{"units":"percent"}`, InstanceLabels: labels}
	state := &column.InDom{Serial: 1000, Help: "Batteries, with their state", Long: numbered, InstanceLabels: labels}
	processes := &column.InDom{
		Serial: 1001, Help: "Processes, by their identifiers", Long: "Names have the identifier and the command.",
		InstanceLabels: func(pid int32, _ string) map[string]any { return r.processLabels(pid) },
	}
	groups := &column.InDom{
		Serial: 1002, Help: "Containers", Long: "Names are the identifiers that the runtimes give; labels have the names, images\nand pods.",
		InstanceLabels: func(inst int32, name string) map[string]any { return r.groupLabels(name) },
	}
	r.blocks = column.NewBlocks(table,
		column.Layout{Cols: 2, InDom: zones, Lists: true},
		column.Layout{Cols: 1, InDom: msr, Lists: true},
		column.Layout{Cols: 3, InDom: energy, Lists: true},
		column.Layout{Cols: 1, InDom: power, Lists: true},
		column.Layout{Cols: 1, InDom: capacity, Lists: true},
		column.Layout{Cols: 3, InDom: state, Lists: true},
		column.Layout{Cols: 1, InDom: processes, Lists: true},
		column.Layout{Cols: 1, InDom: groups, Lists: true},
	)
	rapl := &column.Source{Name: "/sys/class/powercap/intel-rapl:*/energy_uj", Read: r.readZones, Blocks: r.blocks[blockZones:blockMSR]}
	return column.Family{Name: "denki", Metrics: table, Sources: []*column.Source{
		rapl,
		{Name: "/dev/cpu/*/msr", Read: r.readMSR, Blocks: r.blocks[blockMSR:blockEnergy]},
		{Name: "/sys/class/power_supply", Read: r.readBatteries, Blocks: r.blocks[blockEnergy:blockProcesses]},
		{Name: "/proc/*/stat, /proc/stat, /sys/class/powercap", Read: r.readShare, Blocks: r.blocks[blockProcesses:numBlocks], After: []*column.Source{rapl}, Restricted: true},
	}}
}

package linux

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// Domain is the domain of the agent (LINUX in stdpmid).
const Domain = 60

// Config says what an Agent reads. The zero Config is this machine.
type Config struct {
	// Root is the directory in which proc and sys are found; "" means /.
	Root string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// HZ is how many ticks the kernel counts in a second; 0 means 100, which
	// it is for user space on all but some long gone systems.
	HZ int
	// PageSize is the size of a page in bytes; 0 means os.Getpagesize.
	PageSize int
	// OneNode has all processors be in one NUMA node.
	OneNode bool
	// Replaced says that files below Root may be replaced by others: none
	// stays open from one reading to the next.
	Replaced bool
	// Bandwidth is the file that says how much memory bandwidth each NUMA node
	// has (bandwidth.conf); "" means there is none.
	Bandwidth string
	// MDAdm is a program to ask for the status of software RAID devices, as
	// mdadm --detail --test DEVICE; "" means to read what the kernel says.
	MDAdm string
	// AllAccess gives every client the metrics that are otherwise for root only.
	AllAccess bool
	// StatfsTimeout is how long a fetch of filesys metrics waits for a file
	// system that does not answer, such as one on a server that has gone;
	// 0 means one second.
	StatfsTimeout time.Duration
	// Version is what pmda.version reports; without it the metric has no value.
	Version string
	// Helper finds the processes of containers; nil means the root helper of
	// this installation, which is looked for when it is first needed.
	Helper Helper
	// Log is told of files that cannot be read for another reason than that
	// they are not there; nil discards.
	Log *slog.Logger
}

// An Agent is the agent for the Linux kernel. It implements pmda.Agent and
// pmda.Refresher, NameSpacer, Texter and Labeler.
type Agent struct {
	cfg    Config
	root   string
	domain int
	hz     uint64
	page   uint64
	log    *slog.Logger

	metrics []metric
	index   [][]int16                  // by cluster and item: 1 + the metric's place in metrics
	keys    map[blockID]map[string]int // columns by what they are called in the files
	blocks  [numBlocks]block
	filled  [numSources][]blockID // the blocks that each source fills
	fresh   sources               // read by the last Refresh, or since
	failing [numSources]bool
	devices procfs.Pool

	*readers
	boxes boxes
	box   *box // of an agent that reads inside a container
}

// maxDeviceFiles is how many files about single devices stay open.
const maxDeviceFiles = 128

// New returns an agent for the files that cfg names. It reads nothing yet.
func New(cfg Config) *Agent {
	a := &Agent{cfg: cfg, root: cfg.Root, domain: cfg.Domain, hz: uint64(cfg.HZ), page: uint64(cfg.PageSize), log: cfg.Log}
	if a.root == "" {
		a.root = "/"
	}
	if a.domain == 0 {
		a.domain = Domain
	}
	if a.hz == 0 {
		a.hz = 100
	}
	if a.page == 0 {
		a.page = uint64(os.Getpagesize())
	}
	if a.cfg.StatfsTimeout == 0 {
		a.cfg.StatfsTimeout = time.Second
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if !cfg.Replaced {
		a.devices.Max = maxDeviceFiles
	}
	a.loadTables()
	a.readers = newReaders(a)
	return a
}

// loadTables joins the tables of metrics, numbers the columns of the blocks
// whose columns are found by key, and builds the index.
func (a *Agent) loadTables() {
	for b := range numBlocks {
		a.blocks[b].cols = blockSpecs[b].cols
	}
	a.keys = make(map[blockID]map[string]int)
	a.keyColumn(blockMeminfo, "Hugepagesize") // no metric shows it as it stands
	for _, t := range tables() {
		for _, m := range t {
			if m.key != "" {
				m.col = a.keyColumn(m.block, m.key)
			}
			m.need |= blockSpecs[m.block].from
			a.metrics = append(a.metrics, m)
		}
	}
	for i, m := range a.metrics {
		for len(a.index) <= m.cluster {
			a.index = append(a.index, nil)
		}
		items := a.index[m.cluster]
		for len(items) <= m.item {
			items = append(items, 0)
		}
		items[m.item] = int16(i + 1)
		a.index[m.cluster] = items
	}
	for b := range numBlocks {
		if !blockSpecs[b].multi {
			a.blocks[b].single()
		}
		for s := range numSources {
			if blockSpecs[b].from == s.bit() {
				a.filled[s] = append(a.filled[s], b)
			}
		}
	}
}

// keyColumn returns the column for a key, a new one if it is the first time.
func (a *Agent) keyColumn(b blockID, key string) int {
	cols := a.keys[b]
	if cols == nil {
		cols = make(map[string]int)
		a.keys[b] = cols
	}
	col, ok := cols[key]
	if !ok {
		col = a.blocks[b].cols
		cols[key] = col
		a.blocks[b].cols++
	}
	return col
}

// column returns the column that a key was given by the tables.
func (a *Agent) column(b blockID, key string) int {
	col, ok := a.keys[b][key]
	if !ok {
		panic("linux: no metric is made of " + key)
	}
	return col
}

// path returns the name of a file below the root.
func (a *Agent) path(name string) string {
	if a.box != nil {
		name = a.box.path(name)
	}
	return filepath.Join(a.root, name)
}

func (a *Agent) file(name string) *procfs.File { return a.kept(procfs.NewFile(a.path(name))) }

func (a *Agent) wholeFile(name string) *procfs.File { return a.kept(procfs.NewWholeFile(a.path(name))) }

// deviceFile is wholeFile for files of which each device has its own.
func (a *Agent) deviceFile(name string) *procfs.File { return a.wholeFile(name).In(&a.devices) }

// kept has f stay open between readings if that is allowed.
func (a *Agent) kept(f *procfs.File) *procfs.File {
	if a.cfg.Replaced {
		return f.In(&a.devices) // of which none may
	}
	return f
}

// metric returns the metric id, or nil.
func (a *Agent) metric(id pcp.PMID) *metric {
	if id.Domain() != a.domain {
		return nil
	}
	if c := id.Cluster(); c < len(a.index) {
		if items, i := a.index[c], id.Item(); i < len(items) && items[i] > 0 {
			return &a.metrics[items[i]-1]
		}
	}
	return nil
}

func (a *Agent) pmid(m *metric) pcp.PMID { return pcp.NewPMID(a.domain, m.cluster, m.item) }

// Desc implements pmda.Agent.
func (a *Agent) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	m := a.metric(id)
	if m == nil {
		return pcp.Desc{}, fmt.Errorf("linux: metric %v: %w", id, pcp.ErrPMID)
	}
	d := pcp.Desc{PMID: id, Type: m.typ, InDom: pcp.InDomNull, Sem: m.sem, Units: m.units}
	if m.indom != noInDom {
		d.InDom = pcp.NewInDom(a.domain, int(m.indom))
	}
	return d, nil
}

// Instances implements pmda.Agent. It reads what says which instances there are.
func (a *Agent) Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	b, err := a.indomBlock(ctx, indom)
	if err != nil {
		return nil, err
	}
	insts := make([]pcp.Instance, 0, b.rows())
	for i, inst := range b.insts {
		insts = append(insts, pcp.Instance{Inst: inst, Name: b.names[i]})
	}
	return insts, nil
}

// indomBlock returns the block that lists the instances of indom, just read.
func (a *Agent) indomBlock(ctx context.Context, indom pcp.InDom) (*block, error) {
	if indom.Domain() == a.domain {
		for _, d := range indoms {
			if int(d.serial) == indom.Serial() {
				client, ok := pmda.ClientFrom(ctx)
				if rootOnly(d.block) && !a.isRoot(client) {
					return new(block), nil // the names are of the same file as the values
				}
				if ok && containerOf(client) != "" {
					return a.blockInside(ctx, client, d.block)
				}
				a.read(blockSpecs[d.block].from)
				return &a.blocks[d.block], nil
			}
		}
	}
	return nil, fmt.Errorf("linux: instance domain %v: %w", indom, pcp.ErrInDom)
}

// NameSpace implements pmda.NameSpacer.
func (a *Agent) NameSpace() *pmns.Tree {
	t := pmns.New()
	for i := range a.metrics {
		if err := t.Add(a.metrics[i].name, a.pmid(&a.metrics[i])); err != nil {
			panic("linux: table of metrics: " + err.Error())
		}
	}
	return t
}

// Metrics calls fn for each metric with its name, in the order of the tables.
func (a *Agent) Metrics(fn func(name string, id pcp.PMID)) {
	for i := range a.metrics {
		fn(a.metrics[i].name, a.pmid(&a.metrics[i]))
	}
}

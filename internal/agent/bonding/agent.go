package bonding

import (
	"bytes"
	_ "embed"
	"log/slog"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

//go:embed help.txt
var texts string

// Domain is the domain of the agent (BONDING in stdpmid).
const Domain = 96

// Config sets the files that an agent reads. The zero Config reads those of this machine.
type Config struct {
	// Root is the directory of proc and sys; "" means /.
	Root string
	// Live is set if Root is the root directory of the host, mounted in the container of this process, rather than a
	// copy of its files.
	Live bool
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Log gets a line about each file that exists and cannot be read; nil discards.
	Log *slog.Logger
}

// New returns an agent for the files that cfg names. It reads nothing yet.
func New(cfg Config) (*column.Agent, error) {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	return column.New(column.Config{Name: "bonding", Domain: cfg.Domain, Texts: texts, Log: cfg.Log}, newReader(cfg.Root, cfg.Live).family())
}

// Limits. The kernel allows names of interfaces of 15 bytes.
const (
	maxName  = 15
	maxBonds = 1 << 12
	maxOpen  = 128 // files that stay open between readings
)

// A reader reads the files of bonds.
type reader struct {
	root    string
	netDir  string
	blocks  []*column.Block
	names   column.Names
	pool    procfs.Pool
	bonds   map[int32]*bond
	sources []*column.Source
}

// A bond has the files of an instance.
type bond struct {
	attrs    [len(attributes)]*procfs.File
	failures *procfs.File
}

// Blocks of metrics.
const (
	blockAttrs = iota
	blockFailures
	blockBonds // the list of bonds, without metrics
)

// attributes are files below /sys/class/net/BOND/bonding. Each has a column of
// blockAttrs, except the last, which has two.
var attributes = [...]string{"slaves", "active_slave", "use_carrier", "updelay", "downdelay", "mode"}

// Columns of blockAttrs.
const (
	colSlaves = iota
	colActive
	colCarrier
	colUpDelay
	colDownDelay
	colMode
	colModeName
	numAttrs
)

func newReader(root string, live bool) *reader {
	d := &column.InDom{Serial: 0, Help: "Bonded network interfaces"}
	r := &reader{root: root, netDir: "proc/net", bonds: make(map[int32]*bond), pool: procfs.Pool{Max: maxOpen}}
	if live {
		r.netDir = hostroot.Name("proc/net/")
	}
	r.blocks = column.NewBlocks(metrics,
		column.Layout{Cols: numAttrs, InDom: d}, column.Layout{Cols: 1, InDom: d}, column.Layout{InDom: d, Lists: true})
	masters := &column.Source{
		Name: "/sys/class/net/bonding_masters", File: column.NewFile(filepath.Join(root, "sys/class/net/bonding_masters")),
		Parse: r.parseMasters, Blocks: r.blocks[blockBonds:],
	}
	after := []*column.Source{masters}
	r.sources = []*column.Source{
		masters,
		{Name: "/sys/class/net/*/bonding", Read: r.readAttrs, Blocks: r.blocks[blockAttrs:blockFailures], After: after},
		{Name: "/proc/net/bonding", Read: r.readFailures, Blocks: r.blocks[blockFailures:blockBonds], After: after},
	}
	return r
}

func (r *reader) family() column.Family {
	return column.Family{Name: "bonding", Metrics: metrics, Sources: r.sources}
}

// parseMasters reads the names of the bonds, which are in one line with blanks between.
func (r *reader) parseMasters(b []byte) {
	list := r.blocks[blockBonds]
	list.Clear()
	r.names.Begin()
	b, _, _ = procfs.Line(b)
	for {
		var name []byte
		if name, b = procfs.Field(b); len(name) == 0 {
			return
		}
		if !validName(name) || list.Rows() == maxBonds {
			continue
		}
		if r.names.Len() >= 2*maxBonds {
			r.forget()
		}
		if inst, kept := r.names.ID(name); r.names.First(inst) {
			list.AddNamed(inst, kept)
		}
	}
}

// forget drops the numbers of bonds when there have been very many.
func (r *reader) forget() {
	for _, bond := range r.bonds {
		for _, f := range bond.attrs {
			f.Close()
		}
		bond.failures.Close()
	}
	clear(r.bonds)
	r.names = column.Names{}
	r.names.Begin()
	r.blocks[blockBonds].Clear()
}

// validName reports whether an interface can have this name. It becomes part of a
// path.
func validName(name []byte) bool {
	return len(name) <= maxName && string(name) != "." && string(name) != ".." && !bytes.ContainsAny(name, "/:\x00")
}

// bond returns the files of an instance.
func (r *reader) bond(inst int32, name string) *bond {
	b := r.bonds[inst]
	if b == nil {
		b = new(bond)
		for i, attr := range attributes {
			b.attrs[i] = procfs.NewWholeFile(filepath.Join(r.root, "sys/class/net", name, "bonding", attr)).In(&r.pool)
		}
		b.failures = procfs.NewFile(filepath.Join(r.root, r.netDir, "bonding", name)).In(&r.pool)
		r.bonds[inst] = b
	}
	return b
}

// readAttrs reads the attributes of all bonds.
func (r *reader) readAttrs() error {
	list, out := r.blocks[blockBonds], r.blocks[blockAttrs]
	out.Clear()
	for i, inst := range list.Insts() {
		bond, row := r.bond(inst, list.Names()[i]), out.Add(inst)
		for col, f := range bond.attrs {
			if b, ok := contents(f); ok {
				setAttr(out, row, col, b)
			}
		}
	}
	noValues(out)
	return nil
}

// setAttr sets the column of an attribute to the first line of its file.
func setAttr(out *column.Block, row, col int, b []byte) {
	if len(b) == 0 {
		return // such as the active interface where there is none
	}
	line, _, _ := procfs.Line(b)
	switch col {
	case colSlaves, colActive:
		out.SetString(row, col, line)
	case colMode: // "active-backup 1"
		name, rest := procfs.Field(line)
		if len(name) > 0 {
			out.SetString(row, colModeName, name)
		}
		line = rest
		fallthrough
	default:
		if v, _, ok := procfs.Uint(line); ok {
			out.Set(row, col, v)
		}
	}
}

// readFailures counts failed links of all bonds.
func (r *reader) readFailures() error {
	list, out := r.blocks[blockBonds], r.blocks[blockFailures]
	out.Clear()
	for i, inst := range list.Insts() {
		bond, row := r.bond(inst, list.Names()[i]), out.Add(inst)
		if b, ok := contents(bond.failures); ok {
			out.Set(row, 0, parseFailures(b))
		}
	}
	noValues(out)
	return nil
}

// parseFailures adds up the counts of each interface in the file of a bond.
func parseFailures(b []byte) uint64 {
	n := uint64(0)
	for line := range procfs.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("Link Failure Count: ")); ok {
			if v, rest, ok := procfs.Uint(rest); ok && len(rest) == 0 {
				n += v
			}
		}
	}
	return n
}

// contents returns the contents of a file. If an open file belongs to an interface that
// has gone, contents opens the file again, as the interface may be back.
func contents(f *procfs.File) (b []byte, ok bool) {
	b, err := f.Read()
	if err != nil {
		b, err = f.Read()
	}
	return b, err == nil
}

// noValues makes a metric without values for any bond return the error for a metric that
// the kernel does not have.
func noValues(b *column.Block) {
	cells, cols := b.Cells(), b.Cols()
	if len(cells) == 0 {
		return
	}
next:
	for col := range cols {
		for i := col; i < len(cells); i += cols {
			if cells[i].OK {
				continue next
			}
		}
		b.SetError(col, pcp.ErrAppVersion)
	}
}

var msec = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}

// metrics are all metrics of the agent.
var metrics = []column.Metric{
	{Name: "bonding.slaves", Item: 0, Type: pcp.TypeString, Sem: pcp.SemInstant, From: blockAttrs, Col: colSlaves, Help: "Interfaces of each bond, with blanks between"},
	{Name: "bonding.active_slave", Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, From: blockAttrs, Col: colActive, Help: "Interface that carries the traffic of each bond"},
	{Name: "bonding.use_carrier", Item: 2, Type: pcp.TypeU32, Sem: pcp.SemInstant, From: blockAttrs, Col: colCarrier, Help: "Whether drivers are asked for their carrier: 1, else 0"},
	{Name: "bonding.updelay", Item: 3, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: msec, From: blockAttrs, Col: colUpDelay, Help: "Time from a link coming up to its use"},
	{Name: "bonding.downdelay", Item: 4, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: msec, From: blockAttrs, Col: colDownDelay, Help: "Time from the failure of a link to the end of its use"},
	{Name: "bonding.mode.type", Item: 5, Type: pcp.TypeU32, Sem: pcp.SemInstant, From: blockAttrs, Col: colMode, Help: "Mode of each bond, as a number from 0 to 6"},
	{Name: "bonding.mode.name", Item: 6, Type: pcp.TypeString, Sem: pcp.SemInstant, From: blockAttrs, Col: colModeName, Help: "Mode of each bond, such as active-backup or 802.3ad"},
	{Name: "bonding.failures", Item: 7, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}, From: blockFailures, Help: "Failures of the links of each bond"},
}

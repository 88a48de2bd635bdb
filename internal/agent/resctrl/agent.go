// Package resctrl is the agent for the use of the last level cache and of the memory's bandwidth, which processors of Intel and AMD
// measure: of the files in the mounted file system /sys/fs/resctrl.
//
//	a, err := resctrl.New(resctrl.Config{})
//
// Names, PMIDs, types and units are those of pmdaresctrl(1).
package resctrl

import (
	"cmp"
	"log/slog"
	"math"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (RESCTRL in stdpmid).
const Domain = 159

// The kernel's directories.
const (
	mountPoint = "sys/fs/resctrl"
	caches     = "sys/devices/system/cpu/cpu0/cache"
)

// Limits of the input.
const (
	maxFile = 4096 // bytes of a file
	maxRows = 4096
	prefix  = "mon_L3_" // of the directories of caches
)

// A Config sets the files that an agent reads. The zero Config reads those of this machine.
type Config struct {
	Root   string       // of sys; "" means /
	Mount  string       // of the file system; "" means sys/fs/resctrl below Root
	Domain int          // 0 means Domain
	Log    *slog.Logger // nil discards
}

// Columns of the table.
const (
	colOccupancy = iota
	colLocal
	colTotal
	numCols
)

// A reader reads the files.
type reader struct {
	root, dir string
	size      uint64 // of a cache; 0 if it is not known
	block     *column.Block
	names     column.Names
	buffer    procfs.Buffer
}

// New returns an agent. It reads nothing yet.
func New(cfg Config) (*column.Agent, error) {
	cfg.Root = cmp.Or(cfg.Root, "/")
	table := []column.Metric{
		{Name: "resctrl.llc.occupancy", Item: 0, Type: pcp.TypeFloat, Sem: pcp.SemInstant, Col: colOccupancy, Help: "Share of each last level cache in use, from 0 to 1", Long: "The file llc_occupancy, by the size of the cache: of all tasks that are not in\na group of their own."},
		{Name: "resctrl.llc.mbm_local", Item: 1, Type: pcp.TypeU64, Sem: pcp.SemInstant, Col: colLocal, Help: "Bytes between each last level cache and the memory of its node", Long: "The file mbm_local_bytes, a counter of reads and writes. The semantics are\nthose of the C agent."},
		{Name: "resctrl.llc.mbm_total", Item: 2, Type: pcp.TypeU64, Sem: pcp.SemInstant, Col: colTotal, Help: "Bytes between each last level cache and all memory", Long: "The file mbm_total_bytes, a counter of reads and writes. The semantics are\nthose of the C agent."},
	}
	indom := &column.InDom{Serial: 0, Help: "Last level caches", Long: "Names are those of the kernel's directories, such as mon_L3_00."}
	r := &reader{root: cfg.Root, dir: filepath.Join(cmp.Or(cfg.Mount, filepath.Join(cfg.Root, mountPoint)), "mon_data"), buffer: procfs.Buffer{Max: maxFile}}
	blocks := column.NewBlocks(table, column.Layout{Cols: numCols, InDom: indom, Lists: true})
	r.block = blocks[0]
	return column.New(column.Config{Name: "resctrl", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log}, column.Family{
		Name: "resctrl", Metrics: table, Sources: []*column.Source{{Name: "/" + mountPoint, Read: r.read, Blocks: blocks}},
	})
}

func (r *reader) read() error {
	if r.size == 0 {
		r.size = r.cacheSize()
	}
	r.block.Clear()
	r.names.Begin()
	for _, name := range procfs.Names(r.dir) {
		if !strings.HasPrefix(name, prefix) || r.block.Rows() == maxRows {
			continue
		}
		id, text := r.names.ID([]byte(name))
		row := r.block.AddNamed(id, text)
		dir := filepath.Join(r.dir, name)
		if v, ok := r.number(filepath.Join(dir, "llc_occupancy"), ""); ok && r.size > 0 {
			r.block.Set(row, colOccupancy, uint64(math.Float32bits(float32(v)/float32(r.size))))
		}
		for col, file := range [...]string{colLocal: "mbm_local_bytes", colTotal: "mbm_total_bytes"} {
			if v, ok := r.number(filepath.Join(dir, file), ""); ok && file != "" {
				r.block.Set(row, col, v)
			}
		}
	}
	return nil
}

// cacheSize returns the size of a cache of level 3, in bytes.
func (r *reader) cacheSize() uint64 {
	for _, name := range procfs.Names(filepath.Join(r.root, caches)) {
		dir := filepath.Join(r.root, caches, name)
		if level, ok := r.number(filepath.Join(dir, "level"), ""); ok && level == 3 {
			size, _ := r.number(filepath.Join(dir, "size"), "K")
			return size << 10
		}
	}
	return 0
}

// number reads a file with a number, and a unit behind it. The kernel writes "Unavailable" or "Error" if there is no value.
func (r *reader) number(path, unit string) (uint64, bool) {
	text, err := r.buffer.Read(path, true)
	if err != nil {
		return 0, false
	}
	return parse(text, unit)
}

func parse(text []byte, unit string) (uint64, bool) {
	v, rest, ok := procfs.Uint(text)
	return v, ok && string(procfs.Trim(rest)) == unit
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "resctrl", Domain: Domain, Source: "/" + mountPoint + "/mon_data",
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Root: e.HostRoot, Domain: e.Domain, Log: e.Log, Mount: e.Config.Get("PCP_RESCTRL_DIR")}
			if cfg.Mount == "" {
				cfg.Mount = hostroot.Path(cmp.Or(e.HostRoot, "/"), mountPoint)
			}
			return New(cfg)
		},
	}
}

package zfs

import (
	"cmp"
	_ "embed"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (ZFS in stdpmid).
const Domain = 153

// DefaultDir is the kernel's directory of the files.
const DefaultDir = "/proc/spl/kstat/zfs"

//go:embed help.txt
var help string

// Limits of the input.
const (
	maxFile  = 1 << 16 // bytes of a file
	maxPools = 1024
)

// A Config sets the files that an agent reads. The zero Config reads those of this machine.
type Config struct {
	Dir    string       // of the files; "" means DefaultDir
	Domain int          // 0 means Domain
	Log    *slog.Logger // nil discards
}

// New returns an agent. It reads nothing yet.
func New(cfg Config) (*column.Agent, error) {
	cfg.Dir = cmp.Or(cfg.Dir, DefaultDir)
	pools := &column.InDom{Serial: 0, Help: "Pools of ZFS", Long: "The pools that are imported, by name."}
	table := metrics()
	layouts := make([]column.Layout, numBlocks)
	layouts[blockPools] = column.Layout{InDom: pools, Lists: true}
	blocks := column.NewBlocks(table, layouts...)
	f := column.Family{Name: "zfs", Metrics: table}
	for i, name := range [...]string{
		blockARC: "arcstats", blockABD: "abdstats", blockBuffers: "dbufstats", blockTransactions: "dmu_tx", blockDnodes: "dnodestats", blockFaults: "fm",
		blockVdevCache: "vdev_cache_stats", blockMirrors: "vdev_mirror_stats", blockCopies: "xuio_stats", blockPrefetch: "zfetchstats", blockLog: "zil",
	} {
		path, b := filepath.Join(cfg.Dir, name), blocks[i]
		f.Sources = append(f.Sources, &column.Source{Name: path, File: column.NewFile(path), Blocks: blocks[i : i+1], Parse: func(text []byte) { counters(text, b) }})
	}
	r := &reader{dir: cfg.Dir, pools: blocks[blockPools], buffer: procfs.Buffer{Max: maxFile}}
	f.Sources = append(f.Sources, &column.Source{Name: cfg.Dir + "/POOL", Read: r.read, Blocks: blocks[blockPools:]})
	return column.New(column.Config{Name: "zfs", Domain: cmp.Or(cfg.Domain, Domain), Texts: help, Log: cfg.Log}, f)
}

// counters reads lines of a name, a type and a value.
func counters(text []byte, b *column.Block) {
	b.Clear()
	keys := b.Keys()
	for line := range procfs.Lines(text) {
		name, rest := procfs.Field(line)
		col, ok := keys[string(name)]
		if !ok {
			continue
		}
		_, rest = procfs.Field(rest)
		v, rest, ok := procfs.Int(rest) // memory_available_bytes can be negative
		if ok && len(procfs.Trim(rest)) == 0 {
			b.Set(0, col, uint64(max(v, 0)))
		}
	}
}

// A reader reads the files of pools.
type reader struct {
	dir    string
	pools  *column.Block
	names  column.Names
	buffer procfs.Buffer
}

func (r *reader) read() error {
	r.pools.Clear()
	r.names.Begin()
	for _, name := range procfs.Names(r.dir) {
		info, err := os.Stat(filepath.Join(r.dir, name))
		if err != nil || !info.IsDir() || r.pools.Rows() == maxPools {
			continue
		}
		id, name := r.names.ID([]byte(name))
		row := r.pools.AddNamed(id, name)
		text, err := r.buffer.Read(filepath.Join(r.dir, name, "state"), false)
		if err == nil {
			r.pools.Set(row, r.pools.Column("state"), state(text))
		}
		if text, err = r.buffer.Read(filepath.Join(r.dir, name, "io"), false); err == nil {
			traffic(text, r.pools, row)
		}
	}
	return nil
}

// state returns the number of the state of a pool.
func state(text []byte) uint64 {
	for i, name := range [...]string{"OFFLINE", "ONLINE", "DEGRADED", "FAULTED", "REMOVED", "UNAVAIL"} {
		if string(procfs.Trim(text)) == name {
			return uint64(i)
		}
	}
	return unknown
}

// unknown is the number of any other state.
const unknown = 13

// traffic reads the file io of a pool: below a line of the names of the columns, one with their values.
func traffic(text []byte, b *column.Block, row int) {
	keys := b.Keys()
	for names, rest, ok := procfs.Line(text); ok; names, rest, ok = procfs.Line(rest) {
		if first, _ := procfs.Field(names); string(first) != "nread" {
			continue
		}
		values, _, _ := procfs.Line(rest)
		for len(procfs.Trim(names)) > 0 {
			var name []byte
			name, names = procfs.Field(names)
			v, after, ok := procfs.Uint(values)
			if !ok {
				return
			}
			values = after
			if col, ok := keys[string(name)]; ok {
				b.Set(row, col, v)
			}
		}
		return
	}
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "zfs", Domain: Domain, Source: DefaultDir,
		New: func(e builtin.Env) (pmda.Agent, error) {
			dir := e.Config.Getenv("ZFS_PATH")
			if dir == "" {
				dir = hostroot.Path(cmp.Or(e.HostRoot, "/"), DefaultDir[1:])
			}
			return New(Config{Dir: dir, Domain: e.Domain, Log: e.Log})
		},
	}
}

package cifs

import (
	"cmp"
	"log/slog"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (CIFS in stdpmid).
const Domain = 121

// Directory is the kernel's directory of the files.
const Directory = "/proc/fs/cifs"

// Limits of the input.
const (
	maxFile = 4 << 20 // bytes of a file
	maxRows = 4096    // of a domain
	maxName = 1024    // bytes of an instance
)

// A Config sets the files that an agent reads. The zero Config reads those of this machine.
type Config struct {
	Dir    string       // of the files; "" means Directory
	Domain int          // 0 means Domain
	Log    *slog.Logger // nil discards
}

// A reader reads the files.
type reader struct {
	table                                []column.Metric
	blocks                               []*column.Block
	texts                                [numBlocks]map[int]bool // the columns of texts
	version                              [2]uint64               // of the module
	shares, servers, sessions, connected column.Names
}

// New returns an agent. It reads nothing yet.
func New(cfg Config) (*column.Agent, error) {
	dir := cmp.Or(cfg.Dir, Directory)
	r := newReader()
	file := func(name string) *procfs.File {
		return procfs.NewFile(filepath.Join(dir, name)).In(&procfs.Pool{Max: 1, Size: maxFile})
	}
	debug := &column.Source{Name: Directory + "/DebugData", File: file("DebugData"), Parse: r.debug, Blocks: r.blocks[:blockAll]}
	stats := &column.Source{Name: Directory + "/Stats", File: file("Stats"), Parse: r.stats, Blocks: r.blocks[blockAll:], After: []*column.Source{debug}}
	return column.New(column.Config{Name: "cifs", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log},
		column.Family{Name: "cifs", Metrics: r.table, Sources: []*column.Source{debug, stats}})
}

func newReader() *reader {
	indom := func(serial int, help, long string) column.Layout {
		return column.Layout{InDom: &column.InDom{Serial: serial, Help: help, Long: long}, Lists: true}
	}
	table := metrics()
	r := &reader{table: table, blocks: column.NewBlocks(
		table,
		column.Layout{},
		indom(1, "Connections to servers", "By the names of the servers."),
		indom(2, "Sessions", "Names have the address of the server and the number of the session."),
		indom(3, "Connections to shares", "By the names of the shares. IPC$ is that for control."),
		column.Layout{},
		indom(0, "Mounted shares", "Names are those of the shares, such as \\\\server\\share."),
	)}
	for _, m := range table {
		if m.Type == pcp.TypeString {
			if r.texts[m.From] == nil {
				r.texts[m.From] = make(map[int]bool)
			}
			r.texts[m.From][r.blocks[m.From].Column(m.Key)] = true
		}
	}
	return r
}

// Builtin describes the agent. Its program keeps the rights of root, which the kernel wants for one of the files.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "cifs", Domain: Domain, Source: Directory, Program: builtin.Program{KeepUser: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			dir := hostroot.Path(cmp.Or(e.HostRoot, "/"), Directory[1:])
			if s := e.Config.Getenv("CIFS_STATSPATH"); s != "" {
				dir = filepath.Join(s, Directory)
			}
			return New(Config{Dir: dir, Domain: e.Domain, Log: e.Log})
		},
	}
}

package jbd2

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/cache"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (JBD2 in stdpmid).
const Domain = 122

// DefaultDir is the kernel's directory of the files.
const DefaultDir = "/proc/fs/jbd2"

// Config sets the files that an Agent reads. The zero Config reads those of this machine.
type Config struct {
	// Dir is the directory with a directory for each journal; "" means DefaultDir.
	Dir string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Cache is the directory of the file with the numbers of journals; "" means that they
	// are not kept.
	Cache string
	// Log gets a line about a file of numbers that cannot be used, for debugging; nil discards.
	Log *slog.Logger
}

// An Agent is the agent for journals. It implements pmda.Agent and pmda.Refresher, NameSpacer
// and Texter.
type Agent struct{ engine }

// An engine is a [column.Agent] without its labels, which the C agent lacks too.
type engine interface {
	pmda.Agent
	pmda.Refresher
	pmda.NameSpacer
	pmda.Texter
}

// New returns an agent for the files that cfg names. It reads nothing yet.
func New(cfg Config) *Agent {
	if cfg.Dir == "" {
		cfg.Dir = DefaultDir
	}
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	indom := &column.InDom{Serial: 0, Help: "Journals, by the devices that they are on", Long: "Journals of JBD2 that are in use. The name is that of the directory below\n/proc/fs/jbd2: the device, with the inode of the journal behind it where the\njournal is a file of the file system, as in sda1-8."}
	r := &reader{
		cfg: cfg, files: procfs.Buffer{Max: maxFile},
		known: cache.New[*journal](pcp.NewInDom(cfg.Domain, 0), &cache.Options{Dir: cfg.Cache, Log: cfg.Log}),
	}
	r.blocks = column.NewBlocks(metrics, column.Layout{Cols: 1}, column.Layout{Cols: numCols, InDom: indom, Lists: true})
	a, err := column.New(column.Config{Name: "jbd2", Domain: cfg.Domain, Log: cfg.Log}, column.Family{
		Name: "journals", Metrics: metrics, Sources: []*column.Source{{Name: cfg.Dir, Blocks: r.blocks, Read: r.read}},
	})
	if err != nil {
		panic(err) // the table is wrong
	}
	return &Agent{a}
}

// maxFile is the number of bytes read of the file of a journal.
const maxFile = 1 << 20

// A reader lists the journals and reads their files.
type reader struct {
	cfg    Config
	blocks []*column.Block
	known  *cache.Cache[*journal]
	files  procfs.Buffer
	loaded bool
}

// read reads the files of all journals. Without the directory there are no journals.
func (r *reader) read() error {
	if !r.loaded && r.cfg.Cache != "" {
		if _, err := r.known.Load(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.cfg.Log.Debug("numbers of journals are not known", "err", err)
		}
	}
	r.known.HideAll()
	changed := !r.loaded
	r.loaded = true
	for _, name := range procfs.Names(r.cfg.Dir) {
		if name[0] == '.' {
			continue
		}
		text, err := r.files.Read(filepath.Join(r.cfg.Dir, name, "info"), false)
		if err != nil {
			continue // as in C: it has gone, or only root may read it
		}
		e, err := r.known.LookupName(name)
		j := e.Value
		if err != nil || j == nil {
			j = new(journal)
		}
		if !j.parse(text) {
			continue
		}
		if _, err := r.known.Store(name, j); err == nil && j != e.Value {
			changed = true
		}
	}
	count, list := r.blocks[blockAll], r.blocks[blockJournals]
	list.Clear()
	for e := range r.known.Active() {
		e.Value.fill(list.Row(list.AddNamed(e.Inst, e.Name)))
	}
	count.Set(0, 0, uint64(list.Rows()))
	if changed && r.cfg.Cache != "" {
		r.save()
	}
	return nil
}

// save keeps the numbers of new journals. An agent without permission to write the file
// continues without it: the numbers are the same again as long as the kernel lists the journals
// in one order.
func (r *reader) save() {
	if _, err := r.known.Save(); err != nil {
		r.cfg.Log.Debug("numbers of journals are not kept", "err", err)
	}
}

package btrfs

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (BTRFS in stdpmid).
const Domain = 41

// DefaultDir is the kernel's directory of the files.
const DefaultDir = "/sys/fs/btrfs"

// Limits of the input.
const (
	maxFile = 4096 // bytes of a file
	maxRows = 4096 // of file systems, and of devices
)

// A Config sets the files that an agent reads. The zero Config reads those of this machine.
type Config struct {
	Dir    string       // of the files; "" means DefaultDir
	Domain int          // 0 means Domain
	Log    *slog.Logger // nil discards
}

// A reader reads the files.
type reader struct {
	dir                  string
	blocks               []*column.Block
	columns              [numBlocks][]cell
	systemNames, devices column.Names
	buffer               procfs.Buffer
}

// A cell is a column with its file.
type cell struct {
	col        int
	file, word string // "" for a file of one value
	text       bool
}

// New returns an agent. It reads nothing yet.
func New(cfg Config) (*column.Agent, error) {
	r := &reader{dir: cmp.Or(cfg.Dir, DefaultDir), buffer: procfs.Buffer{Max: maxFile}}
	systems := &column.InDom{
		Serial: 0, Help: "File systems", Long: "The mounted file systems of the type Btrfs, by UUID.", Labels: `{"filesystem":"btrfs"}`,
		InstanceLabels: func(_ int32, name string) map[string]any {
			m := map[string]any{"uuid": name}
			if label := r.value(filepath.Join(name, "label"), ""); len(label) > 0 {
				m["label"] = string(label)
			}
			return m
		},
	}
	devices := &column.InDom{
		Serial: 1, Help: "Devices of file systems", Long: "Names have the UUID of the file system and the number of the device in it.", Labels: `{"filesystem":"btrfs"}`,
		InstanceLabels: func(_ int32, name string) map[string]any {
			uuid, id, _ := strings.Cut(name, separator)
			return map[string]any{"uuid": uuid, "devid": id}
		},
	}
	table := metrics()
	r.blocks = column.NewBlocks(
		table,
		column.Layout{InDom: systems, Lists: true},
		column.Layout{InDom: systems},
		column.Layout{InDom: systems},
		column.Layout{InDom: systems},
		column.Layout{InDom: devices, Lists: true},
	)
	for _, m := range table {
		file, word, _ := strings.Cut(m.Key, " ")
		r.columns[m.From] = append(r.columns[m.From], cell{r.blocks[m.From].Column(m.Key), file, word, m.Type == pcp.TypeString})
	}
	list := &column.Source{Name: r.dir, Read: r.readSystems, Blocks: r.blocks[blockInfo : blockInfo+1]}
	sources := []*column.Source{list}
	for i := blockCommit; i <= blockDiscard; i++ {
		sources = append(sources, &column.Source{Name: r.dir + "/UUID", Blocks: r.blocks[i : i+1], After: []*column.Source{list}, Row: func(row int) {
			r.fill(i, row, r.blocks[blockInfo].Names()[row])
		}})
	}
	sources = append(sources, &column.Source{Name: r.dir + "/UUID/devinfo", Read: r.readDevices, Blocks: r.blocks[blockDevice:]})
	return column.New(column.Config{Name: "btrfs", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log}, column.Family{Name: "btrfs", Metrics: table, Sources: sources})
}

// systems returns the file systems, by UUID.
func (r *reader) systems() []string {
	var list []string
	for _, name := range procfs.Names(r.dir) {
		if name[0] != '.' && name != "features" && len(list) < maxRows && procfs.Exists(filepath.Join(r.dir, name, "allocation")) {
			list = append(list, name)
		}
	}
	return list
}

func (r *reader) readSystems() error {
	b := r.blocks[blockInfo]
	b.Clear()
	r.systemNames.Begin()
	for _, uuid := range r.systems() {
		id, name := r.systemNames.ID([]byte(uuid))
		r.fill(blockInfo, b.AddNamed(id, name), uuid)
	}
	return nil
}

// separator is between the UUID and the number in the name of a device.
const separator = "::"

func (r *reader) readDevices() error {
	b := r.blocks[blockDevice]
	b.Clear()
	r.devices.Begin()
	for _, uuid := range r.systems() {
		for _, device := range procfs.Names(filepath.Join(r.dir, uuid, "devinfo")) {
			if device[0] == '.' || b.Rows() == maxRows {
				continue
			}
			id, name := r.devices.ID([]byte(uuid + separator + device))
			r.fill(blockDevice, b.AddNamed(id, name), filepath.Join(uuid, "devinfo", device))
		}
	}
	return nil
}

// fill reads the values of a row, of files below a directory.
func (r *reader) fill(block, row int, dir string) {
	b := r.blocks[block]
	for _, c := range r.columns[block] {
		text := r.value(filepath.Join(dir, c.file), c.word)
		if c.text && text != nil {
			b.SetString(row, c.col, text)
		} else if v, rest, ok := procfs.Uint(text); ok && len(procfs.Trim(rest)) == 0 {
			b.Set(row, c.col, v)
		}
	}
}

// value returns the first line of a file, or if word is not "" the text behind the word in its line; nil if there is none.
func (r *reader) value(file, word string) []byte {
	text, err := r.buffer.Read(filepath.Join(r.dir, file), true)
	if err != nil {
		return nil
	}
	return find(text, word)
}

func find(text []byte, word string) []byte {
	for line := range procfs.Lines(text) {
		if word == "" {
			return procfs.Trim(line)
		}
		if first, rest := procfs.Field(line); string(first) == word {
			return procfs.Trim(rest)
		}
	}
	return nil
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "btrfs", Domain: Domain, Source: DefaultDir,
		New: func(e builtin.Env) (pmda.Agent, error) {
			dir := e.Config.Getenv("BTRFS_PATH")
			if dir == "" {
				dir = hostroot.Path(cmp.Or(e.HostRoot, "/"), DefaultDir[1:])
			}
			return New(Config{Dir: dir, Domain: e.Domain, Log: e.Log})
		},
	}
}

package dm

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

//go:embed help.txt
var texts string

// Domain is the domain of the agent (DM in stdpmid).
const Domain = 129

// Config sets the sources that an agent reads. The zero Config reads those of this
// machine.
type Config struct {
	// Root is the directory of dev and sys; "" means /.
	Root string
	// Cache, ThinPool and Thin are commands, words with blanks between, with the output
	// of "dmsetup status --target TYPE"; "" means to ask the kernel.
	Cache, ThinPool, Thin string
	// VDO is the directory of VDO volumes; "" means sys/kvdo below Root.
	VDO string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Log gets a line about each failure; nil discards them.
	Log *slog.Logger
}

// New returns an agent for the sources of cfg. It reads nothing yet.
func New(cfg Config) (*column.Agent, error) {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	if cfg.VDO == "" {
		cfg.VDO = filepath.Join(cfg.Root, "sys/kvdo")
	}
	k := &control{path: filepath.Join(cfg.Root, "dev/mapper/control")}
	return column.New(
		column.Config{Name: "dm", Domain: cfg.Domain, Texts: texts, Log: cfg.Log},
		statusFamily(k, "cache", cfg.Cache, cacheMetrics, parseCache, 0, "Caches of the device mapper"),
		statusFamily(k, "thin-pool", cfg.ThinPool, poolMetrics, parsePool, 1, "Pools for thin volumes"),
		statusFamily(k, "thin", cfg.Thin, volumeMetrics, parseVolume, 2, "Thin volumes"),
		statsFamily(k),
		histogramFamily(k),
		vdoFamily(cfg.VDO),
	)
}

// maxDevices is the maximum number of devices of a kind, and maxNames that of names whose
// numbers are kept.
const (
	maxDevices = 1 << 14
	maxNames   = 1 << 16
)

// A statusReader reads the status of all targets of a type.
type statusReader struct {
	control *control
	kind    string
	command string
	parse   func(b []byte, out *column.Block, row int)
	blocks  []*column.Block
	names   column.Names
}

func statusFamily(k *control, kind, command string, metrics []column.Metric, parse func([]byte, *column.Block, int), serial int, help string) column.Family {
	r := &statusReader{control: k, kind: kind, command: command, parse: parse}
	r.blocks = column.NewBlocks(metrics, column.Layout{Cols: len(metrics), Lists: true, InDom: &column.InDom{Serial: serial, Help: help}})
	return column.Family{Name: kind, Metrics: metrics, Sources: []*column.Source{{Name: "targets " + kind, Read: r.read, Blocks: r.blocks}}}
}

func (r *statusReader) read() error {
	var text []byte
	var err error
	if r.command != "" {
		text, err = run(r.command)
	} else {
		text, err = r.control.status(r.kind)
	}
	if err != nil {
		return absentIf(err)
	}
	return r.parseStatus(text)
}

// absentIf returns err, or nil if it means that there is no device mapper or no permission to
// use it.
func absentIf(err error) error {
	for _, e := range [...]error{syscall.ENOENT, syscall.EPERM, syscall.EACCES, syscall.ENODEV, syscall.ENXIO, errors.ErrUnsupported} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// parseStatus reads lines "NAME: START LENGTH TYPE STATUS". A device whose last line reports a
// failure is an instance without values.
func (r *statusReader) parseStatus(text []byte) error {
	out := r.blocks[0]
	out.Clear()
	if r.names.Len() > maxNames {
		r.names = column.Names{}
	}
	r.names.Begin()
	for line := range procfs.Lines(text) {
		name, status, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) == 0 {
			continue
		}
		inst, kept := r.names.ID(name)
		var row int
		if r.names.First(inst) {
			if out.Rows() == maxDevices {
				return fmt.Errorf("more than %d targets of type %s: %w", maxDevices, r.kind, pcp.ErrTooBig)
			}
			row = out.AddNamed(inst, kept)
		} else {
			for out.Insts()[row] != inst { // a device with several targets
				row++
			}
		}
		start, rest, ok1 := procfs.Uint(status)
		length, rest, ok2 := procfs.Uint(rest)
		kind, rest := procfs.Field(rest)
		if !ok1 || !ok2 || string(kind) != r.kind || bytes.Contains(line, []byte("Fail")) {
			continue
		}
		out.Set(row, 0, length-start)
		r.parse(rest, out, row)
	}
	return nil
}

// numbers sets columns to numbers separated by blanks or slashes, and returns the rest. Without
// one it returns false.
func numbers(b []byte, out *column.Block, row int, cols ...int) (rest []byte, ok bool) {
	for _, col := range cols {
		var v uint64
		if v, b, ok = procfs.Uint(bytes.TrimPrefix(b, []byte("/"))); !ok {
			return b, false
		}
		out.Set(row, col, v)
	}
	return b, true
}

const sectorBytes = 512

// parseCache reads "8 10162/262144 128 39839/3276800 1087840 821795 116320 2057235 0 39835 0 1 writeback …".
func parseCache(b []byte, out *column.Block, row int) {
	b, ok := numbers(b, out, row, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
	scale := func(of int, cols ...int) { // from blocks to Kbytes
		sectors, _ := out.Get(row, of)
		for _, col := range cols {
			if v, ok := out.Get(row, col); ok {
				out.Set(row, col, v*uint64(uint32(sectors*sectorBytes)/1024))
			}
		}
	}
	scale(1, 2, 3)
	scale(4, 5, 6, 13)
	if !ok {
		return
	}
	if mode, _ := procfs.Field(b); len(mode) > 0 {
		out.SetString(row, 15, mode)
	}
}

// parsePool reads "0 13/65536 0/3200 - rw no_discard_passdown queue_if_no_space".
func parsePool(b []byte, out *column.Block, row int) {
	b, ok := numbers(b, out, row, 1, 2, 3, 4, 5)
	if !ok {
		return
	}
	for _, col := range [...]int{6, 8, 7, 9} {
		var word []byte
		if word, b = procfs.Field(b); len(word) > 0 {
			out.SetString(row, col, word)
		}
	}
}

// parseVolume reads "7000704 8388607"; a volume without data has "0 -".
func parseVolume(b []byte, out *column.Block, row int) { numbers(b, out, row, 1, 2) }

// noValues makes the metric of a column without values return the error for a metric that the kernel does not
// have.
func noValues(b *column.Block) {
	for _, c := range b.Cells() {
		if c.OK {
			return
		}
	}
	if b.Rows() > 0 {
		b.SetError(0, pcp.ErrAppVersion)
	}
}

// words splits a command at blanks.
func words(command string) []string { return strings.Fields(command) }

package dm

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A vdoReader reads the files of VDO volumes.
type vdoReader struct {
	dir   string
	list  *column.Block
	names column.Names
}

// vdoFamily has a block and a source for each metric: only the files that are wanted are read.
func vdoFamily(dir string) column.Family {
	r := &vdoReader{dir: dir}
	d := &column.InDom{Serial: 5, Help: "VDO volumes"}
	list := make([]column.Metric, len(vdoMetrics))
	layouts := make([]column.Layout, len(vdoMetrics)+1)
	for i, m := range vdoMetrics {
		list[i] = column.Metric{Name: "vdo." + m.name, Cluster: 5, Item: m.item, Type: m.kind, Sem: m.sem, Units: m.units, From: i, Help: m.help}
		layouts[i] = column.Layout{Cols: 1, InDom: d}
	}
	layouts[len(vdoMetrics)] = column.Layout{InDom: d, Lists: true}
	blocks := column.NewBlocks(list, layouts...)
	r.list = blocks[len(vdoMetrics)]
	volumes := &column.Source{Name: "/sys/kvdo", Read: r.readList, Blocks: blocks[len(vdoMetrics):]}
	sources := []*column.Source{volumes}
	for i := range vdoMetrics {
		m, out := &vdoMetrics[i], blocks[i]
		sources = append(sources, &column.Source{
			Name: filepath.Join("/sys/kvdo/*/statistics", m.file), Blocks: blocks[i : i+1], After: []*column.Source{volumes},
			Read: func() error { r.read(m, out); return nil },
		})
	}
	return column.Family{Name: "vdo", Metrics: list, Sources: sources}
}

// readList finds the volumes: the directories with a directory statistics.
func (r *vdoReader) readList() error {
	r.list.Clear()
	if r.names.Len() > maxNames {
		r.names = column.Names{}
	}
	r.names.Begin()
	for _, name := range procfs.Names(r.dir) {
		if name[0] == '.' {
			continue
		}
		if _, err := os.Stat(filepath.Join(r.dir, name, "statistics")); err != nil {
			continue
		}
		if r.list.Rows() == maxDevices {
			return fmt.Errorf("%s: more than %d volumes: %w", r.dir, maxDevices, pcp.ErrTooBig)
		}
		inst, kept := r.names.ID([]byte(name))
		r.list.AddNamed(inst, kept)
	}
	return nil
}

// read fills the column of a metric.
func (r *vdoReader) read(m *vdoMetric, out *column.Block) {
	out.Clear()
	for i, inst := range r.list.Insts() {
		row, name := out.Add(inst), r.list.Names()[i]
		if m.file == "" {
			if bits, ok := r.computed(m.item, name); ok {
				out.Set(row, 0, bits)
			}
			continue
		}
		word := r.word(name, m.file)
		if len(word) == 0 {
			continue
		}
		switch m.kind {
		case pcp.TypeString:
			out.SetString(row, 0, word)
		case pcp.TypeFloat:
			if f, err := strconv.ParseFloat(string(word), 32); err == nil {
				out.Set(row, 0, uint64(math.Float32bits(float32(f))))
			}
		default:
			if v, rest, ok := procfs.Uint(word); ok && len(rest) == 0 {
				out.Set(row, 0, v)
			}
		}
	}
	noValues(out)
}

// maxWord is the longest text of a file that is reported.
const maxWord = 63

// word returns the first word of a file, nil if there is none.
func (r *vdoReader) word(volume, file string) []byte {
	b, err := procfs.ReadOnce(filepath.Join(r.dir, volume, "statistics", file))
	if err != nil {
		return nil
	}
	word, _ := procfs.Field(procfs.Trim(b))
	return word[:min(len(word), maxWord)]
}

// computed returns the value of a metric without a file.
func (r *vdoReader) computed(item int, volume string) (bits uint64, ok bool) {
	var missing bool
	n := func(file string) uint64 {
		word := r.word(volume, file)
		v, rest, ok := procfs.Uint(word)
		if !ok || len(rest) > 0 {
			missing = true
		}
		return v
	}
	percent := func(part, whole uint64) uint64 {
		if whole == 0 {
			return 0
		}
		return uint64(math.Float32bits(float32(100 * (float64(part) / float64(whole)))))
	}
	switch item {
	case 145:
		bits = n("journal_blocks_started") - n("journal_blocks_written")
	case 146:
		bits = n("journal_blocks_written") - n("journal_blocks_committed")
	case 147:
		bits = n("journal_entries_started") - n("journal_entries_written")
	case 148:
		bits = n("journal_entries_written") - n("journal_entries_committed")
	case 149:
		bits = n("physical_blocks") * n("block_size") / 1024
	case 150:
		bits = (n("data_blocks_used") + n("overhead_blocks_used")) * n("block_size") / 1024
	case 151:
		bits = (n("physical_blocks") - n("data_blocks_used") - n("overhead_blocks_used")) * n("block_size") / 1024
	case 152:
		bits = percent(n("data_blocks_used")+n("overhead_blocks_used"), n("physical_blocks"))
	case 153:
		bits = percent(n("logical_blocks_used")-n("data_blocks_used"), n("logical_blocks_used"))
	default:
		return 0, false
	}
	return bits, !missing
}

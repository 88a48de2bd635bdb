package dm

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A region is a line of a device's answer to the message @stats_list:
//
//	0: 0+8388608 8388608 dmstats - precise_timestamps histogram:1000000,2000000
type region struct {
	id      uint64
	precise bool     // times are nanoseconds, else milliseconds
	bounds  []uint64 // of the histogram, in nanoseconds
}

// Limits of the answers of a device.
const (
	maxRegions = 1 << 12
	maxBounds  = 1 << 8
)

const nsecPerMsec = 1_000_000

// parseRegions reads the list of regions.
func parseRegions(text []byte) ([]region, error) {
	var list []region
	for line := range procfs.Lines(text) {
		id, rest, ok := procfs.Uint(line)
		if !ok || len(rest) == 0 || rest[0] != ':' {
			continue
		}
		if len(list) == maxRegions {
			return nil, fmt.Errorf("more than %d regions: %w", maxRegions, pcp.ErrTooBig)
		}
		r := region{id: id}
		var bounds []byte
		for rest = rest[1:]; ; {
			var word []byte
			if word, rest = procfs.Field(rest); len(word) == 0 {
				break
			}
			if string(word) == "precise_timestamps" {
				r.precise = true
			}
			if b, ok := bytes.CutPrefix(word, []byte("histogram:")); ok {
				bounds = b
			}
		}
		for len(bounds) > 0 && len(r.bounds) < maxBounds {
			v, rest, ok := procfs.Uint(bounds)
			if !ok {
				break
			}
			if !r.precise {
				v *= nsecPerMsec
			}
			r.bounds = append(r.bounds, v)
			bounds = bytes.TrimPrefix(rest, []byte(","))
		}
		list = append(list, r)
	}
	return list, nil
}

// The numbers of an area, in the order in which the kernel prints them. Those of the metrics are the same, except
// that sectors become Kbytes.
const (
	areaReadSectors  = 2
	areaReadTime     = 3
	areaWriteSectors = 6
	areaWriteTime    = 7
	areaIOTime       = 9
	areaNumbers      = 13
)

// addAreas adds up a device's answer to the message @stats_print: a line for each area of a region.
//
//	0+8388608 12 0 96 5 7 0 56 9 0 14 14 5 9 10:2:0
func (r *region) addAreas(text []byte, sums *[areaNumbers]uint64, bins []uint64) {
	for line := range procfs.Lines(text) {
		_, rest := procfs.Field(line)
		var v [areaNumbers]uint64
		ok := true
		for i := 0; i < len(v) && ok; i++ {
			v[i], rest, ok = procfs.Uint(rest)
		}
		if !ok {
			continue
		}
		for i := range v {
			if !r.precise && (i == areaReadTime || i == areaWriteTime || i >= areaIOTime) {
				v[i] *= nsecPerMsec
			}
			sums[i] += v[i]
		}
		rest = procfs.Skip(rest)
		for i := range bins {
			n, after, ok := procfs.Uint(rest)
			if !ok {
				break
			}
			bins[i] += n
			rest = bytes.TrimPrefix(after, []byte(":"))
		}
	}
}

// boundName returns the name of a range: "dev:0:5ms".
func boundName(device string, id, bound uint64) string {
	unit := "ns"
	for _, u := range [...]struct {
		size uint64
		name string
	}{{1_000_000_000, "s"}, {nsecPerMsec, "ms"}, {1000, "us"}} {
		if bound%u.size == 0 {
			bound, unit = bound/u.size, u.name
			break
		}
	}
	return device + ":" + strconv.FormatUint(id, 10) + ":" + strconv.FormatUint(bound, 10) + unit
}

// A statsReader reads the statistics of all devices.
type statsReader struct {
	control interface {
		devices() ([]string, error)
		message(device, text string) ([]byte, error)
	}
	blocks []*column.Block
	names  column.Names
}

func statsFamily(k *control) column.Family {
	r := &statsReader{control: k}
	r.blocks = column.NewBlocks(statsMetrics, column.Layout{Cols: areaNumbers, Lists: true, InDom: &column.InDom{Serial: 3, Help: "Devices with statistics"}})
	return column.Family{Name: "dmstats", Metrics: statsMetrics, Sources: []*column.Source{{Name: "statistics", Read: r.readCounters, Blocks: r.blocks}}}
}

func histogramFamily(k *control) column.Family {
	r := &statsReader{control: k}
	r.blocks = column.NewBlocks(histogramMetrics, column.Layout{Cols: 2, Lists: true, InDom: &column.InDom{Serial: 4, Help: "Ranges of histograms of regions"}})
	return column.Family{Name: "histogram", Metrics: histogramMetrics, Sources: []*column.Source{{Name: "histograms", Read: r.readHistograms, Blocks: r.blocks}}}
}

// add appends a row for a new name.
func (r *statsReader) add(name string) (row int, ok bool, err error) {
	inst, kept := r.names.ID([]byte(name))
	if !r.names.First(inst) {
		return 0, false, nil
	}
	if r.blocks[0].Rows() == maxDevices {
		return 0, false, fmt.Errorf("more than %d devices or ranges: %w", maxDevices, pcp.ErrTooBig)
	}
	return r.blocks[0].AddNamed(inst, kept), true, nil
}

// each calls fn for the regions of each device that has any.
func (r *statsReader) each(fn func(device string, regions []region) error) error {
	r.blocks[0].Clear()
	if r.names.Len() > maxNames {
		r.names = column.Names{}
	}
	r.names.Begin()
	devices, err := r.control.devices()
	if err != nil {
		return absentIf(err)
	}
	for _, device := range devices {
		text, err := r.control.message(device, "@stats_list")
		if err != nil {
			continue // it has gone, or cannot have statistics
		}
		regions, err := parseRegions(text)
		if err == nil && len(regions) > 0 {
			err = fn(device, regions)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", device, err)
		}
	}
	return nil
}

func (r *statsReader) readCounters() error {
	return r.each(func(device string, regions []region) error {
		var sums [areaNumbers]uint64
		for i := range regions {
			text, err := r.control.message(device, "@stats_print "+strconv.FormatUint(regions[i].id, 10))
			if err == nil {
				regions[i].addAreas(text, &sums, nil)
			}
		}
		row, ok, err := r.add(device)
		if !ok {
			return err
		}
		sums[areaReadSectors] /= 2
		sums[areaWriteSectors] /= 2
		for col, v := range sums {
			r.blocks[0].Set(row, col, v)
		}
		return nil
	})
}

func (r *statsReader) readHistograms() error {
	return r.each(func(device string, regions []region) error {
		for i := range regions {
			reg := &regions[i]
			if len(reg.bounds) == 0 {
				continue
			}
			text, err := r.control.message(device, "@stats_print "+strconv.FormatUint(reg.id, 10))
			if err != nil {
				continue
			}
			var sums [areaNumbers]uint64
			bins := make([]uint64, len(reg.bounds)+1)
			reg.addAreas(text, &sums, bins)
			lower := uint64(0)
			for j, n := range bins {
				row, ok, err := r.add(boundName(device, reg.id, lower))
				if err != nil {
					return err
				}
				if ok {
					r.blocks[0].Set(row, 0, n)
					r.blocks[0].Set(row, 1, uint64(len(bins)))
				}
				if j < len(reg.bounds) {
					lower = reg.bounds[j]
				}
			}
		}
		return nil
	})
}

// errFormat is the error of an answer that does not have the form of the kernel's.
var errFormat = errors.New("an answer of the device mapper is damaged")

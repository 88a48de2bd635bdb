package model

import (
	"math"

	"github.com/go-pcp/pcp"
)

// A Key names a line of a History.
type Key struct {
	Kind Series
	Name string // of a device or a chart's line, "" for totals
}

// A Series is a kind of values that a History keeps.
type Series uint8

// Series.
const (
	CPUBusy Series = iota
	CPUSys
	CPUWait
	LoadNow
	MemoryUsed // share
	SwapUsed   // share
	DiskRead
	DiskWritten
	NetIn
	NetOut
	PressCPU
	PressMemory
	PressIO
	PressIRQ
	DevRead // of each device
	DevWritten
	DevBusy
	IfIn // of each interface
	IfOut
	ChartLine // of each line of each chart, by ChartKey
	ProcCPU   // of the process whose page is open
	ProcRSS
)

// A History keeps the newest values of many series, all of them at the same times.
type History struct {
	times []pcp.Timestamp // ring
	n     int64           // samples so far
	lines map[Key]*line
}

type line struct {
	values []float64 // ring
	last   int64     // number of its newest sample, from 1
}

// NewHistory returns a History that keeps the given number of samples.
func NewHistory(samples int) *History {
	return &History{times: make([]pcp.Timestamp, samples), lines: map[Key]*line{}}
}

// Len returns how many samples have been pushed and not removed.
func (h *History) Len() int64 { return h.n }

// Reset forgets all.
func (h *History) Reset() {
	h.n = 0
	clear(h.lines)
}

// Push adds the values of a snapshot. Values of the same or a later time are removed first: a replay may have
// stepped back.
func (h *History) Push(s *Snapshot) {
	for h.n > 0 && h.times[(h.n-1)%int64(len(h.times))].Compare(s.Time) >= 0 {
		h.n--
		if h.n == 0 {
			clear(h.lines)
		}
	}
	h.times[h.n%int64(len(h.times))] = s.Time
	h.n++
	put := func(kind Series, name string, v float64) { h.put(Key{kind, name}, v) }
	put(CPUBusy, "", s.CPU.Busy())
	put(CPUSys, "", s.CPU.Sys+s.CPU.IRQ)
	put(CPUWait, "", s.CPU.Wait)
	put(LoadNow, "", s.Load[0])
	put(MemoryUsed, "", s.Memory.Used()/s.Memory.Total)
	put(SwapUsed, "", share(s.Memory.SwapUsed, s.Memory.SwapTotal))
	put(DiskRead, "", s.Disk.In)
	put(DiskWritten, "", s.Disk.Out)
	put(NetIn, "", s.Net.In)
	put(NetOut, "", s.Net.Out)
	put(PressCPU, "", s.Pressure.CPU.Some[0])
	put(PressMemory, "", s.Pressure.Memory.Some[0])
	put(PressIO, "", s.Pressure.IO.Some[0])
	put(PressIRQ, "", s.Pressure.IRQ.Full[0])
	if s.Groups&Disks != 0 {
		for i := range s.Disks {
			d := &s.Disks[i]
			put(DevRead, d.Name, d.Read)
			put(DevWritten, d.Name, d.Written)
			put(DevBusy, d.Name, d.Busy)
		}
	}
	for i := range s.Interfaces {
		put(IfIn, s.Interfaces[i].Name, s.Interfaces[i].In)
		put(IfOut, s.Interfaces[i].Name, s.Interfaces[i].Out)
	}
	for i := range s.Charts {
		for j := range s.Charts[i].Lines {
			l := &s.Charts[i].Lines[j]
			h.put(ChartKey(s.Charts[i].Spec, l.Name), l.Value)
		}
	}
}

// Put adds a value of the newest sample to a series.
func (h *History) Put(k Key, v float64) { h.put(k, v) }

// Drop forgets a series.
func (h *History) Drop(k Key) { delete(h.lines, k) }

// ChartKey is the key of a line of a chart.
func ChartKey(spec, instance string) Key {
	if instance == "" {
		return Key{ChartLine, spec}
	}
	return Key{ChartLine, spec + "\x00" + instance}
}

func share(part, whole float64) float64 {
	if !(whole > 0) {
		return nan()
	}
	return part / whole
}

func (h *History) put(k Key, v float64) {
	l := h.lines[k]
	if l == nil {
		if math.IsNaN(v) || h.n == 0 {
			return
		}
		l = &line{values: make([]float64, len(h.times)), last: h.n - 1}
		for i := range l.values {
			l.values[i] = nan()
		}
		h.lines[k] = l
	}
	size := int64(len(l.values))
	if l.last >= h.n { // taken back meanwhile
		l.last = h.n - 1
	}
	for at := max(l.last+1, h.n-size+1); at < h.n; at++ {
		l.values[(at-1)%size] = nan()
	}
	l.values[(h.n-1)%size] = v
	l.last = h.n
}

// Values appends the newest values of a series up to the sample end (Len is the newest one), the oldest first and NaN
// where a value is missing, so that dst has n more.
func (h *History) Values(dst []float64, k Key, end int64, n int) []float64 {
	l := h.lines[k]
	size := int64(len(h.times))
	for at := end - int64(n) + 1; at <= end; at++ {
		v := nan()
		if l != nil && at >= 1 && at <= h.n && at <= l.last && at > h.n-size && at > l.last-size {
			v = l.values[(at-1)%size]
		}
		dst = append(dst, v)
	}
	return dst
}

// Time returns the time of the sample of a number, or the zero time.
func (h *History) Time(at int64) pcp.Timestamp {
	if at < 1 || at > h.n || at <= h.n-int64(len(h.times)) {
		return pcp.Timestamp{}
	}
	return h.times[(at-1)%int64(len(h.times))]
}

// Find returns the number of the newest sample that is not later than a time, 0 if all are later.
func (h *History) Find(at pcp.Timestamp) int64 {
	for i := h.n; i >= 1 && i > h.n-int64(len(h.times)); i-- {
		if h.Time(i).Compare(at) <= 0 {
			return i
		}
	}
	return 0
}

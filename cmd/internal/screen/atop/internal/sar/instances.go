package sar

import (
	"strconv"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// manyMiB is the use of a graphics processor's memory, in KiB, from which on it counts as
// active.
const manyMiB = 512 * 1024

func gpuLine(p *Printer, in *Input) int {
	lines := 0
	for i := range in.System.GPUs {
		g := &in.System.GPUs[i]
		active := int32(g.Busy + g.MemBusy)
		if active == -2 { // not known
			active = 0
		}
		used := g.MemUsed
		if g.Samples != 0 {
			used = g.MemUsedSum / g.Samples
		}
		if !p.first("gpu") && !p.All && active == 0 && used <= manyMiB {
			continue
		}
		p.next(in, lines)
		lines++
		g.Samples, g.MemTotal = either(g.Samples), either(g.MemTotal)
		share := func(n sample.Count) string {
			if n == -1 {
				return "N/A"
			}
			return strconv.FormatInt(n/g.Samples, 10) + "%"
		}
		p.d(2, int64(i))
		p.text("/")
		p.right(9, g.Bus[:min(len(g.Bus), 9)])
		p.text(" ")
		p.right(7, share(g.Busy))
		p.text("  ")
		p.right(7, share(g.MemBusy))
		p.text("  ")
		p.d(5, g.MemUsed*100/g.MemTotal)
		p.text("%  ")
		p.d(5, g.MemTotal/1024)
		p.text("M ")
		p.d(5, g.MemUsed/1024)
		p.text("M  ")
		p.text(g.Type)
		p.text("\n")
	}
	return p.done("gpu", lines)
}

// right prints a string right-aligned in width columns.
func (p *Printer) right(width int, s string) {
	for n := len(s); n < width; n++ {
		p.B = append(p.B, ' ')
	}
	p.text(s)
}

// either returns n as a divisor, or 1 instead of 0.
func either(n sample.Count) sample.Count {
	if n == 0 {
		return 1
	}
	return n
}

// diskLine prints a report about disks. The first line of any such report has them all.
func (p *Printer) diskLine(in *Input, disks []sample.Disk) int {
	lines := 0
	total := either(in.System.CPU.Total() * 1000 / in.Hertz / max(int64(len(in.System.CPUs)), 1))
	for i := range disks {
		d := &disks[i]
		transfers := d.Reads + d.Writes
		if d.Discards != -1 {
			transfers += d.Discards
		}
		if transfers == 0 && !p.first("disk") && !p.All {
			continue
		}
		p.next(in, lines)
		lines++
		badness := uint32(0)
		if p.Limits.Disk != 0 {
			badness = unsigned((float64(d.BusyMS) * 100.0 / float64(total)) * 100 / float64(p.Limits.Disk))
		}
		p.before(badness)
		p.left(14, tail(d.Name, 14))
		p.text(" ")
		p.f(3, 0, float64(d.BusyMS)*100.0/float64(total))
		p.text("% ")
		p.f(6, 1, float64(d.Reads)*1000.0/float64(total))
		p.text(" ")
		p.f(7, 1, ratio(d.ReadSectors, d.Reads)/2.0)
		p.text(" ")
		p.f(7, 1, float64(d.Writes)*1000.0/float64(total))
		p.text(" ")
		p.f(7, 1, ratio(d.WriteSectors, d.Writes)/2.0)
		p.text(" ")
		p.f(5, 1, ratio(d.Queue, d.BusyMS))
		p.text(" ")
		p.f(9, 5, ratio(d.BusyMS, transfers))
		p.text(" ms")
		p.after(badness)
	}
	return p.done("disk", lines)
}

// ratio returns a/b, 0 if there is no b.
func ratio(a, b sample.Count) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func mountLine(p *Printer, in *Input) int {
	lines := 0
	for i := range in.System.Mounts {
		m := &in.System.Mounts[i]
		young := m.Age < in.Seconds
		if !p.first("mount") && !p.All && !young && m.TotalRead == 0 && m.TotalWrite == 0 {
			continue
		}
		p.next(in, lines)
		lines++
		p.left(38, tail(m.Device, 38))
		for _, n := range [...]sample.Count{m.TotalRead, m.TotalWrite} {
			p.text(" ")
			p.f(10, 3, float64(n)/1024/float64(in.Seconds))
			p.text("K")
		}
		if young {
			p.text("    M\n")
		} else {
			p.text("     \n")
		}
	}
	return p.done("mount", lines)
}

func portLine(p *Printer, in *Input) int {
	lines := 0
	for i := range in.System.Ports {
		t := &in.System.Ports[i]
		if !p.first("port") && !p.All && t.InBytes == 0 && t.OutBytes == 0 {
			continue
		}
		received := t.InBytes * int64(t.Lanes) / 125000000 / in.Seconds
		sent := t.OutBytes * int64(t.Lanes) / 125000000 / in.Seconds
		busy := 0.0
		if t.Rate != 0 {
			busy = float64(max(received, sent) * 100 / t.Rate)
		}
		p.next(in, lines)
		lines++
		badness := uint32(0)
		if p.Limits.Net != 0 {
			badness = unsigned(busy * 100 / float64(p.Limits.Net))
		}
		p.before(badness)
		p.left(10, t.Name)
		p.text(" ")
		p.d(4, int64(t.Nr))
		p.text(" ")
		p.f(4, 0, busy)
		p.text("% ")
		p.f(7, 1, float64(t.InPackets)/float64(in.Seconds))
		p.text(" ")
		p.f(7, 1, float64(t.OutPackets)/float64(in.Seconds))
		for j, n := range [...]int64{received, sent, t.Rate / 1000, int64(t.Lanes)} {
			p.text(" ")
			p.d([...]int{5, 5, 7, 5}[j], n)
		}
		p.after(badness)
	}
	return p.done("port", lines)
}

// busyInterface returns the use of an interface in per cent, from the Mbit/s received and sent.
func busyInterface(t *sample.Interface, received, sent int64) float64 {
	if t.Duplex {
		return float64(max(received, sent) * 100 / t.Speed)
	}
	return float64((received + sent) * 100 / t.Speed)
}

func interfaceLine(p *Printer, in *Input) int {
	lines := 0
	for i := range in.System.Interfaces {
		t := &in.System.Interfaces[i]
		if !p.first("interface") && !p.All && t.InPackets == 0 && t.OutPackets == 0 {
			continue
		}
		received, sent := t.InBytes/125000/in.Seconds, t.OutBytes/125000/in.Seconds
		busy, share, duplex := 0.0, "?", " "
		if t.Speed != 0 {
			busy = busyInterface(t, received, sent)
			if busy > 100 && t.Speed < t.SpeedBefore { // a wireless interface that was slow for a moment
				t.Speed = t.SpeedBefore
				busy = busyInterface(t, received, sent)
			}
			share = string(append(figure.Float(nil, 3, 0, busy), '%'))
			if duplex = "h"; t.Duplex {
				duplex = "f"
			}
		}
		p.next(in, lines)
		lines++
		badness := uint32(0)
		if p.Limits.Net != 0 {
			badness = unsigned(busy * 100 / float64(p.Limits.Net))
		}
		p.before(badness)
		p.left(6, tail(t.Name, 6))
		p.text(" ")
		p.right(4, share)
		seconds := float64(in.Seconds)
		for j, v := range [...]float64{
			float64(t.InPackets) / seconds, float64(t.OutPackets) / seconds,
			float64(t.InBytes) / 1024 / seconds, float64(t.OutBytes) / 1024 / seconds,
		} {
			p.text(" ")
			p.f([...]int{7, 7, 8, 8}[j], [...]int{1, 1, 0, 0}[j], v)
		}
		for j, n := range [...]int64{received, sent, t.Speed} {
			p.text(" ")
			p.d([...]int{5, 5, 7}[j], n)
		}
		p.text(" ")
		p.text(duplex)
		p.after(badness)
	}
	return p.done("interface", lines)
}

func interfaceErrorLine(p *Printer, in *Input) int {
	lines := 0
	for i := range in.System.Interfaces {
		t := &in.System.Interfaces[i]
		if !p.first("interface errors") && !p.All && t.InPackets == 0 && t.OutPackets == 0 {
			continue
		}
		p.next(in, lines)
		lines++
		p.left(6, tail(t.Name, 6))
		for j, n := range [...]sample.Count{t.InErrors, t.OutErrors, t.Collisions, t.InDrops, t.OutDrops, t.InFrame, t.Carrier} {
			p.text(" ")
			p.f([...]int{6, 6, 6, 7, 7, 8, 10}[j], 2, float64(n)/float64(in.Seconds))
		}
		p.text("\n")
	}
	return p.done("interface errors", lines)
}

package parseable

import (
	"strconv"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// task begins the line of a task: its number, name and state.
func (p *Printer) task(t *sample.Task) {
	p.begin()
	p.numbers(t.PID)
	p.name(t.Name)
	p.char(t.State)
}

func (p *Printer) general(in *Input) {
	for i := range in.Tasks {
		t := &in.Tasks[i]
		code := t.ExitCode >> 8 & 0xff
		if t.ExitCode&0xff != 0 { // killed by a signal
			code = t.ExitCode&0x7f + 256
		}
		p.task(t)
		p.numbers(t.RUID, t.RGID, t.TGID, t.Threads, code)
		p.counts(t.Started)
		p.name(t.Command)
		p.numbers(t.PPID, t.Running, t.Sleeping, t.DiskSleep, t.EUID, t.EGID, t.SUID, t.SGID, t.FSUID, t.FSGID)
		p.counts(t.Elapsed)
		p.yes(t.IsProcess)
		p.numbers(t.VPID, t.EnvID)
		container := t.Container
		if container == "" {
			container = "-"
		}
		p.word(container)
		if t.ExitCode&sample.NewTask != 0 {
			p.char('N')
		} else {
			p.char('-')
		}
		p.name(t.CGroup)
		if p.Seven {
			ended := int64(0)
			if t.State == 'E' {
				ended = t.Started + t.Elapsed/int64(max(p.Host.Hertz, 1))
			}
			p.counts(ended, int64(t.Idle))
		}
		p.end()
	}
}

// limits writes n limits of a control group. PCP has no metrics of them.
func (p *Printer) limits(in *Input, n int) {
	limit := int32(-2)
	if !in.CGroups {
		limit = -3
	}
	for range n {
		p.numbers(limit)
	}
}

func (p *Printer) taskCPU(in *Input) {
	for i := range in.Tasks {
		t := &in.Tasks[i]
		p.task(t)
		p.counts(int64(p.Host.Hertz), t.User, t.Sys)
		p.numbers(t.Nice, t.Prio, t.RTPrio, t.Policy, t.Processor, 0, t.TGID)
		p.yes(t.IsProcess)
		p.b = strconv.AppendUint(append(p.b, ' '), uint64(t.RunDelay), 10)
		p.name(t.WaitChannel)
		p.b = strconv.AppendUint(append(p.b, ' '), uint64(t.BlockDelay), 10)
		if t.State == 'E' && in.CGroups {
			p.numbers(0, 0)
		} else {
			p.limits(in, 2)
		}
		if p.Seven {
			p.counts(t.Switches, t.Preemptions)
		}
		p.end()
	}
}

func (p *Printer) taskMemory(in *Input) {
	for i := range in.Tasks {
		t := &in.Tasks[i]
		p.task(t)
		p.numbers(p.Host.PageSize)
		p.counts(t.Virtual, t.Resident, t.Text, t.VirtualGrowth, t.ResidentGrowth, t.MinorFaults, t.MajorFaults,
			t.Libraries, t.Data, t.Stack, t.Swapped)
		p.numbers(t.TGID)
		p.yes(t.IsProcess)
		p.counts(known(t.Proportional), t.Locked)
		if t.State == 'E' && in.CGroups {
			p.numbers(0, 0, 0, 0)
		} else {
			p.limits(in, 4)
		}
		p.end()
	}
}

func (p *Printer) taskDisk(in *Input) {
	for i := range in.Tasks {
		t := &in.Tasks[i]
		p.task(t)
		p.char('n')
		p.yes(in.DiskIO)
		p.counts(t.ReadIO, t.ReadSectors, t.WriteIO, t.WriteSectors, t.Cancelled)
		p.numbers(t.TGID)
		p.char('n')
		p.yes(t.IsProcess)
		p.end()
	}
}

func (p *Printer) taskNet(in *Input) {
	for i := range in.Tasks {
		t := &in.Tasks[i]
		p.task(t)
		p.yes(in.NetIO)
		p.counts(t.TCPSent, t.TCPSentBytes, t.TCPReceived, t.TCPReceivedBytes, t.UDPSent, t.UDPSentBytes, t.UDPReceived, t.UDPReceivedBytes, 0, 0)
		p.numbers(t.TGID)
		p.yes(t.IsProcess)
		p.end()
	}
}

func (p *Printer) taskGPU(in *Input) {
	for i := range in.Tasks {
		t := &in.Tasks[i]
		g := &t.GPU
		p.task(t)
		if g.State == 0 {
			p.char('N')
		} else {
			p.char(g.State)
		}
		p.numbers(int32(g.GPUs))
		p.b = strconv.AppendUint(append(p.b, ' '), uint64(uint32(g.List)), 16)
		p.numbers(g.Busy, g.MemBusy)
		p.counts(g.MemNow, g.MemSum, g.Samples)
		p.end()
	}
}

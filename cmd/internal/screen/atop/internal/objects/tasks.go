package objects

import (
	"strconv"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// tasks writes the rows of a label of tasks.
func (p *Printer) tasks(label string, list []sample.Task) {
	var fill func(*row, *sample.Task)
	switch label {
	case "PRG":
		fill = general
	case "PRC":
		fill = cpu
	case "PRM":
		fill = resident
	case "PRD":
		fill = func(r *row, t *sample.Task) {
			r.add(column{"reads", t.ReadIO}, column{"read", kib(t.ReadSectors)}, column{"writes", t.WriteIO}, column{"written", kib(t.WriteSectors)},
				column{"cancelled", kib(t.Cancelled)})
		}
	case "PRN":
		fill = func(r *row, t *sample.Task) {
			r.add(column{"tcp_out", t.TCPSent}, column{"tcp_out_bytes", t.TCPSentBytes}, column{"tcp_in", t.TCPReceived}, column{"tcp_in_bytes", t.TCPReceivedBytes},
				column{"udp_out", t.UDPSent}, column{"udp_out_bytes", t.UDPSentBytes}, column{"udp_in", t.UDPReceived}, column{"udp_in_bytes", t.UDPReceivedBytes})
		}
	case "PRE":
		fill = func(r *row, t *sample.Task) {
			r.add(column{"gpus", int64(t.GPU.GPUs)}, column{"busy", int64(t.GPU.Busy)}, column{"memory_busy", int64(t.GPU.MemBusy)}, column{"memory", t.GPU.MemNow})
		}
	default:
		return
	}
	for i := range list {
		t := &list[i]
		if label == "PRE" && t.GPU.State == 0 {
			continue
		}
		r := p.begin(label, strconv.Itoa(int(t.PID)))
		r.Columns.Text("name", t.Name)
		if t.State == 0 {
			r.Columns.Unknown("state")
		} else {
			r.Columns.Text("state", string(rune(t.State)))
		}
		r.add(column{"tgid", int64(t.TGID)})
		fill(r, t)
		p.end(r)
	}
}

func general(r *row, t *sample.Task) {
	r.add(column{"ppid", int64(t.PPID)}, column{"uid", int64(t.RUID)}, column{"gid", int64(t.RGID)}, column{"euid", int64(t.EUID)}, column{"egid", int64(t.EGID)},
		column{"threads", int64(t.Threads)}, column{"running", int64(t.Running)}, column{"sleeping", int64(t.Sleeping)}, column{"waiting", int64(t.DiskSleep)},
		column{"started", t.Started}, column{"elapsed", t.Elapsed})
	r.Columns.Text("command", t.Command)
	if t.Container != "" {
		r.Columns.Text("container", t.Container)
	}
	if t.CGroup != "" {
		r.Columns.Text("cgroup", t.CGroup)
	}
}

func cpu(r *row, t *sample.Task) {
	r.add(column{"user", t.User}, column{"sys", t.Sys}, column{"nice", int64(t.Nice)}, column{"priority", int64(t.Prio)}, column{"rt_priority", int64(t.RTPrio)},
		column{"policy", int64(t.Policy)}, column{"processor", int64(t.Processor)})
	if t.WaitChannel != "" {
		r.Columns.Text("wchan", t.WaitChannel)
	}
}

func resident(r *row, t *sample.Task) {
	r.add(column{"virtual", t.Virtual}, column{"resident", t.Resident}, column{"proportional", t.Proportional}, column{"virtual_growth", t.VirtualGrowth},
		column{"resident_growth", t.ResidentGrowth}, column{"text", t.Text}, column{"data", t.Data}, column{"stack", t.Stack}, column{"libraries", t.Libraries},
		column{"swapped", t.Swapped}, column{"locked", t.Locked}, column{"minor_faults", t.MinorFaults}, column{"major_faults", t.MajorFaults})
}

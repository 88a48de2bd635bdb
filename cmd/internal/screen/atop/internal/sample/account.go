package sample

import (
	"context"

	"github.com/go-pcp/pcp"
)

// accountMetrics are the metrics of process accounting. C uses them only if all are
// present.
var accountMetrics = []string{
	"acct.psinfo.exitcode", "acct.id.uid", "acct.id.gid", "acct.psinfo.ppid", "acct.psinfo.btime", "acct.psinfo.etime",
	"acct.psinfo.utime", "acct.psinfo.stime", "acct.psinfo.rw", "acct.psinfo.minflt", "acct.psinfo.majflt",
}

// Places in accountMetrics.
const (
	accountExit = iota
	accountUID
	accountGID
	accountPPID
	accountStart
	accountElapsed
	accountUser
	accountSys
	accountIO
	accountMinor
	accountMajor
)

// readExited reads the processes that have ended within the interval from the fetched
// values.
func (s *Sampler) readExited(ctx context.Context) error {
	s.exited = s.exited[:0]
	for _, m := range s.account {
		if !s.r.has(m) {
			return nil
		}
	}
	r, at := s.r, s.account
	ins, err := r.instances(ctx, at[accountElapsed], false)
	if err != nil {
		return &InstancesError{"acct", err}
	}
	s.Accounting = true
	now := s.cur.Time.Seconds()
	before := now - s.Interval.Seconds()
	for i, in := range ins {
		started := r.count(at[accountStart], in.Inst, i)
		elapsed := r.float(at[accountElapsed], in.Inst, i)
		if end := float64(started) + float64(elapsed); end <= before || now < end {
			continue
		}
		s.exited = append(s.exited, Task{
			State: 'E', PID: in.Inst, TGID: in.Inst, Threads: 1, IsProcess: true,
			PPID: r.integer(at[accountPPID], in.Inst, i), ExitCode: r.integer(at[accountExit], in.Inst, i),
			RUID: r.integer(at[accountUID], in.Inst, i), RGID: r.integer(at[accountGID], in.Inst, i),
			Started: (started - s.Host.BootTime) * 1000, Elapsed: int64(elapsed),
			Sys: Count(r.float(at[accountSys], in.Inst, i) * 1000), User: Count(r.float(at[accountUser], in.Inst, i) * 1000),
			MinorFaults: r.count(at[accountMinor], in.Inst, i), MajorFaults: r.count(at[accountMajor], in.Inst, i),
			ReadIO: r.count(at[accountIO], in.Inst, i), Name: r.keepString(in.Name, nameSize),
		})
	}
	return nil
}

// gpuMetrics are the metrics of the processes that use graphics processors.
var gpuMetrics = []string{
	"nvidia.proc.all.samples", "nvidia.proc.all.memused", "nvidia.proc.all.memaccum", "nvidia.proc.all.gpuactive", "nvidia.proc.all.memactive",
	"nvidia.proc.all.time", "nvidia.proc.all.running", "nvidia.proc.all.gpulist", "nvidia.proc.all.ngpus",
}

// Places in gpuMetrics.
const (
	gpuSamples = iota
	gpuMemory
	gpuMemorySum
	gpuBusy
	gpuMemBusy
	gpuTime
	gpuRunning
	gpuList
	gpuCount
)

// mergeGPU adds the use of graphics processors to the processes of the sample.
func (s *Sampler) mergeGPU(ctx context.Context) error {
	r, at := s.r, s.gpu
	ins, err := r.instances(ctx, at[gpuBusy], false)
	if err != nil {
		return &InstancesError{"gpu", err}
	}
	if len(ins) == 0 {
		return nil
	}
	uses := make(map[int32]TaskGPU, len(ins))
	for i, in := range ins {
		uses[in.Inst] = s.useOf(in, i)
	}
	for _, list := range [][]Task{s.present, s.exited} {
		for i := range list {
			if t := &list[i]; t.IsProcess {
				if use, ok := uses[t.PID]; ok {
					t.GPU = use
					delete(uses, t.PID)
				}
			}
		}
	}
	return nil
}

func (s *Sampler) useOf(in pcp.Instance, i int) TaskGPU {
	r, at := s.r, s.gpu
	g := TaskGPU{
		State: 'A',
		Busy:  int32(r.count(at[gpuBusy], in.Inst, i)), MemBusy: int32(r.count(at[gpuMemBusy], in.Inst, i)),
		TimeMS: r.count(at[gpuTime], in.Inst, i),
		MemNow: r.count(at[gpuMemory], in.Inst, i) / 1024, MemSum: r.count(at[gpuMemorySum], in.Inst, i) / 1024,
		Samples: r.count(at[gpuSamples], in.Inst, i), GPUs: int16(r.count(at[gpuCount], in.Inst, i)), List: r.integer(at[gpuList], in.Inst, i),
	}
	if r.count(at[gpuRunning], in.Inst, i) == 0 {
		g.State = 'E'
	}
	return g
}

package twin

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// A task is a process of procsArchive.
type task struct {
	pid                     int32
	cmd, args, user, state  string
	waits                   string
	parent, policy, realPri int
	from, until             int // samples in which it is; until 0 is the end
}

// procsArchive writes an archive with the metrics of processes of pcp-ps and pcp-pidstat: some
// appear and end, some are of the kernel, one has no name. With few it lacks some metrics.
func procsArchive(base string, few bool) error {
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "CET-1CEST", ZoneInfo: "Europe/Berlin", Version: 3})
	if err != nil {
		return err
	}
	procs := pcp.NewInDom(3, 9)
	tasks := []task{
		{pid: 1, cmd: "init", args: "/sbin/init splash --of-many-words-in-a-row", user: "root", state: "S", waits: "ep_poll"},
		{pid: 2, cmd: "kthreadd", args: "(kthreadd)", user: "root", state: "S", waits: "kthreadd"},
		{pid: 12, cmd: "migration/0", args: "(migration/0)", user: "root", state: "S", waits: "smpboot_thread_fn", parent: 2, policy: 1, realPri: 99},
		{pid: 700, cmd: "postmaster", args: "/usr/bin/postmaster -D /data", user: "postgres", state: "D", waits: "io_schedule_of_a_long_name_indeed_it_is", parent: 1},
		{pid: 701, cmd: "post None", args: "post: None", user: "postgres", state: "R", waits: "", parent: 700, policy: 5},
		{pid: 4242, cmd: "düsentrieb-der-erfinder", args: "./düsentrieb", user: "überlanger-name", state: "T", waits: "do_signal_stop", parent: 1, from: 2, until: 7},
		{pid: 4243, cmd: "gone", args: "gone", user: "ada", state: "Z", waits: "x", parent: 4242, policy: 2, realPri: 7, until: 4},
	}
	msec := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	kbyte := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	none := pcp.Units{}
	type column struct {
		name  string
		typ   pcp.Type
		sem   pcp.Sem
		units pcp.Units
		value func(t *task, n int) string
	}
	str := func(get func(t *task) string) func(*task, int) string {
		return func(t *task, _ int) string { return get(t) }
	}
	num := func(get func(t *task, n int) int) func(*task, int) string {
		return func(t *task, n int) string { return fmt.Sprint(get(t, n)) }
	}
	pid := func(t *task) int { return int(t.pid) }
	columns := []column{
		{"proc.psinfo.pid", pcp.TypeU32, pcp.SemInstant, none, num(func(t *task, _ int) int { return pid(t) })},
		{"proc.psinfo.ppid", pcp.TypeU32, pcp.SemInstant, none, num(func(t *task, _ int) int { return t.parent })},
		{"proc.psinfo.cmd", pcp.TypeString, pcp.SemInstant, none, str(func(t *task) string { return t.cmd })},
		{"proc.psinfo.utime", pcp.TypeU32, pcp.SemCounter, msec, num(func(t *task, n int) int { return 1000 + n*n*pid(t)%977 + 60*n })},
		{"proc.psinfo.stime", pcp.TypeU32, pcp.SemCounter, msec, num(func(t *task, n int) int { return pid(t)%3*100 + 37*n })},
		{"proc.psinfo.guest_time", pcp.TypeU32, pcp.SemCounter, msec, num(func(t *task, n int) int { return pid(t) % 2 * 10 * n })},
		{"proc.psinfo.minflt", pcp.TypeU32, pcp.SemCounter, none, num(func(t *task, n int) int { return 17 * n * (pid(t)%5 + 1) })},
		{"proc.psinfo.maj_flt", pcp.TypeU32, pcp.SemCounter, none, num(func(t *task, n int) int { return n / 3 })},
		{"proc.psinfo.policy", pcp.TypeU32, pcp.SemInstant, none, num(func(t *task, _ int) int { return t.policy })},
		{"proc.psinfo.processor", pcp.TypeU32, pcp.SemInstant, none, num(func(t *task, n int) int { return (pid(t) + n) % 4 })},
		{"proc.psinfo.rss", pcp.TypeU32, pcp.SemInstant, kbyte, num(func(t *task, n int) int { return pid(t) * 31 })},
		{"proc.psinfo.rt_priority", pcp.TypeU32, pcp.SemInstant, none, num(func(t *task, _ int) int { return t.realPri })},
		{"proc.psinfo.vsize", pcp.TypeU32, pcp.SemInstant, kbyte, num(func(t *task, _ int) int {
			if t.parent == 2 {
				return 0
			}
			return pid(t) * 97
		})},
		{"proc.memory.vmstack", pcp.TypeU32, pcp.SemInstant, kbyte, num(func(t *task, _ int) int { return pid(t) % 3 * 132 })},
		{"proc.id.uid", pcp.TypeU32, pcp.SemDiscrete, none, num(func(t *task, _ int) int { return len(t.user) - 4 })},
		{"proc.id.uid_nm", pcp.TypeString, pcp.SemDiscrete, none, str(func(t *task) string { return t.user })},
		{"proc.psinfo.sname", pcp.TypeString, pcp.SemInstant, none, func(t *task, n int) string {
			if t.state == "D" && n%3 == 0 {
				return "R"
			}
			return t.state
		}},
		{"proc.psinfo.start_time", pcp.TypeU64, pcp.SemDiscrete, msec, num(func(t *task, _ int) int { return pid(t) * 41000 })},
		{"proc.psinfo.wchan_s", pcp.TypeString, pcp.SemInstant, none, str(func(t *task) string { return t.waits })},
		{"proc.psinfo.psargs", pcp.TypeString, pcp.SemInstant, none, str(func(t *task) string { return t.args })},
		{"proc.psinfo.ttyname", pcp.TypeString, pcp.SemInstant, none, str(func(t *task) string {
			if t.parent == 1 {
				return "pts/3"
			}
			return "?"
		})},
		{"proc.psinfo.priority", pcp.Type32, pcp.SemInstant, none, num(func(t *task, _ int) int { return 20 - t.realPri })},
		{"proc.psinfo.nice", pcp.Type32, pcp.SemInstant, none, num(func(t *task, _ int) int { return -t.policy })},
	}
	if few {
		columns = columns[:len(columns)-5] // from psinfo.wchan_s on: enough for pcp-pidstat alone
	}
	for i, c := range columns {
		_, e := im.AddMetric(c.name, pcp.Desc{PMID: pcp.NewPMID(3, 8, i), Type: c.typ, InDom: procs, Sem: c.sem, Units: c.units})
		err = errors.Join(err, e)
	}
	for i, s := range []struct{ name, value string }{
		{"hinv.ncpu", "4"},
		{"mem.physmem", "1000000"},
		{"proc.nprocs", "7"},
		{"kernel.all.boottime", "1709500000"},
		{"kernel.all.cpu.guest", "1"},
		{"kernel.all.cpu.idle", "2"},
		{"kernel.all.cpu.nice", "3"},
		{"kernel.all.cpu.sys", "4"},
		{"kernel.all.cpu.user", "5"},
		{"kernel.all.cpu.vuser", "6"},
		{"kernel.uname.machine", "x86_64"},
		{"kernel.uname.nodename", "cellar"},
		{"kernel.uname.release", "6.1.0"},
		{"kernel.uname.sysname", "Linux"},
	} {
		typ := pcp.TypeU32
		if i >= 10 {
			typ = pcp.TypeString
		}
		_, e := im.AddMetric(s.name, pcp.Desc{PMID: pcp.NewPMID(60, 7, i), Type: typ, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete})
		err = errors.Join(err, e, im.PutValue(s.name, "", s.value))
	}
	inst := func(t *task) string { return fmt.Sprintf("%06d %s", t.pid, t.args) }
	for i := range tasks {
		err = errors.Join(err, im.AddInstance(procs, inst(&tasks[i]), tasks[i].pid))
	}
	for n := range 9 {
		for i := range tasks {
			t := &tasks[i]
			if n < t.from || t.until > 0 && n >= t.until {
				continue
			}
			for _, c := range columns {
				err = errors.Join(err, im.PutValue(c.name, inst(t), c.value(t, n)))
			}
		}
		if err != nil {
			return err
		}
		if err := im.Write(noon().Add(time.Duration(n) * time.Second)); err != nil {
			return err
		}
	}
	if err := im.End(); err != nil {
		return err
	}
	return setPID(base)
}

package twin

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// A machineMetric is a metric of machineArchive.
type machineMetric struct {
	name  string
	typ   pcp.Type
	sem   pcp.Sem
	units pcp.Units
	indom pcp.InDom
	value func(n, inst int) string
}

// absent represents a missing value.
const absent = "\x00"

// machineArchive writes an archive with the metrics of pcp-iostat, pcp-mpstat, pcp-free and the
// like: disks, one of which appears later and one with counters that decrease; tapes, processors,
// memory nodes and sockets.
func machineArchive(base string) error {
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "CET-1CEST", ZoneInfo: "Europe/Berlin", Version: 3})
	if err != nil {
		return err
	}
	names := map[pcp.InDom][]string{pcp.InDomNull: {""}}
	for _, d := range []struct {
		indom pcp.InDom
		names []string
	}{
		{pcp.NewInDom(60, 1), []string{"sda", "sdb", "nvme0n1"}},
		{pcp.NewInDom(60, 24), []string{"vg-root", "vg-home"}},
		{pcp.NewInDom(60, 43), []string{"st0", "st1"}},
		{pcp.NewInDom(60, 0), []string{"cpu0", "cpu1", "cpu2"}},
		{pcp.NewInDom(60, 2), []string{"1 minute", "5 minute", "15 minute"}},
		{pcp.NewInDom(60, 19), []string{"node0", "node1", "node2"}},
		{pcp.NewInDom(154, 0), []string{"1", "2", "3", "4", "5"}},
	} {
		names[d.indom] = d.names
		for i, name := range d.names {
			err = errors.Join(err, im.AddInstance(d.indom, name, int32(i)))
		}
	}
	metrics := machineMetrics()
	for i, m := range metrics {
		_, e := im.AddMetric(m.name, pcp.Desc{PMID: pcp.NewPMID(60, 9+i/100, i%100), Type: m.typ, InDom: m.indom, Sem: m.sem, Units: m.units})
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	for n := range 30 {
		for _, m := range metrics {
			for i, inst := range names[m.indom] {
				if v := m.value(n, i); v != absent {
					if err := im.PutValue(m.name, inst, v); err != nil {
						return fmt.Errorf("%s: %w", m.name, err)
					}
				}
			}
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

// grows is a counter with an odd course.
func grows(base, step int) func(n, inst int) string {
	return func(n, inst int) string { return fmt.Sprint(base + n*step*(inst+1) + n*n%7) }
}

func always(v string) func(n, inst int) string { return func(int, int) string { return v } }

// each is a value for each instance.
func each(list ...string) func(n, inst int) string {
	return func(_, inst int) string { return list[inst] }
}

func machineMetrics() []machineMetric {
	none := pcp.Units{}
	count, kbyte := pcp.Units{DimCount: 1}, pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	bytes, msec := pcp.Units{DimSpace: 1}, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	nsec := pcp.Units{DimTime: 1}
	var list []machineMetric
	counter := func(indom pcp.InDom, units pcp.Units, name string, value func(n, inst int) string) {
		list = append(list, machineMetric{name, pcp.TypeU64, pcp.SemCounter, units, indom, value})
	}
	instant := func(indom pcp.InDom, typ pcp.Type, units pcp.Units, name string, value func(n, inst int) string) {
		list = append(list, machineMetric{name, typ, pcp.SemInstant, units, indom, value})
	}
	// The third disk appears at the sixth sample; the counters of the second decrease at the
	// twelfth.
	odd := func(f func(n, inst int) string) func(n, inst int) string {
		return func(n, inst int) string {
			switch {
			case inst == 2 && n < 6:
				return absent
			case inst == 1 && n >= 12:
				n -= 12
			}
			return f(n, inst)
		}
	}
	for _, tree := range []struct {
		name  string
		indom pcp.InDom
	}{{"disk.dev.", pcp.NewInDom(60, 1)}, {"disk.dm.", pcp.NewInDom(60, 24)}} {
		for _, m := range []struct {
			name  string
			units pcp.Units
			step  int
		}{
			{"read", count, 7},
			{"read_bytes", kbyte, 1234},
			{"write", count, 13},
			{"write_bytes", kbyte, 40960},
			{"read_merge", count, 2},
			{"write_merge", count, 3},
			{"blkread", count, 2468},
			{"blkwrite", count, 81920},
			{"read_rawactive", msec, 19},
			{"write_rawactive", msec, 1700},
			{"avactive", msec, 321},
		} {
			f := odd(grows(1000, m.step))
			if tree.indom == pcp.NewInDom(60, 24) {
				f = func(n, inst int) string { return fmt.Sprint(500 + n*m.step*inst) } // the first is idle
			}
			counter(tree.indom, m.units, tree.name+m.name, f)
		}
	}
	for _, m := range []struct {
		name string
		step int
	}{
		{"in_flight", 0},
		{"io_ns", 300_000_000},
		{"other_cnt", 1000},
		{"read_byte_cnt", 1_234_567},
		{"read_cnt", 3},
		{"read_ns", 100_000_000},
		{"resid_cnt", 70},
		{"write_byte_cnt", 7_654_321},
		{"write_cnt", 5},
		{"write_ns", 200_000_000},
	} {
		counter(pcp.NewInDom(60, 43), nsec, "tape.dev."+m.name, func(n, inst int) string {
			if inst == 1 && n > 20 { // it does not change, and then decreases
				n = 41 - n
			}
			return fmt.Sprint(9 + n*m.step)
		})
	}
	for i, name := range []string{"user", "nice", "sys", "wait.total", "irq.hard", "irq.soft", "steal", "guest", "guest_nice", "idle"} {
		counter(pcp.InDomNull, msec, "kernel.all.cpu."+name, grows(10_000, 30*(10-i)))
		counter(pcp.NewInDom(60, 0), msec, "kernel.percpu.cpu."+name, grows(3_000, 11*(10-i)))
	}
	counter(pcp.InDomNull, count, "kernel.all.intr", grows(100, 1234))
	counter(pcp.NewInDom(60, 0), count, "kernel.percpu.intr", grows(100, 321))
	for i, name := range []string{"interrupts.line1", "interrupts.line26", "interrupts.NMI", "softirqs.TIMER", "softirqs.NET_RX"} {
		counter(pcp.NewInDom(60, 0), count, "kernel.percpu."+name, grows(0, 17*i))
	}
	once := func(v string) func(n, inst int) string {
		return func(n, _ int) string {
			if n > 0 {
				return absent
			}
			return v
		}
	}
	for _, m := range [][2]string{{"sysname", "Linux"}, {"release", "6.1.0"}, {"nodename", "cellar"}, {"machine", "x86_64"}} {
		list = append(list, machineMetric{"kernel.uname." + m[0], pcp.TypeString, pcp.SemDiscrete, none, pcp.InDomNull, once(m[1])})
	}
	instant(pcp.InDomNull, pcp.TypeU32, none, "hinv.ncpu", always("3"))
	instant(pcp.InDomNull, pcp.TypeU32, bytes, "hinv.pagesize", always("4096"))
	instant(pcp.NewInDom(60, 0), pcp.TypeU32, none, "hinv.map.cpu_num", each("0", "1", "2"))
	instant(pcp.NewInDom(60, 0), pcp.TypeU32, none, "hinv.cpu.online", each("1", "0", "1"))

	instant(pcp.InDomNull, pcp.TypeU64, kbyte, "mem.physmem", always("16384000"))
	for i, name := range []string{"free", "shmem", "bufmem", "cached", "highFree", "highTotal", "lowFree", "lowTotal", "swapFree", "swapTotal", "available", "slabReclaimable"} {
		instant(pcp.InDomNull, pcp.TypeU64, kbyte, "mem.util."+name, func(n, _ int) string {
			if name == "highTotal" || name == "lowTotal" {
				n = 0
			}
			return fmt.Sprint((i+1)*300_000 - 1_000*n)
		})
	}
	instant(pcp.InDomNull, pcp.TypeU32, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}, "kernel.all.uptime", func(n, _ int) string { return fmt.Sprint(86_000 + 3_000*n) })
	instant(pcp.InDomNull, pcp.TypeU32, none, "kernel.all.nusers", func(n, _ int) string { return fmt.Sprint(1 + n/10) })
	instant(pcp.NewInDom(60, 2), pcp.TypeFloat, none, "kernel.all.load", func(n, i int) string { return fmt.Sprint(float64(i) + float64(n)/16) })
	for i, name := range []string{
		"msg.max_msgqid", "msg.max_msgsz", "msg.max_defmsgq", "shm.max_seg", "shm.max_segsz", "shm.max_shmsys", "shm.min_segsz", "sem.max_semid",
		"sem.max_perid", "sem.num_undo", "sem.max_ops", "sem.max_semval", "msg.used_queues", "msg.tot_msg", "msg.tot_bytes", "shm.used_ids", "shm.tot",
		"shm.rss", "shm.swp", "shm.swap_attempts", "shm.swap_successes", "sem.used_sem", "sem.tot_sem",
	} {
		instant(pcp.InDomNull, pcp.TypeU32, none, "ipc."+name, func(n, _ int) string { return fmt.Sprint((i + 1) * 12_345) })
	}
	for i, name := range []string{"hit", "miss", "foreign", "interleave_hit", "local_node", "other_node"} {
		counter(pcp.NewInDom(60, 19), count, "mem.numa.alloc."+name, grows(1_000_000*i, 55_555))
	}
	return append(list, socketMetrics()...)
}

// socketMetrics are those of five sockets.
func socketMetrics() []machineMetric {
	var list []machineMetric
	add := func(typ pcp.Type, name string, value func(n, inst int) string) {
		indom := pcp.NewInDom(154, 0)
		if name == "filter" {
			indom = pcp.InDomNull
		}
		list = append(list, machineMetric{"network.persocket." + name, typ, pcp.SemInstant, pcp.Units{}, indom, value})
	}
	add(pcp.TypeString, "filter", always("state connected"))
	add(pcp.TypeString, "netid", each("tcp", "tcp", "udp", "tcp", "unix"))
	add(pcp.TypeString, "state", each("ESTAB", "LISTEN", "UNCONN", "TIME-WAIT", "ESTAB"))
	add(pcp.Type32, "recvq", each("0", "128", "7", "0", "3"))
	add(pcp.Type32, "sendq", each("42", "0", "0", "0", absent))
	add(pcp.TypeString, "src", each("10.0.0.1:22", "[::1]:631", "[::]:5353", "10.0.0.1:4330", "/run/bus"))
	add(pcp.TypeString, "dst", each("10.0.0.9:50000", "[::]:*", "[::]:*", "", ""))
	add(pcp.Type64, "inode", each("4711", "815", "0", "0", "9"))
	add(pcp.TypeU32, "uid", each("1000", "0", "104", "0", absent))
	add(pcp.TypeU64, "sk", each("255", "16", "1", "2", "48879"))
	add(pcp.TypeString, "cgroup", each("/system.slice/sshd.service", "/", "", "", "/"))
	add(pcp.Type32, "v6only", each("0", "1", "0", "0", "0"))
	for _, name := range []string{"ts", "sack", "cubic"} {
		add(pcp.Type32, name, each("1", "0", "0", "1", absent))
	}
	for i, name := range []string{"ato", "send", "pacing_rate", "delivery_rate"} {
		add(pcp.TypeDouble, name, func(n, inst int) string { return fmt.Sprint(float64(n*i*(inst+3)) + 0.5) })
	}
	for i, name := range []string{"mss", "cwnd", "pmtu", "ssthresh", "segs_out", "segs_in", "lastsnd", "lastrcv", "lastack", "rcv_space"} {
		add(pcp.TypeU32, name, func(n, inst int) string { return fmt.Sprint((i + n) * (inst + 1)) })
	}
	for _, name := range []string{"bytes_sent", "bytes_acked", "bytes_received"} {
		add(pcp.TypeU64, name, func(n, inst int) string { return fmt.Sprint(1 << (30 + inst)) })
	}
	add(pcp.TypeString, "wscale.str", each("7,7", "", "", "", ""))
	add(pcp.TypeString, "timer.str", each("keepalive,5sec,0", "", "", "timewait,14sec,0", ""))
	add(pcp.TypeString, "round_trip.str", each("0.033/0.018", "", "", "", ""))
	add(pcp.TypeString, "skmem.str", each("r0,rb131072,t0,tb87040", "", "r0,rb212992", "", ""))
	return list
}

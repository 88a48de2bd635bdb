package proc

import (
	"bytes"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// statmFamily reads /proc/PID/statm, which has pages.
func statmFamily(p *processes) column.Family {
	return listFamily(p, "statm", statmMetrics, 7, func(v uint64) uint64 { return v * p.page / 1024 })
}

func schedstatFamily(p *processes) column.Family {
	return listFamily(p, "schedstat", schedstatMetrics, 3, func(v uint64) uint64 { return v })
}

// listFamily is for a file that is a line of numbers.
func listFamily(p *processes, file string, metrics []column.Metric, cols int, convert func(uint64) uint64) column.Family {
	source, b := p.each("/proc/PID/"+file, metrics, column.Layout{Cols: cols})
	source.Row = func(row int) {
		text, err := p.file(b[0].Insts()[row], file, true)
		if err != nil {
			return
		}
		cells := b[0].Row(row)
		for col := range cells {
			v, rest, ok := procfs.Uint(text)
			if !ok {
				return
			}
			cells[col], text = column.Num(convert(v)), rest
		}
	}
	return column.Family{Name: file, Metrics: p.table(metrics), Sources: []*column.Source{source}}
}

func ioFamily(p *processes) column.Family { return keyedFamily(p, "io", ioMetrics, false) }

// smapsFamily reads the sums of /proc/PID/smaps. A process without its own memory has an
// empty file, and 0 for all values.
func smapsFamily(p *processes) column.Family {
	return keyedFamily(p, "smaps_rollup", smapsMetrics, true)
}

// keyedFamily is for a private file with lines such as "rchar: 1234". zero is set if
// the value of a missing line is 0.
func keyedFamily(p *processes, file string, metrics []column.Metric, zero bool) column.Family {
	source, b := p.each("/proc/PID/"+file, metrics, column.Layout{})
	block := b[0]
	keys := block.Keys()
	source.Row = func(row int) {
		text, err := p.secret(block.Insts()[row], file)
		if err != nil || len(text) == 0 {
			return
		}
		cells := block.Row(row)
		for line := range procfs.Lines(text) {
			key, value, _ := bytes.Cut(line, []byte{':'})
			if col, ok := keys[string(key)]; ok {
				if v, _, ok := procfs.Uint(value); ok {
					cells[col] = column.Num(v)
				}
			}
		}
		for col := range cells {
			if zero && !cells[col].OK {
				cells[col] = column.Num(0)
			}
		}
	}
	return column.Family{Name: file, Metrics: p.table(metrics), Sources: []*column.Source{source}}
}

func oomFamily(p *processes) column.Family {
	return listFamily(p, "oom_score", oomMetrics, 1, func(v uint64) uint64 { return v })
}

// fdFamily counts the files that processes have open.
func fdFamily(p *processes) column.Family {
	source, b := p.each("/proc/PID/fd", fdMetrics, column.Layout{Cols: 1})
	source.Row = func(row int) {
		if p.private {
			return
		}
		path := p.pathOf(b[0].Insts()[row], "fd", false)
		if p.opened != nil {
			p.opened(path)
		}
		if n, err := p.names.count(path, p.keeps); err == nil {
			b[0].Set(row, 0, uint64(n))
		}
	}
	return column.Family{Name: "fd", Metrics: p.table(fdMetrics), Sources: []*column.Source{source}}
}

// autogroupFamily reads "/autogroup-23 nice 0" of /proc/PID/autogroup, and whether the
// kernel makes such groups.
func autogroupFamilies(p *processes) []column.Family {
	on := column.NewBlocks(p.table(enabledMetrics), column.Layout{Cols: 1})
	enabled := &column.Source{Name: "/proc/sys/kernel/sched_autogroup_enabled", Blocks: on, Read: func() error {
		on[0].Set(0, 0, 0)
		if b, err := p.buffer.Read(p.dir+"/sys/kernel/sched_autogroup_enabled", true); err == nil {
			if v, _, ok := procfs.Uint(b); ok && v == 1 {
				on[0].Set(0, 0, 1)
			}
		}
		return nil
	}}
	source, b := p.each("/proc/PID/autogroup", autogroupMetrics, column.Layout{Cols: 2})
	source.After = append(source.After, enabled)
	source.Row = func(row int) {
		if v, _ := on[0].Get(0, 0); v != 1 {
			return
		}
		text, err := p.file(b[0].Insts()[row], "autogroup", true)
		if err != nil {
			return
		}
		id, nice := parseAutogroup(text)
		b[0].Set(row, 0, id)
		b[0].Set(row, 1, uint64(nice))
	}
	return []column.Family{
		{Name: "autogroup enabled", Metrics: p.table(enabledMetrics), Sources: []*column.Source{enabled}},
		{Name: "autogroup", Metrics: p.table(autogroupMetrics), Sources: []*column.Source{source}},
	}
}

// parseAutogroup returns 0 and 0 for a process without a group.
func parseAutogroup(b []byte) (id uint64, nice int64) {
	b, ok := bytes.CutPrefix(b, []byte("/autogroup-"))
	if !ok {
		return 0, 0
	}
	id, b, _ = procfs.Uint(b)
	if b, ok = bytes.CutPrefix(b, []byte(" nice")); ok {
		nice, _, _ = procfs.Int(b)
	}
	return id, nice
}

// statmMetrics are the metrics of /proc/PID/statm.
var statmMetrics = []column.Metric{
	{Name: "proc.memory.size", Cluster: 9, Item: 0, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Help: "Size of the address space"},
	{Name: "proc.memory.rss", Cluster: 9, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Col: 1, Help: "Memory that is resident"},
	{Name: "proc.memory.share", Cluster: 9, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Col: 2, Help: "Resident memory that is of files or shared"},
	{Name: "proc.memory.textrss", Cluster: 9, Item: 3, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Col: 3, Help: "Program text"},
	{Name: "proc.memory.librss", Cluster: 9, Item: 4, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Col: 4, Help: "Libraries; 0 since Linux 2.6"},
	{Name: "proc.memory.datrss", Cluster: 9, Item: 5, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Col: 5, Help: "Data and stack"},
	{Name: "proc.memory.dirty", Cluster: 9, Item: 6, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Col: 6, Help: "Changed pages; 0 since Linux 2.6"},
}

// schedstatMetrics are the metrics of /proc/PID/schedstat.
var schedstatMetrics = []column.Metric{
	{Name: "proc.schedstat.cpu_time", Cluster: 31, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: nsec, Help: "Time on a processor"},
	{Name: "proc.schedstat.run_delay", Cluster: 31, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 1, Help: "Time spent waiting for a processor"},
	{Name: "proc.schedstat.pcount", Cluster: 31, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 2, Help: "Time slices run"},
}

// ioMetrics are the metrics of /proc/PID/io.
var ioMetrics = []column.Metric{
	{Name: "proc.io.rchar", Cluster: 32, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Key: "rchar", Help: "Bytes read by system calls, from caches too"},
	{Name: "proc.io.wchar", Cluster: 32, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Key: "wchar", Help: "Bytes written by system calls"},
	{Name: "proc.io.syscr", Cluster: 32, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "syscr", Help: "System calls that read"},
	{Name: "proc.io.syscw", Cluster: 32, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "syscw", Help: "System calls that write"},
	{Name: "proc.io.read_bytes", Cluster: 32, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Key: "read_bytes", Help: "Bytes fetched from disks"},
	{Name: "proc.io.write_bytes", Cluster: 32, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Key: "write_bytes", Help: "Bytes sent to disks, or to be sent"},
	{Name: "proc.io.cancelled_write_bytes", Cluster: 32, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Key: "cancelled_write_bytes", Help: "Bytes counted as written that never were, since the file was cut short"},
}

// smapsMetrics are the metrics of /proc/PID/smaps_rollup.
var smapsMetrics = []column.Metric{
	{Name: "proc.smaps.rss", Cluster: 33, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Rss", Help: "Memory that is resident"},
	{Name: "proc.smaps.pss", Cluster: 33, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Pss", Help: "Memory that is resident, the share of this process where it is shared"},
	{Name: "proc.smaps.pss_anon", Cluster: 33, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Pss_Anon", Help: "Share of resident memory that is of no file"},
	{Name: "proc.smaps.pss_file", Cluster: 33, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Pss_File", Help: "Share of resident memory that is of files"},
	{Name: "proc.smaps.pss_shmem", Cluster: 33, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Pss_Shmem", Help: "Share of resident shared memory"},
	{Name: "proc.smaps.shared_clean", Cluster: 33, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Shared_Clean", Help: "Resident pages that are shared and unchanged"},
	{Name: "proc.smaps.shared_dirty", Cluster: 33, Item: 6, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Shared_Dirty", Help: "Resident pages that are shared and changed"},
	{Name: "proc.smaps.private_clean", Cluster: 33, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Private_Clean", Help: "Resident pages of this process alone, unchanged"},
	{Name: "proc.smaps.private_dirty", Cluster: 33, Item: 8, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Private_Dirty", Help: "Resident pages of this process alone, changed"},
	{Name: "proc.smaps.referenced", Cluster: 33, Item: 9, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Referenced", Help: "Memory marked as used of late"},
	{Name: "proc.smaps.anonymous", Cluster: 33, Item: 10, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Anonymous", Help: "Memory that is of no file"},
	{Name: "proc.smaps.lazyfree", Cluster: 33, Item: 11, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "LazyFree", Help: "Memory that is to be freed when there is need (MADV_FREE)"},
	{Name: "proc.smaps.anonhugepages", Cluster: 33, Item: 12, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "AnonHugePages", Help: "Memory of no file in huge pages"},
	{Name: "proc.smaps.shmempmdmapped", Cluster: 33, Item: 13, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "ShmemPmdMapped", Help: "Shared memory in huge pages"},
	{Name: "proc.smaps.filepmdmapped", Cluster: 33, Item: 14, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "FilePmdMapped", Help: "Memory of files in huge pages"},
	{Name: "proc.smaps.shared_hugetlb", Cluster: 33, Item: 15, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Shared_Hugetlb", Help: "Memory of hugetlbfs that is shared"},
	{Name: "proc.smaps.private_hugetlb", Cluster: 33, Item: 16, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Private_Hugetlb", Help: "Memory of hugetlbfs of this process alone"},
	{Name: "proc.smaps.swap", Cluster: 33, Item: 17, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Swap", Help: "Memory of no file that is swapped out"},
	{Name: "proc.smaps.swappss", Cluster: 33, Item: 18, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "SwapPss", Help: "Share of memory that is swapped out"},
	{Name: "proc.smaps.locked", Cluster: 33, Item: 19, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Locked", Help: "Memory that is locked"},
	{Name: "proc.smaps.pss_dirty", Cluster: 33, Item: 20, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Pss_Dirty", Help: "Share of resident memory that is changed"}, // newer than PCP 6.0.3
}

// oomMetrics is the metric of /proc/PID/oom_score.
var oomMetrics = []column.Metric{
	{Name: "proc.psinfo.oom_score", Cluster: 62, Item: 0, Type: pcp.TypeU32, Sem: instant, Help: "How likely the kernel is to end the process when memory runs out"},
}

// fdMetrics is the metric of /proc/PID/fd.
var fdMetrics = []column.Metric{
	{Name: "proc.fd.count", Cluster: 51, Item: 0, Type: pcp.TypeU32, Sem: instant, Units: count, Help: "Open files"},
}

// autogroupMetrics are the metrics of /proc/PID/autogroup.
var autogroupMetrics = []column.Metric{
	{Name: "proc.autogroup.id", Cluster: 74, Item: 1, Type: pcp.TypeU32, Sem: discrete, Help: "Group of the scheduler that a session has"},
	{Name: "proc.autogroup.nice", Cluster: 74, Item: 2, Type: pcp.Type32, Sem: instant, Col: 1, Help: "Nice value of the group"},
}

// enabledMetrics is the metric of /proc/sys/kernel/sched_autogroup_enabled.
var enabledMetrics = []column.Metric{
	{Name: "proc.autogroup.enabled", Cluster: 74, Item: 0, Type: pcp.TypeU32, Sem: instant, Help: "Whether each session is a group of the scheduler"},
}

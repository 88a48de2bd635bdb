package screen

// A list selects the columns of the processes.
type list byte

// The lists, by the keys that choose them.
const (
	General   list = 'g'
	Memory    list = 'm'
	Disk      list = 'd'
	Net       list = 'n'
	GPUs      list = 'e'
	Schedule  list = 's'
	Various   list = 'v'
	Arguments list = 'c'
	Groups    list = 'X'
	Own       list = 'o'
	Users     list = 'u'
	Programs  list = 'p'
	Container list = 'j'
)

// The orders of processes, by the keys that select them.
const (
	ByCPU    = 'C'
	ByMemory = 'M'
	ByDisk   = 'D'
	ByNet    = 'N'
	ByGPU    = 'E'
	Auto     = 'A'
)

// orderNames are the heads of the sort column.
var orderNames = map[byte]string{ByCPU: "CPU", ByMemory: "MEM", ByDisk: "DSK", ByNet: "NET", ByGPU: "GPU"}

// cumulated are the columns of lists with several processes in a row.
const cumulated = "NPROCS:10 SYSCPU:9 USRCPU:9 VSIZE:6 RSIZE:8 PSIZE:8 LOCKSZ:3 SWAPSZ:5 RDDSK:7 CWRDSK:7 RNET:6 SNET:6 SORTITEM:10 "

// lists are the columns of lists. The general one depends on the available figures.
var lists = map[list]string{
	Memory:    "PID:10 TID:3 MINFLT:2 MAJFLT:2 VSTEXT:4 VSLIBS:4 VDATA:4 VSTACK:4 LOCKSZ:3 VSIZE:6 RSIZE:7 PSIZE:5 VGROW:7 RGROW:8 SWAPSZ:5 RUID:1 EUID:0 SORTITEM:9 CMD:10",
	Schedule:  "PID:10 TID:6 CID:4 VPID:3 CTID:3 TRUN:7 TSLPI:7 TSLPU:7 POLI:8 NICE:9 PRI:5 RTPR:9 CPUNR:8 ST:8 EXC:8 S:8 RDELAY:8 BDELAY:7 WCHAN:5 SORTITEM:10 CMD:10",
	Disk:      "PID:10 TID:4 RDDSK:9 WRDSK:9 WCANCL:8 SORTITEM:10 CMD:10",
	Net:       "PID:10 TID:6 TCPRCV:9 TCPRASZ:4 TCPSND:9 TCPSASZ:4 UDPRCV:8 UDPRASZ:3 UDPSND:8 UDPSASZ:3 BANDWI:10 BANDWO:10 SORTITEM:10 CMD:10",
	GPUs:      "PID:10 TID:5 CID:4 GPULIST:8 GPUGPUBUSY:8 GPUMEMBUSY:8 GPUMEM:7 GPUMEMAVG:6 S:8 SORTITEM:10 CMD:10",
	Various:   "PID:10 TID:4 PPID:9 CID:2 VPID:1 CTID:1 RUID:8 RGID:8 EUID:5 EGID:4 SUID:3 SGID:2 FSUID:3 FSGID:2 STDATE:7 STTIME:7 ENDATE:5 ENTIME:5 ST:6 EXC:6 S:6 SORTITEM:10 CMD:10",
	Arguments: "PID:10 TID:4 S:8 SORTITEM:10 COMMAND-LINE:10",
	Groups:    "PID:10 CPUWGT:9 CPUMAX:9 CPUMAXR:9 MEMMAX:8 MMMAXR:8 SWPMAX:7 SWMAXR:7 SORTITEM:6 CMD:9 CGROUP-PATH:10",
	Users:     cumulated + "RUID:10",
	Programs:  cumulated + "CMD:10",
	Container: cumulated + "CID:10",
}

// lists7 are those of PCP 7, where they are others.
var lists7 = map[list]string{
	Schedule:  "PID:10 TID:6 CID:4 VPID:3 CTID:3 TRUN:7 TSLPI:7 TSLPU:7 TIDLE:7 POLI:8 NICE:9 PRI:5 RTPR:9 CPUNR:8 ST:8 EXC:8 S:8 RDELAY:8 BDELAY:7 WCHAN:5 NVCSW:7 NIVCSW:7 SORTITEM:10 CMD:10",
	Container: "NPROCS:10 SYSCPU:9 USRCPU:9 RDELAY:8 BDELAY:7 VSIZE:6 RSIZE:8 PSIZE:8 LOCKSZ:3 SWAPSZ:5 RDDSK:7 CWRDSK:7 RNET:6 SNET:6 SORTITEM:10 CID:10",
}

// columnsOf returns the columns of a list.
func (p *Printer) columnsOf(l list) string {
	if text := lists7[l]; p.Seven && text != "" {
		return text
	}
	return lists[l]
}

// general returns the columns of the general list.
func (p *Printer) general() string {
	text := "PID:10 "
	if p.Threads {
		text += "TID:6 "
	}
	if p.s.Containers {
		text += "CID:5 "
	}
	text += "SYSCPU:9 USRCPU:9 RDELAY:4 BDELAY:4 VGROW:8 RGROW:8 "
	if p.s.DiskIO {
		text += "RDDSK:7 CWRDSK:7 "
	}
	if p.s.NetIO {
		text += "RNET:6 SNET:6 "
	}
	return text + "RUID:2 EUID:1 ST:3 EXC:3 THR:3 S:3 CPUNR:3 SORTITEM:10 CMD:10"
}

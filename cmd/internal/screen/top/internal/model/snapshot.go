package model

import (
	"math"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
)

// A Snapshot is the activity of a host at one time. An unknown number is NaN. Bytes are bytes, times
// seconds, and a rate without another unit is per second. Shares are of one: 0.5 is half.
type Snapshot struct {
	Time     pcp.Timestamp
	Interval float64 // seconds since the sample before, 0 if there was none
	Groups   Group   // that were asked for

	CPU        CPU // of all processors together
	CPUs       []CPU
	NCPU       int
	Load       [3]float64 // of 1, 5 and 15 minutes
	Uptime     float64
	Users      float64
	Procs      float64
	Running    float64
	Blocked    float64
	Switches   float64
	Interrupts float64
	Forks      float64

	Memory   Memory
	Disk     Traffic // of all devices
	Net      Traffic // of all interfaces that reach other hosts
	Pressure Pressures

	Disks      []Disk
	Files      []FileSystem
	Interfaces []Interface
	Protocols  Protocols
	Processes  []Process // by PID
	CGroups    []CGroup  // by path
	Containers []Container
	Charts     []Chart

	archive bool
	why     [numMetrics]pcp.Error // why a metric has no values
	called  *[numMetrics]string   // the name of each metric
	denied  func() string         // or nil

	netModule string // the state of the module of the agent bpf that counts the bytes of processes, "" without the agent
	noThreads string // why the collector does not list threads, "" if it does or was not asked
}

// CPU has the shares of processor time.
type CPU struct {
	Name                                    string
	User, Nice, Sys, Idle, Wait, IRQ, Steal float64
}

// Busy is the share of time in which the processor worked, or NaN.
func (c *CPU) Busy() float64 { return c.User + c.Nice + c.Sys + c.IRQ + c.Steal }

// Memory is that of the host.
type Memory struct {
	Total, Free, Available, Buffers, Cached, Shared, Dirty float64
	SwapTotal, SwapUsed, SwapIn, SwapOut                   float64
}

// Used is the memory of programs: all that is neither free nor a cache.
func (m *Memory) Used() float64 { return max(0, m.Total-m.Free-m.Buffers-m.Cached) }

// Traffic has the rates in (or read) and out (or written).
type Traffic struct {
	In, Out       float64 // bytes
	InOps, OutOps float64 // requests, packets
}

// A Stall is the pressure on one resource: the shares of time in which some work, or all of it, waited.
type Stall struct {
	Some, Full [4]float64 // now, and on average over 10, 60 and 300 seconds
}

// Pressures are those of the kernel (PSI).
type Pressures struct {
	CPU, Memory, IO, IRQ Stall
}

// A Disk is a device.
type Disk struct {
	Name          string
	Reads, Writes float64 // requests
	Read, Written float64 // bytes
	Busy          float64 // share of time
	Queue         float64 // requests on average
	ReadWait      float64 // seconds a request
	WriteWait     float64
}

// A FileSystem is a mounted file system.
type FileSystem struct {
	Device, Mount, Type string
	Size, Used, Avail   float64
	Inodes, InodesUsed  float64
}

// An Interface is one of the network.
type Interface struct {
	Name                  string
	In, Out               float64 // bytes
	InPackets, OutPackets float64
	InErrors, OutErrors   float64
	InDrops, OutDrops     float64
	Speed                 float64 // the maximum, in bytes a second
}

// Protocols are sums of connections.
type Protocols struct {
	Established, Active, Passive, Retrans, SegsIn, SegsOut, SegErrors float64
	DatagramsIn, DatagramsOut, DatagramErrors                         float64
}

// A Process is one at the time of a snapshot.
type Process struct {
	PID, Parent   int32
	Group         int32 // the process that a thread is of: its own PID for a process, 0 if unknown
	Threads       int32
	Nice          int32
	Priority      int32
	Processor     int32
	State         byte    // R, S, D, Z, T, I, or 0
	CPU           float64 // 1 is a whole processor
	Time          float64 // of processors so far
	RSS, Size     float64
	Read, Written float64
	In, Out       float64 // bytes of the network
	GPU           float64 // 1 is a whole engine of a graphics card
	GPUMemory     float64
	Start         float64 // since the host started
	Name          string
	Args          string
	Owner         string
	CGroup        string
	TTY           string
}

// Kernel reports whether the process is a thread of the kernel.
func (p *Process) Kernel() bool {
	return p.PID == 2 || p.Parent == 2 || p.Size == 0 && len(p.Args) > 0 && p.Args[0] == '('
}

// Thread reports whether it is a thread of a process, which counts for that one already.
func (p *Process) Thread() bool { return p.Group != 0 && p.Group != p.PID }

// A CGroup is a control group.
type CGroup struct {
	Path                        string
	Processes                   int
	CPU                         float64 // 1 is a whole processor
	Memory                      float64
	Read, Written               float64
	In, Out                     float64 // bytes of the network: of its processes or, without those, of its TCP connections
	PressCPU, PressMem, PressIO float64 // shares of the last 10 seconds
}

// A Container is a container with the sums of its control group.
type Container struct {
	ID, Name, Engine, Image string
	State                   string // "running", "paused", "restarting", "stopped" or "" if unknown
	PID                     int32  // of its first process, 0 if unknown
	CGroup                  CGroup
}

// A Chart has the values of a metric that a user named.
type Chart struct {
	Spec  string // as named
	Units string // of the values, "" for none
	Err   error
	Lines []Line
}

// A Line is one instance of a Chart.
type Line struct {
	Name  string // of the instance, "" of a metric without
	Value float64
}

// A Panel is a part of the screen that may be absent.
type Panel int

// Panels.
const (
	PanelCPU Panel = iota
	PanelCPUs
	PanelLoad
	PanelMemory
	PanelSwap
	PanelDisk
	PanelNet
	PanelPressure
	PanelDisks
	PanelFiles
	PanelInterfaces
	PanelProtocols
	PanelProcesses
	PanelProcessIO
	PanelCGroups
	PanelProcessNet
	PanelProcessGPU
	PanelSockets
	PanelContainers
	PanelThreads
)

// panels lists the metrics of which a panel needs at least one.
var panels = [...][]metric{
	PanelCPU:        {mCPUIdle, mCPUUser},
	PanelCPUs:       {mPerIdle, mPerUser},
	PanelLoad:       {mLoad},
	PanelMemory:     {mMemFree, mMemTotal},
	PanelSwap:       {mSwapTotal},
	PanelDisk:       {mDiskAllRead, mDiskAllReads},
	PanelNet:        {mNetIn},
	PanelPressure:   {mPSICPU, mPSICPUAvg},
	PanelDisks:      {mDevReads, mDevRead, mDevBusy},
	PanelFiles:      {mFSSize, mFSUsed},
	PanelInterfaces: {mNetIn, mNetInPackets},
	PanelProtocols:  {mTCPEstablished, mTCPIn, mUDPIn},
	PanelProcesses:  {mProcUser, mProcRSS, mProcArgs, mProcName},
	PanelProcessIO:  {mProcRead, mProcWritten},
	PanelCGroups:    {mCGCPU, mCGMemory},
	PanelProcessNet: {mProcTCPIn, mProcTCPOut, mProcUDPIn, mProcUDPOut},
	PanelProcessGPU: {mProcDRM, mProcNVIDIA, mProcDRMMemory, mProcNVIDIAMemory},
	PanelSockets:    {mSockIn, mSockOut},
	PanelContainers: {mConName, mConCGroup},
	PanelThreads:    {mProcGroup},
}

// Absent returns why a panel is empty, or "".
func (s *Snapshot) Absent(p Panel) string {
	list := panels[p]
	for _, m := range list {
		if s.Groups&table[m].group != 0 && s.why[m] == 0 {
			return ""
		}
	}
	m := list[0]
	name := table[m].names[0]
	if s.called != nil && s.called[m] != "" {
		name = s.called[m]
	}
	switch {
	case s.Groups&table[m].group == 0:
		return "not sampled at this time"
	case s.why[m] == missing && s.archive:
		return name + " is not in the archive"
	case s.why[m] == missing:
		return "the collector does not have " + name
	case s.why[m] == pcp.ErrValue && s.archive:
		return "there is no " + name + " in the archive at this time"
	case s.why[m] == pcp.ErrValue:
		return name + " has no values here"
	case s.why[m] == pcp.ErrPermission && s.denied != nil:
		return s.denied()
	}
	return name + ": " + s.why[m].Error()
}

// Lacks reports whether a panel was sampled and has no source: of an archive, at any time.
func (s *Snapshot) Lacks(p Panel) bool {
	m := panels[p][0]
	return s.Groups&table[m].group != 0 && s.Absent(p) != "" && !(s.archive && s.why[m] == pcp.ErrValue)
}

// None reports whether a panel has a source, which has no values at this time.
func (s *Snapshot) None(p Panel) bool {
	return s.Absent(p) != "" && s.why[panels[p][0]] == pcp.ErrValue
}

// NetHint returns what to do for the bytes that processes send and receive, if they are not known.
func (s *Snapshot) NetHint() string {
	switch s.netModule {
	case "":
		return "a collector that runs as root counts them: sudo pcp up --agent bpf, then pcp store -i netatop bpf.control.enabled 1"
	case "off":
		return "the module is off: pcp store -i netatop bpf.control.enabled 1"
	case "running":
		return "no process has used the network yet"
	}
	return "the kernel refuses the module netatop: " + s.netModule
}

// Unread returns why the I/O of many processes is unknown, although that of some is known: the collector has no rights.
func (s *Snapshot) Unread() string {
	if s.Groups&ProcessIO == 0 || s.why[mProcRead] != 0 {
		return ""
	}
	processes, read := 0, 0
	for i := range s.Processes {
		if p := &s.Processes[i]; !math.IsNaN(p.CPU) { // it was in the sample before too
			processes++
			if !math.IsNaN(p.Read) {
				read++
			}
		}
	}
	if read == 0 {
		return ""
	}
	return diagnosis.Unread(processes, read)
}

// Empty reports whether an archive has no totals at this time, as in a gap.
func (s *Snapshot) Empty() bool {
	if !s.archive {
		return false
	}
	known := false
	for m := range table {
		if table[m].group == System {
			if s.why[m] == 0 {
				return false
			}
			known = known || s.why[m] != missing
		}
	}
	return known && s.Absent(PanelProcesses) != "" && s.Absent(PanelDisks) != ""
}

// nan is a number that is not known.
func nan() float64 { return math.NaN() }

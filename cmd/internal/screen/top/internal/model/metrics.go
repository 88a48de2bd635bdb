package model

// A Group is a set of metrics that are fetched together, or several of these.
type Group uint32

// Groups.
const (
	System     Group = 1 << iota // totals of the host, from which the history is made
	CPUs                         // each processor
	Disks                        // devices
	Files                        // file systems
	Network                      // interfaces and protocols
	Pressure                     // how long work waits
	Processes                    // each process
	ProcessIO                    // the bytes that each process reads and writes, which the collector must be allowed to see
	CGroups                      // the kernel's own sums of control groups
	ProcessNet                   // the bytes that each process sends and receives, which the agent bpf counts
	ProcessGPU                   // the use of graphics cards by each process
	Sockets                      // the bytes of each TCP connection, with its control group
	Containers
	Threads   // of processes, which the collector is asked to list as well
	numGroups = iota
)

// A metric is one of the table below.
type metric int

const (
	mCPUUser metric = iota
	mCPUNice
	mCPUSys
	mCPUIdle
	mCPUWait
	mCPUIRQ
	mCPUSteal
	mLoad
	mNCPU
	mUptime
	mNProcs
	mRunning
	mBlocked
	mUsers
	mSwitches
	mInterrupts
	mForks
	mMemTotal
	mMemFree
	mMemAvailable
	mMemBuffers
	mMemCached
	mMemReclaimable
	mMemShared
	mMemDirty
	mSwapTotal
	mSwapUsed
	mSwapIn
	mSwapOut
	mDiskAllReads
	mDiskAllWrites
	mDiskAllRead
	mDiskAllWritten
	mNetIn
	mNetOut
	mPSICPU
	mPSIMemory
	mPSIIO

	mPerUser
	mPerNice
	mPerSys
	mPerIdle
	mPerWait
	mPerIRQ
	mPerSteal

	mDevReads
	mDevWrites
	mDevRead
	mDevWritten
	mDevBusy
	mDevQueue
	mDevReadTime
	mDevWriteTime

	mFSSize
	mFSUsed
	mFSAvail
	mFSMount
	mFSType
	mFSInodes
	mFSInodesUsed

	mNetInPackets
	mNetOutPackets
	mNetInErrors
	mNetOutErrors
	mNetInDrops
	mNetOutDrops
	mNetSpeed
	mTCPEstablished
	mTCPActive
	mTCPPassive
	mTCPRetrans
	mTCPIn
	mTCPOut
	mTCPErrors
	mUDPIn
	mUDPOut
	mUDPErrors

	mPSICPUAvg
	mPSIMemoryAvg
	mPSIMemoryFullAvg
	mPSIIOAvg
	mPSIIOFullAvg
	mPSIIRQAvg
	mPSIMemoryFull
	mPSIIOFull
	mPSIIRQ

	mProcUser
	mProcSys
	mProcRSS
	mProcSize
	mProcState
	mProcParent
	mProcName
	mProcNice
	mProcPriority
	mProcStart
	mProcProcessor
	mProcArgs
	mProcThreads
	mProcOwner
	mProcCGroup
	mProcTTY
	mProcGroup

	mProcRead
	mProcWritten

	mProcTCPIn
	mProcTCPOut
	mProcUDPIn
	mProcUDPOut
	mModuleState

	mProcDRM
	mProcDRMMemory
	mProcNVIDIA
	mProcNVIDIAMemory

	mSockCGroup
	mSockIn
	mSockOut

	mConName
	mConEngine
	mConImage
	mConCGroup
	mConPID
	mConRunning
	mConPaused
	mConRestarting

	mCGCPU
	mCGMemory
	mCGPSICPU
	mCGPSIMemory
	mCGPSIIO

	numMetrics
)

// A kind defines the conversion of the values of a metric.
type kind uint8

const (
	instant kind = iota // a number in base units: bytes, seconds, ones
	rate                // the same, each second
	text
)

// table has the names of metrics: the first name that a source has counts. Slow metrics change seldom and
// cost a collector much: of a live source they are fetched for new processes, and now and then for all of
// them.
var table = [numMetrics]struct {
	group Group
	kind  kind
	slow  bool
	names []string
}{
	mCPUUser:        {System, rate, false, []string{"kernel.all.cpu.user"}},
	mCPUNice:        {System, rate, false, []string{"kernel.all.cpu.nice"}},
	mCPUSys:         {System, rate, false, []string{"kernel.all.cpu.sys"}},
	mCPUIdle:        {System, rate, false, []string{"kernel.all.cpu.idle"}},
	mCPUWait:        {System, rate, false, []string{"kernel.all.cpu.wait.total"}},
	mCPUIRQ:         {System, rate, false, []string{"kernel.all.cpu.intr"}},
	mCPUSteal:       {System, rate, false, []string{"kernel.all.cpu.steal"}},
	mLoad:           {System, instant, false, []string{"kernel.all.load"}},
	mNCPU:           {System, instant, false, []string{"hinv.ncpu"}},
	mUptime:         {System, instant, false, []string{"kernel.all.uptime"}},
	mNProcs:         {System, instant, false, []string{"kernel.all.nprocs", "proc.nprocs"}},
	mRunning:        {System, instant, false, []string{"kernel.all.running", "kernel.all.runnable"}},
	mBlocked:        {System, instant, false, []string{"kernel.all.blocked"}},
	mUsers:          {System, instant, false, []string{"kernel.all.nusers"}},
	mSwitches:       {System, rate, false, []string{"kernel.all.pswitch"}},
	mInterrupts:     {System, rate, false, []string{"kernel.all.intr"}},
	mForks:          {System, rate, false, []string{"kernel.all.sysfork"}},
	mMemTotal:       {System, instant, false, []string{"mem.physmem", "hinv.physmem"}},
	mMemFree:        {System, instant, false, []string{"mem.util.free"}},
	mMemAvailable:   {System, instant, false, []string{"mem.util.available"}},
	mMemBuffers:     {System, instant, false, []string{"mem.util.bufmem"}},
	mMemCached:      {System, instant, false, []string{"mem.util.cached"}},
	mMemReclaimable: {System, instant, false, []string{"mem.util.slabReclaimable"}},
	mMemShared:      {System, instant, false, []string{"mem.util.shmem"}},
	mMemDirty:       {System, instant, false, []string{"mem.util.dirty"}},
	mSwapTotal:      {System, instant, false, []string{"swap.length", "mem.util.swapTotal"}},
	mSwapUsed:       {System, instant, false, []string{"swap.used"}},
	mSwapIn:         {System, rate, false, []string{"swap.pagesin"}},
	mSwapOut:        {System, rate, false, []string{"swap.pagesout"}},
	mDiskAllReads:   {System, rate, false, []string{"disk.all.read"}},
	mDiskAllWrites:  {System, rate, false, []string{"disk.all.write"}},
	mDiskAllRead:    {System, rate, false, []string{"disk.all.read_bytes"}},
	mDiskAllWritten: {System, rate, false, []string{"disk.all.write_bytes"}},
	mNetIn:          {System, rate, false, []string{"network.interface.in.bytes"}},
	mNetOut:         {System, rate, false, []string{"network.interface.out.bytes"}},
	mPSICPU:         {System, rate, false, []string{"kernel.all.pressure.cpu.some.total"}},
	mPSIMemory:      {System, rate, false, []string{"kernel.all.pressure.memory.some.total"}},
	mPSIIO:          {System, rate, false, []string{"kernel.all.pressure.io.some.total"}},

	mPerUser:  {CPUs, rate, false, []string{"kernel.percpu.cpu.user"}},
	mPerNice:  {CPUs, rate, false, []string{"kernel.percpu.cpu.nice"}},
	mPerSys:   {CPUs, rate, false, []string{"kernel.percpu.cpu.sys"}},
	mPerIdle:  {CPUs, rate, false, []string{"kernel.percpu.cpu.idle"}},
	mPerWait:  {CPUs, rate, false, []string{"kernel.percpu.cpu.wait.total"}},
	mPerIRQ:   {CPUs, rate, false, []string{"kernel.percpu.cpu.intr"}},
	mPerSteal: {CPUs, rate, false, []string{"kernel.percpu.cpu.steal"}},

	mDevReads:     {Disks, rate, false, []string{"disk.dev.read"}},
	mDevWrites:    {Disks, rate, false, []string{"disk.dev.write"}},
	mDevRead:      {Disks, rate, false, []string{"disk.dev.read_bytes"}},
	mDevWritten:   {Disks, rate, false, []string{"disk.dev.write_bytes"}},
	mDevBusy:      {Disks, rate, false, []string{"disk.dev.avactive"}},
	mDevQueue:     {Disks, rate, false, []string{"disk.dev.aveq"}},
	mDevReadTime:  {Disks, rate, false, []string{"disk.dev.read_rawactive"}},
	mDevWriteTime: {Disks, rate, false, []string{"disk.dev.write_rawactive"}},

	mFSSize:       {Files, instant, false, []string{"filesys.capacity"}},
	mFSUsed:       {Files, instant, false, []string{"filesys.used"}},
	mFSAvail:      {Files, instant, false, []string{"filesys.avail", "filesys.free"}},
	mFSMount:      {Files, text, false, []string{"filesys.mountdir"}},
	mFSType:       {Files, text, false, []string{"filesys.type"}},
	mFSInodes:     {Files, instant, false, []string{"filesys.maxfiles"}},
	mFSInodesUsed: {Files, instant, false, []string{"filesys.usedfiles"}},

	mNetInPackets:   {Network, rate, false, []string{"network.interface.in.packets"}},
	mNetOutPackets:  {Network, rate, false, []string{"network.interface.out.packets"}},
	mNetInErrors:    {Network, rate, false, []string{"network.interface.in.errors"}},
	mNetOutErrors:   {Network, rate, false, []string{"network.interface.out.errors"}},
	mNetInDrops:     {Network, rate, false, []string{"network.interface.in.drops"}},
	mNetOutDrops:    {Network, rate, false, []string{"network.interface.out.drops"}},
	mNetSpeed:       {Network, instant, false, []string{"network.interface.baudrate"}},
	mTCPEstablished: {Network, instant, false, []string{"network.tcp.currestab"}},
	mTCPActive:      {Network, rate, false, []string{"network.tcp.activeopens"}},
	mTCPPassive:     {Network, rate, false, []string{"network.tcp.passiveopens"}},
	mTCPRetrans:     {Network, rate, false, []string{"network.tcp.retranssegs"}},
	mTCPIn:          {Network, rate, false, []string{"network.tcp.insegs"}},
	mTCPOut:         {Network, rate, false, []string{"network.tcp.outsegs"}},
	mTCPErrors:      {Network, rate, false, []string{"network.tcp.inerrs"}},
	mUDPIn:          {Network, rate, false, []string{"network.udp.indatagrams"}},
	mUDPOut:         {Network, rate, false, []string{"network.udp.outdatagrams"}},
	mUDPErrors:      {Network, rate, false, []string{"network.udp.inerrors"}},

	mPSICPUAvg:        {Pressure, instant, false, []string{"kernel.all.pressure.cpu.some.avg"}},
	mPSIMemoryAvg:     {Pressure, instant, false, []string{"kernel.all.pressure.memory.some.avg"}},
	mPSIMemoryFullAvg: {Pressure, instant, false, []string{"kernel.all.pressure.memory.full.avg"}},
	mPSIIOAvg:         {Pressure, instant, false, []string{"kernel.all.pressure.io.some.avg"}},
	mPSIIOFullAvg:     {Pressure, instant, false, []string{"kernel.all.pressure.io.full.avg"}},
	mPSIIRQAvg:        {Pressure, instant, false, []string{"kernel.all.pressure.irq.full.avg"}},
	mPSIMemoryFull:    {Pressure, rate, false, []string{"kernel.all.pressure.memory.full.total"}},
	mPSIIOFull:        {Pressure, rate, false, []string{"kernel.all.pressure.io.full.total"}},
	mPSIIRQ:           {Pressure, rate, false, []string{"kernel.all.pressure.irq.full.total"}},

	mProcUser:      {Processes, rate, false, []string{"proc.psinfo.utime"}},
	mProcSys:       {Processes, rate, false, []string{"proc.psinfo.stime"}},
	mProcRSS:       {Processes, instant, false, []string{"proc.psinfo.rss", "proc.memory.rss"}},
	mProcSize:      {Processes, instant, false, []string{"proc.psinfo.vsize", "proc.memory.size"}},
	mProcState:     {Processes, text, false, []string{"proc.psinfo.sname"}},
	mProcParent:    {Processes, instant, false, []string{"proc.psinfo.ppid"}},
	mProcName:      {Processes, text, false, []string{"proc.psinfo.cmd"}},
	mProcNice:      {Processes, instant, false, []string{"proc.psinfo.nice"}},
	mProcPriority:  {Processes, instant, false, []string{"proc.psinfo.priority"}},
	mProcStart:     {Processes, instant, false, []string{"proc.psinfo.start_time"}},
	mProcProcessor: {Processes, instant, false, []string{"proc.psinfo.processor"}},
	mProcArgs:      {Processes, text, true, []string{"proc.psinfo.psargs"}},
	mProcThreads:   {Processes, instant, true, []string{"proc.psinfo.threads"}},
	mProcOwner:     {Processes, text, true, []string{"proc.id.uid_nm"}},
	mProcCGroup:    {Processes, text, true, []string{"proc.psinfo.cgroups"}},
	mProcTTY:       {Processes, text, true, []string{"proc.psinfo.ttyname"}},

	mProcGroup: {Processes, instant, true, []string{"proc.psinfo.tgid"}},

	mProcRead:    {ProcessIO, rate, false, []string{"proc.io.read_bytes"}},
	mProcWritten: {ProcessIO, rate, false, []string{"proc.io.write_bytes"}},

	mProcTCPIn:  {ProcessNet, rate, false, []string{"bpf.proc.net.tcp.recv.bytes"}},
	mProcTCPOut: {ProcessNet, rate, false, []string{"bpf.proc.net.tcp.send.bytes"}},
	mProcUDPIn:  {ProcessNet, rate, false, []string{"bpf.proc.net.udp.recv.bytes"}},
	mProcUDPOut: {ProcessNet, rate, false, []string{"bpf.proc.net.udp.send.bytes"}},

	mModuleState: {ProcessNet, text, false, []string{"bpf.module.state"}},

	mProcDRM:          {ProcessGPU, rate, false, []string{"drm.proc.time"}},
	mProcDRMMemory:    {ProcessGPU, instant, false, []string{"drm.proc.memory"}},
	mProcNVIDIA:       {ProcessGPU, instant, false, []string{"nvidia.proc.all.gpuactive"}},
	mProcNVIDIAMemory: {ProcessGPU, instant, false, []string{"nvidia.proc.all.memused"}},

	mSockCGroup: {Sockets, text, false, []string{"network.persocket.cgroup"}},
	mSockIn:     {Sockets, rate, false, []string{"network.persocket.bytes_received"}},
	mSockOut:    {Sockets, rate, false, []string{"network.persocket.bytes_sent"}},

	mConName:       {Containers, text, false, []string{"containers.name"}},
	mConEngine:     {Containers, text, false, []string{"containers.engine"}},
	mConImage:      {Containers, text, false, []string{"containers.image"}},
	mConCGroup:     {Containers, text, false, []string{"containers.cgroup"}},
	mConPID:        {Containers, instant, false, []string{"containers.pid"}},
	mConRunning:    {Containers, instant, false, []string{"containers.state.running"}},
	mConPaused:     {Containers, instant, false, []string{"containers.state.paused"}},
	mConRestarting: {Containers, instant, false, []string{"containers.state.restarting"}},

	mCGCPU:       {CGroups, rate, false, []string{"cgroup.cpu.stat.usage", "cgroup.cpuacct.usage"}},
	mCGMemory:    {CGroups, instant, false, []string{"cgroup.memory.current", "cgroup.memory.usage"}},
	mCGPSICPU:    {CGroups, instant, false, []string{"cgroup.pressure.cpu.some.avg10sec"}},
	mCGPSIMemory: {CGroups, instant, false, []string{"cgroup.pressure.memory.some.avg10sec"}},
	mCGPSIIO:     {CGroups, instant, false, []string{"cgroup.pressure.io.some.avg10sec"}},
}

package linux

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"slices"

	"github.com/go-pcp/pcp/internal/procfs"
)

// A source is a file, or a few that are read together.
type source int

// sources is a set of sources.
type sources uint64

func (s source) bit() sources { return 1 << s }

// Sources, each after those it builds on.
const (
	sourceStat source = iota
	sourceLoadavg
	sourceUptime
	sourceMeminfo
	sourceVmstat
	sourceInterrupts
	sourceSoftirqs
	sourcePressureNames
	sourcePressureCPU
	sourcePressureMem
	sourcePressureIO
	sourcePressureIRQ
	sourceNUMA
	sourceBuddy
	sourceZone
	sourceSlab
	sourceKSM
	sourceSwaps
	sourceDiskstats
	sourcePartitions
	sourceDiskNames
	sourceSchedulers
	sourceZram
	sourceSCSI
	sourceClasses
	sourceNetDev
	sourceNetMTU
	sourceNetSpeed
	sourceNetDuplex
	sourceNetFlags
	sourceNetType
	sourceNetWireless
	sourceNetVirtual
	sourceNetHW
	sourceNetInet
	sourceNetInet6
	sourceNetAddr
	sourceSNMP
	sourceNetstat
	sourceSNMP6
	sourceSockstat
	sourceSoftnet
	sourceTCP
	sourceTCP6
	sourceUDP
	sourceRaw
	sourceUnix
	sourceVFS
	sourceTTY
	sourceLocks
	sourceNFS
	sourceIPCLimits
	sourceShm
	sourceMsg
	sourceMounts
	sourceFilesys
	sourceTmpfs
	sourceCPUInfo
	sourceOnline
	sourceThrottle
	sourceFreq
	sourceUname
	sourceUtmp
	sourceSysKernel
	numSources
)

// A sourceSpec says how a source is read, and which must have been read before.
type sourceSpec struct {
	read  func(*Agent) error
	after sources
}

// A set has room for 64.
const _ = uint(64 - numSources)

// sourceSpecs says it for each source.
var sourceSpecs = [numSources]sourceSpec{
	sourceStat:          {readStat, 0},
	sourceLoadavg:       {readLoadavg, 0},
	sourceUptime:        {readUptime, 0},
	sourceMeminfo:       {readMeminfo, 0},
	sourceVmstat:        {readVmstat, 0},
	sourceInterrupts:    {readInterrupts, 0},
	sourceSoftirqs:      {readSoftirqs, 0},
	sourcePressureNames: {readPressureNames, 0},
	sourcePressureCPU:   {func(a *Agent) error { return a.pressure.cpu.read(a) }, 0},
	sourcePressureMem:   {func(a *Agent) error { return a.pressure.mem.read(a) }, 0},
	sourcePressureIO:    {func(a *Agent) error { return a.pressure.io.read(a) }, 0},
	sourcePressureIRQ:   {func(a *Agent) error { return a.pressure.irq.read(a) }, 0},
	sourceNUMA:          {readNUMA, 1 << sourceMeminfo},
	sourceBuddy:         {readBuddyinfo, 0},
	sourceZone:          {readZoneinfo, 0},
	sourceSlab:          {readSlabinfo, 0},
	sourceKSM:           {func(a *Agent) error { return a.ksm.read(a) }, 0},
	sourceSwaps:         {readSwaps, 0},
	sourceDiskstats:     {readDiskstats, 0},
	sourcePartitions:    {readPartitions, 1 << sourceDiskstats},
	sourceDiskNames:     {readDiskNames, 1 << sourceDiskstats},
	sourceSchedulers:    {readSchedulers, 1 << sourceDiskstats},
	sourceZram:          {readZram, 1 << sourceDiskstats},
	sourceSCSI:          {readSCSI, 0},
	sourceClasses:       {readClasses, 0},
	sourceNetDev:        {readNetDev, 0},
	sourceNetMTU:        {readNetMTU, 1 << sourceNetDev},
	sourceNetSpeed:      {readNetSpeed, 1 << sourceNetDev},
	sourceNetDuplex:     {readNetDuplex, 1 << sourceNetDev},
	sourceNetFlags:      {readNetFlags, 1 << sourceNetDev},
	sourceNetType:       {readNetType, 1 << sourceNetDev},
	sourceNetWireless:   {readNetWireless, 1 << sourceNetDev},
	sourceNetVirtual:    {readNetVirtual, 1 << sourceNetDev},
	sourceNetHW:         {readNetHW, 0},
	sourceNetInet:       {readNetInet, 0},
	sourceNetInet6:      {readNetInet6, 0},
	sourceNetAddr:       {readNetAddr, 1<<sourceNetHW | 1<<sourceNetInet | 1<<sourceNetInet6},
	sourceSNMP:          {readSNMP, 0},
	sourceNetstat:       {readNetstat, 0},
	sourceSNMP6:         {readSNMP6, 0},
	sourceSockstat:      {func(a *Agent) error { return firstError(a.sockstat.read(a), a.sockstat6.read(a)) }, 0},
	sourceSoftnet:       {readSoftnet, 1 << sourceStat},
	sourceTCP:           {func(a *Agent) error { return a.conns.tcp.read(a) }, 0},
	sourceTCP6:          {func(a *Agent) error { return a.conns.tcp6.read(a) }, 0},
	sourceUDP:           {func(a *Agent) error { return firstError(a.conns.udp.read(a), a.conns.udp6.read(a)) }, 0},
	sourceRaw:           {func(a *Agent) error { return firstError(a.conns.raw.read(a), a.conns.raw6.read(a)) }, 0},
	sourceUnix:          {func(a *Agent) error { return a.conns.unix.read(a) }, 0},
	sourceVFS:           {readVFS, 0},
	sourceTTY:           {readTTY, 0},
	sourceLocks:         {readLocks, 0},
	sourceNFS:           {readNFS, 0},
	sourceIPCLimits:     {readIPCLimits, 0},
	sourceShm:           {readShm, 0},
	sourceMsg:           {func(a *Agent) error { return firstError(readMsg(a), readSem(a)) }, 0},
	sourceMounts:        {readMounts, 0},
	sourceFilesys:       {readFilesys, 1 << sourceMounts},
	sourceTmpfs:         {readTmpfs, 1 << sourceMounts},
	sourceCPUInfo:       {readCPUInfo, 1 << sourceStat},
	sourceOnline:        {readOnline, 1 << sourceStat},
	sourceThrottle:      {readThrottle, 1 << sourceStat},
	sourceFreq:          {readFrequency, 1 << sourceStat},
	sourceUname:         {func(a *Agent) error { return cmp.Or(readUname(a), readDistro(a)) }, 0},
	sourceUtmp:          {readUtmp, 0},
	sourceSysKernel:     {readSysKernel, 0},
}

// A blockID names a block of an Agent.
type blockID int

const (
	blockConst blockID = iota
	blockStat
	blockCPU
	blockNodeCPU
	blockLoad
	blockLoadInfo
	blockUptime
	blockMeminfo
	blockVmstat
	blockIRQ
	blockCPUIRQ
	blockIntrByCPU
	blockIRQMisc
	blockSoftirq
	blockCPUSoftirq
	blockSoftirqByCPU
	blockPressure
	blockCPUSome // averages; each is followed by its total
	blockCPUSomeTotal
	blockMemSome
	blockMemSomeTotal
	blockMemFull
	blockMemFullTotal
	blockIOSome
	blockIOSomeTotal
	blockIOFull
	blockIOFullTotal
	blockIRQFull
	blockIRQFullTotal
	blockNUMA
	blockBuddy
	blockZone
	blockZoneProt
	blockSlab
	blockKSM
	blockSwap
	blockDiskCount
	blockDiskAll
	blockDisk
	blockPart
	blockDM
	blockMD
	blockZram
	blockWWID
	blockMDStatus
	blockDMName
	blockMDName
	blockDiskCap
	blockPartCap
	blockDMCap
	blockMDCap
	blockWWIDCap
	blockDiskID
	blockWWIDPaths
	blockDiskSched
	blockWWIDSched
	blockZramCap
	blockZramIO
	blockZramMM
	blockZramBD
	blockSCSI
	blockTapeCount
	blockFCCount
	blockNetCount
	blockNet
	blockNetMTU
	blockNetSpeed
	blockNetDuplex
	blockNetFlags
	blockNetType
	blockNetWireless
	blockNetVirtual
	blockNetHW
	blockNetInet
	blockNetInet6
	blockNetAddr
	blockNetAll
	blockSNMP
	blockICMPMsg
	blockNetstat
	blockSNMP6
	blockSockstat
	blockSockstat6
	blockSoftnet
	blockSoftnetCPU
	blockTCP
	blockTCP6
	blockUDP
	blockUDP6
	blockRaw
	blockRaw6
	blockUnix
	blockVFS
	blockTTY
	blockTape
	blockFC
	blockUevent
	blockLocks
	blockNFSClient
	blockNFSServer
	blockNFSAhead
	blockNFSPools
	blockNFS2Client
	blockNFS2Server
	blockNFS3Client
	blockNFS3Server
	blockNFS4Client
	blockNFS4Server
	blockIPCLimits
	blockShm
	blockShmInfo
	blockMsg
	blockMsgInfo
	blockSem
	blockSemInfo
	blockMountCount
	blockMount
	blockTmpfsMount
	blockFilesys
	blockTmpfs
	blockCPUInfo
	blockCPUOnline
	blockNodeOnline
	blockThrottle
	blockFreq
	blockUname
	blockDistro
	blockUtmp
	blockSysKernel
	blockExtfrag
	numBlocks
)

// Columns of blockConst.
const (
	constNone = iota
	constHZ
	constPageSize
	constVersion
	numConst
)

// A blockSpec says how many columns a block has beside those that metrics name
// by key, whether it has instances, and what fills it.
type blockSpec struct {
	cols  int
	multi bool
	from  sources
}

// blockSpecs says it for each block.
var blockSpecs = [numBlocks]blockSpec{
	blockConst:        {numConst, false, 0},
	blockStat:         {numStat, false, 1 << sourceStat},
	blockCPU:          {numCPUTimes, true, 1 << sourceStat},
	blockNodeCPU:      {numCPUTimes, true, 1 << sourceStat},
	blockLoad:         {1, true, 1 << sourceLoadavg},
	blockLoadInfo:     {numLoadInfo, false, 1 << sourceLoadavg},
	blockUptime:       {2, false, 1 << sourceUptime},
	blockMeminfo:      {0, false, 1 << sourceMeminfo},
	blockVmstat:       {0, false, 1 << sourceVmstat},
	blockIRQ:          {1, true, 1 << sourceInterrupts},
	blockCPUIRQ:       {1, true, 1 << sourceInterrupts},
	blockIntrByCPU:    {1, true, 1 << sourceInterrupts},
	blockIRQMisc:      {numIRQMisc, false, 1 << sourceInterrupts},
	blockSoftirq:      {1, true, 1 << sourceSoftirqs},
	blockCPUSoftirq:   {1, true, 1 << sourceSoftirqs},
	blockSoftirqByCPU: {1, true, 1 << sourceSoftirqs},
	blockPressure:     {1, true, 1 << sourcePressureNames},
	blockCPUSome:      {1, true, 1 << sourcePressureCPU},
	blockCPUSomeTotal: {1, false, 1 << sourcePressureCPU},
	blockMemSome:      {1, true, 1 << sourcePressureMem},
	blockMemSomeTotal: {1, false, 1 << sourcePressureMem},
	blockMemFull:      {1, true, 1 << sourcePressureMem},
	blockMemFullTotal: {1, false, 1 << sourcePressureMem},
	blockIOSome:       {1, true, 1 << sourcePressureIO},
	blockIOSomeTotal:  {1, false, 1 << sourcePressureIO},
	blockIOFull:       {1, true, 1 << sourcePressureIO},
	blockIOFullTotal:  {1, false, 1 << sourcePressureIO},
	blockIRQFull:      {1, true, 1 << sourcePressureIRQ},
	blockIRQFullTotal: {1, false, 1 << sourcePressureIRQ},
	blockNUMA:         {0, true, 1 << sourceNUMA},
	blockBuddy:        {numBuddy, true, 1 << sourceBuddy},
	blockZone:         {0, true, 1 << sourceZone},
	blockZoneProt:     {1, true, 1 << sourceZone},
	blockSlab:         {numSlab, true, 1 << sourceSlab},
	blockKSM:          {0, false, 1 << sourceKSM},
	blockSwap:         {numSwap, true, 1 << sourceSwaps},
	blockDiskCount:    {1, false, 1 << sourceDiskstats},
	blockDiskAll:      {numDisk, false, 1 << sourceDiskstats},
	blockDisk:         {numDisk, true, 1 << sourceDiskstats},
	blockPart:         {numDisk, true, 1 << sourceDiskstats},
	blockDM:           {numDisk, true, 1 << sourceDiskstats},
	blockMD:           {numDisk, true, 1 << sourceDiskstats},
	blockZram:         {numDisk, true, 1 << sourceDiskstats},
	blockWWID:         {numDisk, true, 1 << sourceDiskstats},
	blockMDStatus:     {1, true, 1 << sourceDiskNames},
	blockDMName:       {1, true, 1 << sourceDiskstats},
	blockMDName:       {1, true, 1 << sourceDiskstats},
	blockDiskCap:      {1, true, 1 << sourcePartitions},
	blockPartCap:      {1, true, 1 << sourcePartitions},
	blockDMCap:        {1, true, 1 << sourcePartitions},
	blockMDCap:        {1, true, 1 << sourcePartitions},
	blockWWIDCap:      {1, true, 1 << sourcePartitions},
	blockDiskID:       {1, true, 1 << sourceDiskNames},
	blockWWIDPaths:    {1, true, 1 << sourceDiskNames},
	blockDiskSched:    {1, true, 1 << sourceSchedulers},
	blockWWIDSched:    {1, true, 1 << sourceSchedulers},
	blockZramCap:      {1, true, 1 << sourceZram},
	blockZramIO:       {4, true, 1 << sourceZram},
	blockZramMM:       {8, true, 1 << sourceZram},
	blockZramBD:       {3, true, 1 << sourceZram},
	blockSCSI:         {1, true, 1 << sourceSCSI},
	blockTapeCount:    {1, false, 1 << sourceClasses},
	blockFCCount:      {1, false, 1 << sourceClasses},
	blockNetCount:     {1, false, 1 << sourceNetDev},
	blockNet:          {numNet, true, 1 << sourceNetDev},
	blockNetMTU:       {1, true, 1 << sourceNetMTU},
	blockNetSpeed:     {numSpeed, true, 1 << sourceNetSpeed},
	blockNetDuplex:    {1, true, 1 << sourceNetDuplex},
	blockNetFlags:     {numNetFlags, true, 1 << sourceNetFlags},
	blockNetType:      {1, true, 1 << sourceNetType},
	blockNetWireless:  {1, true, 1 << sourceNetWireless},
	blockNetVirtual:   {1, true, 1 << sourceNetVirtual},
	blockNetHW:        {1, true, 1 << sourceNetHW},
	blockNetInet:      {1, true, 1 << sourceNetInet},
	blockNetInet6:     {numInet6, true, 1 << sourceNetInet6},
	blockNetAddr:      {0, true, 1 << sourceNetAddr},
	blockNetAll:       {numNetAll, false, 1 << sourceNetDev},
	blockSNMP:         {0, false, 1 << sourceSNMP},
	blockICMPMsg:      {numICMPMsg, true, 1 << sourceSNMP},
	blockNetstat:      {0, false, 1 << sourceNetstat},
	blockSNMP6:        {0, false, 1 << sourceSNMP6},
	blockSockstat:     {0, false, 1 << sourceSockstat},
	blockSockstat6:    {0, false, 1 << sourceSockstat},
	blockSoftnet:      {numSoftnet, false, 1 << sourceSoftnet},
	blockSoftnetCPU:   {numSoftnet, true, 1 << sourceSoftnet},
	blockTCP:          {numTCPStates, false, 1 << sourceTCP},
	blockTCP6:         {numTCPStates, false, 1 << sourceTCP6},
	blockUDP:          {numUDP, false, 1 << sourceUDP},
	blockUDP6:         {numUDP, false, 1 << sourceUDP},
	blockRaw:          {1, false, 1 << sourceRaw},
	blockRaw6:         {1, false, 1 << sourceRaw},
	blockUnix:         {numUnix, false, 1 << sourceUnix},
	blockVFS:          {numVFS, false, 1 << sourceVFS},
	blockTTY:          {numTTY, true, 1 << sourceTTY},
	blockTape:         {0, true, 1 << sourceClasses},
	blockFC:           {0, true, 1 << sourceClasses},
	blockUevent:       {1, false, 1 << sourceSysKernel},
	blockLocks:        {numLocks, false, 1 << sourceLocks},
	blockNFSClient:    {numNFSClient, false, 1 << sourceNFS},
	blockNFSServer:    {numNFSServer, false, 1 << sourceNFS},
	blockNFSAhead:     {numNFSAhead, false, 1 << sourceNFS},
	blockNFSPools:     {numNFSPools, false, 1 << sourceNFS},
	blockNFS2Client:   {1, true, 1 << sourceNFS},
	blockNFS2Server:   {1, true, 1 << sourceNFS},
	blockNFS3Client:   {1, true, 1 << sourceNFS},
	blockNFS3Server:   {1, true, 1 << sourceNFS},
	blockNFS4Client:   {1, true, 1 << sourceNFS},
	blockNFS4Server:   {1, true, 1 << sourceNFS},
	blockIPCLimits:    {numIPCLimits, false, 1 << sourceIPCLimits},
	blockShm:          {numShm, true, 1 << sourceShm},
	blockShmInfo:      {numShmInfo, false, 1 << sourceShm},
	blockMsg:          {numMsg, true, 1 << sourceMsg},
	blockMsgInfo:      {numMsgInfo, false, 1 << sourceMsg},
	blockSem:          {numSem, true, 1 << sourceMsg},
	blockSemInfo:      {numSemInfo, false, 1 << sourceMsg},
	blockMountCount:   {1, false, 1 << sourceMounts},
	blockMount:        {numMount, true, 1 << sourceMounts},
	blockTmpfsMount:   {0, true, 1 << sourceMounts},
	blockFilesys:      {numFilesys, true, 1 << sourceFilesys},
	blockTmpfs:        {numFilesys, true, 1 << sourceTmpfs},
	blockCPUInfo:      {numCPUInfo, true, 1 << sourceCPUInfo},
	blockCPUOnline:    {1, true, 1 << sourceOnline},
	blockNodeOnline:   {1, true, 1 << sourceOnline},
	blockThrottle:     {numThrottle, true, 1 << sourceThrottle},
	blockFreq:         {numFreq, true, 1 << sourceFreq},
	blockUname:        {numUname, false, 1 << sourceUname},
	blockDistro:       {1, false, 1 << sourceUname},
	blockUtmp:         {numUtmp, false, 1 << sourceUtmp},
	blockSysKernel:    {numSysKernel, false, 1 << sourceSysKernel},
	blockExtfrag:      {1, true, 1 << sourceSysKernel},
}

const nodeDir = "sys/devices/system/node"

// readers are the readers of the sources, with what they remember.
type readers struct {
	stat       statReader
	loadavg    *procfs.File
	uptime     *procfs.File
	meminfo    meminfoReader
	vmstat     vmstatReader
	interrupts irqReader
	softirqs   irqReader
	pressure   struct{ cpu, mem, io, irq pressureFile }
	numa       numaReader
	buddy      buddyReader
	zones      zoneReader
	slabs      slabReader
	ksm        dirReader
	swaps      swapReader
	disks      diskReader
	zram       [len(zramFiles)][]*procfs.File // by kind and instance
	scsi       scsiReader
	net        netReader
	netAddr    netAddrReader
	snmp       pairedReader
	netstat    pairedReader
	snmp6      keyedReader
	sockstat   sockstatReader
	sockstat6  sockstatReader
	softnet    *procfs.File
	conns      struct{ tcp, tcp6, udp, udp6, raw, raw6, unix connReader }
	vfs        []vfsFile
	locks      *procfs.File
	tty        ttyReader
	tapes      registry
	fcHosts    registry
	nfs        nfsReader
	ipc        ipcReader
	mounts     mountReader
	cpuinfo    cpuInfoReader
	cpuSys     []*cpuSysFiles // by processor number
	nodeOnline []*procfs.File // by index in topology.nodes
	uname      unameReader
	utmp       *procfs.File
	sysKernel  sysKernelReader
	extfrag    *procfs.File

	softnetMetrics []*metric
}

func newReaders(a *Agent) *readers {
	c := &a.blocks[blockConst]
	c.set(0, constHZ, a.hz)
	c.set(0, constPageSize, a.page)
	if a.cfg.Version != "" {
		c.setText(0, constVersion, a.cfg.Version)
	}
	r := &readers{
		stat:       statReader{file: a.wholeFile("proc/stat")},
		loadavg:    a.wholeFile("proc/loadavg"),
		uptime:     a.wholeFile("proc/uptime"),
		meminfo:    newMeminfoReader(a),
		vmstat:     newVmstatReader(a),
		interrupts: irqReader{file: a.file("proc/interrupts")},
		softirqs:   irqReader{file: a.wholeFile("proc/softirqs")},
		buddy:      buddyReader{file: a.file("proc/buddyinfo")},
		zones:      newZoneReader(a),
		slabs:      slabReader{file: a.file("proc/slabinfo")},
		ksm:        newDirReader(a, blockKSM, "sys/kernel/mm/ksm"),
		swaps:      swapReader{file: a.file("proc/swaps")},
		disks:      diskReader{file: a.file("proc/diskstats"), caps: a.file("proc/partitions"), byName: make(map[string]*disk)},
		scsi:       scsiReader{file: a.file("proc/scsi/scsi")},
		net:        netReader{file: a.file("proc/net/dev")},
		netAddr:    netAddrReader{inet6: a.file("proc/net/if_inet6")},
		snmp:       pairedReader{file: a.wholeFile("proc/net/snmp"), keys: a.keys[blockSNMP]},
		netstat:    pairedReader{file: a.wholeFile("proc/net/netstat"), keys: a.keys[blockNetstat]},
		snmp6:      newKeyedReader(a, blockSNMP6, a.wholeFile("proc/net/snmp6")),
		sockstat:   sockstatReader{file: a.wholeFile("proc/net/sockstat"), block: blockSockstat},
		sockstat6:  sockstatReader{file: a.wholeFile("proc/net/sockstat6"), block: blockSockstat6},
		softnet:    a.file("proc/net/softnet_stat"),
		vfs:        newVFSFiles(a),
		locks:      a.file("proc/locks"),
		tty:        ttyReader{file: a.file("proc/tty/driver/serial")},
		nfs: nfsReader{
			client:  a.wholeFile("proc/net/rpc/nfs"),
			server:  a.wholeFile("proc/net/rpc/nfsd"),
			threads: a.wholeFile("proc/fs/nfsd/pool_threads"),
			pools:   a.file("proc/fs/nfsd/pool_stats"),
		},
		ipc:     newIPCReader(a),
		mounts:  mountReader{file: a.file("proc/self/mounts")},
		cpuinfo: cpuInfoReader{file: a.file("proc/cpuinfo")},
		uname:   newUnameReader(a),
		utmp:    a.file("var/run/utmp"),
		extfrag: a.file("sys/kernel/debug/extfrag/unusable_index"),
		sysKernel: sysKernelReader{
			entropy: a.wholeFile("proc/sys/kernel/random/entropy_avail"),
			pool:    a.wholeFile("proc/sys/kernel/random/poolsize"),
			pidMax:  a.wholeFile("proc/sys/kernel/pid_max"),
			ptys:    a.wholeFile("proc/sys/kernel/pty/nr"),
			uevent:  a.wholeFile("sys/kernel/uevent_seqnum"),
		},
	}
	p := &r.pressure
	p.cpu = pressureFile{a.wholeFile("proc/pressure/cpu"), blockCPUSome, blockConst}
	p.mem = pressureFile{a.wholeFile("proc/pressure/memory"), blockMemSome, blockMemFull}
	p.io = pressureFile{a.wholeFile("proc/pressure/io"), blockIOSome, blockIOFull}
	p.irq = pressureFile{a.wholeFile("proc/pressure/irq"), blockConst, blockIRQFull}
	conns := &r.conns
	conns.tcp = connReader{a.file("proc/net/tcp"), blockTCP, countTCP}
	conns.tcp6 = connReader{a.file("proc/net/tcp6"), blockTCP6, countTCP}
	conns.udp = connReader{a.file("proc/net/udp"), blockUDP, countUDP}
	conns.udp6 = connReader{a.file("proc/net/udp6"), blockUDP6, countUDP}
	conns.raw = connReader{a.file("proc/net/raw"), blockRaw, countRaw}
	conns.raw6 = connReader{a.file("proc/net/raw6"), blockRaw6, countRaw}
	conns.unix = connReader{a.file("proc/net/unix"), blockUnix, countUnix}
	return r
}

// firstError is for sources of two files of which the second may be missing, as
// those of IPv6 are where that is switched off. The error of the first clears
// the blocks of both.
func firstError(first, second error) error {
	if errors.Is(second, fs.ErrNotExist) {
		second = nil
	}
	return cmp.Or(first, second)
}

func floatBits(v float64) uint64  { return uint64(math.Float32bits(float32(v))) }
func doubleBits(v float64) uint64 { return math.Float64bits(v) }
func sortInts(s []int)            { slices.Sort(s) }

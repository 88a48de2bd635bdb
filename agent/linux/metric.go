package linux

import "github.com/go-pcp/pcp"

// A metric is one row of the tables: what the metric is, and in which column
// of which block its values are. PMIDs, types and units are what clients and
// archives rely on; do not change them.
type metric struct {
	name          string
	cluster, item int
	typ           pcp.Type
	indom         inDom
	sem           pcp.Sem
	units         pcp.Units
	block         blockID
	col           int       // the column, unless
	key           string    // the column is found by what it is called in the file
	need          sources   // what must be read beside the sources of the block
	err           pcp.Error // if not 0, what a fetch always answers
	help          string    // one line
}

// An inDom is the serial number of an instance domain.
type inDom int

const noInDom inDom = -1

// Instance domains of the agent (linux.h). The numbers are what clients and
// archives rely on; do not change them.
const (
	cpuInDom        inDom = 0
	diskInDom       inDom = 1
	loadInDom       inDom = 2
	netInDom        inDom = 3
	irqInDom        inDom = 4
	filesysInDom    inDom = 5
	swapInDom       inDom = 6
	nfsInDom        inDom = 7
	nfs3InDom       inDom = 8
	partInDom       inDom = 10
	scsiInDom       inDom = 11
	slabInDom       inDom = 12
	nfs4CliInDom    inDom = 14
	nfs4SvrInDom    inDom = 15
	netAddrInDom    inDom = 17
	tmpfsInDom      inDom = 18
	nodeInDom       inDom = 19
	icmpMsgInDom    inDom = 23
	dmInDom         inDom = 24
	mdInDom         inDom = 25
	shmInDom        inDom = 28
	msgInDom        inDom = 29
	semInDom        inDom = 30
	buddyInDom      inDom = 31
	zoneInDom       inDom = 32
	zoneProtInDom   inDom = 33
	tapeInDom       inDom = 34
	ttyInDom        inDom = 35
	softirqInDom    inDom = 36
	pressureInDom   inDom = 37
	zramInDom       inDom = 38
	fcInDom         inDom = 39
	cpuIRQInDom     inDom = 40
	cpuSoftirqInDom inDom = 41
	wwidInDom       inDom = 42
)

const (
	counter  = pcp.SemCounter
	instant  = pcp.SemInstant
	discrete = pcp.SemDiscrete
)

// Units of the tables.
var (
	unitless    = pcp.Units{}
	count       = pcp.Units{DimCount: 1}
	byteUnit    = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	kbyte       = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	mbyte       = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceMByte}
	nsec        = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec}
	usec        = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}
	msec        = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	second      = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
	countPerSec = pcp.Units{DimTime: -1, DimCount: 1, ScaleTime: pcp.TimeSec}
	perUsec     = pcp.Units{DimTime: -1, ScaleTime: pcp.TimeUsec}
	bytePerSec  = pcp.Units{DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceByte, ScaleTime: pcp.TimeSec}
	mbytePerSec = pcp.Units{DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceMByte, ScaleTime: pcp.TimeSec}
)

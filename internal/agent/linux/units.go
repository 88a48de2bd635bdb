package linux

import (
	"math"

	"github.com/go-pcp/pcp"
)

const (
	counter  = pcp.SemCounter
	instant  = pcp.SemInstant
	discrete = pcp.SemDiscrete
)

// Units of the tables.
var (
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

func floatBits(v float64) uint64  { return uint64(math.Float32bits(float32(v))) }
func doubleBits(v float64) uint64 { return math.Float64bits(v) }

// atLeast0 returns a-b, or 0 if that is negative: the kernel does not read all
// numbers of a file at the same moment.
func atLeast0(a, b uint64) uint64 {
	if a > b {
		return a - b
	}
	return 0
}

package proc

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
	count    = pcp.Units{DimCount: 1}
	byteUnit = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	kbyte    = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	nsec     = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec}
	usec     = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}
	sec      = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
	msec     = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}

	countPerSec = pcp.Units{DimTime: -1, DimCount: 1, ScaleTime: pcp.TimeSec}
	kbytePerSec = pcp.Units{DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceKByte, ScaleTime: pcp.TimeSec}
)

func floatBits(v float64) uint64 { return uint64(math.Float32bits(float32(v))) }

package pmie

import (
	"math"

	"github.com/go-pcp/pcp"
)

// withUnit adds a unit to others, dividing if its sign is negative.
func withUnit(u, v pcp.Units, sign int8) pcp.Units {
	switch {
	case v.DimSpace != 0:
		u.DimSpace, u.ScaleSpace = sign*v.DimSpace, v.ScaleSpace
	case v.DimTime != 0:
		u.DimTime, u.ScaleTime = sign*v.DimTime, v.ScaleTime
	default:
		u.DimCount, u.ScaleCount = sign*v.DimCount, v.ScaleCount
	}
	return u
}

// powerOf returns a unit to a power.
func powerOf(u pcp.Units, power float64) pcp.Units {
	n := int8(math.Mod(math.Trunc(power), 16))
	if n > 7 {
		n -= 16 // the dimensions have four bits
	}
	switch {
	case u.DimSpace != 0:
		u.DimSpace = n
	case u.DimTime != 0:
		u.DimTime = n
	default:
		u.DimCount = n
	}
	return u
}

// canonical returns the factor that converts values to bytes, seconds and counts.
func canonical(u pcp.Units) float64 {
	f := math.Pow(1024, float64(u.DimSpace)*float64(u.ScaleSpace))
	if u.ScaleTime > pcp.TimeSec {
		f *= math.Pow(60, float64(u.DimTime)*float64(u.ScaleTime-pcp.TimeSec))
	} else {
		f *= math.Pow(1000, float64(u.DimTime)*(float64(u.ScaleTime)-float64(pcp.TimeSec)))
	}
	return f * math.Pow(10, float64(u.DimCount)*float64(u.ScaleCount))
}

// inCanonical returns units with the scales of canonical units.
func inCanonical(u pcp.Units) pcp.Units {
	u.ScaleSpace, u.ScaleTime, u.ScaleCount = pcp.SpaceByte, pcp.TimeSec, pcp.CountOne
	return u
}

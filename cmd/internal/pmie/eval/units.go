package eval

import (
	"math"

	"github.com/go-pcp/pcp"
)

// Canonical returns the factor that converts values to bytes, seconds and counts.
func Canonical(u pcp.Units) float64 {
	f := math.Pow(1024, float64(u.DimSpace)*float64(u.ScaleSpace))
	if u.ScaleTime > pcp.TimeSec {
		f *= math.Pow(60, float64(u.DimTime)*float64(u.ScaleTime-pcp.TimeSec))
	} else {
		f *= math.Pow(1000, float64(u.DimTime)*(float64(u.ScaleTime)-float64(pcp.TimeSec)))
	}
	return f * math.Pow(10, float64(u.DimCount)*float64(u.ScaleCount))
}

// InCanonical returns units with the scales of canonical units.
func InCanonical(u pcp.Units) pcp.Units {
	u.ScaleSpace, u.ScaleTime, u.ScaleCount = pcp.SpaceByte, pcp.TimeSec, pcp.CountOne
	return u
}

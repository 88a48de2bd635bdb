package exposition

import (
	"math"
	"strconv"

	"github.com/go-pcp/pcp"
)

// TypeName returns the name of a type in this interface.
func TypeName(t pcp.Type) string {
	switch t {
	case pcp.Type32:
		return "32"
	case pcp.TypeU32:
		return "u32"
	case pcp.Type64:
		return "64"
	case pcp.TypeU64:
		return "u64"
	case pcp.TypeFloat:
		return "float"
	case pcp.TypeDouble:
		return "double"
	case pcp.TypeString:
		return "string"
	case pcp.TypeAggregate:
		return "aggregate"
	case pcp.TypeAggregateStatic:
		return "aggregate_static"
	case pcp.TypeEvent:
		return "event"
	case pcp.TypeHighResEvent:
		return "highres_event"
	case pcp.TypeNoSupport:
		return "unsupported"
	}
	return "unknown"
}

// AppendFloat appends a number with the digits that pmproxy prints: 8 for a float and 16 for a double.
func AppendFloat(b []byte, f float64, t pcp.Type) []byte {
	digits := 16
	if t == pcp.TypeFloat {
		digits = 8
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e7 && (f != 0 || !math.Signbit(f)) {
		return strconv.AppendInt(b, int64(f), 10)
	}
	return strconv.AppendFloat(b, f, 'g', digits, 64)
}

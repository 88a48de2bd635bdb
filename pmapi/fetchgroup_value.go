package pmapi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// numberText prints a number as the C library's fetch groups do, with all
// digits that the type has.
func numberText(v pcp.Value) string {
	switch v.Type() {
	case pcp.Type32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case pcp.TypeU32:
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	case pcp.Type64:
		return strconv.FormatInt(v.Int64(), 10)
	case pcp.TypeU64:
		return strconv.FormatUint(v.Uint64(), 10)
	case pcp.TypeFloat:
		return fmt.Sprintf("%.9e", v.Float())
	}
	return fmt.Sprintf("%.17e", v.Double())
}

// parseValue reads a number from a string value. A minus before an unsigned number
// is ErrSign, where the C library would wrap around.
func parseValue(s string, t pcp.Type) (pcp.Value, error) {
	if (t == pcp.TypeU32 || t == pcp.TypeU64) && strings.HasPrefix(ctext.TrimSpace(s), "-") {
		return pcp.Value{}, pcp.ErrSign
	}
	return pcp.ParseValue(s, t)
}

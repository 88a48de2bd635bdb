package unitname

import (
	"testing"

	"github.com/go-pcp/pcp"
)

func TestUCUM(t *testing.T) {
	for want, u := range map[string]pcp.Units{
		"1":        {},
		"KiBy.s-1": {DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceKByte, ScaleTime: pcp.TimeSec},
		"{count}":  {DimCount: 1},
		"ms":       {DimTime: 1, ScaleTime: pcp.TimeMsec},
	} {
		if got := UCUM(u); got != want {
			t.Errorf("UCUM(%v) = %q, want %q", u, got, want)
		}
	}
}

package wire_test

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

func TestDumpExtraUnits(t *testing.T) {
	var b strings.Builder
	d := &wire.Desc{Desc: pcp.Desc{Units: pcp.Units{DimTime: 1, ScaleTime: pcp.TimeHour, Extra: pcp.Watt.Inverse()}}}
	if err := wire.Dump(&b, wire.Append(nil, 0, d)); err != nil {
		t.Fatal(err)
	}
	if want := "units 0 1 0, scales 0 5 0, extra -4, scale 2\n"; !strings.Contains(b.String(), want) {
		t.Errorf("%s has no %q", b.String(), want)
	}
}

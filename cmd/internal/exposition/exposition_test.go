package exposition

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/go-pcp/pcp"
)

func TestSeries(t *testing.T) {
	set, err := pcp.ParseLabels(`{"hostname":"a\"b","n":4}`, pcp.LabelContext)
	if err != nil {
		t.Fatal(err)
	}
	got := string(AppendSeries(nil, "disk_dev_read", []pcp.LabelSet{set}, nil, 3, "sd\na"))
	if want := `disk_dev_read{hostname="a\"b",n="4",instname="sd\na",instid="3"} `; got != want {
		t.Errorf("series %s, want %s", got, want)
	}
}

// TestOTLP writes a document with values that are not JSON numbers.
func TestOTLP(t *testing.T) {
	d := pcp.Desc{PMID: pcp.NewPMID(60, 0, 1), Sem: pcp.SemCounter, Type: pcp.TypeDouble, InDom: pcp.InDomNull}
	b := AppendBegin(nil, nil)
	b = AppendHead(b, &d, "a.b", "what it is")
	for i, v := range []pcp.Value{pcp.DoubleValue(math.NaN()), pcp.DoubleValue(math.Inf(-1)), pcp.Uint64Value(math.MaxUint64), pcp.Int32Value(-4), pcp.FloatValue(1.5)} {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendPoint(b, &d, nil, nil, pcp.InNull, "")
		b = append(b, '1')
		b = AppendValue(b, v)
	}
	b = append(b, "]}}]}]}]}"...)
	if !json.Valid(b) {
		t.Errorf("not JSON: %s", b)
	}
}

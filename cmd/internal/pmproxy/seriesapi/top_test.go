package seriesapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// TestTop chooses the largest of five instances: of a counter by its rates, of another metric by its values.
func TestTop(t *testing.T) {
	s := seriestest.New()
	names := []string{}
	pairs := []string{}
	for i, sem := range []pcp.Sem{pcp.SemCounter, pcp.SemInstant} {
		id := s.AddMetric(fmt.Sprint("m", i), pcp.Desc{PMID: pcp.NewPMID(60, 1, i), Type: pcp.TypeU64, InDom: pcp.NewInDom(60, i), Sem: sem}, `{"hostname":"h"}`, "h")
		names = append(names, id.String())
		pairs = append(pairs, id.String(), fmt.Sprint("M", i))
		var insts []sid.ID
		for k := range int32(5) {
			inst := s.AddInstance(id, k, fmt.Sprint("i", k), "")
			insts = append(insts, inst)
			pairs = append(pairs, inst.String(), fmt.Sprint("I", k))
		}
		for n := range int64(3) {
			var list []series.InstValue
			// The totals are the larger the less they grow; i1 is large for a moment.
			for k, inst := range insts {
				total := uint64(1000-100*k) + uint64(10*n)*uint64(k)
				if k == 1 && n == 2 {
					total += 500
				}
				list = append(list, series.InstValue{Instance: inst, Value: pcp.Uint64Value(total)})
			}
			s.Append(id, pcp.Timestamp{Sec: 10 * (n + 1)}, list...)
		}
	}
	f := &fixture{Store: s, h: newHandler(t, s)}
	get := func(query string) string {
		t.Helper()
		w := f.do("GET", "/series/values?"+query, "")
		return strings.NewReplacer(append(pairs, `"series":`, "", `"instance":`, "", `"timestamp":`, "", `"value":`, "", `"`, "", "\r\n", "")...).Replace(w.Body.String())
	}
	for _, c := range []struct{ query, want string }{
		{"series=" + names[0] + "&start=1&top=2", "[{M0,I1,10000.000,900},{M0,I4,10000.000,600},{M0,I1,20000.000,910},{M0,I4,20000.000,640},{M0,20000.000,others:3,sum:5}," +
			"{M0,I1,30000.000,1420},{M0,I4,30000.000,680},{M0,30000.000,others:3,sum:5}]"},
		{"series=" + names[1] + "&start=1&top=1", "[{M1,I1,10000.000,900},{M1,10000.000,others:4,sum:3100},{M1,I1,20000.000,910},{M1,20000.000,others:4,sum:3190},{M1,I1,30000.000,1420},{M1,30000.000,others:4,sum:3280}]"},
		{"series=" + names[1] + "&start=1&finish=15&top=1&iname=i[34]", "[{M1,I3,10000.000,700},{M1,10000.000,others:1,sum:600}]"},
		{"series=" + names[0] + "&start=1&finish=15&top=5", "[{M0,I0,10000.000,1000},{M0,I1,10000.000,900},{M0,I2,10000.000,800},{M0,I3,10000.000,700},{M0,I4,10000.000,600}]"},
		{"series=" + names[0] + "&samples=2&top=1", "[{M0,I1,30000.000,1420},{M0,I1,20000.000,910},{M0,20000.000,others:4,sum:9}]"},
		{"series=" + names[0] + "&top=0", "{message:top: want a number from 1 to 1000,success:false}"},
		{"series=" + names[0] + "&top=1001", "{message:top: want a number from 1 to 1000,success:false}"},
	} {
		if got := get(c.query); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.query, got, c.want)
		}
	}
}

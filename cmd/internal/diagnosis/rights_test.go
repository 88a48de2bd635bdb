package diagnosis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// TestUnread has the part that a collector may not read: here the I/O of all processes but some.
func TestUnread(t *testing.T) {
	f := func(readable int, want string) {
		t.Helper()
		const processes = 20
		all := &pmda.InDom{Serial: 9, List: func(context.Context) ([]pcp.Instance, error) {
			var list []pcp.Instance
			for i := range int32(processes) {
				list = append(list, pcp.Instance{Inst: i, Name: fmt.Sprintf("%06d sh", i)})
			}
			return list, nil
		}}
		metrics := []pmda.Metric{
			{Name: "kernel.all.blocked", Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(0), nil }},
			{Name: "proc.psinfo.sname", Item: 2, Type: pcp.TypeString, InDom: all, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.StringValue("S"), nil }},
			{Name: "disk.dev.aveq", Item: 3, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0), Value: func(int32, int) (pcp.Value, error) { return pcp.Uint64Value(0), nil }},
		}
		for i, name := range []string{"proc.io.read_bytes", "proc.io.write_bytes"} {
			metrics = append(metrics, pmda.Metric{
				Name: name, Item: 4 + i, Type: pcp.TypeU64, InDom: all, Sem: pcp.SemCounter, Units: pcp.NewUnits(1, 0, 0, 0, 0, 0),
				Value: func(inst int32, _ int) (pcp.Value, error) {
					if int(inst) >= readable {
						return pcp.Value{}, pmda.ErrNoValue
					}
					return pcp.Uint64Value(1), nil
				},
			})
		}
		a, err := pmda.NewTable(pmda.Config{Name: "stage", Domain: 60, Metrics: metrics})
		if err != nil {
			t.Fatal(err)
		}
		c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "stage", Domain: 60, Agent: a})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		d, err := diagnosis.Run(t.Context(), diagnosis.Config{Context: c, Rules: allRules(t), Samples: 3, Interval: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		text := diagnosis.Text{W: &b, Diagnosis: d}
		text.Unchecked(true, false)
		if d.Unread != want || d.Verdict().Unread != want || strings.Contains(b.String(), "is missing") != (want != "") {
			t.Errorf("with the I/O of %d processes: %q, want %q; the text is\n%s", readable, d.Unread, want, &b)
		}
	}
	f(20, "")
	f(19, "") // the others have ended
	f(3, "The I/O of 17 of 20 processes is missing: only a collector that runs as root may read it for all users (sudo pcp up).")
}

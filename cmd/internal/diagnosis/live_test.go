package diagnosis_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// TestLive diagnoses a source as it is, of which a process ends meanwhile.
func TestLive(t *testing.T) {
	fetches := 0
	procs := &pmda.InDom{Serial: 9, List: func(context.Context) ([]pcp.Instance, error) {
		list := []pcp.Instance{{Inst: 1, Name: "000001 /sbin/init"}}
		if fetches < 4 {
			list = append(list, pcp.Instance{Inst: 4711, Name: "004711 /usr/bin/culprit"})
		}
		return list, nil
	}}
	one := func(v float64) func(int32, int) (pcp.Value, error) {
		return func(int32, int) (pcp.Value, error) { return pcp.DoubleValue(v), nil }
	}
	a, err := pmda.NewTable(pmda.Config{Name: "stage", Domain: 60, Metrics: []pmda.Metric{
		{Name: "proc.fd.count", Item: 1, Type: pcp.TypeDouble, InDom: procs, Sem: pcp.SemInstant, Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.DoubleValue(float64(inst) * 10), nil
		}},
		{Name: "vfs.files.count", Item: 2, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) {
			fetches++
			return pcp.DoubleValue(9900), nil
		}},
		{Name: "vfs.files.max", Item: 3, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Value: one(10000)},
		{Name: "shop.orders", Item: 4, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Value: one(900)},
		{Name: "shop.text", Item: 5, Type: pcp.TypeString, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.StringValue("a"), nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "stage", Domain: 60, Agent: a})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	// A recording of the last hour.
	base := t.TempDir() + "/before"
	start := time.Now().Add(-20 * time.Minute)
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: "web1", TimeZone: "UTC", Start: pcp.TimestampOf(start)}})
	if err != nil {
		t.Fatal(err)
	}
	descs := []pcp.Desc{
		{PMID: pcp.NewPMID(60, 0, 2), Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant},
		{PMID: pcp.NewPMID(60, 0, 4), Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant},
	}
	for i, name := range []string{"vfs.files.count", "shop.orders"} {
		if err := w.Desc(descs[i], name); err != nil {
			t.Fatal(err)
		}
	}
	var res pcp.Result
	for i := range 20 {
		res.Reset()
		res.Time = pcp.TimestampOf(start.Add(time.Duration(i) * time.Minute))
		for j, v := range []float64{9900, 100} {
			res.AddSet(descs[j].PMID)
			res.Add(pcp.DoubleValue(v).WithInst(pcp.InNull))
		}
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := pmapi.OpenArchive(base)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()

	d, err := diagnosis.Run(t.Context(), diagnosis.Config{Context: c, Rules: allRules(t), Samples: 5, Interval: time.Millisecond, Before: before})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Findings) != 2 || d.Samples != 5 {
		t.Fatalf("%d samples: %+v", d.Samples, d.Findings)
	}
	cause, effect := &d.Findings[0], &d.Findings[1]
	if cause.ID != "files.process" || cause.Instance != "004711 /usr/bin/culprit" || cause.AtEnd || !cause.AtStart || cause.Held == 0 || cause.Held > 3 {
		t.Errorf("the first finding is %+v", cause)
	}
	if effect.ID != "files.open" || effect.Cause != 0 || !effect.AtEnd || len(effect.Takers) == 0 || effect.Takers[0].PID != 4711 {
		t.Errorf("the second finding is %+v", effect)
	}
	if len(d.Changes) != 1 || d.Changes[0].Metric != "shop.orders" || d.Changes[0].Before != 100 || d.Changes[0].After != 900 || d.Compared.Compared != 2 {
		t.Errorf("changes: %+v", d.Changes)
	}

	if _, err := diagnosis.Run(t.Context(), diagnosis.Config{Context: c, Rules: allRules(t), Samples: 1}); err != diagnosis.ErrShort {
		t.Errorf("one sample: %v", err)
	}
}

package webapi

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// TestPage runs the requests of docs/web.md to /pmapi and /metrics, in order, on an agent with the
// metrics that it names.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	number := func(int32, int) (pcp.Value, error) { return pcp.Uint64Value(7), nil }
	metric := func(name string, item int) pmda.Metric {
		return pmda.Metric{Name: name, Item: item, Type: pcp.TypeU64, Sem: pcp.SemInstant, OneLine: "one line", Value: number}
	}
	load := metric("kernel.all.load", 1)
	load.InDom = &pmda.InDom{Serial: 1, Instances: []pcp.Instance{{Inst: 0, Name: "1 minute"}, {Inst: 1, Name: "5 minute"}, {Inst: 2, Name: "15 minute"}}}
	var stored pcp.Value
	writable := metric("sample.write_me", 2)
	writable.Store = func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error { stored = v; return nil }
	agent, err := pmda.NewTable(pmda.Config{
		Name: "page", Domain: 400,
		Metrics: []pmda.Metric{load, writable, metric("mem.util.free", 3), metric("mem.physmem", 4), metric("kernel.all.pswitch", 5)},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := serve(t, Config{Open: func(context.Context, string) (*pmapi.Context, error) {
		return pmapi.OpenLocal(pmapi.LocalAgent{Name: "page", Domain: 400, Agent: agent})
	}})
	made := ""
	lines := regexp.MustCompile(`(?m)^    curl (?:-H '(\w+): ([^']*)' )?'http://localhost:44322(/(?:pmapi|metrics)\b[^']*)'$`).FindAllStringSubmatch(string(page), -1)
	if n := strings.Count(string(page), "http://localhost:44322/pmapi") + strings.Count(string(page), "http://localhost:44322/metrics"); n != len(lines) || n < 10 {
		t.Errorf("%d of %d lines are understood", len(lines), n)
	}
	for _, line := range lines {
		var header []string
		if line[1] != "" {
			header = line[1:3]
		}
		w := do(h, trusted, "GET", strings.ReplaceAll(line[3], "CONTEXT", made), "", header...)
		if w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", line[0], w.Code, w.Body)
		}
		var answer struct{ Context json.Number }
		if json.Unmarshal(w.Body.Bytes(), &answer) == nil && strings.Contains(line[3], "/context?") {
			made = answer.Context.String()
		}
		if strings.Contains(line[3], "names=kernel.all.load") && made != "" && !strings.Contains(w.Body.String(), `"instances":[{"instance":0,"value":7},{"instance":2,"value":7}]`) {
			t.Errorf("%s: %s", line[0], w.Body)
		}
	}
	if stored.Uint64() != 7 {
		t.Errorf("stored %v", stored)
	}
}

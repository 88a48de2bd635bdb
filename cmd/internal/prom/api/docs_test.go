package api_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// host is the server in the pages of docs.
const host = "http://localhost:44322"

// TestPage runs the commands of docs/web.md that ask /api/v1, and the one with promtool, over series with the names, labels and times of the
// page.
func TestPage(t *testing.T) {
	for _, name := range []string{"curl", "promtool"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: %s is not installed: apt-get install curl prometheus", name)
		}
	}
	page, err := os.ReadFile("../../../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	const start, end = 1_700_000_000, 1_700_003_600
	s := seriestest.New()
	disks, loads := pcp.NewInDom(60, 1), pcp.NewInDom(60, 2)
	for i, m := range []struct {
		name  string
		indom pcp.InDom
		inst  string
		sem   pcp.Sem
	}{
		{"disk.dev.read", disks, "sda", pcp.SemCounter},
		{"kernel.all.load", loads, "1 minute", pcp.SemInstant},
		{"kernel.all.pswitch", pcp.InDomNull, "", pcp.SemCounter},
	} {
		id := s.AddMetric(m.name, pcp.Desc{PMID: pcp.NewPMID(60, 0, i), Type: pcp.TypeU64, InDom: m.indom, Sem: m.sem}, `{"hostname":"www"}`, "/a/www", "www")
		v := series.InstValue{Value: pcp.Uint64Value(0).WithInst(pcp.InNull)}
		if m.inst != "" {
			v = series.InstValue{Instance: s.AddInstance(id, 0, m.inst, ""), Value: pcp.Uint64Value(0).WithInst(0)}
		}
		for at := int64(start); at <= end; at += 60 {
			one := v
			one.Value = pcp.Uint64Value(uint64(at - start)).WithInst(v.Value.Inst)
			s.Append(id, pcp.Timestamp{Sec: at}, one)
		}
	}
	srv := httptest.NewServer(api.New(api.Config{Store: store.New(s, store.Config{}), Now: func() time.Time { return time.Unix(end, 0) }}))
	defer srv.Close()

	want := map[string]string{ // parts of the replies
		"/api/v1/query'":      `"value":[1700003600,"1"]`,
		"/api/v1/query_range": `[1700000060,"60"]`,
		"/api/v1/series":      `{"__name__":"disk_dev_read","hostname":"www","instid":"0","instname":"sda"}`,
		"/api/v1/label/":      `["www"]`,
		"/api/v1/metadata":    `"type":"gauge"`,
		"promtool":            `{hostname="www"} => 1 @[`,
	}
	lines := regexp.MustCompile(`(?m)^    ((curl|promtool) .*`+host+`(?:/api/v1/| ).*)$`).FindAllStringSubmatch(string(page), -1)
	if n := strings.Count(string(page), host+"/api/v1/"); len(lines) != n+1 || len(lines) != len(want) {
		t.Errorf("%d commands for %d requests", len(lines), n)
	}
	for _, line := range lines {
		name := line[2]
		command := strings.ReplaceAll(line[1], host, srv.URL)
		if name == "curl" {
			command = strings.Replace(command, "curl ", "curl -sS --fail ", 1)
		} else {
			command = strings.Replace(command, "instant ", "instant --time=1700003600 ", 1)
		}
		cmd := exec.Command("sh", "-c", command)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v %s", line[1], err, errs.String())
			continue
		}
		if name == "curl" && !json.Valid(out) {
			t.Errorf("%s: %s", line[1], out)
		}
		found := false
		for part, text := range want {
			if strings.Contains(line[1], part) {
				found = true
				if !strings.Contains(string(out), text) {
					t.Errorf("%s: %s, want %s", line[1], out, text)
				}
			}
		}
		if !found {
			t.Errorf("%s: nothing is expected", line[1])
		}
	}
}

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/rules"
)

// TestRules shows groups, rules and alerts as Prometheus does.
func TestRules(t *testing.T) {
	e := rules.New(rules.Config{Data: newStore()})
	f, err := rules.Parse("/r.yml", []byte(`
groups:
- name: b
  interval: 10s
  limit: 5
  labels: {team: web}
  rules:
  - {record: 'disk:read', expr: 'sum by (hostname) (disk_dev_read)', labels: {a: b}}
  - {alert: Reads, expr: 'disk:read > 100', for: 10s, keep_firing_for: 1m, labels: {severity: page}, annotations: {summary: '{{ $value }} on {{ $labels.hostname }}'}}
  - {alert: Waits, expr: 'hinv_ncpu > 1', for: 1h}
- name: a
  rules:
  - {record: wrong, expr: '"text"'}
`))
	if err != nil {
		t.Fatal(err)
	}
	e.Load([]*rules.File{f})
	h := newHandler(api.Config{Rules: e, Alerts: func() []api.Alert {
		return []api.Alert{{Labels: map[string]string{"alertname": "other"}, State: "firing"}}
	}})
	took := regexp.MustCompile(`"evaluationTime":[0-9.e-]+`)
	check := func(path, want string, pairs ...string) {
		t.Helper()
		status, body := ask(h, http.MethodGet, path, values(pairs...))
		body = took.ReplaceAllString(body, `"evaluationTime":T`)
		if want = `{"status":"success","data":` + want + `}`; status != 200 || body != want {
			t.Errorf("%s %q: %d\n%s\nwant\n%s", path, pairs, status, body, want)
		}
	}
	const zero = `"lastEvaluation":"0001-01-01T00:00:00Z"`
	check("rules", `{"groups":[{"name":"a","file":"/r.yml","rules":[{"name":"wrong","query":"\"text\"","labels":{},"health":"unknown","evaluationTime":T,`+zero+
		`,"type":"recording"}],"interval":60,"limit":0,"evaluationTime":T,`+zero+`}]}`, "rule_group[]", "a")
	if err := e.Walk(context.Background(), time.Unix(1000, 0), time.Unix(1020, 0)); err != nil {
		t.Fatal(err)
	}
	const last = `"lastEvaluation":"1970-01-01T00:17:00Z"`
	const wrong = `{"name":"a","file":"/r.yml","rules":[{"name":"wrong","query":"\"text\"","labels":{},"health":"err","lastError":"rule result is not a vector or scalar",` +
		`"evaluationTime":T,"lastEvaluation":"1970-01-01T00:16:40Z","type":"recording"}],"interval":60,"limit":0,"evaluationTime":T,"lastEvaluation":"1970-01-01T00:16:40Z"}`
	const recording = `{"name":"disk:read","query":"sum by (hostname) (disk_dev_read)","labels":{"a":"b","team":"web"},"health":"ok","evaluationTime":T,` + last + `,"type":"recording"}`
	const reads = `{"labels":{"a":"b","alertname":"Reads","hostname":"www","severity":"page","team":"web"},"annotations":{"summary":"207 on www"},` +
		`"state":"firing","activeAt":"1970-01-01T00:16:50Z","value":"2.07e+02"}`
	const waits = `{"labels":{"alertname":"Waits","hostname":"www","team":"web"},"annotations":{},"state":"pending","activeAt":"1970-01-01T00:16:40Z","value":"4e+00"}`
	alerting := func(alerts string) string {
		return `{"state":"firing","name":"Reads","query":"disk:read \u003e 100","duration":10,"keepFiringFor":60,"labels":{"severity":"page","team":"web"},` +
			`"annotations":{"summary":"{{ $value }} on {{ $labels.hostname }}"},"alerts":` + alerts + `,"health":"ok","evaluationTime":T,` + last + `,"type":"alerting"}`
	}
	const waiting = `{"state":"pending","name":"Waits","query":"hinv_ncpu \u003e 1","duration":3600,"keepFiringFor":0,"labels":{"team":"web"},"annotations":{},"alerts":[` + waits +
		`],"health":"ok","evaluationTime":T,` + last + `,"type":"alerting"}`
	b := func(rules string) string {
		return `{"name":"b","file":"/r.yml","rules":[` + rules + `],"interval":10,"limit":5,"evaluationTime":T,` + last + `}`
	}
	check("rules", `{"groups":[`+wrong+`,`+b(recording+`,`+alerting(`[`+reads+`]`)+`,`+waiting)+`]}`)
	check("rules", `{"groups":[`+b(recording)+`]}`, "type", "record", "rule_group[]", "b")
	check("rules", `{"groups":[`+b(alerting("null"))+`]}`, "type", "alert", "rule_name[]", "Reads", "exclude_alerts", "true")
	check("rules", `{"groups":[`+b(alerting(`[`+reads+`]`))+`]}`, "match[]", `{severity="page"}`)
	check("rules", `{"groups":[]}`, "file[]", "/x.yml")
	check("rules", `{"groups":[`+wrong+`],"groupNextToken":"{file=\"/r.yml\", name=\"b\"}"}`, "group_limit", "1")
	check("rules", `{"groups":[`+b(recording)+`]}`, "group_limit", "1", "group_next_token", `{file="/r.yml", name="b"}`, "type", "record")
	check("alerts", `{"alerts":[{"labels":{"alertname":"other"},"annotations":null,"state":"firing","activeAt":"0001-01-01T00:00:00Z","value":""},`+reads+`,`+waits+`]}`)
	check("query", `{"resultType":"vector","result":[{"metric":{"__name__":"disk:read","a":"b","hostname":"www","team":"web"},"value":[1020,"207"]}]}`,
		"query", "disk:read", "time", "1020")
	check("label/alertstate/values", `["firing","pending"]`)
	for _, c := range [][3]string{
		{"type", "x", `invalid parameter \"type\": not supported value \"x\"`},
		{"exclude_alerts", "x", `invalid parameter \"exclude_alerts\": error converting exclude_alerts: strconv.ParseBool: parsing \"x\": invalid syntax`},
		{"group_limit", "0", `invalid parameter \"group_limit\": group_limit needs to be greater than 0`},
		{"group_next_token", "x", `invalid parameter \"group_next_token\": group_limit needs to be present in order to paginate over the groups`},
	} {
		status, body := ask(h, http.MethodGet, "rules", values(c[0], c[1]))
		if want := `{"status":"error","errorType":"bad_data","error":"` + c[2] + `"}`; status != 400 || body != want {
			t.Errorf("%s=%s: %d %s, want %s", c[0], c[1], status, body, want)
		}
	}
}

// TestVmalert has vmalert evaluate a file over the interface, and compares its alerts with those of package rules. It needs vmalert:
//
//	go install github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert@v1.151.0
func TestVmalert(t *testing.T) {
	path, err := exec.LookPath("vmalert")
	if err != nil {
		t.Log("vmalert is not installed: nothing is tested with it")
		return
	}
	const text = `
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Reads, expr: 'rate(disk_dev_read[1m]) > 5', labels: {severity: '{{ if gt $value 9.0 }}page{{ else }}info{{ end }}'}, annotations: {summary: '{{ $labels.instname }} {{ $value | humanize }}'}}
  - {alert: Few, expr: 'sum by (hostname) (hinv_ncpu) < 8', for: 2s}
  - {alert: None, expr: 'absent(nothing)'}
  - {alert: Never, expr: 'hinv_ncpu > 8'}
  - {alert: Pending, expr: 'hinv_ncpu == 4', for: 1h}
`
	start := time.Now().Truncate(10 * time.Second).Add(-10 * time.Minute)
	s := newStoreAt(start.Unix(), 120)
	srv := httptest.NewServer(api.New(api.Config{Store: s}))
	defer srv.Close()
	f, err := rules.Parse("r.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "r.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var states []map[string]string
	e := rules.New(rules.Config{Data: s, Observe: func(ev rules.Evaluation) {
		if ev.Err != nil {
			t.Error(ev.Err)
		}
		for _, a := range ev.Alerts {
			m := a.Labels.Map()
			m["state"], m["summary"], m["value"] = string(a.State), a.Annotations.Get("summary"), strconv.FormatFloat(a.Value, 'g', 9, 64)
			states = append(states, m)
		}
	}})
	e.Load([]*rules.File{f})
	now := time.Now().Truncate(time.Second)
	for i := range 5 {
		states = nil
		if err := e.Walk(t.Context(), now.Add(time.Duration(i)*time.Second), now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	want := lines(states)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	var out bytes.Buffer
	cmd := exec.Command(path, "-rule="+file, "-datasource.url="+srv.URL, "-notifier.blackhole", "-httpListenAddr="+addr, "-datasource.queryStep=1s", "-rule.evalDelay=0s")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%.4000s", out.String())
		}
	}()
	got := ""
	for end := time.Now().Add(time.Minute); got != want && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		resp, err := http.Get("http://" + addr + "/api/v1/alerts")
		if err != nil {
			continue
		}
		var reply struct {
			Data struct {
				Alerts []struct {
					State, Value        string
					Labels, Annotations map[string]string
				}
			}
		}
		err = json.NewDecoder(resp.Body).Decode(&reply)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var list []map[string]string
		for _, a := range reply.Data.Alerts {
			v, err := strconv.ParseFloat(a.Value, 64)
			if err != nil {
				t.Fatal(err)
			}
			delete(a.Labels, "alertgroup") // its own
			a.Labels["state"], a.Labels["summary"], a.Labels["value"] = a.State, a.Annotations["summary"], strconv.FormatFloat(v, 'g', 9, 64)
			list = append(list, a.Labels)
		}
		got = lines(list)
	}
	if got != want || strings.Count(want, "firing") != 3 || strings.Count(want, "pending") != 1 {
		t.Errorf("vmalert has\n%s\nwant\n%s", got, want)
	}
}

// lines returns maps as sorted lines.
func lines(list []map[string]string) string {
	var all []string
	for _, m := range list {
		all = append(all, fmt.Sprint(m))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

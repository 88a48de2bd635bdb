package api_test

import (
	"context"
	"net/http"
	"regexp"
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

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// tabs is a view of pmchart with tabs, schemes, globals and hosts, and parts that have no counterpart.
const tabs = `#kmchart
version 1 host dynamic
global width 800
global points 120
scheme blues blue #00f rgbi:0.1/0.2/0.9 nocolour
tab "First <b>tab</b>" host other.example.com points 60 samples 100
chart title "Load" style plot scheme blues legend off
	plot color blues metric kernel.all.load
	plot color #-cycle host * metric hinv.ncpu
view "Second"
chart style event
	plot metric kernel.all.load
chart style stacking
	plot host /var/log/pcp/a metric swap.used
`

// uploads opens files at once.
func (p *tab) uploads(dir string, files map[string]string) {
	p.t.Helper()
	var paths []string
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			p.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	p.run(chromedp.SetUploadFiles(chromedp.CSS("#file"), paths))
}

// notes waits for the list of parts that were not imported, and returns it.
func (p *tab) notes() string {
	p.t.Helper()
	p.until("document.querySelector('.notes li')")
	return eval[string](p, "[...document.querySelectorAll('.notes li')].map((x) => x.textContent).join('\\n')")
}

// TestImportTabs opens a view of pmchart with two tabs: each is a dashboard, and the rest is listed.
func TestImportTabs(t *testing.T) {
	f := newFake(t)
	f.elsewhere = map[string]bool{"other.example.com": true}
	p := open(t, f, "#/charts", 1280, 900)
	p.until("document.querySelector('.welcome')")
	p.uploads(t.TempDir(), map[string]string{"View": tabs})
	p.until("document.querySelectorAll('[role=tab]').length === 2 && document.querySelector('.title').value === 'First <b>tab</b>'")
	p.until("location.hash.includes('window=60') && document.querySelectorAll('.chart tbody tr').length === 4")
	p.until("[...document.querySelectorAll('.chart tbody th')].filter((x) => x.textContent.includes('other.example.com: ')).length === 3")
	if c := eval[string](p, "document.querySelector('.chart tbody rect').getAttribute('fill')"); c != "blue" && c != "#0000ff" {
		t.Errorf("the first line is %s", c)
	}
	notes := p.notes()
	for _, want := range []string{"line 3: global width", "line 5: the colour nocolour is unknown", "line 6: samples", "line 7: legend off"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	p.do("document.querySelectorAll('[role=tab]')[1].click()")
	p.until("document.querySelector('.title').value === 'Second' && document.querySelectorAll('.card').length === 1")
	notes = p.notes()
	for _, want := range []string{"charts of events are not supported", "the archive /var/log/pcp/a is not opened"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	p.shot("second")
	// By a link it is one dashboard, with all tabs.
	q := open(t, f, "#/charts?name=View&view="+url.QueryEscape(tabs), 1280, 900)
	q.until("document.querySelectorAll('.card').length === 4 && document.querySelectorAll('.card h2')[2].textContent === 'Second'")
}

// grafana is a dashboard with panels of all types that are known, and others.
func grafana() map[string]any {
	prom := map[string]any{"type": "prometheus", "uid": "x"}
	vector := map[string]any{"type": "performancecopilot-vector-datasource"}
	target := func(expr string, more ...any) map[string]any {
		m := map[string]any{"expr": expr, "refId": "A"}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	return map[string]any{
		"title": "Imported " + hostile, "schemaVersion": 39, "time": map[string]any{"from": "now-15m", "to": "now"},
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "ds", "type": "datasource"},
			map[string]any{"name": "disk", "type": "custom", "query": "sda,sdb", "current": map[string]any{"value": "sda"}},
			map[string]any{"name": "host", "type": "query", "current": map[string]any{"value": []any{"a\"b"}}},
			map[string]any{"name": "a-b", "type": "custom", "query": "x"},
		}},
		"annotations": map[string]any{"list": []any{map[string]any{"builtIn": 1, "enable": true}, map[string]any{"name": "Deploys", "enable": true}}},
		"panels": []any{
			map[string]any{"type": "row", "title": "A row", "panels": []any{
				map[string]any{
					"type": "timeseries", "title": "Reads", "datasource": prom, "targets": []any{target(`rate(disk_dev_read{instname=~"$disk", host="$host"}[$__rate_interval])`, "legendFormat", "disk {{instname}}"), target("up", "hide", true), target("x", "datasource", map[string]any{"type": "loki"})},
					"fieldConfig": map[string]any{"defaults": map[string]any{"unit": "Bps", "min": 0, "custom": map[string]any{"fillOpacity": 20, "stacking": map[string]any{"mode": "normal"}, "thresholdsStyle": map[string]any{"mode": "line"}}, "thresholds": map[string]any{"steps": []any{map[string]any{"value": nil, "color": "green"}, map[string]any{"value": 2500, "color": "red"}}}}, "overrides": []any{map[string]any{}}},
				},
			}},
			map[string]any{"type": "stat", "title": "Load", "datasource": vector, "targets": []any{target("kernel.all.load", "legendFormat", "$instance")}, "options": map[string]any{"reduceOptions": map[string]any{"calcs": []any{"median"}}}},
			map[string]any{"type": "table", "title": "Disks", "datasource": vector, "targets": []any{target(`disk.dev.read{instance.name == "sda"}`), target("disk_dev_read", "datasource", prom)}},
			map[string]any{"type": "heatmap", "title": "Bad", "datasource": prom, "targets": []any{target("bad")}},
			map[string]any{"type": "text", "title": "Words", "options": map[string]any{"mode": "html", "content": hostile}},
			map[string]any{"type": "alertlist", "title": "Alerts"},
			map[string]any{"type": "graph", "title": "Old", "yaxes": []any{map[string]any{"format": "ms", "logBase": 10}}, "fill": 0, "targets": []any{target("kernel.all.load")}},
			map[string]any{"type": "timeseries", "title": "Influx", "datasource": map[string]any{"type": "influxdb"}, "targets": []any{map[string]any{"query": "SELECT 1"}}},
			"not a panel",
		},
	}
}

// TestImportGrafana opens a dashboard of Grafana: its panels of PromQL and PCP are drawn, and all others are listed with the reason.
func TestImportGrafana(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts", 1280, 1400)
	p.until("document.querySelector('.welcome')")
	b, err := json.Marshal(map[string]any{"dashboard": grafana()})
	if err != nil {
		t.Fatal(err)
	}
	p.uploads(t.TempDir(), map[string]string{"g.json": string(b)})
	p.until("document.querySelectorAll('.card').length === 7 && location.hash.includes('window=900')")
	p.until("[..." + card("Reads") + ".querySelectorAll('tbody th')].map((x) => x.textContent).sort().join() === 'disk " + hostile + ",disk sda'")
	p.until(card("Reads") + ".textContent.includes('1.95 KiB/s') && " + card("Reads") + ".textContent.includes('Thresholds: 2.44 KiB/s')")
	p.until(card("Load") + ".querySelectorAll('dd').length === 3")
	p.until(card("Disks") + ".querySelectorAll('tbody tr').length === 3")
	p.until(card("Bad") + ".textContent.includes('parse error " + hostile + "')")
	p.until(card("Words") + ".textContent.includes('onerror') && document.querySelectorAll('main img').length === 0")
	p.until(card("Old") + ".textContent.includes('logarithmic')")
	if !f.asked("/api/v1/query_range?query=rate(disk_dev_read%7Binstname%3D~%22sda%22%2C%20host%3D%22a%5C%22b%22%7D%5B60s%5D)&") {
		t.Error("the variables are not in the query")
	}
	notes := p.notes()
	for _, want := range []string{
		"variable ds: the data source is this server", "variable host: it does not ask a data source", `variable "a-b": the name has other characters`, `annotation "Deploys"`,
		`panel "Reads": settings for single series are not applied`, `panel "Reads", query A: it is hidden`, `panel "Reads", query A: the data source "loki" is not supported`,
		`panel "Load": the calculation "median" is not supported`, `panel "Words": its HTML is shown as text`, `panel "Alerts": panels of the type "alertlist" are not supported`,
		`panel "Influx", query 1: the data source "influxdb" is not supported`, `panel "Influx": no query of it can be imported`, "a panel that is not an object",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	p.shot("grafana")
	// A choice of a variable asks again.
	p.choose("disk", "sdb")
	for end := time.Now().Add(patience); !f.asked("/api/v1/query_range?query=rate(disk_dev_read%7Binstname%3D~%22(sda%7Csdb)%22"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the chosen value is not in the query")
		}
	}
	// The notes stay with the dashboard, and can be dropped.
	p.run(chromedp.Navigate(f.URL + "/?again#/charts"))
	p.notes()
	p.do("document.querySelector('.notes').open = true")
	p.button("Forget them")
	p.until("!document.querySelector('.notes')")
}

// TestImportHostile opens files that are wrong, huge or deep: each is an error or a dashboard with notes, and the page still works.
func TestImportHostile(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts?chart=hinv.ncpu", 1280, 900)
	p.until("document.querySelectorAll('.card').length === 1")
	dir := t.TempDir()
	deep := strings.Repeat(`{"type":"row","title":"r","panels":[`, 2000) + strings.Repeat("]}", 2000)
	panels := strings.TrimSuffix(strings.Repeat(`{"type":"timeseries","title":"x","targets":[{"expr":"up"}]},`, 1000), ",")
	g := func(s string) string { return `{"schemaVersion":1,` + s + `}` }
	for i, x := range []struct{ text, bad, note string }{
		{g(`"panels":[]`), "has no panels", ""},
		{g(`"panels":{"0":{}}`), "has no panels", ""},
		{g(`"title":{"a":1},"panels":[null,1,[],{}]`), "", "a panel that is not an object"},
		{g(`"panels":[` + deep + `]`), "", "rows within rows are left out"},
		{g(`"panels":[` + panels + `]`), "", "a dashboard has at most 200 panels"},
		{g(`"panels":[{"type":"__proto__","title":"p"},{"type":"constructor"}]`), "", `the type "__proto__" are not supported`},
		{g(`"panels":[{"type":"graph","title":"g","targets":[{"expr":{"toString":1}},{"expr":["x"]},{"expr":"` + strings.Repeat("x", 9000) + `"}]}]`), "", "the expression is longer than 8000 characters"},
		{g(`"panels":[{"type":"graph","title":"g","fieldConfig":{"defaults":{"unit":"hasOwnProperty","min":"-Infinity","max":"NaN"}},"targets":[{"expr":"up","legendFormat":"{{__proto__}}"}]}]`), "", `the unit "hasOwnProperty" is unknown`},
		{g(`"templating":{"list":[{"name":"__proto__","type":"custom","query":"a"},{"name":"x","type":"query","current":{"value":{"a":1}}}]},"panels":[{"type":"text","options":{"content":"$__proto__ $x"}}]`), "", "variable x: it does not ask a data source"},
		{g(`"panels":[{"type":"graph","title":"p","datasource":"PCP Vector","targets":[{"expr":"disk.dev.read{instance.name =~ \"(a+)+$\"}"}]}]`), "it repeats a group that repeats", ""},
		{g(`"panels":[{"type":"graph","title":"p","datasource":{"type":"pcp-redis-datasource"},"targets":[{"expr":"topk(3, a.b)"},{"expr":"a.b{x > 1}"}]}]`), "", "the function topk is not supported"},
		{"#kmchart\nversion 1\n" + strings.Repeat("tab x\nchart style plot\n plot metric a\n", 60), "more than 50 tabs", ""},
		{"#kmchart\nversion 1\nchart style plot\n" + strings.Repeat(" plot metric a\n", 300), "", "a chart has at most 200 plots"},
		{"#kmchart\nversion 1\nscheme a " + strings.Repeat("red ", 500) + "\nchart style constructor\n", "line 4: \"constructor\" is not a style", ""},
		{"#kmchart\nversion 1\nglobal points 1e999\n", "line 3: \"1e999\" is not a number", ""},
		{"#kmchart\nversion 1\nglobal __proto__ 1\n", "is unknown as global", ""},
		{"#kmchart\nversion 1\nscheme #-cycle red\n", "#-cycle is the name of the scheme of the page", ""},
		{"#kmchart\nversion 1\ntab\n", "line 3: the name of the tab is missing", ""},
		{"#kmchart\nversion 1\nchart style plot\n plot metric a matching (x*)*\n", "it repeats a group that repeats", ""},
		{"#kmchart\nversion 1\n" + strings.Repeat("\"\\", 200000), "is unknown", ""},
	} {
		name := fmt.Sprintf("h%d", i)
		p.uploads(dir, map[string]string{name: x.text})
		if x.bad != "" {
			p.until(fmt.Sprintf("document.querySelector('.trouble')?.textContent.includes(%q)", x.bad))
			continue
		}
		p.until(fmt.Sprintf("[...document.querySelectorAll('.notes li')].some((n) => n.textContent.includes(%q)) && !document.querySelector('.trouble')", x.note))
	}
	if n := eval[int](p, "Object.keys(Object.prototype).length"); n != 0 {
		t.Error("the prototype of objects was changed")
	}
}

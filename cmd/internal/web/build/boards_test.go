package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/longtest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// board is a dashboard with a panel of each kind. Its names are hostile.
var board = map[string]any{
	"title": "Kinds " + hostile,
	"variables": []any{
		map[string]any{"name": "disk", "kind": "instance", "metric": "disk.dev.read", "values": []any{}},
		map[string]any{"name": "first", "title": "First letter", "kind": "label", "metric": "disk.dev.read", "label": "initial", "values": []any{}},
		map[string]any{"name": "way", "kind": "choice", "choices": []any{"in", "out"}, "values": []any{}},
		map[string]any{"name": "host", "kind": "host", "values": []any{}},
	},
	"panels": []any{
		map[string]any{
			"kind": "chart", "title": "Log", "style": "line", "log": true, "scheme": "warm",
			"plots": []any{map[string]any{"metric": "proc.io.write_bytes"}}, "thresholds": []any{map[string]any{"value": 1e6, "level": "warn", "text": "much"}, map[string]any{"value": 4e7, "level": "bad"}},
		},
		map[string]any{"kind": "value", "title": "Value " + hostile, "of": "max", "plots": []any{map[string]any{"metric": "hinv.ncpu"}, map[string]any{"metric": "hostile.values"}}, "thresholds": []any{map[string]any{"value": 4, "level": "bad"}}},
		map[string]any{"kind": "heat", "title": "Heat", "scheme": "heat", "plots": []any{map[string]any{"metric": "hostile.values"}, map[string]any{"metric": "kernel.all.load", "legend": "%i"}}},
		map[string]any{"kind": "table", "title": "Table", "rows": 2, "plots": []any{map[string]any{"metric": "hostile.values"}, map[string]any{"metric": "hostile.text", "legend": "words"}}},
		map[string]any{"kind": "text", "title": "Text about $disk", "text": "# Head\n\n" + hostile + "\n\n- one\n- $way\n\n\x1b[31m\u202egnp.exe"},
		map[string]any{"kind": "chart", "title": "Disks $disk", "style": "bar", "plots": []any{map[string]any{"metric": "disk.dev.read", "instances": []any{"$disk"}, "where": map[string]any{"initial": []any{"$first"}}}}},
		map[string]any{"kind": "chart", "title": "Network $way", "style": "line", "plots": []any{map[string]any{"metric": "network.interface.${way}.bytes", "host": "$host"}}},
	},
}

func linkOf(board any) string {
	b, err := json.Marshal(board)
	if err != nil {
		panic(err)
	}
	return "#/charts?d=" + url.QueryEscape(string(b))
}

// card is an expression for the panel with a title.
func card(title string) string {
	return fmt.Sprintf("[...document.querySelectorAll('.card')].find((c) => c.querySelector('h2')?.textContent === %q)", title)
}

// upload opens a file.
func (p *tab) upload(dir, name, text string) {
	p.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	p.run(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path}))
}

// choose ticks a value of a variable.
func (p *tab) choose(variable, value string) {
	p.t.Helper()
	box := fmt.Sprintf("[...document.querySelectorAll('.pick')].find((d) => d.querySelector('.dim').textContent === %q)", variable+":")
	p.until(box)
	p.do(box + ".open = true")
	label := fmt.Sprintf("[...%s.querySelectorAll('.check')].find((l) => l.textContent.trim() === %q)", box, value)
	p.until(label)
	p.do(label + ".querySelector('input').click()")
	p.do(box + ".open = false")
}

// TestPanels draws each kind of panel, with variables, thresholds and colours, also on a narrow screen.
func TestPanels(t *testing.T) {
	f := newFake(t)
	p := open(t, f, linkOf(board), 1280, 1400)
	p.until("document.querySelectorAll('.card').length === 7 && document.querySelectorAll('.uplot').length === 3")
	// Powers of ten at the axis, thresholds, and a mark beside the value above one.
	p.until(card("Log") + ".querySelector('tbody td.bad') && " + card("Log") + ".querySelector('tbody .over.bad').textContent.startsWith('▲') && " + card("Log") + ".textContent.includes('Thresholds: much (977 KiB/s), 38.1 MiB/s')")
	p.until(card("Value "+hostile) + ".querySelectorAll('dd').length === 4 && " + card("Value "+hostile) + ".querySelector('dd.bad .huge').textContent.includes('4')")
	p.until(card("Heat") + ".querySelector('canvas').width > 200")
	p.until(card("Table") + ".querySelectorAll('tbody tr').length === 2 && " + card("Table") + ".querySelector('tbody td:last-child').textContent.includes('onerror') && " + card("Table") + ".textContent.includes('1 more')")
	p.until(card("Text about all") + ".querySelector('h3').textContent === 'Head' && " + card("Text about all") + ".querySelectorAll('li').length === 2")
	if n := eval[int](p, "document.querySelectorAll('main img, main script').length"); n != 0 {
		t.Errorf("%d elements are made of texts", n)
	}
	if s := eval[string](p, card("Text about all")+".textContent"); strings.ContainsAny(s, "\x1b\u202e") {
		t.Errorf("the text has control characters: %q", s)
	}
	p.shot("kinds")

	// The heat map by keys.
	p.do(card("Heat") + ".querySelector('.cells').focus()")
	p.run(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowLeft))
	p.until("/, (no value|[\\d.]+), .*GMT|, [\\d.]+, .*UTC/.test(" + card("Heat") + ".querySelector('[role=status]').textContent)")

	// Variables: of instances, labels, words and hosts.
	p.until(card("Disks all") + ".querySelectorAll('tbody tr').length === 2")
	p.choose("disk", "sda")
	p.until(card("Disks sda") + ".querySelectorAll('tbody tr').length === 1 && " + card("Text about sda"))
	p.choose("disk", "all")
	p.choose("First letter", "n")
	p.until(card("Disks all") + ".querySelectorAll('tbody tr').length === 1 && " + card("Disks all") + ".querySelector('tbody tr').textContent.includes('nvme0n1')")
	p.until(card("Network in"))
	p.choose("way", "out")
	p.until(card("Network out") + ".querySelectorAll('tbody tr').length === 2")
	f.mu.Lock()
	f.elsewhere = map[string]bool{"other.example.com": true}
	f.mu.Unlock()
	p.until("location.hash.includes('%22values%22%3A%5B%22out%22%5D')") // the link follows
	p.do("location.hash = location.hash.replace('%22kind%22%3A%22host%22%2C%22values%22%3A%5B%5D', '%22kind%22%3A%22host%22%2C%22values%22%3A%5B%22fake.example.com%22%2C%22other.example.com%22%5D')")
	p.until("[..." + card("Network out") + ".querySelectorAll('tbody tr')].filter((r) => r.textContent.includes('other.example.com: ')).length === 2")

	// On a narrow screen nothing is wider than it.
	q := open(t, f, linkOf(board), 390, 844)
	q.until("document.querySelectorAll('.card').length === 7 && document.querySelectorAll('.uplot').length === 3 && " + card("Table") + ".querySelector('tbody tr')")
	if w := eval[int](q, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("the page is %d pixels wide", w)
	}
	q.shot("narrow")
}

// TestPanelsSaved saves each kind of panel as each kind of file.
func TestPanelsSaved(t *testing.T) {
	f := newFake(t)
	for _, title := range []string{"Log", "Value " + hostile, "Heat", "Table"} {
		// A page of its own: the browser allows each ten files.
		p := open(t, f, linkOf(board), 1280, 1400)
		p.until("document.querySelectorAll('.uplot').length === 3 && " + card("Log") + ".querySelector('tbody td.bad') && " + card("Table") + ".querySelector('tbody tr') && " + card("Value "+hostile) + ".querySelectorAll('dd').length === 4")
		p.until(card("Log") + ".querySelector('.joint')") // the recorded samples are there
		dir := p.downloads()
		for _, as := range []string{"PNG", "SVG", "CSV", "JSON"} {
			p.do(card(title) + ".querySelector('.menu').open = true")
			find := fmt.Sprintf("[...%s.querySelectorAll('.menu button')].find((b) => b.textContent === %q)", card(title), as)
			p.until(find)
			p.do(find + ".click()")
			b := file(t, dir, strings.ToLower(as))
			switch as {
			case "PNG":
				if m, err := png.Decode(bytes.NewReader(b)); err != nil || m.Bounds().Dx() < 300 {
					t.Errorf("%s: the picture: %v", title, err)
				}
			case "SVG":
				if !bytes.Contains(b, []byte("</svg>")) || bytes.Contains(b, []byte("<img")) || !bytes.Contains(b, []byte("fake.example.com")) {
					t.Errorf("%s: the SVG is\n%.1000s", title, b)
				}
			case "CSV":
				rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
				if err != nil || len(rows) < 3 {
					t.Errorf("%s: %d rows: %v", title, len(rows), err)
				}
			case "JSON":
				var v struct {
					Format, Title, Host, From string
					Lines                     []struct {
						Metric, Instance, Unit string
						Samples                [][2]any
					}
					Rows []struct {
						Name   string
						Values []any
					}
				}
				if err := json.Unmarshal(b, &v); err != nil || v.Title != title || v.Host != "fake.example.com" || v.From == "" || len(v.Lines)+len(v.Rows) < 3 {
					t.Errorf("%s: %v in\n%.1000s", title, err, b)
				}
				if title == "Log" && (v.Lines[0].Metric != "proc.io.write_bytes" || v.Lines[0].Unit != "B/s" || v.Lines[0].Instance == "" || len(v.Lines[0].Samples) < 3) {
					t.Errorf("the JSON is\n%.1000s", b)
				}
			}
		}
	}
}

// TestPanelsEdited turns a chart into each other kind, gives it a threshold and a variable, all by the dialogs.
func TestPanelsEdited(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts?chart=disk.dev.read", 1280, 900)
	p.until("document.querySelectorAll('.chart tbody tr').length === 2")
	p.button("Variables…")
	p.button("Add a variable")
	p.until("document.querySelector('dialog .plots li')")
	p.do("document.querySelector('dialog [role=combobox]').focus()")
	p.run(chromedp.KeyEvent("disk.dev.read"), chromedp.KeyEvent(kb.Enter))
	p.until("document.querySelector('dialog').textContent.includes('of disk.dev.read')")
	p.button("Done")
	p.until("document.querySelector('.pick')")
	style := func(s string) {
		t.Helper()
		p.button("Edit disk.dev.read")
		p.until("document.querySelector('dialog select')")
		p.do(fmt.Sprintf("(() => { const s = document.querySelector('dialog select'); s.value = %q; s.dispatchEvent(new Event('change', {bubbles: true})); })()", s))
	}
	style("line")
	p.button("Add a threshold")
	p.do("[...document.querySelectorAll('dialog label')].find((l) => l.textContent.includes('logarithmic')).querySelector('input').click()")
	p.do("(() => { const s = [...document.querySelectorAll('dialog label')].find((l) => l.textContent.startsWith('Instances')).querySelector('select'); s.value = '$v1'; s.dispatchEvent(new Event('change', {bubbles: true})); })()")
	p.button("Done")
	p.until("document.querySelector('.chart').textContent.includes('Thresholds: 1 /s') && document.querySelector('.chart').textContent.includes('logarithmic')")
	p.choose("v1", "sda")
	p.until("document.querySelectorAll('.chart tbody tr').length === 1")
	style("stack")
	p.button("Done")
	p.until("document.querySelector('.chart').textContent.includes('Thresholds: 1 /s') && !document.querySelector('.chart').textContent.includes('logarithmic')")
	style("value")
	p.button("Done")
	p.until("document.querySelectorAll('.single dd.bad').length === 1")
	style("heat")
	p.button("Done")
	p.until("document.querySelector('.heatpanel canvas').width > 0")
	style("table")
	p.button("Done")
	p.until("document.querySelectorAll('.datatable tbody tr').length === 1")
	p.button("Add a text")
	p.button("Edit Text")
	p.do("(() => { const i = document.querySelector('dialog textarea'); i.value = '# Hello'; i.dispatchEvent(new Event('input', {bubbles: true})); })()")
	p.button("Done")
	p.until("document.querySelector('.words h3').textContent === 'Hello'")

	// Tabs, by arrow keys.
	p.button("New")
	p.until("document.querySelectorAll('[role=tab]').length === 2")
	p.do("document.querySelector('[role=tab][aria-selected=true]').focus()")
	p.run(chromedp.KeyEvent(kb.ArrowLeft))
	p.until("document.querySelectorAll('.card').length === 2 && document.activeElement.getAttribute('aria-selected') === 'true'")
}

// TestPanelsAccessible has axe check all kinds of panels and the dialogs, light and dark.
func TestPanelsAccessible(t *testing.T) {
	script := axeScript(t)
	f := newFake(t)
	p := open(t, f, linkOf(board), 1280, 1400)
	p.until("document.querySelectorAll('.uplot').length === 3 && " + card("Table") + ".querySelector('tbody tr') && " + card("Log") + ".querySelector('tbody td.bad')")
	p.do("(() => { const i = document.querySelector('.title'); i.dispatchEvent(new Event('input', {bubbles: true})); })()") // it is kept
	p.button("New")                                                                                                         // there are tabs then
	p.until("document.querySelectorAll('[role=tab]').length === 2")
	p.do("[...document.querySelectorAll('[role=tab]')].find((b) => b.textContent.startsWith('Kinds')).click()")
	for range longtest.N(1, 2) {
		p.key("d")
		p.until("document.querySelectorAll('.uplot').length === 3 && " + card("Table") + ".querySelector('tbody tr')")
		p.accessible(script, "panels")
		for _, b := range []string{"Edit Log", "Variables…", "Edit Text about all"} {
			p.button(b)
			p.until("document.querySelector('dialog[open]')")
			p.accessible(script, b)
			p.button("Cancel")
			p.until("!document.querySelector('dialog')")
		}
	}
}

// TestHostileBoards reads dashboards that are wrong or try to hang the page, each with a message that names the place.
func TestHostileBoards(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts?chart=hinv.ncpu", 1280, 900)
	p.until("document.querySelectorAll('.card').length === 1")
	many := strings.Repeat(`{"kind":"text","title":"","text":""},`, 201)
	plot := func(s string) string {
		return `{"title":"x","panels":[{"kind":"chart","title":"x","style":"line","plots":[{"metric":"a",` + s + `}]}]}`
	}
	dir := t.TempDir()
	for i, x := range []struct{ text, says string }{
		{`{"title":"x","panels":[` + strings.TrimSuffix(many, ",") + `]}`, "panels has more than 200 entries"},
		{plot(`"match":"(a+)+$"`), "it repeats a group that repeats"},
		{plot(`"unmatch":"(a|a)*b"`), "it repeats a group that repeats"},
		{plot(`"match":"(.)\\1"`), "it refers back to a group"},
		{plot(`"match":"` + strings.Repeat("a", 1001) + `"`), "it is longer than 1000 characters"},
		{plot(`"where":[]`), "where is not an object"},
		{plot(`"instances":"sda"`), "instances is not a list"},
		{`{"title":"x","panels":[{"kind":"chart","title":"x","style":"stack","log":true,"plots":[]}]}`, "a stack has no logarithmic axis"},
		{`{"title":"x","panels":[{"kind":"value","title":"x","of":"median","plots":[]}]}`, "panels[0].of is not one of last, mean, max"},
		{`{"title":"x","panels":[{"kind":"text","title":"x","text":"` + strings.Repeat("y", 16385) + `"}]}`, "is longer than 16384 characters"},
		{`{"title":"x","panels":[{"kind":"table","title":"x","plots":[],"thresholds":[{"value":"1"}]}]}`, "thresholds[0].value is not a number"},
		{`{"title":"x","panels":[],"variables":[{"name":"a b","kind":"host"}]}`, "variables[0].name is not a name"},
		{`{"title":"x","panels":[],"variables":[{"name":"a","kind":"host"},{"name":"a","kind":"host"}]}`, "there are two variables a"},
		{`{"title":"x","panels":[],"variables":[{"name":"a","kind":"label","metric":"m"}]}`, "variables[0].label is missing"},
		{`{"title":"x","panels":[{"kind":"__proto__","title":"x"}]}`, "panels[0].kind is not one of"},
		{strings.Repeat("[", 100000), "is neither a dashboard nor a view"},
	} {
		p.upload(dir, fmt.Sprintf("f%d.json", i), x.text)
		p.until(fmt.Sprintf("document.querySelector('.trouble')?.textContent.includes(%q)", x.says))
		if n := eval[int](p, "document.querySelectorAll('.card').length"); n != 1 {
			t.Fatalf("%.100s: there are %d panels", x.text, n)
		}
	}
	// A valid but odd dashboard is shown.
	odd := `{"title":"odd","panels":[
		{"kind":"chart","title":"constructor","style":"line","scheme":"__proto__","colors":["javascript:alert(1)","url(http://127.0.0.1:9/)"],"plots":[{"metric":"hostile.values","where":{"__proto__":["x"]}},{"metric":"hostile.values","color":"expression(1)"}]},
		{"kind":"heat","title":"toString","scheme":"constructor","max":-1,"log":true,"plots":[{"metric":"hostile.values"}]},
		{"kind":"value","title":"1e308","plots":[{"metric":"kernel.all.load","legend":"` + strings.Repeat("w", 4000) + `"}],"thresholds":[{"value":1e308},{"value":-1e308}]}]}`
	p.upload(dir, "odd.json", odd)
	p.until("document.querySelectorAll('.card').length === 3 && document.querySelectorAll('.chart tbody tr').length === 3 && document.querySelectorAll('.single dd').length === 3")
	if w := eval[int](p, "document.documentElement.scrollWidth"); w > 1280 {
		t.Errorf("the page is %d pixels wide", w)
	}
}

// TestServedBoards keeps a dashboard on the server: another browser has it too, and two changes at once are both kept.
func TestServedBoards(t *testing.T) {
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	f := private(t, token)
	titles := func(p *tab, want string) {
		t.Helper()
		p.until(fmt.Sprintf("[...document.querySelectorAll('optgroup[label=Mine] option')].map((o) => o.textContent.replace('✓ ', '')).join() === %q", want))
	}
	title := func(p *tab, s string) {
		t.Helper()
		p.do(fmt.Sprintf("(() => { const i = document.querySelector('.title'); i.value = %q; i.dispatchEvent(new Event('input', {bubbles: true})); })()", s))
	}
	p := open(t, f, "?token="+token+"#/charts?chart=swap.used", 1280, 900)
	p.until("document.querySelectorAll('.card').length === 1")
	title(p, "Ours "+hostile)
	p.selects("Where the dashboard is kept", "server")
	p.until("document.querySelector('select[aria-label=\"Where the dashboard is kept\"]').value === 'server'")
	titles(p, "Ours "+hostile)

	q := open(t, f, "?token="+token+"#/charts", 1280, 900)
	titles(q, "Ours "+hostile)
	q.do("(() => { const s = document.querySelector('select[aria-label=\"Open a dashboard\"]'); s.value = [...s.options].find((o) => o.textContent.startsWith('Ours')).value; s.dispatchEvent(new Event('change', {bubbles: true})); })()")
	q.until("document.querySelectorAll('.card').length === 1")
	title(q, "Theirs")
	saved := func(p *tab, want string) {
		t.Helper()
		p.until(fmt.Sprintf("(await (await fetch('dashboards', {headers: {'X-PCP-Page': localStorage.getItem('pcp.key')}})).json()).dashboards.map((d) => d.dashboard.title).join() === %q", want))
	}
	saved(q, "Theirs")
	// The first browser does not know of the change yet.
	title(p, "Mine")
	titles(p, "Theirs,Mine (from this browser)")
	p.until("document.querySelector('.title').value === 'Theirs'")
	saved(p, "Theirs")
	p.shot("both")
	// It is there again after the page was closed, and is deleted for both.
	p.run(chromedp.Navigate(f.URL + "/?again#/charts"))
	p.until("document.querySelector('.title')?.value === 'Theirs' && document.querySelectorAll('[role=tab]').length === 2")
	p.button("Delete")
	titles(p, "Mine (from this browser)")
	saved(p, "")
	title(q, "Kept here")
	titles(q, "Kept here")

	// A browser without the token has only its own.
	r := open(t, f, "#/charts?chart=swap.used", 1280, 900)
	r.until("document.querySelectorAll('.card').length === 1")
	if eval[bool](r, "!!document.querySelector('select[aria-label=\"Where the dashboard is kept\"]')") {
		t.Error("a browser without the token can use the server's dashboards")
	}
}

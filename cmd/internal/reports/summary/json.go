package summary

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/go-pcp/pcp/pcpjson"
)

// facts are the single-value columns of the host's row.
var facts = []struct{ column, metric string }{
	{"platform", "pmda.uname"},
	{"ncpu", "hinv.ncpu"},
	{"ndisk", "hinv.ndisk"},
	{"nnode", "hinv.nnode"},
	{"physmem", "hinv.physmem"}, // MB
	{"timezone", "pmcd.timezone"},
	{"services", "pmcd.services"},
	{"version", "pmcd.version"},
	{"build", "pmcd.build"},
	{"agents", "pmcd.numagents"},
	{"clients", "pmcd.numclients"},
}

// objects prints a row of the source, and one for each agent, pmlogger and pmie process.
func (p *page) objects() {
	v := &p.values
	host := p.row("host", "")
	for _, f := range facts {
		text := v.one[f.metric]
		switch f.column {
		case "timezone":
			text = cmp.Or(text, v.zone)
		case "clients": // except this one
			if n, err := strconv.Atoi(text); err == nil {
				text = strconv.Itoa(n - 1)
			}
		}
		column(&host, f.column, text)
	}
	cpu := ""
	if types := v.lists["hinv.cputype"]; len(types) > 0 {
		cpu = types[0].value
	}
	column(&host, "cputype", cpu)
	if p.archive != "" {
		host.Columns.Text("archive", p.archive)
	}
	p.write(&host)
	for _, e := range v.lists["pmcd.agent.status"] {
		row := p.row("agents", e.name)
		column(&row, "status", e.value)
		p.write(&row)
	}
	p.processes("loggers", []named{{"host", "pmcd.pmlogger.pmcd_host"}, {"archive", "pmcd.pmlogger.archive"}})
	engines := []named{{"host", "pmcd.pmie.pmcd_host"}, {"config", "pmcd.pmie.configfile"}, {"log", "pmcd.pmie.logfile"}, {"rules", "pmcd.pmie.numrules"}}
	if p.rules {
		engines = append(engines, []named{
			{"true", "pmcd.pmie.eval.true"},
			{"false", "pmcd.pmie.eval.false"},
			{"unknown", "pmcd.pmie.eval.unknown"},
			{"actions", "pmcd.pmie.actions"},
			{"expected", "pmcd.pmie.eval.expected"},
		}...)
	}
	p.processes("engines", engines)
}

// A named metric is a column.
type named struct{ column, metric string }

// processes prints a row for each process that is an instance of the first metric. Instances 0 and 1 are other names of
// the primary process.
func (p *page) processes(table string, metrics []named) {
	primary := map[string]bool{}
	value := func(metric, inst string) string {
		for _, e := range p.values.lists[metric] {
			if e.inst == inst {
				return e.value
			}
		}
		return ""
	}
	files := metrics[1].metric
	if table == "engines" {
		files = metrics[2].metric
	}
	for _, inst := range []string{"0", "1"} {
		if file := value(files, inst); file != "" {
			primary[file] = true
		}
	}
	for _, e := range p.values.lists[metrics[0].metric] {
		if e.inst == "0" || e.inst == "1" {
			continue
		}
		row := p.row(table, e.inst)
		for _, m := range metrics {
			column(&row, m.column, value(m.metric, e.inst))
		}
		row.Columns = append(row.Columns, pcpjson.Column{Name: "primary", Value: json.RawMessage(strconv.FormatBool(primary[value(files, e.inst)]))})
		p.write(&row)
	}
}

func (p *page) row(table, instance string) pcpjson.Row {
	return pcpjson.Row{Host: cmp.Or(p.values.one["pmcd.hostname"], p.host), Table: table, Instance: instance}
}

func (p *page) write(row *pcpjson.Row) { p.env.Stdout.Write(pcpjson.Line(row)) }

// column adds a column: a number if the text is numeric, null if it is empty.
func column(row *pcpjson.Row, name, text string) {
	if text == "" {
		row.Columns.Unknown(name)
		return
	}
	switch name {
	case "ncpu", "ndisk", "nnode", "physmem", "agents", "clients", "status", "rules", "true", "false", "unknown", "actions", "expected":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			row.Columns.Number(name, f)
			return
		}
	}
	row.Columns.Text(name, text)
}

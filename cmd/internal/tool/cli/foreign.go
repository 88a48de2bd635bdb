package cli

import "fmt"

// AgentPrograms is the group of the agents that are programs of their own. It is
// the last one in the list of commands.
const AgentPrograms = "Agents as programs, for a collector to start"

// A foreignName is a name that users know from the C implementation or from
// other programs, and that is not a command here.
type foreignName struct {
	use string // the command that does it here: "pcp info"
}

var (
	ruler    = foreignName{use: "pcp ie"}
	reporter = foreignName{use: "pcp rep"}
	server   = foreignName{use: "pcp proxy"}
	page     = foreignName{use: "pcp chart, which opens a page in the browser; pcp proxy serves metrics by HTTP, to Grafana too"}
	scraped  = foreignName{use: "/metrics of the page of pcp up, or of pcp proxy, for Prometheus to scrape; pcp import prometheus makes an archive of its text"}
	exports  = foreignName{use: "pcp export-json, pcp export-influxdb and so on, which pcp help lists under Exports"}
	chart    = foreignName{use: "pcp chart"}
	htop     = foreignName{use: "pcp top, which is a screen of its own"}
)

// foreignNames are the names for which the nearest command in spelling would be
// the wrong advice.
var foreignNames = map[string]foreignName{
	"log": {use: "pcp record"}, "rec": {use: "pcp record"},
	"rules": ruler, "alert": {use: "pcp alerts"}, "rule": ruler,
	"report": reporter,
	"http":   server, "rest": server, "web": page, "browser": page, "dashboard": page, "grafana": page, "ui": page, "gui": page,
	"prometheus": scraped, "exporter": scraped, "scrape": scraped, "openmetrics": scraped,
	"export": exports, "exports": exports,
	"kill": {use: "pcp signal"}, "ping": {use: "pcp cdwait"},
	"cpu": {use: "pcp mpstat"}, "mem": {use: "pcp free or pcp meminfo"}, "memory": {use: "pcp free or pcp meminfo"},
	"disk": {use: "pcp iostat"}, "disks": {use: "pcp iostat"}, "io": {use: "pcp iostat"}, "net": {use: "pcp netstat"}, "network": {use: "pcp netstat"},
	"processes": {use: "pcp ps or pcp top"}, "process": {use: "pcp ps or pcp top"}, "load": {use: "pcp uptime"}, "sar": {use: "pcp atopsar, or pcp import sar for its files"},
	"rewrite": {use: "pcp logrewrite"}, "rename": {use: "pcp logrewrite"}, "redact": {use: "pcp logredact"}, "anonymize": {use: "pcp logredact"},
	"pmchart": chart, "graph": chart, "graphs": chart, "plot": chart,
	"htop":     htop,
	"xsos":     {use: "pcp top --once, or pcp summary"},
	"collectl": {use: "pcp import for its files, pcp vmstat and pcp iostat for what it prints"},
	"watch":    {use: "pcp val"}, "values": {use: "pcp val"}, "value": {use: "pcp val"}, "monitor": {use: "pcp top for all of it, pcp val for one metric"},
	"get": {use: "pcp info -f"}, "fetch": {use: "pcp info -f"}, "show": {use: "pcp info -f"}, "metrics": {use: "pcp info"},
	"ls": {use: "pcp info for metrics, pcp archive ls for archives"}, "list": {use: "pcp info for metrics, pcp archive ls for archives"},
	"names": {use: "pcp info"}, "describe": {use: "pcp info -dtT"}, "desc": {use: "pcp info -d"},
	"set": {use: "pcp store"}, "put": {use: "pcp store"},
	"start": {use: "pcp up"}, "run": {use: "pcp up"}, "collect": {use: "pcp up"}, "serve": {use: "pcp up"}, "collector": {use: "pcp up"},
	"down": {use: "ctrl-C in the terminal of pcp up"}, "stop": {use: "ctrl-C in the terminal of pcp up"},
	"status": {use: "pcp agent list"}, "agents": {use: "pcp agent list"},
	"repair": {use: "pcp archive repair"}, "convert": {use: "pcp archive convert"}, "check": {use: "pcp archive verify"},
	"archives": {use: "pcp archive ls"}, "csv": {use: "pcp import csv"},
	"merge": {use: "pcp logextract"}, "extract": {use: "pcp logextract"}, "reduce": {use: "pcp logreduce"},
	"average": {use: "pcp logsummary"}, "compare": {use: "pcp diff"},
	"past": {use: "pcp replay"}, "history": {use: "pcp replay"}, "dump": {use: "pcp dumplog"},
	"user": {use: "pcp passwd"}, "users": {use: "pcp passwd"}, "accounts": {use: "pcp passwd"},
	"complete": {use: "pcp completion"},
}

// foreign returns the message for a name of a command from elsewhere, "" if the
// name is not known.
func foreign(name string) string {
	f, ok := foreignNames[name]
	if !ok {
		return ""
	}
	return fmt.Sprintf("Here it is %s.\n", f.use)
}

// ForeignNames returns the names from elsewhere that [Unknown] knows, each with
// the command to use in its place, "" if there is none.
func ForeignNames() map[string]string {
	uses := make(map[string]string, len(foreignNames))
	for name, f := range foreignNames {
		uses[name] = f.use
	}
	return uses
}

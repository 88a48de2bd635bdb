package cli

import (
	"fmt"
	"strings"
)

// A foreignName is a name that users know from the C implementation or from
// other programs, and that is not a command here.
type foreignName struct {
	use string // the command that does it here: "pcp info"
}

var (
	ruler      = foreignName{use: "pcp ie"}
	reporter   = foreignName{use: "pcp rep"}
	server     = foreignName{use: "pcp proxy"}
	page       = foreignName{use: "pcp chart, which opens a page in the browser; pcp proxy serves metrics by HTTP, to Grafana too"}
	scraped    = foreignName{use: "/metrics of the page of pcp up, or of pcp proxy, for Prometheus to scrape; pcp query evaluates PromQL, pcp push sends archives, pcp import prometheus reads its text"}
	remote     = foreignName{use: "pcp push, pcp up --remote-write or pcp record --remote-write"}
	exports    = foreignName{use: "pcp export-json, pcp export-influxdb and so on; pcp help export lists them"}
	chart      = foreignName{use: "pcp chart"}
	screen     = foreignName{use: "pcp top, which is a screen of its own"}
	containers = foreignName{use: "pcp top --view cgroups, or pcp info -f cgroup"}
	network    = foreignName{use: "pcp top --view network, or pcp netstat"}
	perProcess = foreignName{use: "pcp top --sort written, or pcp pidstat"}
	gpus       = foreignName{use: "pcp info -f nvidia, for cards of NVIDIA, or pcp info -f drm for those of AMD, Intel and others"}
	collectors = foreignName{use: "pcp up, which collects and records; pcp record records other hosts, and pcp help export lists where values can be sent"}
	notifiers  = foreignName{use: "pcp alerts, for rules and for receivers: web hooks, Alertmanager and mail"}
	telemetry  = foreignName{use: "pcp up --otlp, to receive; pcp otlp, to send"}
	doctor     = foreignName{use: "pcp doctor"}
	profiler   = foreignName{use: "pcp pidstat or pcp top, for the processes that use the processors; there is no profiler of functions"}
)

// foreignNames are the names for which the nearest command in spelling would be
// the wrong advice. They are in lower case, with - for _.
func foreignNames() map[string]foreignName {
	return map[string]foreignName{
		"log": {use: "pcp record"}, "rec": {use: "pcp record"},
		"rules": ruler, "alert": {use: "pcp alerts"}, "rule": ruler,
		"report": reporter,
		"http":   server, "rest": server, "web": page, "browser": page, "dashboard": page, "grafana": page, "ui": page, "gui": page,
		"prometheus": scraped, "exporter": scraped, "scrape": scraped, "openmetrics": scraped, "node-exporter": scraped,
		"promql": {use: "pcp query"}, "promtool": {use: "pcp query for expressions, pcp alerts check for rules"},
		"remote-write": remote, "victoriametrics": remote, "mimir": remote, "thanos": remote, "cortex": remote,
		"opentelemetry": telemetry, "otel": telemetry, "statsd": {use: "pcp up --statsd"},
		"graphite": {use: "pcp export-graphite"}, "influxdb": {use: "pcp export-influxdb"}, "zabbix": {use: "pcp export-zabbix"},
		"elasticsearch": {use: "pcp export-elasticsearch"}, "spark": {use: "pcp export-spark"},
		"parquet": {use: "pcp export-arrow"}, "arrow": {use: "pcp export-arrow"}, "xlsx": {use: "pcp export-xlsx"}, "excel": {use: "pcp export-xlsx"},
		"collectd": collectors, "telegraf": collectors, "munin": collectors, "datadog": collectors,
		"netdata": {use: "pcp up; pcp chart opens its page in the browser"},
		"nagios":  notifiers, "alertmanager": notifiers, "webhook": notifiers, "mail": notifiers, "pagerduty": notifiers, "slack": notifiers,
		"docker": containers, "podman": containers, "kubectl": containers, "ctop": containers, "cadvisor": containers, "systemd-cgtop": containers,
		"container": containers, "containers": containers, "cgroups": containers, "cgroup": containers,
		"nvidia-smi": gpus, "nvtop": gpus, "rocm-smi": gpus, "radeontop": gpus, "gpu": gpus,
		"perf": profiler, "strace": profiler, "bpftrace": profiler,
		"iotop": perProcess, "iftop": network, "nload": network, "nethogs": network, "ifstat": network, "ifconfig": network,
		"slabtop": {use: "pcp slabinfo"}, "df": {use: "pcp info -f filesys.full"}, "w": {use: "pcp uptime"}, "dool": {use: "pcp dstat"},
		"sysstat": {use: "pcp iostat, pcp mpstat, pcp pidstat and pcp atopsar"}, "sadf": {use: "pcp import sar for its files, pcp rep -o csv for CSV"},
		"health": doctor, "troubleshoot": {use: "pcp diagnose"}, "slow": {use: "pcp diagnose"}, "bottleneck": {use: "pcp diagnose"},
		"swap": {use: "pcp vmstat or pcp free"}, "numa": {use: "pcp numastat"}, "systemctl": {use: "pcp service"}, "login": {use: "pcp passwd"},
		"export": exports, "exports": exports,
		"kill": {use: "pcp signal"}, "ping": {use: "pcp cdwait"},
		"cpu": {use: "pcp mpstat"}, "mem": {use: "pcp free or pcp meminfo"}, "memory": {use: "pcp free or pcp meminfo"},
		"disk": {use: "pcp iostat"}, "disks": {use: "pcp iostat"}, "io": {use: "pcp iostat"}, "net": {use: "pcp netstat"}, "network": {use: "pcp netstat"},
		"processes": {use: "pcp ps or pcp top"}, "process": {use: "pcp ps or pcp top"}, "load": {use: "pcp uptime"}, "sar": {use: "pcp atopsar, or pcp import sar for its files"},
		"rewrite": {use: "pcp logrewrite"}, "rename": {use: "pcp logrewrite"}, "redact": {use: "pcp logredact"}, "anonymize": {use: "pcp logredact"},
		"graph": chart, "graphs": chart, "plot": chart,
		"htop": screen, "btop": screen, "bpytop": screen, "glances": screen, "nmon": screen,
		"collectl": {use: "pcp vmstat and pcp iostat"}, "sheet2pcp": {use: "pcp import csv, with the sheet saved as CSV"},
		"watch": {use: "pcp val"}, "values": {use: "pcp val"}, "value": {use: "pcp val"}, "monitor": {use: "pcp top for all of it, pcp val for one metric"},
		"get": {use: "pcp info -f"}, "fetch": {use: "pcp info -f"}, "show": {use: "pcp info -f"}, "metrics": {use: "pcp info"},
		"ls": {use: "pcp info for metrics, pcp archive ls for archives"}, "list": {use: "pcp info for metrics, pcp archive ls for archives"},
		"names": {use: "pcp info"}, "describe": {use: "pcp info -dtT"}, "desc": {use: "pcp info -d"},
		"set": {use: "pcp store"}, "put": {use: "pcp store"},
		"start": {use: "pcp up"}, "run": {use: "pcp up"}, "collect": {use: "pcp up"}, "serve": {use: "pcp up"}, "collector": {use: "pcp up"},
		"down": {use: "ctrl-C in the terminal of pcp up"}, "stop": {use: "ctrl-C in the terminal of pcp up"},
		"status": {use: "pcp agent list"}, "agents": {use: "pcp agent list"},
		"repair": {use: "pcp archive repair"}, "convert": {use: "pcp archive convert"},
		"archives": {use: "pcp archive ls"}, "csv": {use: "pcp import csv"},
		"merge": {use: "pcp logextract"}, "extract": {use: "pcp logextract"}, "reduce": {use: "pcp logreduce"},
		"average": {use: "pcp logsummary"}, "compare": {use: "pcp diff"},
		"past": {use: "pcp replay"}, "history": {use: "pcp replay"}, "dump": {use: "pcp dumplog"},
		"user": {use: "pcp passwd"}, "users": {use: "pcp passwd"}, "accounts": {use: "pcp passwd"},
		"complete": {use: "pcp completion"},
	}
}

// Foreign returns the commands to use here for a name that users know from other programs, and whether
// it is known: "docker stats" and "Node_Exporter" are.
func Foreign(name string) (use string, ok bool) {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	names := foreignNames()
	f, ok := names[name]
	if first, _, more := strings.Cut(name, " "); !ok && more {
		f, ok = names[first]
	}
	return f.use, ok
}

// foreign returns the message for a name of a command from elsewhere, "" if the
// name is not known.
func foreign(name string) string {
	use, ok := Foreign(name)
	if !ok {
		return ""
	}
	return fmt.Sprintf("Here it is %s.\n", use)
}

// ForeignNames returns the names from elsewhere that [Unknown] knows, each with
// the command to use in its place, "" if there is none.
func ForeignNames() map[string]string {
	uses := make(map[string]string)
	for name, f := range foreignNames() {
		uses[name] = f.use
	}
	return uses
}

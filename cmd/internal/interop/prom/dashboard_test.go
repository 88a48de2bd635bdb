package prom

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// hostOverview has the expressions of the panels of upstream's dashboard "PCP Prometheus Host Overview" for one host: metrics that are shown as
// they are, and metrics whose rate is shown.
var hostOverview = struct{ values, rates []string }{
	values: []string{"kernel_all_load", "kernel_all_runnable", "mem_physmem", "mem_util_cached", "mem_util_free", "mem_util_used"},
	rates: []string{
		"disk_dev_avactive", "disk_dev_read", "disk_dev_read_bytes", "disk_dev_read_rawactive", "disk_dev_write", "disk_dev_write_bytes", "disk_dev_write_rawactive",
		"kernel_all_pswitch", "kernel_percpu_cpu_sys", "kernel_percpu_cpu_user", "mem_vmstat_pgfault", "mem_vmstat_pgmajfault",
		"network_interface_in_bytes", "network_interface_in_drops", "network_interface_in_packets", "network_interface_out_bytes", "network_interface_out_drops",
		"network_interface_out_packets", "network_tcp_fastretrans", "network_tcp_listendrops", "network_tcp_listenoverflows", "network_tcp_retranssegs",
		"network_tcp_slowstartretrans", "network_tcp_synretrans", "network_tcp_timeouts",
	},
}

// TestHostOverview fills the panels of the dashboard, as Grafana does: from the recording of a collector that runs.
func TestHostOverview(t *testing.T) {
	l := startLive(t, time.Second)
	l.recorded(t, "rate(kernel_all_pswitch[10s])")
	r := ask(t, l.page, "label/hostname/values", nil)
	host, _, _ := strings.Cut(strings.TrimPrefix(string(r.Data), `["`), `"`)
	if host == "" {
		t.Fatalf("hosts: %+v", r)
	}
	var exprs []string
	for _, name := range hostOverview.values {
		exprs = append(exprs, fmt.Sprintf("%s{hostname=%q}", name, host))
	}
	for _, name := range hostOverview.rates {
		expr := fmt.Sprintf("rate(%s{hostname=%q}[10s])", name, host)
		if strings.HasPrefix(name, "kernel_percpu") || strings.HasSuffix(name, "active") { // milliseconds
			expr += "/1000"
		}
		exprs = append(exprs, expr)
	}
	has := func(path string, params url.Values) bool {
		r := ask(t, l.page, path, params)
		if r.Status != "success" {
			t.Errorf("%s %v: %s", path, params, r.Error)
		}
		return strings.Contains(string(r.Data), `"metric":`)
	}
	now := time.Now().Unix()
	disks := has("query", url.Values{"query": {"disk_dev_read"}})
	for _, expr := range exprs {
		if strings.Contains(expr, "disk_dev") && !disks {
			continue // this machine does not have it
		}
		if !has("query_range", url.Values{"query": {expr}, "start": {fmt.Sprint(now - 300)}, "end": {fmt.Sprint(now)}, "step": {"5"}}) {
			t.Errorf("%s: the panel is empty", expr)
		}
		if !has("query", url.Values{"query": {expr}}) {
			t.Errorf("%s: there is no value now", expr)
		}
	}
	// Names of series in the legends.
	for _, label := range []string{"instname", "__name__"} {
		if r := ask(t, l.page, "label/"+label+"/values", nil); !strings.Contains(string(r.Data), `","`) {
			t.Errorf("label %s: %s", label, r.Data)
		}
	}
}

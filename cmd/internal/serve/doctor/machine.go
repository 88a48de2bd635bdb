package doctor

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmcd/conf"
)

func machineFaults() []kind {
	return []kind{
		{"kernel.hidepid", warning, "/proc hides processes from the collector.", "Metrics of processes of other users are missing."},
		{"kernel.cgroup", warning, "No control groups are mounted.", "Metrics of control groups and containers are missing."},
		{"kernel.pressure", warning, "The kernel does not measure pressure.", "The metrics kernel.all.pressure are missing."},
		{"kernel.btf", warning, "The kernel has no description of its types (CONFIG_DEBUG_INFO_BTF), and the agent bpf needs it.", "The agent has no metrics."},
		{"kernel.tracefs", warning, "The file system tracefs is not mounted, and an agent needs it.", "The agent has no metrics."},
		{"kernel.perf", warning, "The kernel keeps performance counters from the agent perfevent.", "The agent has no metrics."},
		{"port.proxy", fault, "pmproxy runs, and does not accept connections at its port.", "Browsers, Grafana and remote clients cannot use it."},
		{"port.loopback", fault, "The collector accepts connections of this machine only, and a recorder reaches it by the network.", "The host is not recorded."},
		{"beside.path", warning, "PATH has the commands of two implementations, and the first are not those of the running collector.", "Commands and collector differ in their settings and features."},
		{"cost", note, "The resources that PCP uses.", ""},
		{"cost.disk", warning, "Archives take more than 2 GB a day.", "Disks fill, and commands take longer to read the past."},
	}
}

func machineChecks() []check {
	return []check{
		{"the kernel", false, true, checkKernel},
		{"ports", false, false, checkPorts},
		{"PATH", false, true, checkPath},
		{"the cost", false, true, checkCost},
	}
}

// collectorUser returns the user of the collector's process.
func (s *site) collectorUser() (uid int, ok bool) {
	pid := s.pmcdPID
	if running := s.running(); pid == 0 && len(running) > 0 {
		pid = running[0].PID
	}
	if pid != 0 {
		if st, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
			return ownerOf(st)
		}
	}
	if o := s.owner(); o != nil && s.service() {
		return o.uid, true
	}
	return 0, false
}

// checkKernel looks for features of the kernel that agents need.
func checkKernel(_ context.Context, s *site) []finding {
	mounts, err := os.ReadFile(s.path("/proc/mounts"))
	if err != nil {
		return nil // another system
	}
	var list []finding
	uid, known := s.collectorUser()
	types := make(map[string]bool)
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		types[f[2]] = true
		if f[1] != "/proc" || f[2] != "proc" || !known || uid == 0 {
			continue
		}
		for o := range strings.SplitSeq(f[3], ",") {
			if v, ok := strings.CutPrefix(o, "hidepid="); ok && v != "0" && v != "off" {
				list = append(list, finding{id: "kernel.hidepid", subject: "/proc", text: fmt.Sprintf("/proc is mounted with %s, and the collector has the user id %d", o, uid), command: "mount -o remount,hidepid=0 /proc"})
			}
		}
	}
	if !types["cgroup"] && !types["cgroup2"] {
		list = append(list, finding{id: "kernel.cgroup", subject: "/sys/fs/cgroup", text: "neither cgroup2 nor cgroup is mounted", command: "mount -t cgroup2 none /sys/fs/cgroup"})
	}
	cmdline, err := os.ReadFile(s.path("/proc/cmdline"))
	if fields := strings.Fields(string(cmdline)); err == nil && !exists(s.path("/proc/pressure")) && (slices.Contains(fields, "psi=0") || slices.Contains(fields, "psi=off")) {
		list = append(list, finding{id: "kernel.pressure", subject: "psi", text: "the kernel was started with psi=0", command: `grubby --update-kernel=ALL --args="psi=1"`})
	}
	b, err := readSmall(s.confPath())
	if err != nil || !s.service() {
		return list
	}
	has := make(map[string]bool)
	for _, a := range conf.Lenient(bytes.NewReader(b)) {
		has[a.Name] = true
	}
	for _, name := range []string{"bcc", "bpftrace"} {
		if has[name] && !types["tracefs"] && !types["debugfs"] {
			list = append(list, finding{id: "kernel.tracefs", subject: name, text: fmt.Sprintf("the agent %s needs tracefs, which is not mounted", name), command: "mount -t tracefs tracefs /sys/kernel/tracing"})
			break
		}
	}
	if has["bpf"] && !exists(s.path("/sys/kernel/btf/vmlinux")) {
		list = append(list, finding{
			id: "kernel.btf", subject: "bpf", text: "the agent bpf needs /sys/kernel/btf/vmlinux, and the kernel does not have it",
			command: s.pcp() + " agent disable bpf",
		})
	}
	paranoid, err := os.ReadFile(s.path("/proc/sys/kernel/perf_event_paranoid"))
	if n, convErr := strconv.Atoi(strings.TrimSpace(string(paranoid))); has["perfevent"] && err == nil && convErr == nil && n > 0 && known && uid != 0 {
		list = append(list, finding{
			id: "kernel.perf", subject: "perfevent", text: fmt.Sprintf("kernel.perf_event_paranoid is %d, and the collector has the user id %d", n, uid),
			command: "sysctl -w kernel.perf_event_paranoid=0",
		})
	}
	return list
}

// proxyPort is that of pmproxy.
const proxyPort = "44322"

// checkPorts looks at the port of pmproxy, and whether other hosts reach the collector if they need to.
func checkPorts(ctx context.Context, s *site) []finding {
	var list []finding
	if pid := s.pidFile("pmproxy.pid"); pid != 0 {
		port := proxyPort
		if p, _, _ := strings.Cut(s.conf.Getenv("PMPROXY_PORT"), ","); p != "" {
			port = p
		}
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort("localhost", port))
		if err == nil {
			conn.Close()
		} else {
			restart := "systemctl restart pmproxy"
			if !s.unit("pmproxy") {
				restart = words("tail", filepath.Join(s.get("PCP_LOG_DIR"), "pmproxy", "pmproxy.log"))
			}
			list = append(list, finding{id: "port.proxy", subject: port, text: fmt.Sprintf("pmproxy (process %d) does not accept connections at port %s", pid, port), command: restart})
		}
	}
	return append(list, s.loopback()...)
}

// loopback looks for this host among those that a recorder of this machine cannot reach.
func (s *site) loopback() []finding {
	hostname, err := os.Hostname()
	if err != nil {
		return nil
	}
	for _, u := range s.running() {
		if option(u.args, "all") != nil {
			continue
		}
		for _, dir := range s.recordDirs() {
			for _, h := range hostsOf(filepath.Join(dir, "record.status")) {
				name, _, _ := strings.Cut(strings.TrimPrefix(h.Spec, "pcp://"), ":")
				if name == hostname && h.Err != "" && h.State != "recording" {
					return []finding{{
						id: "port.loopback", subject: hostname, command: s.pcp() + " up --all",
						text: fmt.Sprintf("the collector (process %d) accepts connections of this machine only, and the recorder of %s connects to %s", u.PID, dir, h.Spec),
					}}
				}
			}
		}
	}
	return nil
}

// checkPath looks for the commands of both implementations in PATH.
func checkPath(ctx context.Context, s *site) []finding {
	if _, err := s.connect(ctx); err != nil || s.pmcdPID == 0 && len(s.running()) == 0 {
		return nil
	}
	var own, other string
	first := ""
	for dir := range strings.SplitSeq(s.conf.Getenv("PATH"), ":") {
		path := filepath.Join(dir, "pminfo")
		st, err := os.Stat(path)
		if dir == "" || err != nil || st.Mode().Perm()&0o111 == 0 {
			continue
		}
		if first == "" {
			first = path
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && ownProgram(target) {
			own = path
		} else {
			other = path
		}
	}
	if own == "" || other == "" || (first == own) == s.ours() {
		return nil
	}
	want := own
	if first == own {
		want = other
	}
	return []finding{{
		id: "beside.path", subject: first, text: fmt.Sprintf("PATH finds %s first, and %s belongs to the running collector", first, want),
		command: "export PATH=" + words(filepath.Dir(want)) + ":$PATH",
	}}
}

// checkCost adds up what the processes and archives of PCP take.
func checkCost(_ context.Context, s *site) []finding {
	var ticks, resident, lifetime float64
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return nil
	}
	up, err := strconv.ParseFloat(strings.Fields(string(uptime) + " 0")[0], 64)
	if err != nil {
		return nil
	}
	processor := 0.0
	procs := s.procs()
	for _, p := range procs {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/stat")
		if err != nil {
			continue
		}
		_, rest, ok := strings.Cut(string(b), ") ")
		f := strings.Fields(rest)
		if !ok || len(f) < 22 {
			continue
		}
		value := func(i int) float64 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return 0
			}
			return v
		}
		ticks, resident, lifetime = value(11)+value(12), resident+value(21)*float64(os.Getpagesize()), up-value(19)/100
		if lifetime > 0 {
			processor += ticks / 100 / lifetime
		}
	}
	g := s.growthOf(s.archiveDirs())
	text := fmt.Sprintf("%s: %.1f %% of a processor on average, %s of memory", number(len(procs), "process"), 100*processor, cli.Bytes(int64(resident)))
	if len(procs) != 1 {
		text = strings.Replace(text, "processs", "processes", 1)
	}
	if g.daily > 0 {
		text += fmt.Sprintf(", %s of archives a day", cli.Bytes(g.daily))
	}
	list := []finding{{id: "cost", subject: "Cost", text: text}}
	const much = 2 << 30
	if g.daily > much {
		list = append(list, finding{id: "cost.disk", subject: "archives", text: fmt.Sprintf("archives take %s a day", cli.Bytes(g.daily)), command: s.pcp() + " logsize -d " + words(s.get("PCP_ARCHIVE_DIR"))})
	}
	return list
}

package doctor

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func daemonFaults() []kind {
	return []kind{
		{"daemon.old", warning, "The program of a running daemon was replaced.", "The daemon lacks what the installed program corrects, until it is restarted."},
		{"clock.jump", warning, "The clock of this machine was set while the collector ran.", "Archives have a gap, or the same times twice."},
		{"port.firewall", warning, "A daemon listens for other hosts, and the address of this host does not reach it.", "A firewall may keep other hosts from it too."},
	}
}

func daemonChecks() []check {
	return []check{
		{"the programs of daemons", false, true, checkOld},
		{"the clock", false, true, checkJump},
		{"the firewall", false, true, checkFirewall},
	}
}

// A daemon is a running daemon of the site.
type daemon struct {
	name    string
	pid     int
	started string // a file that it made when it started
	restart string // command
}

// runningDaemons returns the collector and pmproxy of the installation, and the collectors of "pcp up".
func (s *site) runningDaemons() []daemon {
	var list []daemon
	run := s.get("PCP_RUN_DIR")
	if s.pmcdPID != 0 {
		list = append(list, daemon{"pmcd", s.pmcdPID, filepath.Join(run, "pmcd.pid"), s.restart()})
	}
	if pid := s.pidFile("pmproxy.pid"); pid != 0 {
		restart := s.pcp() + " service restart pmproxy"
		if s.unit("pmproxy") {
			restart = "systemctl restart pmproxy"
		}
		list = append(list, daemon{"pmproxy", pid, filepath.Join(run, "pmproxy.pid"), restart})
	}
	for _, u := range s.running() {
		list = append(list, daemon{`"pcp up"`, u.PID, u.Socket, fmt.Sprintf("kill -TERM %d; %s up", u.PID, s.pcp())})
	}
	return list
}

// checkOld looks for daemons whose program was replaced by another.
func checkOld(_ context.Context, s *site) []finding {
	var list []finding
	for _, d := range s.runningDaemons() {
		exe, err := os.Readlink("/proc/" + strconv.Itoa(d.pid) + "/exe")
		path, replaced := strings.CutSuffix(exe, " (deleted)")
		if err != nil || !replaced || !exists(path) {
			continue
		}
		list = append(list, finding{
			id: "daemon.old", subject: d.name, command: d.restart,
			text: fmt.Sprintf("%s (process %d) runs a program that was replaced: %s is another file", d.name, d.pid, path),
		})
	}
	return list
}

// jump is the difference from which the clock was set, and not only slow to start a daemon.
const jump = 2 * time.Minute

// checkJump compares the time at which a collector started, which the kernel measures from boot, with that of a file which it made then.
func checkJump(_ context.Context, s *site) []finding {
	for _, d := range s.runningDaemons() {
		start, ok := startTime(d.pid)
		st, err := os.Lstat(d.started)
		if !ok || err != nil || d.name == "pmproxy" {
			continue
		}
		ahead := start.Sub(st.ModTime())
		if ahead.Abs() < jump {
			continue
		}
		which := "ahead"
		if ahead < 0 {
			which = "back"
		}
		return []finding{{
			id: "clock.jump", subject: "clock", command: d.restart,
			text: fmt.Sprintf("since %s (process %d) started, the clock of this machine was set %s by %v", d.name, d.pid, which, ahead.Abs().Round(time.Second)),
		}}
	}
	return nil
}

// startTime returns when a process started, by the present clock.
func startTime(pid int) (t time.Time, ok bool) {
	boot, ok := sinceBoot()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if !ok || err != nil {
		return t, false
	}
	const field, ticks = 19, 100 // after the name; a second, for programs
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) <= field {
		return t, false
	}
	start, err := strconv.ParseInt(f[field], 10, 64)
	if err != nil || start <= 0 {
		return t, false
	}
	return time.Now().Add(time.Duration(start)*time.Second/ticks - boot), true
}

// checkFirewall connects to the ports of daemons that listen for other hosts.
func checkFirewall(ctx context.Context, s *site) []finding {
	ports := make(map[int]string)
	if s.pmcdPID != 0 {
		ports[44321] = "the collector"
		if n, err := strconv.Atoi(s.conf.Getenv("PMCD_PORT")); err == nil {
			ports[n] = "the collector"
		}
	}
	if s.pidFile("pmproxy.pid") != 0 {
		ports[44322] = "pmproxy"
	}
	for _, u := range s.running() {
		for _, address := range u.Addresses {
			if _, port, err := net.SplitHostPort(address); err == nil {
				if n, err := strconv.Atoi(port); err == nil {
					ports[n] = "the collector"
				}
			}
		}
	}
	if len(ports) == 0 {
		return nil
	}
	own := ownAddress()
	if own == nil {
		return nil
	}
	open := slices.Concat(listeners(s.path("/proc/net/tcp")), listeners(s.path("/proc/net/tcp6")))
	var list []finding
	for _, l := range open {
		name := ports[l.port]
		if name == "" || !l.ip.IsUnspecified() {
			continue
		}
		delete(ports, l.port)
		port := strconv.Itoa(l.port)
		if s.reach(ctx, net.JoinHostPort("127.0.0.1", port)) != nil {
			continue // it does not answer at all, or has no IPv4
		}
		at := net.JoinHostPort(own.String(), port)
		if err := s.reach(ctx, at); err != nil {
			list = append(list, finding{
				id: "port.firewall", subject: port, command: "nft list ruleset || iptables -S",
				text: fmt.Sprintf("%s listens for other hosts at port %s, and %s does not reach it: %s", name, port, at, attempt{err: err}.why()),
			})
		}
	}
	return list
}

// dialTCP connects to an address.
func dialTCP(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// ownAddress returns an IPv4 address of this host that others may use, nil if there is none.
func ownAddress() net.IP {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP
		}
	}
	return nil
}

//go:build linux

package doctor

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
)

// TestRules stages faults of rules and receivers.
func TestRules(t *testing.T) {
	t.Parallel()
	control := func(g *stage, config string) {
		g.write("etc/pmie/control", "$version=1.1\nLOCALHOSTNAME y n PCP_LOG_DIR/pmie/LOCALHOSTNAME/pmie.log -c "+config+"\n")
	}
	board := func(s alert.Standing) func(*stage) {
		return func(g *stage) {
			dirs := alert.StateDirs(g.path("run"), g.path("runtime"))
			g.mkdir("run")
			b, err := alert.NewBoard(dirs[0], alert.State{PID: os.Getpid()}, func() []alert.Standing { return []alert.Standing{s} })
			if err != nil {
				g.t.Fatal(err)
			}
			g.t.Cleanup(func() { b.Close() })
		}
	}
	testStaged(t, []staged{
		{"rules.missing", func(g *stage) { control(g, "/no/such/rules") }, "/no/such/rules", nil},
		{"rules.syntax", func(g *stage) { control(g, g.write("rules", "busy = kernel.all.load >\n")) }, "rules", nil},
		{"rules.metric", func(g *stage) {
			control(g, g.write("rules", "delta = 1 sec;\nbusy = no.such.metric > 1 -> print \"x\";\n"))
			g.pmcd(bareConf)
		}, "no.such.metric", nil},
		{"rules.stopped", func(g *stage) {
			g.write("etc/pmie/control", "$version=1.1\nLOCALHOSTNAME y n PCP_LOG_DIR/pmie/pmie.log -c config.default\n")
			g.write("log/pmie/pmie.log", "")
			g.write("root/etc/systemd/system/multi-user.target.wants/pmie.service", "")
			g.mkdir("root/run/systemd/system")
			g.pmcd(bareConf)
			g.site = func(s *site) { s.root = g.path("root") }
		}, "no pmie runs for local:", nil},
		{"receiver.configuration", func(g *stage) { g.write("etc/pmie/receivers.conf", "receiver x\n\tkind pigeon\n") }, "pigeon", nil},
		{"receiver.secret", func(g *stage) {
			g.write("etc/pmie/receivers.conf", "receiver x\n\tkind webhook\n\turl http://localhost:1/\n\tsecret-file /no/such/secret\n")
		}, "/no/such/secret", nil},
		{"receiver.alerts", board(alert.Standing{Receiver: "pager", Kind: alert.Webhook, Waiting: 3, Error: "connection refused"}), "3 wait: connection refused", nil},
		{"receiver.spool", board(alert.Standing{Receiver: "pager", Kind: alert.Webhook, Unsaved: 2, SpoolError: "no space left on device"}), "no space left", nil},
	})
}

// TestTLS stages faults of certificates.
func TestTLS(t *testing.T) {
	t.Parallel()
	with := func(want tlstest.Want, change func(g *stage, p *tlstest.Pair)) func(*stage) {
		return func(g *stage) {
			p := tlstest.NewCA(g.t, "Test CA").Cert(g.t, want)
			if err := os.Chmod(p.Key, 0o600); err != nil {
				g.t.Fatal(err)
			}
			if !want.Expired { // it is valid for a day from now on
				g.site = func(s *site) { s.now = s.now.Add(-60 * 24 * time.Hour) }
			}
			change(g, &p)
			g.write("etc/tls.conf", "tls-cert-file = "+p.File+"\ntls-key-file = "+p.Key+"\n")
		}
	}
	same := func(*stage, *tlstest.Pair) {}
	expired := tlstest.Server()
	expired.Expired = true
	shift := func(d time.Duration) func(*stage, *tlstest.Pair) {
		return func(g *stage, _ *tlstest.Pair) { g.site = func(s *site) { s.now = s.now.Add(d) } }
	}
	testStaged(t, []staged{
		{"tls.configuration", with(tlstest.Server(), func(g *stage, p *tlstest.Pair) { p.Key += "\ntls-ciphers = NONSENSE" }), "NONSENSE", nil},
		{"tls.missing", with(tlstest.Server(), func(_ *stage, p *tlstest.Pair) { p.File = "/no/such.crt" }), "/no/such.crt", nil},
		{"tls.mismatch", with(tlstest.Server(), func(g *stage, p *tlstest.Pair) {
			p.Key = tlstest.NewCA(g.t, "Other CA").Cert(g.t, tlstest.Server()).Key
			if err := os.Chmod(p.Key, 0o600); err != nil {
				g.t.Fatal(err)
			}
		}), "does not match", nil},
		{"tls.expired", with(expired, same), "expired on", nil},
		{"tls.expires", with(tlstest.Server(), shift(0)), "expires on", nil},
		{"tls.early", with(tlstest.Server(), shift(-30*365*24*time.Hour)), "is valid from", nil},
		{"tls.name", with(tlstest.Want{Hosts: []string{"elsewhere.example.com"}}, same), "elsewhere.example.com", nil},
		{"tls.key-open", with(tlstest.Server(), func(g *stage, p *tlstest.Pair) {
			if err := os.Chmod(p.Key, 0o644); err != nil {
				g.t.Fatal(err)
			}
		}), "0644", nil},
	})
}

// TestMachine stages faults of the kernel, of ports, of PATH and of the cost.
func TestMachine(t *testing.T) {
	t.Parallel()
	kernel := func(files map[string]string) func(*stage) {
		return func(g *stage) {
			g.write("root/proc/mounts", "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
			g.write("root/proc/pressure/cpu", "")
			for name, text := range files {
				g.write("root/"+name, text)
			}
			g.vars["PCP_USER"], g.vars["PCP_GROUP"] = "daemon", "daemon"
			for _, dir := range []string{"run", "log", "log/pmcd", "log/pmlogger", "tmp"} {
				if os.Geteuid() == 0 {
					chown(g, dir, 1)
				}
			}
			g.conf("bcc 149 pipe binary /bin/true\nperfevent 127 pipe binary /bin/true\n")
			g.site = func(s *site) { s.root = g.path("root") }
		}
	}
	testStaged(t, []staged{
		{"kernel.hidepid", kernel(map[string]string{"proc/mounts": "proc /proc proc rw,hidepid=2 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nt /sys/kernel/tracing tracefs rw 0 0\n"}), "hidepid=2", nil},
		{"kernel.cgroup", kernel(map[string]string{"proc/mounts": "proc /proc proc rw 0 0\nt /sys/kernel/tracing tracefs rw 0 0\n"}), "neither", nil},
		{"kernel.pressure", func(g *stage) {
			g.write("root/proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
			g.write("root/proc/cmdline", "quiet psi=0\n")
			g.site = func(s *site) { s.root = g.path("root") }
		}, "psi=0", nil},
		{"kernel.tracefs", kernel(nil), "the agent bcc needs tracefs", nil},
		{"kernel.btf", func(g *stage) {
			kernel(map[string]string{"proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"})(g) // nor is there tracefs
			g.conf("bpf 157 pipe binary /bin/true\n")
		}, "needs /sys/kernel/btf/vmlinux", nil},
		{"kernel.perf", kernel(map[string]string{
			"proc/mounts":                         "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nt /sys/kernel/tracing tracefs rw 0 0\n",
			"proc/sys/kernel/perf_event_paranoid": "3\n",
		}), "perf_event_paranoid is 3", nil},
		{"port.proxy", func(g *stage) {
			cmd := exec.Command("sleep", "60")
			cmd.Args[0] = "pmproxy"
			if err := oracle.StartWith(cmd, syscall.SIGKILL); err != nil {
				g.t.Fatal(err)
			}
			g.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
			g.vars["PMPROXY_PORT"] = freePort(g)
			g.write("run/pmproxy.pid", strconv.Itoa(cmd.Process.Pid)+"\n")
		}, "does not accept connections at port", nil},
		{"port.loopback", func(g *stage) {
			g.up("--no-record", "--no-web")
			host, err := os.Hostname()
			if err != nil {
				g.t.Fatal(err)
			}
			g.status(recorderStatus{Hosts: []share.Host{{Name: host, Spec: host, State: "waiting", Err: "connection refused"}}})
		}, "of this machine only", []string{"recorder.host"}},
		{"beside.path", func(g *stage) {
			g.write("c/pminfo", "#!/bin/sh\n")
			g.mkdir("ours")
			if err := os.Symlink(g.program(), g.path("ours/pminfo")); err != nil {
				g.t.Fatal(err)
			}
			chmod(g, "c/pminfo", 0o755)
			g.up("--no-record", "--no-web")
			g.vars["PATH"] = g.path("c") + ":" + g.path("ours") + ":" + g.vars["PATH"]
		}, "c/pminfo first", nil},
		{"cost.disk", func(g *stage) {
			for i, hours := range []int{60, 40, 20} {
				name := "log/pmlogger/www/2026010" + strconv.Itoa(i)
				g.archive(name, time.Now().Add(-time.Duration(hours)*time.Hour))
				if err := os.Truncate(g.write(name+".1", ""), 4<<30); err != nil { // without blocks on the disk
					g.t.Fatal(err)
				}
				g.touch(name, time.Now().Add(-time.Duration(hours)*time.Hour))
			}
		}, "a day", []string{"archive.damaged", "disk.filling"}},
	})
}

// TestAll requires a staged fault for each kind, and at least 60 of them.
func TestAll(t *testing.T) {
	tests := ""
	for _, name := range []string{"collector_test.go", "installation_test.go", "recording_test.go", "machine_test.go", "daemons_test.go"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests += string(b)
	}
	n := 0
	for _, k := range faults() {
		switch {
		case k.severity == note:
		case strings.Contains(tests, `{"`+k.id+`", `):
			n++
		case k.id != "check.unfinished": // see TestUnfinished
			t.Errorf("no test stages %s", k.id)
		}
	}
	if n < 60 {
		t.Errorf("%d faults are staged, and 60 are wanted", n)
	}
	t.Logf("%d faults are staged", n)
}

// TestUnfinished tries a check that does not heed its limit, and a collector that does not answer.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	g := newStage(t)
	g.listen(func(net.Conn) {})
	s := newSite(g.env(io.Discard), "localhost:"+g.vars["PMCD_PORT"])
	defer s.close()
	s.patience, s.each = time.Minute, 100*time.Millisecond
	release := make(chan struct{})
	defer close(release)
	hangs := check{name: "a file system", run: func(context.Context, *site) []finding { <-release; return nil }}
	for mounts, want := range map[string]string{"": "time getent hosts localhost", "a / ext4 rw 0 0\nb:/x /ok nfs4 rw 0 0\nb:/y /mnt/y nfs4 rw 0 0\n": "umount -l /mnt/y"} {
		s.mounts = func() string { return mounts }
		s.stat = func(path string) error {
			if path == "/mnt/y" {
				<-release
			}
			return nil
		}
		if found := s.make(context.Background(), hangs); len(found) != 1 || found[0].id != "check.unfinished" || found[0].subject != "a file system" || found[0].command != want {
			t.Errorf("of a check that hangs found\n%s", show(found))
		}
	}
	s.mounts = func() string { return "" }
	begin := time.Now()
	if found := s.examine(context.Background(), false); len(found) == 0 || time.Since(begin) > 30*time.Second {
		t.Errorf("after %v found\n%s", time.Since(begin), show(found))
	}
}

// TestCommand checks options, exit statuses, JSON and an interruption.
func TestCommand(t *testing.T) {
	t.Parallel()
	g := newStage(t)
	run := func(ctx context.Context, args ...string) (int, string) {
		out := new(strings.Builder)
		env := g.env(out, args...)
		return Command.Run(ctx, env), out.String()
	}
	ctx := context.Background()
	for _, args := range [][]string{{"extra"}, {"--nonsense"}, {"--fix", "-h", "x"}} {
		if status, _ := run(ctx, args...); status != 1 {
			t.Errorf("%v: status %d, want 1", args, status)
		}
	}
	status, out := run(ctx)
	if status != 1 || !strings.Contains(out, "FAULT collector.unreachable: no collector answers on this machine") || !strings.Contains(out, "  Effect: No command") ||
		!strings.Contains(out, "1 fault, 0 warnings.") {
		t.Errorf("status %d, output\n%s", status, out)
	}
	if status, out := run(ctx, "--quiet"); status != 1 || !strings.Contains(out, "collector.unreachable") || strings.Contains(out, "warnings") {
		t.Errorf("--quiet: status %d, output\n%s", status, out)
	}
	if status, out := run(ctx, "-h", "localhost:1"); status != 1 || !strings.Contains(out, "no collector answers on localhost:1") {
		t.Errorf("-h: status %d, output\n%s", status, out)
	}
	chmod(g, "log/pmlogger", 0o777)
	g.conf("")
	status, out = run(ctx, "--json", "--fix")
	var verdict struct {
		OK      bool `json:"ok"`
		Errors  int  `json:"errors"`
		Repairs int  `json:"repairs"`
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &verdict); err != nil || status != 1 || verdict.OK || verdict.Errors != 1 || verdict.Repairs != 1 ||
		!strings.Contains(out, `"fixed":"permissions of `) {
		t.Errorf("--json: status %d, %v\n%s", status, err, out)
	}
	done, cancel := context.WithCancel(ctx)
	g.listen(func(net.Conn) { cancel() }) // ctrl-C while it waits for an answer
	begin := time.Now()
	if status, out := run(done, "-h", "localhost:"+g.vars["PMCD_PORT"]); status != 1 || !strings.Contains(out, "interrupted") || time.Since(begin) > 2*time.Second {
		t.Errorf("interrupted: status %d after %v, output\n%s", status, time.Since(begin), out)
	}
}

package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestService starts the collector, starts it again, kills it, and stops it; and the other daemons.
func TestService(t *testing.T) {
	pcp := program(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "service") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, sub := range []string{"run", "log/pmcd", "log/pmlogger/here", "log/pmie", "log/pmproxy", "tmp/pmlogger", "tmp/pmie", "etc/pmie", "etc/pmproxy", "tmp/json", "etc/pmlogger/control.d", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	options := fmt.Sprintf("# options\n-A\n-i 127.0.0.1 -p %d\n-s %s\n-U %s\n", port, socket, me.Username)
	environ := append(os.Environ(),
		"PCP_RUN_DIR="+dir+"/run", "PCP_LOG_DIR="+dir+"/log", "PCP_TMP_DIR="+dir+"/tmp", "PMCD_SOCKET="+socket,
		"PCP_PMCDCONF_PATH="+write("pmcd.conf", "pmcd 2 dso pmcd_init /nowhere/pmda_pmcd.so\n"), "PCP_PMCDOPTIONS_PATH="+write("pmcd.options", options),
		"PMNS_DEFAULT="+dir+"/none", "PMCD_ROOT_AGENT=0",
		// There is no other pmlogger than ours.
		"PCP_BINADM_DIR="+dir+"/bin", "PCP_BIN_DIR="+dir+"/bin", "PCP_SYSCONF_DIR="+dir+"/etc", "PCP_ARCHIVE_DIR="+dir+"/log/pmlogger",
		"PCP_PMLOGGERCONTROL_PATH="+dir+"/etc/pmlogger/control", "PCP_PMIECONTROL_PATH="+dir+"/etc/pmie/control", "PCP_PMPROXYOPTIONS_PATH="+dir+"/etc/pmproxy/pmproxy.options", "PCP_VAR_DIR="+dir+"/var", "PCP_TMPFILE_DIR="+dir+"/tmp", "PCP_USER="+me.Username, "PCP_GROUP="+me.Username,
	)
	call := func(status int, want string, args ...string) string {
		t.Helper()
		cmd := exec.Command(pcp, append([]string{"service"}, args...)...)
		cmd.Env = environ
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != status || !regexp.MustCompile("(?m)^"+want+"$").Match(out) {
			log, _ := os.ReadFile(filepath.Join(dir, "log/pmcd/pmcd.log"))
			t.Fatalf("service %s: status %d, want %d\n%s\nwant %s\n%s", strings.Join(args, " "), got, status, out, want, log)
		}
		return string(out)
	}
	pid := func(out string) (n int) {
		t.Helper()
		if _, err := fmt.Sscan(out[strings.LastIndex(strings.TrimSpace(out), " "):], &n); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		return n
	}
	last := 0
	t.Cleanup(func() {
		if last > 0 {
			_ = syscall.Kill(last, syscall.SIGKILL)
		}
	})

	call(3, "pmcd: not running", "status", "pmcd")
	call(3, "pmlogger: not running", "status")
	call(0, "", "stop")
	first := pid(call(0, `pmcd: started, process \d+`, "start", "pmcd"))
	last = first
	call(0, fmt.Sprintf("pmcd: running, process %d", first), "status", "pmcd")
	last = pid(call(0, fmt.Sprintf(`pmcd: stopped, it was process %d\npmcd: started, process \d+`, first), "start", "pmcd"))
	if last == first {
		t.Error("it was not started anew")
	}
	if err := syscall.Kill(last, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for exec.Command(pcp, "probe", "-h", "unix:"+socket).Run() == nil { // until it is gone
	}
	call(1, fmt.Sprintf(`pmcd: dead; .*/pmcd.pid names process %d`, last), "status", "pmcd")
	last = pid(call(0, `pmcd: started, process \d+`, "restart", "pmcd"))

	// A logger of the control files comes after the collector, and goes before it.
	write("log/pmlogger/here/config", "log mandatory on 200 msec pmcd.numagents\n")
	write("etc/pmlogger/control", "$version=1.1\nLOCALHOSTNAME n n PCP_ARCHIVE_DIR/here -c config -v 100mb\n")
	out := call(0, `pmcd: started, process \d+`, "start")
	last = pid(regexp.MustCompile(`started, process \d+\n`).FindString(out))
	recorder := pid(regexp.MustCompile(`pmlogger: running, .*`).FindString(call(0, `pmlogger: running, process \d+`, "status")))
	t.Cleanup(func() { _ = syscall.Kill(recorder, syscall.SIGKILL) })
	call(0, fmt.Sprintf("pmcd: stopped, it was process %d", last), "stop")
	call(3, "pmlogger: not running", "status", "pmlogger")
	if archives, err := filepath.Glob(filepath.Join(dir, "log/pmlogger/here/*.index")); err != nil || len(archives) != 1 {
		t.Errorf("there are the archives %q, %v", archives, err)
	}
	last = 0
	if left, err := filepath.Glob(filepath.Join(dir, "run", "pmcd*")); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}

	// The proxy takes the options of its file.
	write("etc/pmproxy/pmproxy.options", fmt.Sprintf("# options\n-i 127.0.0.1 -p %d\n-s %s/p\n-U %s\n-c %s\n", port, dir, me.Username, write("pmproxy.conf", "[pmproxy]\npcp.enabled = true\nhttp.enabled = true\n[pmseries]\nenabled = false\n")))
	call(3, "pmproxy: not running", "status", "pmproxy")
	last = pid(call(0, `pmproxy: started, process \d+`, "start", "pmproxy"))
	if answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/pmapi/ping", port)); err != nil {
		t.Error(err)
	} else {
		answer.Body.Close()
	}
	call(0, fmt.Sprintf("pmproxy: running, process %d", last), "status", "pmproxy")
	call(0, fmt.Sprintf("pmproxy: stopped, it was process %d", last), "stop", "pmproxy")
	last = 0
	if left, err := filepath.Glob(filepath.Join(dir, "run", "pmproxy.pid")); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}

	// The rule engines of the control files.
	write("rules", "delta = 1 hour;\nx = pmcd.numagents;\n")
	write("etc/pmie/control", "$version=1.1\nLOCALHOSTNAME n n PCP_LOG_DIR/pmie/here/pmie.log -c "+dir+"/rules\n")
	call(3, "pmie: not running", "status", "pmie")
	last = pid(call(0, `pmcd: started, process \d+`, "start", "pmie", "pmcd"))
	engine := pid(regexp.MustCompile(`pmie: running, .*`).FindString(call(0, `pmie: running, process \d+`, "status", "pmie")))
	t.Cleanup(func() { _ = syscall.Kill(engine, syscall.SIGKILL) })
	call(0, fmt.Sprintf("pmcd: stopped, it was process %d", last), "stop", "pmie", "pmcd")
	call(3, "pmie: not running", "status", "pmie")
	last = 0

	// A file that names another program's process, or none: nothing is killed.
	write("run/pmcd.pid", fmt.Sprint(os.Getpid()))
	call(1, "pmcd: dead; .*", "status", "pmcd")
	call(0, "", "stop", "pmcd")
	write("run/pmcd.pid", "-1")
	call(1, `.*: "-1" is not a process`, "stop", "pmcd")
	if err := os.Remove(filepath.Join(dir, "run/pmcd.pid")); err != nil {
		t.Fatal(err)
	}

	// A configuration that pmcd refuses.
	write("pmcd.conf", "nonsense\n")
	call(1, `.*pmcd: it ended \(.*\); see .*/pmcd.log`, "start", "pmcd")
	call(1, ".*give an action.*")
	call(1, `.*"sit" is not start.*`, "sit")
	call(1, `.*"pmmgr" is not one.*`, "start", "pmmgr")
}

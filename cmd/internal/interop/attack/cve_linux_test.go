package attack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/wire"
)

// The published flaws of PCP from 2012 on, each replayed against our counterpart of the vulnerable
// part. The table in docs/security.md lists them all; a test below compares it with these tests.

// TestCVE_2012_3418 sends PDUs with false counts and lengths: decoders trusted them, and wrote
// or read where they should not.
func TestCVE_2012_3418(t *testing.T) { sendBad(t, "2012-3418") }

// TestCVE_2024_45769 stores values with a wrong offset of their block, and sends credentials of no
// length: the collector wrote outside of the PDU.
func TestCVE_2024_45769(t *testing.T) { sendBad(t, "2024-45769") }

// TestCVE_2012_3420_NegativeType sends a PDU with a negative type, which was taken for an error
// while the data received was never freed. TestCVE_2012_3420 has the other leaks.
func TestCVE_2012_3420_NegativeType(t *testing.T) { sendBad(t, "2012-3420") }

// asUser calls f in a thread whose effective user and group are others.
func asUser(uid, gid int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		const keep = ^uintptr(0)
		for _, call := range [][4]uintptr{
			{unix.SYS_SETGROUPS, 0, 0, 0}, {unix.SYS_SETRESGID, keep, uintptr(gid), keep}, {unix.SYS_SETRESUID, keep, uintptr(uid), keep},
		} {
			if _, _, errno := syscall.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				done <- errno
				return
			}
		}
		done <- f()
	}()
	return <-done
}

// needRoot skips a test that has to act as other users.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can act as other users")
	}
}

// Users of the tests; they need not exist.
const (
	ownerUID    = 54321
	strangerUID = 54322
)

// secret is in all that another user may not see of a process.
const secret = "hunter2secret"

// startSecret starts a process of another user with a secret in its environment and its directory, and one in
// its arguments, which users of the same host may see, as the kernel shows them, and other clients may not.
func startSecret(t *testing.T) int {
	t.Helper()
	dir, err := os.MkdirTemp("", "cve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	home := filepath.Join(dir, secret)
	script := filepath.Join(home, "args-"+secret)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(home, 0o755), os.WriteFile(script, []byte("#!/bin/sh\nsleep 600\n"), 0o755),
		os.Chown(home, ownerUID, ownerUID), os.Chmod(home, 0o700)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600.000")
	cmd.Args[0] = "sleep-args-" + secret
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ownerUID, Gid: ownerUID}}
	cmd.Env, cmd.Dir = []string{"PASSWORD=env-" + secret}, home
	if err := oracle.StartWith(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	Eventually(t, "the process has its environment", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
		return err == nil && len(b) > 0
	})
	return cmd.Process.Pid
}

// everything asks a collector for all that it has of processes, in every way, and returns the bytes of all answers.
func everything(t *testing.T, cl *Client) []byte {
	t.Helper()
	var all bytes.Buffer
	ask := func(p wire.PDU) wire.PDU {
		if err := cl.Send(p); err != nil {
			t.Fatal(err)
		}
		for {
			h, body, err := cl.Next()
			if err != nil {
				t.Fatalf("%T: %v", p, err)
			}
			all.Write(body)
			got, err := wire.Decode(h, body)
			if e, ok := got.(*wire.Error); ok && e.Code > 0 {
				continue // news of a change
			}
			if err != nil {
				t.Fatalf("%T: %v", p, err)
			}
			return got
		}
	}
	var names []string
	for _, root := range []string{"proc", "hotproc", "acct"} {
		if list, ok := ask(&wire.PMNSTraverse{Name: root}).(*wire.PMNSNames); ok {
			names = append(names, list.Names...)
		}
	}
	if len(names) < 100 {
		t.Fatalf("the collector has %d metrics of processes", len(names))
	}
	ids, ok := ask(&wire.PMNSNames{Names: names}).(*wire.PMNSIDs)
	if !ok {
		t.Fatal("names have no identifiers")
	}
	for _, id := range ids.PMIDs {
		ask(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id}})
	}
	const proc = 3
	for _, serial := range []int{9, 39, 41} {
		indom := pcp.NewInDom(proc, serial)
		ask(&wire.InstanceReq{InDom: indom, Inst: pcp.InNull})
		ask(&wire.LabelReq{Ident: uint32(indom), Kind: pcp.LabelInstances})
	}
	ask(&wire.LabelReq{Ident: uint32(ids.PMIDs[0]), Kind: pcp.LabelInstances})
	return all.Bytes()
}

// leaks returns the place of a secret in bytes, with the text around it.
func leaks(b []byte, what string) string {
	i := bytes.Index(b, []byte(what))
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%q", b[max(0, i-40):min(len(b), i+40)])
}

// TestCVE_2012_3419 has clients without rights ask for arguments, environment, maps and directory of another
// user's process, through every door: TCP, the Unix socket, pmproxy by PCP and by HTTP. The agent gave all of /proc to everybody.
func TestCVE_2012_3419(t *testing.T) {
	needRoot(t)
	pid := startSecret(t)
	c := Start(t, Options{Agents: []string{"proc\t3\tdso\tproc_init\t/built-in/pmda_proc.so"}})
	if err := os.Chmod(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	number := func(pid int) []byte { return []byte(fmt.Sprintf("%06d ", pid)) }

	// As root, so that the test shows that there is a secret, and leaves it in the
	// agent.
	unixAs := func(uid int) (cl *Client) {
		err := asUser(uid, uid, func() error {
			conn, err := net.Dial("unix", c.Socket)
			if err == nil {
				cl = NewClient(t, conn)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		cl.Shake(t)
		return cl
	}
	seen := everything(t, unixAs(0))
	for _, what := range []string{"env-" + secret, "args-" + secret, "/" + secret} {
		if leaks(seen, what) == "" {
			t.Errorf("root does not see %s", what)
		}
	}
	if own := everything(t, unixAs(ownerUID)); leaks(own, "env-"+secret) == "" {
		t.Error("the owner does not see the environment")
	}

	stranger := everything(t, unixAs(strangerUID))
	for _, what := range []string{"env-" + secret, "/" + secret} {
		if at := leaks(stranger, what); at != "" {
			t.Errorf("another user sees by the Unix socket %s", at)
		}
	}
	nameless := func(what string, b []byte) {
		t.Helper()
		if at := leaks(b, secret); at != "" {
			t.Errorf("%s shows %s", what, at)
		}
		if bytes.Contains(b, number(pid)) || bytes.Contains(b, number(1)) {
			t.Errorf("%s shows processes", what)
		}
	}
	nameless("TCP", everything(t, c.Dial(t, "tcp")))

	proxy := startProxy(t, c, "")
	cl := NewClient(t, proxy.dial(t))
	if err := cl.Write([]byte("pmproxy-client 1\n")); err != nil {
		t.Fatal(err)
	}
	hello := make([]byte, len("pmproxy-server 1\n"))
	if _, err := io.ReadFull(cl.Conn, hello); err != nil {
		t.Fatalf("pmproxy: %q, %v", hello, err)
	}
	host, port, _ := net.SplitHostPort(c.TCP)
	if err := cl.Write([]byte(host + " " + port + "\n")); err != nil {
		t.Fatal(err)
	}
	cl.Shake(t)
	nameless("pmproxy, by PCP,", everything(t, cl))

	names := "proc.psinfo.psargs,proc.psinfo.environ,proc.psinfo.cwd,proc.psinfo.exe,proc.memory.maps,proc.io.rchar,proc.psinfo.cmd"
	for _, spec := range []string{
		"", "local:", "unix:", "unix:" + c.Socket, "local:" + c.Socket, "unix://" + c.Socket, "local://" + c.Socket, "localhost:" + port, c.TCP,
		c.TCP + "?container=x", "unix:" + c.Socket + "?username=root", "LOCAL:", "local:///" + c.Socket, " unix:" + c.Socket,
	} {
		for _, path := range []string{
			"/pmapi/fetch?names=" + names, "/pmapi/indom?name=proc.psinfo.psargs", "/pmapi/indom?indom=3.9", "/pmapi/metric?names=proc.psinfo.psargs",
			"/metrics?names=" + names, "/pmapi/labels?names=proc.psinfo.psargs", "/pmapi/children?prefix=proc.psinfo", "/pmapi/profile?",
		} {
			nameless("pmproxy, "+path+" of host "+spec+",", proxy.get(t, path+"&hostspec="+url.QueryEscape(spec)))
		}
	}
}

// A proxy is our pmproxy in a process of its own.
type proxy struct{ addr string }

// startProxy starts pmproxy with a configuration, before a collector.
func startProxy(t *testing.T, c *Collector, conf string) *proxy {
	t.Helper()
	dir, err := os.MkdirTemp("", "cve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	port := strconv.Itoa(oracle.FreePort(t))
	path := filepath.Join(dir, "pmproxy.conf")
	var places strings.Builder
	for _, v := range []string{"PCP_SYSCONF_DIR", "PCP_VAR_DIR", "PCP_RUN_DIR", "PCP_TMP_DIR", "PCP_LOG_DIR"} {
		fmt.Fprintf(&places, "%s=%s\n", v, dir)
	}
	if err := errors.Join(os.WriteFile(path, []byte(conf), 0o644), os.WriteFile(filepath.Join(dir, "pcp.conf"), []byte(places.String()), 0o644)); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "pmproxy.log")
	args := []string{"-f", "-A", "-U", "root", "-i", "127.0.0.1", "-p", port, "-c", path, "-l", log, "-s", filepath.Join(dir, "socket")}
	cmd := exec.Command(Tool("pmproxy"), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PCP_CONF=" + filepath.Join(dir, "pcp.conf"), "HOME=" + dir}
	if c != nil {
		_, port, _ := net.SplitHostPort(c.TCP)
		cmd.Env = append(cmd.Env, "PMCD_PORT="+port, "PMCD_SOCKET="+c.Socket)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	var stopping atomic.Bool
	t.Cleanup(func() {
		stopping.Store(true)
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(time.Minute):
			cmd.Process.Kill()
			t.Error("pmproxy does not end")
		}
		if t.Failed() {
			b, _ := os.ReadFile(log)
			t.Logf("pmproxy: %s%s", out.Bytes(), b)
		}
	})
	p := &proxy{addr: "127.0.0.1:" + port}
	Eventually(t, "pmproxy listens", func() bool {
		conn, err := net.Dial("tcp", p.addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return p
}

func (p *proxy) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// get returns the answer to a request, with its header.
func (p *proxy) get(t *testing.T, path string) []byte {
	t.Helper()
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Get("http://" + p.addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(resp.Status+"\n"), body...)
}

// TestCVE_2024_3019 speaks the protocol of the key server at the port of a pmproxy with its default
// configuration, and with a key server configured: pmproxy forwarded any data, so that a client
// could run commands as that server's user. pmproxy itself may use a server that is configured; no
// command of a client may reach any server.
func TestCVE_2024_3019(t *testing.T) {
	const mark = "of-the-client"
	keys, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	var connections, forwarded atomic.Int32
	go func() {
		for {
			conn, err := keys.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for {
					line, err := r.ReadString('\n')
					if strings.Contains(line, mark) {
						forwarded.Add(1)
					}
					if err != nil {
						return
					}
					io.WriteString(conn, "+PWNED\r\n")
				}
			}()
		}
	}()
	c := Start(t, Options{})
	for _, tt := range []struct {
		name, conf string
		used       bool // whether pmproxy itself connects to the key server
	}{
		{name: "default"},
		{name: "named", conf: "[keys]\nenabled = true\nservers = " + keys.Addr().String() + "\n", used: true},
		{name: "named as in 6.0", conf: "[redis]\nenabled = true\nservers = " + keys.Addr().String() + "\n[pmseries]\nservers = " + keys.Addr().String() + "\n", used: true},
		{name: "not forwarded", conf: "[pmproxy]\nredis.enabled = false\n[redis]\nservers = " + keys.Addr().String() + "\n", used: true},
		{name: "of the packaging", conf: "@../../../../packaging/config/pmproxy.conf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conf := tt.conf
			if file, ok := strings.CutPrefix(conf, "@"); ok {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				conf = string(b)
			}
			connections.Store(0)
			p := startProxy(t, c, conf)
			for _, what := range []string{
				"*2\r\n$4\r\nPING\r\n$13\r\n" + mark + "\r\n",
				"*3\r\n$4\r\nEVAL\r\n$22\r\nreturn '" + mark + "'\r\n$1\r\n0\r\n",
				"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$13\r\n" + mark + "\r\n",
				"PING " + mark + "\r\n",
				"+" + mark + "\r\n",
				"$13\r\n" + mark + "\r\n",
			} {
				conn := p.dial(t)
				conn.SetDeadline(time.Now().Add(time.Minute))
				if _, err := io.WriteString(conn, what); err != nil {
					t.Fatal(err)
				}
				conn.(*net.TCPConn).CloseWrite()
				b, _ := io.ReadAll(conn)
				if bytes.Contains(b, []byte("PWNED")) || bytes.HasPrefix(b, []byte("+")) || bytes.HasPrefix(b, []byte("*")) || bytes.HasPrefix(b, []byte("$")) {
					t.Errorf("%q is answered with %q", what, b)
				}
			}
			if n := connections.Load(); n != 0 != tt.used {
				t.Errorf("the key server got %d connections", n)
			}
		})
	}
	if n := forwarded.Load(); n != 0 {
		t.Errorf("the key server got %d lines of the client", n)
	}
	if err := c.Served(); err != nil {
		t.Error(err)
	}
}

// TestCVE_2026_16530 connects our pmlc to a hostile recorder: lengths of the names in its
// status are negative, larger than the PDU, or without an end. C's pmlc read out of bounds. The
// collector gets the same PDU.
func TestCVE_2026_16530(t *testing.T) {
	sendBad(t, "2026-16530")
	for _, length := range []uint32{0x80000000, 0xffffffff, 0x7fffffff, 257, 200} {
		for field := range 6 {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				defer ln.Close()
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					go lyingLogger(conn, field, length)
				}
			}()
			cmd := exec.Command(Tool("pmlc"), "-h", "localhost", "-p", strconv.Itoa(ln.Addr().(*net.TCPAddr).Port))
			cmd.Stdin = strings.NewReader("status\nstatus\nquit\n")
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PMLOGGER_REQUEST_TIMEOUT=5", "PMCD_CONNECT_TIMEOUT=5"}
			out, err := runFor(t, cmd, time.Minute)
			if bytes.Contains(out, []byte("goroutine ")) || bytes.Contains(out, []byte("panic")) {
				t.Errorf("field %d, length %#x: pmlc %v:\n%s", field, length, err, out)
			}
			if !bytes.Contains(out, []byte("Error decoding response")) || bytes.Contains(out, []byte("xxxx")) {
				t.Errorf("field %d, length %#x: pmlc %v, where an error should be:\n%s", field, length, err, out)
			}
			ln.Close()
		}
	}
}

// runFor runs a command that must end.
func runFor(t *testing.T, cmd *exec.Cmd, limit time.Duration) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		t.Errorf("%v does not end within %v; it printed\n%s", cmd.Args, limit, out.Bytes())
	}
	return out.Bytes(), err
}

// lyingLogger greets as a pmlogger and answers each request with a status with one field of a false
// length.
func lyingLogger(conn net.Conn, field int, length uint32) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	conn.Write(wire.Append(nil, 0, &wire.Error{Extended: true, Info: wire.Info{Version: wire.PDUVersion, Licensed: 1}.Pack()}))
	r := wire.NewReader(conn)
	for {
		h, _, err := r.Next()
		if err != nil {
			return
		}
		if h.Type == wire.TypeCreds {
			continue
		}
		// The layout of version 3: three timestamps, state, volume, offset, six lengths, and the texts behind them.
		b := make([]byte, 12*3+4+4+8)
		for i := range 6 {
			n := uint32(8)
			if i == field {
				n = length
			}
			b = binary.BigEndian.AppendUint32(b, n)
		}
		b = append(b, bytes.Repeat([]byte("x"), 48)...)
		conn.Write(append(wire.AppendHeader(nil, wire.Header{Len: uint32(wire.HeaderSize + len(b)), Type: wire.TypeLogStatus}), b...))
	}
}

// TestSecurityTable compares the table of docs/security.md with the existing tests.
func TestSecurityTable(t *testing.T) {
	b, err := os.ReadFile("../../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "| CVE-") && !strings.HasPrefix(line, "| 7.2.0") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		tests := regexp.MustCompile("`([a-z/]+) ((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(tests) == 0 {
			t.Errorf("no test in %s", line)
		}
		for _, test := range tests {
			files, _ := filepath.Glob(filepath.Join("../../../..", test[1], "*_test.go"))
			found := false
			for _, f := range files {
				text, err := os.ReadFile(f)
				found = found || err == nil && bytes.Contains(text, []byte("func "+test[2]+"("))
			}
			if !found {
				t.Errorf("there is no test %s in %s", test[2], test[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("the table has %d rows", rows)
	}
	for _, number := range []string{"2012-3418", "2012-3419", "2012-3420", "2012-3421", "2012-5530", "2019-3695", "2019-3696", "2020-8025", "2023-6917", "2024-3019", "2024-45769", "2024-45770", "2026-16530"} {
		if !strings.Contains(string(b), "| CVE-"+number+" |") {
			t.Errorf("CVE-%s is not in the table", number)
		}
	}
}

package lc_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/wire"
)

// A fake serves a Unix socket in place of a pmlogger. A function serves each connection.
type fake struct {
	path string
	ln   net.Listener
	done chan struct{}
}

func startFake(t *testing.T, serve func(net.Conn)) *fake {
	t.Helper()
	dir, err := os.MkdirTemp("", "lc") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := &fake{path: filepath.Join(dir, "socket"), done: make(chan struct{})}
	if f.ln, err = net.Listen("unix", f.path); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(f.done)
		for {
			c, err := f.ln.Accept()
			if err != nil {
				return
			}
			serve(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { f.ln.Close(); <-f.done })
	return f
}

// hello greets a client, and takes its answer.
func hello(c net.Conn, code pcp.Error) *wire.Reader {
	c.Write(wire.Append(nil, 4711, &wire.Error{Code: code}))
	r := wire.NewReader(c)
	r.Next()
	return r
}

func (f *fake) run(t *testing.T, text string, env ...string) string {
	t.Helper()
	out, status := runIn(t.Context(), env, strings.NewReader(text), "-h", "unix:"+f.path)
	if status != 0 {
		t.Errorf("exit status %d", status)
	}
	return strings.ReplaceAll(out, f.path, "SOCKET")
}

// TestFaults talks to servers that do not behave as a pmlogger should.
func TestFaults(t *testing.T) {
	const connected = "Connected to pmlogger via local socket at unix:SOCKET\n"
	const not = "Error [<stdin>, line 2]\nNot connected to any pmlogger instance\n"
	unable := func(why string) string {
		return "Unable to connect to pmlogger via the local socket at unix:SOCKET: " + why + "\n"
	}
	answerBytes := func(b []byte) func(net.Conn) {
		return func(c net.Conn) {
			r := hello(c, 3)
			for {
				if _, _, err := r.Next(); err != nil {
					return
				}
				c.Write(b)
			}
		}
	}
	answer := func(p wire.PDU) func(net.Conn) { return answerBytes(wire.Append(nil, 0, p)) }
	for _, test := range []struct {
		name  string
		serve func(net.Conn)
		in    string
		want  string
	}{
		{"closes at once", func(net.Conn) {}, "status\n", unable("Lost connection to the pmlogger instance") + "Error [<stdin>, line 1]\nNot connected to any pmlogger instance\n"},
		{"refuses", func(c net.Conn) { hello(c, pcp.ErrPermission) }, "", unable("No permission to perform requested operation")},
		{"says nothing", func(c net.Conn) { io.Copy(io.Discard, c) }, "", unable("Timeout, closed connection to the pmlogger instance")},
		{"greets with another PDU", func(c net.Conn) { c.Write(wire.Append(nil, 0, &wire.Text{})) }, "", unable("Lost connection to the pmlogger instance")},
		{"greets with garbage", func(c net.Conn) { c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, "", unable("Lost connection to the pmlogger instance")},
		{
			"vanishes", func(c net.Conn) { hello(c, 3).Next() }, "status\nstatus\n",
			connected + "Error receiving response from pmlogger: Lost connection to the pmlogger instance\n" + not,
		},
		{
			"never answers", func(c net.Conn) { hello(c, 3); io.Copy(io.Discard, c) }, "new volume\nnew volume\n",
			connected + "Error receiving response from pmlogger: Timeout, closed connection to the pmlogger instance\n" + not,
		},
		{
			"query never answered", func(c net.Conn) { hello(c, 3); io.Copy(io.Discard, c) }, "query x\nstatus\n",
			connected + "Error receiving response from pmlogger: Timeout, closed connection to the pmlogger instance\nError [<stdin>, line 1]\n" + not,
		},
		{
			"answers with another PDU", answer(&wire.Text{Text: "what"}), "status\nflush\n",
			connected + "Error PDU response from pmlogger TEXT not LOG_STATUS or LOG_STATUS_V2 as expected\n" +
				"Error receiving response from pmlogger: Lost connection to the pmlogger instance\n",
		},
		{
			"refuses requests", answer(&wire.Error{Code: pcp.ErrPermission}), "status\nnew volume\nsync\n",
			connected + strings.Repeat("Error: No permission to perform requested operation\n", 3),
		},
		{
			"damaged status", answerBytes(damaged(wire.TypeLogStatus, make([]byte, 70))), "status\nstatus\n",
			connected + "Error decoding response from pmlogger: Lost connection to the pmlogger instance\n" + not,
		},
		{
			"status without strings", answer(&wire.LogStatus{State: wire.LogStateInit, Volume: 7, Size: 1 << 40, Start: pcp.Timestamp{Sec: 1e9, Nsec: 5}}), "status\n",
			connected + "pmlogger [4711] on host unix:SOCKET is logging metrics from host \nPMCD host        \n" +
				"log started      Sun Sep  9 01:46:40.000000005 2001 (times in local time)\n" +
				"last log entry   Thu Jan  1 00:00:00.000000000 1970\ncurrent time     Thu Jan  1 00:00:00.000000000 1970\n" +
				"log volume       7\nlog size         1099511627776\n",
		},
		{
			"nothing recorded yet", answer(&wire.LogStatus{V2: true, Host: "h", FQDN: "localhost"}), "status\n",
			connected + "pmlogger [4711] on host unix:SOCKET is logging metrics from host h\nPMCD host        h\nlogging hasn't started yet\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := startFake(t, test.serve)
			if got := f.run(t, test.in, "PMLOGGER_REQUEST_TIMEOUT=1"); got != test.want {
				t.Errorf("printed\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// damaged returns a PDU with an arbitrary body.
func damaged(kind wire.Type, body []byte) []byte {
	return append(wire.AppendHeader(nil, wire.Header{Len: uint32(wire.HeaderSize + len(body)), Type: kind}), body...)
}

// TestWait checks that without a time limit a pmlogger may take as long as it likes, and that the wait ends
// with the context.
func TestWait(t *testing.T) {
	came := make(chan struct{})
	f := startFake(t, func(c net.Conn) { hello(c, 3).Next(); close(came); io.Copy(io.Discard, c) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-came; cancel() }()
	out, _ := runIn(ctx, nil, strings.NewReader("status\nstatus\n"), "-h", "unix:"+f.path)
	if !strings.Contains(out, "Error receiving response") {
		t.Errorf("printed\n%s", out)
	}
}

// TestNoise feeds answers of random bytes: nothing panics, and the program ends.
func TestNoise(t *testing.T) {
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), 5))
	kinds := []wire.Type{wire.TypeError, wire.TypeResult, wire.TypeLogStatus, wire.TypeLogStatusV2, wire.TypeText, 0x8000, 0x1234}
	f := startFake(t, func(c net.Conn) {
		r := hello(c, pcp.Error(rnd.IntN(6)))
		for {
			if _, _, err := r.Next(); err != nil {
				return
			}
			body := make([]byte, rnd.IntN(400))
			for i := range body {
				body[i] = byte(rnd.Uint32() >> rnd.IntN(32)) // small numbers are more likely
			}
			b := damaged(kinds[rnd.IntN(len(kinds))], body)
			if rnd.IntN(8) == 0 {
				binary.BigEndian.PutUint32(b, rnd.Uint32())
			}
			c.Write(b)
			if rnd.IntN(8) == 0 {
				return
			}
		}
	})
	for range longtest.N(100, 5000) {
		f.run(t, "status\nnew volume\nquery x\nflush\nstatus\nlog advisory off { x[1] y }\nstatus\n", "PMLOGGER_REQUEST_TIMEOUT=1", "PMCD_CONNECT_TIMEOUT=1", "PMCD_PORT=1", "PMCD_SOCKET=/no/such")
	}
}

// TestPortFiles lists pmlogger processes by files that are right, stale or garbage.
func TestPortFiles(t *testing.T) {
	dir := t.TempDir()
	conf := fmt.Sprintf("PCP_RUN_DIR=%s\nPCP_TMP_DIR=%[1]s\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "pcp.conf"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PCP_CONF=" + dir + "/pcp.conf", "PCP_DIR="}
	show := func() string {
		out, _ := runIn(t.Context(), env, strings.NewReader("show loggers @localhost\n"))
		return strings.ReplaceAll(strings.ReplaceAll(out, dir, "DIR"), fmt.Sprint(os.Getpid()), "PID")
	}
	if got, want := show(), "No pmloggers running on localhost\n"; got != want {
		t.Errorf("without a directory: %q, want %q", got, want)
	}
	files := filepath.Join(dir, "pmlogger")
	if err := os.Mkdir(files, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self := fmt.Sprint(os.Getpid())
	put(self, "4330\nhost\n/archive\n")
	put("999999999", "4331\nhost\n/archive\n") // no such process
	put("notes.txt", "4332\n")
	if got, want := show(), "The following pmloggers are running on localhost:\n     PID\n"; got != want {
		t.Errorf("one: %q, want %q", got, want)
	}
	put("primary", "4330\nhost\n/archive\n")
	if got, want := show(), "The following pmloggers are running on localhost:\n    primary (PID)\n"; got != want {
		t.Errorf("the primary one: %q, want %q", got, want)
	}
	put("primary", "")
	put(self+"x", "4333\nhost\n/archive\n")
	if err := os.Mkdir(filepath.Join(files, self+"d"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(self, strings.Repeat("x", 1<<20))
	want := `__pmLogFindLocalPorts: pmlogger port file DIR/pmlogger/PID: no port number
__pmLogFindLocalPorts: pmlogger port file DIR/pmlogger/PIDd: Is a directory
__pmLogFindLocalPorts: unrecognised pmlogger port file DIR/pmlogger/PIDx
__pmLogFindLocalPorts: pmlogger port file DIR/pmlogger/primary empty!
No pmloggers running on localhost
`
	if got := show(); got != want {
		t.Errorf("garbage: %q, want %q", got, want)
	}
	put("primary", "4330\n")
	os.Remove(filepath.Join(files, self+"d"))
	os.Remove(filepath.Join(files, self+"x"))
	put(self, "4330 \n")
	want = `__pmLogFindLocalPorts: pmlogger port file DIR/pmlogger/PID: no port number
__pmLogFindLocalPorts: pmlogger port file DIR/pmlogger/primary: no PMCD host name
The following pmloggers are running on localhost:
    primary (0)
`
	if got := show(); got != want {
		t.Errorf("a file of one line: %q, want %q", got, want)
	}
}

// FuzzScript reads any bytes as statements, without a pmlogger.
func FuzzScript(f *testing.F) {
	for _, s := range []string{
		"status\n", "query { a, b[1 \"x\" y] }\n", "log mandatory on every 5 seconds { a\n b }\n", "connect 1 @local:/x*\n", "show\n\"\n", "\x00", "timezone \"x\"\n# c",
		"log advisory on 99999999999999999999 hours x\n", "sleep 0\nqa 1\nnew volume\nflush\nquit\n", "connect port 1 @unix:\n",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		text := strings.ReplaceAll(string(b), "sleep", "slepp")
		text = strings.NewReplacer("@", "&", "at", "ta").Replace(text) // no names are looked up
		runIn(t.Context(), []string{"PCP_RUN_DIR=" + dir, "PCP_TMP_DIR=" + dir}, strings.NewReader(text), "-ei")
	})
}

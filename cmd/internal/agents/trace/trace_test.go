package trace

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/trace"
)

// agent is an agent that records the data it receives; its greeting is an argument.
func agent(t *testing.T, greeting trace.Ack) (port string, records chan string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	records = make(chan string, 100)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.Write(greeting.Append(nil, 1))
				for r := trace.NewReader(conn, 0); ; {
					_, pdu, err := r.Next()
					if err != nil {
						return
					}
					var rec trace.Record
					if err := rec.Decode(pdu); err != nil || rec.Sync {
						t.Errorf("record %x: %v", pdu, err)
					}
					if rec.Kind == trace.Transact {
						rec.Value = 0
					}
					records <- fmt.Sprintf("%d %s %v", rec.Kind, rec.Tag, rec.Value)
				}
			}()
		}
	}()
	return fmt.Sprint(ln.Addr().(*net.TCPAddr).Port), records
}

// TestExit checks the data sent, the output, and the exit status.
func TestExit(t *testing.T) {
	port, records := agent(t, trace.Version)
	denied, _ := agent(t, trace.Ack(trace.ErrPermission))
	f := func(port, args string, status int, record, out string) {
		t.Helper()
		var b bytes.Buffer
		words := strings.Split(args, "|")
		env := &cli.Env{
			Name: "pmtrace", Program: "pcp", Args: words, Stdin: strings.NewReader(""), Stdout: &b, Stderr: &b, Command: Command,
			Getenv: func(name string) string {
				return map[string]string{"PCP_CONF": "/dev/null", "PCP_TRACE_PORT": port, "PCP_TRACE_HOST": "127.0.0.1"}[name]
			},
		}
		if got := run(context.Background(), env); got != status {
			t.Errorf("%q: exit status %d, want %d", words, got, status)
		}
		if got := b.String(); got != out {
			t.Errorf("%q prints %q, want %q", words, got, out)
		}
		got := ""
		if record != "" {
			select {
			case got = <-records:
			case <-time.After(20 * time.Second):
			}
		}
		if got != record {
			t.Errorf("%q sends %q, want %q", words, got, record)
		}
	}
	f(port, "tag", 0, "2 tag -1", "pmtrace: point complete (tag=\"tag\")\n")
	f(port, "-q|tag", 0, "2 tag -1", "")
	f(port, "-v|1.5|tag", 0, "3 tag 1.5", "pmtrace: observation complete (tag=\"tag\", value=1.500000)\n")
	f(port, "-h|localhost|-c|1e3|tag", 0, "4 tag 1000", "pmtrace: counter complete (tag=\"tag\", value=1000.000000)\n")
	f(port, "-e|echo hi|tag", 0, "1 tag 0", "hi\npmtrace: transaction complete (tag=\"tag\")\n")
	f(port, "-q|-e|exit 3|tag", 3, "1 tag 0", "")
	f(port, "-q|-e|kill -9 $$|tag", 137, "1 tag 0", "")
	f(port, "-q|-e|no-such-command 2>/dev/null|tag", 127, "1 tag 0", "")
	f(denied, "tag", 0, "", "pmtrace: point error: Cannot connect to PMDA - permission denied\n")
	f(denied, "-e|exit 3|tag", 3, "", "pmtrace: transaction begin error: Cannot connect to PMDA - permission denied\n")
	f("1", "-e|echo hi|tag", 0, "", "pmtrace: transaction begin error: Connection refused\nhi\n")
	f("1", "-v|1|"+strings.Repeat("x", 300), 0, "", "pmtrace: observation error: Tag name is too long (maximum 256 characters)\n")
	f("1x", "-S|16|-v|nan|tag", 0, "", "_pmtraceconnect: connecting to PMDA (skipped)\n_pmtracereconnect: reconnect attempt (skipped)\n"+
		"__pmtracesenddata: sending data (skipped)\npmtrace: observation complete (tag=\"tag\", value=nan)\n")
	usageText := "Usage: pmtrace " + synopsis + "\n" + usage + "pmtrace always uses the asynchronous PDU protocol mode.\n"
	f("1", "-x|tag", 0, "", "pmtrace: invalid option -- 'x'\n"+usageText)
	f("1", "-S|z|-c|y|-v|1|tag", 0, "", "pmtrace: -S requires a numeric argument\npmtrace: -v requires a numeric argument\npmtrace: only one of -c, -v or -e allowed\n"+usageText)
	f("1", "-?", 0, "", usageText)
	f("1", "a|b", 0, "", usageText)
}

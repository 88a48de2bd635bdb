package dbpmda_test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// fake is an agent that announces its version and then answers each request with the
// next of answers; nil is silence. At their end it disconnects.
func fake(t *testing.T, answers ...[]byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "agent")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { ln.Close(); <-done })
	go func() {
		defer close(done)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		rd := wire.NewReader(c)
		c.Write(wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}}))
		rd.Next() // the debugger's version
		for i := 0; i < len(answers); {
			h, _, err := rd.Next()
			if err != nil {
				return
			}
			if h.Type == wire.TypeProfile || h.Type == wire.TypeAttr {
				continue
			}
			if answers[i] == nil {
				rd.Next() // until the debugger gives up
				return
			}
			c.Write(answers[i])
			i++
		}
		c.(*net.UnixConn).CloseWrite()
		io.Copy(io.Discard, c)
	}()
	return path
}

func pdu(p wire.PDU) []byte { return wire.Append(nil, 0, p) }

// TestHostile runs agents that send wrong answers, stop in the middle or send nothing:
// each is reported, and the debugger continues.
func TestHostile(t *testing.T) {
	id := pcp.NewPMID(29, 0, 10)
	desc := pdu(&wire.Desc{Desc: pcp.Desc{PMID: id, Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}})
	set := &wire.Result{}
	set.AddSet(id)
	set.Add(pcp.Int32Value(7).WithInst(pcp.InNull))
	more := &wire.Result{}
	for range 3 {
		more.AddSet(id)
		more.Add(pcp.Int32Value(7).WithInst(3))
		more.Add(pcp.Int32Value(8).WithInst(4))
	}
	f := func(name, command, want string, answers ...[]byte) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the silent ones take their time
			out, status := ask(t, fmt.Sprintf("open socket %s\n%s\nhelp close\n", fake(t, answers...), command), "--timeout=1")
			if !strings.Contains(out, want) || !strings.Contains(out, "\nclose\n") || status != 0 {
				t.Errorf("%s: status %d, want %q in\n%s", command, status, want, out)
			}
		})
	}
	f("silent", "desc 29.0.10\ndesc 29.0.10", "Timeout waiting for a response from PMCD\nWarning: PMDA ", nil)
	f("silent", "fetch 29.0.10", "Warning: PMDA ", nil)
	f("silent", "fetch sample.dynamic.x", "Timeout", nil)
	f("silent name", "getdesc on\ngetiname on\nfetch 29.0.10", "Warning: PMDA ", desc, pdu(more), nil)
	f("silent store", "store 29.0.10 \"3\"", "Warning: PMDA ", desc, pdu(set), nil)
	f("silent text", "text 29.0.10", "Warning: PMDA ", nil)
	f("gone", "desc 29.0.10\ndesc 29.0.10", "PDU empty, PMDA may have died", desc)
	f("half", "fetch 29.0.10", "Error: __pmGetPDU() failed: wrong PDU (ffffcfb2)", pdu(set)[:20])
	f("half", "text 29.0.10", "Error: __pmGetPDU() failed: IPC protocol failure", desc[:13])
	f("header", "label domain", "IPC protocol failure", []byte{0, 0, 0, 3, 0, 0, 0x70, 1, 0, 0, 0, 0})
	f("huge", "label domain", "IPC protocol failure", []byte{0x7f, 0, 0, 3, 0, 0, 0x70, 1, 0, 0, 0, 0})
	f("type", "desc 29.0.10", "Error: __pmGetPDU() failed: wrong PDU (7001)", pdu(set))
	f("type", "children sample", "Error: __pmGetPDU() failed: ", pdu(set))
	f("short", "desc 29.0.10", "Error: __pmDecodeDesc() failed: IPC protocol failure", []byte{0, 0, 0, 16, 0, 0, 0x70, 5, 0, 0, 0, 0, 1, 2, 3, 4})
	f("more sets", "getdesc on\nfetch 29.0.10", "numpmid: 3", desc, pdu(more))
	f("no sets", "store 29.0.10 \"3\"", "29.0.10 not available!", desc, pdu(&wire.Result{}))
	f("no name", "getdesc on\ngetiname on\nfetch 29.0.10", "inst [3 or ???]", desc, pdu(more),
		pdu(&wire.Instance{}), pdu(&wire.Error{Code: pcp.ErrInst}), pdu(set), pdu(set), pdu(set), pdu(set))
	f("no ids", "pmid sample.x", "Error: __pmDecodeIDList() failed", pdu(&wire.PMNSIDs{}))
	f("dynamic", "desc sample.dynamic.x", "Error: Unknown metric name", pdu(&wire.Error{Code: pcp.ErrName}))
	f("dynamic", "desc sample.dynamic.x", "Error: IPC protocol failure", pdu(&wire.PMNSIDs{}))
	f("dynamic", "desc sample.dynamic.x", "PMID: 29.0.10", pdu(&wire.PMNSIDs{Status: 1, PMIDs: []pcp.PMID{id}}), desc)
}

// TestHostileInput tries input that no user would type.
func TestHostileInput(t *testing.T) {
	f := func(script, want string, status int) {
		t.Helper()
		if out, got := ask(t, script); got != status || !strings.Contains(out, want) {
			t.Errorf("%.40q: status %d, want %d and %q in %.2000s", script, got, status, want, out)
		}
	}
	f(strings.Repeat("x", 2<<20), "line 1 has more than", 1)
	f("open pipe /bin/true "+strings.Repeat("x ", 1<<20), "line 1 has more than", 1)
	f("store 29.0.10 \""+strings.Repeat("x", 2<<20), "line 1 has more than", 1)
	f("foo bar", "Unrecognized command", 0)
	f("foo", "", 0)
	f("status", "syntax error", 0)
	f("open pipe", "syntax error", 0)
	f("open pipe /no/such", "stat /no/such failed", 0)
	f("# a comment at the end", "Illegal character", 0)
	f("\"", "Illegal character", 0)
	f("quit\n\"", "", 0)
	f("status\x00status\n", "syntax error", 0)
	f("\xff\xfe\n", "Illegal character", 0)
}

func FuzzInput(f *testing.F) {
	for _, s := range []string{
		"desc sample.long.one\n", "fetch 1.2,3 4.5.6\nstatus\n", "open dso trivial\nfetch 250.0.0\n", "0x1d -5 -a $b 'x' \"y\n",
		"profile 29.1 add 3\nstatus\n", "debug all\ndebug -pdu,3\n", "help open\n?\n", "label item 1 2\nname 1.2.3\nattr 3 \"x\"\n",
		"timer on\ngetiname off\nclose\nq\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for _, word := range []string{"open", "wait", "watch", "namespace"} { // these reach out
			if strings.Contains(script, word) && !strings.HasPrefix(script, "open dso trivial\n") {
				return
			}
		}
		if strings.Count(script, "open") > 1 {
			return
		}
		ask(t, script, "-e", "-i")
	})
}

package pmcd_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

var (
	traceTime = regexp.MustCompile(`(?m)^->[0-9:]{8} | {9}|starting at .*`)
	traceFile = regexp.MustCompile(`\b(fd|infd|outfd|fd)=\d+`)
)

// traced returns a trace without the parts that differ from run to run: times and
// the numbers of files.
func traced(report string) []string {
	report = traceTime.ReplaceAllString(report, "")
	report = traceFile.ReplaceAllString(report, "$1=N")
	report = strings.ReplaceAll(report, "->", "")
	return strings.Split(strings.Trim(report, "\n"), "\n")
}

// TestTrace holds the trace of a client's life, and of the end of an agent,
// against what the log of the C collector has.
func TestTrace(t *testing.T) {
	report := new(logBuffer)
	s := start(t, pmcd.Config{
		Trace:  pmcd.TraceConn | pmcd.TracePDU,
		Report: report,
		Agents: []pmcd.AgentSpec{
			inProcess("local", 301, &scripted{}),
			{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "eof")}},
		},
	})
	compare := func(what string, want ...string) {
		t.Helper()
		got := traced(report.String())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", what, diff)
		}
		report.mu.Lock()
		report.b.Reset()
		report.mu.Unlock()
	}
	s.Control().DumpTrace()
	compare("start",
		"PMCD event trace: ",
		"Recv: CREDS PDU, fd=N, len=20",
		"Xmit: CREDS PDU, fd=N, numcreds=1",
		"Add PMDA: domain=300, infd=N, outfd=N",
		"Add PMDA: domain=301, DSO",
	)
	s.Control().DumpTrace()
	compare("nothing", "PMCD event trace: <empty>")

	c := dial(t, "unix", s.Socket)
	c.fetch(pcp.NewPMID(301, 0, 5))
	c.send(&wire.DescReq{PMID: pcp.NewPMID(305, 0, 5)})
	var e wire.Error
	c.expect(&e)
	s.Control().DumpTrace()
	compare("client",
		"PMCD event trace: ",
		"New client: [0] addr="+s.Socket+", fd=N, seq=1",
		"Xmit: ERROR PDU, fd=N, err=0: No error",
		"Recv: CREDS PDU, fd=N, len=20",
		"Recv: PROFILE PDU, fd=N, len=28",
		"Recv: HIGHRES_FETCH PDU, fd=N, len=32",
		"Xmit: HIGHRES_RESULT PDU, fd=N, numpmid=1",
		"Recv: DESC_REQ PDU, fd=N, len=16",
		"Xmit: ERROR PDU, fd=N, err=-12358: Unknown or illegal metric identifier",
	)

	// Only the requested events are traced, and only as many as configured are
	// kept.
	s.Control().SetTraceFlags(pmcd.TraceConn)
	c.fetch(pcp.NewPMID(301, 0, 5))
	s.Control().SetTraceFlags(pmcd.TracePDU)
	if err := s.Control().SetTraceBuffers(2); err != nil || s.Control().TraceBuffers() != 2 {
		t.Fatalf("%d buffers, %v", s.Control().TraceBuffers(), err)
	}
	c.fetch(pcp.NewPMID(301, 0, 5))
	s.Control().DumpTrace()
	compare("the last two",
		"PMCD event trace: ",
		"Recv: HIGHRES_FETCH PDU, fd=N, len=32",
		"Xmit: HIGHRES_RESULT PDU, fd=N, numpmid=1",
	)
	for n, want := range map[int]error{-1: pcp.ErrSign, 0: pcp.ErrBadStore, 1 << 30: pcp.ErrTooBig} {
		if err := s.Control().SetTraceBuffers(n); !errors.Is(err, want) {
			t.Errorf("%d buffers: %v, want %v", n, err, want)
		}
	}

	s.Control().SetTraceFlags(pmcd.TraceConn | pmcd.TraceUnbuffered)
	s.Control().SetTraceBuffers(20)
	c.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{fakeMetric}})
	c.receive()
	c.receive()
	got := report.String()
	if !regexp.MustCompile(`(?m)^->\d\d:\d\d:\d\d Premature EOF: expecting RESULT PDU, fd=\d+$`).MatchString(got) {
		t.Errorf("the end of an agent is told as %s", got)
	}
	want := fmt.Sprintf("Cleanup \"fake\" agent (dom %d): protocol failure for fd=", fakeAgentDomain)
	if !strings.Contains(got, want) || !strings.Contains(got, "Drop PMDA: domain=300, infd=") {
		t.Errorf("log has %s, want %q and the trace", got, want)
	}
	if len(s.Log.lines("Info: CleanupAgent ...\n")) != 1 {
		t.Error("log has no line CleanupAgent")
	}
}

func TestDumpClients(t *testing.T) {
	report := new(logBuffer)
	s := start(t, pmcd.Config{Report: report, Agents: []pmcd.AgentSpec{inProcess("local", 301, &scripted{})}})
	dial(t, "tcp4", s.TCP).fetch(pcp.NewPMID(301, 0, 5))
	s.Control().DumpClients()
	if got := report.lines("127.0.0.1"); len(got) != 1 || len(report.lines("->Current PMCD clients at ")) != 1 {
		t.Errorf("table is %s", report)
	}
}

// TestStopHangingAgent stops a server that waits for an agent without a limit.
func TestStopHangingAgent(t *testing.T) {
	report := new(logBuffer)
	hang := pmcd.AgentSpec{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "hang")}}
	setup := &pmcd.Setup{Agents: []pmcd.AgentSpec{inProcess("local", 301, &scripted{})}}
	for _, reload := range []bool{true, false} {
		s := start(t, pmcd.Config{
			AgentTimeout: -1,
			Report:       report,
			Agents:       []pmcd.AgentSpec{inProcess("local", 301, &scripted{}), hang},
			Reload:       func() *pmcd.Setup { return setup },
		})
		c := dial(t, "unix", s.Socket)
		c.fetch(fakeGood)
		c.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{fakeMetric}})
		eventually(t, "the agent is asked", func() bool { return s.Control().PDUsOut(int(wire.TypeFetch-wire.TypeError)) == 2 })
		done := make(chan struct{})
		go func() {
			defer close(done)
			if reload {
				s.HangUp()
			} else {
				s.stop(t)
			}
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("reload %v waits for the agent", reload)
		}
		s.stop(t)
	}
	if got := report.lines(fmt.Sprintf("Cleanup \"fake\" agent (dom %d): unconfigured", fakeAgentDomain)); len(got) != 1 {
		t.Errorf("report is %s", report)
	}
}

// TestTimeoutIsTold has an agent that never answered not answer in time. Only a fetch reports
// that.
func TestTimeoutIsTold(t *testing.T) {
	hang := pmcd.AgentSpec{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "mute")}}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("local", 301, &scripted{}), hang}})
	c := dial(t, "unix", s.Socket)
	s.Control().SetAgentTimeout(200 * time.Millisecond)
	c.send(&wire.DescReq{PMID: fakeMetric})
	var e wire.Error
	if c.expect(&e); e.Code != pcp.ErrIPC {
		t.Errorf("the client is told %v", e.Code)
	}
}

// BenchmarkTrace is what a fetch costs while PDUs are traced.
func BenchmarkTrace(b *testing.B) {
	for name, flags := range map[string]uint32{"off": 0, "on": pmcd.TraceConn | pmcd.TracePDU} {
		b.Run(name, func(b *testing.B) {
			s := start(b, pmcd.Config{Trace: flags, Agents: []pmcd.AgentSpec{builtin(b, "pmcd")}})
			c := dial(b, "unix", s.Socket)
			c.fetch(pcp.NewPMID(2, 0, 4))
			request := wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(2, 0, 4)}})
			b.ReportAllocs()
			for b.Loop() {
				if err := roundTrip(c.conn, c.pdus, request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

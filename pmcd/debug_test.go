package pmcd_test

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

func TestDebug(t *testing.T) {
	report := new(logBuffer)
	s := start(t, pmcd.Config{Report: report, Debug: pmcd.DebugAccess, Agents: []pmcd.AgentSpec{inProcess("local", 301, &scripted{})}})
	ask := func() {
		c := dial(t, "unix", s.Socket)
		c.send(&wire.DescReq{PMID: pcp.NewPMID(305, 0, 5)})
		var e wire.Error
		c.expect(&e)
	}
	ask()
	if len(s.Log.lines("client admitted")) != 1 || len(s.Log.lines("request")) != 0 || report.String() != "" {
		t.Errorf("with DebugAccess the log is %s%s", s.Log, report)
	}
	s.Control().SetTraceFlags(pmcd.TraceConn)
	s.Control().SetDebug(pmcd.DebugIO | pmcd.DebugPDU)
	if s.Control().TraceFlags() != pmcd.TraceConn || s.Control().Debug() != pmcd.DebugIO|pmcd.DebugPDU {
		t.Errorf("flags are %#x and %#x", s.Control().TraceFlags(), s.Control().Debug())
	}
	ask()
	if len(s.Log.lines("client came")) != 1 || len(s.Log.lines(`request client=`)) != 1 || len(s.Log.lines("client admitted")) != 1 {
		t.Errorf("with DebugIO the log is %s", s.Log)
	}
	if len(report.lines("Recv: fd=")) != 2 || len(report.lines("DESC_REQ")) != 1 {
		t.Errorf("with DebugPDU the log is %s", report)
	}
	shown := report.String()
	s.Control().SetDebug(0)
	ask()
	if report.String() != shown || len(s.Log.lines("client came")) != 1 {
		t.Errorf("without debug options the log has %s%s", s.Log, report)
	}
	if s.Control().TraceFlags() != pmcd.TraceConn {
		t.Errorf("trace flags are %#x", s.Control().TraceFlags())
	}

	var b strings.Builder
	file, err := conf.Parse(strings.NewReader("a 3 pipe binary notready /bin/a -d 3\nb 4 socket unix /run/b /bin/b\nc 5 dso x /y\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conf.Describe(&b, file.Agents); err != nil {
		t.Fatal(err)
	}
	want := `config: agent "a" domain 3 pipe argv[0]="/bin/a" argv[1]="-d" argv[2]="3" notready
config: agent "b" domain 4 socket unix "/run/b" argv[0]="/bin/b"
config: agent "c" domain 5 dso entry "x" path "/y"
`
	if b.String() != want {
		t.Errorf("agents are\n%s, want\n%s", b.String(), want)
	}
}

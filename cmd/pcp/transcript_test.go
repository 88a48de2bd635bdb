package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// TestTranscripts runs the scripts in testdata/transcript with our tools: they hold
// what the C tools print.
func TestTranscripts(t *testing.T) {
	transcripts(t, twin.Transcript{}, false)
}

// TestTranscriptsOfC runs them with the C tools, where these are installed.
// UPDATE=oracle writes their output into the scripts.
func TestTranscriptsOfC(t *testing.T) {
	oracle.Require(t)
	transcripts(t, twin.Transcript{Theirs: true}, os.Getenv("UPDATE") == "oracle")
}

func transcripts(t *testing.T, tr twin.Transcript, update bool) {
	commands := tr.Commands()
	commands["collector"] = collector
	commands["controller"] = controller
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/transcript",
		UpdateScripts:       update,
		RequireExplicitExec: true,
		Setup:               tr.Setup,
		Cmds:                commands,
	})
}

// collector starts a collector with the agents pmcd, simple and sample, to which
// "local:" and $HOST lead from then on.
func collector(ts *testscript.TestScript, _ bool, _ []string) {
	socket, port, err := collect(collectorSpec{agents: []string{"simple", "sample"}, tcp: true, atEnd: ts.Defer, log: ts.Logf})
	ts.Check(err)
	ts.Setenv("PMCD_SOCKET", socket)
	ts.Setenv("HOST", "127.0.0.1:"+port)
	ts.Setenv("PORT", port)
}

// TestCollectorAlone checks that the collector of a script reports no loggers of the machine.
func TestCollectorAlone(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("PCP_TMP_DIR", tmp)
	dir := filepath.Join(tmp, "pmlogger")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), []byte("4330\nhost\n/archive\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	socket, _, err := collect(collectorSpec{atEnd: t.Cleanup, log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Dial(t.Context(), "unix://"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(t.Context(), "pmcd.pmlogger.port")
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Fetch(t.Context(), ids)
	if err != nil || len(res.Sets) != 1 || len(res.Sets[0].Values) != 0 {
		t.Errorf("ports of loggers: %+v, %v, want none", res, err)
	}
}

package pmcd_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

// writeLabels makes dir hold these files and no others.
func writeLabels(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for _, name := range []string{"labels", "labels.conf"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "labels", "optional"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSiteLabelsAreThoseOfTheRealOne gives a real collector and ours the same
// files, again and again.
func TestSiteLabelsAreThoseOfTheRealOne(t *testing.T) {
	oracle.Require(t)
	dir := tempDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeLabels(t, dir, nil)
	real := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd"}, Args: []string{"-H", "other"}, Env: []string{"PCP_SYSCONF_DIR=" + dir}})
	file, err := conf.ReadFile(real.Dir + "/pmcd.conf")
	if err != nil {
		t.Fatal(err)
	}
	ours := start(t, pmcd.Config{Access: file.Access, HostName: "other", Agents: []pmcd.AgentSpec{builtin(t, "pmcd")}, SysConfDir: dir})
	f := func(what string, files map[string]string) {
		t.Helper()
		writeLabels(t, dir, files)
		hups := func() string { return oracle.Run(t, "pminfo", "-h", real.Unix, "-f", "pmcd.sighups").Stdout }
		before := hups()
		real.Signal(t, syscall.SIGHUP)
		eventually(t, "SIGHUP", func() bool { return hups() != before })
		ours.HangUp()

		// All of it: order, flags, index. A request also has the real one
		// read its files, so that the value which follows is not of before.
		req := &wire.LabelReq{Ident: uint32(pcp.PMIDNull), Kind: pcp.LabelContext}
		want, got := dial(t, "tcp", real.TCP).ask(req), dial(t, "tcp", ours.TCP).ask(req)
		copy(want[8:12], got[8:12]) // the sender
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: labels (-real +ours):\n%s", what, d)
		}
		run := func(host string) oracle.Output { return oracle.Run(t, "pminfo", "-h", host, "-lf", "pmcd.labels") }
		if d := cmp.Diff(run(real.Unix), run("unix:"+ours.Socket)); d != "" {
			t.Errorf("%s: pminfo (-real +ours):\n%s", what, d)
		}
	}
	// Cases that libpcp 6.0.3 gets wrong are left out: space within an array
	// doubles the colon before it, and names of objects in objects lose a part.
	f("none", nil)
	f("one", map[string]string{"labels/a": `{"site":"north","rack":[1,2]}`})
	f("objects", map[string]string{"labels/a.json": `{"m":{"a":1,"b":null}, "e":{}, "s":""}`})
	f("later files win", map[string]string{"labels/a": `{"x":1,"y":1}`, "labels/b": `{"x":2}`, "labels/optional/a": `{"y":3,"z":3}`})
	f("hidden", map[string]string{"labels/.a": `{"x":1}`, "labels/b": `{"y":2}`})
	f("bad", map[string]string{"labels/a": `{one:two}`, "labels/b": `{"y":2}`})
	f("bad alone", map[string]string{"labels/a": `{one:two}`})
	f("empty", map[string]string{"labels/a": `{}`, "labels/b": ""})
	f("the host's own", map[string]string{"labels/a": `{"hostname":"other","machineid":0}`})
	f("compound names", map[string]string{"labels/a": `{"a.b":1}`})
	f("hash", map[string]string{"labels.conf": "# x\n[global]\nmachineid_hash = sha256\n"})
	f("no hash", map[string]string{"labels.conf": "[global]\n  machineid_hash: none\n"})
	f("other section", map[string]string{"labels.conf": "[other]\nmachineid_hash = sha256\n"})
	f("odd hash", map[string]string{"labels.conf": "machineid_hash = md5\nmachineid_hash = sha256\n"})
}

// TestSiteLabels covers the parts that cannot be compared with the real one: the
// log, the notices of changes, and files that the real one cannot read.
func TestSiteLabels(t *testing.T) {
	dir := tempDir(t)
	writeLabels(t, dir, map[string]string{
		"labels/a": `{"one":1}`, "labels/b": `{"bad"`, "labels/z": strings.Repeat(" ", pcp.MaxLabelJSONLen),
		"labels.conf": "machineid_hash = md5\n",
	})
	if err := syscall.Mkfifo(filepath.Join(dir, "labels", "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(t, "pmcd")}, SysConfDir: dir})
	if got, want := s.Control().UserLabels(), `{"one":1}`; got != want {
		t.Errorf("labels at the start are %s, want %s", got, want)
	}
	for _, want := range []string{"/labels/b: ", "/labels/fifo: not a file", "/labels/z: more than ", `machineid_hash \"md5\"`} {
		if n := len(s.Log.lines(want)); n != 1 {
			t.Errorf("the log has %q %d times, want once", want, n)
		}
	}
	ctx := t.Context()
	c, err := pmapi.Dial(ctx, "unix:"+s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fetch := func(want pmapi.Changes) {
		t.Helper()
		got, err := c.FetchInto(ctx, []pcp.PMID{pcp.NewPMID(2, 0, 25)}, new(pcp.Result))
		if err != nil || got != want {
			t.Errorf("a fetch brings the changes %#x, %v, want %#x", got, err, want)
		}
	}
	fetch(0)
	s.HangUp()
	fetch(0)
	writeLabels(t, dir, map[string]string{"labels/optional/a": `{"two":2}`})
	s.HangUp()
	fetch(pmapi.LabelChange)
	fetch(0)
	if got, want := s.Control().UserLabels(), `{"two":2}`; got != want {
		t.Errorf("labels after a change are %s, want %s", got, want)
	}
	// The same labels, no longer optional.
	writeLabels(t, dir, map[string]string{"labels/a": `{"two":2}`})
	s.HangUp()
	fetch(pmapi.LabelChange)
	if err := os.RemoveAll(filepath.Join(dir, "labels")); err != nil {
		t.Fatal(err)
	}
	s.HangUp()
	fetch(pmapi.LabelChange)
	if got := s.Control().UserLabels(); got != "" {
		t.Errorf("labels without files are %s", got)
	}
	// Signals in the midst of requests.
	done := make(chan struct{})
	go func() {
		defer close(done)
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
			s.HangUp()
		}
	}()
	raw := dial(t, "unix", s.Socket)
	for range 100 {
		raw.ask(&wire.LabelReq{Ident: uint32(pcp.PMIDNull), Kind: pcp.LabelContext})
	}
	<-done
}

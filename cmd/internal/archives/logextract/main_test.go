package logextract

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

func TestMain(m *testing.M) { twin.Main(m, Command) }

// runTool runs our tool or the real one in dir; the output archive is out.
func runTool(t *testing.T, ours bool, dir string, env []string, args ...string) twin.Made {
	t.Helper()
	return twin.Call{Tool: "pmlogextract", Args: args, Dir: dir, Env: env}.Make(t, ours)
}

// suiteDir is the directory of archives of the installed QA suite.
var suiteDir = filepath.Join(twin.SuiteRoot, "archives")

// compare runs both tools and returns which of stdout, stderr, status and files differ,
// "" if none do.
func compare(t *testing.T, env []string, args ...string) string {
	t.Helper()
	return twin.CompareMade(t, twin.Call{Tool: "pmlogextract", Args: args, Env: env}, excused)
}

// excused reports whether the real tool gives up for a reason of its own.
func excused(want, got twin.Made) bool {
	// Instances in a configuration file make it write out of bounds.
	return want.Status == 1 && got.Status == 0 && bytes.Contains(want.Err, []byte("meta data (TYPE_DESC) for pmid 0.0.0 "))
}

// makeArchive writes an archive of n records, ten seconds apart, of some metrics.
func makeArchive(t testing.TB, base string, version, n int) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	start := pcp.Timestamp{Sec: 1700000000}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: version, PID: 1, Start: start, Host: "cellar", TimeZone: "UTC"}})
	must(err)
	indom := pcp.NewInDom(245, 1)
	count := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemCounter}
	size := pcp.Desc{PMID: pcp.NewPMID(245, 0, 2), Type: pcp.TypeU64, InDom: indom, Sem: pcp.SemInstant}
	name := pcp.Desc{PMID: pcp.NewPMID(245, 0, 3), Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
	must(w.Desc(count, "cellar.count"))
	must(w.Desc(size, "cellar.size"))
	must(w.Desc(name, "cellar.name"))
	must(w.InDom(start, indom, []pcp.Instance{{Inst: 0, Name: "red wine"}, {Inst: 1, Name: "white"}}))
	var res pcp.Result
	for i := range n {
		res.Reset()
		res.Time = start.Add(time.Duration(i) * 10 * time.Second)
		res.AddSet(count.PMID)
		res.Sets[0].ValFmt = pcp.ValInSitu
		res.Add(pcp.Uint32Value(uint32(i)).WithInst(pcp.InNull))
		res.AddSet(size.PMID)
		res.Sets[1].ValFmt = pcp.ValDPtr
		res.Add(pcp.Uint64Value(uint64(1000 * i)).WithInst(0))
		res.Add(pcp.Uint64Value(uint64(1000*i + 1)).WithInst(1))
		res.AddSet(name.PMID)
		res.Sets[2].ValFmt = pcp.ValDPtr
		res.Add(pcp.StringValue(strings.Repeat("x", i%5)).WithInst(pcp.InNull))
		must(w.WriteResult(&res))
	}
	must(w.Close())
}

package buddyinfo

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/tool/cli"
)

// record writes an archive of eight samples, without some of the metrics.
func record(t *testing.T, without ...string) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	zones := pcp.NewInDom(60, 38)
	insts := []string{"Normal::order10::node0", "Normal::order9::node0", "DMA::order9::node0", "Normal::order9::node1", "odd"}
	if slices.Contains(without, "numbers") {
		insts = append(insts, "DMA::orderx::node0")
	}
	for i, name := range insts {
		must(im.AddInstance(zones, name, int32(i)))
	}
	names := slices.Concat(system, metrics)
	for i, name := range names {
		d := pcp.Desc{PMID: pcp.NewPMID(60, 1, i), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
		if i < 4 {
			d.Type = pcp.TypeString
		}
		if i >= len(system) {
			d.InDom = zones
		}
		_, err := im.AddMetric(name, d)
		must(err)
	}
	for n := range 8 {
		for i, name := range names {
			if i < len(system) {
				must(im.PutValue(name, "", "4"))
				continue
			}
			for k, inst := range insts {
				must(im.PutValue(name, inst, []string{"17", "123456789", "3"}[k%3]))
			}
		}
		must(im.Write(time.Unix(1_700_000_000+int64(n)*2, 0)))
	}
	must(im.End())
	return base
}

// run runs the command over an archive, and returns what it prints and its status.
func exec(t *testing.T, archive string, args ...string) (string, int) {
	t.Helper()
	var out, errs bytes.Buffer
	vars := map[string]string{"PCP_ARCHIVE": archive, "TZ": "UTC", "PCP_DERIVED_CONFIG": ""}
	env := &cli.Env{
		Name: Command.Link, Args: args, Stdout: &out, Stderr: &errs, Command: Command, Version: "1",
		Getenv:    func(name string) string { return vars[name] },
		LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}
	status := Command.Run(context.Background(), env)
	return out.String() + errs.String(), status
}

// TestReport has the table. The C program fetches a group of metrics in vain, so that the table is of
// the time after an interval, or with -u of the second record.
func TestReport(t *testing.T) {
	base := record(t)
	out, status := exec(t, base, "-s", "2")
	want := `4  4  (4)  11/14/23  4    (4 CPU)
TimeStamp         Normal             Nodes        Order0    Order1    Order2    Order3    Order4    Order5    Order6    Order7    Order8    Order9    Order10
22:13:21          DMA                node0          3         0          ~
22:13:21          DMA                node1          0         0          ~
22:13:21          Normal             node0          123456789  17         ~
22:13:21          Normal             node1          17        0          ~
`
	if first, _, _ := strings.Cut(out, "4  4  (4)  11/14/23  4    (4 CPU)\nTimeStamp         Normal             Nodes        Order0    Order1    Order2    Order3    Order4    Order5    Order6    Order7    Order8    Order9    Order10\n22:13:23"); strings.ReplaceAll(want, "~", "") != first || status != 0 {
		t.Errorf("status %d\n%s\nwant\n%s", status, out, want)
	}
	if out, status = exec(t, base, "-u", "-z"); status != 0 || !strings.Contains(out, "\n22:13:22 ") || strings.Contains(out, "22:13:24") || !strings.Contains(out, "22:13:26") {
		t.Errorf("-u: status %d\n%s", status, out)
	}
	if out, status = exec(t, base, "--json", "-s", "1"); status != 0 || !strings.HasPrefix(out, `{"time":"2023-11-14T22:13:21Z","host":"cellar","instance":"DMA::node0","columns":{"order9":3,"order10":0}}`) {
		t.Errorf("--json: status %d, %s", status, out)
	}
	if out, status = exec(t, record(t, "numbers")); status != 1 || out != "pcp-buddyinfo: mem.buddyinfo.pages: \"orderx\" is not a size of blocks\n" {
		t.Errorf("status %d, %s", status, out)
	}
	if _, status = exec(t, base, "-x"); status != 1 {
		t.Errorf("-x: status %d", status)
	}
}

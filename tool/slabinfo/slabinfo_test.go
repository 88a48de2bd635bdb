package slabinfo

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
	slabs := pcp.NewInDom(60, 12)
	insts := []string{"kmalloc-8", "Acpi-State", "dentry"}
	for i, name := range insts {
		must(im.AddInstance(slabs, name, int32(i)))
	}
	names := slices.Concat(system, metrics)
	for i, name := range names {
		d := pcp.Desc{PMID: pcp.NewPMID(60, 20, i), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
		if i < 4 {
			d.Type = pcp.TypeString
		}
		if i >= len(system) {
			d.InDom = slabs
		}
		if !slices.Contains(without, name) {
			_, err := im.AddMetric(name, d)
			must(err)
		}
	}
	for n := range 8 {
		for i, name := range names {
			switch {
			case slices.Contains(without, name):
			case i < len(system):
				must(im.PutValue(name, "", "4"))
			default:
				for k, inst := range insts {
					if !slices.Contains(without, inst+" "+name) {
						must(im.PutValue(name, inst, []string{"1", "20", "300000000"}[(k+i)%3]))
					}
				}
			}
		}
		must(im.Write(time.Unix(1_700_000_000+int64(n), 0)))
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

// TestReport has the table, whose groups of metrics are one interval apart as in the C program.
func TestReport(t *testing.T) {
	base := record(t)
	out, status := exec(t, base, "-s", "2")
	gap := strings.Repeat(" ", 11)
	row := "22:13:21          Acpi-State               " + gap + "      20 " // and so on
	if status != 0 || strings.Count(out, "4  4  (4)  11/14/23  4    (4 CPU)\nTimeStamp         Name") != 2 || !strings.Contains(out, row) {
		t.Errorf("status %d, no %q in:\n%s", status, row, out)
	}
	if i, j := strings.Index(out, "dentry"), strings.Index(out, "kmalloc-8"); i < 0 || j < i || strings.Count(out, "22:13:24") != 3 {
		t.Errorf("not sorted, or at other times:\n%s", out)
	}
	out, status = exec(t, base, "--json", "-s", "1", "-a", base)
	if want := `{"time":"2023-11-14T22:13:21Z","host":"cellar","instance":"Acpi-State","columns":{"mem.slabinfo.objects.active":20,`; !strings.HasPrefix(out, want) || status != 0 {
		t.Errorf("--json: status %d, %s", status, out)
	}
	out, status = exec(t, record(t, "dentry mem.slabinfo.objects.size"))
	if want := "pcp-slabinfo: mem.slabinfo.objects.size: no value for \"dentry\"\n"; !strings.HasSuffix(out, want) || status != 1 {
		t.Errorf("status %d, %q, want %q", status, out, want)
	}
	out, status = exec(t, record(t, "hinv.ncpu"))
	if want := "Missing ['hinv.ncpu']\n"; !strings.HasSuffix(out, want) || status != 1 {
		t.Errorf("status %d, %q, want %q", status, out, want)
	}
	if _, status = exec(t, base, "-x"); status != 1 {
		t.Errorf("-x: status %d", status)
	}
}

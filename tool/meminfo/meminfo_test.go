package meminfo

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
	names := slices.Clone(system)
	for _, l := range lines {
		names = append(names, l.metric)
	}
	for i, name := range names {
		d := pcp.Desc{PMID: pcp.NewPMID(60, 1, i), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
		if i < 4 {
			d.Type = pcp.TypeString
		}
		if !slices.Contains(without, name) {
			_, err := im.AddMetric(name, d)
			must(err)
		}
	}
	for n := range 8 {
		for _, name := range names {
			if (name != "mem.util.bounce" || n == 7) && !slices.Contains(without, name) { // which has a late value
				must(im.PutValue(name, "", "2048"))
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

// TestReport has the report, whose groups of metrics are one interval apart as in the C program.
func TestReport(t *testing.T) {
	base := record(t)
	out, status := exec(t, base, "-s", "2")
	for _, want := range []string{
		"2048  2048  (2048)  11/14/23  2048    (2048 CPU)\nTimestamp         : 11/14/2023 22:13:20\nMemTotal          : 2048 kB\n",
		"Bounce            : NA\n", "HugePages_Total   : 2048 \n", "Hugepagesize      : 2 kB\n", "DirectMap1G       : 2048 kB\n\nTimestamp         : 11/14/2023 22:13:22\n",
	} {
		if !strings.Contains(out, want) || status != 0 {
			t.Errorf("status %d, no %q in:\n%s", status, want, out)
		}
	}
	if n := strings.Count(out, "\n"); n != 1+2*(len(lines)+2) {
		t.Errorf("%d lines", n)
	}
	out, status = exec(t, base, "--json", "-z", "x", "-s", "1")
	if want := `{"time":"2023-11-14T22:13:21Z","host":"cellar","units":"Kbyte","columns":{"MemTotal":2048,"MemFree":2048,`; !strings.HasPrefix(out, want) || status != 0 || !strings.Contains(out, `"Bounce":null`) {
		t.Errorf("--json: status %d, %s", status, out)
	}
	out, status = exec(t, record(t, "mem.util.free"))
	if want := "Error: not all required metrics are available\nMissing: ['mem.util.free']\n"; out != want || status != 1 {
		t.Errorf("status %d, %q, want %q", status, out, want)
	}
	if out, status = exec(t, "nosuch"); out != "pcp-meminfo No such file or directory ['nosuch']\n" || status != 0 {
		t.Errorf("status %d, %q", status, out)
	}
	if out, status = exec(t, base, "-?"); status != 1 || !strings.Contains(out, "invalid option -- '?'") {
		t.Errorf("status %d, %q", status, out)
	}
	if _, status = exec(t, "x", "-a", base, "--help"); status != 1 {
		t.Errorf("--help: status %d", status)
	}
}

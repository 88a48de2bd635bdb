package prom

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/testing/docpage"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestEngine runs the commands of docs/engine.md, with Debian's Prometheus as the engine, and checks that processes are hidden.
func TestEngine(t *testing.T) {
	page := docpage.Read(t, "docs/engine.md")
	engine := startPrometheus(t, "global: {}\n")
	dir := t.TempDir()
	base := filepath.Join(dir, "20261124")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	im, err := importer.Start(base, importer.Options{Host: "www", TimeZone: "UTC"})
	must(err)
	load, err := im.NewMetric("kernel.all.load", importer.Spec{Type: pcp.TypeFloat, Sem: pcp.SemInstant, InDom: im.NewInDom()})
	must(err)
	reads, err := im.NewMetric("disk.dev.read", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: im.NewInDom()})
	must(err)
	procs, err := im.NewMetric("proc.nprocs", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemInstant})
	must(err)
	start := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	for n := range 60 {
		h, err := load.Instance("1 minute")
		must(err)
		must(h.PutAtom(pcp.FloatValue(float32(n) / 4)))
		h, err = reads.Instance("sda")
		must(err)
		must(h.PutUint(uint64(100 * n)))
		must(procs.PutUint(77))
		must(im.Write(start.Add(time.Duration(n) * 10 * time.Second)))
	}
	must(im.End())

	bin, port := t.TempDir(), fmt.Sprint(oracle.FreePort(t))
	must(os.Symlink(twin.Tool(t, "pcp"), filepath.Join(bin, "pcp")))
	env := append(oracle.Env(), "HOME="+dir, "XDG_STATE_HOME="+dir, "PCP_RUN_DIR="+bin, "PCP_LOG_DIR="+bin, "PCP_ARCHIVE_DIR="+bin, "PCP_VAR_DIR="+bin, "PCP_CONF=/dev/null", "TZ=UTC", "PATH="+bin+":"+os.Getenv("PATH"))
	sh := &docpage.Shell{Dir: dir, Env: env, Replace: []string{
		"http://localhost:8428", engine, "http://localhost:44322", "http://127.0.0.1:" + port, "-p 44322", "-p " + port, "pcp proxy", "pcp proxy -i 127.0.0.1 -p " + port,
	}}
	server := "http://127.0.0.1:" + port
	wants := map[string]string{
		"pcp push":       "sent 180 samples of 3 series",
		"pcp series":     "1.475000e+01",
		"series/query":   `"value":`,
		"series/metrics": `["disk.dev.read","kernel.all.load"]`,
		"api/v1/query":   `"hostname":"www"`,
	}
	seen := map[string]bool{}
	for _, c := range page.Commands() {
		words := strings.Fields(c.Text)
		switch {
		case strings.Contains(c.Text, "vm1"): // there is one server
		case slices.Equal(words[:2], []string{"pcp", "proxy"}):
			sh.Start(t, c)
			await.Until(t, "the engine's series are served", func() bool {
				c, err := net.Dial("tcp", "127.0.0.1:"+port)
				if err != nil {
					return false
				}
				c.Close()
				return strings.Contains(get(t, server+"/series/metrics?match=*"), "kernel.all.load")
			})
		default:
			out := sh.Run(t, c)
			found := false
			for part, want := range wants {
				if strings.Contains(c.Text, part) && !seen[part] {
					found, seen[part] = true, true
					if !strings.Contains(out, want) {
						t.Errorf("%s: %s, want %q", c.Text, out, want)
					}
				}
			}
			if !found {
				t.Errorf("%s: not expected: %s", c.Text, out)
			}
		}
	}
	if len(seen) != len(wants) {
		t.Errorf("commands that were run: %v", seen)
	}

	// Processes are excluded by default, also from PromQL and from requests for all hosts.
	at := fmt.Sprint(start.Add(5 * time.Minute).Unix())
	query := func(expr string) string {
		return get(t, server+"/api/v1/query?time="+at+"&query="+url.QueryEscape(expr))
	}
	if text := query("kernel_all_load"); !strings.Contains(text, `"1 minute"`) {
		t.Errorf("PromQL: %s", text)
	}
	if text := get(t, engine+"/api/v1/query?time="+at+"&query=proc_nprocs"); !strings.Contains(text, `"77"`) {
		t.Errorf("the engine has no processes: %s", text)
	}
	for _, expr := range []string{"proc_nprocs", `{__name__=~"proc.*"}`, `{hostname="www",__name__!~"k.*|d.*|pcp_sent"}`, "pcp_series", "max(proc_nprocs offset 1m)"} {
		if text := query(expr); !strings.Contains(text, `"result":[]`) {
			t.Errorf("%s: %s", expr, text)
		}
	}
	for _, path := range []string{
		"/api/v1/label/__name__/values", "/api/v1/series?match[]=" + url.QueryEscape(`{hostname="www"}`), "/api/v1/labels", "/api/v1/metadata", "/series/metrics?match=*",
		"/fleet/heat?metric=proc.nprocs&end=" + at,
	} {
		if text := get(t, server+path); strings.Contains(text, "nprocs") && !strings.Contains(text, `"hosts":[],`) || strings.Contains(text, "pcp_series") || strings.Contains(text, "semantics") {
			t.Errorf("%s: %.500s", path, text)
		}
	}
	if text := get(t, server+"/fleet/heat?metric=disk.dev.read&end="+at); !strings.Contains(text, `"hosts":["www"]`) {
		t.Errorf("the metric on all hosts: %s", text)
	}
}

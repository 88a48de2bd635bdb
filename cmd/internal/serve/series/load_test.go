package series

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestLoadPath reads arguments of --load.
func TestLoadPath(t *testing.T) {
	dir := t.TempDir()
	for _, c := range [][2]string{
		{dir, dir},
		{`{source.path: "` + dir + `"}`, dir},
		{dir + "/nosuch", ""},
		{`{source.path: "` + dir + `", a == 1}`, ""},
		{`{a == 1}`, ""},
		{`{a`, ""},
	} {
		name, err := loadName(c[0])
		got := ""
		if err == nil {
			got, err = loadPath(name)
		}
		if got != c[1] || (err == nil) != (c[1] != "") {
			t.Errorf("%q: %q, %v", c[0], got, err)
		}
	}
}

// writeArchive writes an archive with n records of one metric.
func writeArchive(t *testing.T, base, metric string, n int) {
	t.Helper()
	start := pcp.Timestamp{Sec: 1_700_000_000}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: "h", TimeZone: "UTC", Start: start}})
	if err != nil {
		t.Fatal(err)
	}
	desc := pcp.Desc{PMID: pcp.NewPMID(60, 0, 32), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	if err := w.Desc(desc, metric); err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	for i := range n {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: start.Sec + int64(i)}
		res.AddSet(desc.PMID)
		v := pcp.Uint32Value(uint32(i))
		v.Inst = pcp.InNull
		res.Add(v)
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLoad adds archives to the list of a key server that does not answer, and finds their series there alone.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	writeArchive(t, filepath.Join(dir, "one"), "first.metric", 3)
	writeArchive(t, filepath.Join(dir, "two"), "second.metric", 4)
	port := oracle.FreePort(t)
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte(fmt.Sprintf("[pmseries]\nservers = localhost:%d\n", port)), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(want string, args ...string) {
		t.Helper()
		var out, errs strings.Builder
		status := run(context.Background(), &cli.Env{
			Name: "pmseries", Args: args, Stdout: &out, Stderr: &errs, Command: Command,
			Getenv: func(name string) string {
				switch name {
				case "HOME", "PCP_ARCHIVE_DIR", "PCP_LOG_DIR", "PCP_SYSCONF_DIR":
					return filepath.Join(dir, "home")
				}
				return ""
			},
		})
		if got := fmt.Sprintf("%s%s%d", &out, &errs, status); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	one := filepath.Join(dir, "one")
	f("pmseries: [Info] processed 3 archive records from "+one+"\n0", "-c", conf, "--load", one)
	f("pmseries: [Info] processed 4 archive records from "+dir+"/two\n0", "--load", `{source.path: "`+dir+`/two"}`)
	f("first.metric\n0", "-c", conf, "-m")
	f("second.metric\n0", "-m")
	f("pmseries: [Error] cannot open archive \"/no/such\": No such file or directory\n1", "--load", "/no/such")
	f("pmseries: [Error] found no context to load: only {source.path: \"PATH\"} names an archive\n1", "--load", `{source.name: "x"}`)
	if err := os.WriteFile(filepath.Join(dir, "bad.meta"), []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	f("pmseries: [Error] cannot open archive \""+dir+"/bad\": Missing PCP archive log file\n1", "--load", dir+"/bad")
}

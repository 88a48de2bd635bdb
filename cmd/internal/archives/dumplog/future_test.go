package dumplog

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestFuture dumps an archive of version 3 with times that do not fit in 32 bits.
func TestFuture(t *testing.T) {
	base := filepath.Join(t.TempDir(), "future")
	start := pcp.Timestamp{Sec: 5_000_000_000} // in 2128
	w, err := archive.Create(base, archive.WriterConfig{
		Label: archive.Label{Version: archive.Version3, Host: "h", TimeZone: "UTC", PID: 1, Start: start},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := pcp.NewPMID(245, 0, 1)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "some.metric"); err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	for i := range 3 {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: start.Sec + int64(10*i)}
		res.AddSet(id)
		res.Add(pcp.Uint32Value(uint32(70 + i)))
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-m"}, {"-a"}, {"some.metric"}, {"-m", base}, {"-a", base}, {"-r", base, "some.metric"}, {"-S", "+1", base}, {base}} {
		var stdout, stderr bytes.Buffer
		archive := base // of PCP_ARCHIVE
		if slices.Contains(args, base) {
			archive = ""
		}
		status := Command.Run(context.Background(), &cli.Env{
			Name: "pmdumplog", Args: append([]string{"-Z", "UTC"}, args...), Stdin: strings.NewReader(""),
			Stdout: &stdout, Stderr: &stderr, Getenv: func(name string) string { return map[string]string{"PCP_ARCHIVE": archive}[name] },
			LookupEnv: func(name string) (string, bool) { return archive, name == "PCP_ARCHIVE" && archive != "" }, Command: Command,
		})
		for _, want := range []string{"value 70", "value 71", "value 72", "08:53:40.000000000"} {
			if want == "value 70" && args[0] == "-S" {
				continue
			}
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("pmdumplog %q lacks %q; status %d, %s\n%s", args, want, status, &stderr, &stdout)
			}
		}
	}
}

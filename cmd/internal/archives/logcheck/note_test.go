package logcheck

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestNote compares both streams together, where standard output is not a terminal: the
// note about the time zone comes last. The archive is from 2128, which is a valid end.
func TestNote(t *testing.T) {
	base := filepath.Join(t.TempDir(), "future")
	start := pcp.Timestamp{Sec: 5_000_000_000}
	w, err := archive.Create(base, archive.WriterConfig{
		Label: archive.Label{Version: archive.Version3, Host: "h", TimeZone: "UTC", PID: 1, Start: start},
	})
	if err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	id := pcp.NewPMID(245, 0, 1)
	err = w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "some.metric")
	if err != nil {
		t.Fatal(err)
	}
	res.Time = start
	res.AddSet(id)
	res.Add(pcp.Uint32Value(1))
	if err := w.WriteResult(&res); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, options := range []string{"-z", "-zl", "-l"} {
		var both bytes.Buffer
		out := bufio.NewWriter(&both)
		Command.Run(context.Background(), &cli.Env{
			Name: "pmlogcheck", Args: []string{options, base}, Stdin: strings.NewReader(""), Stdout: out, Stderr: &both,
			Getenv: func(name string) string { return map[string]string{"TZ": "UTC"}[name] }, Command: Command,
		})
		out.Flush()
		note := strings.Index(both.String(), "Note: timezone")
		label := strings.Index(both.String(), "ending     Fri Jun 11 08:53:20.000 2128")
		if strings.Contains(options, "l") != (label >= 0) || strings.Contains(options, "z") != (note >= 0) || note >= 0 && note < label {
			t.Errorf("pmlogcheck %s: %s", options, &both)
		}
		path := oracle.Path("pmlogcheck")
		if path == "" {
			continue
		}
		cmd := exec.Command(path, options, base)
		cmd.Env = append(oracle.Env(), "TZ=UTC")
		want, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		if got := both.String(); got != string(want) {
			t.Errorf("pmlogcheck %s: %q, the real one says %q", options, got, want)
		}
	}
}

package pmimport

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/importrun"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
)

func TestAgent(t *testing.T) {
	var log bytes.Buffer
	cfg := Config{
		Dir: filepath.Join(t.TempDir(), "run"), Cache: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil)),
		Exists: func(pid int) bool { return pid == 7 }, HostName: func() (string, error) { return "cellar", nil },
	}
	open := func() *Agent {
		t.Helper()
		a, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	write := func(tool string, s importrun.Status) {
		t.Helper()
		if err := importrun.Write(cfg.Dir, tool, s); err != nil {
			t.Fatal(err)
		}
	}
	check := func(a *Agent, want map[string]string) {
		t.Helper()
		got := agenttest.Read(t, a)
		for name, text := range want {
			if has := fmt.Sprint(got["pmimport."+name]); has != text {
				t.Errorf("pmimport.%s is %s, want %s", name, has, text)
			}
		}
	}
	a := open()
	check(a, map[string]string{"archive": "map[]", "hostname": `map[:"cellar"]`})
	write("sadc", importrun.Status{Version: "12.8.0", Args: "CPU,DISK", Archive: "/var/log/sa/sa01"})
	write("pcp-import-csv", importrun.Status{PID: 7, Args: "rooms.csv"})
	write("killed", importrun.Status{PID: 8})
	check(a, map[string]string{
		"archive": `map[pcp-import-csv:"" sadc:"/var/log/sa/sa01"]`,
		"version": `map[pcp-import-csv:"" sadc:"12.8.0"]`,
		"args":    `map[pcp-import-csv:"rooms.csv" sadc:"CPU,DISK"]`,
	})

	// Programs keep their numbers: sadc has 1, also when it is the only one, and in another agent.
	if err := importrun.Remove(cfg.Dir, "pcp-import-csv", 7); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Agent{a, open()} {
		list, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
		if err != nil || fmt.Sprint(list) != "[{1 sadc}]" {
			t.Errorf("instances %v, %v", list, err)
		}
	}

	// A file that cannot be read is in the log, once.
	if log.Len() > 0 {
		t.Errorf("log: %s", log.String())
	}
	if err := os.Mkdir(filepath.Join(cfg.Dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		check(a, map[string]string{"version": `map[sadc:"12.8.0"]`})
	}
	if n := strings.Count(log.String(), "dir: not a regular file"); n != 1 {
		t.Errorf("%d lines about a directory: %s", n, log.String())
	}
}

package logger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// TestFull has the metadata of an archive reach their limit: the logger replaces itself with a
// logger that continues in a new archive, and again, with all that the metrics need.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	socket := filepath.Join(dir, "socket")
	serve(t, socket)
	if err := os.WriteFile("config", []byte("log on 5 msec { grow.value }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	var program string
	var args, more []string
	var log bytes.Buffer
	start := func(arguments []string, environment []string) int {
		env := &cli.Env{
			Name: "pmlogger", Program: os.Args[0], Command: Command, Args: arguments,
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &log,
			Getenv: func(name string) string {
				for _, e := range slices.Concat(environment, []string{"PCP_RUN_DIR=" + dir, "PCP_TMP_DIR=" + dir, "PCP_LOG_DIR=" + dir, "HOME=" + dir, "PMLOGGER_LOCAL=1"}) {
					if value, ok := strings.CutPrefix(e, name+"="); ok {
						return value
					}
				}
				return ""
			},
			Exec: func(path string, list, set []string) error {
				program, args, more = path, list, set
				return stopped
			},
		}
		set := new(settings)
		set.cfg.MetaBytes = 20_000
		return set.run(t.Context(), env)
	}
	arguments := []string{"-h", "unix:" + socket, "-c", "config", "-l", "-", "-V", "2", "-m", "a note", "%Y"}
	var environment []string
	for round := range 2 {
		if status := start(arguments, environment); status != 1 {
			t.Fatalf("round %d: status %d, log\n%s", round, status, &log)
		}
		if program == "" || !slices.Contains(args, "-mreexec") || args[len(args)-1] != "%Y" || len(more) != 1 {
			t.Fatalf("round %d: program %q, arguments %q, environment %q; log\n%s", round, program, args, more, &log)
		}
		// The note would make it take the user of daemons.
		arguments = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-mreexec" })
		environment = more
		program = ""
	}
	if !strings.Contains(log.String(), "archive is full: ") || !strings.Contains(log.String(), ".meta: file would be too long for its format") {
		t.Errorf("log\n%s", &log)
	}
	archives, err := filepath.Glob("*.meta")
	if err != nil || len(archives) != 2 {
		t.Fatalf("archives %q, %v; log\n%s", archives, err, &log)
	}
	for _, path := range archives {
		st, err := os.Stat(path)
		if err != nil || st.Size() >= 20_000 || st.Size() < 10_000 {
			t.Errorf("%s: %v, %v", path, st, err)
		}
		a, err := archive.Open(strings.TrimSuffix(path, ".meta"))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		samples := 0
		for res, err := range a.Records(a.Label().Start, archive.Forward) {
			if err != nil {
				t.Fatal(err)
			}
			for _, vs := range res.Sets {
				if vs.PMID != pcp.NewPMID(400, 0, 0) {
					continue
				}
				samples++
				newest := vs.Values[len(vs.Values)-1].Inst
				if name, ok := a.Meta().View(pcp.NewInDom(400, 1), res.Time).Name(newest); !ok || name != fmt.Sprint("i", newest) {
					t.Errorf("%s: instance %d is %q", path, newest, name)
				}
			}
		}
		if samples < 10 {
			t.Errorf("%s: %d samples", path, samples)
		}
	}

	// Without a date in the name there is no new archive.
	arguments[len(arguments)-1] = "fixed"
	if status := start(arguments, nil); status != 1 || program != "" || !strings.Contains(log.String(), "pmlogger: archive is full: ") {
		t.Errorf("a fixed name: status %d, program %q, log\n%s", status, program, &log)
	}
}

// serve runs a collector with a metric whose instance domain changes each time it is asked for: a new
// instance comes, and an old one goes.
func serve(t *testing.T, socket string) {
	t.Helper()
	n := int32(0)
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		n++
		var list []pcp.Instance
		for i := n; i < n+40; i++ {
			list = append(list, pcp.Instance{Inst: i, Name: fmt.Sprint("i", i)})
		}
		return list, nil
	}}
	a, err := pmda.NewTable(pmda.Config{Name: "grow", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "grow.value", InDom: indom, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.Uint32Value(uint32(inst)), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "grow", Domain: 400, Agent: a}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

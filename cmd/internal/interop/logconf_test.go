package interop

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestLoggerInstalledConfigs has both recorders record by the configurations of the C
// implementation: those that it installs, which the preprocessor reads, and config.default as both
// tools make it of the installed groups.
func TestLoggerInstalledConfigs(t *testing.T) {
	const dir = "/var/lib/pcp/config/pmlogger"
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample", "linux", "proc", "xfs", "mmv", "kvm"}})
	ours := twin.Tool(t, "pcp")
	tmp := t.TempDir()
	configs, err := filepath.Glob(filepath.Join(dir, "config.*"))
	if err != nil || len(configs) == 0 {
		oracle.Missing(t, "no configurations in "+dir)
	}
	byOurs, byTheirs := filepath.Join(tmp, "config.ours"), filepath.Join(tmp, "config.theirs")
	if out := oracle.RunEnv(t, d.Env, "pmlogconf", "-c", byTheirs); out.Exit != 0 {
		t.Fatalf("pmlogconf: %+v", out)
	}
	if out, err := runLogger(d.Env, twin.Tool(t, "pmlogconf"), "-c", byOurs); err != nil {
		t.Fatalf("our pmlogconf: %v\n%s", err, out)
	}
	// Each recorder gets the output of the other side's tool.
	compareConfigs(t, d, ours, filepath.Join(tmp, "made"), byOurs, byTheirs, 500)
	for _, config := range configs {
		compareConfigs(t, d, ours, filepath.Join(tmp, filepath.Base(config)), config, config, 20)
	}
}

// compareConfigs has both recorders record, each with a configuration, and compares the
// archives.
func compareConfigs(t *testing.T, d *oracle.PMCD, ours, dir, realConfig, oursConfig string, least int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for name, args := range map[string][]string{
		"real": {oracle.Path("pmlogger"), "-c", realConfig}, "ours": {ours, "logger", "-c", oursConfig},
	} {
		wg.Go(func() {
			base := filepath.Join(dir, name)
			env := append(slices.Clone(d.Env), "PCP_TMP_DIR="+dir)
			args := append(args[1:len(args):len(args)], "-h", d.Unix, "-t", "1sec", "-T", "5sec", "-l", base+".log", base)
			program := oracle.Path("pmlogger")
			if name == "ours" {
				program = ours
			}
			if out, err := runLogger(env, program, args...); err != nil {
				log, _ := os.ReadFile(base + ".log")
				t.Errorf("%s: %v\n%s%s", name, err, out, log)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	want, got := recording(t, filepath.Join(dir, "real")), recording(t, filepath.Join(dir, "ours"))
	if len(want) < least {
		t.Errorf("%s: only %d metrics", realConfig, len(want))
	}
	for name, w := range want {
		if g := got[name]; g == nil {
			t.Errorf("%s: ours did not record %s", oursConfig, name)
		} else if g.Desc != w.Desc {
			t.Errorf("%s: %s: descriptor %v, want %v", oursConfig, name, g.Desc, w.Desc)
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s: only ours recorded %s", oursConfig, name)
		}
	}
}

package metricset_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
)

// A counter is a Writer that prints a line for each sample.
type counter struct{ r *metricset.Report }

func (c counter) WriteSample(s *pmrep.Sample) error {
	fmt.Fprint(c.r.Env.Stdout, c.r.Clock("%H:%M:%S", s.Time))
	for i, m := range c.r.Set.Metrics {
		for _, v := range s.Results[i] {
			fmt.Fprintf(c.r.Env.Stdout, " %s=%s%s", m.Label, v.Value, m.Unit)
		}
	}
	_, err := fmt.Fprintln(c.r.Env.Stdout)
	return err
}

// run runs a program of these over an archive, in a home directory.
func run(home, archive string, args ...string) (out string, status int) {
	program := &metricset.Program{
		Paths: metricset.PmrepPaths("test"), Keys: conf.PmrepKeys(),
		Defaults: conf.Settings{"version": "1", "header": "1", "globals": "1", "interval": "1", "precision": "3"},
		Embedded: fstest.MapFS{"own.conf": &fstest.MapFile{Data: []byte(
			"[one]\nsamples = 9\ntest.other = hidden\n\n[own]\nsamples = 2\nheader = no\nglobals = no\ntest.count = own\n")}},
	}
	command := &cli.Command{
		Name: "test", Link: "pcp2test", Options: func() []cli.Option {
			return []cli.Option{
				cli.OptArchive, cli.OptStart, cli.OptFinish, cli.OptSamples, cli.OptInterval, cli.OptTimeZone, cli.OptHelp,
				metricset.OptConfig, metricset.OptCheck, metricset.OptRaw, metricset.OptNoHeader, metricset.OptNoGlobals,
				metricset.OptInstances, metricset.OptNamesChange, metricset.OptDerived, metricset.OptPrecision,
			}
		},
	}
	var stdout, stderr bytes.Buffer
	vars := map[string]string{"HOME": home, "PCP_ARCHIVE": archive, "TZ": "UTC", "PCP_DERIVED_CONFIG": "", "PCP_SYSCONF_DIR": filepath.Join(home, "none")}
	env := &cli.Env{
		Name: command.Link, Args: args, Stdout: &stdout, Stderr: &stderr, Command: command, Version: "1",
		Getenv:    func(name string) string { return vars[name] },
		LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}
	ctx := context.Background()
	r, err := metricset.Start(env, program)
	if err == nil {
		err = report(ctx, r)
		r.Close()
	}
	status = metricset.Exit(ctx, env, err)
	return stdout.String() + stderr.String(), status
}

// report prints the number of samples and their interval, and the samples.
func report(ctx context.Context, r *metricset.Report) error {
	if err := r.Connect(ctx); err != nil {
		return err
	}
	if err := r.CheckSettings(); err != nil {
		return err
	}
	if err := r.Resolve(ctx); err != nil {
		return err
	}
	if err := r.Prepare(ctx, false); err != nil {
		return err
	}
	if r.Settings.Is1("header") {
		fmt.Fprintf(r.Env.Stdout, "%d samples, %s, %s\n", r.Samples, r.Interval, r.Zone)
	}
	if r.Check {
		return nil
	}
	return r.Run(ctx, counter{r})
}

// TestProgram runs a program with settings from its configuration and from options.
func TestProgram(t *testing.T) {
	archive := reporttest.Record(t, time.Second,
		reporttest.Metric{Name: "test.count", Value: func(n int, _ string) string { return fmt.Sprint(n) }},
		reporttest.Metric{Name: "test.other"})
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".pcp"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(".pcp/test.conf", "[options]\ninterval = 2\n\n[global]\ntest.other = other\n\n[one]\nsamples = 1\ntest.count = number\n")
	other := write("other.conf", "[two]\ninterval = 3\nheader = no\ntest.count = two\n")
	f := func(want string, wantStatus int, args ...string) {
		t.Helper()
		out, status := run(home, archive, args...)
		if out != strings.TrimPrefix(want, "\n") || status != wantStatus {
			t.Errorf("%q: status %d, want %d\n%swant\n%s", args, status, wantStatus, out, want)
		}
	}
	f(`
1 samples, 2s, UTC
22:13:20 other=2048 number=0
`, 0, ":one")
	f(`
3 samples, 2s, UTC
22:13:20 number=0
22:13:22 number=2
22:13:24 number=4
`, 0, "-G", "-s", "3", ":one")
	f(`
2 samples, 1s, UTC
22:13:20 other=2048 n=0
22:13:21 other=2048 n=1
`, 0, "-t", "1", "-s", "2", "test.count,n")
	f(`
22:13:20 two=0
22:13:23 two=3
`, 0, "-c", other, ":two", "-s", "2")
	f(`
6 samples, 1s, UTC
`, 0, "-C", "-T", "+5", "-t", "1", "test.count")
	f(`
4 samples, 2s, UTC
`, 0, "-C", "-T", "+6", "-s", "4", "test.count")
	f(`
0 samples, 2s, EST+5
`, 0, "-C", "-Z", "EST+5", "test.count")
	f(`
22:13:20 own=0
22:13:22 own=2
`, 0, ":own")
	f(`
22:13:20 number=0
22:13:22 number=2
`, 0, ":own", ":one")
	f(`
Metricset definition ':own' not found.
`, 1, "-c", other, ":own")
	f(`
Metricset definition ':nosuch' not found.
`, 1, ":nosuch")
	f(`
Invalid metric no.such (PM_ERR_NAME Unknown metric name).
`, 1, "no.such")
	f(`
Failed to read configuration from 'nosuch.conf':
No such file or directory.
`, 1, "-c", "nosuch.conf", "test.count")
	f(`
Interval must be greater than zero.
`, 1, "-t", "0", "test.count")
	f(`
Error while reading option precision: Non-negative integer expected.
`, 1, "-P", "x", "test.count")
	f(`
Unknown names-change action 'forget' specified.
`, 1, "-4", "forget", "test.count")
	f(`
pcp2test: No such file or directory
`, 1, "-a", "nosuch", "test.count")
}

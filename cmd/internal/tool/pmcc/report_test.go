package pmcc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// counting is a command that prints the value of a metric in each sample with report.
func counting(r pmcc.Report, report func(m *pmcc.Manager) error) *cli.Command {
	return &cli.Command{
		Name: "count", Link: "pcp-count",
		Options: func() []cli.Option {
			return []cli.Option{cli.OptArchive, cli.OptSamples, cli.OptInterval, cli.OptJSON, {Short: 'u'}, cli.OptHelp}
		},
		Run: func(ctx context.Context, env *cli.Env) int {
			raw := false
			r.Own = func(_ *cli.Options, opt *cli.Option, _ string) bool {
				raw = raw || opt.Short == 'u'
				return opt.Short == 'u'
			}
			return r.Run(ctx, env, func(m *pmcc.Manager) int {
				if raw {
					if status, ok := m.AsRecorded(ctx); !ok {
						return status
					}
				}
				if status, ok := m.Use(ctx, []string{"test.count"}, 1); !ok {
					return status
				}
				return m.EachOrFirst(ctx, func() error { return report(m) })
			})
		},
	}
}

// TestReport runs reports over an archive: as text, as JSON, with errors in options and in samples.
func TestReport(t *testing.T) {
	base := reporttest.Record(t, time.Second, reporttest.Metric{
		Name: "test.count", Value: func(n int, _ string) string { return fmt.Sprint(10 * n) },
	})
	other := reporttest.Record(t, time.Second, reporttest.Metric{Name: "test.other"})
	print := func(m *pmcc.Manager) error {
		if m.JSON {
			row := m.Row("counts", "")
			row.Value("count", m.One("test.count"))
			row.Write()
			return nil
		}
		fmt.Fprintln(m.Out, m.Clock("%H:%M:%S", m.Now()), m.One("test.count"))
		return nil
	}
	until := func(limit int64, err error) func(m *pmcc.Manager) error {
		return func(m *pmcc.Manager) error {
			if m.One("test.count").Int() >= limit {
				return err
			}
			return print(m)
		}
	}
	f := func(archive string, r pmcc.Report, report func(m *pmcc.Manager) error, want string, wantStatus int, args ...string) {
		t.Helper()
		out, status := reporttest.Run(t, counting(r, report), archive, args...)
		if out != want || status != wantStatus {
			t.Errorf("%q: status %d, %q, want %d, %q", args, status, out, wantStatus, want)
		}
	}
	const two = "22:13:20 0\n22:13:21 10\n"
	f(base, pmcc.Report{}, print, two, 0, "-s", "2")
	f(base, pmcc.Report{}, print, two+"22:13:22 20\n22:13:23 30\n22:13:24 40\n22:13:25 50\n22:13:26 60\n22:13:27 70\n", 0)
	f(base, pmcc.Report{}, print, "22:13:20 0\n22:13:22 20\n", 0, "-t", "2", "-s", "2")
	f(base, pmcc.Report{}, print, `{"time":"2023-11-14T22:13:20Z","host":"cellar","table":"counts","columns":{"count":0}}`+"\n", 0, "-s", "1", "--json")
	f(base, pmcc.Report{}, until(20, pmcc.ErrDone), two, 0)
	f(base, pmcc.Report{}, until(20, errors.New("too many")), two+"pcp-count: too many\n", 1)
	f(base, pmcc.Report{}, until(0, pmcc.ErrNotYet), "", 0)
	f(base, pmcc.Report{Valid: func() error { return errors.New("not so") }}, print, "pcp-count: not so\n", 1)
	f(base, pmcc.Report{Check: func(*source.Options) bool { return true }}, print, "", 1)
	f(base, pmcc.Report{Check: func(o *source.Options) bool { o.Samples = 2; return false }}, print, two, 0)
	f(base, pmcc.Report{}, print, two, 0, "-u", "-s", "2")
	f(other, pmcc.Report{}, print, "Error: not all required metrics are available\nMissing ['test.count']\n", 1)
	f("/nowhere", pmcc.Report{Kind: pmcc.Kind{Prefix: "count: "}}, print, "count: No such file or directory ['/nowhere']\n", 0)
	if out, status := reporttest.Run(t, counting(pmcc.Report{}, print), base, "-u", "-t", "2"); status != 1 || out[:len("Error: -t incompatible with -u\n")] != "Error: -t incompatible with -u\n" {
		t.Errorf("-u -t 2: status %d, %q", status, out)
	}
}

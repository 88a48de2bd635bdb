package loggerreport

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/archives/dumplog"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// pmrep prints for some configurations, and complains of others as pmrep does.
var pmrep = &cli.Command{Name: "rep", Link: "pmrep", Run: func(_ context.Context, env *cli.Env) int {
	complaint := "no such thing"
	switch env.Args[len(env.Args)-1] {
	case ":sar-q":
		fmt.Fprintln(env.Stdout, "load of", strings.Join(env.Args, " "))
		return 0
	case ":sar-B":
		complaint = "Invalid metric mem.vmstat.pgpgin (PM_ERR_NAME Unknown metric name)."
	case ":sar-S":
		complaint = "Invalid metric swap.length (PM_ERR_INDOM_LOG No instances)."
	case ":sar-W":
		complaint = "Invalid metric sar.w.in (PM_ERR_BADDERIVE Derived)."
	}
	fmt.Fprintln(env.Stderr, complaint)
	return 1
}}

// call runs the command in a directory of its own, which it returns.
func call(t *testing.T, args ...string) (dir string, status int, stderr string) {
	t.Helper()
	dir = t.TempDir()
	for _, sub := range []string{"log/pmlogger", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	im, err := importer.Start(filepath.Join(dir, "day"), importer.Options{Host: "cellar", TimeZone: "UTC", Version: 3})
	if err != nil {
		t.Fatal(err)
	}
	h, err := im.NewMetric("cellar.temperature", importer.Spec{Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	h.PutDouble(7)
	if err := im.Write(time.Date(2024, 3, 5, 0, 10, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{
		"TZ": "UTC", "PCP_LOG_DIR": filepath.Join(dir, "log"), "PCP_CONF": filepath.Join(dir, "pcp.conf"),
		"PCP_TMPFILE_DIR": filepath.Join(dir, "tmp"), "PCP_ARCHIVE_DIR": filepath.Join(dir, "log/pmlogger"),
	}
	if err := os.WriteFile(vars["PCP_CONF"], nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "DIR", dir)
	}
	var out, errs bytes.Buffer
	env := &cli.Env{
		Name: "pmlogger_daily_report", Command: Command, Commands: []*cli.Command{dumplog.Command, pmrep}, Args: args,
		Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return vars[name] },
	}
	status = Command.Run(t.Context(), env)
	if out.Len() > 0 {
		t.Errorf("standard output: %s", &out)
	}
	return dir, status, errs.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReport(t *testing.T) {
	dir, status, errs := call(t, "-a", "DIR/day", "-A", "-f", "DIR/sar05", "-h", "cellar", "-t", "5m", "-V", "-l", "DIR/report.log")
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	got := read(t, filepath.Join(dir, "sar05"))
	for _, want := range []string{
		"System Activity Report\n\nHost:            cellar\nArchive:         " + dir + "/day\nReport created:  ",
		"\n\n#  Tue Mar 5 00:10:00.000000000 2024\n# queue length and load averages\nload of -a " + dir + "/day -z -E 0 -p -f%H:%M:%S -t5m :sar-q\n",
		"-- no report for config \":sar-B\" because the metric \"mem.vmstat.pgpgin\" is not in the archive\n",
		"-- no report for config \":sar-S\" because there are no values for any instance of the metric \"swap.length\" in the archive\n",
		"-- no report for config \":sar-W\" because one or more metrics for the derived metric \"sar.w.in\" is not in the archive\n",
		"no such thing\n-- no report for config \":sar-y\"\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n#  Tue Mar 5"); n != len(views) {
		t.Errorf("%d reports, want %d", n, len(views))
	}
	log := read(t, filepath.Join(dir, "report.log"))
	if !strings.Contains(log, "Generating report for :sar-q # queue length") || !strings.Contains(log, "ARCHIVEPATH="+dir+"/day\n") {
		t.Errorf("log:\n%s", log)
	}
	if stamp := read(t, filepath.Join(dir, "log/pmlogger/pmlogger_daily_report.stamp")); !strings.HasPrefix(stamp, "# 20") {
		t.Errorf("stamp %q", stamp)
	}
}

func TestNoReport(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		dir, status, errs := call(t, append(args, "-l", "DIR/report.log")...)
		if status != 1 || errs != "" {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
		if log := read(t, filepath.Join(dir, "report.log")); !strings.Contains(log, want) {
			t.Errorf("%q: log %q lacks %q", args, log, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "sar")); err == nil {
			t.Errorf("%q: there is a report", args)
		}
	}
	f("FATAL error: Failed to find input archive", "-a", "DIR/nosuch", "-f", "DIR/sar")
	f("FATAL error: cannot create", "-a", "DIR/day", "-f", "DIR/nosuch/sar")
}

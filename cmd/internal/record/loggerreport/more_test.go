package loggerreport

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestPoll shows that -p does nothing if yesterday's report exists and there is no stamp, and that a stamp
// that is too old causes a new report.
func TestPoll(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, "log")
	sa := filepath.Join(logs, "sa")
	for _, sub := range []string{"log/pmlogger", "log/sa", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for d := range 3 { // the test may run at midnight
		name := "sar" + time.Now().UTC().AddDate(0, 0, d-2).Format("02")
		if err := os.WriteFile(filepath.Join(sa, name), []byte("old\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	logFile := filepath.Join(dir, "report.log")
	if status, errs := callIn(t, dir, "-p", "-l", logFile); status != 0 || errs != "" {
		t.Errorf("a report is there: status %d: %s", status, errs)
	}
	if _, err := os.Stat(logFile); err == nil {
		t.Error("a report is there, and yet there is a log")
	}
	stamp := filepath.Join(logs, "pmlogger/pmlogger_daily_report.stamp")
	if err := os.WriteFile(stamp, []byte("# old\n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _ := callIn(t, dir, "-p", "-V", "-l", logFile, "-o", sa, "-h", "cellar"); status != 1 {
		t.Errorf("an old stamp: status %d", status)
	}
	log := read(t, logFile)
	for _, want := range []string{"REPORTDIR=" + sa + "\n", "REPORTFILE=" + filepath.Join(sa, "sar"), "Failed to find input archive \"" + filepath.Join(logs, "pmlogger/cellar")} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// TestWrongOptions shows that mistakes on the command line end in the usage, with nothing written.
func TestWrongOptions(t *testing.T) {
	for _, args := range [][]string{{"more"}, {"--nosuch"}, {"-a"}} {
		dir := t.TempDir()
		status, errs := callIn(t, dir, args...)
		if status != 1 || !strings.Contains(errs, "Usage: ") {
			t.Errorf("%q: status %d: %s", args, status, errs)
		}
		if _, err := os.Stat(filepath.Join(dir, "log")); err == nil {
			t.Errorf("%q: something was written", args)
		}
	}
	dir := t.TempDir()
	if status, errs := callIn(t, dir, "-l", filepath.Join(dir, "nosuch/log")); status != 1 || !strings.Contains(errs, "cannot create log: ") {
		t.Errorf("a log that cannot be made: status %d: %s", status, errs)
	}
}

// TestExpand shows that a compressed archive is copied, and an uncompressed one is used in place.
func TestExpand(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	base := filepath.Join(dir, "day")
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC", Version: 3})
	if err != nil {
		t.Fatal(err)
	}
	h, err := im.NewMetric("cellar.temperature", importer.Spec{Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	h.Put("7")
	if err := im.Write(time.Date(2024, 3, 5, 0, 10, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	r := &reporter{ctx: t.Context(), archive: base}
	if got, err := r.expand(to); err != nil || got != base {
		t.Errorf("plain: %q, %v", got, err)
	}
	want := read(t, base+".0")
	compress(t, base+".0")
	got, err := r.expand(to)
	if err != nil || got != filepath.Join(to, "day") {
		t.Fatalf("compressed: %q, %v", got, err)
	}
	if read(t, got+".0") != want || read(t, got+".meta") != read(t, base+".meta") {
		t.Error("the copy differs")
	}
	if got, err := r.expand(filepath.Join(to, "nosuch")); err == nil {
		t.Errorf("a directory that does not exist: %q", got)
	}
}

// compress replaces a file with a gzip file.
func compress(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(read(t, path))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".gz", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// callIn runs the command with its logs and archives below a directory.
func callIn(t *testing.T, dir string, args ...string) (status int, stderr string) {
	t.Helper()
	logs := filepath.Join(dir, "log")
	vars := map[string]string{
		"PATH": filepath.Join(dir, "bin"), "TZ": "UTC", "PCP_CONF": "/dev/null", "PCP_LOG_DIR": logs,
		"PCP_ARCHIVE_DIR": filepath.Join(logs, "pmlogger"), "PCP_TMPFILE_DIR": dir,
	}
	var out, errs bytes.Buffer
	status = Command.Run(t.Context(), &cli.Env{
		Name: "pmlogger_daily_report", Command: Command, Args: args, Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string { return vars[name] },
	})
	return status, errs.String()
}

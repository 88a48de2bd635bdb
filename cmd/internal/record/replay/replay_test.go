package replay

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// record makes an archive in a directory.
func record(t *testing.T, dir, host string, at time.Time) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, at.Format("20060102.15.04"))
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Host: host}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePrologue(pcp.TimestampOf(at), &archive.Logger{Host: host}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base
}

// TestOptions runs a command that only notes its arguments.
func TestOptions(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(home, ".local/state/pcp/pmlogger")
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	alpha, beta := filepath.Join(root, "alpha"), filepath.Join(root, "beta")
	record(t, beta, "beta", at)
	base := record(t, alpha, "alpha", at)
	var got []string
	note := func(_ context.Context, env *cli.Env) int {
		got = env.Args
		for _, name := range []string{"PCP_ARCHIVE", "PCP_START_TIME"} {
			if env.IsSet(name) {
				got = append(got, name+"="+env.Getenv(name))
			}
		}
		return 7
	}
	commands := []*cli.Command{
		{Name: "window", Options: func() []cli.Option { return []cli.Option{cli.OptArchive, cli.OptStart, cli.OptOrigin} }, Run: note},
		{Name: "moment", Options: func() []cli.Option { return []cli.Option{cli.OptArchive, cli.OptOrigin} }, Run: note},
		{Name: "whole", Options: func() []cli.Option { return []cli.Option{cli.OptArchive} }, Run: note},
		{Name: "live", Run: note},
		{Name: "through", Link: "pcp-through", Run: note},
		{Name: "partly", Link: "pcp-partly", Options: func() []cli.Option { return []cli.Option{cli.OptArchive} }, Run: note},
	}
	f := func(args, want string) {
		t.Helper()
		var out, errs strings.Builder
		vars := map[string]string{"HOME": home, "TZ": "UTC", "PCP_CONF": "/dev/null", "PCP_ARCHIVE_DIR": filepath.Join(home, "none")}
		env := &cli.Env{
			Name: "pcp replay", Program: "pcp", Args: strings.Fields(args), Stdout: &out, Stderr: &errs,
			Getenv: func(name string) string { return vars[name] }, Command: Command, Commands: commands,
		}
		got = nil
		status := run(t.Context(), env)
		text := strings.Join(got, " ")
		if got == nil {
			text = out.String() + errs.String()
		} else if status != 7 {
			t.Errorf("%s: status %d", args, status)
		}
		if want = strings.NewReplacer("ALPHA", alpha, "BETA", beta, "BASE", base).Replace(want); got != nil && text != want || !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", args, text, want)
		}
	}
	f("alpha window -t 1", "-a ALPHA -t 1")
	f("-1h alpha window", "-a ALPHA -S -1h")
	f("beta -30min window x", "-a BETA -S -30min x")
	f("-1h alpha moment", "-a ALPHA -O -1h")
	f(base+" window", "-a BASE")
	f("@2026-11-22_08:30 window", "neither a command")
	f("-1h alpha whole", "not from a time on")
	f("alpha whole", "-a ALPHA")
	f("alpha live", "does not read archives")
	f("-1h alpha through -x", "-x PCP_ARCHIVE=ALPHA PCP_START_TIME=-1h")
	f("alpha through", "PCP_ARCHIVE=ALPHA")
	f("-1h alpha partly", "-a ALPHA PCP_START_TIME=-1h")
	f("-1h alpha pcp window x", "-a ALPHA -S -1h x")
	f("-1h alpha pcp fathom", `"pcp" is neither a command`)
	f("window", "several hosts are recorded, none of which is this one; name one of them: alpha, beta")
	f("", "2026-11-22 08:00:00")
	f("alpha", "ALPHA")
	f("--help", "recent past")
}

func TestWhen(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for arg, want := range map[string]string{
		"11:30":               "2026-11-23 11:30:00",
		"14:30":               "2026-11-22 14:30:00", // the last such time
		"2026-11-20 08:00":    "2026-11-20 08:00:00",
		"2 hours ago":         "2026-11-23 10:00:00",
		"@11:30":              "2026-11-23 11:30:00",
		"nosuch":              "",
		"":                    "",
		"2030-01-01 00:00:00": "",
	} {
		got := ""
		if at, ok := when(arg, now, time.UTC); ok {
			got = at.Time().UTC().Format(time.DateTime)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", arg, got, want)
		}
	}
}

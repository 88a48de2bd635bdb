package loggerdaily

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/archives/dumplog"
	"github.com/go-pcp/pcp/cmd/internal/archives/logcheck"
	"github.com/go-pcp/pcp/cmd/internal/archives/logextract"
	"github.com/go-pcp/pcp/cmd/internal/archives/logmv"
	"github.com/go-pcp/pcp/cmd/internal/archives/logrewrite"
	"github.com/go-pcp/pcp/cmd/internal/live/probe"
	"github.com/go-pcp/pcp/cmd/internal/record/loggermerge"
	"github.com/go-pcp/pcp/cmd/internal/record/loggerrewrite"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestMain is also the command itself, and a pmlogger, for tests that need processes.
func TestMain(m *testing.M) {
	switch os.Getenv("LOGGERDAILY_TEST") {
	case "daily":
		env := newEnv(func(name string) string { return os.Getenv(name) }, os.Stdout, os.Stderr)
		env.Args = os.Args[1:]
		os.Exit(Command.Run(context.Background(), env))
	case "pmlogger":
		os.Exit(pretendLogger())
	}
	os.Exit(m.Run())
}

func newEnv(getenv func(string) string, out, errs *os.File) *cli.Env {
	return &cli.Env{
		Name: "pmlogger_daily", Command: Command, Stdout: out, Stderr: errs, Getenv: getenv,
		Commands: []*cli.Command{
			Command, loggermerge.Command, loggerrewrite.Command, logextract.Command, logmv.Command, logrewrite.Command, dumplog.Command, logcheck.Command, probe.Command,
		},
	}
}

// A site is a directory tree for the command.
type site struct {
	t    *testing.T
	root string
	dir  string // of the archives
	vars map[string]string
}

func newSite(t *testing.T) *site {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, root: root, dir: filepath.Join(root, "archives/cellar")}
	s.vars = map[string]string{
		"PCP_LOG_DIR": root + "/log", "PCP_ARCHIVE_DIR": root + "/archives", "PCP_TMP_DIR": root + "/tmp", "PCP_RUN_DIR": root + "/run",
		"PCP_VAR_DIR": root + "/var", "PCP_SYSCONF_DIR": root + "/etc", "PCP_CONF": root + "/pcp.conf", "TZ": "UTC", "PATH": root + "/bin:/bin:/usr/bin",
	}
	for _, d := range []string{s.dir, root + "/log/pmlogger", root + "/tmp/pmlogger", root + "/run", root + "/etc/pmlogger", root + "/var", root + "/bin"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.write("pcp.conf", "")
	s.write("etc/pmlogger/control", "$version=1.1\nlocalhost n n "+s.dir+" -c config\n")
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.root, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// record writes an archive with a value a minute.
func (s *site) record(name string, start time.Time, n int) {
	s.t.Helper()
	im, err := importer.Start(filepath.Join(s.dir, name), importer.Options{Host: "cellar", TimeZone: "UTC", Version: 3})
	if err != nil {
		s.t.Fatal(err)
	}
	h, err := im.NewMetric("cellar.temperature", importer.Spec{Type: pcp.TypeDouble})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range n {
		h.PutDouble(float64(i))
		if err := im.Write(start.Add(time.Duration(i) * time.Minute)); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		s.t.Fatal(err)
	}
}

// days writes three days: with three archives, one, and two.
func (s *site) days() {
	start := time.Date(2024, 3, 3, 0, 10, 0, 0, time.UTC)
	for _, h := range []int{0, 8, 16, 24, 48, 60} {
		at := start.Add(time.Duration(h) * time.Hour)
		s.record(at.Format("20060102.15.04"), at, 20)
	}
}

var merged = []string{"20240303", "20240304", "20240305"}

// run runs the command in this process and returns its status and log.
func (s *site) run(args ...string) (status int, log string) {
	s.t.Helper()
	here, err := os.Getwd()
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		if err := os.Chdir(here); err != nil {
			s.t.Fatal(err)
		}
	}()
	out, err := os.Create(filepath.Join(s.root, "out"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	env := newEnv(func(name string) string { return s.vars[name] }, out, out)
	env.Args = append([]string{"-D", "-l", filepath.Join(s.root, "daily.log")}, args...)
	status = Command.Run(s.t.Context(), env)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(s.root, "daily.log"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return status, string(text) + string(b)
}

// names returns the files in the directory of archives.
func (s *site) names() []string {
	s.t.Helper()
	list, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// bases returns the archives in the directory.
func (s *site) bases() []string {
	set := make(map[string]bool)
	for _, name := range s.names() {
		if base, part, ok := archive.BaseName(name); ok && part == "meta" && base[0] != '.' {
			set[base] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// records returns the times of all records of all archives, each once.
func (s *site) records() map[time.Time]bool {
	s.t.Helper()
	times := make(map[time.Time]bool)
	for _, base := range s.bases() {
		a, err := archive.Open(filepath.Join(s.dir, base))
		if err != nil {
			s.t.Logf("%s: %v", base, err)
			continue
		}
		for res, err := range a.Records(a.Label().Start, archive.Forward) {
			if err != nil {
				s.t.Errorf("%s: %v", base, err)
				break
			}
			if len(res.Sets) > 0 {
				times[res.Time.Time().UTC()] = true
			}
		}
		a.Close()
	}
	return times
}

func TestDays(t *testing.T) {
	s := newSite(t)
	s.days()
	before := s.records()
	if len(before) != 120 {
		t.Fatalf("%d records, want 120", len(before))
	}
	_, log := s.run("-f", "-k", "forever", "-x", "0", "-X", "zstd", "-V")
	if got := s.bases(); !slices.Equal(got, merged) {
		t.Errorf("archives %q, want %q\n%s", got, merged, log)
	}
	if got := s.records(); !maps.Equal(got, before) {
		t.Errorf("%d records, want %d\n%s", len(got), len(before), log)
	}
	want := []string{
		"20240303.0.zst", "20240303.index", "20240303.meta.zst", "20240304.0.zst", "20240304.index", "20240304.meta.zst",
		"20240305.0.zst", "20240305.index", "20240305.meta.zst",
	}
	if got := s.names(); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	again := s.names()
	s.run("-f", "-k", "forever", "-x", "0", "-X", "zstd")
	if got := s.names(); !slices.Equal(got, again) {
		t.Errorf("after a second call %q, want %q", got, again)
	}
	s.run("-k", "0", "-x", "never", "-V")
	if got := s.names(); len(got) != 0 {
		t.Errorf("after -k 0 there are %q", got)
	}
}

// TestRenamingInterrupted kills a pmlogmv at each step: the next run finishes its work.
func TestRenamingInterrupted(t *testing.T) {
	const from, to = "20240304.00.10", "20240304"
	for removed := range 4 {
		for linked := 1; linked <= 3; linked++ {
			if removed > 0 && linked < 3 {
				continue // it removes when all are linked
			}
			s := newSite(t)
			start := time.Date(2024, 3, 4, 0, 10, 0, 0, time.UTC)
			s.record(from, start, 20)
			before := s.records()
			parts := []string{".0", ".index", ".meta"}
			for i, part := range parts {
				if i < linked {
					if err := os.Link(filepath.Join(s.dir, from+part), filepath.Join(s.dir, to+part)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, part := range parts[:removed] {
				if err := os.Remove(filepath.Join(s.dir, from+part)); err != nil {
					t.Fatal(err)
				}
			}
			_, log := s.run("-f", "-k", "forever", "-x", "never")
			if want := []string{to + ".0", to + ".index", to + ".meta"}; !slices.Equal(s.names(), want) || !maps.Equal(s.records(), before) {
				t.Errorf("%d linked, %d removed: files %q, want %q\n%s", linked, removed, s.names(), want, log)
			}
		}
	}
}

// TestGarbage has other files and bad archives in the directory: they are kept.
func TestGarbage(t *testing.T) {
	s := newSite(t)
	s.days()
	old := time.Now().Add(-50 * 24 * time.Hour)
	garbage := []string{
		"20240303.notes", "20240303-notes.txt", "notes", "20240306.12.00.meta", "20240306.12.00.0", "-rf", "a b.0", "$HOME.meta",
		"20240307.12.00.meta", "[x].12.00.meta", "20240308.99.99.meta", ".hidden.meta", "lock.old",
	}
	for i, name := range garbage {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, bytes.Repeat([]byte{byte(i)}, 100), 0o644); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(name, ".meta") && !strings.HasSuffix(name, ".0") {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{"20240301.12.00.meta", "20240302"} {
		if err := os.Mkdir(filepath.Join(s.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(s.dir, "20240303.10.10.meta")); err != nil {
		t.Fatal(err)
	}
	before := s.records()
	status, log := s.run("-V", "-k", "30", "-x", "never")
	if status != 0 && !strings.Contains(log, "no pmlogger instance") {
		t.Errorf("status %d\n%s", status, log)
	}
	names := s.names()
	for _, name := range append(garbage, "20240301.12.00.meta", "20240302", "20240303.10.10.meta") {
		if !slices.Contains(names, name) {
			t.Errorf("%s is gone\n%s", name, log)
		}
	}
	if !strings.Contains(log, "20240303.notes") {
		t.Errorf("nothing is said of 20240303.notes:\n%s", log)
	}
	if got := s.records(); !maps.Equal(got, before) {
		t.Errorf("%d records, want %d", len(got), len(before))
	}
	if _, err := os.Stat(filepath.Join(s.dir, "20240305.meta")); err != nil {
		t.Errorf("good archives beside bad ones are not merged: %v\n%s", err, log)
	}
}

func TestAges(t *testing.T) {
	f := func(in string, want time.Duration, ok bool, text string) {
		t.Helper()
		got, gotOK := age(in)
		if gotOK != ok || ok && got != want {
			t.Errorf("age(%q) = %v, %t, want %v, %t", in, got, gotOK, want, ok)
		}
		if ok && ageText(in) != text {
			t.Errorf("ageText(%q) = %q, want %q", in, ageText(in), text)
		}
	}
	const d = 24 * time.Hour
	f("0", 0, true, "0 days")
	f("1", d, true, "1 day")
	f("14", 14*d, true, "14 days")
	f("0:1", time.Hour, true, "1 hour")
	f("0:0:1", time.Minute, true, "1 minute")
	f("0:2:3", 2*time.Hour+3*time.Minute, true, "2 hours and 3 minutes")
	f("1:1:1", d+time.Hour+time.Minute, true, "1 day, 1 hour and 1 minute")
	f("2:0:5", 2*d+5*time.Minute, true, "2 days and 5 minutes")
	for _, bad := range []string{"", "x", "-1", "+1", "1:", "1:24", "1:2:60", "1:2:3:4", "1 2", "99999999999999999999", ":1"} {
		f(bad, 0, false, "")
	}
}

func TestLastDay(t *testing.T) {
	now := time.Date(2026, 11, 3, 9, 30, 0, 0, time.UTC)
	in := `Started by pmlogger_daily: Sun Nov  1 00:10:00 UTC 2026
09:38 two days ago

DATE: Mon Nov  2 08:00:00 2026
08:00:01.123 before
09:29 just before
09:30 since then
17:00 later

DATE: Tue Nov  3 00:00:05 2026
00:00:05.000 today
`
	want := `DATE: Mon Nov  2 08:00:00 2026
09:30 since then
17:00 later
DATE: Tue Nov  3 00:00:05 2026
00:00:05.000 today
`
	got, err := lastDay(strings.NewReader(in), now)
	if err != nil || string(got) != want {
		t.Errorf("lastDay = %q, %v, want %q", got, err, want)
	}
	got, err = lastDay(strings.NewReader("Started by pmlogger_daily: Tue Nov  3 00:10:00 UTC 2026\n00:10 x\n"), now)
	if want := "DATE: Tue Nov 3 00:10:00 2026\n00:10 x\n"; err != nil || string(got) != want {
		t.Errorf("lastDay = %q, %v, want %q", got, err, want)
	}
}

// TestMail has a mail program, and a long file NOTICES, after which a new one is
// started.
func TestMail(t *testing.T) {
	s := newSite(t)
	s.write("bin/mail", "#!/bin/sh\n{ echo \"$@\"; cat; } >>"+s.root+"/mailed\n")
	if err := os.Chmod(s.root+"/bin/mail", 0o755); err != nil {
		t.Fatal(err)
	}
	notices := "DATE: " + time.Now().UTC().Format(time.ANSIC) + "\n00:00:00.000 hello\n"
	s.write("log/NOTICES", notices)
	s.vars["PATH"] = s.root + "/bin"
	_, log := s.run("-m", "ops@example.com root", "-s", "10", "-V", "-x", "never")
	b, err := os.ReadFile(s.root + "/mailed")
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if text := string(b); !strings.HasPrefix(text, "-s PCP NOTICES summary for ") || !strings.Contains(text, " ops@example.com root\n"+notices) {
		t.Errorf("mailed %q", text)
	}
	for name, want := range map[string]string{"NOTICES.daily": notices, "NOTICES.old": notices + "\n*** rotated by pmlogger_daily: ", "NOTICES": "Started by pmlogger_daily: "} {
		if b, err := os.ReadFile(s.root + "/log/" + name); err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%s: %q, %v, want %q", name, b, err, want)
		}
	}
}

// TestPoll runs twice a day; the second run does nothing.
func TestPoll(t *testing.T) {
	s := newSite(t)
	s.days()
	if _, log := s.run("-p", "-k", "forever", "-x", "never"); !slices.Equal(s.bases(), merged) {
		t.Fatalf("%q\n%s", s.bases(), log)
	}
	s.record("20240306.00.10", time.Date(2024, 3, 6, 0, 10, 0, 0, time.UTC), 3)
	if _, log := s.run("-p", "-k", "forever", "-x", "never"); !slices.Contains(s.bases(), "20240306.00.10") {
		t.Errorf("-p has worked twice: %q\n%s", s.bases(), log)
	}
	stamp := fmt.Sprintf("# long ago\n%d\n", time.Now().Add(-24*time.Hour).Unix())
	s.write("log/pmlogger/pmlogger_daily.stamp", stamp)
	if _, log := s.run("-p", "-k", "forever", "-x", "never"); slices.Contains(s.bases(), "20240306.00.10") {
		t.Errorf("-p has not worked a day later: %q\n%s", s.bases(), log)
	}
}

package pmcd

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/pmda"
)

// statsFile is the file of a pmie with recognisable numbers.
func statsFile(version uint32) []byte {
	return (&pmiestats.Stats{
		Config: "/etc/rules", Log: "/var/log/pmie.log", Host: "somehost", Expected: 2.5,
		Rules: 1, Actions: 2, True: 3, False: 4, Unknown: 5, Actual: 6, Version: version,
	}).Append(nil)
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestServices(t *testing.T) {
	tmp, run := t.TempDir(), t.TempDir()
	me := strconv.Itoa(os.Getpid())
	const gone = "2147483646" // more than any system has
	loggers, engines := filepath.Join(tmp, "pmlogger"), filepath.Join(tmp, "pmie")
	write(t, filepath.Join(loggers, me), []byte("4330\nfrom.host\n/var/log/base\npmlogger_check\n"))
	write(t, filepath.Join(loggers, gone), []byte("4331\nfrom.host\n/var/log/base\n"))
	write(t, filepath.Join(loggers, "notes"), []byte("4331\nx\ny\n"))
	if err := os.Symlink(filepath.Join(loggers, me), filepath.Join(loggers, primaryName)); err != nil {
		t.Skip(err)
	}
	write(t, filepath.Join(engines, me), statsFile(1))
	write(t, filepath.Join(engines, gone), statsFile(1))
	write(t, filepath.Join(run, "pmie.pid"), []byte(me+"\n"))
	write(t, filepath.Join(run, "pmproxy.pid"), []byte(gone))

	a, err := New(Config{Collector: &fakeCollector{}, TmpDir: tmp, RunDir: run})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(me)
	pid := int32(n)
	got := values(t, a, clusterLogger, 0)
	if len(got) != 2 || got[0].Uint32() != 4330 || got[pid].Uint32() != 4330 {
		t.Errorf("ports are %v", got)
	}
	for item, want := range map[int]string{1: "from.host", 2: "/var/log/base", 4: "pmlogger_check"} {
		if got := values(t, a, clusterLogger, item); string(got[pid].Bytes()) != want {
			t.Errorf("2.3.%d is %q, want %q", item, got[pid].Bytes(), want)
		}
	}
	for item, want := range []string{"/etc/rules", "/var/log/pmie.log", "somehost"} {
		if got := values(t, a, clusterEngine, item); len(got) != 2 || string(got[pid].Bytes()) != want || string(got[0].Bytes()) != want {
			t.Errorf("2.5.%d is %q, want %q", item, got[pid].Bytes(), want)
		}
	}
	for item, want := range map[int]uint32{3: 1, 4: 2, 5: 3, 6: 4, 7: 5, 9: 6} {
		if got := values(t, a, clusterEngine, item)[pid].Uint32(); got != want {
			t.Errorf("2.5.%d is %d, want %d", item, got, want)
		}
	}
	if got := values(t, a, clusterEngine, 8)[pid].Float(); got != 2.5 {
		t.Errorf("expected is %v", got)
	}
	if got := a.services(); got != "pmcd" {
		t.Errorf("services are %q though pmproxy is dead", got)
	}
	write(t, filepath.Join(run, "pmproxy.pid"), []byte(me))
	if got := a.services(); got != "pmcd pmproxy" {
		t.Errorf("services are %q", got)
	}

	// Files of daemons of another version, and unfinished ones, are left out.
	write(t, filepath.Join(engines, me), statsFile(2))
	write(t, filepath.Join(loggers, me), []byte("4330"))
	if got := values(t, a, clusterEngine, 3); len(got) != 0 {
		t.Errorf("rules are %v", got)
	}
	if got := values(t, a, clusterLogger, 0); len(got) != 0 {
		t.Errorf("ports are %v", got)
	}
	os.RemoveAll(tmp)
	if got := values(t, a, clusterLogger, 0); len(got) != 0 {
		t.Errorf("without a directory ports are %v", got)
	}
}

func FuzzServices(f *testing.F) {
	f.Add([]byte("4330\nhost\n/archive\n"))
	f.Add([]byte("99999999999\n\n\n"))
	f.Add([]byte("1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, ok := parseLogger(b); ok && (len(l.archive) > maxPortLine || len(l.pmcdHost) > maxPortLine) {
			t.Errorf("a line of %d and %d bytes", len(l.pmcdHost), len(l.archive))
		}
	})
}

func TestControl(t *testing.T) {
	a, c := newAgent(t)
	root := &pmda.Client{}
	value := func(item int) int32 { return values(t, a, 0, item)[pcp.InNull].Int32() }
	set := func(item int, v int32, want error) {
		t.Helper()
		if err := store(a, root, 0, item, pcp.Int32Value(v)); !errors.Is(err, want) {
			t.Errorf("2.0.%d = %d: %v, want %v", item, v, err, want)
		}
	}
	for item, bit := range map[int]uint32{9: 1, 10: 2, 14: 256} {
		set(item, 2, pcp.ErrBadStore)
		set(item, -1, pcp.ErrBadStore)
		set(item, 1, nil)
		if c.flags != bit || value(item) != 1 {
			t.Errorf("2.0.%d = 1: flags %d, value %d", item, c.flags, value(item))
		}
		set(item, 0, nil)
		if c.flags != 0 || value(item) != 0 {
			t.Errorf("2.0.%d = 0: flags %d, value %d", item, c.flags, value(item))
		}
	}
	set(11, 7, nil)
	if value(11) != 7 {
		t.Errorf("buffers are %d", value(11))
	}
	set(11, -3, pcp.ErrSign)
	set(12, 1, nil)
	set(13, 0, nil)
	if diff := cmp.Diff([]string{"trace", "clients"}, c.dumps); diff != "" {
		t.Error(diff)
	}
	set(0, -1, nil) // bits without a meaning are dropped
	if value(0) != 1342177279 {
		t.Errorf("debug is %d", value(0))
	}
	if got := values(t, a, 0, 18); len(got) != 0 {
		t.Errorf("buffers are %v, where there are none", got)
	}
}

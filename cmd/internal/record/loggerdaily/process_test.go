//go:build unix

package loggerdaily

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// command returns a process that runs the command, or a pmlogger.
func (s *site) command(role string, args ...string) *exec.Cmd {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = []string{"LOGGERDAILY_TEST=" + role}
	for name, value := range s.vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// TestKilled kills the process at random times, repeatedly, until a call completes:
// nothing is lost, and nothing is left over.
func TestKilled(t *testing.T) {
	rounds := 4
	if longtest.Enabled() {
		rounds = 100
	}
	r := rand.New(rand.NewPCG(longtest.Seed(t), 0))
	kills := 0
	for range rounds {
		s := newSite(t)
		s.days()
		before := s.records()
		args := []string{"-D", "-f", "-k", "forever", "-x", "0", "-V", "-l", filepath.Join(s.root, "daily.log")}
		if r.IntN(2) == 0 {
			args = append(args, "-X", "zstd")
		}
		limit := 5 * time.Millisecond
		for done := false; !done; {
			cmd := s.command("daily", args...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kill := time.AfterFunc(time.Duration(r.Int64N(int64(limit))), func() { cmd.Process.Kill() })
			await.Exit(t, cmd)
			done = kill.Stop() || cmd.ProcessState.Exited()
			if !done {
				kills++
			}
			limit += limit / 4
			if got := s.records(); !maps.Equal(got, before) {
				t.Fatalf("after a kill %d records, want %d: %q\n%s", len(got), len(before), s.names(), &out)
			}
		}
		if got := s.bases(); !slices.Equal(got, merged) {
			b, _ := os.ReadFile(filepath.Join(s.root, "daily.log"))
			t.Errorf("archives %q, want %q: files %q\n%s", got, merged, s.names(), b)
		}
		for _, name := range s.names() {
			if strings.HasPrefix(name, ".") || name == "lock" || !strings.Contains(name, ".index") && !strings.HasSuffix(name, ".xz") && !strings.HasSuffix(name, ".zst") {
				t.Errorf("%s is left over: %q", name, s.names())
			}
		}
	}
	t.Logf("%d kills", kills)
}

// TestTwo runs two at once.
func TestTwo(t *testing.T) {
	s := newSite(t)
	s.days()
	before := s.records()
	var g sync.WaitGroup
	for i := range 3 {
		cmd := s.command("daily", "-D", "-f", "-k", "forever", "-x", "0", "-X", "zstd", "-V", "-l", filepath.Join(s.root, fmt.Sprint("daily", i, ".log")))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		g.Go(func() { cmd.Wait() })
	}
	g.Wait()
	if got := s.records(); !maps.Equal(got, before) || !slices.Equal(s.bases(), merged) {
		t.Errorf("%d records, want %d, in %q", len(got), len(before), s.names())
	}
	for i := range 3 {
		b, err := os.ReadFile(filepath.Join(s.root, fmt.Sprint("daily", i, ".log")))
		if err != nil && !os.IsNotExist(err) || strings.Contains(string(b), "failed to acquire") || strings.Contains(string(b), "no such file") {
			t.Errorf("log %d: %v\n%s", i, err, b)
		}
	}
}

// pretendLogger acts as a pmlogger that switches to an archive of today on request.
func pretendLogger() int {
	file, dir := os.Args[1], os.Args[2]
	note := func(arch string) {
		tmp := file + ".tmp"
		if err := os.WriteFile(tmp, []byte("4330\ncellar\n"+filepath.Join(dir, arch)+"\npmlogger\n"), 0o644); err != nil {
			panic(err)
		}
		if err := os.Rename(tmp, filepath.Join(filepath.Dir(file), fmt.Sprint(os.Getpid()))); err != nil {
			panic(err)
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	note("20240305.12.10")
	fmt.Println("ready")
	<-signals
	note(time.Now().UTC().Format("20060102.15.04"))
	fmt.Println("new archive")
	select {}
}

// TestRotate makes a pmlogger switch to a new archive, none of which is merged, culled or
// compressed.
func TestRotate(t *testing.T) {
	s := newSite(t)
	s.days()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(s.root, "bin/pmlogger")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	logger := s.command("pmlogger", filepath.Join(s.root, "tmp/pmlogger/map"), s.dir)
	logger.Path, logger.Args[0] = link, link
	out, err := logger.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := logger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		logger.Process.Kill()
		await.Exit(t, logger)
	}()
	said := make([]byte, 6)
	if _, err := out.Read(said); err != nil || string(said) != "ready\n" {
		t.Fatalf("%q, %v", said, err)
	}
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("SKIPPED: processes are not found by name here: ", err)
	}
	today := time.Now().UTC().Format("20060102.15.04")
	s.record(today, time.Now().UTC().Add(-time.Hour), 5)
	if _, log := s.run("-z", "-k", "forever", "-x", "never", "-V"); slices.Contains(s.bases(), "20240305") || !strings.Contains(log, "archive (20240305.12.10) is still being written") {
		t.Fatalf("an archive that is being written was merged: %q\n%s", s.bases(), log)
	}
	status, log := s.run("-k", "0", "-x", "0", "-X", "zstd", "-M", "-V", "-N")
	if !strings.Contains(log, "+ pmsignal -s USR2 ") || status != 0 {
		t.Errorf("status %d\n%s", status, log)
	}
	status, log = s.run("-k", "forever", "-x", "0", "-X", "zstd", "-V")
	if status != 0 || !strings.Contains(log, "Sending SIGUSR2 to reexec") || !slices.Contains(s.bases(), "20240305") {
		t.Errorf("status %d, %q\n%s", status, s.names(), log)
	}
	_, arch, err := readMap(filepath.Join(s.root, "tmp/pmlogger", fmt.Sprint(logger.Process.Pid)))
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Base(arch)
	if base == today && !slices.Contains(s.names(), base+".0") {
		t.Errorf("the archive that is being written was compressed: %q", s.names())
	}
	if status, log := s.run("-k", "0", "-x", "never", "-V"); status != 0 || !strings.Contains(log, "Skip sending SIGUSR2") {
		t.Errorf("status %d\n%s", status, log)
	}
	if base == today && !slices.Contains(s.names(), base+".0") {
		t.Errorf("the archive that is being written was culled: %q", s.names())
	}
}

// TestLocks tries locks of other processes: of a C script, old and new, and of a killed
// process.
func TestLocks(t *testing.T) {
	s := newSite(t)
	s.days()
	lock := filepath.Join(s.dir, "lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if _, log := s.run("-k", "forever", "-x", "never"); !strings.Contains(log, "removing lock file older than 30 minutes") || !slices.Equal(s.bases(), merged) {
		t.Errorf("%q\n%s", s.names(), log)
	}
	if err := os.WriteFile(lock, []byte("go-pcp lock of process 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, log := s.run("-k", "0", "-x", "never"); len(s.names()) != 0 {
		t.Errorf("the lock of a process that has ended keeps out: %q\n%s", s.names(), log)
	}
}

package faults

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// clockEnv names a file with the seconds, 8 bytes, by which the time of day of a process is wrong.
const clockEnv = "PCP_FAULTS_CLOCK"

// stepped is added to package time: it reads the file.
const stepped = `package time

import (
	"syscall"
	"unsafe"
)

var step = func() *int64 {
	zero := new(int64)
	path, ok := syscall.Getenv("` + clockEnv + `")
	if !ok {
		return zero
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	b, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*int64)(unsafe.Pointer(&b[0]))
}()
`

// buildStepped builds our program with a time of day that the test sets. A name space of the kernel has a monotonic clock of its
// own, but no time of day, and the test must not set that of the machine. Monotonic time continues
// as it does when a clock is set.
func buildStepped(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(src, "time.go"))
	if err != nil {
		t.Skipf("SKIPPED: a clock that is set needs the sources of Go: %v", err)
	}
	const line = "\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), line) != 1 {
		t.Fatalf("time.Now of %s is not as it was", runtime.Version())
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range map[string]string{"time.go": strings.Replace(string(text), line, line+"\tsec += *step\n", 1), "zstep.go": stepped} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(src, name)] = path
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file, exe := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "pcp")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", file, "-o", exe, "github.com/go-pcp/pcp/cmd/pcp")
	for _, cmd := range []*exec.Cmd{build, exec.Command(exe, "links", dir)} {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	return exe
}

// A clock is the time of day of the processes of a site.
type clock struct{ path string }

func (s *site) newClock() *clock {
	c := &clock{s.write("clock", "")}
	c.set(s.t, 0)
	s.env = append(s.env, clockEnv+"="+c.path)
	return c
}

// set sets the clock ahead of the present time.
func (c *clock) set(t *testing.T, ahead time.Duration) {
	t.Helper()
	f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead/time.Second)), 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestClock sets the clock of each daemon, and of its collector, forward and back, by an hour and by more than a year: the
// daemon continues at once, and no archive is lost.
func TestClock(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("SKIPPED: PCP_TEST_LONG is not set, and all of the program would be built again")
	}
	exe := buildStepped(t)
	for _, d := range daemons {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			s.exe = exe
			c := s.newClock()
			source := s.ownCollector()
			switch { // the times of records do not show that they are new
			case d.settles != nil:
				d.settles = growing()
			case d.sound != nil:
				d.works = growing()
			}
			p := d.up(s)
			d.well(s, p, "at the start")
			before, _ := s.bases()
			for _, ahead := range []time.Duration{time.Hour, 0, -time.Hour, 0, 400 * 24 * time.Hour, 0, -400 * 24 * time.Hour, 0} {
				c.set(t, ahead)
				d.well(s, p, fmt.Sprintf("with a clock that is ahead by %v", ahead))
			}
			after, _ := s.bases()
			if len(after) < len(before) {
				t.Errorf("archives were %q, and are %q", before, after)
			}
			d.over(s, p)
			source.stop()
		})
	}
}

// growing returns a function that wants more records of all archives than there were when it was first asked since a moment.
func growing() func(s *site, since time.Time) error {
	var asked time.Time
	var first int
	return func(s *site, since time.Time) error {
		list, err := s.bases()
		if err != nil {
			return err
		}
		n := 0
		for _, base := range list {
			a, err := archive.Open(base)
			if err != nil {
				return err
			}
			for _, err := range a.Records(a.Label().Start, archive.Forward) {
				if n++; err != nil {
					a.Close()
					return err
				}
			}
			a.Close()
		}
		if !since.Equal(asked) {
			asked, first = since, n
		}
		if n <= first {
			return fmt.Errorf("%d records, want more than %d", n, first)
		}
		return nil
	}
}

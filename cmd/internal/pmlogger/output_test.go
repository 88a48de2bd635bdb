package pmlogger

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

func TestTally(t *testing.T) {
	c := tally{volume: Size{Samples: 2, Bytes: 100}, all: Size{Samples: 5, Bytes: 250}}
	var got []string
	for _, size := range []int64{10, 20, 30, 150, 10} {
		err := c.sample(size)
		got = append(got, fmt.Sprintf("%t %t %v", c.full(), c.large(size), err))
		if c.full() || c.large(size) {
			c.begin(size)
		}
	}
	want := []string{"false false <nil>", "true false <nil>", "false false <nil>", "true true <nil>", "false false sample limit reached"}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.bytes != 170 || c.spent(79) || !c.spent(80) {
		t.Errorf("%d bytes are in earlier volumes", c.bytes)
	}
	if err := (&tally{all: Size{Bytes: 10}}).sample(10); !errors.Is(err, ErrByteLimit) {
		t.Errorf("sample = %v, want %v", err, ErrByteLimit)
	}
}

func TestTallyTime(t *testing.T) {
	now := time.Unix(1000, 0)
	c := tally{}
	if c.restart(now); c.elapsed(now.Add(time.Hour)) {
		t.Error("a volume without a limit has elapsed")
	}
	c.volume.Time = time.Minute
	c.restart(now)
	for _, at := range []struct {
		after time.Duration
		want  bool
	}{{59 * time.Second, false}, {time.Minute, true}, {61 * time.Second, false}, {2 * time.Minute, true}} {
		if got := c.elapsed(now.Add(at.after)); got != at.want {
			t.Errorf("after %v: %t", at.after, got)
		}
	}
}

// A tank holds bytes while err is not nil.
type tank struct {
	held int64
	err  error
}

func (k *tank) Held() int64 { return k.held }

func (k *tank) Flush() error {
	if k.err == nil {
		k.held = 0
	}
	return k.err
}

// TestSpace fills a file system, and makes room again.
func TestSpace(t *testing.T) {
	var log strings.Builder
	told := 0
	s := space{limit: 100, tell: func(error) { told++ }, log: journal{&log}}
	k := &tank{held: 200}
	room := func(want bool) {
		t.Helper()
		if got, err := s.roomFor(k, "base"); got != want || err != nil {
			t.Errorf("roomFor = %t, %v, want %t", got, err, want)
		}
	}
	room(true) // it was never full
	k.err = syscall.ENOSPC
	if err := s.check(k.Flush(), "base"); err != nil || !s.full {
		t.Errorf("check = %v, full %t", err, s.full)
	}
	room(false)
	room(false)
	k.held = 99
	room(true) // in memory
	k.held, k.err = 200, nil
	room(true)
	if s.full || s.dropped != 0 || k.held != 0 || told != 3 {
		t.Errorf("full %t, %d dropped, %d held, told %d times", s.full, s.dropped, k.held, told)
	}
	if err := s.check(syscall.EIO, "base"); !errors.Is(err, syscall.EIO) {
		t.Errorf("check = %v, want %v", err, syscall.EIO)
	}
	for _, want := range []string{"the recorder goes on", "200 bytes wait in memory", "space again for archive base", "2 samples were dropped"} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log does not have %q once:\n%s", want, log.String())
		}
	}
}

// TestOutput writes two archives without a collector.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	var log strings.Builder
	o := &output{
		base: first, from: &collector{host: "far", lost: true}, log: journal{&log},
		by:    author{logger: "here", port: 4330, url: "https://example.com/a"},
		count: tally{volume: Size{Samples: 2}},
		space: space{log: journal{&log}},
	}
	if err := o.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := o.last
	write := func(at pcp.Timestamp) {
		t.Helper()
		b, err := archive.AppendResult([]byte{0, 0, 0, 0}, &pcp.Result{Time: at}, archive.Version3)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := o.put(at, append(b, 0, 0, 0, 0)); n <= 0 || err != nil {
			t.Fatalf("put = %d, %v", n, err)
		}
		if err := o.sampled(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := o.stamp(start.Add(-time.Hour), false), start.Add(time.Millisecond); got != want {
		t.Errorf("the clock was set back: the time is %v, want %v", got, want)
	}
	if got, want := o.stamp(start, true), start.Add(archive.MarkGap); got != want {
		t.Errorf("after the mark: the time is %v, want %v", got, want)
	}
	write(start.Add(time.Second))
	write(start.Add(2 * time.Second)) // ends the volume
	write(start.Add(3 * time.Second))
	if err := o.mark(); err != nil {
		t.Fatal(err)
	}
	if err := o.rotate(t.Context(), first); err == nil {
		t.Error("an archive was rotated to itself")
	}
	if err := o.rotate(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	write(o.last.Add(time.Second))
	if err := o.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "New log volume 1, via sample counter") || !strings.Contains(log.String(), "went back by 3600") {
		t.Errorf("log:\n%s", log.String())
	}
	for _, base := range []string{first, second} {
		a, err := archive.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Label().Host; got != "far" {
			t.Errorf("%s: recorded host %q", base, got)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

package timecontrol_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/timecontrol"
)

func TestMain(m *testing.M) { leak.Main(m) }

func at(sec int64) pcp.Timestamp { return pcp.Timestamp{Sec: sec} }

// serve starts a server and returns it and its port.
func serve(t *testing.T, cfg timecontrol.Config) (*timecontrol.Server, int) {
	t.Helper()
	l, err := timecontrol.Listen(0, 43400)
	if err != nil {
		t.Fatal(err)
	}
	s := timecontrol.NewServer(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, l.Addr().(*net.TCPAddr).Port
}

// dial connects a follower of an archive from 100 to 200, by steps of 10 seconds.
func dial(t *testing.T, port int) *timecontrol.Client {
	t.Helper()
	c, err := timecontrol.Dial(t.Context(), port, timecontrol.Message{
		Source: timecontrol.Archive, Delta: 10 * time.Second, Position: at(100), Start: at(100), End: at(200), Zone: "UTC", ZoneLabel: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A record is what a follower did.
type record struct {
	mu     sync.Mutex
	events []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *record) handlers() timecontrol.Handlers {
	return timecontrol.Handlers{
		Resume:   func() { r.add("resume") },
		Rewind:   func() { r.add("rewind") },
		Boundary: func() { r.add("end") },
		Position: func(t pcp.Timestamp) { r.add("position %d", t.Sec) },
		Interval: func(d time.Duration) { r.add("interval %v", d) },
		Stepped:  func(d time.Duration) { r.add("stepped %v", d) },
		NewZone:  func(zone, label string) { r.add("zone %s %s", zone, label) },
		Seek:     func(t pcp.Timestamp, d time.Duration) error { r.add("seek %d %v", t.Sec, d); return nil },
	}
}

// next waits for a step.
func next(t *testing.T, f *timecontrol.Follower) int64 {
	t.Helper()
	m, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m.Position.Sec
}

// await waits until the report of c is as wanted.
func await(t *testing.T, c *timecontrol.Control, ok func(timecontrol.Status) bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(c.Report()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("status %+v", c.Report())
		}
	}
}

// Two followers see the same steps, and none gets a step before the other has shown
// the last one.
func TestLockStep(t *testing.T) {
	s, port := serve(t, timecontrol.Config{})
	c := s.Control(timecontrol.Archive)
	c.SetMode(timecontrol.FastMode)
	var seen [2][]int64
	var fs [2]*timecontrol.Follower
	for i := range fs {
		fs[i] = timecontrol.NewFollower(dial(t, port), 10*time.Second, timecontrol.Handlers{})
	}
	c.Play()
	for want := int64(110); want <= 200; want += 10 {
		for i, f := range fs {
			seen[i] = append(seen[i], next(t, f))
			if i == 0 {
				continue
			}
			// The first has acknowledged, this one has not: nothing may move.
			if p := c.Report().Position.Sec; p != want {
				t.Fatalf("at %d while a follower is still at %d", p, want)
			}
		}
		for _, f := range fs {
			if err := f.Ack(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(seen[0], seen[1]) || seen[0][0] != 110 || seen[0][len(seen[0])-1] != 200 {
		t.Errorf("seen %v and %v", seen[0], seen[1])
	}
	await(t, c, func(st timecontrol.Status) bool { return st.State == timecontrol.Stopped })
}

func TestSession(t *testing.T) {
	s, port := serve(t, timecontrol.Config{})
	c := s.Control(timecontrol.Archive)
	c.SetMode(timecontrol.StepMode)
	var r record
	f := timecontrol.NewFollower(dial(t, port), 10*time.Second, r.handlers())
	step := func(want int64) {
		t.Helper()
		c.Play()
		if got := next(t, f); got != want {
			t.Errorf("step to %d, want %d", got, want)
		}
		if err := f.Ack(); err != nil {
			t.Fatal(err)
		}
		await(t, c, func(st timecontrol.Status) bool { return st.Position.Sec == want })
	}
	step(110)
	step(120)
	c.Back() // acknowledged by the follower itself
	await(t, c, func(st timecontrol.Status) bool { return st.Position.Sec == 110 })
	step(120)
	c.SetDelta(20 * time.Second)
	step(140)
	c.SetZone("EST-10", "home")
	c.SetPosition(at(1000))
	c.SetPosition(at(155))
	c.Play()
	if got := next(t, f); got != 175 {
		t.Errorf("step to %d, want 175", got)
	}
	if err := f.AtEnd(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"seek 110 10s", "stepped 10s", "rewind", "position 120", "seek 120 10s", "stepped 10s",
		"position 140", "interval 20s", "seek 140 20s", "stepped 20s", "zone EST-10 home",
		"position 175", "seek 175 20s", "stepped 20s", "end",
	}
	if !slices.Equal(r.events, want) {
		t.Errorf("events\n%q\nwant\n%q", r.events, want)
	}
}

// A host continues by itself: a follower that is late misses steps and holds up
// nothing.
func TestLive(t *testing.T) {
	_, port := serve(t, timecontrol.Config{})
	c, err := timecontrol.Dial(t.Context(), port, timecontrol.Message{Source: timecontrol.Host, Delta: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f := timecontrol.NewFollower(c, 10*time.Millisecond, timecontrol.Handlers{})
	last := pcp.Timestamp{}
	for range 3 {
		m, err := f.Next(t.Context())
		if err != nil || m.Position.Compare(last) <= 0 {
			t.Fatalf("step to %v after %v, %v", m.Position, last, err)
		}
		last = m.Position
		if err := f.Ack(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUntilLast(t *testing.T) {
	l, err := timecontrol.Listen(0, 43400)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- timecontrol.NewServer(timecontrol.Config{UntilLast: true}).Serve(t.Context(), l) }()
	// A connection that sends nothing, or nothing valid, is not a follower.
	for _, said := range []string{"", "EMITnonsense"} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, said); err != nil {
			t.Error(err)
		}
		conn.Close()
	}
	select {
	case err := <-done:
		t.Fatalf("ended without a follower: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	dial(t, l.Addr().(*net.TCPAddr).Port).Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFollowerOfNobody(t *testing.T) {
	s, port := serve(t, timecontrol.Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	f := timecontrol.NewFollower(dial(t, port), time.Second, timecontrol.Handlers{})
	gone := errors.New("gone away")
	time.AfterFunc(10*time.Millisecond, func() { cancel(gone) })
	if _, err := f.Next(ctx); err != gone {
		t.Errorf("Next: %v", err)
	}
	await(t, s.Control(timecontrol.Archive), func(st timecontrol.Status) bool { return st.Followers == 0 })

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			conn.Close()
		}
	}()
	if _, err := timecontrol.Dial(t.Context(), l.Addr().(*net.TCPAddr).Port, timecontrol.Message{}); err == nil {
		t.Error("Dial of a peer that leaves: no error")
	}
}

// A follower that breaks the protocol is disconnected; the others are not.
func TestHostileFollowers(t *testing.T) {
	_, port := serve(t, timecontrol.Config{})
	good := dial(t, port)
	wrong := timecontrol.Message{Command: timecontrol.Ack}
	unset := timecontrol.Message{Command: timecontrol.Set, Source: timecontrol.NoSource}
	long := wrong.Append(nil)
	long[4], long[5], long[6], long[7] = 0x7f, 0x7f, 0x7f, 0x7f
	for _, b := range [][]byte{make([]byte, 88), wrong.Append(nil), unset.Append(nil), long} {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(b); err != nil {
			t.Error(err)
		}
		if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("an answer to % x…", b[:12])
		}
		conn.Close()
	}
	if err := good.Ack(at(5)); err != nil {
		t.Error(err)
	}
	if err := good.Extend(at(50), at(300)); err != nil {
		t.Error(err)
	}
	if m, err := good.Receive(t.Context()); err != nil || m.Start != at(50) || m.End != at(300) || m.Command != timecontrol.Change {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestLaunch(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	port, err := timecontrol.Launch(t.Context(), timecontrol.Archive, script("good", `test "$*" = "x -a" && echo port=1234`), "x")
	if err != nil || port != 1234 {
		t.Errorf("port %d, %v", port, err)
	}
	for name, text := range map[string]string{"silent": "exit 1", "other": "echo hello", "big": "echo port=99999"} {
		if port, err := timecontrol.Launch(t.Context(), timecontrol.Host, script(name, text)); err == nil {
			t.Errorf("%s: port %d", name, port)
		}
	}
	if _, err := timecontrol.Launch(t.Context(), timecontrol.Host, filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// Example drives a follower through an archive in steps of ten seconds.
func Example() {
	l, err := timecontrol.Listen(0, timecontrol.DefaultPort)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := timecontrol.NewServer(timecontrol.Config{UntilLast: true})
	served := make(chan error)
	go func() { served <- s.Serve(context.Background(), l) }()
	archive := s.Control(timecontrol.Archive)
	archive.SetMode(timecontrol.FastMode)

	delta := 10 * time.Second
	c, err := timecontrol.Dial(context.Background(), l.Addr().(*net.TCPAddr).Port, timecontrol.Message{
		Source: timecontrol.Archive, Delta: delta, Position: at(0), Start: at(0), End: at(30),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	archive.Play()
	f := timecontrol.NewFollower(c, delta, timecontrol.Handlers{})
	for range 3 {
		step, err := f.Next(context.Background())
		if err != nil {
			fmt.Println(err == io.EOF, err)
			return
		}
		fmt.Println(step.Position)
		if err := f.Ack(); err != nil {
			fmt.Println(err)
		}
	}
	c.Close()
	fmt.Println(<-served)
	// Output:
	// 1970-01-01T00:00:10Z
	// 1970-01-01T00:00:20Z
	// 1970-01-01T00:00:30Z
	// <nil>
}

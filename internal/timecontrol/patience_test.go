package timecontrol

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
)

// A step that waited for a follower is made once, also when the time for which it would
// have waited is over.
func TestOneStepAfterWaiting(t *testing.T) {
	l, err := Listen(0, 43400)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(Config{})
	s.patience = 300 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	c, err := Dial(ctx, l.Addr().(*net.TCPAddr).Port, Message{
		Source: Archive, Delta: time.Second, Position: pcp.Timestamp{Sec: 10}, Start: pcp.Timestamp{Sec: 10}, End: pcp.Timestamp{Sec: 90},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.ShowGUI(true); err != nil {
		t.Fatal(err)
	}
	control := s.Control(Archive)
	control.SetMode(StepMode)
	step := func(want int64) {
		t.Helper()
		for {
			m, err := c.Receive(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if m.Command != Step {
				continue
			}
			if m.Position.Sec != want {
				t.Fatalf("a step to %d, want %d", m.Position.Sec, want)
			}
			return
		}
	}
	control.Play()
	step(11)
	control.Play() // waits for the acknowledgement of the first
	if err := c.Ack(pcp.Timestamp{Sec: 11}); err != nil {
		t.Fatal(err)
	}
	step(12)
	if err := c.Ack(pcp.Timestamp{Sec: 12}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * s.patience)
	if at := control.Report().Position.Sec; at != 12 {
		t.Errorf("at %d after two steps from 10", at)
	}
}

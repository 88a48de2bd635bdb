package timecontrol

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// TestTrace has a follower and its server print the messages of a step.
func TestTrace(t *testing.T) {
	l, err := Listen(0, 43500)
	if err != nil {
		t.Fatal(err)
	}
	var client, server bytes.Buffer
	s := NewServer(Config{UntilLast: true, Debug: debug.New(&server, debugname.TimeControl)})
	done := make(chan error)
	go func() { done <- s.Serve(t.Context(), l) }()
	port := l.Addr().(*net.TCPAddr).Port
	c, err := Dialer{Debug: debug.New(&client, debugname.TimeControl)}.Dial(t.Context(), port, Message{
		Source: Archive, Delta: 10 * time.Second, Position: pcp.Timestamp{Sec: 100}, Start: pcp.Timestamp{Sec: 100}, End: pcp.Timestamp{Sec: 200},
		Zone: "UTC", ZoneLabel: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Control(Archive).SetMode(StepMode)
	s.Control(Archive).Play()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	f := NewFollower(c, 10*time.Second, Handlers{})
	if _, err := f.Next(ctx); err != nil {
		t.Fatal(err)
	}
	if err := f.Ack(); err != nil {
		t.Fatal(err)
	}
	own := c.conn.LocalAddr().(*net.TCPAddr).Port
	c.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	const archive = " delta=10s position=100.000000 start=100.000000 end=200.000000"
	for _, x := range []struct{ what, by, of string }{
		{"SET source=1 state=stopped mode=0" + archive + ` zone="UTC" label="test"`, "client", "server"},
		{"ACK source=1 position=100.000000", "server", "client"},
		{"GUISHOW source=1", "client", "server"},
		{"STEP source=1 state=forward mode=0 delta=10s position=110.000000 start=100.000000 end=200.000000", "server", "client"},
	} {
		sent, received := fmt.Sprintf("pmTimeSend: %d->%d %s\n", own, port, x.what), fmt.Sprintf("pmTimeRecv: %d<-%d %s\n", port, own, x.what)
		from, to := client.String(), server.String()
		if x.by == "server" {
			sent, received = fmt.Sprintf("pmTimeSend: %d->%d %s\n", port, own, x.what), fmt.Sprintf("pmTimeRecv: %d<-%d %s\n", own, port, x.what)
			from, to = to, from
		}
		if !strings.Contains(from, sent) || !strings.Contains(to, received) {
			t.Errorf("want %s%sclient:\n%sserver:\n%s", sent, received, client.String(), server.String())
		}
	}
}

// TestTraceUnknown receives an unknown command.
func TestTraceUnknown(t *testing.T) {
	var b bytes.Buffer
	a, z := net.Pipe()
	defer a.Close()
	m := Message{Command: 1 << 12}
	go func() {
		z.Write(m.Append(nil))
		z.Close()
	}()
	c := &Client{conn: a, log: debug.New(&b, debugname.TimeControl)}
	if _, err := c.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "pmTimeRecv: cmd 1000?\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

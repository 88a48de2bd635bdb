package remote

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// get makes a request, and returns whether it had a reply.
func get(t *testing.T, c *Connections, url string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.RoundTrip(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return true
}

// TestBreaks checks which events are breaks, and until when the server ran before each.
func TestBreaks(t *testing.T) {
	abort := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if abort {
			panic(http.ErrAbortHandler)
		}
	}))
	srv.Config.ErrorLog = nil
	defer srv.Close()
	c := NewConnections(nil)
	defer c.CloseIdleConnections()
	breaks := func(from, want int, after, before time.Time) {
		t.Helper()
		n, until := c.Breaks(from)
		if n != want || (want > from) == until.IsZero() || want > from && (until.Before(after) || until.After(before)) {
			t.Fatalf("%d breaks after %d, the server ran until %v, want %d, between %v and %v", n, from, until, want, after, before)
		}
	}
	for range 2 {
		if !get(t, c, srv.URL) {
			t.Fatal("no reply")
		}
	}
	breaks(0, 0, time.Time{}, time.Time{})

	// The server ends the connection: it ran until then.
	time.Sleep(20 * time.Millisecond)
	began := time.Now()
	srv.CloseClientConnections()
	time.Sleep(20 * time.Millisecond)
	ended := time.Now()
	time.Sleep(20 * time.Millisecond)
	breaks(0, 0, time.Time{}, time.Time{})
	get(t, c, srv.URL)
	breaks(0, 1, began, ended)
	breaks(1, 1, time.Time{}, time.Time{})

	// The client ends the connection: the server ran until its last reply.
	began = time.Now()
	get(t, c, srv.URL)
	ended = time.Now()
	time.Sleep(20 * time.Millisecond)
	c.SetTLS(nil)
	get(t, c, srv.URL)
	breaks(1, 2, began, ended)

	// A request without a reply, and the server is not reached after it: one break.
	abort = true
	if get(t, c, srv.URL) {
		t.Fatal("a reply")
	}
	n, _ := c.Breaks(0)
	if n <= 2 {
		t.Fatalf("%d breaks after a request without a reply", n)
	}
	c.dial = func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	for range 3 {
		if get(t, c, srv.URL) {
			t.Fatal("a reply")
		}
	}
	if m, _ := c.Breaks(0); m > n+1 {
		t.Errorf("%d breaks, and %d after three more attempts", n, m)
	}

	// A request that its client ends is not a break.
	n, _ = c.Breaks(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.RoundTrip(req); err == nil {
		t.Fatal("a reply to a request that has ended")
	}
	if m, _ := c.Breaks(0); m != n {
		t.Errorf("%d breaks, and %d after a request that has ended", n, m)
	}
}

// TestManyBreaks checks that the times of old breaks are forgotten.
func TestManyBreaks(t *testing.T) {
	c := NewConnections(nil)
	at := time.Unix(1e9, 0)
	for i := range 3 * maxBreaks {
		c.alive = at.Add(time.Duration(i) * time.Second)
		c.failed(t.Context())
	}
	for _, test := range []struct {
		from int
		want time.Time
	}{
		{0, time.Time{}},
		{2*maxBreaks - 1, time.Time{}},
		{2 * maxBreaks, at.Add(2 * maxBreaks * time.Second)},
		{3*maxBreaks - 1, at.Add((3*maxBreaks - 1) * time.Second)},
		{3 * maxBreaks, time.Time{}},
	} {
		if n, until := c.Breaks(test.from); n != 3*maxBreaks || !until.Equal(test.want) {
			t.Errorf("after %d: %d breaks, %v, want %v", test.from, n, until, test.want)
		}
	}
}

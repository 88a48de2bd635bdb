package pmproxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// TestSlowReaders serves others while clients do not read their responses; slow readers get all of theirs.
func TestSlowReaders(t *testing.T) {
	const size = 32 << 20
	large := make([]byte, 64<<10)
	address, _ := start(t, Config{Handlers: map[string]http.Handler{
		"/large": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for range size / len(large) {
				if _, err := w.Write(large); err != nil {
					return
				}
			}
		}),
		"/": api("small"),
	}})
	for range 20 {
		c := dial(t, address)
		fmt.Fprint(c, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	slow := dial(t, address)
	fmt.Fprint(slow, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for range 10 {
		if r, _ := get(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); r.StatusCode != 200 {
			t.Fatalf("%d", r.StatusCode)
		}
	}
	r, err := http.ReadResponse(bufio.NewReaderSize(slow, 16), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r.Body); n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	// The server's end does not wait for clients that do not read: see start.
}

package keys

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// serveOnce answers each connection's first bytes with text.
func serveOnce(t *testing.T, text string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := bufio.NewReader(c).ReadByte(); err == nil {
					c.Write([]byte(text))
				}
				time.Sleep(100 * time.Millisecond)
			}()
		}
	}()
	return ln.Addr().String()
}

// TestHostileServers opens stores at servers whose answers are not those of a key server. The process survives, and opening
// fails soon and with little memory.
func TestHostileServers(t *testing.T) {
	for name, text := range map[string]string{
		"more replies":    strings.Repeat("+OK\r\n", 1000),
		"push":            ">2\r\n$10\r\ninvalidate\r\n*0\r\n",
		"long string":     "$536870912\r\n",
		"long array":      "*999999999\r\n",
		"nested":          strings.Repeat("*1\r\n", 10000),
		"long line":       "+" + strings.Repeat("x", 1<<20),
		"another service": "HTTP/1.1 400 Bad Request\r\n\r\n",
		"nothing":         "",
		"negative":        "*-1\r\n$-1\r\n",
		"no number":       "$x\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			s, err := Open(ctx, Config{Servers: []string{serveOnce(t, text)}})
			if err == nil {
				s.Close()
				t.Error("Open succeeded")
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
				t.Errorf("%d bytes allocated", n)
			}
		})
	}
}

func TestFrames(t *testing.T) {
	const text = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n+OK\r\n*-1\r\n*0\r\n$0\r\n\r\n:12\r\n*1\r\n*2\r\n$-1\r\n-ERR\r\n"
	for size := 1; size <= len(text); size++ {
		var f frames
		n := 0
		for b := []byte(text); len(b) > 0; b = b[min(size, len(b)):] {
			part := b[:min(size, len(b))]
			if good, err := f.take(part, func() error { n++; return nil }); err != nil || good != len(part) {
				t.Fatalf("in parts of %d: take(%q) = %d, %v", size, part, good, err)
			}
		}
		if n != 7 || f.open != 0 || f.kind != 0 || f.skip != 0 {
			t.Errorf("in parts of %d: %d messages, state %+v, want 7", size, n, f)
		}
	}
}

// FuzzFrames checks that the messages do not depend on how the bytes are divided, and that nothing beyond the limits passes.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), 3)
	f.Add([]byte("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"), 1)
	f.Add([]byte("$99999999999\r\n"), 2)
	f.Add([]byte(">1\r\n+x\r\n"), 5)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		var whole, parts frames
		n, m := 0, 0
		_, err := whole.take(b, func() error { n++; return nil })
		at = min(max(at, 0), len(b))
		_, err1 := parts.take(b[:at], func() error { m++; return nil })
		if err1 == nil {
			_, err1 = parts.take(b[at:], func() error { m++; return nil })
		}
		if (err == nil) != (err1 == nil) || n != m {
			t.Errorf("whole: %d messages, %v; divided at %d: %d, %v", n, err, at, m, err1)
		}
		if err == nil && whole != parts {
			t.Errorf("whole %+v, divided %+v", whole, parts)
		}
	})
}

// TestUnasked reads the reply to a command, and fails at one without a command.
func TestUnasked(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	g := &guard{Conn: a}
	go func() {
		defer b.Close()
		r := bufio.NewReader(b)
		for range 3 {
			r.ReadBytes('\n')
		}
		b.Write([]byte("+PONG\r\n+PONG\r\n"))
	}()
	if _, err := g.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := g.Read(buf)
	if err != nil || !bytes.Equal(buf[:n], []byte("+PONG\r\n")) {
		t.Fatalf("Read = %q, %v, want the first reply", buf[:n], err)
	}
	if _, err := g.Read(buf); !errors.Is(err, errUnasked) {
		t.Errorf("Read = %v, want %v", err, errUnasked)
	}
}

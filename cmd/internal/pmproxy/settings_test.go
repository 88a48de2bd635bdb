package pmproxy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReload changes the settings that can change while the server runs, and checks that a mistake leaves all
// unchanged.
func TestReload(t *testing.T) {
	port := collector(t, func(c net.Conn) { io.WriteString(c, "reached") })
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("me 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	handlers := map[string]http.Handler{"/pmapi": api("pmapi")}
	address, s := start(t, Config{Handlers: handlers})
	reached := func() string {
		c := dial(t, address)
		shake(t, c, port)
		b, _ := io.ReadAll(c)
		return string(b)
	}
	get := func(name, value string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/pmapi/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if name != "" {
			r.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Access-Control-Allow-Headers")
	}
	if got := reached(); got != "reached" {
		t.Errorf("before: %q", got)
	}
	if status, headers := get("", ""); status != 200 || strings.Contains(headers, "X-Mine") {
		t.Errorf("before: %d %q", status, headers)
	}
	cfg := Config{Collectors: []string{"elsewhere"}, AllowHeaders: []string{"X-Mine"}, TokenFile: tokens, RequireAuth: true}
	if err := s.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []Config{{Collectors: []string{":1"}}, {AllowHeaders: []string{"a b"}}, {TokenFile: tokens + ".none"}} {
		if s.Reload(bad) == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if got := reached(); got != "" {
		t.Errorf("after: %q", got)
	}
	if status, headers := get("", ""); status != 401 || !strings.Contains(headers, "X-Mine") {
		t.Errorf("after: %d %q", status, headers)
	}
	if status, _ := get("Authorization", "Bearer 0123456789abcdef"); status != 200 {
		t.Errorf("with a token: %d", status)
	}
}

// TestKeyServer forwards the protocol of key servers if one is named.
func TestKeyServer(t *testing.T) {
	port := collector(t, func(c net.Conn) {
		b := make([]byte, len("*1\r\n$4\r\nPING\r\n"))
		if _, err := io.ReadFull(c, b); err == nil && string(b) == "*1\r\n$4\r\nPING\r\n" {
			io.WriteString(c, "+PONG\r\n")
		}
	})
	for want, cfg := range map[string]Config{"+PONG\r\n": {KeyServer: fmt.Sprintf("127.0.0.1:%d", port)}, "": {}} {
		address, _ := start(t, cfg)
		c := dial(t, address)
		io.WriteString(c, "*1\r\n$4\r\nPING\r\n")
		if got, _ := io.ReadAll(c); string(got) != want {
			t.Errorf("%+v: %q, want %q", cfg, got, want)
		}
	}
}

// pdu is a PDU of some size.
func pdu(size int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(size)), make([]byte, size-4)...)
}

// TestMaxPDU disconnects a client whose PDU is too long.
func TestMaxPDU(t *testing.T) {
	port := collector(t, func(c net.Conn) {
		n, _ := io.Copy(io.Discard, c)
		fmt.Fprint(c, n)
	})
	address, _ := start(t, Config{MaxPDU: 1000})
	c := dial(t, address)
	shake(t, c, port)
	c.Write(bytes.Repeat(pdu(1000), 10))
	c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(c); err != nil || string(got) != "10000" {
		t.Errorf("PDUs that are not too long: %q, %v", got, err)
	}
	c = dial(t, address)
	shake(t, c, port)
	c.Write(pdu(1001))
	if got, _ := io.ReadAll(c); len(got) != 0 {
		t.Errorf("one that is too long: %q", got)
	}
}

// TestPDULimit reads byte by byte, and checks that TLS is not examined.
func TestPDULimit(t *testing.T) {
	f := func(in []byte, ok bool) {
		t.Helper()
		for _, r := range []io.Reader{bytes.NewReader(in), iotest.OneByteReader(bytes.NewReader(in))} {
			got, err := io.ReadAll(&pduLimit{r: r, limit: 16})
			if (err == nil) != ok || ok && !bytes.Equal(got, in) {
				t.Errorf("%x: %x, %v", in, got, err)
			}
		}
	}
	f(append(pdu(16), pdu(5)...), true)
	f(pdu(17), false)
	f([]byte{0, 0, 0, 3}, false)
	f([]byte{0xff, 0xff, 0xff, 0xff}, false)
	f(append(pdu(12), "\x16\x03\x01\xff\xff\xff\xff\xff"...), true)
	f([]byte{0, 0}, true) // truncated
}

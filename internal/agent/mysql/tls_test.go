package mysql

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
)

// serveTLS is a server with the greeting hello, which asks for the password in the clear and answers ok to the right one. It returns its address, and
// what a client sent before TLS began.
func serveTLS(t *testing.T, hello string, pair tlstest.Pair, password string) (address string, clear func() string) {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(pair.File, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	done := make(chan string, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		s := &stream{w: conn}
		s.write([]byte(hello))
		request := make([]byte, 4+32) // with no byte of TLS behind it
		n, err := io.ReadFull(conn, request)
		done <- string(request[:n])
		if err != nil || request[5]&(overTLS>>8) == 0 {
			return
		}
		s.next = request[3] + 1
		c := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{cert}})
		s.w, s.r = c, bufio.NewReader(c)
		if _, err := s.read(); err != nil {
			return
		}
		s.write([]byte("\x01\x04"))
		if b, err := s.read(); err == nil && string(b) == password+"\x00" {
			s.write([]byte("\x00\x00\x00\x02\x00\x00\x00"))
		} else if err == nil {
			s.write([]byte("\xff\x15\x04#28000Access denied"))
		}
	}()
	return ln.Addr().String(), func() string { return <-done }
}

// TestTLS logs in over TLS. Only a server with a certificate gets the password in the clear.
func TestTLS(t *testing.T) {
	ca := tlstest.NewCA(t, "CA of the test")
	right, wrong := ca.Cert(t, tlstest.Want{Hosts: []string{"127.0.0.1"}}), ca.Cert(t, tlstest.Want{Hosts: []string{"elsewhere"}})
	offers := hello(cachingSHA2)
	without := strings.Replace(offers, "\x00\xff\xff\x21", "\x00\xff\xf7\x21", 1)
	for name, c := range map[string]struct {
		hello    string
		mode, ca string
		pair     tlstest.Pair
		password string
		err      string
	}{
		"verified":       {offers, "verify", ca.File, right, "secret", ""},
		"wrong password": {offers, "verify", ca.File, right, "other", service.ErrCredentials.Error()},
		"wrong name":     {offers, "verify", ca.File, wrong, "secret", "cannot validate certificate"},
		"unknown signer": {offers, "verify", "", right, "secret", "unknown authority"},
		"not verified":   {offers, "require", "", wrong, "secret", "tls = verify"},
		"preferred":      {offers, "", "", wrong, "secret", "tls = verify"},
		"not offered":    {without, "require", "", right, "secret", service.ErrNoTLS.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			address, clear := serveTLS(t, c.hello, c.pair, c.password)
			security, err := service.NewSecurity(c.mode, c.ca)
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Address: address, User: "monitor", Password: "secret", Security: security}
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(time.Minute))
			over, err := logIn(conn, bufio.NewReader(conn), cfg)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v, want %q", err, c.err)
			}
			if _, ok := over.(*tls.Conn); err == nil && !ok {
				t.Error("the connection is not encrypted")
			}
			conn.Close()
			if got := clear(); strings.Contains(got, "monitor") {
				t.Errorf("the user was sent in the clear: %q", got)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	for _, c := range [][2]string{{"always", ""}, {"require", "/ca"}, {"", "/ca"}, {"verify", "/does/not/exist"}} {
		if _, err := service.NewSecurity(c[0], c[1]); err == nil {
			t.Errorf("tls = %s and ca = %s are accepted", c[0], c[1])
		}
	}
	if s, err := service.NewSecurity("off", ""); err != nil || s.Without() != nil {
		t.Errorf("off: %v", err)
	}
}

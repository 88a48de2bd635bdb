//go:build unix

package rootproto

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
)

// serve answers one connection after the other with the replies of a script: nil
// means the correct one.
func serve(t *testing.T, answer func(c *Conn, req []byte)) *Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "rootproto") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			c := NewConn(nc.(*net.UnixConn))
			c.Send((&Info{Features: 7}).Append(nil), Timeout)
			for {
				b, _, err := c.Receive(0, Timeout)
				if err != nil {
					break
				}
				answer(c, b)
			}
			c.Close()
		}
	}()
	client := NewClient(path)
	t.Cleanup(func() {
		client.Close()
		ln.Close()
		<-done
	})
	return client
}

func TestClient(t *testing.T) {
	c := serve(t, func(c *Conn, b []byte) {
		h, _ := DecodeHeader(b)
		switch h.Type {
		case TypeProcessIDReq:
			var q Container
			q.Decode(b)
			r := Container{Type: TypeProcessID, PID: len(q.Name)}
			if q.Name == "gone" {
				r.Status, r.Name = pcp.ErrNoContainer, "o\x00dd" // as from C
			}
			c.Send(r.Append(nil), Timeout)
		case TypeHostNameReq:
			c.Send((&Container{Type: TypeHostName, PID: 5, Name: "box"}).Append(nil), Timeout)
		case TypeCGroupNameReq: // an answer to something else
			c.Send((&Container{Type: TypeHostName, PID: 5, Name: "box"}).Append(nil), Timeout)
		case TypeStartReq:
			var q Start
			q.Decode(b)
			r, w, err := os.Pipe()
			if err != nil {
				panic(err)
			}
			defer r.Close()
			defer w.Close()
			p := (&Start{Type: TypeStart, PID: 77, Label: q.Label}).Append(nil)
			if q.Label == "bare" {
				c.Send(p, Timeout)
			} else {
				c.Send(p, Timeout, w, r)
			}
		case TypeStopReq:
			var q Stop
			q.Decode(b)
			c.Send((&Stop{Type: TypeStop, PID: 12, Code: 256}).Append(nil), Timeout)
		}
	})
	for range 2 { // the second time after the answers that broke the connection
		if pid, err := c.ProcessID("four"); pid != 4 || err != nil {
			t.Errorf("process %d, %v", pid, err)
		}
		if _, err := c.ProcessID("gone"); !errors.Is(err, pcp.ErrNoContainer) {
			t.Errorf("a container that is gone: %v", err)
		}
		if name, err := c.HostName("x"); name != "box" || err != nil {
			t.Errorf("host name %q, %v", name, err)
		}
		if _, err := c.CGroupName("x"); !errors.Is(err, pcp.ErrIPC) {
			t.Errorf("a wrong answer: %v", err)
		}
	}
	p, err := c.Start(IPCPipe, "agent", "/x")
	if err != nil || p.PID != 77 {
		t.Fatalf("started %+v, %v", p, err)
	}
	if _, err := p.In.Write([]byte("hello")); err != nil {
		t.Error(err)
	}
	p.In.Close()
	p.Out.SetReadDeadline(time.Now().Add(time.Minute)) // a plain file has no deadline
	if b, err := io.ReadAll(p.Out); string(b) != "hello" || err != nil {
		t.Errorf("through the pipe comes %q, %v", b, err)
	}
	p.Out.Close()
	if _, err := c.Start(IPCPipe, "bare", "/x"); !errors.Is(err, pcp.ErrIPC) {
		t.Errorf("without pipes: %v", err)
	}
	if p, err := c.Start(IPCSocket, "bare", "/x"); p.PID != 77 || p.In != nil || err != nil {
		t.Errorf("by socket: %+v, %v", p, err)
	}
	if pid, code, err := c.Wait(); pid != 12 || code != 256 || err != nil {
		t.Errorf("ended: %d, %d, %v", pid, code, err)
	}
	long := string(make([]byte, MaxName+1))
	if _, err := c.ProcessID(long); !errors.Is(err, pcp.ErrNoContainer) {
		t.Errorf("a long name: %v", err)
	}
	if _, err := c.Start(IPCPipe, long[:MaxLabel+1], "/x"); err == nil {
		t.Error("a long label is accepted")
	}
	c.Close()
	if _, err := c.ProcessID("four"); !errors.Is(err, pcp.ErrNotConn) {
		t.Errorf("after Close: %v", err)
	}
}

func TestNobodyThere(t *testing.T) {
	c := NewClient(filepath.Join(t.TempDir(), "none"))
	if _, err := c.ProcessID("x"); !errors.Is(err, pcp.ErrNotConn) {
		t.Errorf("without a helper: %v", err)
	}
}

// TestOddGreetings has servers that are not root helpers.
func TestOddGreetings(t *testing.T) {
	for _, greeting := range [][]byte{
		nil, []byte("HTTP/1.0 400 Bad Request\r\n"), (&Info{Status: pcp.ErrPermission}).Append(nil),
		(&Container{Type: TypeHostName, Name: "x"}).Append(nil), (&Info{}).Append(nil)[:20],
	} {
		path := filepath.Join(t.TempDir(), "s")
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Skip(err) // the directory's name is too long
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if c, err := ln.Accept(); err == nil {
				c.Write(greeting)
				c.Close()
			}
		}()
		if err := NewClient(path).Connect(); !errors.Is(err, pcp.ErrNotConn) {
			t.Errorf("greeting %q: %v", greeting, err)
		}
		ln.Close()
		<-done
	}
}

package ie

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

// broker takes the frames of one connection. It refuses other passwords than "secret".
func broker(t *testing.T) (port string, bodies <-chan string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	out := make(chan string, 10)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go serveStomp(conn, out)
		}
	}()
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port, out
}

func serveStomp(conn net.Conn, out chan<- string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		head := map[string]string{}
		command := ""
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSuffix(line, "\n")
			name, value, header := strings.Cut(line, ":")
			switch {
			case command == "":
				command = line
				continue
			case header:
				head[name] = value
				continue
			}
			if line == "" {
				break
			}
		}
		var body string
		if n, err := strconv.Atoi(head["content-length"]); err == nil {
			b := make([]byte, n+1)
			for i := range b {
				b[i], _ = in.ReadByte()
			}
			body = string(b[:n])
		} else {
			body, _ = in.ReadString(0)
			body = strings.TrimSuffix(body, "\x00")
		}
		in.ReadString('\n')
		switch {
		case command == "CONNECT" && head["passcode"] == "secret":
			fmt.Fprint(conn, "CONNECTED\nsession:1\n\n\x00\n")
		case command == "SEND":
			out <- head["destination"] + " " + body
			fmt.Fprintf(conn, "RECEIPT\nreceipt-id:%s\n\n\x00\n", head["receipt"])
		default:
			fmt.Fprint(conn, "ERROR\nmessage:no\n\nwrong password\x00\n")
			return
		}
	}
}

func TestStomp(t *testing.T) {
	port, bodies := broker(t)
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "stomp")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base := "host=127.0.0.1\nport=" + port + "\nuser=me\n"
	s, err := readStomp(file(base + "password=secret # mine\ntopic=busy\ntimeout=5\n"))
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	s.report = func(format string, args ...any) { said += fmt.Sprintf(format, args...) }
	if err := s.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-bodies; got != "/topic/busy INFO: PMIE: Established initial connection" {
		t.Errorf("hello %q", got)
	}
	for _, text := range []string{"plain", "a \"b\" 'c'\n\nSEND\ndestination:/topic/x\n\n", "a\x00\nSEND\n\nx\x00", "", "ü"} {
		if err := s.Send(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if got := <-bodies; got != "/topic/busy "+text {
			t.Errorf("sent %q, got %q", text, got)
		}
	}
	s.conn.Close()
	if err := s.Send(t.Context(), "lost"); err == nil || said == "" {
		t.Errorf("a lost connection: %v, said %q", err, said)
	}
	if err := s.Send(t.Context(), "lost"); err == nil {
		t.Error("tried again at once")
	}
	s.tried = time.Time{}
	if err := s.Send(t.Context(), "back"); err != nil {
		t.Error(err)
	}
	s.close()
	for text, want := range map[string]string{
		"":                            "no host",
		"host=h\n":                    "no port",
		"host=h\nport=1\n":            "no username",
		base:                          "no passcode",
		base + "passcode=x\nport=x\n": "not a port",
		base + "passcode=x\ntimeout=": "not a number",
	} {
		if _, err := readStomp(file(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readStomp(%q) = %v, want %q", text, err, want)
		}
	}
	if s, err = readStomp(file(base + "passcode=wrong\n")); err != nil {
		t.Fatal(err)
	}
	if err := s.connect(t.Context()); err == nil || !strings.Contains(err.Error(), "wrong password") {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestAlarmWithoutDesktop has alarms printed, and the reason printed once.
func TestAlarmWithoutDesktop(t *testing.T) {
	for _, bus := range []string{"", "unix:path=/nonexistent/bus"} {
		var said, printed []string
		a := &alarmer{
			bus: bus,
			say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
			out: func(format string, args ...any) { printed = append(printed, fmt.Sprintf(format, args...)) },
		}
		for range 2 {
			if err := a.Show(context.Background(), deliver.Action{Text: "disk <full>", Time: time.Unix(0, 0).UTC()}); err != nil {
				t.Error(err)
			}
		}
		if len(said) != 1 || !strings.Contains(said[0], "no desktop") {
			t.Errorf("said %q", said)
		}
		if want := "Performance Co-Pilot Alarm Thu Jan  1 00:00:00 1970: disk <full>\n"; len(printed) != 2 || printed[0] != want {
			t.Errorf("printed %q, want %q twice", printed, want)
		}
	}
}

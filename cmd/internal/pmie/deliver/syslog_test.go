//go:build unix

package deliver

import (
	"bytes"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSyslog sends a line of an action to a socket in place of the system log.
func TestSyslog(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "log")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var said bytes.Buffer
	r := Runner{LogSocket: socket, Notify: func(_ slog.Level, text string) { said.WriteString(text) }}
	f := func(text string, priority int, want string) {
		t.Helper()
		if err := r.Do(t.Context(), Action{Kind: Syslog, Text: text, Priority: priority, Tag: "pcp-pmie"}); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1000)
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(want).Match(b[:n]) {
			t.Errorf("%q, want %s", b[:n], want)
		}
	}
	f("busy: sda", 5, `^<29>[A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d pcp-pmie\[\d+\]: busy: sda$`)
	f("a\n<0>b \x1b[2J$(x) é", 16<<3|2, `^<130>.*: a#012<0>b #033\[2J\$\(x\) é$`)
	f("a\u009b2J\xff\u0085é", 16<<3|2, `^<130>.*: a#302#2332J#377#302#205é$`)
	conn.Close()
	if err := r.Do(t.Context(), Action{Kind: Syslog, Text: "lost"}); err != nil || !strings.Contains(said.String(), "syslog failed: ") {
		t.Errorf("without a log: %v, said %q", err, &said)
	}
}

// TestSyslogStream is the same with a log on a stream socket.
func TestSyslogStream(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "log")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	r := Runner{LogSocket: socket}
	if err := r.Do(t.Context(), Action{Kind: Syslog, Text: "x", Tag: "t"}); err != nil {
		t.Fatal(err)
	}
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b := make([]byte, 1000)
	n, err := conn.Read(b)
	if err != nil || !strings.HasSuffix(string(b[:n]), ": x\x00") {
		t.Errorf("%q, %v", b[:n], err)
	}
}

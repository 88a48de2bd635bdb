package logger

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestPending asks the system how many connections may wait at the port of a logger.
func TestPending(t *testing.T) {
	dir, err := os.MkdirTemp("", "port") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"PCP_TMP_DIR", "PCP_RUN_DIR"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for value, want := range map[string]uint32{"": 5, "9": 9} {
		env := &cli.Env{Getenv: func(name string) string {
			switch name {
			case "PCP_TMP_DIR", "PCP_RUN_DIR":
				return filepath.Join(dir, name)
			case "PMLOGGER_MAXPENDING":
				return value
			case "PMLOGGER_LOCAL":
				return "1"
			}
			return ""
		}}
		var warnings bytes.Buffer
		ends, err := new(settings).listen(env, &recording{w: &warnings})
		if err != nil {
			t.Fatal(err)
		}
		for _, ln := range ends.Listeners {
			tcp, ok := ln.(*net.TCPListener)
			if !ok {
				continue
			}
			raw, err := tcp.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			var info *unix.TCPInfo
			raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
			if err != nil || info.Sacked != want { // of a listening socket, the length of its queue
				t.Errorf("PMLOGGER_MAXPENDING=%s: the length of the queue is %d, %v; want %d", value, info.Sacked, err, want)
			}
		}
		ends.Close()
		if warnings.Len() > 0 {
			t.Errorf("PMLOGGER_MAXPENDING=%s: %s", value, &warnings)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// insides must not be shown to users: a panic, fmt's output for a wrong argument.
var insides = regexp.MustCompile(`panic:|goroutine \d|runtime error|\.go:\d+|%!\w?\(`)

// An outcome is the result of a command line.
type outcome struct {
	out, err string
	status   int
	hung     bool
}

// outcomeOf runs our program under a name, in an empty directory.
func outcomeOf(t *testing.T, dir string, vars []string, name string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t), args...)
	cmd.Args[0], cmd.Dir = name, dir
	cmd.Env = append(os.Environ(), vars...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	return outcome{out.String(), errs.String(), cmd.ProcessState.ExitCode(), ctx.Err() != nil}
}

// noStatus are tools that take an unknown option and end with status 0, as those
// of the C implementation.
var noStatus = []string{
	"pcp-dmcache", "pcp-free", "pcp-ipcs", "pcp-lvmcache", "pcp-numastat", "pcp-uptime", "pcp-verify",
	"pmcd", "pmdate", "pmiestatus", "pmnewlog", "pmnsadd", "pmproxy", "pmsleep", "pmtrace",
}

// noOptions are tools to which every argument is one: a name, a text, or nothing to care about. Those that ask the user
// would ask at the terminal of the test.
var noOptions = []string{"pmlock", "pmpause", "pmpost", "pmconfirm", "pmmessage", "pmquery"}

// TestUnknownOption calls each command by its link with an option that there is
// not: it must end at once with a message, a status, and no file.
func TestUnknownOption(t *testing.T) {
	var names []string
	each(commands(), func(c *cli.Command) {
		if c.Link != "" && !slices.Contains(noOptions, c.Link) {
			names = append(names, c.Link)
		}
	})
	slots := make(chan struct{}, 4)
	var all sync.WaitGroup
	for _, name := range names {
		dir := t.TempDir()
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			got := outcomeOf(t, dir, []string{"PMCD_SOCKET=" + dir + "/none", "PMCD_PORT=1", "PCP_LOG_DIR=" + dir + "/log", "PCP_RUN_DIR=" + dir + "/run"},
				name, "--no-such-option")
			switch {
			case got.hung:
				t.Errorf("%s does not end", name)
			case insides.MatchString(got.out + got.err):
				t.Errorf("%s shows its inside: %s%s", name, got.out, got.err)
			case got.status == 0 && !slices.Contains(noStatus, name):
				t.Errorf("%s ends with status 0, and says %q", name, got.out+got.err)
			case got.out+got.err == "":
				t.Errorf("%s says nothing", name)
			}
			if left := testdir.Contents(t, dir); len(left) > 0 {
				t.Errorf("%s leaves %v", name, left)
			}
		})
	}
	all.Wait()
}

// A peer is somebody on the other end of a connection, but not a collector.
type peer struct {
	name  string
	serve func(net.Conn)
}

// peers end a connection at once, so that no timeout has to pass.
var peers = []peer{
	{"closes", func(net.Conn) {}},
	{"resets", func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }},
	{"garbage", func(c net.Conn) { c.Write(bytes.Repeat([]byte("\xfe\x01garbage"), 500)) }},
	{"another", func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n") }},
	// The header of a PDU, and less than it announces.
	{"promises", func(c net.Conn) { c.Write([]byte("\x7f\xff\xff\xf0\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x00\x00")) }},
	{"greets", func(c net.Conn) {
		c.Write([]byte("\x00\x00\x00\x14\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00"))
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c)
	}},
}

// TestStrangePeers has clients connect to peers that are not collectors: each prints
// the reason of the failure, and those that name hosts name the peer.
func TestStrangePeers(t *testing.T) {
	lines := [][]string{
		{"pminfo", "-f", "-h", "HOST", "kernel"},
		{"pmval", "-s", "1", "-h", "HOST", "kernel.all.load"},
		{"pmprobe", "-h", "HOST", "kernel"},
		{"pmstat", "-s", "1", "-h", "HOST"},
		{"pmrep", "-s", "1", "-h", "HOST", "kernel.all.load"},
		{"pmdumptext", "-s", "1", "-h", "HOST", "kernel.all.load"},
		{"pmstore", "-h", "HOST", "sample.write_me", "1"},
		{"pmevent", "-s", "1", "-h", "HOST", "sample.event.records"},
		{"pmclient", "-s", "1", "-h", "HOST"},
		{"pcp", "-h", "HOST", "free"},
		{"pcp", "-h", "HOST", "dstat", "1", "1"},
		{"pcp", "-h", "HOST", "atop", "1", "1"},
		{"pcp", "top", "--once", "-h", "HOST"},
		{"pcp", "info", "-h", "HOST", "kernel"},
		{"pcp2json", "-s", "1", "-h", "HOST", "kernel.all.load"},
	}
	// As in C the first of these ends with status 0 when it cannot connect, and the
	// second when the collector answers nothing.
	tolerant := func(line []string) bool { return slices.Contains(line, "free") || line[0] == "pmprobe" }
	slots := make(chan struct{}, 4)
	var all sync.WaitGroup
	for _, p := range peers {
		host := listen(t, p.serve)
		for _, line := range lines {
			dir := t.TempDir()
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				args := slices.Clone(line)
				args[slices.Index(args, "HOST")] = host
				got := outcomeOf(t, dir, []string{"PMCD_CONNECT_TIMEOUT=20", "PMCD_REQUEST_TIMEOUT=20"}, args[0], args[1:]...)
				switch {
				case got.hung:
					t.Errorf("peer that %s: %q does not end", p.name, line)
				case insides.MatchString(got.out + got.err):
					t.Errorf("peer that %s: %q shows its inside: %s%s", p.name, line, got.out, got.err)
				case got.out+got.err == "" && !tolerant(line):
					t.Errorf("peer that %s: %q says nothing", p.name, line)
				case got.status == 0 && !tolerant(line):
					t.Errorf("peer that %s: %q ends with status 0, and says %q", p.name, line, got.err)
				}
			})
		}
	}
	all.Wait()
}

// listen has serve answer each connection, until the test ends, and returns where.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute))
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

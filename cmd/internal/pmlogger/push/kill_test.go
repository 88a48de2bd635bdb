package push_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/logger"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// TestMain is a host or a receiver if the variable is set, so that tests can kill it.
func TestMain(m *testing.M) {
	var err error
	switch os.Getenv("PUSH_TEST_PART") {
	case "":
		os.Exit(m.Run())
	case "host":
		err = beHost(os.Args[1], os.Args[2])
	case "receiver":
		err = beReceiver(os.Args[1], os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// beReceiver serves pushed archives at an address.
func beReceiver(address, dir string) error {
	h, err := logger.New(logger.Config{Dir: dir, Anybody: true, Zone: time.UTC})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	return http.Serve(ln, h)
}

// beHost records archives in a directory, and pushes them, until its standard input ends.
func beHost(dir, url string) error {
	s, err := push.NewSender(push.SenderConfig{
		Dir: dir, Host: "www", Receivers: []push.Config{{URL: url, Timeout: 2 * time.Second}}, Poll: 3 * time.Millisecond,
		Event:  func(text string, err error) { fmt.Fprintln(os.Stderr, text, err) },
		Delays: pacing.Backoff{First: 5 * time.Millisecond, Longest: 50 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	s.Start()
	quit := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(quit)
	}()
	for n := int64(0); ; {
		start := time.Now()
		w, err := archive.Create(filepath.Join(dir, fmt.Sprint(start.UnixNano())), archive.WriterConfig{
			// A small buffer lets kills leave incomplete records.
			Label: archive.Label{Host: "www", PID: int32(os.Getpid()), Start: pcp.TimestampOf(start)}, IndexBytes: 4000, BufferBytes: 100,
		})
		if err != nil {
			return err
		}
		for i := range 60 {
			id := pcp.NewPMID(60, 1, i)
			if err := w.Desc(pcp.Desc{PMID: id, InDom: pcp.InDomNull, Type: pcp.TypeString}, fmt.Sprint("a.b", i)); err != nil {
				return err
			}
			res := &pcp.Result{Time: pcp.TimestampOf(time.Now())}
			res.AddSet(id)
			res.Add(pcp.StringValue(strings.Repeat(fmt.Sprint(n, " "), 300)))
			n++
			if err := errors.Join(w.WriteResult(res), w.Flush()); err != nil {
				return err
			}
			if i%20 == 19 {
				if err := w.NewVolume(); err != nil {
					return err
				}
			}
			select {
			case <-quit:
				if err := w.Close(); err != nil {
					return err
				}
				s.Drain(time.Minute)
				if st := s.Status(); st.Waiting > 0 || st.Refused > 0 || st.Lost > 0 {
					return fmt.Errorf("at the end: %+v", st)
				}
				return nil
			case <-time.After(time.Millisecond):
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
}

// A part is a process of TestMain.
type part struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
	out   bytes.Buffer
}

func startPart(t *testing.T, kind string, args ...string) *part {
	t.Helper()
	p := &part{cmd: exec.Command(os.Args[0], args...)}
	p.cmd.Env = append(os.Environ(), "PUSH_TEST_PART="+kind)
	p.cmd.Stderr = &p.out
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
	if kind == "receiver" {
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatalf("no receiver: %v\n%s", err, &p.out)
		}
		p.addr = strings.TrimSpace(line)
	}
	return p
}

func (p *part) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// TestSenderKills kills a host that records and pushes, and its receiver, at random times. In the end the receiver has
// every complete record that the host wrote, once, in archives with the same bytes.
func TestSenderKills(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	receiver := startPart(t, "receiver", "127.0.0.1:0", to)
	address := receiver.addr
	host := startPart(t, "host", dir, "http://"+address)
	kills := longtest.N(8, 30)
	for n := range kills {
		time.Sleep(time.Duration(20+rand.IntN(180)) * time.Millisecond)
		if n%2 == 0 {
			host.kill()
			host = startPart(t, "host", dir, "http://"+address)
			continue
		}
		receiver.kill()
		time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
		receiver = startPart(t, "receiver", address, to)
	}
	time.Sleep(100 * time.Millisecond)
	host.stdin.Close()
	if err := host.cmd.Wait(); err != nil {
		t.Fatalf("the host: %v\n%s", err, &host.out)
	}
	receiver.kill()
	at, bytes := verify(t, dir, filepath.Join(to, "www"))
	t.Logf("%d kills, %d archives, %d bytes: 0 lost, 0 twice", kills, at, bytes)
}

// verify compares the archives of a host with those at the receiver, file by file. The host's may end with an
// incomplete record.
func verify(t *testing.T, dir, pushed string) (count int, total int64) {
	t.Helper()
	byLabel := map[archive.Label]string{}
	for _, base := range bases(t, pushed) {
		l := labelOf(t, base)
		if other, ok := byLabel[l]; ok {
			t.Errorf("%s and %s are the same archive", base, other)
		}
		byLabel[l] = base
	}
	for _, base := range bases(t, dir) {
		if st, err := os.Stat(base + ".meta"); err == nil && st.Size() == 0 {
			continue // killed before its label was written
		}
		there, ok := byLabel[labelOf(t, base)]
		if !ok {
			t.Errorf("%s has not arrived", base)
			continue
		}
		delete(byLabel, labelOf(t, base))
		count++
		files, err := archive.FindFiles(base)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files.All() {
			_, kind, _ := archive.BaseName(path)
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(there + "." + kind)
			n := archive.LabelSize(archive.Version3)
			if errors.Is(err, fs.ErrNotExist) && len(want) <= n+incomplete(kind, want[min(n, len(want)):]) {
				continue // without a record
			}
			if err != nil || len(want) < n || len(got) < n {
				t.Errorf("%s: %d bytes, %d at the host, %v", path, len(got), len(want), err)
				continue
			}
			want, got = want[n:], got[n:]
			if whole := want[:len(want)-incomplete(kind, want)]; !bytes.Equal(got, whole) {
				t.Errorf("%s: %d bytes arrived, want %d", path, len(got), len(whole))
			}
			total += int64(len(got))
		}
	}
	for _, base := range byLabel {
		t.Errorf("%s is not an archive of the host", base)
	}
	return count, total
}

func labelOf(t *testing.T, base string) archive.Label {
	t.Helper()
	b, err := os.ReadFile(base + ".meta")
	if err != nil {
		t.Fatal(err)
	}
	l, err := archive.DecodeLabel(b)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// incomplete returns the number of bytes after the last complete record.
func incomplete(kind string, b []byte) int {
	if kind == "index" {
		return len(b) % len(archive.IndexEntry{}.Append(nil, archive.Version3))
	}
	for len(b) >= 4 {
		n := int(binary.BigEndian.Uint32(b))
		if n < 8 || n > len(b) {
			break
		}
		b = b[n:]
	}
	return len(b)
}

// A nat is a proxy like a router between hosts and a receiver. Hosts connect through it and share its address, and it
// forgets idle connections without a word.
type nat struct {
	ln     net.Listener
	to     string
	idle   time.Duration
	forgot atomic.Int32
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func startNAT(t *testing.T, to string, idle time.Duration) *nat {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &nat{ln: ln, to: to, idle: idle}
	n.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			n.wg.Go(func() { n.forward(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		n.mu.Lock()
		for _, c := range n.conns {
			c.Close()
		}
		n.mu.Unlock()
		n.wg.Wait()
	})
	return n
}

// forward copies until the connection is idle. Then both sides stay open, and get nothing more.
func (n *nat) forward(inside net.Conn) {
	outside, err := net.Dial("tcp", n.to)
	if err != nil {
		inside.Close()
		return
	}
	n.mu.Lock()
	n.conns = append(n.conns, inside, outside)
	n.mu.Unlock()
	var forgotten atomic.Bool
	timer := time.AfterFunc(n.idle, func() {
		forgotten.Store(true)
		n.forgot.Add(1)
	})
	copy := func(to, from net.Conn) {
		b := make([]byte, 32<<10)
		for {
			k, err := from.Read(b)
			if err != nil {
				if !forgotten.Load() {
					to.Close()
				}
				return
			}
			if forgotten.Load() {
				continue
			}
			timer.Reset(n.idle)
			if _, err := to.Write(b[:k]); err != nil {
				return
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { copy(outside, inside) })
	wg.Go(func() { copy(inside, outside) })
	wg.Wait()
	timer.Stop()
}

// TestSenderNAT has hosts behind one address, whose connections are forgotten when they are idle. The receiver
// cannot connect to them.
func TestSenderNAT(t *testing.T) {
	to := t.TempDir()
	receiver := startPart(t, "receiver", "127.0.0.1:0", to)
	n := startNAT(t, receiver.addr, 200*time.Millisecond)
	var dirs []string
	var writers []*writer
	var senders []*push.Sender
	for i := range 3 {
		dir, host := t.TempDir(), fmt.Sprint("h", i)
		makeDays(t, dir, host, 3)
		dirs = append(dirs, dir)
		w := newDay(t, dir, host, 3)
		writers = append(writers, w)
		senders = append(senders, send(t, dir, host, nil, "http://"+n.ln.Addr().String()))
	}
	for range 3 {
		for _, w := range writers {
			w.add(2)
		}
		time.Sleep(400 * time.Millisecond) // longer than the router remembers
	}
	for i, s := range senders {
		if err := writers[i].w.Close(); err != nil {
			t.Fatal(err)
		}
		awaitArchives(t, s, 4)
		s.Drain(time.Minute)
		sameArchives(t, dirs[i], filepath.Join(to, fmt.Sprint("h", i)))
	}
	if n.forgot.Load() == 0 {
		t.Error("no connection was forgotten")
	}
	t.Logf("%d connections were forgotten", n.forgot.Load())
}

// TestReceiverCost has 200 hosts push records of 300 values, and measures their receiver: processor time for a record, and memory.
func TestReceiverCost(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("PCP_TEST_LONG is not set")
	}
	const hosts, records, metrics, instances = 200, 40, 50, 6
	to := t.TempDir()
	receiver := startPart(t, "receiver", "127.0.0.1:0", to)
	pid := receiver.cmd.Process.Pid
	idle := usage(t, pid)
	var writers []*archive.Writer
	var senders []*push.Sender
	for i := range hosts {
		dir, host := t.TempDir(), fmt.Sprint("h", i)
		w, err := archive.Create(filepath.Join(dir, "a"), archive.WriterConfig{Label: archive.Label{Host: host, PID: 7, Start: pcp.Timestamp{Sec: startOf}}})
		if err != nil {
			t.Fatal(err)
		}
		indom := pcp.NewInDom(60, 1)
		var list []pcp.Instance
		for inst := range instances {
			list = append(list, pcp.Instance{Inst: int32(inst), Name: fmt.Sprint("disk", inst)})
		}
		if err := w.InDom(pcp.Timestamp{Sec: startOf}, indom, list); err != nil {
			t.Fatal(err)
		}
		for m := range metrics {
			if err := w.Desc(pcp.Desc{PMID: pcp.NewPMID(60, 1, m), InDom: indom, Type: pcp.TypeU64, Sem: pcp.SemCounter}, fmt.Sprint("disk.dev.m", m)); err != nil {
				t.Fatal(err)
			}
		}
		writers = append(writers, w)
		cfg := push.SenderConfig{Dir: dir, Host: host, Receivers: []push.Config{{URL: "http://" + receiver.addr}}, Poll: 300 * time.Millisecond}
		s, err := push.NewSender(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		senders = append(senders, s)
	}
	var warm resources
	for n := range records {
		if n == records/4 {
			time.Sleep(time.Second)
			warm = usage(t, pid)
		}
		for _, w := range writers {
			res := &pcp.Result{Time: pcp.Timestamp{Sec: startOf + 10*int64(n)}}
			for m := range metrics {
				res.AddSet(pcp.NewPMID(60, 1, m))
				for inst := range instances {
					res.Add(pcp.Uint64Value(uint64(n * m)).WithInst(int32(inst)))
				}
			}
			if err := errors.Join(w.WriteResult(res), w.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(700 * time.Millisecond) // each record is pushed alone
	}
	for i, s := range senders {
		if err := writers[i].Close(); err != nil {
			t.Fatal(err)
		}
		s.Drain(time.Minute)
		if st := s.Status(); st.Archives != 1 {
			t.Errorf("host %d: %+v", i, st)
		}
	}
	end := usage(t, pid)
	pushed := float64(hosts * (records - records/4))
	each := (end.cpu - warm.cpu).Seconds() / pushed
	t.Logf("%d hosts: %.2f ms of processor time a record, %.3f %% of a processor for a host that records every 10 s; memory %.1f MB idle, %.1f MB with all, %.0f KB a host",
		hosts, 1000*each, each*10, float64(idle.rss)/(1<<20), float64(end.rss)/(1<<20), float64(end.rss-idle.rss)/hosts/1024)
	if per := (end.rss - idle.rss) / hosts; per > 1<<20 {
		t.Errorf("%d bytes of memory for a host", per)
	}
}

// resources are those of a process.
type resources struct {
	cpu time.Duration
	rss int64
}

func usage(t *testing.T, pid int) (r resources) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	var user, system, pages int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12]+" "+fields[21], &user, &system, &pages); err != nil {
		t.Fatal(err)
	}
	return resources{time.Duration(user+system) * 10 * time.Millisecond, pages * int64(os.Getpagesize())}
}

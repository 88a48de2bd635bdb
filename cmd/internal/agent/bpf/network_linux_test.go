package bpf

import (
	"io"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/await"
)

// snmp returns a count of TCP in /proc/net/snmp.
func snmp(t *testing.T, name string) uint64 {
	t.Helper()
	var head []string
	for line := range strings.Lines(await.File(t, "/proc/net/snmp")) {
		f := strings.Fields(line)
		if f[0] != "Tcp:" {
			continue
		}
		if head == nil {
			head = f
			continue
		}
		for i, h := range head {
			if h == name {
				n, err := strconv.ParseUint(f[i], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
	}
	t.Fatalf("/proc/net/snmp has no %s", name)
	return 0
}

// TestConnections makes connections on the loopback device, and compares their counts and bytes.
func TestConnections(t *testing.T) {
	a := start(t, "tcpconnlat", "netatop")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	echoed := make(chan struct{})
	go func() {
		defer close(echoed)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) // without splice(2), whose bytes are not counted
			c.Close()
		}
	}()
	sum := func(metric string) (n uint64) {
		values := fetch(t, a, metric)
		for inst := range values {
			n += number(t, values, inst)
		}
		return n
	}
	pid := strconv.Itoa(os.Getpid())
	own := func(metric string) uint64 { return number(t, fetch(t, a, metric), pid) }
	const n, size = 40, 100_000
	opens0, made0, lived0 := snmp(t, "ActiveOpens"), sum("bpf.tcp.connect.latency"), sum("bpf.tcp.life.latency")
	sent0, received0, calls0 := own("bpf.proc.net.tcp.send.bytes"), own("bpf.proc.net.tcp.recv.bytes"), own("bpf.proc.net.tcp.send.packets")
	local := make(map[string]bool)
	for range n {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(c.LocalAddr().String())
		local[port] = true
		go func() {
			c.Write(make([]byte, size))
			c.(*net.TCPConn).CloseWrite()
		}()
		if got, err := io.Copy(io.Discard, c); err != nil || got != size {
			t.Fatalf("%d bytes, %v", got, err)
		}
		c.Close()
	}
	await.Until(t, "the connections are counted as closed", func() bool { return sum("bpf.tcp.life.latency") >= lived0+n })
	made, opens := sum("bpf.tcp.connect.latency")-made0, snmp(t, "ActiveOpens")-opens0
	t.Logf("%d connections made, and %d by /proc/net/snmp", made, opens)
	if made < n || made > opens {
		t.Errorf("%d connections were counted, want %d to %d", made, n, opens)
	}
	// Each byte is sent twice by this process, which is both sides.
	if got := own("bpf.proc.net.tcp.send.bytes") - sent0; got != 2*n*size {
		t.Errorf("%d bytes were sent, want %d", got, 2*n*size)
	}
	if got := own("bpf.proc.net.tcp.recv.bytes") - received0; got != 2*n*size {
		t.Errorf("%d bytes were received, want %d", got, 2*n*size)
	}
	if got := own("bpf.proc.net.tcp.send.packets") - calls0; got < 2*n {
		t.Errorf("%d calls have sent, want %d or more", got, 2*n)
	}
	_, other, _ := net.SplitHostPort(ln.Addr().String())
	wants := map[string]string{"comm": "bpf.test", "saddr": "127.0.0.1", "daddr": "127.0.0.1", "dport": other, "ipversion": "4"}
	last := make(map[string]map[string]string)
	// Connections of other programs move the list between two fetches.
	await.Until(t, "the list of the last connections stays as it is", func() bool {
		before := fetch(t, a, "bpf.tcpconnlat.lport")
		last["pid"] = fetch(t, a, "bpf.tcpconnlat.pid")
		for metric := range wants {
			last[metric] = fetch(t, a, "bpf.tcpconnlat."+metric)
		}
		last["lport"] = fetch(t, a, "bpf.tcpconnlat.lport")
		return maps.Equal(before, last["lport"])
	})
	found := false
	for inst, p := range last["lport"] {
		if !local[p] || last["pid"][inst] != pid {
			continue
		}
		found = true
		for metric, want := range wants {
			if got := last[metric][inst]; got != want {
				t.Errorf("bpf.tcpconnlat.%s is %q, want %q", metric, got, want)
			}
		}
	}
	if !found {
		t.Error("none of the connections is among the last ones")
	}

	ln.Close()
	<-echoed
	resets0 := snmp(t, "OutRsts")
	failed0, sentResets0 := sum("bpf.tcp.connect.failed"), sum("bpf.tcp.resets.sent")
	if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		t.Fatal("a port on which nothing listens accepts")
	}
	if got := sum("bpf.tcp.connect.failed") - failed0; got < 1 {
		t.Errorf("%d connections failed, want 1 or more", got)
	}
	if got, kernel := sum("bpf.tcp.resets.sent")-sentResets0, snmp(t, "OutRsts")-resets0; got < 1 || got > kernel {
		t.Errorf("%d resets were sent, want 1 to %d", got, kernel)
	}
}

// TestDatagrams counts datagrams of this process.
func TestDatagrams(t *testing.T) {
	a := start(t, "netatop")
	in, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := net.Dial("udp", in.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	pid := strconv.Itoa(os.Getpid())
	const n, size = 100, 321
	buf := make([]byte, size)
	for range n {
		if _, err := out.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, _, err := in.ReadFrom(buf); err != nil {
			t.Fatal(err)
		}
	}
	for metric, want := range map[string]uint64{"send.packets": n, "send.bytes": n * size, "recv.packets": n, "recv.bytes": n * size} {
		if got := number(t, fetch(t, a, "bpf.proc.net.udp."+metric), pid); got != want {
			t.Errorf("bpf.proc.net.udp.%s is %d, want %d", metric, got, want)
		}
	}
}

// softInterrupts returns the kernel's own counts.
func softInterrupts(t *testing.T) map[string]uint64 {
	t.Helper()
	counts := make(map[string]uint64)
	for line := range strings.Lines(await.File(t, "/proc/softirqs")) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		for _, f := range strings.Fields(rest) {
			if n, err := strconv.ParseUint(f, 10, 64); ok && err == nil {
				counts[name] += n
			}
		}
	}
	return counts
}

// TestSoftirqs compares the counts with those of /proc/softirqs.
func TestSoftirqs(t *testing.T) {
	a := start(t, "softirqs")
	before, counted0 := softInterrupts(t), fetch(t, a, "bpf.softirq.count")
	inner0 := softInterrupts(t)
	await.Until(t, "there are soft interrupts", func() bool { return softInterrupts(t)["TIMER"] > before["TIMER"]+50 })
	inner := softInterrupts(t)
	counted, time := fetch(t, a, "bpf.softirq.count"), fetch(t, a, "bpf.softirq.time")
	after := softInterrupts(t)
	const slack = 16 // those that run while the counts are read, on each processor
	for _, name := range softirqNames() {
		least, most := inner[name]-inner0[name], after[name]-before[name]
		n := number(t, counted, name) - number(t, counted0, name)
		if n+slack < least || n > most+slack {
			t.Errorf("%s: %d were counted, and /proc/softirqs has %d to %d", name, n, least, most)
		}
		if n > 100 && number(t, time, name) == 0 {
			t.Errorf("%s: %d took no time", name, n)
		}
	}
	if len(fetch(t, a, "bpf.softirq.latency")) == 0 {
		t.Error("there is no histogram")
	}
}

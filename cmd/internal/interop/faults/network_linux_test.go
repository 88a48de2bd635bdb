package faults

import (
	"bytes"
	"context"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/nsenter"
)

// A netns is a network of its own, with a loopback interface through which all of a site passes.
type netns struct {
	t   *testing.T
	cmd *exec.Cmd // holds it
}

// newNetwork makes one.
func newNetwork(t *testing.T) *netns {
	t.Helper()
	for _, tool := range []string{"unshare", "nsenter", "ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: a network that can be cut needs %s", tool)
		}
	}
	if out, err := exec.Command("unshare", "--net", "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no network name space can be made here: %v: %s", err, out)
	}
	n := &netns{t: t, cmd: exec.Command("unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 3600")}
	out, err := n.cmd.StdoutPipe()
	if err == nil {
		err = launch(n.cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.cmd.Process.Kill()
		n.cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 2)); err != nil {
		t.Fatalf("no network: %v", err)
	}
	return n
}

// tc changes how packets pass the loopback interface.
func (n *netns) tc(args ...string) error {
	cmd := exec.Command("tc", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := nsenter.Run(n.cmd.Process.Pid, nsenter.Net, cmd.Start)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		n.t.Logf("tc %s: %v: %s", strings.Join(args, " "), err, &out)
	}
	return err
}

// cut drops all packets: neither side hears of it.
func (n *netns) cut() {
	n.t.Helper()
	if n.tc("qdisc", "add", "dev", "lo", "root", "pfifo", "limit", "0") != nil {
		n.t.Skip("SKIPPED: this kernel cannot drop packets (tc pfifo)")
	}
}

// slow delays and loses packets, or, if the kernel cannot, limits the rate.
func (n *netns) slow() {
	n.t.Helper()
	if n.tc("qdisc", "add", "dev", "lo", "root", "netem", "delay", "150ms", "50ms", "loss", "5%") == nil {
		return
	}
	if n.tc("qdisc", "add", "dev", "lo", "root", "tbf", "rate", "64kbit", "burst", "1600", "latency", "1s") != nil {
		n.t.Skip("SKIPPED: this kernel cannot slow packets down (tc netem, tbf)")
	}
}

// mend lets all packets pass.
func (n *netns) mend() {
	n.t.Helper()
	if err := n.tc("qdisc", "del", "dev", "lo", "root"); err != nil {
		n.t.Fatal(err)
	}
}

// dial connects to a server in the network of the site.
func (s *site) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	var d net.Dialer
	if s.ns == nil {
		return d.DialContext(ctx, network, address)
	}
	err = nsenter.Run(s.ns.cmd.Process.Pid, nsenter.Net, func() error {
		conn, err = d.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// listen listens there.
func (s *site) listen() (ln net.Listener, err error) {
	if s.ns == nil {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	err = nsenter.Run(s.ns.cmd.Process.Pid, nsenter.Net, func() error {
		ln, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	})
	return ln, err
}

package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/pmapi"
)

var writeMe = pcp.NewPMID(29, 0, 14) // sample.long.write_me

// patience is the time limit for each action of a collector, on a busy machine.
const patience = 2 * time.Minute

// A verdict is the collector's response to a client. Down means that the collector
// did not start.
type verdict struct {
	Down, Refused            bool
	Dial, Name, Fetch, Store pcp.Error
}

func (v verdict) String() string {
	say := func(e pcp.Error) string {
		if e == 0 {
			return "ok"
		}
		return fmt.Sprintf("%q", e.Error())
	}
	switch {
	case v.Down:
		return "no collector"
	case v.Refused:
		return "refused with " + say(v.Dial)
	}
	return "name " + say(v.Name) + ", fetch " + say(v.Fetch) + ", store " + say(v.Store)
}

// may returns the rights of a client, bit by bit.
func (v verdict) may() (bits int) {
	if v.Down || v.Refused {
		return 0
	}
	for i, e := range []pcp.Error{v.Name, v.Fetch, v.Store} {
		if e == 0 {
			bits |= 1 << i
		}
	}
	return bits
}

// An orderly connection waits at its end until the collector has ended it, too: by then
// the collector does not count the client any more.
type orderly struct{ net.Conn }

func (c orderly) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		c.SetReadDeadline(time.Now().Add(patience))
		io.Copy(io.Discard, c.Conn)
	}
	return c.Conn.Close()
}

// asUser calls f in a thread whose effective user and group are others.
func asUser(uid, gid int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const keep = ^uintptr(0)
	set := func(call uintptr, id int) {
		if _, _, errno := syscall.RawSyscall(call, keep, uintptr(id), keep); errno != 0 {
			panic(fmt.Sprintf("become user %d of group %d: %v", uid, gid, errno))
		}
	}
	set(unix.SYS_SETRESGID, gid)
	set(unix.SYS_SETRESUID, uid)
	defer func() {
		set(unix.SYS_SETRESUID, 0)
		set(unix.SYS_SETRESGID, 0)
	}()
	return f()
}

// connect makes the connection of a visit. It waits for a collector that is still starting.
func (p *program) connect(v *visit) (conn net.Conn, err error) {
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		if v.unix {
			who := users[v.user]
			err = asUser(who.uid, who.gid, func() error {
				conn, err = net.Dial("unix", p.socket)
				return err
			})
		} else {
			ip := netip.MustParseAddr(v.from)
			d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)), KeepAlive: -1}
			conn, err = d.Dial("tcp", net.JoinHostPort(v.from, p.port))
		}
		// The real one resets connections that it refuses, at times before connect returns.
		starting := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) ||
			errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ECONNRESET)
		if !starting || p.ended() || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return orderly{conn}, nil
}

// visit has a client connect and try all rights.
func (p *program) visit(t *testing.T, v *visit) (verdict, *pmapi.Context) {
	t.Helper()
	var broken error
	d := pmapi.Dialer{
		Config: config.New(func(string) string { return "" }), ConnectTimeout: patience, RequestTimeout: patience,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			conn, err := p.connect(v)
			broken = err
			return conn, err
		},
	}
	spec := "unix:" + p.socket
	if !v.unix {
		spec = "pcp://" + v.from
		if strings.Contains(v.from, ":") {
			spec = "pcp://[" + v.from + "]"
		}
	}
	if v.login != "" {
		password, method := passwordOf(v.login), "plain"
		if v.wrong {
			password = "wrong"
		}
		if v.scram {
			method = "scram-sha-256"
		}
		spec += "?username=" + v.login + "&password=" + url.QueryEscape(password) + "&method=" + method
	}
	c, err := d.Dial(t.Context(), spec)
	if broken != nil {
		t.Fatalf("%s: %s: %v\n%s", p.path, v, broken, p.log())
	}
	if err != nil {
		return verdict{Refused: true, Dial: pcp.Code(err)}, nil
	}
	var got verdict
	_, err = c.LookupName(t.Context(), "sample.long.write_me")
	got.Name = pcp.Code(err)
	_, err = c.Fetch(t.Context(), []pcp.PMID{writeMe})
	got.Fetch = pcp.Code(err)
	var res pcp.Result
	res.AddSet(writeMe)
	res.Add(pcp.Int32Value(1))
	got.Store = pcp.Code(c.Store(t.Context(), &res))
	if got.may() == 0 {
		// Whether a client gets the error at the connection or afterwards depends on the first
		// message.
		got = verdict{Refused: true, Dial: got.Name}
	}
	return got, c
}

// run has all clients of a section connect, in order.
func (p *program) run(t *testing.T, section string, visits []*visit) []verdict {
	t.Helper()
	p.start(t, section)
	defer p.stop(t)
	if !p.up(t) {
		return nil
	}
	var verdicts []verdict
	contexts := make([]*pmapi.Context, len(visits))
	leave := func(i int) {
		if contexts[i] != nil {
			contexts[i].Close()
			contexts[i] = nil
		}
	}
	for i, v := range visits {
		if v.ends >= 0 {
			leave(v.ends)
		}
		got, c := p.visit(t, v)
		verdicts = append(verdicts, got)
		contexts[i] = c
		if !v.stays {
			leave(i)
		}
	}
	for i := range contexts {
		leave(i)
	}
	return verdicts
}

// TestSections compares our collector with the real one, both started afresh for each section.
func TestSections(t *testing.T) {
	if outside(t) {
		return
	}
	seed := longtest.Seed(t)
	sasl := saslDir(t)
	os.Chmod(sasl, 0o755)
	ours, real := newProgram(t, false, sasl), newProgram(t, true, sasl)
	n := longtest.N(40, 1000)
	rows, served, refused, down := 0, 0, 0, 0
	known := map[string]int{}
	only := os.Getenv("PCP_ACCESS_SECTION") // the number of one to look at
	for i := range n {
		if only != "" && only != strconv.Itoa(i) {
			continue
		}
		m := &sectionMaker{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		section := m.section()
		visits := m.visits()
		host := hostNames[i%len(hostNames)]
		if err := unix.Sethostname([]byte(host)); err != nil {
			t.Fatal(err)
		}
		got, want := ours.run(t, section, visits), real.run(t, section, visits)
		if (got == nil) != (want == nil) {
			t.Errorf("section %d, host %s: the real collector starts: %v, ours: %v\n%s", i, host, want != nil, got != nil, section)
			continue
		}
		if want == nil {
			down++
			continue
		}
		if only != "" {
			for k, v := range visits {
				t.Logf("client %d %s\n  real %s\n  ours %s", k, v, want[k], got[k])
			}
			t.Logf("host %s\n%s\nreal:\n%s\nours:\n%s", host, section, real.log(), ours.log())
		}
		rows += len(visits)
		var present []*visit // whom ours has let in
		for k, v := range visits {
			if want[k].may() != 0 {
				served++
			} else {
				refused++
			}
			if v.ends >= 0 {
				present = slices.DeleteFunc(present, func(p *visit) bool { return p == visits[v.ends] })
			}
			if got[k] != want[k] {
				if why := explain(got[k], want[k], m.meant, v, host, present); why != "" {
					known[why]++
				} else {
					kind := "differs"
					if got[k].may()&^want[k].may() != 0 {
						kind = "OURS SERVES"
					}
					t.Errorf("section %d, host %s, client %d %s: %s\n  real %s\n  ours %s\n%s", i, host, k, v, kind, want[k], got[k], section)
				}
			}
			if v.stays && got[k].may() != 0 {
				present = append(present, v)
			}
		}
	}
	t.Logf("%d sections, of which both refuse %d; %d clients: at the real one %d served, %d refused", n, down, rows, served, refused)
	for why, n := range known {
		t.Logf("%5d %s", n, why)
	}
	if down > n/2 || served < rows/5 || refused < rows/5 {
		t.Error("the sections do not show much")
	}
}

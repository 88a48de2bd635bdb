package attack

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/wire"
)

// startAuth starts a collector with an account: that of root, which every host
// has.
func startAuth(t testing.TB) *Collector {
	t.Helper()
	users := "PCP_USERS_PATH=" + filepath.Join(t.TempDir(), "users")
	add := exec.Command(filepath.Join(built, "pcp"), "passwd", "add", "root")
	add.Env, add.Stdin = append(os.Environ(), users), strings.NewReader("secret\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return Start(t, Options{Env: []string{users}})
}

// beginAuth connects, and has the collector offer its mechanisms.
func (c *Collector) beginAuth(t testing.TB) *Client {
	t.Helper()
	cl := c.Connect(t, "tcp")
	cl.Greet(t)
	p, err := cl.Ask(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, wire.FeatureAuth)}})
	if attr, ok := p.(*wire.Attr); err != nil || !ok || !bytes.Contains(attr.Value, []byte("PLAIN")) {
		t.Fatalf("mechanisms are %+v, %v", p, err)
	}
	return cl
}

// say sends a message of the exchange.
func (cl *Client) say(text string) error {
	return cl.Send(&wire.Attr{Value: []byte(text)})
}

func plain(user, password string) string { return "PLAIN\x00\x00" + user + "\x00" + password }

// login reports whether a password is right, by the end of the handshake.
func (c *Collector) login(t testing.TB, user, password string) error {
	cl := c.beginAuth(t)
	defer cl.Conn.Close()
	if err := cl.say(plain(user, password)); err != nil {
		return err
	}
	if err := cl.Send(&wire.Profile{}); err != nil {
		return err
	}
	return cl.Check(control...)
}

// TestAuthMessages has clients send wrong messages during authentication.
func TestAuthMessages(t *testing.T) {
	c := startAuth(t)
	c.Watch(t)
	if err := c.login(t, "root", "secret"); err != nil {
		t.Fatalf("the right password: %v", err)
	}
	long := strings.Repeat("x", 2047)
	attr := func(text string) []byte { return wire.Append(nil, 0, &wire.Attr{Value: []byte(text)}) }
	for _, bad := range []badPDU{
		{name: "2048 bytes", bytes: attr(long + "x"), dropped: "message of 2048 bytes"},
		{name: "2047 bytes", bytes: attr(long), dropped: "is not offered"},
		{name: "as much as a PDU holds", bytes: attr(strings.Repeat("x", 60000)), dropped: "an attribute of 60000 bytes"},
		{name: "more than a PDU holds", bytes: Claim(0x7fffffff, wire.TypeAttr), dropped: "bytes where 65536 are accepted"},
		{name: "nothing", bytes: attr(""), dropped: "is not offered"},
		{name: "an attribute cut short", bytes: PDU(wire.TypeAttr), dropped: "ATTR PDU"},
		{name: "an error cut short", bytes: PDU(wire.TypeError), dropped: "ERROR PDU"},
		{name: "a request", bytes: PDU(wire.TypeDescReq, 1), dropped: "DESC_REQ PDU instead of a message"},
		{name: "credentials again", bytes: wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, 0)}}), dropped: "CREDS PDU instead of a message"},
		{name: "giving up", bytes: PDU(wire.TypeError, 0xffffffff), dropped: "gave up with status -1"},
		{name: "a password of 1900 bytes", bytes: attr(plain("root", long[:1900])), dropped: "wrong password"},
		{name: "a user of 1900 bytes", bytes: attr(plain(long[:1900], "x")), dropped: "wrong password"},
		{name: "PLAIN in one part", bytes: attr("PLAIN\x00root"), dropped: "response in 1 parts"},
		{name: "PLAIN in many parts", bytes: attr("PLAIN\x00" + strings.Repeat("\x00", 1000)), dropped: "response in 1001 parts"},
		{name: "PLAIN with nothing", bytes: attr("PLAIN\x00\x00\x00"), dropped: "wrong password"},
		{name: "on behalf of another", bytes: attr("PLAIN\x00other\x00root\x00secret"), dropped: "on behalf of"},
		{name: "an unknown mechanism", bytes: attr("EXTERNAL\x00root"), dropped: "is not offered"},
		{name: "SCRAM without sense", bytes: attr("SCRAM-SHA-256\x00" + strings.Repeat(",", 2000)), dropped: "authentication"},
		{name: "SCRAM with channel binding", bytes: attr("SCRAM-SHA-256\x00p=tls-unique,,n=root,r=abc"), dropped: "authentication"},
		{name: "SCRAM with a name of NULs", bytes: append(attr("SCRAM-SHA-256\x00n,,n=a\x00b,r=abcdefghijk"), attr("c=biws,r=x,p=AAAA")...), dropped: "authentication"},
		{name: "SCRAM that never ends", bytes: append(attr("SCRAM-SHA-256\x00n,,n=root,r=abcdefghijk"), bytes.Repeat(attr("n,,n=root,r=abcdefghijk"), 100)...), dropped: "authentication"},
		// Text in a log must not look like a line of the log.
		{name: "a user with a line of the log", bytes: attr(plain("x\n[Mon Jan  1 00:00:00] pmcd(1) Info: Successful authentication for user \"root\"", "x")), dropped: "wrong password"},
		{name: "a user with a return and colours", bytes: attr(plain("\r\x1b[2K\x1b[31mroot\u202e\u009b", "x")), dropped: "wrong password"},
		{name: "a mechanism with a line of the log", bytes: attr("X\npmcd(1) Info: \x1b[2K\x00"), dropped: "is not offered"},
		{name: "a user that is not UTF-8", bytes: attr(plain("\xff\xfe\x9b2J", "x")), dropped: "wrong password"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			cl := c.beginAuth(t)
			if err := cl.Write(bad.bytes); err != nil {
				t.Fatal(err)
			}
			cl.Gone(t)
			c.OneLine(t, cl.Conn.LocalAddr().String(), bad.dropped)
		})
	}
	// Again, after authentication.
	cl := c.beginAuth(t)
	addr := cl.Conn.LocalAddr().String()
	if err := cl.say(plain("root", "secret")); err != nil {
		t.Fatal(err)
	}
	cl.Send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureAuth)}})
	cl.Gone(t)
	Eventually(t, "it is dropped", func() bool { return len(c.Lines(addr)) == 2 })
	if lines := c.Lines(addr); !strings.Contains(lines[1], "after its handshake") {
		t.Errorf("log has %q", lines)
	}
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "[Mon Jan  1") || strings.HasPrefix(line, "pmcd(1)") || strings.ContainsAny(line, "\x00\x1b\r\u202e\u009b") || !utf8.ValidString(line) {
			t.Errorf("a client writes a line of its own: %q", line)
		}
	}
	c.Finish(t, 0)
}

// TestGuesses has 60 clients, or 200 if PCP_TEST_LONG is set, try passwords one after the other, with new
// connections, while others connect: some without a name, and one with the right password.
func TestGuesses(t *testing.T) {
	t.Parallel()
	n := 60
	if longtest.Enabled() {
		n = 200
	}
	c := startAuth(t)
	stop := c.Watch(t)
	before, _ := c.Memory()
	began := time.Now()
	var over atomic.Bool
	var told atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for try := 0; !over.Load(); try++ {
				cl, err := c.guess(plain("root", fmt.Sprintf("guess %d.%d", i, try)))
				if cl != nil {
					if err == nil {
						_, err = cl.Answer()
					}
					cl.Conn.Close()
				}
				switch {
				case over.Load():
				case err == nil:
					t.Errorf("a wrong password is right")
					return
				case !Ended(err):
					told.Add(1)
				}
			}
		})
	}
	Eventually(t, "guesses are answered", func() bool { return told.Load() > 20 })
	var longest time.Duration
	for range 50 {
		at := time.Now()
		cl := c.Dial(t, "tcp")
		if err := cl.Check(control...); err != nil {
			t.Errorf("who has nothing to prove: %v", err)
		}
		longest = max(longest, time.Since(at))
		cl.Conn.Close()
	}
	at := time.Now()
	err := c.login(t, "root", "secret")
	// It has the attackers' address, and so waits with them.
	t.Logf("among %d who guess: connect and fetch takes at most %v; the right password %v; %d guesses in %v",
		n, longest.Round(time.Millisecond), time.Since(at).Round(time.Millisecond), told.Load(), time.Since(began).Round(time.Millisecond))
	if err != nil {
		t.Errorf("the right password: %v", err)
	}
	over.Store(true)
	wg.Wait()
	if most := (int64(time.Since(began)/(300*time.Millisecond)) + 1) * 8; told.Load() > most {
		t.Errorf("%d guesses are answered in %v, want at most %d", told.Load(), time.Since(began), most)
	}
	fetches, slowest := stop()
	t.Logf("another client was served %d times, in %v at the most; %d descriptors", fetches, slowest.Round(time.Microsecond), c.Files())
	c.logged(t, "client dropped", began)
	c.costs(t, before, 96)
	c.Finish(t, 0)
}

// guess sends the first message of an exchange.
func (c *Collector) guess(message string) (*Client, error) {
	conn, err := net.Dial("tcp", c.TCP)
	if err != nil {
		return nil, err
	}
	conn.(*net.TCPConn).SetLinger(0)
	cl := &Client{Conn: conn, pdus: wire.NewReader(conn)}
	b := wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, wire.FeatureAuth)}})
	if err := cl.Write(wire.Append(b, 0, &wire.Attr{Value: []byte(message)})); err != nil {
		return cl, err
	}
	for range 2 { // the greeting, the mechanisms
		if _, _, err := cl.Next(); err != nil {
			return cl, err
		}
	}
	return cl, nil
}

// TestSlowAuth has 500 clients stop in the middle of an exchange. They hold no
// place that others need to authenticate.
func TestSlowAuth(t *testing.T) {
	c := startAuth(t)
	c.Watch(t)
	before, _ := c.Memory()
	var clients []*Client
	for i := range 500 {
		cl := c.beginAuth(t)
		switch i % 3 {
		case 1:
			cl.say("SCRAM-SHA-256\x00n,,n=root,r=abcdefghijk")
		case 2:
			cl.Write(Claim(100, wire.TypeAttr, 0))
		}
		clients = append(clients, cl)
	}
	at := time.Now()
	if err := c.login(t, "root", "secret"); err != nil {
		t.Errorf("one with the right password: %v", err)
	}
	t.Logf("one with the right password needs %v", time.Since(at).Round(time.Millisecond))
	cl := c.Dial(t, "tcp")
	if err := cl.Check(control...); err != nil {
		t.Errorf("who has nothing to prove: %v", err)
	}
	cl.Conn.Close()
	c.costs(t, before, 64)
	for _, cl := range clients {
		cl.Conn.Close()
	}
	c.Finish(t, 0)
}

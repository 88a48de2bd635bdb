package pmcd_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/sasl"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

// me returns the name of the user who runs the tests, a user of this host.
func me(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// usersFile writes a file of accounts, with names as passwords.
func usersFile(t testing.TB, path string, names ...string) {
	t.Helper()
	users := sasl.Users{}
	for _, name := range names {
		v, err := sasl.NewVerifier(sasl.ScramSHA256, name, 4096)
		if err != nil {
			t.Fatal(err)
		}
		users[name] = []sasl.Verifier{v}
	}
	var b bytes.Buffer
	if err := users.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// accounts returns accounts with only the user who runs the tests.
func accounts(t testing.TB) *access.Accounts {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users")
	usersFile(t, path, me(t))
	return access.NewAccounts(access.AccountsConfig{Users: path})
}

func flagOf(t *testing.T, c *pmapi.Context, item int) uint32 {
	t.Helper()
	res, err := c.Fetch(t.Context(), []pcp.PMID{pcp.NewPMID(2, 8, item)})
	if err != nil || len(res.Sets[0].Values) != 1 {
		t.Fatalf("pmcd.feature: %+v, %v", res, err)
	}
	return res.Sets[0].Values[0].As(pcp.TypeU32).Uint32()
}

// TestLogin checks that an agent learns the user.
func TestLogin(t *testing.T) {
	a := new(listener)
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("listener", 305, a), builtin(t, "pmcd")}, Auth: accounts(t), RequireCreds: true})
	d := pmapi.Dialer{Config: config.New(func(string) string { return "" })}
	for _, method := range []string{"plain", "scram-sha-256"} {
		c, err := d.Dial(t.Context(), s.TCP+login(me(t), me(t), method))
		if err != nil {
			t.Fatal(method, err)
		}
		if flagOf(t, c, 3) != 1 || flagOf(t, c, 4) != 1 {
			t.Error("pmcd.feature does not tell of authentication")
		}
		c.LookupDesc(t.Context(), pcp.NewPMID(305, 0, 1))
		c.Close()
		eventually(t, "it leaves", func() bool { return len(s.Control().ClientStates()) == 0 })
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	uid, gid := os.Getuid(), os.Getgid()
	one := fmt.Sprintf("[client 0: 12=%d client 0: 11=%d client 0: 5=%s client 0: end]", gid, uid, me(t))
	if got := fmt.Sprint(a.heard); got != strings.Replace(one+one, "][", " ", 1) {
		t.Errorf("the agent heard %s, want twice %s", got, one)
	}
	// A client that does not identify itself may do nothing, whichever features
	// it asks for.
	for range 2 {
		c := dialOnly(t, "tcp", s.TCP)
		c.greet()
		if c.info.Features&(wire.FeatureAuth|wire.FeatureCredsReqd) != wire.FeatureAuth|wire.FeatureCredsReqd {
			t.Errorf("greeting offers %v", c.info.Features)
		}
		c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
		c.send(&wire.DescReq{PMID: pcp.NewPMID(2, 0, 4)})
		for range 2 {
			if e, ok := c.receive().(*wire.Error); !ok || e.Code != pcp.ErrPermission {
				t.Errorf("answer to somebody unknown: %+v", e)
			}
		}
	}
	// A Unix socket identifies its user.
	c, err := d.Dial(t.Context(), "unix:"+s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if flagOf(t, c, 4) != 1 {
		t.Error("a client by Unix socket is not served")
	}
}

// TestBadAuthentication sends a server invalid messages.
func TestBadAuthentication(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(t, "pmcd")}, Auth: accounts(t)})
	attr := func(text string) wire.PDU { return &wire.Attr{Value: []byte(text)} }
	plain := "PLAIN\x00\x00" + me(t) + "\x00"
	f := func(want pcp.Error, messages ...wire.PDU) {
		t.Helper()
		c := dialOnly(t, "tcp", s.TCP)
		c.greet()
		c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, wire.FeatureAuth)}})
		for _, m := range messages {
			c.receive()
			c.send(m)
		}
		last := c.gone()
		if len(last) == 0 {
			t.Errorf("%.60q: connection is gone without a word", messages)
			return
		}
		if e, ok := last[len(last)-1].(*wire.Error); !ok || e.Code != want {
			t.Errorf("%.60q: %+v, want %v", messages, last, want)
		}
	}
	f(sasl.ErrAuth, attr(plain+"wrong"))
	f(sasl.ErrAuth, attr("PLAIN\x00\x00nobody\x00x"))
	f(sasl.ErrAuthz, attr("PLAIN\x00someone\x00"+me(t)+"\x00"+me(t)))
	f(sasl.ErrNoMech, attr("GSSAPI"))
	f(sasl.ErrNoMech, attr("LOGIN"))
	f(sasl.ErrProtocol, attr("PLAIN"))
	f(pcp.ErrIPC, attr(strings.Repeat("x", sasl.MaxMessage)))
	f(pcp.ErrIPC, &wire.Profile{})
	f(pcp.ErrIPC, &wire.Error{Code: -1})
	f(sasl.ErrAuth, attr("SCRAM-SHA-256\x00n,,n=nobody,r=abcdefgh"), attr("c=biws,r=abcdefgh,p=AAAA"))
	f(sasl.ErrProtocol, attr("SCRAM-SHA-256\x00n,,n=nobody,r=abcdefgh"), attr(""))

	if c := dialOnly(t, "tcp", s.TCP); true { // goes in the middle
		c.greet()
		c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, wire.FeatureAuth)}})
		c.receive()
		c.conn.Close()
	}
	eventually(t, "all are gone", func() bool { return len(s.Control().ClientStates()) == 0 })
	if n := len(s.Log.lines("authentication of user")); n != 11 {
		t.Errorf("%d lines about failures, want 11", n)
	}
	// A good one is served after all that, its second message at once.
	d := pmapi.Dialer{Config: config.New(func(string) string { return "" })}
	c, err := d.Dial(t.Context(), s.TCP+login(me(t), me(t), ""))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestNoAuthenticator checks that a server without accounts does not offer
// authentication.
func TestNoAuthenticator(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(t, "pmcd")}})
	c := dialOnly(t, "tcp", s.TCP)
	c.greet()
	if c.info.Features&(wire.FeatureAuth|wire.FeatureCredsReqd) != 0 {
		t.Errorf("greeting offers %v", c.info.Features)
	}
	c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, wire.FeatureAuth)}})
	if last := c.gone(); len(last) != 1 || last[0].(*wire.Error).Code != pcp.ErrNYI {
		t.Errorf("it answers %+v", last)
	}
}

// TestAccountsChange has the files change while the server runs.
func TestAccountsChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(t, "pmcd")}, Auth: access.NewAccounts(access.AccountsConfig{Users: path})})
	d := pmapi.Dialer{Config: config.New(func(string) string { return "" })}
	try := func(want pcp.Error) {
		t.Helper()
		c, err := d.Dial(t.Context(), s.TCP+login(me(t), me(t), "scram-sha-256"))
		if pcp.Code(err) != want {
			t.Errorf("%v, want %v", err, want)
		}
		if err == nil {
			c.Close()
		}
	}
	stamp := time.Now()
	change := func(do func()) {
		t.Helper()
		do()
		stamp = stamp.Add(time.Second) // coarse clocks of file systems
		if err := os.Chtimes(path, stamp, stamp); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	try(sasl.ErrAuth)
	change(func() { usersFile(t, path, me(t)) })
	try(0)
	change(func() { usersFile(t, path, "somebody-else") })
	try(sasl.ErrAuth)
	change(func() { os.WriteFile(path, []byte("nonsense\n"), 0o600) })
	try(sasl.ErrAuth)
	change(func() { usersFile(t, path, me(t)) })
	try(0)
	change(func() { os.Remove(path) })
	try(sasl.ErrAuth)
}

// TestAccountsConf reads configurations of the SASL library.
func TestAccountsConf(t *testing.T) {
	f := func(conf, mechanisms string, words ...string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "pmcd.conf"), []byte(conf), 0o644); err != nil {
			t.Fatal(err)
		}
		log := new(logBuffer)
		a := access.NewAccounts(access.AccountsConfig{SASL: []string{filepath.Join(dir, "no"), dir}, Log: slog.New(daemonlog.NewHandler(log, "pmcd", slog.LevelInfo))})
		if got := strings.Join(a.Mechanisms(), " "); got != mechanisms {
			t.Errorf("%q: %q, want %q", conf, got, mechanisms)
		}
		for _, w := range words {
			if len(log.lines(w)) == 0 {
				t.Errorf("%q: nothing of %q in the log\n%s", conf, w, log)
			}
		}
		if len(words) == 0 && log.String() != "" {
			t.Errorf("%q: %s", conf, log)
		}
	}
	const none = "sasldb_path: /no/such/file\n"
	f(none, "SCRAM-SHA-512 SCRAM-SHA-256 PLAIN")
	f(none+"mech_list: plain login scram-sha-256\n", "PLAIN LOGIN SCRAM-SHA-256")
	f(none+"mech_list: gssapi digest-md5 plain\n", "PLAIN", "GSSAPI", "DIGEST-MD5", "not supported")
	f(none+"mech_list: gssapi\n", "", "GSSAPI")
	f(none+"pwcheck_method: saslauthd\n", "SCRAM-SHA-512 SCRAM-SHA-256 PLAIN", "saslauthd")
	f(none+"auxprop_plugin: sql\n", "SCRAM-SHA-512 SCRAM-SHA-256 PLAIN", "sasldb")
	f("nonsense\n", "", "line 1")
	f("sasldb_path: /proc/version\n", "SCRAM-SHA-512 SCRAM-SHA-256 PLAIN", "cannot be read")
}

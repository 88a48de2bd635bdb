package pmcd_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd/access"
)

// saslDir makes what the C collector's SASL library wants: a configuration, and
// a database of users with their names as passwords, turned around.
func saslDir(t *testing.T, users ...string) string {
	t.Helper()
	oracle.Require(t)
	tool, err := exec.LookPath("saslpasswd2")
	if err != nil {
		t.Skip("no saslpasswd2 (Debian: sasl2-bin)")
	}
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	conf := "mech_list: plain login scram-sha-256 scram-sha-1 scram-sha-512\nsasldb_path: " + db + "\n"
	if err := os.WriteFile(filepath.Join(dir, "pmcd.conf"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, u := range users {
		cmd := exec.Command(tool, "-p", "-c", "-f", db, "-a", "pmcd", u)
		cmd.Stdin = strings.NewReader(passwordOf(u))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("saslpasswd2: %v\n%s", err, out)
		}
	}
	// The real one runs as another user.
	for p, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o755, db: 0o644} {
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func passwordOf(user string) string {
	b := []byte(user)
	for i := range len(b) / 2 {
		b[i], b[len(b)-1-i] = b[len(b)-1-i], b[i]
	}
	return string(b) + "&=%"
}

func login(user, password, method string) string {
	spec := "?username=" + url.QueryEscape(user) + "&password=" + url.QueryEscape(password)
	if method != "" {
		spec += "&method=" + method
	}
	return spec
}

// TestAuthenticationWithTheRealOne has real tools log in to our collector, and
// ours to the real one, by each method.
func TestAuthenticationWithTheRealOne(t *testing.T) {
	dir := saslDir(t, "root", "daemon", "nobody-of-this-host")
	real := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}, Env: []string{"PCP_SASL2_CONFIG_PATH=" + dir}})
	cfg := twinConfig(t, real)
	cfg.Auth = access.NewAccounts(access.AccountsConfig{SASL: []string{dir}})
	ours := start(t, cfg)
	listensByTCP(t, real)

	methods, names, successes := []string{"plain", "login", "scram-sha-1", "scram-sha-256", "scram-sha-512", "gssapi", ""}, []string{"root", "nobody-of-this-host"}, 12
	if !longtest.Enabled() {
		methods, names, successes = []string{"plain", "scram-sha-256"}, names[:1], 4
	}
	for _, method := range methods {
		for _, user := range names {
			for _, password := range []string{passwordOf(user), "wrong"} {
				spec := login(user, password, method)
				// Without an answer in between, a refusal after PLAIN is the answer to the first
				// request.
				run := func(host string) oracle.Output {
					out := oracle.Run(t, "pminfo", "-h", "pcp://"+host+spec, "-f", "sample.long.ten")
					clean(&out, host)
					out.Stderr = regexp.MustCompile(`(?m)^\[.*\n`).ReplaceAllString(out.Stderr, "") // of the SASL library
					return out
				}
				want, got := run(real.TCP), run(ours.TCP)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("real pminfo %s (-real +ours):\n%s", spec, d)
				}
				if good := password != "wrong" && user == "root" && method != "gssapi"; good != (got.Exit == 0) {
					t.Errorf("pminfo %s: %+v", spec, got)
				}
				if w, g := tryAs(t, real.TCP+spec), tryAs(t, ours.TCP+spec); w != g {
					t.Errorf("our client %s: %v, with the real collector %v", spec, g, w)
				}
			}
		}
	}
	// The real one reports that a name is unknown. Ours does not.
	if w, g := tryAs(t, real.TCP+login("none", "x", "scram-sha-256")), tryAs(t, ours.TCP+login("none", "x", "scram-sha-256")); w.Fetch != pcp.ErrNYI-20 || g.Fetch != pcp.ErrNYI-13 {
		t.Errorf("no such account: real one %v, ours %v", w, g)
	}
	for _, line := range ours.Log.lines("client dropped") {
		for _, secret := range []string{"wrong", passwordOf("root")} {
			if strings.Contains(strings.ReplaceAll(line, "wrong password or no such account", ""), secret) {
				t.Errorf("the log has a password: %s", line)
			}
		}
	}
	if n := len(ours.Log.lines(`Successful authentication for user "root"`)); n != successes {
		t.Errorf("%d successes in the log, want %d", n, successes)
	}
}

// A verdict is what a client may do.
type verdict struct{ Fetch, Store pcp.Error }

var writeMe = pcp.NewPMID(29, 0, 14) // sample.long.write_me

// tryAs connects, fetches and stores.
func tryAs(t *testing.T, spec string) verdict {
	t.Helper()
	d := pmapi.Dialer{Config: config.New(func(string) string { return "" })}
	c, err := d.Dial(t.Context(), spec)
	if err != nil {
		return verdict{pcp.Code(err), pcp.Code(err)}
	}
	defer c.Close()
	_, err = c.Fetch(t.Context(), []pcp.PMID{writeMe})
	v := verdict{Fetch: pcp.Code(err)}
	var res pcp.Result
	res.AddSet(writeMe)
	res.Add(pcp.Int32Value(1))
	v.Store = pcp.Code(c.Store(t.Context(), &res))
	if v.Store == pcp.ErrIPC {
		// After a failed authentication ours ends the connection. The real
		// one serves a client with a wrong password as one without a name.
		v.Store = v.Fetch
	}
	if v.Fetch == pcp.ErrNYI-13 {
		v.Store = v.Fetch
	}
	return v
}

// accessScenarios are rules to compare with the real collector's judgement. A
// rule for "*" comes before others: after them it makes the C library take
// memory that it has not written for one more rule (access.c: __pmAccAddUser).
var accessScenarios = []string{
	`allow user * : fetch; allow user root : all; disallow user daemon : store; disallow "unix:" : store;`,
	// Those of PCP_TEST_LONG.
	`allow user root : all; allow group daemon : all;`,
	`disallow "unix:" : store; allow users root, daemon : all; allow groups * : all;`,
	`disallow group * : store; allow group root : all;`,
	`allow "*" : all;`,
	`allow user root : all;`,
	`allow user root : fetch;`,
	`disallow user root : all; allow user games : all;`,
	`disallow user * : all; allow user root : store;`,
	`disallow user root : fetch; allow group * : all; allow group root : all; allow user daemon : all;`,
	`disallow user root : store; disallow group root : fetch;`,
	`disallow ".*" : fetch; disallow user daemon : store; allow user root : fetch;`,
	`allow group daemon, games : all;`,
	`disallow group daemon : fetch; allow group root : all;`,
	`disallow user * : store;`,
	`allow user root : all except store; disallow group root : all except fetch;`,
	`allow user * : fetch; allow user root : all, maximum 100 connections;`,
}

// TestAccessIsThatOfTheRealOne has users judged by both.
func TestAccessIsThatOfTheRealOne(t *testing.T) {
	dir := saslDir(t, "root", "daemon", "games")
	list := accessScenarios
	if !longtest.Enabled() {
		list = list[:1]
	}
	for _, section := range list {
		t.Run("", func(t *testing.T) {
			real := oracle.StartPMCD(t, oracle.Config{
				Agents: []string{"pmcd", "sample"}, Access: section + "\n", Env: []string{"PCP_SASL2_CONFIG_PATH=" + dir},
			})
			cfg := twinConfig(t, real)
			cfg.Auth = access.NewAccounts(access.AccountsConfig{SASL: []string{dir}})
			ours := start(t, cfg)
			var b strings.Builder // before connections are counted
			if err := ours.WriteStatus(&b); err != nil {
				t.Fatal(err)
			}
			listensByTCP(t, real)
			got, want := map[string]verdict{}, map[string]verdict{}
			for _, who := range []string{"root", "daemon", "games"} {
				for _, method := range []string{"plain", "scram-sha-256"} {
					spec := login(who, passwordOf(who), method)
					want[who+" "+method], got[who+" "+method] = tryAs(t, real.TCP+spec), tryAs(t, ours.TCP+spec)
				}
			}
			want["unix"], got["unix"] = tryAs(t, real.Unix), tryAs(t, "unix:"+ours.Socket)
			want["unix as daemon"], got["unix as daemon"] = tryAs(t, real.Unix+login("daemon", passwordOf("daemon"), "plain")), tryAs(t, "unix:"+ours.Socket+login("daemon", passwordOf("daemon"), "plain"))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s\n(-real +ours):\n%s", section, d)
			}
			log, err := os.ReadFile(real.Log)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tables(string(log)), tables(b.String())); d != "" {
				t.Errorf("%s\ntables (-real +ours):\n%s", section, d)
			}
			t.Log(section, want)
		})
	}
}

// tables takes those of users and groups out of a log, without counts.
func tables(log string) string {
	from, to := strings.Index(log, "User access list"), strings.Index(log, "\npmcd: PID")
	if from < 0 || to < from {
		return fmt.Sprintf("no tables in\n%s", log)
	}
	return log[from:to]
}

// listensByTCP waits until the real one does, as it began with its Unix socket.
func listensByTCP(t *testing.T, real *oracle.PMCD) {
	t.Helper()
	eventually(t, "the real one listens by TCP, too", func() bool {
		conn, err := net.Dial("tcp", real.TCP)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

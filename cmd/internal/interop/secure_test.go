package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
)

// startSecure starts both collectors with a tls.conf.
func startSecure(t *testing.T, tlsconf string, args ...string) (theirs, ours collector) {
	t.Helper()
	env := []string{"PCP_TLSCONF_PATH=" + tlsconf}
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}, Env: env, Args: args})
	theirs = collector{name: "real pmcd", tcp: d.TCP, unix: d.Unix, env: d.Env}
	ours = startOursWith(t, d, fmt.Sprintf(`
pmcd	2	dso	pmcd_init	%[1]s/pmcd/pmda_pmcd.so
sample	29	pipe	binary	%[1]s/sample/pmdasample -d 29
[access]
allow "*" : all;
`, d.PMDAs), env, args...)
	return theirs, ours
}

// conf is a tls.conf of a pair of files, and of the trusted authorities. The
// real collector reads it as another user.
func conf(t *testing.T, p tlstest.Pair, settings ...string) string {
	t.Helper()
	if p.File != "" {
		settings = append(settings, "tls-cert-file", p.File, "tls-key-file", p.Key)
	}
	path := tlstest.Conf(t, settings...)
	for _, f := range []string{path, p.File, p.Key} {
		if f == "" {
			continue
		}
		if err := os.Chmod(f, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

var (
	notification = regexp.MustCompile(`(?m)^\[.*\] (\w+)\(\d+\) `)
	// In TLS 1.3 a client is refused when it is through with its part. Whether
	// it hears the alert or finds the connection broken is a matter of time.
	broken = regexp.MustCompile(`(?m)^Error: (\S+): .*$`)
)

// A secureCase is one way to connect: %s is the collector's address by TCP,
// %p its port, %u its Unix socket.
type secureCase struct{ name, spec, tlsconf, env string }

// compareSecure has both kinds of tools connect to both collectors, in all the
// ways, and compares their output with that of the real tools at the real
// collector. It returns the exit status by case.
func compareSecure(t *testing.T, theirs, ours collector, cases []secureCase) map[string]int {
	t.Helper()
	status := map[string]int{}
	for _, sc := range cases {
		t.Run(sc.name, func(t *testing.T) {
			see := func(cl client, c collector) oracle.Output {
				_, port, _ := strings.Cut(c.tcp, ":")
				spec := strings.NewReplacer("%s", c.tcp, "%p", port, "%u", c.unix).Replace(sc.spec)
				env := slices.Concat(c.env, []string{"PCP_TLSCONF_PATH=" + sc.tlsconf})
				if sc.env != "" {
					env = append(env, sc.env)
				}
				out := cl.run(t, env, "pminfo", "-h", spec, "-f", "pmcd.feature.secure", "pmcd.feature.client_cert_required", "sample.bin")
				mask := strings.NewReplacer(spec, "SPEC")
				out.Stdout = mask.Replace(out.Stdout)
				out.Stderr = notification.ReplaceAllString(mask.Replace(out.Stderr), "[DATE] $1(PID) ")
				out.Stderr = broken.ReplaceAllString(out.Stderr, "Error: $1: BROKEN")
				return out
			}
			want := see(realTools, theirs)
			status[sc.name] = want.Exit
			for _, other := range []struct {
				cl client
				c  collector
			}{{realTools, ours}, {ourTools, theirs}, {ourTools, ours}} {
				if diff := cmp.Diff(want, see(other.cl, other.c)); diff != "" {
					t.Errorf("%s at %s: -real tools at real pmcd +this\n%s", other.cl.name, other.c.name, diff)
				}
			}
		})
	}
	return status
}

// some returns the cases that matter most and every third of the rest, from
// which on; all of them if PCP_TEST_LONG is set.
func some(all []secureCase, which int) (list []secureCase) {
	always := []string{"plain", "plain localhost", "pcps", "a certificate", "a stranger's certificate", "checked", "checked, another CA"}
	for i, c := range all {
		if longtest.Enabled() || i%3 == which || slices.Contains(always, c.name) {
			list = append(list, c)
		}
	}
	return list
}

// TestSecure tries certificates, specifications and the environment.
func TestSecure(t *testing.T) {
	oracle.Require(t)
	ca, other := tlstest.NewCA(t, "CA"), tlstest.NewCA(t, "other CA")
	none := tlstest.Conf(t)
	mine, stranger, old := ca.Cert(t, tlstest.Want{}), other.Cert(t, tlstest.Want{}), ca.Cert(t, tlstest.Want{Expired: true})
	shown := func(p tlstest.Pair) string {
		return tlstest.Conf(t, "tls-client-cert-file", p.File, "tls-client-key-file", p.Key)
	}
	checked := tlstest.Conf(t, "tls-ca-cert-file", ca.File, "tls-verify-clients", "true")
	missing := tlstest.Conf(t, "tls-ca-cert-file", ca.File+".missing")
	ways := []secureCase{
		{"plain", "%s", none, ""},
		{"plain localhost", "localhost:%p", none, ""},
		{"plain unix", "%u", none, ""},
		{"pcps", "pcps://%s", none, ""},
		{"pcps localhost", "pcps://localhost:%p", none, ""},
		{"a certificate", "pcps://%s", shown(mine), ""},
		{"a stranger's certificate", "pcps://%s", shown(stranger), ""},
		{"an expired certificate", "pcps://%s", shown(old), ""},
		{"the collector's for one's own", "pcps://%s", tlstest.Conf(t, "tls-cert-file", mine.File, "tls-key-file", mine.Key), ""},
		{"checked", "pcps://%s", checked, ""},
		{"checked in another word", "pcps://%s", tlstest.Conf(t, "tls-ca-cert-file", ca.File, "tls-verify-clients", "yes"), ""},
		{"checked, another CA", "pcps://%s", tlstest.Conf(t, "tls-ca-cert-file", other.File, "tls-verify-clients", "true"), ""},
		{"another CA, not checked", "pcps://%s", tlstest.Conf(t, "tls-ca-cert-file", other.File), ""},
		{"no such CA", "pcps://%s", missing, ""},
		{"no such file, plain", "%s", missing, ""},
		{"no such certificate", "pcps://%s", tlstest.Conf(t, "tls-client-cert-file", "/none", "tls-client-key-file", mine.Key), ""},
		{"no such key", "pcps://%s", tlstest.Conf(t, "tls-client-cert-file", mine.File, "tls-client-key-file", "/none"), ""},
		{"cipher suites", "pcps://%s", tlstest.Conf(t, "tls-ciphers", "ECDHE+AESGCM:!SHA1"), ""},
		{"no cipher suites", "pcps://%s", tlstest.Conf(t, "tls-ciphers", "NONE-OF-THESE"), ""},
		{"relaxed", "pcps://%s?secure=relaxed", none, ""},
		{"off", "pcps://%s?secure=none", none, ""},
		{"enforce without pcps", "%s?secure=enforce", none, ""},
		{"empty attribute", "pcps://%s?secure=", none, ""},
		{"1 in the environment", "%s", none, "PCP_SECURE_SOCKETS=1"},
		{"enforce in the environment", "%s", none, "PCP_SECURE_SOCKETS=enforce"},
		{"enforce in the environment, unix", "%u", none, "PCP_SECURE_SOCKETS=enforce"},
		{"relaxed in the environment", "%s", none, "PCP_SECURE_SOCKETS=relaxed"},
		{"nothing in the environment", "%s", none, "PCP_SECURE_SOCKETS="},
		{"something in the environment", "%s", none, "PCP_SECURE_SOCKETS=x"},
	}
	trust := []string{"tls-ca-cert-file", ca.File}
	for _, p := range []string{ca.File, other.File} {
		if err := os.Chmod(p, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	usual := ca.Cert(t, tlstest.Server())
	t.Run("offered", func(t *testing.T) {
		theirs, ours := startSecure(t, conf(t, usual, trust...))
		status := compareSecure(t, theirs, ours, some(ways, 0))
		for name, want := range map[string]int{"plain": 0, "pcps": 0, "a stranger's certificate": 1, "checked": 0, "checked, another CA": 1} {
			if status[name] != want {
				t.Errorf("the real tools at the real pmcd end with %d: %s", status[name], name)
			}
		}
	})
	t.Run("required", func(t *testing.T) {
		theirs, ours := startSecure(t, conf(t, usual, trust...), "-Q")
		status := compareSecure(t, theirs, ours, some(ways, 1))
		for name, want := range map[string]int{"plain": 1, "plain localhost": 0, "pcps": 1, "a certificate": 0} {
			if status[name] != want {
				t.Errorf("the real tools at the real pmcd end with %d: %s", status[name], name)
			}
		}
	})
	t.Run("required, not offered", func(t *testing.T) {
		theirs, ours := startSecure(t, none, "-Q")
		compareSecure(t, theirs, ours, ways[:5])
	})
	// Clients with invalid certificates.
	judge := []secureCase{
		{"pcps", "pcps://%s", none, ""},
		{"checked", "pcps://%s", checked, ""},
		{"checked, domain allowed", "pcps://%s", checked, "PCP_ALLOW_BAD_CERT_DOMAIN=1"},
		{"checked, self-signed allowed", "pcps://%s", checked, "PCP_ALLOW_SERVER_SELF_CERT=1"},
	}
	for name, want := range map[string]tlstest.Want{
		"expired":   {Hosts: tlstest.Server().Hosts, Expired: true},
		"elsewhere": {Hosts: []string{"elsewhere.example"}},
		"alone":     {Hosts: tlstest.Server().Hosts, Alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			theirs, ours := startSecure(t, conf(t, ca.Cert(t, want), trust...))
			compareSecure(t, theirs, ours, some(judge, 0))
			// Settings that only ours has.
			all := "PCP_TLSCONF_PATH=" + tlstest.Conf(t, "tls-ca-cert-file", ca.File, "tls-verify-server", "true")
			allowed := map[string]string{"elsewhere": "PCP_ALLOW_BAD_CERT_DOMAIN=1", "alone": "PCP_ALLOW_SERVER_SELF_CERT=1"}[name]
			for env, ok := range map[string]bool{"A=1": false, allowed: true} {
				if env == "" {
					continue
				}
				out := ourTools.run(t, append(theirs.env, all, env), "pmprobe", "-h", "pcps://"+theirs.tcp, "sample.bin")
				if strings.HasPrefix(out.Stdout, "sample.bin 9") != ok || !ok && !strings.Contains(out.Stdout+out.Stderr, "TLS protocol failure") {
					t.Errorf("with tls-verify-server and %s: %+v", env, out)
				}
			}
		})
	}
}

// TestSecureAccounts sends passwords over TLS. Through a Unix socket, where the
// kernel identifies the user, TLS is agreed on and then left out.
func TestSecureAccounts(t *testing.T) {
	oracle.Require(t)
	dir := t.TempDir()
	users := "PCP_USERS_PATH=" + filepath.Join(dir, "users")
	add := exec.Command(twin.Tool(t, "pcp"), "passwd", "add", "root")
	add.Env, add.Stdin = append(oracle.Env(), users), strings.NewReader("secret\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cert := tlstest.NewCA(t, "CA").Cert(t, tlstest.Server())
	tlsconf := "PCP_TLSCONF_PATH=" + conf(t, cert)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd"}})
	ours := startOursWith(t, d, fmt.Sprintf("pmcd 2 dso pmcd_init %s/pmcd/pmda_pmcd.so\n", d.PMDAs), []string{users, tlsconf}, "-S")
	env := append(slices.Clone(ours.env), "PCP_TLSCONF_PATH="+tlstest.Conf(t), "PCP_CONSOLE=none")
	for _, cl := range []client{realTools, ourTools} {
		for spec, want := range map[string]int{
			"pcps://" + ours.tcp + "?username=root&password=secret&method=plain":         0,
			"pcps://" + ours.tcp + "?username=root&password=secret&method=scram-sha-256": 0,
			"pcps://" + ours.tcp + "?username=root&password=wrong&method=scram-sha-256":  1,
		} {
			if out := cl.run(t, env, "pminfo", "-f", "-h", spec, "pmcd.feature.secure"); out.Exit != want {
				t.Errorf("%s, %s: %+v", cl.name, spec, out)
			}
		}
		out := cl.run(t, append(env, "PCP_SECURE_SOCKETS=1"), "pminfo", "-f", "-h", ours.unix, "pmcd.feature.secure")
		if out.Exit != 0 || !strings.Contains(out.Stdout, "value 1") {
			t.Errorf("%s, unix: %+v", cl.name, out)
		}
	}
}

// TestSecureTools has tools do their work over TLS, in both directions.
func TestSecureTools(t *testing.T) {
	oracle.Require(t)
	ca := tlstest.NewCA(t, "CA")
	theirs, ours := startSecure(t, conf(t, ca.Cert(t, tlstest.Server())))
	none := "PCP_TLSCONF_PATH=" + tlstest.Conf(t)
	for _, args := range [][]string{
		{"pminfo", "-dfmtTl", "sample.long", "sample.bin", "sample.aggregate", "sample.string"},
		{"pminfo", "sample", "pmcd"},
		{"pmprobe", "-v", "sample.long", "sample.bin", "sample.hordes"},
		{"pmprobe", "-I", "sample.hordes"},
		{"pmval", "-s", "3", "-t", "0.05", "-w", "12", "sample.long.hundred"},
		{"pmstore", "sample.long.write_me", "7"},
		{"pmstore", "sample.long.write_me", "2"},
		{"pmval", "-s", "1", "-i", "bin-300,bin-900", "sample.bin"},
	} {
		see := func(cl client, c collector) oracle.Output {
			run := func() oracle.Output {
				return cl.run(t, append(slices.Clone(c.env), none), args[0], append([]string{"-h", "pcps://" + c.tcp}, args[1:]...)...)
			}
			out := run()
			if args[0] == "pmstore" { // the second run prints the value of the first
				out = run()
			}
			var lines []string
			for line := range strings.Lines(out.Stdout) {
				if !strings.HasPrefix(line, "start:") && !strings.HasPrefix(line, "host:") {
					lines = append(lines, line)
				}
			}
			out.Stdout = strings.Join(lines, "")
			return out
		}
		want := see(realTools, theirs)
		if want.Exit != 0 {
			t.Errorf("%q at the real pmcd: %+v", args, want)
		}
		if diff := cmp.Diff(want, see(ourTools, theirs)); diff != "" {
			t.Errorf("%q at the real pmcd: -real +ours\n%s", args, diff)
		}
		want = see(realTools, ours)
		if want.Exit != 0 {
			t.Errorf("%q at our pmcd: %+v", args, want)
		}
		if diff := cmp.Diff(want, see(ourTools, ours)); diff != "" {
			t.Errorf("%q at our pmcd: -real +ours\n%s", args, diff)
		}
	}
}

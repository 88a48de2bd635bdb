package pmda_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// run runs a daemon that reads in.
func run(t *testing.T, d *pmda.Daemon, in []byte, args ...string) (status int, out, errout string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = d.Run(t.Context(), pmda.Environment{
		Args: args, Stdin: bytes.NewReader(in), Stdout: &stdout, Stderr: &stderr,
		// No user is configured: a test run by root must stay root.
		Getenv: func(name string) string {
			if name == "PCP_USER" {
				return "no-such-user"
			}
			return ""
		},
	})
	return status, stdout.String(), stderr.String()
}

func hello(more ...wire.PDU) []byte {
	b := wire.Append(nil, 1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	for _, p := range more {
		b = wire.Append(b, 1, p)
	}
	return b
}

func daemon() *pmda.Daemon {
	return &pmda.Daemon{Name: "pmdatest", Domain: 400, New: func(domain int, log *slog.Logger) (pmda.Agent, error) {
		log.Info("made", "domain", domain)
		return pmda.NewTable(pmda.Config{Name: "test", Domain: domain, Metrics: []pmda.Metric{{
			Name: "test.one", Type: pcp.Type32, Sem: pcp.SemInstant,
			Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(1), nil },
		}}})
	}}
}

const stamp = `\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d\] pmdatest\(\d+\) `

func matches(t *testing.T, what, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile(`\A` + pattern + `\z`).MatchString(got) {
		t.Errorf("%s is\n%s\nwant\n%s", what, got, pattern)
	}
}

const date = `\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}`

func TestDaemonLog(t *testing.T) {
	t.Chdir(t.TempDir())
	host, _ := os.Hostname()
	head := `Log for pmdatest on ` + regexp.QuoteMeta(host) + ` started ` + date + `\n\n`
	foot := `\nLog finished ` + date + `\n`

	req := &wire.DescReq{PMID: pcp.NewPMID(33, 0, 0)}
	status, out, errout := run(t, daemon(), hello(req), "-d", "33")
	if status != 0 || errout != "" || len(out) != 20+12+20 {
		t.Errorf("status %d, stderr %q, %d bytes out", status, errout, len(out))
	}
	log, err := os.ReadFile("test.log")
	if err != nil {
		t.Fatal(err)
	}
	matches(t, "log", string(log), head+stamp+`Info: made domain=33\n`+foot)

	// A second run keeps the first log.
	if status, _, _ := run(t, daemon(), nil); status != 1 {
		t.Errorf("without a collector the status is %d, want 1", status)
	}
	prev, err := os.ReadFile("test.log.prev")
	if err != nil || !bytes.Equal(prev, log) {
		t.Errorf("test.log.prev is not the first log: %v, %q", err, prev)
	}
	log, _ = os.ReadFile("test.log")
	matches(t, "log", string(log), head+stamp+`Info: made domain=400\n`+
		stamp+`Error: agent ends err="waiting for credentials: unexpected EOF"\n`+foot)

	// To a file of choice, with the requests.
	name := filepath.Join(t.TempDir(), "a.log")
	if status, _, errout := run(t, daemon(), hello(req), "--log="+name, "-Dlibpmda"); status != 0 || errout != "" {
		t.Errorf("status %d, stderr %q", status, errout)
	}
	log, _ = os.ReadFile(name)
	matches(t, "log", string(log), head+stamp+`Info: made domain=400\n`+
		stamp+`Info: name        = pmdatest\n`+stamp+`Info: domain      = 400\n`+
		stamp+`Info: num metrics = 1\n`+stamp+`Info: num indom   = 0\n`+
		stamp+`Debug: request type=DESC_REQ context=1 bytes=16\n`+foot)

	// The other debug options are for the agent, if it takes them.
	_, _, errout = run(t, daemon(), hello(), "-l-", "-D", "APPL0,context", "-D", "2")
	matches(t, "stderr", errout, head+stamp+`Info: made domain=400\n`+
		stamp+`Warning: debug options that are not supported names=appl0,context,fetch\n`+foot)

	// To standard error, by choice or for lack of a file.
	_, _, errout = run(t, daemon(), hello(), "-l", "-")
	matches(t, "stderr", errout, head+stamp+`Info: made domain=400\n`+foot)
	_, _, errout = run(t, daemon(), hello(), "-l", "/nonexistent/x.log")
	matches(t, "stderr", errout, `pmdatest: cannot open log "/nonexistent/x.log" for writing : No such file or directory\n`+
		head+stamp+`Info: made domain=400\n`+foot)
}

func TestDaemonCloses(t *testing.T) {
	a := &oddAgent{}
	d := &pmda.Daemon{Name: "pmdatest", Domain: 1, New: func(int, *slog.Logger) (pmda.Agent, error) { return a, nil }}
	if status, _, log := run(t, d, hello(), "-l-"); status != 0 || a.closed != 1 {
		t.Errorf("status %d, closed %d times, log %s", status, a.closed, log)
	}
}

func TestDaemonFails(t *testing.T) {
	boom := &pmda.Daemon{Name: "pmdatest", Domain: 1, New: func(int, *slog.Logger) (pmda.Agent, error) { panic("boom") }}
	status, out, log := run(t, boom, hello(), "-l-")
	if status != 1 || out != "" || !strings.Contains(log, "Error: agent ends err=\"agent panicked: boom\"") {
		t.Errorf("a panic when the agent is made: status %d, out %q, log %s", status, out, log)
	}
	none := &pmda.Daemon{Name: "pmdatest", Domain: 1, New: func(int, *slog.Logger) (pmda.Agent, error) {
		return nil, errors.New("no hardware")
	}}
	status, out, log = run(t, none, hello(), "-l-")
	if status != 1 || out != "" || !strings.Contains(log, "no hardware") {
		t.Errorf("no agent: status %d, out %q, log %s", status, out, log)
	}
	status, _, log = run(t, daemon(), hello(), "-l-", "-U", "no-such-user")
	if status != 1 || !strings.Contains(log, "cannot find the no-such-user user to switch to") {
		t.Errorf("-U no-such-user: status %d, log %s", status, log)
	}
}

const usageHead = `Usage: pmdatest [options]

Options:
  -d NUM, --domain=NUM  use domain (numeric) for metrics domain of PMDA
  -h FILE, --helpfile=FILE
                        path to PMDA metrics help text file
  -l FILE, --log=FILE   write log to FILE rather than using default log name
  -U USER, --username=USER
                        run the PMDA using the named user account
  -?, --help            show this usage message and exit
`

const usageHelp = "  -h FILE, --helpfile=FILE\n                        path to PMDA metrics help text file\n"

const usageSockets = `
Exactly one of the following options may appear:
  -i PORT, --inet=PORT  pmcd IPv4 connection service name or numeric port
  -p, --pipe            use a pipe for communication with pmcd
  -u FILE, --unix=FILE  use a unix domain socket for communication with pmcd
  -6 PORT, --ipv6=PORT  pmcd IPv6 connection service name or numeric port
`

func TestDaemonUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	check := func(want string, args ...string) {
		t.Helper()
		status, _, errout := run(t, daemon(), hello(), args...)
		if got := strings.TrimSuffix(errout, usageHead+usageSockets); status != 1 || got != want || got == errout {
			t.Errorf("%q: status %d, %q, want %q and the usage", args, status, errout, want)
		}
	}
	check("", "-?")
	check("", "--help")
	check("pmdatest: option '--he' is ambiguous; possibilities: '--helpfile' '--help'\n", "--he")
	check("pmdatest: -d requires numeric domain number\n", "-d", "x")
	check("pmdatest: -d requires a domain number from 1 to 510\n", "-d511")
	check("pmdatest: -d requires numeric domain number\npmdatest: -p option clashes with -i option\n", "-dx", "-i1", "-p")
	check("pmdatest: -u option clashes with -p option\n", "-pu", "x")
	check("pmdatest: invalid option -- 'Z'\n", "-Z")
	check("pmdatest: invalid option -- 'Z'\npmdatest: -d requires numeric domain number\n", "-Z", "-dx")
	check("pmdatest: option requires an argument -- 'l'\n", "-l")
	check("pmdatest: option '--log' requires an argument\n", "--log")
	check("pmdatest: unrecognized option '--bad=x'\n", "--bad=x")
	check("pmdatest: option '--pipe' doesn't allow an argument\n", "--pipe=x")
	check("pmdatest: unrecognized debug options specification (nonsense)\n", "-D", "nonsense")

	d := daemon()
	d.PipeOnly = true
	if _, _, errout := run(t, d, hello(), "-p"); errout != "pmdatest: invalid option -- 'p'\n"+usageHead {
		t.Errorf("-p of a daemon without sockets: %q", errout)
	}
	d.NoHelpFile = true
	_, _, errout := run(t, d, hello(), "--he", "-h", "x")
	if errout != "pmdatest: invalid option -- 'h'\n"+strings.Replace(usageHead, usageHelp, "", 1) {
		t.Errorf("-h of a daemon without: %q", errout)
	}
	if _, err := os.Stat("test.log"); err == nil {
		t.Error("a usage error made a log")
	}
}

// TestDaemonSockets has the collector connect to the agent.
func TestDaemonSockets(t *testing.T) {
	port := strconv.Itoa(oracle.FreePort(t))
	dir, err := os.MkdirTemp("", "pmda") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sock := filepath.Join(dir, "s")
	if err := os.WriteFile(sock, nil, 0o600); err != nil { // left by another
		t.Fatal(err)
	}
	for _, tt := range []struct{ option, addr, network, dial string }{
		{"-i", port, "tcp4", "127.0.0.1:" + port},
		{"-6", port, "tcp6", "[::1]:" + port},
		{"-u", sock, "unix", sock},
	} {
		t.Run(tt.option, func(t *testing.T) {
			if tt.network == "tcp6" {
				if ln, err := net.Listen("tcp6", "[::1]:0"); err != nil {
					t.Skipf("SKIPPED: no IPv6 here: %v", err)
				} else {
					ln.Close()
				}
			}
			type result struct {
				status int
				errout string
			}
			done := make(chan result, 1)
			go func() {
				status, _, errout := run(t, daemon(), nil, "-l-", tt.option, tt.addr)
				done <- result{status, errout}
			}()
			var conn net.Conn
			for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if conn, err = net.Dial(tt.network, tt.dial); err == nil {
					break
				}
				if time.Now().After(end) {
					t.Fatal(err)
				}
			}
			conn.SetDeadline(time.Now().Add(time.Minute))
			r := wire.NewReader(conn)
			if h, _, err := r.Next(); err != nil || h.Type != wire.TypeCreds {
				t.Errorf("agent begins with %v, %v", h, err)
			}
			conn.Write(hello(&wire.DescReq{PMID: pcp.NewPMID(400, 0, 0)}))
			if h, _, err := r.Next(); err != nil || h.Type != wire.TypeDesc {
				t.Errorf("agent answers with %v, %v", h, err)
			}
			conn.Close()
			res := <-done
			if res.status != 0 {
				t.Errorf("status %d, log %s", res.status, res.errout)
			}
			if tt.option == "-u" && !strings.Contains(res.errout, "Warning: socket existed and was unlinked") {
				t.Errorf("log %s", res.errout)
			}
		})
	}
	if status, _, log := run(t, daemon(), nil, "-l-", "-i", "no-such-service"); status != 1 || !strings.Contains(log, "no-such-service") {
		t.Errorf("-i no-such-service: status %d, log %s", status, log)
	}
}

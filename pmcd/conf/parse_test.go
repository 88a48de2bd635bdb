package conf_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmcd/conf"
)

func TestParse(t *testing.T) {
	const text = `# comment
root	1	pipe	binary		/pmdas/root/pmdaroot
pmcd 2 DSO pmcd_init /pmdas/pmcd/pmda_pmcd.so # another
	proc	3	pipe	binary notready \
		"/pmdas/proc dir/pmdaproc" -d 3 -A \# "a b" "say \"x\""
sock 4 socket inet 2077
six 5 socket ipv6 2078 /bin/agent -x
un 6 socket unix /run/agent.socket
un 7 socket unix /run/other.socket
[access]
`
	got, err := conf.Parse(strings.NewReader(text + `disallow ".*" : store; disallow ":*" : store;
allow "local:*" : all;
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []conf.Agent{
		{Name: "root", Domain: 1, Transport: conf.Transport{Kind: conf.Pipe, Args: []string{"/pmdas/root/pmdaroot"}}},
		{Name: "pmcd", Domain: 2, Transport: conf.Transport{Kind: conf.DSO, Entry: "pmcd_init", Path: "/pmdas/pmcd/pmda_pmcd.so"}},
		{Name: "proc", Domain: 3, Transport: conf.Transport{Kind: conf.Pipe, NotReady: true, Args: []string{"/pmdas/proc dir/pmdaproc", "-d", "3", "-A", "#", "a b", `say "x"`}}},
		{Name: "sock", Domain: 4, Transport: conf.Transport{Kind: conf.Socket, Network: "tcp4", Address: "2077"}},
		{Name: "six", Domain: 5, Transport: conf.Transport{Kind: conf.Socket, Network: "tcp6", Address: "2078", Args: []string{"/bin/agent", "-x"}}},
		{Name: "un", Domain: 6, Transport: conf.Transport{Kind: conf.Socket, Network: "unix", Address: "/run/agent.socket"}},
		{Name: "un", Domain: 7, Transport: conf.Transport{Kind: conf.Socket, Network: "unix", Address: "/run/other.socket"}},
	}
	if d := cmp.Diff(want, got.Agents); d != "" {
		t.Errorf("agents (-want +got):\n%s", d)
	}
	none, err := conf.Parse(strings.NewReader("pmcd 2 dso pmcd_init /x.so"))
	if err != nil || len(none.Agents) != 1 || none.Access == nil {
		t.Errorf("without an access section: %+v, %v", none, err)
	}
}

// badFiles have one mistake each, except the last.
var badFiles = []string{
	"pmcd",
	"pmcd two dso x /y",
	"pmcd 511 dso x /y",
	"pmcd 2 dso",
	"pmcd 2 dso x",
	"pmcd 2 dso x y.so",
	"pmcd 2 dso x /y z",
	"pmcd 2 what x /y",
	"a 2 dso x /y\nb 2 dso x /y",
	"a 2 pipe text /bin/agent",
	"a 2 pipe binary",
	"a 2 pipe binary notready",
	"a 2 socket what 7",
	"a 2 socket inet",
	"a 2 socket inet no-such-service",
	"\n\n# x\na \\\n2 \\\nwhat\n",
	"a 2 pipe binary \"/bin/agent",
	"a 2 dso x /y\n[acces]\nallow * : all;",
	"a 2 dso x /y\n[access\nallow * : all;",
	"a 2 dso x /y\n[access]\n",
	"a 2 dso x /y\n[access]\npermit * : all;",
	"a 2 dso x /y\n[access]\nallow * all;",
	"a 2 dso x /y\n[access]\nallow * : ;",
	"a 2 dso x /y\n[access]\nallow * : fetch, all;",
	"a 2 dso x /y\n[access]\nallow * : all, fetch;",
	"a 2 dso x /y\n[access]\nallow * : all except all;",
	"a 2 dso x /y\n[access]\nallow * : fetch store;",
	"a 2 dso x /y\n[access]\nallow * : fetch,;",
	"a 2 dso x /y\n[access]\nallow * : bogus;",
	"a 2 dso x /y\n[access]\nallow * : maximum 0 connections;",
	"a 2 dso x /y\n[access]\nallow * : maximum 2;",
	"a 2 dso x /y\n[access]\nallow * : maximum 2 connections, unlimited connections;",
	"a 2 dso x /y\n[access]\ndisallow * : maximum 2 connections;",
	"a 2 dso x /y\n[access]\nallow * : all except maximum 2 connections;",
	"a 2 dso x /y\n[access]\nallow : all;",
	"a 2 dso x /y\n[access]\nallow *, : all;",
	"a 2 dso x /y\n[access]\nallow * * : all;",
	"x 2 dso\ny 3 dso\n",
}

var goodFiles = []string{
	"a 2 dso x /y\na 3 dso x /y",
	"",
	"# nothing\n",
	"a 2 dso x /y",
	"a 2 dso x /y\n[access]\nallow * : all;",
	"a 2 dso x /y\n[ access ]\nallow * : all;",
	"a 2 dso x /y\n[access]\nallow hosts \"*\" : all except store; DISALLOW 10.1.* : Store;",
	"a 2 dso x /y\n[access]\nallow \"local:*\" , 127.0.0.1 : fetch, store, maximum 7 connections;\n",
	"a 2 dso x /y\n[access]\ndisallow \".*\" : all except fetch; allow * : all except store;\n",
}

// TestFilesAgainstTheRealOne has pmcd -v look at the same files.
func TestFilesAgainstTheRealOne(t *testing.T) {
	oracle.Require(t)
	dir := t.TempDir()
	check := func(text string) {
		t.Helper()
		path := filepath.Join(dir, "pmcd.conf")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		want := oracle.Run(t, "pmcd", "-v", "-c", path)
		_, err := conf.ReadFile(path)
		status, msg := 0, ""
		if err != nil {
			status, msg = 1, err.Error()+"\n"
		}
		if status != want.Exit || msg != want.Stderr {
			t.Errorf("file %q\ngot %d\n%swant %d\n%s", text, status, msg, want.Exit, want.Stderr)
		}
	}
	for _, text := range goodFiles {
		check(text)
	}
	for _, text := range badFiles {
		check(text)
	}
}

// TestCheck looks up no hosts, and finds the same mistakes otherwise.
func TestCheck(t *testing.T) {
	var asked atomic.Int32
	real := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked.Add(1)
		return nil, errors.New("no name service")
	}}
	defer func() { net.DefaultResolver = real }()
	const head = "a 2 dso x /y\n[access]\n"
	hosts := head + "allow one.example, two.example : all;\ndisallow hosts one.example, localhost : store;\nallow \"local:*\" : fetch;\n"
	file, err := conf.Check(strings.NewReader(hosts))
	if err != nil || file == nil || len(file.Agents) != 1 || file.Access != nil || asked.Load() > 0 {
		t.Errorf("Check = %+v, %v, and asks %d times", file, err, asked.Load())
	}
	for _, text := range []string{"allow one.example : x;", "allow one.example all;", "allow *.example : all;", "allow .* : all; disallow .* : all;"} {
		checked, err := conf.Check(strings.NewReader(head + text))
		if _, want := conf.Parse(strings.NewReader(head + text)); checked != nil || err == nil || want == nil {
			t.Errorf("%s: Check = %v, %v; Parse has %v", text, checked, err, want)
		}
	}
	asked.Store(0)
	if _, err = conf.Parse(strings.NewReader(hosts)); err == nil || asked.Load() == 0 {
		t.Errorf("Parse: %v, asks %d times", err, asked.Load())
	}
}

// TestBadFiles needs no real one.
func TestBadFiles(t *testing.T) {
	for _, text := range append(badFiles,
		"a 0 dso x /y",
		"a 2 dso x /"+strings.Repeat("y", 3000),
		"a 2 dso x /y\n[access]\nallow user no-such-user : all;",
		"a 2 dso x /y\n[access]\ndisallow group no-such-group : store;",
		"a 2 dso x /y\n[access]\nallow user root : all; disallow user root : store;",
		"a 2 dso x /y\n[access]\nallow group root : all, maximum 2 connections; allow group root : maximum 3 connections;",
		"a 2 dso x /y\n[access]\nallow user * : all; disallow users root, * : store;",
		"a 2 dso x /y\n[access]\nallow users : all;",
		"a 2 dso x /y\n[access]\nallow groups root, : all;",
		"a 2 dso x /y\n[access]\nallow 10.*.1 : store;",
		"a 2 dso x /y\n[access]\nallow 10.1x* : store;",
		"a 2 dso x /y\n[access]\nallow \"fe80::*:1\" : store;",
		"a 2 dso x /y\n[access]\nallow * : store; disallow * : store;",
	) {
		if _, err := conf.Parse(strings.NewReader(text)); err == nil {
			t.Errorf("%.80q was taken", text)
		}
	}
}

// TestFilesUnlikeTheRealOne has files that the real one judges wrongly: it
// forgets errors before a good line, and does not take its own "unlimited
// connections".
func TestFilesUnlikeTheRealOne(t *testing.T) {
	file, err := conf.Parse(strings.NewReader("x 2 dso\nz 4 pipe binary /bin/z\n"))
	if err == nil || file == nil || len(file.Agents) != 1 {
		t.Errorf("a bad line before a good one: %+v, %v", file, err)
	}
	if _, err := conf.Parse(strings.NewReader("[access]\nallow * : unlimited connections;")); err != nil {
		t.Errorf("unlimited connections: %v", err)
	}
}

// TestLenient has lines that a collector refuses.
func TestLenient(t *testing.T) {
	got := conf.Lenient(strings.NewReader("linux 60 pipe\n# x\nsimple 253 dso simple_init rel/pmda_simple.so extra\nodd\nworse 1x dso\nagain 253 dso y\n[access]\nz 9 dso a /b\n"))
	want := []conf.Agent{
		{Name: "linux", Domain: 60, Transport: conf.Transport{Kind: conf.Pipe}},
		{Name: "simple", Domain: 253, Transport: conf.Transport{Kind: conf.DSO, Entry: "simple_init", Path: "rel/pmda_simple.so"}},
		{Name: "odd"},
		{Name: "worse"},
		{Name: "again", Domain: 253},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range append(badFiles, goodFiles...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "allow") {
			return // may ask the resolver
		}
		file, err := conf.Parse(strings.NewReader(text))
		if (err == nil) && file == nil {
			t.Error("neither file nor error")
		}
	})
}

// TestUnknownHost checks that a rule for a host without an address, and a rule
// that contradicts another, are left out and reported.
func TestUnknownHost(t *testing.T) {
	f := func(text, want string, harmless bool) {
		t.Helper()
		file, err := conf.Parse(strings.NewReader("a 2 dso x /y\n[access]\n" + text))
		var ferr *conf.Error
		if !errors.As(err, &ferr) || ferr.Harmless != harmless || (file != nil) != harmless || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q, harmless %v", text, file, err, want, harmless)
		}
	}
	f(`disallow no-such-host.invalid, ".*" : store;`, "Warning: the following access control specification will be ignored\npmcd config[line 3]: Warning: access control error for host 'no-such-host.invalid': ", true)
	f(`allow no-such-host.invalid : all;`, "no valid statements in [access] section", false)
	f(`allow "local:*" : all; disallow "*" : store;`, "Error: Permission clash for unix: with earlier statement for unix:", true)
	f(`allow "unix:" : all; disallow "unix:" : store;`, "access control error for host 'unix:': ", false)
}

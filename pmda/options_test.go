package pmda_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// TestDaemonOwn has options of an agent's own.
func TestDaemonOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	var got []string
	d := daemon()
	d.PipeOnly = true
	d.Own = []pmda.Option{
		{Short: 'm', Long: "memory", Arg: "BYTES", Help: "bytes for each queue"},
		{Short: 'l', Long: "local", Help: "in place of the log"},
		{Long: "quiet"},
		{Help: "More"},
		{Short: 'x', Help: "for experts"},
		{Arg: "|", Help: "All of them may be given."},
	}
	d.Set = func(o *pmda.Option, arg string) error {
		if arg == "none" {
			return fmt.Errorf("--%s needs a number, not %q", o.Long, arg)
		}
		got = append(got, fmt.Sprintf("%c %s=%s", max(o.Short, ' '), o.Long, arg))
		return nil
	}
	if status, _, errout := run(t, d, hello(), "-m", "5", "-xl", "--memory=7", "--quiet", "-d", "7"); status != 0 {
		t.Errorf("status %d, %s", status, errout)
	}
	if want := "[m memory=5 x = l local= m memory=7   quiet=]"; fmt.Sprint(got) != want {
		t.Errorf("the agent gets %v, want %s", got, want)
	}
	const usage = `pmdatest: --memory needs a number, not "none"
Usage: pmdatest [options]

Options:
  -d NUM, --domain=NUM  use domain (numeric) for metrics domain of PMDA
  -h FILE, --helpfile=FILE
                        path to PMDA metrics help text file
  -U USER, --username=USER
                        run the PMDA using the named user account
  -?, --help            show this usage message and exit
  -m BYTES, --memory=BYTES
                        bytes for each queue
  -l, --local           in place of the log

More:
  -x                    for experts
All of them may be given.
`
	if status, _, errout := run(t, d, hello(), "-m", "none"); status != 1 || errout != usage {
		t.Errorf("status %d\n%s\nwant\n%s", status, errout, usage)
	}
	d.Set = nil
	if status, _, errout := run(t, d, hello()); status != 1 || !strings.Contains(errout, "needs New") {
		t.Errorf("options without Set: status %d, %s", status, errout)
	}
}

// TestDaemonOrder checks the order of the steps of setting up, and that none is
// done before a mistake is found.
func TestDaemonOrder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var steps []string
	step := func(s string) {
		if _, err := os.Stat("order.log"); err == nil {
			s += " with log"
		}
		steps = append(steps, s)
	}
	a := &orderly{step: step}
	d := &pmda.Daemon{
		Name: "pmdaorder", Domain: 1,
		Own:  []pmda.Option{{Short: 'o', Help: "own"}},
		Set:  func(*pmda.Option, string) error { step("options"); return nil },
		Args: func([]string) error { step("args"); return nil },
		New:  func(int, *slog.Logger) (pmda.Agent, error) { step("new"); return a, nil },
	}
	if status, _, errout := run(t, d, hello(&wire.DescReq{}), "-o"); status != 0 {
		t.Errorf("status %d, %s", status, errout)
	}
	if want := "[options args new with log request with log close with log]"; fmt.Sprint(steps) != want {
		t.Errorf("steps are %q, want %s", steps, want)
	}
	d.New = nil
	if status, out, errout := run(t, d, hello()); status != 1 || out != "" || !strings.Contains(errout, "pmdaorder: a Daemon needs New") {
		t.Errorf("without New: status %d, %q, %q", status, out, errout)
	}
	d.New = func(int, *slog.Logger) (pmda.Agent, error) { return nil, nil }
	if status, out, errout := run(t, d, hello(), "-l-"); status != 1 || out != "" || !strings.Contains(errout, "the function New made no agent") {
		t.Errorf("without an agent: status %d, %q, %q", status, out, errout)
	}
}

type orderly struct {
	oddAgent
	step func(string)
}

func (a *orderly) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	a.step("request")
	return pcp.Desc{PMID: id}, nil
}

func (a *orderly) Close() error {
	a.step("close")
	return nil
}

// TestDaemonHelp checks that help texts of files take the place of the agent's,
// both of files that newhelp makes and of their source.
func TestDaemonHelp(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const source = "# a source\n@ test.one from the file\nAt length,\nin two lines.\n@ 400.0.2 two\n@ 400.3 some domain\n"
	if err := os.WriteFile("source", []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) (texts []string, log string) {
		t.Helper()
		d := daemon()
		make := d.New
		d.New = func(domain int, log *slog.Logger) (pmda.Agent, error) {
			a, err := make(domain, log)
			return &texted{a.(*pmda.Table)}, err
		}
		one, three := uint32(pcp.NewPMID(400, 0, 0)), uint32(pcp.NewPMID(400, 0, 9))
		status, out, log := run(t, d, hello(
			&wire.TextReq{Ident: one, Kind: pcp.TextPMID | pcp.TextOneLine},
			&wire.TextReq{Ident: one, Kind: pcp.TextPMID | pcp.TextHelp},
			&wire.TextReq{Ident: uint32(pcp.NewInDom(400, 3)), Kind: pcp.TextInDom | pcp.TextOneLine},
			&wire.TextReq{Ident: three, Kind: pcp.TextPMID | pcp.TextOneLine},
		), append(args, "-l-")...)
		if status != 0 {
			t.Fatalf("status %d, %s", status, log)
		}
		r := wire.NewReader(readWriter{bytes.NewBufferString(out)})
		r.Next() // the credentials
		for {
			h, body, err := r.Next()
			if err != nil {
				return texts, log
			}
			p, err := wire.Decode(h, body)
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := p.(*wire.Text); ok {
				texts = append(texts, text.Text)
			} else {
				texts = append(texts, "none")
			}
		}
	}
	want := []string{"from the file", "At length,\nin two lines.", "some domain", "of the agent"}
	if got, log := ask("-h", "source"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("with the source texts are %q, want %q\n%s", got, want, log)
	}
	own := []string{"of the agent", "of the agent", "of the agent", "of the agent"}
	if got, log := ask("--helpfile", "nosuch"); fmt.Sprint(got) != fmt.Sprint(own) ||
		!strings.Contains(log, `Warning: PMDA pmdatest: Unable to open help text file(s) from "nosuch": No such file or directory`) {
		t.Errorf("without the file texts are %q\n%s", got, log)
	}
	if err := os.WriteFile("bad.dir", []byte("this is no directory"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, log := ask("-hbad"); fmt.Sprint(got) != fmt.Sprint(own) || !strings.Contains(log, `from "bad": bad.dir: not version 2 PCP help text`) {
		t.Errorf("with a bad file texts are %q\n%s", got, log)
	}
	if err := os.WriteFile("names", []byte("@ test.nosuch no\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, log := ask("-h", "names"); fmt.Sprint(got) != fmt.Sprint(own) || !strings.Contains(log, `help: [names:2] test.nosuch: Unknown metric name, entry abandoned`) {
		t.Errorf("with a name that is none texts are %q\n%s", got, log)
	}
	if oracle.Path("newhelp") == "" {
		oracle.Require(t)
	}
	if err := os.WriteFile("root", []byte("root {\n\ttest\n}\ntest {\n\tone 400:0:0\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := oracle.Run(t, "newhelp", "-n", filepath.Join(dir, "root"), "-o", filepath.Join(dir, "made"), filepath.Join(dir, "source")); out.Exit != 0 {
		t.Fatalf("newhelp: %+v", out)
	}
	if got, log := ask("-h", filepath.Join(dir, "made")); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("with newhelp's files texts are %q, want %q\n%s", got, want, log)
	}
}

type texted struct{ *pmda.Table }

func (*texted) Text(context.Context, uint32, pcp.TextKind) (string, error) {
	return "of the agent", nil
}

type readWriter struct{ *bytes.Buffer }

// TestDaemonListing checks that -D libpmda lists what an agent has, in the words
// of libpcp_pmda.
func TestDaemonListing(t *testing.T) {
	indom := &pmda.InDom{Serial: 3}
	value := func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(1), nil }
	d := &pmda.Daemon{Name: "pmdalist", Domain: 72, New: func(domain int, _ *slog.Logger) (pmda.Agent, error) {
		table, err := pmda.NewTable(pmda.Config{Name: "list", Domain: domain, InDoms: []*pmda.InDom{{Serial: 9}}, Metrics: []pmda.Metric{
			{Item: 0, Type: pcp.TypeU32, Value: value},
			{Item: 4, Type: pcp.TypeU32, Value: value, InDom: indom},
			{Cluster: 7, Item: 5, Type: pcp.TypeU32, Value: value, InDom: indom},
		}})
		return &texted{table}, err // as in an agent that embeds its table
	}}
	_, _, log := run(t, d, hello(), "-Dlibpmda", "-l-", "-d", "73")
	var got strings.Builder
	for line := range strings.Lines(log) {
		if _, text, ok := strings.Cut(line, ") "); ok {
			got.WriteString(text)
		}
	}
	const want = `Debug: pmdaInit: PMDA pmdalist: Metric 73.0.4(1) matched to indom 73.3(0)
Debug: pmdaInit: PMDA pmdalist: Metric 73.7.5(2) matched to indom 73.3(0)
Info: name        = pmdalist
Info: domain      = 73
Info: num metrics = 3
Info: num indom   = 2
`
	if got.String() != want {
		t.Errorf("the log is\n%s\nwant\n%s", &got, want)
	}
}

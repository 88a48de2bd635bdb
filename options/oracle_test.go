package options_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/options"
	"github.com/go-pcp/pcp/pcptime"
)

// noon is when the archives of the tests start.
const noon = 1709640000

// newArchive makes an archive of eleven seconds.
func newArchive(t testing.TB, base, host string, start int64) {
	t.Helper()
	im, err := importer.Start(base, importer.Options{Host: host, TimeZone: "CET-1CEST"})
	if err != nil {
		t.Fatal(err)
	}
	flow, err := im.NewMetric("store.flow", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(11) {
		flow.PutInt(i * i)
		if err := im.Write(time.Unix(start+i, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
}

// lines are the command lines that both get, with the environment before "tool". FLAGS are
// flags of the options: m multi, x mixed, p POSIX, e environment only.
const lines = `
tool -a store
tool --archive=store a -q b --quiet
tool --arch store
tool -a store -a attic
tool -a store -a store
FLAGS=m tool -a store -a attic
FLAGS=m tool --archive-list store,attic,store
tool --archive-list store,attic
tool --archive-folio folio
tool --archive-folio nosuch
tool --archive-folio hosts
tool -a nosuch
tool -a store -h localhost
tool -h localhost -a store
FLAGS=mx tool -a store -h localhost -n nosuch
tool -h localhost -h localhost
tool -h localhost
tool -h host:x:y
FLAGS=m tool -h a -h b -H hosts --host-list c,,d -w 0
tool --host-list a,b
tool -H hosts
tool -H nosuch
tool
tool -L -K clear
tool -L -K clear -z
tool -L -K clear -Z EST5EDT
tool -K nonsense -L
tool -K clear, -L
tool -K add,1 -L
tool -a store -z
tool -a store -Z EST5EDT
tool -a store -z -Z EST5EDT
tool -a store -Z EST5EDT -z
tool -z
tool -a store -Z Asia/Tokyo -S @21:00:03 -T +4sec
tool -a store -S +3sec -T -2sec -O +1sec -A 2sec
tool -a store -S 1hour -T 2hour
tool -a store -S @nonsense
tool -a store -T nonsense!
tool -a store -A 0
tool -a store -A week
tool -a store -O @99:00
tool -S 10sec -h localhost
tool -t 2min -s 5 -a store
tool -t 2.5 -a store
tool -t nonsense
tool -t
tool -s many
tool -s -3
tool -s 0 -a store
tool -g -a store -q
tool -p 5000 -a store
tool -p x -a store
tool -g -p 5
tool -p 5 -g
tool -D fetch,pmapi -s x
tool -D nonsense
tool -w 5 -x --colour=red -a store
tool -w 0
tool --width
tool --colour
tool --colour blue -a store word
tool --co blue -a store
tool --hos x
tool --quiet=1
tool -k
tool -xq1
tool --nosuch
tool -n nosuch
tool -n names -a store
tool -N twice -a store
tool -n twice -a store
tool --derived defs -a store
tool --derived bad -a store
tool --derived nosuch
tool -V
tool -V -k
tool -?
tool --help
tool --version
tool -a store word -q -- -x -y
FLAGS=p tool -a store word -q
POSIXLY_CORRECT=1 tool -a store word -q
POSIXLY_CORRECT= tool -a store word -q
FLAGS=e PCP_ARCHIVE=store tool -a attic
PCP_ARCHIVE=store tool
PCP_ARCHIVE=store tool -h localhost
PCP_ARCHIVE_LIST=store,attic tool
PCP_FOLIO=folio tool
PCP_HOST=localhost tool
PCP_HOST=a tool -h b
PCP_HOST_LIST=a,b tool
PCP_LOCALPMDA= PCP_SPECLOCAL=clear tool
PCP_ARCHIVE=store PCP_ALIGN_TIME=3sec PCP_START_TIME=1sec PCP_FINISH_TIME=8sec PCP_ORIGIN=4sec tool
PCP_ARCHIVE=store PCP_SAMPLES=7 PCP_INTERVAL=3 PCP_TIMEZONE=UTC tool
PCP_ARCHIVE=store PCP_SAMPLES=7 PCP_INTERVAL=3 tool -s 8 -t 4
PCP_ARCHIVE=store PCP_HOSTZONE= tool
PCP_ARCHIVE=store PCP_GUIMODE= tool
PCP_ARCHIVE=store PCP_GUIPORT=7 tool
PCP_SAMPLES=x tool
PCP_DEBUG=nonsense tool -a store
PCP_NAMESPACE=names PCP_ARCHIVE=store tool
PCP_UNIQNAMES=twice PCP_ARCHIVE=store tool
TZ=EST5EDT tool -a store
PCP_STDERR=/dev/null/x tool -k
`

// files are what the lines name.
var files = map[string]string{
	"folio": "PCPFolio\nVersion: 1\n# use pmafm(1) to process this PCP archive folio\nCreated: on x at y\nArchive:\tcellar\tstore\n",
	"hosts": "# some\n\n  one # first\ntwo\n",
	"names": "root {\n store\n}\nstore {\n flow 245:0:1\n}\n",
	"twice": "root {\n store\n}\nstore {\n flow 245:0:1\n flux 245:0:1\n}\n",
	"defs":  "twice = 2 * store.flow\n",
	"bad":   "twice = 2 * \n",
}

// machine returns a directory with the files and archives of the lines, and the environment.
func machine(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	newArchive(t, filepath.Join(dir, "store"), "cellar", noon)
	newArchive(t, filepath.Join(dir, "attic"), "cellar", noon+60)
	return dir, []string{
		"PATH=/usr/bin:/bin", "TZ=UTC", "LC_ALL=C", "PCP_DERIVED_CONFIG=",
		"PMCD_SOCKET=" + dir + "/none", "PMCD_PORT=1", "PMCD_CONNECT_TIMEOUT=5",
	}
}

// An outcome is what a program did.
type outcome struct {
	stdout, stderr string
	status         int
}

func (o outcome) String() string {
	s := o.stdout
	for line := range strings.Lines(o.stderr) {
		s += strings.TrimRight("2> "+line, " \n") + "\n"
	}
	return fmt.Sprintf("%s[status %d]\n", s, o.status)
}

// golden has what the C library does with the lines.
const golden = "testdata/options.golden"

// wanted returns the golden output for each line.
func wanted(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, part := range strings.Split(string(text), "$ ")[1:] {
		line, text, _ := strings.Cut(part, "\n")
		want[line] = strings.TrimRight(text, "\n") + "\n"
	}
	return want
}

// each calls f for all lines.
func each(f func(line string, env, args []string)) {
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		i := slices.Index(words, "tool")
		f(line, words[:i], words[i:])
	}
}

// TestOptions gives the lines to a program with this package, and compares its
// output with that of the C library, as recorded by TestOptionsOfC.
func TestOptions(t *testing.T) {
	want := wanted(t)
	dir, base := machine(t)
	t.Chdir(dir)
	n := 0
	each(func(line string, env, args []string) {
		n++
		got := strings.ReplaceAll(run(t, slices.Concat(base, env), args).String(), dir, "DIR")
		if got != want[line] {
			t.Errorf("%s:\n%swant\n%s", line, got, want[line])
		}
	})
	if n < 90 || len(want) != n {
		t.Errorf("%d lines, and golden has %d", n, len(want))
	}
}

// TestOptionsOfC gives the lines to a program with the C library. UPDATE=oracle records its
// output.
func TestOptionsOfC(t *testing.T) {
	oracle.Require(t)
	dir, base := machine(t)
	program := filepath.Join(dir, "tool")
	if out, err := exec.Command("cc", "-o", program, "testdata/options.c", "-lpcp").CombinedOutput(); err != nil {
		oracle.Missing(t, fmt.Sprintf("no C compiler, or not its headers: %v\n%s", err, out))
	}
	var made strings.Builder
	each(func(line string, env, args []string) {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(program, args[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, slices.Concat(base, env), &stdout, &stderr
		if err := cmd.Run(); err != nil {
			if _, ok := errors.AsType[*exec.ExitError](err); !ok {
				t.Fatal(err)
			}
		}
		o := outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
		fmt.Fprintf(&made, "$ %s\n%s\n", line, strings.ReplaceAll(o.String(), dir, "DIR"))
	})
	if os.Getenv("UPDATE") == "oracle" {
		if err := os.WriteFile(golden, []byte(strings.TrimSuffix(made.String(), "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, err := os.ReadFile(golden); err != nil || string(text)+"\n" != made.String() {
		t.Errorf("the C library does\n%s", made.String())
	}
}

// run is the counterpart of testdata/options.c.
func run(t *testing.T, environ, args []string) (o outcome) {
	t.Helper()
	vars := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	var stdout, stderr bytes.Buffer
	flag := func(f string) bool { return strings.Contains(vars["FLAGS"], f) }
	opts := options.Parse(&getopt.Program{
		Synopsis: "[options] word ...", Version: "6.0.3",
		Options: slices.Concat(getopt.General, []getopt.Option{
			getopt.Heading("Sources"),
			getopt.OptArchiveList, getopt.OptArchiveFolio, getopt.OptHostList, getopt.OptHostsFile, getopt.OptLocalPMDA,
			getopt.OptSpecLocal, getopt.OptUniqNames, getopt.OptContainer, getopt.OptDerived,
			getopt.Heading("Its own"),
			{Short: 'q', Long: "quiet", Help: "print less"},
			{Short: 'w', Long: "width", Arg: "N", Help: "columns of the report"},
			{Short: 'x', Help: "short only"},
			{Long: "colour", Arg: "NAME", Help: "long only"},
			{Arg: "|", Help: "  and a line of text"},
		}),
		Multi: flag("m"), Mixed: flag("x"), POSIX: flag("p"), EnvOnly: flag("e"),
		Own: func(o *getopt.Options, opt *getopt.Option, arg string) bool {
			switch {
			case opt.Short == 'q':
				fmt.Fprintln(&stdout, "quiet")
			case opt.Short == 'w':
				o.Number(opt, arg, 1, "a positive")
				fmt.Fprintln(&stdout, "width", arg)
			case opt.Short == 'x':
				fmt.Fprintln(&stdout, "x")
			case opt.Long == "colour":
				fmt.Fprintln(&stdout, "colour", arg)
			default:
				return false
			}
			return true
		},
		Config: config.NewLookup(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }),
		Stdout: &stdout, Stderr: &stderr,
	}, args)
	defer func() { o.stdout, o.stderr = stdout.String(), stderr.String() }()
	if status, exit := opts.Done(); exit {
		return outcome{status: status}
	}
	list := func(what string, names []string) {
		fmt.Fprint(&stdout, what)
		for _, name := range names {
			fmt.Fprintf(&stdout, " [%s]", name)
		}
		fmt.Fprintln(&stdout)
	}
	list("hosts", opts.Hosts)
	list("archives", opts.Archives)
	list("words", opts.Args)
	fmt.Fprintf(&stdout, "local %d gui %d port %d samples %d interval %d.%06d\n", bit(opts.Local), bit(opts.GuiMode()), opts.GuiPort(),
		opts.Samples, opts.Interval/time.Second, opts.Interval%time.Second/time.Microsecond)
	c, err := opts.Open(context.Background())
	if err != nil {
		return outcome{status: opts.Fatal(err)}
	}
	defer c.Close()
	if opts.FromArchive() {
		stamp := func(what string, at pcp.Timestamp) {
			if at == pcptime.Never {
				fmt.Fprintln(&stdout, what, "never")
				return
			}
			fmt.Fprintf(&stdout, "%s %d.%06d\n", what, at.Sec, at.Nsec/1000)
		}
		stamp("start", opts.Window.Start)
		stamp("finish", opts.Window.Finish)
		stamp("origin", opts.Window.Origin)
	}
	fmt.Fprintln(&stdout, "noon is", time.Unix(noon, 0).In(opts.Zone).Format(time.ANSIC))
	return outcome{}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

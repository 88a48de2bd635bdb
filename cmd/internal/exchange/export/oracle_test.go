package export

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func TestMain(m *testing.M) { twin.Main(m, Commands()...) }

// suiteArchives are archives of the suite, and metrics that are in them.
var suiteArchives = []struct {
	name    string
	metrics []string
}{
	{"20180416.10.00", []string{"disk.dev", "kernel.all.load", "mem.util.free", "kernel.uname", "hinv.ncpu", "network.interface.in.bytes,,,KB"}},
	{"omnibus_v3.0", []string{"sample.colour", "sample.string", "sample.bin", "sample.double", "sample.long", "sample.ulonglong", "sample.seconds"}},
	{"sample-secs", []string{"sample.seconds", "sample.milliseconds"}},
	{"pcp-zeroconf", []string{"kernel.all", "mem.util", "disk.all.total,total,,,8", "swap", "nosuch.metric"}},
	{"pmiostat_mark", []string{"disk.dev.read", "disk.dev.avactive,,,,raw", "disk.dev.read_bytes,,sda,MB"}},
}

// draw makes a command line of a program that writes or sends documents.
func draw(rnd *rand.Rand, tool string) []string {
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	a := suiteArchives[rnd.IntN(len(suiteArchives))]
	args := []string{"-a", filepath.Join(twin.SuiteRoot, "archives", a.name), "-s", pick("1", "2", "3", "5")}
	options := []func(){
		func() { args = append(args, "-t", pick("1", "2", "10s", "1min", "0.5")) },
		func() { args = append(args, pick("-r", "-R", "-G", "-H", "-5", "-I", "-v", "-5")) },
		func() { args = append(args, "-J", pick("1", "2", "-2", "0")) },
		func() { args = append(args, "-P", pick("0", "1", "6")) },
		func() { args = append(args, "-0", pick("0", "2")) },
		func() { args = append(args, "-i", pick("sd.*", ".*", "1 minute", "nosuch", "sda,sdb")) },
		func() { args = append(args, "-i", pick("sd.*", ".*"), "-j") },
		func() { args = append(args, pick("-8", "-9"), pick("1", "100", "-100")) },
		func() { args = append(args, pick("-b", "-B"), pick("KB", "MB", "x")) },
		func() { args = append(args, pick("-q", "-Q"), pick("count x 10^3", "count")) },
		func() { args = append(args, pick("-y", "-Y"), pick("s", "hour")) },
		func() { args = append(args, pick("-S", "-T", "-O"), pick("1", "+3", "-4", "2s", "@00:00", "x")) },
		func() {
			args = append(args, pick("-A 1min", "-A 5sec", "-K clear", "-N nosuch", "-s x", "-4 ignore", "--nosuch", "-i (", "-t 0", "-J x", "-P -1"))
		},
		func() { args = append(args, "-N", a.metrics[rnd.IntN(len(a.metrics))], "-J", "1") },
		func() {
			args = append(args, "-e", pick("my.load=kernel.all.load*2", "my.x=sample.long.ten+1", "bad", "a.b=1+"))
		},
	}
	if tool == "pcp2json" || tool == "pcp2xml" {
		options = append(options,
			func() { args = append(args, pick("-x", "-X", "-C", "-m", "-E", "-n")) },
			func() { args = append(args, pick("-Z UTC", "-Z EST5EDT", "-z", "-Z JST-9")) },
			func() { args = append(args, "-f", pick("%H:%M:%S", "%s", "x", "%c", "")) })
	}
	for range rnd.IntN(4) {
		options[rnd.IntN(len(options))]()
	}
	for i := 0; i < len(args); i++ { // "-Z UTC"
		if f := strings.Fields(args[i]); len(f) == 2 && len(f[0]) == 2 && f[0][0] == '-' {
			args = slices.Replace(args, i, i+1, f...)
		}
	}
	for range 1 + rnd.IntN(3) {
		args = append(args, a.metrics[rnd.IntN(len(a.metrics))])
	}
	return args
}

// usage cuts a usage message off: its text is ours.
func usage(b []byte) string {
	text, _, found := bytes.Cut(b, []byte("Usage:"))
	if found {
		return string(text) + "[usage]"
	}
	return string(b)
}

// failed reports whether Python gave up with a traceback.
func failed(r twin.Result) bool { return bytes.Contains(r.Err, []byte("Traceback")) }

func compare(call twin.Call, want, got twin.Result) string {
	what := fmt.Sprintf("%s %q", call.Tool, call.Args)
	switch {
	case failed(want):
		if got.Status < 0 || got.Status == 2 {
			return fmt.Sprintf("%s: %s", what, got.Err)
		}
		return ""
	case !bytes.Equal(want.Out, got.Out):
		return what + ": output differs: " + twin.FirstDifference(want.Out, got.Out)
	case usage(want.Err) != usage(got.Err):
		return fmt.Sprintf("%s: messages differ:\n%s\nours:\n%s", what, want.Err, got.Err)
	case want.Status != got.Status:
		return fmt.Sprintf("%s: status %d, want %d", what, got.Status, want.Status)
	}
	return ""
}

// TestDocumentsOracle writes the same documents with both.
func TestDocumentsOracle(t *testing.T) {
	twin.NeedSuite(t)
	seed := longtest.Seed(t)
	for i := range longtest.N(8, 300) {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		tool := []string{"pcp2json", "pcp2xml"}[i%2]
		call := twin.Call{Tool: tool, Args: draw(rnd, tool)}
		if d := compare(call, call.Run(t, false), call.Run(t, true)); d != "" {
			t.Error(d)
		}
	}
}

// A listener keeps the data that clients send, and answers as a server of that
// kind.
type listener struct {
	net.Listener
	got  bytes.Buffer
	done chan struct{}
}

// listen serves one client after the other until the listener is closed.
func listen(t *testing.T, serve func(net.Conn, *bytes.Buffer)) *listener {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{Listener: ln, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serve(c, &l.got)
			c.Close()
		}
	}()
	return l
}

func (l *listener) port() string { return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) }

// all stops listening and returns the received data.
func (l *listener) all() string {
	l.Close()
	<-l.done
	return l.got.String()
}

func drain(c net.Conn, to *bytes.Buffer) { _, _ = to.ReadFrom(c) }

// posts serves HTTP and keeps methods, paths, kinds and bodies.
func posts(t *testing.T) *listener {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{Listener: ln, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		_ = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(&l.got, "%s %s %s\n", r.Method, r.URL, r.Header.Get("Authorization"))
			_, _ = l.got.ReadFrom(r.Body)
			l.got.WriteByte('\n')
			if strings.HasPrefix(r.URL.Path, "/write") {
				w.WriteHeader(http.StatusNoContent)
			}
		}))
	}()
	return l
}

// TestSendersOracle has both send the same samples to a server.
func TestSendersOracle(t *testing.T) {
	twin.NeedSuite(t)
	seed := longtest.Seed(t)
	for i := range longtest.N(5, 150) {
		rnd := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		tool := []string{"pcp2graphite", "pcp2zabbix", "pcp2influxdb", "pcp2elasticsearch", "pcp2graphite"}[i%5]
		if oracle.Path(tool) == "" {
			oracle.Missing(t, "no "+tool)
		}
		args := draw(rnd, tool)
		proto := strconv.Itoa(rnd.IntN(6))
		one := func(ours bool) (twin.Result, string) {
			var l *listener
			call := twin.Call{Tool: tool}
			switch {
			case tool == "pcp2graphite" && i%5 == 4:
				l = listen(t, drain)
				call.Args = []string{"-g", "127.0.0.1", "-E", l.port(), "-x", "x."}
			case tool == "pcp2graphite":
				l = listen(t, drain)
				call.Args = []string{"-g", "127.0.0.1", "-p", l.port(), "-X", proto}
			case tool == "pcp2zabbix":
				l = listen(t, zabbixServer("success"))
				call.Args = []string{"-g", "127.0.0.1", "-p", l.port(), "-l", "-X", "me"}
			case tool == "pcp2influxdb":
				l = posts(t)
				call.Args = []string{"-g", "http://127.0.0.1:" + l.port(), "-U", "u", "-E", "p", "-X", "a=b"}
			default:
				l = posts(t)
				call.Args = []string{"-g", "http://127.0.0.1:" + l.port(), "-X", "id"}
			}
			port := l.port()
			call.Args = append(call.Args, args...)
			r := call.Run(t, ours)
			r.Out = bytes.ReplaceAll(r.Out, []byte(port), []byte("PORT"))
			return r, l.all()
		}
		want, wantSent := one(false)
		got, gotSent := one(true)
		call := twin.Call{Tool: tool, Args: args}
		if d := compare(call, want, got); d != "" {
			t.Error(d)
		} else if wantSent != gotSent && !failed(want) {
			t.Errorf("%s %q: sent otherwise: %s", tool, args, twin.FirstDifference([]byte(wantSent), []byte(gotSent)))
		}
	}
}

// cells prints the cells of a sheet, with the styles that openpyxl reads.
const cells = `import openpyxl,sys
ws=openpyxl.load_workbook(sys.argv[1]).active
print(ws.title)
for r in ws.iter_rows():
    for c in r:
        line=c.border.top and c.border.top.style
        if c.value is not None or line: print(c.coordinate,repr(c.value),c.number_format,c.font.b,c.alignment.horizontal,line)
for k in sorted(ws.column_dimensions): print(k,ws.column_dimensions[k].width)
`

// TestSheetOracle makes the same sheet with both.
func TestSheetOracle(t *testing.T) {
	twin.NeedSuite(t)
	if oracle.Path("pcp2xlsx") == "" {
		oracle.Missing(t, "no pcp2xlsx")
	}
	dir := t.TempDir()
	var want string
	for _, ours := range []bool{false, true} {
		file := filepath.Join(dir, fmt.Sprint(ours)+".xlsx")
		call := twin.Call{Tool: "pcp2xlsx", Args: []string{
			"-F", file, "-a", filepath.Join(twin.SuiteRoot, "archives", "20180416.10.00"), "-s", "4", "-t", "2",
			"disk.dev.read", "kernel.all.load", "mem.util.free", "kernel.uname.release",
		}}
		if r := call.Run(t, ours); r.Status != 0 {
			t.Fatalf("%s%s", r.Out, r.Err)
		}
		out := oracle.Python(t, nil, cells, file)
		if out.Stderr != "" {
			t.Fatal(out.Stderr)
		}
		if !ours {
			want = out.Stdout
			// This program finds out how wide the column of hosts is cell by cell.
			continue
		}
		if got := out.Stdout; got != want {
			t.Errorf("the sheet: %s", twin.FirstDifference([]byte(want), []byte(got)))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "true.xlsx")); err != nil {
		t.Error(err)
	}
}

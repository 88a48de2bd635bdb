package pmcc_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A program is a program that the differential tests run.
type program struct {
	tool     string
	archives []string // of the suite, those with its metrics
	args     []string // source of random command lines
	lines    string   // command lines that are always run, one in each line
	// own means that the program reads options for the archive itself; otherwise pcp's variables
	// name it.
	own bool
	// script means that the C program is a shell script.
	script bool
}

// compareCommand runs both. Where Python ends with a traceback, or continues after one, ours may
// print an error instead.
func compareCommand(t *testing.T, call twin.Call) {
	t.Helper()
	call.KillAfter = time.Minute
	want, got := call.Run(t, false), call.Run(t, true)
	if want.Status == -1 { // it was too slow, only the output so far can be the same
		whole := want.Out[:bytes.LastIndexByte(want.Out, '\n')+1]
		if !bytes.HasPrefix(got.Out, whole) {
			t.Errorf("%s %q %q begins differently: %s", call.Tool, call.Env, call.Args, twin.FirstDifference(want.Out, got.Out))
		}
		return
	}
	if call.Tool == "pcp-uptime" && bytes.Contains(got.Err, []byte("has no value at that time")) {
		return // C's reads memory that is not its own
	}
	if call.Tool == "pcp-ss" { // the words about options are ours
		want.Out, _, _ = bytes.Cut(want.Out, []byte("\noptions:\n"))
		got.Out, _, _ = bytes.Cut(got.Out, []byte("\nOptions:\n"))
	}
	if bytes.Contains(want.Err, []byte("Traceback")) && got.Status == 1 && len(got.Err) > 0 && !bytes.Contains(got.Err, []byte("goroutine")) {
		return
	}
	if d := same(call, want, got); d != "" {
		t.Error(d)
	}
}

var (
	standard = []string{"-s", "3", "1", "-t", "2", "0.5", "2sec", "-S", "+1", "@12:00", "-T", "+10", "-A", "1min", "-O", "+3", "-0", "-z", "-Z", "UTC", "EST5EDT"}
	mistakes = []string{"-V", "-?", "--help", "--version", "--nosuch", "-q", "word", "--", "-", "", "-t", "zz", "-s", "-1"}
	devices  = []string{
		"-x", "t", "h", "noidle", "t,h", "dm", "dm t", "-xt", "-P", "0", "1", "3", "10", "11", "x", "-R", "^s", "sda$", "nvme|vd", "nosuch", "-G", "sum", "avg", "min",
		"max", "foo", "-u", "--aggregate=max", "--regex=.", "--precision=1", "--no-interpolation", "-xnoidle",
	}
)

func programs() []program {
	return []program{
		{
			tool: "pmiostat", own: true, args: devices,
			archives: []string{"pmiostat_mark", "dstat-disks", "zero_disk_activity", "simple-nvme", "dm-io", "20130706", "pcp-zeroconf", "dstat-diskfarm", "bozo-disk", "pcp-free"},
			lines: `
-s 5
-x t -s 3
-x t,h -t 10 -P 0
-P 1 -x t
-P 4 -x dm
-x dm,t -s 10
-G sum -R ^s -s 4
-G avg -x t -P 1 -s 4
-G min -s 3
-G max -R a -x noidle -s 3
-x noidle
-u
-u -x t -P 0
-u -t 1
-R nosuch
-R nosuch -G avg
-G foo
-P 11
-P -1
-P x`,
		},
		{
			tool: "pcp-iostat", own: true, args: devices,
			archives: []string{"pmiostat_mark", "dm-io", "pcp-zeroconf"},
			lines:    "-s 2 -x t",
		},
		{
			tool: "pcp-tapestat", own: true, args: devices,
			archives: []string{"pcp-tapestat-archive", "pcp-free"},
			lines: `
-s 30
-s 25 -x t
-x t,h -P 0 -s 4
-P 1 -s 4
-P 5 -x t -s 4
-u -s 5
-u -x t -P 0 -s 4
-G sum -R st -s 4
-G avg -s 4
-x noidle -s 4
-P 11`,
		},
		{
			tool: "pcp-mpstat", archives: []string{"pcp-mpstat", "pcp-mpstat2", "pcp-mpstat3", "pcp-zeroconf", "cputime", "pcp-free"},
			args: []string{
				"-u", "-A", "-P", "ALL", "ON", "0", "1,3", "0,x", " 1", "9", "-I", "SUM", "CPU", "SCPU", "ALL", "foo", "-IALL", "-PALL", "-PON", "-ISUM",
			},
			lines: `
-s 4
-A -s 3
-P ALL -s 3
-P ON -s 3
-P 0,1 -s 3
-I SUM -s 3
-I CPU -s 3
-I SCPU -s 3
-I ALL -s 3
-I SUM -P ALL -s 3
-I CPU -P 1 -s 3
-I ALL -P ON -s 3
-I foo -s 3
-u -P 0 -s 3
-P 0 -u -I SUM -s 3
-P x`,
			own: true,
		},
		{
			tool: "pcp-free", archives: []string{"pcp-free", "pcp-free-tera", "pcp-zeroconf", "pcp-uptime"},
			args: []string{
				"-b", "-k", "-m", "-g", "-r", "-o", "-l", "-t", "-w", "-c", "2", "3", "0", "x", "-s", "1", "0.5", "5sec", "-lt", "-wm", "-c2", "-s2", "--bytes",
				"--total", "--lohi", "--count=2", "--samples=2", "--seconds=2", "--interval=1", "--tera",
			},
			lines: "\n-b\n-k\n-m\n-g\n-r\n-o\n-l\n-t\n-w\n-lotw\n-c 3\n-c 2 -s 5\n-s 10\n-c x\n-s x\n-c 0",
		},
		{
			tool: "pcp-uptime", archives: []string{"pcp-uptime", "pcp-uptime2", "pcp-zeroconf", "pcp-free"}, lines: "\nword",
		},
		{
			tool: "pcp-ipcs", archives: []string{"pcp-ipcs", "pcp-zeroconf", "pcp-free"}, args: []string{"-l", "-u", "--limits", "--summary", "-lu", "--sum"},
			lines: "\n-l\n-u\n-l -u",
		},
		{
			tool: "pcp-numastat", archives: []string{"pcp-numastat-1-node", "numa", "pcp-zeroconf", "pcp-free"},
			args:  []string{"-w", "80", "40", "31", "0", "-1", "x", "1000", "-w64", "--width=50"},
			lines: "\n-w 80\n-w 32\n-w 1\n-w 0\n-w 48\n-w x",
		},
		{
			tool: "pcp-ss", archives: []string{"pcp-ss", "pcp-free"},
			args: []string{
				"-n", "-r", "-a", "-l", "-o", "-e", "-m", "-p", "-i", "-s", "-b", "-E", "-Z", "-z", "-N", "-4", "-6", "-0", "-t", "-M", "-S", "-u", "-d", "-w",
				"-x", "-H", "-O", "-tan", "-tQ", "-Q", "--all", "--al", "--e", "--tcp=1", "--foo", "-emi", "-V", "-ltu",
			},
			lines: "\n-a\n-l\n-t\n-u -a\n-x\n-w\n-4\n-6 -a\n-oemi -a\n-oemi -O\n-m\n-i -O -t\n-H\n-e -H\n-s\n-Z -p\nword\n-tQ\n--e\n--all=x\n-Q --foo x\n-- -t\n-M",
		},
		{
			tool: "pcp-vmstat", script: true, archives: []string{"pcp-vmstat", "pcp-zeroconf", "pcp-uptime"},
			args:  []string{"1", "2", "3", "0.5", "x", "-?"},
			lines: "1 3\n0.5 4\n1 2 3\nx\n1 x\n-?",
		},
	}
}

// find returns the archives of a program that the suite has.
func (p *program) find(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, name := range p.archives {
		path := filepath.Join(twin.SuiteRoot, "archives", name)
		if found, _ := filepath.Glob(path + ".meta*"); len(found) > 0 {
			list = append(list, path)
		}
	}
	if len(list) == 0 {
		t.Fatalf("the suite has no archive for %s", p.tool)
	}
	return list
}

// on returns the call of a program with an archive.
func (p *program) on(archive string, args []string) twin.Call {
	call := twin.Call{Tool: p.tool, Args: args}
	if p.own && len(args)%2 == 0 {
		call.Args = append([]string{"-a", archive}, args...)
		return call
	}
	call.Env = []string{"PCP_ARCHIVE=" + archive}
	return call
}

// TestCommandOptions runs both programs with each option over archives.
func TestCommandOptions(t *testing.T) {
	twin.NeedSuite(t)
	for _, p := range programs() {
		t.Run(p.tool, func(t *testing.T) {
			t.Parallel()
			list := p.find(t)
			for i, line := range strings.Split(p.lines, "\n") {
				for j, a := range list {
					if (i%3 != 0 || j != i/3%len(list)) && !longtest.Enabled() { // all on one archive are transcripts
						continue
					}
					compareCommand(t, p.on(a, strings.Fields(line)))
				}
			}
		})
	}
}

// TestRandomCommands runs both with command lines drawn at random, right and wrong.
func TestRandomCommands(t *testing.T) {
	twin.NeedSuite(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 17))
	list := programs()
	windows := []string{
		"PCP_START_TIME=+1", "PCP_START_TIME=@12:00", "PCP_FINISH_TIME=+20", "PCP_ORIGIN_TIME=+2", "PCP_ORIGIN_TIME=-0", "PCP_START_TIME=foo", "PCP_ALIGN_TIME=2",
		"PCP_INTERVAL=2", "PCP_SAMPLES=2", "PCP_FINISH_TIME=-1", "PCP_HOSTZONE=1", "PCP_TIMEZONE=EST5EDT", "PCP_INTERVAL=x", "PCP_SAMPLES=x",
	}
	var calls []twin.Call
	for range longtest.N(48, 2000) {
		p := &list[r.IntN(len(list))]
		pick := func(from []string) string { return from[r.IntN(len(from))] }
		var args []string
		from := [][]string{p.args, p.args, p.args}
		if p.own {
			from = append(from, standard)
		}
		for range r.IntN(6) {
			choice := from[r.IntN(len(from))]
			if r.IntN(12) == 0 && !p.script {
				choice = mistakes
			}
			if len(choice) > 0 {
				args = append(args, pick(choice))
			}
		}
		call := p.on(pick(p.find(t)), args)
		if r.IntN(2) == 0 && !p.script { // which does not end without a number of samples
			call.Env = append(call.Env, pick(windows))
		} else {
			call.Env = append(call.Env, "PCP_SAMPLES=3")
		}
		if r.IntN(25) == 0 {
			call.Env = []string{"PCP_ARCHIVE=/nowhere/no'such"}
		}
		calls = append(calls, call)
	}
	for i := range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for j := i; j < len(calls); j += 4 {
				compareCommand(t, calls[j])
			}
		})
	}
}

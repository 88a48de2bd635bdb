package dstat

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

func TestMain(m *testing.M) { twin.Main(m, Command) }

// archives are the archives of the suite with metrics of plugins.
var archives = []string{
	"pcp-dstat", "pcp-zeroconf", "dstat-disks", "dm-io", "pcp-pidstat", "20201109", "pcp-atop", "pcp-free", "pcp-vmstat", "pcp-mpstat",
	"nfsclient_64", "mysql-1", "pcp-ss", "pcp-pidstat-process-states", "simple-nvme", "20130706", "omnibus_v3", "pcp-verify", "vldb-disks", "small",
}

// needSuite returns the path of an archive of the suite.
func suiteArchive(t *testing.T, name string) string {
	t.Helper()
	twin.NeedSuite(t)
	path := filepath.Join(twin.SuiteRoot, "archives", name)
	if found, _ := filepath.Glob(path + ".meta*"); len(found) == 0 {
		t.Skipf("SKIPPED: the suite has no archive %s", name)
	}
	return path
}

// date matches the creation time of a table.
var date = regexp.MustCompile(`"Date:",".*"`)

// run runs one program and returns its output and the table that it writes.
func run1(t *testing.T, call twin.Call, ours bool) (twin.Result, string) {
	t.Helper()
	call.Dir = t.TempDir()
	res := call.Run(t, ours)
	table, err := os.ReadFile(filepath.Join(call.Dir, "table.csv"))
	if err != nil {
		return res, "none"
	}
	return res, date.ReplaceAllString(string(table), "DATE")
}

// compare runs both, reports differences, and returns whether there were figures. The text of usage messages is ours, and where Python gives up
// with a traceback, ours must continue or report why not.
func compare(t *testing.T, call twin.Call) (figures bool) {
	t.Helper()
	call.KillAfter = time.Minute
	var want, got twin.Result
	var wantTable, gotTable string
	for range 5 { // on a busy machine lines are skipped, even with archives
		want, wantTable = run1(t, call, false)
		got, gotTable = run1(t, call, true)
		if !bytes.Contains(want.Out, []byte(" missed ")) && !bytes.Contains(got.Out, []byte(" missed ")) {
			break
		}
	}
	text := func(b []byte) string {
		s, _, found := strings.Cut(string(b), "Usage:")
		if found {
			s += "[usage]"
		}
		return s
	}
	what := fmt.Sprintf("%s %q %q", call.Tool, call.Env, call.Args)
	wantErr, gotErr := text(want.Err), text(got.Err)
	if strings.Contains(wantErr, "Traceback") {
		if got.Status == 2 || got.Status == -1 {
			t.Errorf("%s: status %d: %s", what, got.Status, gotErr)
		}
		return false
	}
	switch {
	case string(want.Out) != string(got.Out):
		t.Errorf("%s: output differs: %s", what, twin.FirstDifference(want.Out, got.Out))
	case wantErr != gotErr:
		t.Errorf("%s: messages differ:\n%s\nours:\n%s", what, wantErr, gotErr)
	case want.Status != got.Status:
		t.Errorf("%s: status %d, want %d", what, got.Status, want.Status)
	case wantTable != gotTable:
		t.Errorf("%s: table differs: %s", what, twin.FirstDifference([]byte(wantTable), []byte(gotTable)))
	}
	return bytes.Count(got.Out, []byte("\n")) > 3
}

// TestRandomLines runs both with command lines drawn at random, over archives.
func TestRandomLines(t *testing.T) {
	oracle.Require(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 104))
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	shorts := "cdgilmnprstTyav"
	figures := 0
	for range longtest.N(15, 600) {
		from := pick(archives)
		call := twin.Call{Tool: "pcp-dstat", Env: []string{"PCP_ARCHIVE=" + suiteArchive(t, from)}}
		for range 1 + r.IntN(3) {
			switch r.IntN(5) {
			case 0, 1:
				n := 1 + r.IntN(4)
				word := "-"
				for range n {
					word += string(shorts[r.IntN(len(shorts))])
				}
				call.Args = append(call.Args, word)
			case 2, 3:
				plugin := pick(usable(t, from))
				if strings.HasPrefix(plugin, "top-") && from == "20201109" {
					continue // the C library reads the names of removed instances from freed memory
				}
				call.Args = append(call.Args, "--"+plugin)
			default:
				call.Args = append(call.Args, pick(someOptions))
			}
		}
		for range r.IntN(3) {
			call.Args = append(call.Args, pick(someOptions))
		}
		if r.IntN(2) == 0 {
			call.Args = append(call.Args, "-o", "table.csv")
		}
		switch r.IntN(4) {
		case 0:
			call.Args = append(call.Args, pick([]string{"1", "2", "5", "10", "60", "2.5", "1.5sec", "3 sec", "1min"}))
			call.Env = append(call.Env, "PCP_FINISH_TIME=+"+pick([]string{"3", "10", "1min", "5min"}))
		default:
			call.Args = append(call.Args, pick([]string{"1", "2", "5", "10", "60", "2.5", "300"}), pick([]string{"1", "2", "3", "5", "8"}))
		}
		if r.IntN(3) == 0 {
			call.Env = append(call.Env, pick([]string{
				"PCP_START_TIME=+1", "PCP_ORIGIN_TIME=+0.1", "PCP_ALIGN_TIME=10", "PCP_HOSTZONE=1", "PCP_TIMEZONE=EST5EDT",
				"PCP_SAMPLES=4", "PCP_INTERVAL=3", "PCP_FINISH_TIME=-1min", "DSTAT_TIMEFMT=%c", "DSTAT_TIMEFMT=%H:%M %Z", "TZ=Asia/Tokyo", "TZ=America/New_York",
				"PCP_START_TIME=foo", "PCP_COUNTER_WRAP=1",
			}))
		}
		if compare(t, call) {
			figures++
		}
	}
	t.Logf("%d reports have figures", figures)
}

// usable returns the plugins for which an archive has metrics, and some that few archives have.
func usable(t *testing.T, name string) []string {
	if list := plugins[name]; list != nil {
		return list
	}
	a, err := pmapi.OpenArchive(suiteArchive(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	installed := installed(t)
	var list []string
	for _, p := range installed.Names() {
		made, err := newPlugin(installed, p, &selection{})
		if err != nil {
			t.Fatal(err)
		}
		// One metric is enough: plugins that lack others are drawn too.
		for _, metric := range metricName.FindAllString(made.metrics[0].formulas[0], -1) {
			if _, err := a.LookupName(t.Context(), metric); err == nil {
				list = append(list, p)
				break
			}
		}
	}
	list = append(list, "gpfs", "aio", "redis")
	plugins[name] = list
	return list
}

// plugins caches the results of usable.
var plugins = make(map[string][]string)

var someOptions = []string{
	"-C0,1,total", "-C0", "-C1,total", "-C9", "-Dtotal", "-Dsda,total", "-Dsda,sdb", "-Dnvme.*", "-D.*,total", "-Nlo,total", "-Neth0", "-Nwlan0,total",
	"-N.*", "-I9,CAL", "-Itotal", "-Ssda2", "-Stotal", "-Ltotal", "-Lroot,total", "-Mtotal", "-Ptotal", "-Psda1,total", "-Psda1,sda2",
	"-f", "--full", "--bits", "--float", "--integer", "--bw", "--blackonwhite", "--color", "--nocolor", "--noheaders", "--noupdate", "--nomissed",
	"--color", "--time-adv", "--epoch-adv", "--vmstat", "--all", "--filesystem", "--partition", "--device-mapper", "--multi-device", "--plugin",
	"-q", "-h", "-?", "--list", "--nosuch", "--top", "--col", "--no", "-z", "--dbg", "--", "--disk", "--output=table.csv",
}

// installed returns all installed plugins.
func installed(t *testing.T) *conf.Sections {
	t.Helper()
	files, _ := filepath.Glob("/etc/pcp/dstat/*")
	all := conf.NewSections()
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := all.Read(path, string(text)); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

package atop

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

func TestMain(m *testing.M) { twin.Main(m, Command, SarCommand) }

// archives returns the archives of the suite used to test pcp-atop, each with the intervals that make few
// samples of it.
func archives(t *testing.T) map[string][]string {
	t.Helper()
	twin.NeedSuite(t)
	list := make(map[string][]string)
	for name, intervals := range map[string][]string{
		"pcp-atop": {"1", "2", "0.7"}, "pcp-atop-boot": {"1", "2"}, "pcp-atop-threads": {"1"}, "pcp-atop-nvidia": {"1"},
		"pcp-atop-log": {"1", "2"}, "pcp-hotatop": {"1"}, "pcp-zeroconf": {"1min", "45"}, "pmatop-log": {"1", "5"},
		"pcp-vmstat": {"1"}, "pcp-free-tera": {"10"},
	} {
		path := filepath.Join(twin.SuiteRoot, "archives", name)
		if found, _ := filepath.Glob(path + ".meta*"); len(found) == 0 {
			t.Skipf("SKIPPED: the suite has no archive %s", name)
		}
		list[path] = intervals
	}
	return list
}

// today is the date of today in the head of pcp-atopsar.
var today = regexp.MustCompile(`(?m)^(\S*  \S*  .*  )\d{4}/\d\d/\d\d$`)

// C prints uninitialized memory for the requests in flight of volumes and arrays.
var (
	inFlightText = regexp.MustCompile(`(?m)^((?:LVM|MDD) .*inflt )[^|]*`)
	inFlightLine = regexp.MustCompile(`(?m)^((?:LVM|MDD) \S+ \d+ \S+ \S+ \d+ \S+(?: \S+){7}) \S+`)
)

// With a single NUMA node C prints uninitialized memory for its processors too.
var oneNode = regexp.MustCompile(`(?m)^(NUC \S+ \d+ \S+ \S+ \d+) .*`)

func masked(b []byte) []byte {
	b = oneNode.ReplaceAll(b, []byte("$1"))
	b = today.ReplaceAll(b, []byte("$1"))
	b = inFlightText.ReplaceAll(b, []byte("$1"))
	return inFlightLine.ReplaceAll(b, []byte("$1"))
}

func TestDifferences(t *testing.T) {
	twin.Documented(t, "requests in flight", "`pcp-atop` shows the requests in flight")
	twin.Documented(t, "one NUMA node", "`NUC` lines of a single")
	twin.Documented(t, "sums of disks", "`pcp-atopsar -R` with another report before")
}

// same compares two results.
func same(call twin.Call, want, got twin.Result) string {
	what := fmt.Sprintf("%s %q %q", call.Tool, call.Env, call.Args)
	a, b := masked(want.Out), masked(got.Out)
	switch {
	case want.Status == -1: // a signal has ended it, and its buffered output is lost
		if got.Status < 0 || got.Status > 1 || len(got.Err) > 0 {
			return fmt.Sprintf("%s: status %d, %s", what, got.Status, got.Err)
		}
	case string(a) != string(b):
		return what + ": output differs: " + twin.FirstDifference(a, b)
	case string(want.Err) != string(got.Err):
		return fmt.Sprintf("%s: messages differ:\n%s\nours:\n%s", what, want.Err, got.Err)
	case want.Status != got.Status:
		return fmt.Sprintf("%s: status %d, want %d", what, got.Status, want.Status)
	}
	return ""
}

func compare(t *testing.T, call twin.Call) {
	t.Helper()
	call.KillAfter = time.Minute
	if d := same(call, call.Run(t, false), call.Run(t, true)); d != "" {
		t.Error(d)
	}
}

func pick(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }

// TestRandomReportsOfC compares reports of pcp-atopsar over archives with those of C, for random command
// lines.
func TestRandomReportsOfC(t *testing.T) {
	list := archives(t)
	paths := slices.Sorted(maps.Keys(list))
	r := rand.New(rand.NewPCG(longtest.Seed(t), 1))
	const reports = "cpPgmsBlfdhnjJiIwWyYuzZkKUtToOGDN"
	for range longtest.N(12, 400) {
		path := pick(r, paths...)
		var args []string
		flags := []byte(reports)
		r.Shuffle(len(flags), func(i, j int) { flags[i], flags[j] = flags[j], flags[i] })
		for _, f := range flags[:r.IntN(4)] {
			args = append(args, "-"+string(f))
		}
		for _, f := range "SxCMHa" {
			if r.IntN(4) == 0 {
				args = append(args, "-"+string(f))
			}
		}
		if r.IntN(5) == 0 {
			args = append(args, "-R", pick(r, "1", "2", "5"))
		}
		args = append(args, pick(r, list[path]...))
		if r.IntN(2) == 0 {
			args = append(args, pick(r, "1", "3", "6"))
		}
		compare(t, twin.Call{Tool: "pcp-atopsar", Args: args, Env: []string{"PCP_ARCHIVE=" + path, "PCP_HOSTZONE=1"}})
	}
}

// TestRandomScreensOfC compares the output of pcp-atop into a pipe with the output of C's, for random command lines.
func TestRandomScreensOfC(t *testing.T) {
	list := archives(t)
	paths := slices.Sorted(maps.Keys(list))
	r := rand.New(rand.NewPCG(longtest.Seed(t), 2))
	const labels = "CPU,cpu,CPL,GPU,MEM,SWP,PAG,PSI,LVM,MDD,DSK,NFM,NFC,NFS,NET,IFB,LLC,PRG,PRC,PRM,PRD,PRN,PRE"
	for range longtest.N(12, 400) {
		path := pick(r, paths...)
		var args []string
		if r.IntN(4) == 0 {
			all := strings.Split(labels, ",")
			args = append(args, "-P", pick(r, "ALL", pick(r, all...), pick(r, all...)+","+pick(r, all...)))
			if r.IntN(2) == 0 {
				args = append(args, "-Z")
			}
		} else {
			args = append(args, "-"+pick(r, strings.Split("gmdsvcupjX", "")...))
			for _, f := range "CMDEAafFGlyY1xRW" {
				if r.IntN(7) == 0 {
					args = append(args, "-"+string(f))
				}
			}
			if r.IntN(2) == 0 {
				args = append(args, "-L", pick(r, "20", "60", "100", "133", "180", "250"))
			}
		}
		if strings.HasSuffix(path, "hotatop") {
			args = append(args, "--hotproc")
		}
		args = append(args, pick(r, list[path]...), pick(r, "2", "3", "6"))
		compare(t, twin.Call{Tool: "pcp-atop", Args: args, Env: []string{"PCP_ARCHIVE=" + path, "PCP_HOSTZONE=1"}})
	}
}

// TestArgumentsOfC compares the messages about invalid options and arguments: C stops at some of them without a
// message, and continues after others.
func TestArgumentsOfC(t *testing.T) {
	twin.NeedSuite(t)
	path := filepath.Join(twin.SuiteRoot, "archives", "pcp-atop")
	for _, line := range []string{
		"--samples=x", "--samples=x abc", "--nosuch abc", "--interval=x abc", "-R x abc", "-L x abc", "-P nope abc", "--hostzone --timezone=UTC abc",
		"--timezone=UTC 1 x", "--samples", "--s=3 1", "1 0", "1 -2", "--align=x 1 1", "--start=x", "--finish=x 1", "1 2 3", "0.5 1", "-b x 1",
	} {
		for _, tool := range []string{"pcp-atop", "pcp-atopsar"} {
			for _, env := range []string{"PCP_HOSTZONE=1", "TZ=UTC"} {
				compare(t, twin.Call{Tool: tool, Args: strings.Fields(line), Env: []string{"PCP_ARCHIVE=" + path, env}})
			}
		}
	}
}

package pmcc_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/live/stat"
	"github.com/go-pcp/pcp/cmd/internal/reports/free"
	"github.com/go-pcp/pcp/cmd/internal/reports/iostat"
	"github.com/go-pcp/pcp/cmd/internal/reports/ipcs"
	"github.com/go-pcp/pcp/cmd/internal/reports/mpstat"
	"github.com/go-pcp/pcp/cmd/internal/reports/numastat"
	"github.com/go-pcp/pcp/cmd/internal/reports/pidstat"
	"github.com/go-pcp/pcp/cmd/internal/reports/ps"
	"github.com/go-pcp/pcp/cmd/internal/reports/ss"
	"github.com/go-pcp/pcp/cmd/internal/reports/tapestat"
	"github.com/go-pcp/pcp/cmd/internal/reports/uptime"
	"github.com/go-pcp/pcp/cmd/internal/reports/vmstat"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

func TestMain(m *testing.M) {
	twin.Main(m, ps.Command, pidstat.Command, iostat.Command, iostat.ClassicCommand, tapestat.Command, mpstat.Command, free.Command,
		uptime.Command, ipcs.Command, numastat.Command, ss.Command, vmstat.Command, stat.Command)
}

// archives returns those of the suite that have processes.
func archives(t *testing.T) []string {
	t.Helper()
	twin.NeedSuite(t)
	var list []string
	for _, name := range []string{
		"pcp-pidstat", "pcp-pidstat-process-states", "pcp-pidstat-timezone", "pcp-ps", "pcp-zeroconf",
		"pcp-pidstat_missing_one_metric", "pmiostat_mark",
	} {
		path := filepath.Join(twin.SuiteRoot, "archives", name)
		if found, _ := filepath.Glob(path + ".meta*"); len(found) == 0 {
			t.Skipf("SKIPPED: the suite has no archive %s", name)
		}
		list = append(list, path)
	}
	return list
}

// broken is how the Python programs print an error of a context.
var broken = regexp.MustCompile(`<bound method pmErr.progname of .*>: `)

// same compares two results. The text of usage messages is ours. Where Python ends with a
// traceback only its output before must be the same: ours must continue or print an error.
func same(call twin.Call, want, got twin.Result) string {
	usage := func(b []byte) string {
		text, _, found := strings.Cut(string(b), "Usage:")
		if found {
			text += "[usage]"
		}
		return broken.ReplaceAllString(text, call.Tool+": ")
	}
	what := fmt.Sprintf("%s %q %q", call.Tool, call.Env, call.Args)
	wantErr, gotErr := usage(want.Err), usage(got.Err)
	if strings.Contains(wantErr, "Traceback") {
		if !strings.HasPrefix(string(got.Out), string(want.Out)) && !strings.Contains(string(want.Out), "Error: Incorrect usage") {
			return what + ": begins differently: " + twin.FirstDifference(want.Out, got.Out)
		}
		if got.Status == 2 || got.Status == -1 {
			return what + ": " + gotErr
		}
		return ""
	}
	switch {
	case string(want.Out) != string(got.Out):
		return what + ": output differs: " + twin.FirstDifference(want.Out, got.Out)
	case wantErr != gotErr:
		return fmt.Sprintf("%s: messages differ:\n%s\nours:\n%s", what, wantErr, gotErr)
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

// TestOptions runs both programs with each option over archives.
func TestOptions(t *testing.T) {
	list := archives(t)
	more := func(i int, some ...string) []string { // the second ones for each sixth only
		if i%6 == 0 || longtest.Enabled() {
			return list
		}
		return some
	}
	for i, args := range []string{
		"", "-U", "-Uroot", "-I", "-r", "-k", "-R", "-B all", "-B detail", "-B R,D", "-B S -l", "-l", "-r -l -U", "-k -U",
		"-R -l -U", "-p 1,2", "-p ALL", "-G s.*d", "-f %c", "-f ''", "-t 2.5sec", "-Z UTC", "-B Detail -l",
	} {
		for _, a := range more(i, list[1]) {
			call := twin.Call{Tool: "pcp-pidstat", Args: []string{"-a", a, "-s", "4", "-z"}}
			for _, f := range strings.Fields(args) {
				if f == "-Z" {
					call.Args = call.Args[:4]
				}
				call.Args = append(call.Args, strings.Trim(f, "'"))
			}
			compare(t, call)
		}
	}
	for i, args := range []string{
		"", "-e", "-eu", "-u", "-p 1,2,30", "-P 0,1,2", "-c systemd,bash", "-U root", "-o all", "-o %cpu,%mem,start,time,cls",
		"-o cmd,pid,ppid,pri,state,rss,rtprio", "-o tty,uid,pname,vsize,uname,wchan", "-u -U root -p 1 -o pid", "-k -l x -u", "-e -t 2",
	} {
		for _, a := range more(i+1, list[3]) {
			compare(t, twin.Call{
				Tool: "pcp-ps", Args: strings.Fields(args),
				Env: []string{"PCP_ARCHIVE=" + a, "PCP_SAMPLES=3", "PCP_HOSTZONE=1", "PCP_ORIGIN_TIME=+1"},
			})
		}
	}
}

// TestRandomLines runs both with command lines drawn at random, right and wrong.
func TestRandomLines(t *testing.T) {
	list := archives(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 7))
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	args := []string{
		"-U", "-Uroot", "-I", "-r", "-k", "-R", "-B", "all", "R,S", "detail", "-l", "-p", "1", "1,2,x", "ALL", "-G", "^k", "-f", "%H.%M",
		"-t", "2", "0", "3sec", "zz", "-s", "3", "-1", "-V", "-?", "--help", "-x", "--samples=2", "--int=2", "--process-name=sy", "-Z", "UTC",
		"--timezone=EST5EDT", "-z", "--", "word", "--pid-list=1", "--user-name=root", "--user", "--nosuch", "-BR", "-rl", "",
	}
	psArgs := []string{
		"-e", "-u", "-p", "1", "1,2", "1, 2", "x", "-P", "0", "-c", "systemd", "bash,sshd", "-U", "root", "-o", "pid", "PID,uname,wchan", "all", "nosuch",
		"-k", "-l", "-V", "-?", "--help", "-t", "2", "-1", "-Z", "UTC", "--hostzone", "-z", "word", "--", "--nosuch", "--interval=2", "-ouser", "-opid,%mem", "-eu",
	}
	windows := []string{"PCP_START_TIME=+1", "PCP_FINISH_TIME=+5", "PCP_ORIGIN_TIME=+2", "PCP_START_TIME=foo", "PCP_ALIGN_TIME=2", "PCP_INTERVAL=2", "PCP_SAMPLES=2", "PCP_FINISH_TIME=-1"}
	for range longtest.N(50, 1000) {
		call := twin.Call{Tool: "pcp-pidstat", Env: []string{"PCP_ARCHIVE=" + pick(list)}}
		from := args
		if r.IntN(2) == 0 {
			call.Tool, from = "pcp-ps", psArgs
		}
		for range r.IntN(6) {
			call.Args = append(call.Args, pick(from))
		}
		if r.IntN(2) == 0 {
			call.Env = append(call.Env, pick(windows))
		} else {
			call.Env = append(call.Env, "PCP_SAMPLES=3")
		}
		if r.IntN(20) == 0 {
			call.Env = []string{"PCP_ARCHIVE=" + filepath.Join(os.TempDir(), "no'such")}
		}
		compare(t, call)
	}
}

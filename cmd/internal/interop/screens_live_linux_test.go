package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A sandwich is the output of a program: the real one, then ours, then the real one again. Counters
// of ours are between the other two, however busy the machine is.
type sandwich struct{ before, ours, after string }

// askThrice runs a command three times. Messages and exit status have to be the same.
func askThrice(t *testing.T, env []string, tool string, args ...string) sandwich {
	t.Helper()
	before := runLive(t, env, oracle.Path(tool), args)
	ours := runLive(t, env, twin.Tool(t, tool), args)
	after := runLive(t, env, oracle.Path(tool), args)
	if string(before.Err) != string(ours.Err) || before.Status != ours.Status {
		t.Errorf("%s %q: status %d %q, want %d %q", tool, args, ours.Status, ours.Err, before.Status, before.Err)
	}
	return sandwich{string(before.Out), string(ours.Out), string(after.Out)}
}

// askBoth runs a command twice at once: the real one and ours.
func askBoth(t *testing.T, env []string, tool string, args ...string) (want, got string) {
	t.Helper()
	var theirs twin.Result
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 10 {
			theirs = runLive(t, env, oracle.Path(tool), args)
			if !strings.Contains(string(theirs.Err), "IPC protocol failure") { // an alarm has met its request
				return
			}
		}
	})
	ours := runLive(t, env, twin.Tool(t, tool), args)
	wg.Wait()
	if string(theirs.Err) != string(ours.Err) || theirs.Status != ours.Status {
		t.Errorf("%s %q: status %d %q, want %d %q", tool, args, ours.Status, ours.Err, theirs.Status, theirs.Err)
	}
	return string(theirs.Out), string(ours.Out)
}

// within reports whether a number that only counts upward is between two others. Those of the kernel step back now and then.
func within(lo, n, hi float64) bool {
	slack := hi/100 + 10
	return lo-slack <= n && n <= hi+slack
}

// shaped reduces a line to its words and the places of numbers: each word with a digit is
// a number.
func shaped(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if strings.ContainsAny(w, "0123456789") {
			words[i] = "N"
		}
	}
	return strings.Join(words, " ")
}

// atopCounts are the columns of pcp-atop -P that count since the system was started, and atopSame those that do not change,
// both behind the six that each line has.
var (
	atopCounts = map[string][]int{
		"CPU": {2, 3, 4, 5, 6, 7, 8, 9, 10}, "cpu": {2, 3, 4, 5, 6, 7, 8, 9, 10}, "CPL": {4, 5}, "PAG": {1, 2, 4, 5, 10, 11},
		"DSK": {1, 2, 3, 4, 5}, "NET": {1, 2, 3, 4},
	}
	atopSame = map[string][]int{
		"CPU": {0, 1}, "cpu": {0, 1}, "CPL": {0}, "MEM": {0, 1}, "SWP": {0, 1}, "PAG": {0}, "DSK": {0}, "NET": {0},
		"PRG": {0, 1, 3, 4}, "PRC": {0, 1}, "PRM": {0, 1}, "PRD": {0, 1},
	}
)

// parseable are the lines of pcp-atop -P by their subject: a label, and the name of an instance. Of
// the processes only pid is included.
func parseable(text string, pid int) map[string][]string {
	lines := make(map[string][]string)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 7 {
			continue
		}
		key, own := f[0], f[6:]
		switch key {
		case "cpu":
			key += " " + own[1]
		case "DSK", "LVM", "MDD", "NET", "PRG", "PRC", "PRM", "PRD", "PRN", "PRE":
			key += " " + own[0]
		}
		if strings.HasPrefix(key, "PR") && own[0] != strconv.Itoa(pid) {
			continue
		}
		lines[key] = own
	}
	return lines
}

// TestLiveAtop asks a collector by the real pcp-atop and pcp-atopsar and by ours: for lines for programs, whose counters
// have to be between those of the real one before and after, for the screen, and for reports.
func TestLiveAtop(t *testing.T) {
	if oracle.Path("pcp-atop") == "" {
		oracle.Missing(t, "no pcp-atop")
	}
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "proc"}})
	env := slices.Concat(oracle.Env(), d.Env, []string{"PCP_HOST=" + d.Unix})

	t.Run("parseable", func(t *testing.T) {
		// This process has used processors, and is therefore shown.
		s := askThrice(t, env, "pcp-atop", "-a", "-P", "CPU,cpu,CPL,MEM,SWP,PAG,DSK,NET,PRG,PRC,PRM,PRD", "1", "1")
		pid := os.Getpid()
		before, ours, after := parseable(s.before, pid), parseable(s.ours, pid), parseable(s.after, pid)
		compared := 0
		for key, lo := range before {
			hi, n := after[key], ours[key]
			if hi == nil { // a network interface has gone
				continue
			}
			if len(n) != len(lo) && !strings.HasPrefix(key, "PRG") { // which has the command line
				t.Errorf("%s: %q, the real one has %q", key, n, lo)
				continue
			}
			label, _, _ := strings.Cut(key, " ")
			for _, i := range atopSame[label] {
				if n[i] != lo[i] {
					t.Errorf("%s: column %d is %s, want %s", key, i, n[i], lo[i])
				}
			}
			for _, i := range atopCounts[label] {
				a, err1 := strconv.ParseFloat(lo[i], 64)
				b, err2 := strconv.ParseFloat(n[i], 64)
				c, err3 := strconv.ParseFloat(hi[i], 64)
				if err1 != nil || err2 != nil || err3 != nil || !within(a, b, c) {
					t.Errorf("%s: column %d is %s, not between %s and %s", key, i, n[i], lo[i], hi[i])
				}
				compared++
			}
		}
		if _, ok := ours["PRG "+strconv.Itoa(pid)]; !ok || compared < 30 {
			t.Errorf("%d counters compared, of\n%s", compared, s.ours)
		}
	})

	// The part above the processes, without numbers: columns change with the width only.
	screen := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(shaped(line) + "\n")
			if strings.Contains(line, " PID ") {
				break
			}
		}
		return b.String()
	}
	for _, args := range [][]string{{"-L", "80", "1", "1"}, {"-L", "140", "-m", "1", "1"}, {"-L", "200", "-v", "-f", "1", "1"}} {
		t.Run("screen", func(t *testing.T) {
			t.Parallel()
			theirs, ours := askBoth(t, env, "pcp-atop", args...)
			want, got := screen(theirs), screen(ours)
			if want != got {
				t.Errorf("%q: %s", args, twin.FirstDifference([]byte(want), []byte(got)))
			}
			if strings.Count(got, "\n") < 6 {
				t.Errorf("%q prints\n%s", args, ours)
			}
		})
	}
	// A report without numbers. Live, the real one prints arbitrary text for a second
	// report.
	report := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(shaped(line) + "\n")
		}
		return b.String()
	}
	for _, flag := range []string{"-c", "-p", "-m", "-d", "-i", "-t"} {
		t.Run("report", func(t *testing.T) {
			t.Parallel()
			theirs, ours := askBoth(t, env, "pcp-atopsar", flag, "-a", "-S", "1", "1")
			want, got := report(theirs), report(ours)
			if want != got {
				t.Errorf("%s: %s", flag, twin.FirstDifference([]byte(want), []byte(got)))
			}
		})
	}
}

// dstatPlugins show values that can be compared: constants, counters as they are, and the time,
// which rises by a second each second.
const dstatPlugins = `[same]
label = constants
width = 8
hundred = sample.long.hundred
million = sample.long.million
text = sample.string.hullo
bins = sample.bin

[counts]
label = counters
width = 12
type = raw
printtype = d
user = kernel.all.cpu.user
sys = kernel.all.cpu.sys
csw = kernel.all.pswitch
out = network.interface.out.bytes

[steady]
label = steady
width = 8
ms = rate(sample.milliseconds)
`

// TestLiveDstat asks a collector by the real pcp-dstat and by ours: for plugins that can be compared, and for those of
// everyone, by heads and cells.
func TestLiveDstat(t *testing.T) {
	if oracle.Path("pcp-dstat") == "" {
		oracle.Missing(t, "no pcp-dstat")
	}
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "proc", "sample"}})
	home := t.TempDir()
	plugins := filepath.Join(home, ".pcp", "dstat")
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(plugins, "ours"), []byte(dstatPlugins), 0o644); err != nil {
		t.Fatal(err)
	}
	env := slices.Concat(oracle.Env(), d.Env, []string{"PCP_HOST=" + d.Unix, "HOME=" + home})

	t.Run("values", func(t *testing.T) {
		s := askThrice(t, env, "pcp-dstat", "--same", "--counts", "--steady", "1", "2")
		before, ours, after := strings.Split(s.before, "\n"), strings.Split(s.ours, "\n"), strings.Split(s.after, "\n")
		if len(ours) != len(before) || len(after) != len(before) || len(ours) < 5 {
			t.Fatalf("ours prints\n%s\nthe real one\n%s", s.ours, s.before)
		}
		for i := range ours {
			lo, n, hi := strings.Split(before[i], "|"), strings.Split(ours[i], "|"), strings.Split(after[i], "|")
			if i < 2 || len(n) < 3 {
				if before[i] != ours[i] {
					t.Errorf("line %d: %q, want %q", i, ours[i], before[i])
				}
				continue
			}
			if n[0] != lo[0] {
				t.Errorf("line %d: constants %q, want %q", i, n[0], lo[0])
			}
			a, b, c := strings.Fields(lo[1]), strings.Fields(n[1]), strings.Fields(hi[1])
			for j := range b {
				var nums [3]float64
				for k, f := range [][]string{a, b, c} {
					if j < len(f) {
						fmt.Sscan(f[j], &nums[k])
					}
				}
				if !within(nums[0], nums[1], nums[2]) || j < 3 && nums[1] == 0 {
					t.Errorf("line %d: counter %d is %s, not between %v and %v", i, j, b[j], nums[0], nums[2])
				}
			}
			if i == 2 { // a rate has no value yet
				continue
			}
			ms, err := strconv.ParseFloat(strings.TrimSpace(n[2]), 64)
			if err != nil || ms < 0.4 || ms > 2.5 {
				t.Errorf("line %d: %q s of milliseconds in a second", i, n[2])
			}
		}
	})

	for _, args := range [][]string{
		{"-tcdngy"},
		{"-afv"},
		{"-l", "-m", "-s", "-p", "-r", "-i", "--fs", "--socket", "--tcp", "--udp", "--unix", "--vm"},
		{"-c", "-C", "0,total", "-d", "-D", "total", "--float"},
		{"--time-adv", "--epoch", "--cpu-use", "--bits"},
	} {
		t.Run("shape", func(t *testing.T) {
			t.Parallel()
			theirs, ours := askBoth(t, env, "pcp-dstat", append(args, "1", "1")...)
			want, got := strings.Split(theirs, "\n"), strings.Split(ours, "\n")
			if len(want) != len(got) || len(got) < 4 {
				t.Fatalf("%q: ours prints\n%s\nthe real one\n%s", args, ours, theirs)
			}
			for i := range got {
				w, g := want[i], got[i]
				if i >= 2 {
					w, g = cells(w), cells(g)
				}
				if w != g {
					t.Errorf("%q: line %d: %q, want the form of %q", args, i, got[i], want[i])
				}
			}
		})
	}
}

// cell is a figure of pcp-dstat with the rest of its unit.
var cell = regexp.MustCompile(`^ *-?[0-9.:]+[A-Za-z]? *$`)

// cells reduces a line of pcp-dstat to where its cells end and begin, and the figures in each plugin to how many they are.
func cells(line string) string {
	var b strings.Builder
	for i, group := range strings.Split(line, "|") {
		if i > 0 {
			b.WriteByte('|')
		}
		for j, part := range strings.Split(group, ":") {
			if j > 0 {
				b.WriteByte(':')
			}
			fmt.Fprintf(&b, "%d", len(part))
			for _, f := range strings.Fields(part) {
				if cell.MatchString(f) {
					b.WriteString(" N")
				} else {
					b.WriteString(" " + f)
				}
			}
		}
	}
	return b.String()
}

package openmetrics_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/agent/openmetrics"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

const (
	suite    = "/var/lib/pcp/testsuite/openmetrics"
	inPython = "/usr/lib/pcp/pmdas/openmetrics/pmdaopenmetrics.python"
)

// startOurs runs our collector with the agent alone.
func startOurs(t testing.TB, cfg openmetrics.Config) (host string) {
	t.Helper()
	a, err := openmetrics.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return agenttest.Serve(t, "openmetrics", openmetrics.Domain, a)
}

// world is the Python agent under the real pmcd, and ours in our collector, over one folder.
type world struct {
	dir  string
	real *oracle.PMCD
	ours string
}

// startWorld starts both. The real agent reads the folder first; our numbers are its copies if that is
// wanted, else our own.
func startWorld(t *testing.T, fill func(dir string)) *world {
	t.Helper()
	oracle.Require(t)
	if _, err := os.Stat(inPython); err != nil {
		oracle.Missing(t, "no agent in Python: "+err.Error())
	}
	if out := oracle.Python(t, nil, "import requests"); out.Exit != 0 {
		oracle.Missing(t, "Python has no module requests: "+out.Stderr)
	}
	dir := filepath.Join(t.TempDir(), "config.d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fill(dir)
	w := &world{dir: dir}
	w.real = oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines:  []string{"openmetrics 144 pipe binary notready /usr/bin/pmpython " + inPython + " -d 144 -c " + dir},
		PMNS:   "root {\n\topenmetrics\t144:*:*\n}\n",
	})
	// Until it has read all its sources the real agent refuses requests.
	for end := time.Now().Add(2 * time.Minute); oracle.Run(t, "pminfo", "-h", w.real.Unix, "openmetrics.control.calls").Exit != 0; {
		if time.Now().After(end) {
			log, _ := os.ReadFile(filepath.Join(filepath.Dir(w.real.Log), "openmetrics.log"))
			t.Fatalf("the agent in Python does not become ready:\n%s", log)
		}
	}
	w.ours = startOurs(t, openmetrics.Config{Dirs: []string{dir}, State: t.TempDir(), Wait: true})
	return w
}

var (
	// hostLabels are of the collectors, and times and texts of the metrics about sources differ.
	hostLabels = regexp.MustCompile(`"(domainname|groupid|hostname|machineid|userid)":("[^"]*"|\d+),?`)
	ownText    = regexp.MustCompile(`(?m)^openmetrics\.control\.`)
)

func mask(s string) string {
	s = hostLabels.ReplaceAllString(s, "")
	return strings.ReplaceAll(s, ",}", "}")
}

// compare wants the same output of pminfo.
func (w *world) compare(t *testing.T, tree string, flags string) {
	t.Helper()
	var names [2][]string
	var outs [2]string
	for i, host := range []string{w.real.Unix, w.ours} {
		out := oracle.Run(t, "pminfo", "-h", host, tree)
		for _, name := range strings.Fields(out.Stdout) {
			if !ownText.MatchString(name) {
				names[i] = append(names[i], name)
			}
		}
		slices.Sort(names[i])
		out = oracle.Run(t, "pminfo", append([]string{"-b", "100000", "-h", host, flags}, names[i]...)...)
		outs[i] = mask(out.Stdout + out.Stderr)
	}
	if len(names[0]) == 0 {
		t.Fatalf("the real agent has nothing below %s", tree)
	}
	if diff := cmp.Diff(names[0], names[1]); diff != "" {
		t.Errorf("%s: names (-Python, +ours):\n%s", tree, diff)
	}
	theirs, mine := strings.Split(outs[0], "\n"), strings.Split(outs[1], "\n")
	for i := range min(len(theirs), len(mine)) {
		// In Python labels with quotes or backslashes are not JSON, and are lost.
		if _, labels, ok := strings.Cut(mine[i], "labels {"); ok && strings.Contains(labels, `\`) {
			before, _, _ := strings.Cut(theirs[i], "labels {")
			after, _, _ := strings.Cut(mine[i], "labels {")
			theirs[i], mine[i] = before, after
		}
	}
	if diff := cmp.Diff(theirs, mine); diff != "" {
		t.Errorf("pminfo %s %s (-Python, +ours):\n%s", flags, tree, diff)
	}
}

// TestSamples compares the two agents over the texts and scripts of the suite.
func TestSamples(t *testing.T) {
	texts, _ := filepath.Glob(suite + "/samples/*.txt")
	if len(texts) == 0 {
		oracle.Missing(t, "no samples of the suite")
	}
	w := startWorld(t, func(dir string) {
		for _, path := range texts {
			name := strings.NewReplacer(".", "_", "-", "_").Replace(strings.TrimSuffix(filepath.Base(path), ".txt"))
			write(t, filepath.Join(dir, name+".url"), "file://"+path+"\n", 0o644)
		}
		if err := os.CopyFS(dir, os.DirFS(suite+"/scripts")); err != nil {
			t.Fatal(err)
		}
	})
	for _, flags := range []string{"-dmtTl", "-f"} {
		w.compare(t, "openmetrics", flags)
	}
}

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestGenerated compares the two agents over texts made at random.
func TestGenerated(t *testing.T) {
	r := rand.New(rand.NewPCG(longtest.Seed(t), 144))
	w := startWorld(t, func(dir string) {
		for i := range longtest.N(40, 200) {
			path := filepath.Join(dir, fmt.Sprintf("g%d.txt", i))
			write(t, path, randomText(r), 0o644)
			write(t, filepath.Join(dir, fmt.Sprintf("g%d.url", i)), "file://"+path+"\n"+randomRules(r), 0o644)
		}
	})
	for _, flags := range []string{"-dmtTl", "-f"} {
		w.compare(t, "openmetrics", flags)
	}
}

func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

// randomRules are lines of a file with a URL.
func randomRules(r *rand.Rand) (text string) {
	for range r.IntN(3) {
		text += pick(r, "FILTER: EXCLUDE METRIC m1.*", "FILTER: INCLUDE METRIC m1|m2", "FILTER: EXCLUDE LABEL c", "FILTER: OPTIONAL LABEL b",
			"METADATA: m2 u32 x counter Kbyte / sec", "METADATA: m3.* 64 PM_INDOM_NULL discrete none", "# comment", "", "OTHER: x", "FILTER:  EXCLUDE  METRIC  m4_count$") + "\n"
	}
	return text
}

// randomText is a text in which most lines make sense. A metric has labels or not, and no value is too large for
// its type: the agent in Python then loses the value that comes next.
func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range 30 {
		if r.IntN(3) == 0 {
			b.WriteString(pick(r, "# HELP m1 some help\\nmore of it", "# HELP m  spaces   between", "# TYPE m1 counter", "# TYPE m2 histogram", "# TYPE m3 summary", "# TYPE x gauge",
				"# Type m1 counter", "#", "# ", "#HELP m1 none", "# PCP5 m3.x 1.2.3 u64 PM_INDOM_NULL instant Mbyte", "# PCP5 m5 1.2.3 64 1.2 discrete count", "# PCP5 m6.y 1.2.3 string 1.2 instant none",
				"# PCP m4 counter byte", "# UNIT m1 seconds", "# EOF", "", "   ") + "\n")
			continue
		}
		name := pick(r, "m1", "m1_total", "m2_bucket", "m3_seconds", "m4_count", "m5_bytes", "m6:microseconds", "m7_sum", "s1", "s2_total", "s3:x")
		b.WriteString(pick(r, "", " ", "\t") + name)
		if name[0] == 'm' {
			b.WriteString(pick(r, "", "", " "))
			b.WriteString("{" + pick(r, "", " "))
			for i := range 1 + r.IntN(3) {
				if i > 0 {
					b.WriteString(pick(r, ",", ", ", " , "))
				}
				name := "a" // never excluded: without any label the agent in Python reads no further
				if i > 0 {
					name = pick(r, "a", "b", "c", "le", "instance", "instname")
				}
				b.WriteString(name + pick(r, "=", "=", " = ") + `"` + pick(r, "1", "2", "x y", "0.5", "+Inf", "", ",", "}") + `"`)
			}
			b.WriteString(pick(r, "", "", ",", " ") + "}")
		}
		b.WriteString(pick(r, " ", "  ", "\t"))
		b.WriteString(pick(r, "0", "1", "-1", "12.5", "1e3", "NaN", "+Inf", "-Inf", "nan", "4294967296", "99999999999", "1.5e-7", "abc") + pick(r, "", "", "", " 1395066363000", " 12.5 # {a=\"b\"} 1"))
		b.WriteString(pick(r, "\n", "\n", "\n", "\r\n", " \n"))
	}
	if r.IntN(4) == 0 {
		b.WriteString(pick(r, "m1{a=\"1\"", "m1{a=1} 1", "m1", "<html>", "-x 1", "1m 1") + "\ns9 1\n")
	}
	return b.String()
}

package difftest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// strayIndex lists archives whose temporal index or volumes are damaged, so
// that the result depends on the search: the C library trusts the index, ours
// continues where there are records.
var strayIndex = []string{"badti-1", "badti-2", "badti-3", "20180608.04.23-01", "badlen-1"}

// suiteArchives lists the archives of the QA suite.
func suiteArchives(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"archives/*.meta*", "archives/*/*.meta*", "badarchives/*.meta*"} {
		paths, _ := filepath.Glob(filepath.Join(suiteDir, pattern))
		for _, p := range paths {
			if base, _, ok := archive.BaseName(p); ok && !slices.Contains(strayIndex, filepath.Base(base)) {
				list = append(list, base)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// carried finds times whose nanoseconds add up to a second, which the C library
// does not carry.
var carried = regexp.MustCompile(`(?m)^(\w{3} \w{3} [ \d]\d )?(\d\d):(\d\d):(\d\d)\.1(000(?:000(?:000)?)?)\b`)

// carry adds the carry that the C library omits.
func carry(s string) string {
	return carried.ReplaceAllStringFunc(s, func(stamp string) string {
		m := carried.FindStringSubmatch(stamp)
		at, err := time.Parse(time.TimeOnly, m[2]+":"+m[3]+":"+m[4])
		if err != nil {
			return stamp
		}
		return m[1] + at.Add(time.Second).Format(time.TimeOnly) + "." + m[5]
	})
}

// same compares the results of both tools for the same arguments, and reports
// differences.
func (b *bench) same(t *testing.T, tool string, args ...string) string {
	t.Helper()
	theirs := b.exec(t, sideC, tool, nil, args)
	ours := b.exec(t, sideOurs, tool, nil, args)
	theirs.stdout = carry(theirs.stdout)
	if theirs == ours {
		return ""
	}
	return fmt.Sprintf("%s %q: exit status %d, ours %d (-theirs +ours)\n%s%s", tool, args, theirs.status, ours.status,
		cmp.Diff(theirs.stdout, ours.stdout), cmp.Diff(theirs.stderr, ours.stderr))
}

// TestRandomReplay compares pmval with windows, steps and directions drawn at
// random, over archives and metrics drawn at random: some by default, thousands
// with PCP_TEST_LONG=1. PCP_TEST_SEED draws others.
func TestRandomReplay(t *testing.T) {
	t.Parallel()
	b := archiveBench(t)
	n := longtest.N(60, 4000)
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), 0))
	list := suiteArchives(t)
	failed, wary := 0, 0
	for range n {
		path := list[rnd.IntN(len(list))]
		args, ok := randomArgs(rnd, path)
		if !ok {
			continue
		}
		if strings.Contains(path, "/badarchives/") {
			// Damage is never passed over: ours refuses where the C tool shows values or an empty table.
			if ours := b.exec(t, sideOurs, "pmval", nil, args); ours.status == 1 && strings.Contains(ours.stderr, "Corrupted record") {
				wary++
				continue
			}
		}
		if diff := b.same(t, "pmval", args...); diff != "" {
			t.Error(diff)
			if failed++; failed == 20 {
				t.Fatal("and perhaps more")
			}
		}
	}
	t.Logf("%d invocations, %d refused as the archive is damaged", n, wary)
}

// randomArgs draws arguments for pmval on an archive.
func randomArgs(rnd *rand.Rand, path string) ([]string, bool) {
	a, err := archive.Open(path)
	if err != nil {
		return []string{"-a", path, "sample.bin"}, true
	}
	defer a.Close()
	var names []string
	for _, d := range a.Meta().Descs() {
		if n := a.Meta().Names(d.PMID); len(n) > 0 && d.Type != pcp.TypeNoSupport {
			names = append(names, n[0])
		}
	}
	if len(names) == 0 {
		return nil, false
	}
	length := 100.0
	if end, err := a.End(); err == nil {
		length = max(1, end.Sub(a.Label().Start))
	}
	chance := func(p float64) bool { return rnd.Float64() < p }
	var args []string
	if chance(0.15) {
		args = append(args, "-U", path)
	} else {
		args = append(args, "-a", path)
	}
	for _, o := range []struct {
		p    float64
		args []string
	}{
		{0.4, []string{"-r"}},
		{0.3, []string{"-f", strconv.Itoa(rnd.IntN(5))}},
		{0.2, []string{"-w", strconv.Itoa(1 + rnd.IntN(30))}},
		{0.3, []string{"-X"}},
		{0.2, []string{"-X"}},
		{0.2, []string{"-z"}},
		{0.2, []string{"-A", []string{"1", "10", "1min", "0.1", "1hour"}[rnd.IntN(5)]}},
	} {
		if chance(o.p) {
			args = append(args, o.args...)
		}
	}
	step := length / []float64{3, 7, 20, 60, 200}[rnd.IntN(5)] * (0.3 + 1.7*rnd.Float64())
	args = append(args, "-t", fmt.Sprintf("%.3f", max(step, 0.002)))
	for _, o := range []string{"-S", "-T", "-O"} {
		if !chance(0.35) {
			continue
		}
		switch k := rnd.Float64(); {
		case k < 0.5:
			args = append(args, fmt.Sprintf("%s%.2f", o, (rnd.Float64()*1.15-0.05)*length))
		case k < 0.8:
			args = append(args, fmt.Sprintf("%s-%.2f", o, rnd.Float64()*1.05*length))
		default:
			args = append(args, fmt.Sprintf("%s%dmin", o, rnd.IntN(60)))
		}
	}
	args = append(args, "-s", strconv.Itoa([]int{5, 20, 50, 150}[rnd.IntN(4)]))
	return append(args, names[rnd.IntN(len(names))]), true
}

// TestAllArchives compares the output for every archive of the suite: for some
// by default, for all with PCP_TEST_LONG=1.
func TestAllArchives(t *testing.T) {
	t.Parallel()
	b := archiveBench(t)
	every := 24
	if longtest.Enabled() {
		every = 1
	}
	for i, path := range suiteArchives(t) {
		if i%every != 0 {
			continue
		}
		for _, args := range [][]string{
			{"pminfo", "-dfm", "-a", path},
			{"pmprobe", "-I", "-a", path},
			{"pmprobe", "-v", "-a", path},
			{"pmprobe", "-f", "-i", "-a", path},
		} {
			if diff := b.same(t, args[0], args[1:]...); diff != "" {
				t.Error(diff)
			}
		}
		// Help texts only from the archive: those of event.flags and
		// event.missed are in our words.
		theirs := b.exec(t, sideC, "pminfo", nil, []string{"-dfmtTlI", "-a", path})
		ours := b.exec(t, sideOurs, "pminfo", nil, []string{"-dfmtTlI", "-a", path})
		for _, r := range []*result{&theirs, &ours} {
			r.stdout, _, _ = strings.Cut(r.stdout, "\nevent.flags ")
		}
		if theirs != ours {
			t.Errorf("pminfo -dfmtTlI -a %s: (-theirs +ours)\n%s", path, cmp.Diff(theirs, ours, cmp.AllowUnexported(result{})))
		}
	}
}

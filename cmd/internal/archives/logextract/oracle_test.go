package logextract

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// different lists the archives whose output differs from the C tool's, with the reason.
// The test of the whole suite fails if such an output does not differ.
var different = map[string]string{
	"badlen-1":                       "the C tool names the end of the file as the place of a bad length",
	"badmeta-6":                      "a delta in version 2: other words for it",
	"badmeta-7":                      "deltas that remove what is not there: the C tool uses memory that it has not set",
	"multi-corrupted/20150508.11.50": "the C tool says offset 0 where it cannot go back in an .xz file",
}

// randomSource returns the same random numbers each time, unless PCP_TEST_SEED sets
// another seed.
func randomSource(t *testing.T) *rand.Rand {
	return rand.New(rand.NewPCG(longtest.Seed(t), 0))
}

// randomArgs generates options for an archive.
func randomArgs(t *testing.T, r *rand.Rand, a *archive.Archive) []string {
	var args []string
	one := func(n int) bool { return r.IntN(n) == 0 }
	end, err := a.End()
	if err == nil && one(2) {
		span := max(int(end.Sub(a.Label().Start)), 1)
		args = append(args, "-S", fmt.Sprint("+", r.IntN(span), ".", r.IntN(1000)))
		if one(2) {
			args = append(args, "-T", fmt.Sprint("+", r.IntN(span)))
		}
	}
	if one(3) {
		args = append(args, "-s", fmt.Sprint(1+r.IntN(20)))
	}
	if one(3) {
		args = append(args, "-v", fmt.Sprint(1+r.IntN(30)))
	}
	if one(3) && a.Version() == archive.Version2 {
		args = append(args, "-V", "3")
	}
	if one(4) {
		args = append(args, []string{"-z", "-Z", "-f", "-m", "-x"}[r.IntN(5)])
		if args[len(args)-1] == "-Z" {
			args = append(args, "EST5EDT")
		}
	}
	var names []string
	for name := range a.Meta().NamesInOrder() {
		names = append(names, name)
	}
	slices.Sort(names)
	if one(2) && len(names) > 0 {
		var text strings.Builder
		for range 1 + r.IntN(6) {
			name := names[r.IntN(len(names))]
			if one(4) {
				name, _, _ = strings.Cut(name, ".")
			}
			text.WriteString(name)
			if id, ok := a.Meta().LookupName(name); ok && one(2) {
				text.WriteString(" [")
				desc, _ := a.Meta().Desc(id)
				for rec := range a.Meta().History(desc.InDom) {
					for _, in := range rec.Instances {
						if one(2) {
							fmt.Fprintf(&text, " %d", in.Inst)
						} else if one(3) && !strings.ContainsAny(in.Name, "\"\n") {
							fmt.Fprintf(&text, ", \"%s\"", in.Name)
						}
					}
					break
				}
				text.WriteString(" 0 ]")
			}
			text.WriteString("\n")
		}
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-c", path)
	}
	return args
}

// TestSuite extracts from archives of the QA suite, whole and with random
// options: from a few, from all if PCP_TEST_LONG is set.
func TestSuite(t *testing.T) {
	all := longtest.Enabled()
	r := randomSource(t)
	equal, runs := 0, 0
	for i, path := range twin.Suite(t) {
		if !all && i%20 != 3 {
			continue
		}
		key := filepath.Base(path)
		if dir := filepath.Base(filepath.Dir(path)); strings.HasPrefix(dir, "multi") {
			key = dir + "/" + key
		}
		why, tolerated := different[key]
		runs++
		diff := compare(t, nil, path)
		switch {
		case diff == "":
			equal++
			if tolerated {
				t.Errorf("%s is no longer different (%s)", path, why)
			}
		case !tolerated:
			t.Errorf("%s: %s", path, diff)
		}
		a, err := archive.Open(path)
		if err != nil || tolerated {
			continue
		}
		args := append(randomArgs(t, r, a), path)
		damaged := strings.Contains(path, "badarchives") || strings.Contains(path, "corrupted")
		a.Close()
		if damaged {
			continue // the readable part depends on the start position
		}
		runs++
		if diff := compare(t, nil, args...); diff != "" {
			t.Errorf("%q: %s", args, diff)
		} else {
			equal++
		}
	}
	t.Logf("%d of %d are equal", equal, runs)
}

// TestMerge merges archives.
func TestMerge(t *testing.T) {
	twin.NeedSuite(t)
	t.Chdir(suiteDir)
	for _, line := range []string{
		"tzchange-10-a tzchange-10-b tzchange-11-a tzchange-11-b tzchange-12-a tzchange-12-b",
		"-f -z tzchange-12-b tzchange-10-a",
		"20190628.04.03 20190628.06.31",
		"-x 20190628.04.03 20190628.06.31",
		"20180127.08.40 20180127.08.40",
		"mirage-2 mirage-1",
		"-m mirage-1 mirage-2",
		"sample-labels omnibus_v3",
		"ok-mv-bigbin ok-bigbin",
	} {
		args := strings.Fields(line)
		for i, arg := range args {
			if !strings.HasPrefix(arg, "-") {
				args[i] = filepath.Join(suiteDir, arg)
			}
		}
		if diff := compare(t, nil, args...); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

// TestArguments compares the output for all sorts of arguments.
func TestArguments(t *testing.T) {
	twin.NeedSuite(t)
	a := filepath.Join(suiteDir, "sample-labels")
	conf := func(text string) string {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, args := range [][]string{
		{},
		{"-?"},
		{"--nosuch", a},
		{"-q", a},
		{"-s", "x", a},
		{"-s", "-1", a},
		{"-s", "0", a},
		{"-V", "4", a},
		{"-V", "x", a},
		{"-v", "foo", a},
		{"-v", "-1", a},
		{"-v", "0", a},
		{"-Z", "UTC", "-z", a},
		{"-z", "-Z", "UTC", a},
		{"-w", a},
		{"-w", "-S", "@0:00", "-T", "@23:59", a},
		{"-S", "@x", a},
		{"-T", "@1", a},
		{"-S", "+1year", a},
		{"nosuch"},
		{a, "nosuch"},
		{"-c", "nosuch", a},
		{"-D", "nosuch", a},
		{"-Z", "Asia/Tokyo", a},
		{filepath.Join(suiteDir, "omnibus_v3"), "-V", "2"},
		{"-c", conf("sample.colour [ red 1 \"green\" 'x' ], sample\n"), a},
		{"-c", conf("nosuch.metric\n# comment\nsample.bin [ 900 'bin-100' bin ]\n\n"), a},
		{"-c", conf("sample.bin [ ]\n"), a},
		{"-c", conf("sample.bin [ 1,2 \n\n"), a},
		{"-c", conf(", sample.bin"), a},
		{"-c", conf("sample.bin ,"), a},
		{"-c", conf("\n\nsample.bin @"), a},
		{"-c", conf("sample.bin [ 'a"), a},
		{"-c", conf("sample.bin \"\""), a},
		{"-c", conf(""), a},
		{"-c", conf("7"), a},
		{"-c", conf("sample.bin [1 2,]"), a},
		{"-c", conf("sample.long.one[0]\nsample.seconds\n"), a},
		{"-c", conf("foo.\nsample..x\n"), a},
	} {
		if diff := compare(t, []string{"TZ=UTC"}, args...); diff != "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
}

// TestDaily compares -w: the same hours of each day.
func TestDaily(t *testing.T) {
	twin.NeedSuite(t)
	dir := t.TempDir()
	base := filepath.Join(dir, "long")
	makeArchive(t, base, archive.Version3, 3*8640)
	start := time.Unix(1700000000, 0).UTC()
	for _, span := range []time.Duration{time.Hour, 10 * time.Minute, 26 * time.Hour} {
		from, to := start.Add(time.Hour), start.Add(time.Hour+span)
		args := []string{"-w", "-S", "@" + from.Format(time.ANSIC), "-T", "@" + to.Format(time.ANSIC), base}
		if diff := compare(t, []string{"TZ=UTC"}, args...); diff != "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
}

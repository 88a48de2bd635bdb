package logreduce

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// different lists the archives whose output differs from the C tool's, with the reason.
var different = map[string]string{
	"541380_v2": "a string in a block without a type, as very old archives have them, gets its type",
}

// randomSource returns the same random numbers each time, unless PCP_TEST_SEED sets
// another seed.
func randomSource(t *testing.T) *rand.Rand {
	return rand.New(rand.NewPCG(longtest.Seed(t), 0))
}

// randomArgs generates options for an archive with which the C tool ends soon.
func randomArgs(r *rand.Rand, a *archive.Archive) []string {
	var args []string
	one := func(n int) bool { return r.IntN(n) == 0 }
	end, err := a.End()
	if err != nil {
		return nil
	}
	span := max(int(end.Sub(a.Label().Start)), 1)
	args = append(args, "-t", fmt.Sprintf("%dmsec", 1000*span/(1+r.IntN(50))+r.IntN(1000)+1), "-s", fmt.Sprint(1+r.IntN(60)))
	if one(2) {
		args = append(args, "-S", fmt.Sprint("+", r.IntN(span), ".", r.IntN(1000)))
	}
	if one(3) {
		args = append(args, "-T", fmt.Sprint("+", r.IntN(span)))
	}
	if one(3) {
		args = append(args, "-A", []string{"1sec", "10sec", "1min", "7sec"}[r.IntN(4)])
	}
	if one(3) {
		args = append(args, "-v", fmt.Sprint(1+r.IntN(30)))
	}
	if one(4) {
		args = append(args, "-z")
	}
	return args
}

// TestSuite reduces archives of the QA suite: a few small ones, all if
// PCP_TEST_LONG is set.
func TestSuite(t *testing.T) {
	all := longtest.Enabled()
	r := randomSource(t)
	equal, runs := 0, 0
	for i, path := range twin.Suite(t) {
		if !all && i%20 != 7 || strings.Contains(path, "badarchives") || strings.Contains(path, "corrupted") {
			continue // the readable part of a bad archive depends on the way of reading
		}
		a, err := archive.Open(path)
		if err != nil {
			continue
		}
		args := randomArgs(r, a)
		size, _ := archive.FileSize(path + ".0")
		a.Close()
		if args == nil || !all && size > 1<<20 {
			continue
		}
		why, tolerated := different[filepath.Base(path)]
		args = append(args, path)
		runs++
		switch diff := compare(t, nil, args...); {
		case diff == "":
			equal++
		case tolerated:
			t.Logf("%s differs: %s", path, why)
		default:
			t.Errorf("%q: %s", args, diff)
		}
	}
	t.Logf("%d of %d are equal", equal, runs)
}

// TestMarks compares archives with marks in several windows.
func TestMarks(t *testing.T) {
	twin.NeedSuite(t)
	for _, line := range []string{
		"-t 3sec -A 3sec interpmark", "-t 1sec interpmark", "-t 20sec interpmark", "-t 1min -S +30 interpmark",
		"-t 7sec gap", "-t 30sec -v 3 gap",
	} {
		args := strings.Fields(line)
		args[len(args)-1] = filepath.Join(suiteDir, args[len(args)-1])
		if diff := compare(t, nil, args...); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

// TestArguments compares the output for all sorts of arguments.
func TestArguments(t *testing.T) {
	twin.NeedSuite(t)
	a := filepath.Join(suiteDir, "sample-labels")
	for _, args := range [][]string{
		{},
		{"-?"},
		{"--nosuch", a},
		{"-q", a},
		{"-s", "x", a},
		{"-s", "0", a},
		{"-t", "bad", a},
		{"-t", "1fortnight", a},
		{"-v", "foo", a},
		{"-v", "-1", a},
		{"-Z", "UTC", "-z", a},
		{"-S", "@x", a},
		{"-T", "@1", a},
		{"-A", "x", a},
		{"nosuch"},
		{"-D", "nosuch", a},
		{"-Z", "Asia/Tokyo", "-t", "1sec", a},
		{"-t", "2sec", filepath.Join(suiteDir, "eventrec")},
	} {
		if diff := compare(t, []string{"TZ=UTC"}, args...); diff != "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
}

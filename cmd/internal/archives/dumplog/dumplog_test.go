package dumplog

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A result is the result of a tool; out is truncated if it is too long to keep.
type result struct {
	out, err []byte
	status   int
}

// limitedBuffer keeps the first bytes and then breaks the pipe. It must not
// have the other methods of a Buffer, which io.Copy would use.
type limitedBuffer struct{ b []byte }

var errEnough = errors.New("enough")

const mostOutput = 256 << 10

func (b *limitedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), mostOutput-len(b.b))
	b.b = append(b.b, p[:n]...)
	if n < len(p) {
		return n, errEnough
	}
	return n, nil
}

func runTool(t *testing.T, ours bool, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := twin.Call{Tool: "pmdumplog", Env: env, Args: args}.Command(ctx, t, ours)
	var stdout limitedBuffer
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && !errors.Is(err, errEnough) {
		t.Fatalf("%s %q: %v", cmd.Path, args, err)
	}
	status := cmd.ProcessState.ExitCode()
	if len(stdout.b) == mostOutput || ctx.Err() != nil {
		status = -1 // it was truncated
		if ours && ctx.Err() != nil {
			t.Errorf("%q does not end", args)
		}
	}
	return result{stdout.b, stderr.Bytes(), status}
}

// compare runs both tools and reports whether their results are the same. They run in
// sequence, so that times relative to now may differ by chance.
func compare(t *testing.T, env []string, args ...string) bool {
	t.Helper()
	for range 3 {
		if compareOnce(t, env, args...) {
			return true
		}
	}
	return false
}

func compareOnce(t *testing.T, env []string, args ...string) bool {
	t.Helper()
	c, ours := runTool(t, false, env, args...), runTool(t, true, env, args...)
	if c.status == -1 {
		n := min(len(c.out), len(ours.out))
		return bytes.Equal(c.out[:n], ours.out[:n])
	}
	if bytes.Equal(c.out, ours.out) && bytes.Equal(c.err, ours.err) && c.status == ours.status {
		return true
	}
	t.Logf("%q: status %d, ours %d\n%s", args, c.status, ours.status, twin.FirstDifference(c.out, ours.out))
	if !bytes.Equal(c.err, ours.err) {
		t.Logf("messages:\n%sours:\n%s", c.err, ours.err)
	}
	return false
}

// different lists expected differences, with the reason. An expected difference that
// does not occur is a failure too.
var different = map[string]string{
	// The last entry of the index names a missing volume: the C tool then finds no
	// record backwards. We continue with the entry before.
	"-r badti-3":          "a volume that is gone",
	"-r ok-mv-bigbin - 9": "a volume that is gone",
}

// TestSuite compares the dumps of every archive of the QA suite, up to 256 KiB
// of output. Each archive is dumped with two of the options, with all if
// PCP_TEST_LONG is set.
func TestSuite(t *testing.T) {
	options := []string{"-d", "-e", "-h", "-i", "-I", "-t", "-s", "-r", "-xxx"}
	list := twin.Suite(t, "tmparch/*")
	equal, all := 0, 0
	for i, a := range list {
		some := []string{"-L", options[i%len(options)]}
		if longtest.Enabled() {
			some = append(slices.Clone(options), "-L")
		}
		for _, opt := range some {
			all++
			key := opt + " " + filepath.Base(a)
			same := compare(t, nil, opt, a)
			why, tolerated := different[key]
			switch {
			case same:
				equal++
				if tolerated {
					t.Errorf("%s is no longer different (%s)", key, why)
				}
			case !tolerated:
				t.Errorf("%s differs", key)
			}
		}
	}
	t.Logf("%d of %d dumps of %d archives are equal", equal, all, len(list))
}

// TestArguments compares the output for all sorts of arguments.
func TestArguments(t *testing.T) {
	twin.NeedSuite(t)
	t.Chdir(filepath.Join(twin.SuiteRoot, "archives"))
	for _, line := range []string{
		"", "-?", "--version", "-q", "-v", "-v nosuch", "-v x y", "nosuch", "-S", "multi", "a,b", "/",
		"sample-labels nosuch", "sample-labels nosuch sample.bin", "sample-labels sample",
		"sample-labels sample.bin sample.bin", "sample-labels sample.bin sample",
		"-s sample-labels sample.bin sample.colour", "-s -M omnibus_v3 sample.bin", "-M count-mark nosuch",
		"-v sample-labels.index", "-v sample-labels.meta", "-v small.0.xz", "sample-labels.meta", "sample-labels.0",
		"./sample-labels.index", "-n /dev/null sample-labels", "-n /var/lib/pcp/pmns/root -d sample-labels", "-a foo+",
		"-L small.meta", "-L small.meta.xz", "-L small.0.xz", "eventrec", "-x eventrec", "-xx eventrec-old", "-M -r gap",
		"--nosuch", "-D xx sample-labels", "-A 1m sample-labels", "--start=10 sample-labels", "-l -z sample-labels",
		"-l -Z Asia/Tokyo sample-labels", "-xx -t sample-labels", "-xxx -L omnibus_v3", "-xx omnibus_v3",
	} {
		if !compare(t, nil, strings.Fields(line)...) {
			t.Errorf("%q differs", line)
		}
	}
}

// TestMissingVolumes removes files.
func TestMissingVolumes(t *testing.T) {
	twin.NeedSuite(t)
	for _, gone := range []string{"0", "index", "4", "0 index", "3 index", "9", "0 1 2 3 4 5 6 7 8", "meta"} {
		dir := t.TempDir()
		paths, _ := filepath.Glob(filepath.Join(twin.SuiteRoot, "archives/ok-mv-bigbin.*"))
		for _, p := range paths {
			if slices.Contains(strings.Fields(gone), strings.TrimPrefix(filepath.Ext(p), ".")) {
				continue
			}
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(p)), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, opt := range []string{"-a", "-r", "-S10"} {
			same := compare(t, nil, opt, filepath.Join(dir, "ok-mv-bigbin"))
			if _, tolerated := different[opt+" ok-mv-bigbin - "+gone]; same == tolerated {
				t.Errorf("without %s: %s: equal is %v, want %v", gone, opt, same, !tolerated)
			}
		}
	}
}

// TestWindows compares time windows, in several zones.
func TestWindows(t *testing.T) {
	twin.NeedSuite(t)
	a := filepath.Join(twin.SuiteRoot, "archives/20071023-08-06-36")
	zones := []string{"UTC", "Australia/Sydney", "EST5EDT"}
	specs := []string{
		"1m", "+30s", "-10s", "5", "@22:07", "@00:00:30", "@22:07:30.5", "@Oct", "@x", "foo", "3x", "5min 1sec", "@Tue",
		"@12", "@25:00", "@1:2:3:4", "@2007", "@Oct 23 2007", "@11pm", "@1:00am", "@22 oct 22:07:10 2007", "@Mon Oct 22 22:07:01 2007",
		"@2007-10-22", "@2007-10-22 22:07:10", "@22 october 2007 22:07", "@oct 22, 2007 22:07 utc", "1 minute ago", "-1 minute",
		"@20071022 2207", "@10/22/2007 10:07pm", "@10/22/07 22:07 GMT", "last minute", "@yesterday", "@next monday",
		"@22-OCT-2007 22:07:05", "1 year ago", "2 months ago", "last month", "@22:07 est", "@22:07:00+0000 22 oct 2007",
		"@(comment) 22:07 22 oct 2007", "@31 feb 2007", "@2007/10/22 22:07", "@", "@now", "30 seconds", "-0", "+", "@-1", "@ : ", "1e1",
	}
	for i, spec := range specs {
		env := []string{"TZ=" + zones[i%len(zones)]}
		for _, opt := range []string{"-S", "-T"} {
			if !compare(t, env, opt, spec, a) {
				t.Errorf("%s %s %q differs", env, opt, spec)
			}
		}
	}
	rnd := rand.New(rand.NewPCG(5, 0)) // the same each time
	parts := strings.Fields("1 22 2007 22:07 22:07:05 oct Oct 22 - + @ am pm min sec day ago last next monday utc 10 . / 3.5")
	for range 60 {
		var words []string
		for range 1 + rnd.IntN(4) {
			words = append(words, parts[rnd.IntN(len(parts))])
		}
		spec := strings.Join(words, []string{" ", ""}[rnd.IntN(2)])
		if rnd.IntN(2) == 0 {
			spec = "@" + spec
		}
		env := []string{"TZ=" + zones[rnd.IntN(len(zones))]}
		if !compare(t, env, []string{"-S", "-T"}[rnd.IntN(2)], spec, a) {
			t.Errorf("%s %q differs", env, spec)
		}
	}
}

package mmvdump

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/mmv"
)

// realDump is the path of the packaged C tool.
const realDump = "/usr/lib/pcp/pmdas/mmv/mmvdump"

// theirs runs the C tool; crashed reports that a signal ended it.
func theirs(t *testing.T, path string) (out oracle.Output, crashed bool) {
	t.Helper()
	cmd := exec.Command(realDump, path)
	cmd.Env = oracle.Env()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return oracle.Output{Stdout: stdout.String(), Stderr: stderr.String(), Exit: cmd.ProcessState.ExitCode()}, cmd.ProcessState.ExitCode() < 0
}

// ours runs our tool.
func ours(args ...string) oracle.Output {
	var stdout, stderr bytes.Buffer
	env := &cli.Env{Name: "mmvdump", Args: args, Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, Command: Command}
	exit := Command.Run(context.Background(), env)
	return oracle.Output{Stdout: stdout.String(), Stderr: stderr.String(), Exit: exit}
}

// samples returns files of each version, as our library writes them.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for version := mmv.Version1; version <= mmv.Version3; version++ {
		for _, fixed := range []bool{true, false} {
			dir := t.TempDir()
			name := fmt.Sprintf("v%d.%v", version, fixed)
			reg, err := mmv.New(name, mmv.Options{Dir: dir, Fixed: fixed, Cluster: version, Sentinel: version == 2, MaxValues: 20})
			if err != nil {
				t.Fatal(err)
			}
			long := ""
			if version > mmv.Version1 {
				long = strings.Repeat("long", 20)
			}
			dom := reg.InDom(mmv.InDomDef{Serial: 5, OneLine: "one", Instances: []string{"a", "b" + long, "c"}})
			reg.CounterVec(mmv.Metric{Name: "count" + long, InDom: dom, OneLine: "short", Help: "longer"}).With("a").Add(3)
			reg.Gauge(mmv.Metric{Name: "level", Units: pcp.Units{DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceMByte, ScaleTime: pcp.TimeSec}})
			reg.ValueVec(mmv.Metric{Name: "e", Item: 40, InDom: dom}, mmv.TypeI32)
			text := reg.String(mmv.Metric{Name: "text", Help: "h"})
			reg.Elapsed(mmv.Metric{Name: "elapsed"})
			if version == mmv.Version3 {
				if err := dom.AddInstanceLabel("a", mmv.Label{Name: "x", Value: "y"}); err != nil {
					t.Fatal(err)
				}
			}
			if err := reg.Start(); err != nil {
				t.Fatal(err)
			}
			text.Set("some text")
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := reg.Err(); err != nil {
				t.Fatal(err)
			}
			reg.Close()
			files[name] = b
		}
	}
	return files
}

// TestOracle compares output and exit status for whole files.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	if _, err := os.Stat(realDump); err != nil {
		t.Skip("SKIPPED: real PCP is not installed: ", err)
	}
	path := filepath.Join(t.TempDir(), "file")
	f := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		compare(t, what, path)
	}
	for name, b := range samples(t) {
		f(name, b)
		f(name+" and a rest", append(bytes.Clone(b), "rest"...))
		if strings.HasSuffix(name, "false") {
			continue // mostly holes
		}
		// Each field of the header and of the table of contents, with boundary values.
		for at := 0; at < headerSize+6*tocSize; at += 4 {
			for _, v := range []uint32{0, 3, 6, 0x7fffffff, 0x80000000, 0xffffffff, uint32(len(b) - 256)} {
				d := bytes.Clone(b)
				binary.NativeEndian.PutUint32(d[at:], v)
				f(fmt.Sprintf("%s with %#x at %d", name, v, at), d)
			}
		}
	}
	f("nothing", nil)
	f("too short", []byte("MMV"))
	f("odd magic", bytes.Repeat([]byte{0xff, 0, 'x', 'y'}, 20))
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir(), "/dev/null"} {
		compare(t, path, path)
	}
}

var strayString = regexp.MustCompile(`Bad file size: toc\[\d+\] string\[\d+\]\n`)

// openSection matches an elapsed time whose section is open, which depends on the
// current time.
var openSection = regexp.MustCompile(`= -?\d+ (\(value=-?\d+/extra=-\d+\))`)

// compare runs both tools. Where the C tool crashes there is nothing to compare.
func compare(t *testing.T, what, path string) {
	t.Helper()
	want, crashed := theirs(t, path)
	got := ours(path)
	if crashed {
		if got.Exit != 1 && !strings.HasPrefix(what, "cut") {
			t.Logf("%s: the C tool crashes, ours exits with %d", what, got.Exit)
		}
		return
	}
	// Strings after the last page of the file: the C tool prints its memory there, and
	// may continue.
	if at := strayString.FindStringIndex(got.Stdout); at != nil && !strings.Contains(want.Stdout, got.Stdout[at[0]:at[1]]) {
		want = oracle.Output{Stdout: want.Stdout[:min(at[0], len(want.Stdout))], Exit: 1}
		got.Stdout = got.Stdout[:at[0]]
	}
	want.Stdout = openSection.ReplaceAllString(want.Stdout, "= NOW $1")
	got.Stdout = openSection.ReplaceAllString(got.Stdout, "= NOW $1")
	want.Stdout = knownUnits(want.Stdout, got.Stdout)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-theirs +ours):\n%s", what, d)
	}
}

// extraUnits finds units of PCP 7.2 in a line of ours. The C tool of 6.0.3 passes over their byte.
var extraUnits = regexp.MustCompile(`^ +units=.*(extra-|temperature|voltage|current|power)`)

// knownUnits returns the C tool's output with the lines of ours where these have extra units.
func knownUnits(want, got string) string {
	theirs, ours := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(theirs), len(ours)) {
		if strings.HasPrefix(theirs[i], "       units=") && extraUnits.MatchString(ours[i]) {
			theirs[i] = ours[i]
		}
	}
	return strings.Join(theirs, "\n")
}

// TestOracleCut compares the output for files truncated at lengths a step apart.
func TestOracleCut(t *testing.T) {
	oracle.Require(t)
	if _, err := os.Stat(realDump); err != nil {
		t.Skip("SKIPPED: real PCP is not installed: ", err)
	}
	path := filepath.Join(t.TempDir(), "file")
	for name, b := range samples(t) {
		if strings.HasSuffix(name, "false") {
			continue // mostly holes
		}
		for n := 0; n < len(b); n += 13 {
			if err := os.WriteFile(path, b[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			compare(t, fmt.Sprintf("cut %s to %d", name, n), path)
		}
	}
}

// TestOracleDamaged compares the output for files with some bytes changed.
func TestOracleDamaged(t *testing.T) {
	oracle.Require(t)
	if _, err := os.Stat(realDump); err != nil {
		t.Skip("SKIPPED: real PCP is not installed: ", err)
	}
	path := filepath.Join(t.TempDir(), "file")
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, b := range samples(t) {
		for range 150 {
			d := bytes.Clone(b)
			at := headerSize + rnd.IntN(min(len(d), 2000)-headerSize-8)
			d[at] ^= byte(1 << rnd.IntN(8))
			if err := os.WriteFile(path, d, 0o644); err != nil {
				t.Fatal(err)
			}
			compare(t, fmt.Sprintf("%s damaged at %d", name, at), path)
		}
	}
}

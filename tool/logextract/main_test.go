package logextract

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/oracle"
	"github.com/go-pcp/pcp/tool/cli"
)

// TestMain makes the test binary the tool itself if the environment says so,
// with files of no more than LIMIT_FILES bytes.
func TestMain(m *testing.M) {
	if os.Getenv("BE_LOGEXTRACT") == "" {
		os.Exit(m.Run())
	}
	if n, err := strconv.ParseUint(os.Getenv("LIMIT_FILES"), 10, 64); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			panic(err)
		}
	}
	out := bufio.NewWriter(os.Stdout)
	status := Command.Run(context.Background(), &cli.Env{
		Name: "pmlogextract", Args: os.Args[1:], Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr,
		Getenv: os.Getenv, LookupEnv: os.LookupEnv, Version: "6.0.3", Command: Command,
	})
	if out.Flush() != nil && status == 0 {
		status = 1
	}
	os.Exit(status)
}

// A result is what a tool did, with the files that it made.
type result struct {
	out, err []byte
	status   int
	files    map[string][]byte
}

// runTool runs ours or the real one in dir; the output archive is out.
func runTool(t *testing.T, ours bool, dir string, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	path, environ := "", append(os.Environ(), env...)
	if ours {
		var err error
		if path, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
		environ = append(environ, "BE_LOGEXTRACT=1")
	} else {
		path, environ = oracle.Path("pmlogextract"), append(oracle.Env(), env...)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir = environ, dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatalf("%s %q: %v", path, args, err)
		}
	}
	if ctx.Err() != nil {
		t.Fatalf("%s %q does not end", path, args)
	}
	res := result{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode(), make(map[string][]byte)}
	paths, _ := filepath.Glob(filepath.Join(dir, "out.*"))
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) >= 12 {
			copy(b[8:12], "PID.") // in the label
		}
		res.files[filepath.Base(p)] = b
	}
	return res
}

// suiteDir is where the installed QA suite keeps archives.
const suiteDir = "/var/lib/pcp/testsuite/archives"

func needSuite(t *testing.T) {
	t.Helper()
	oracle.Require(t)
	if _, err := os.Stat(suiteDir); err != nil {
		t.Skip("SKIPPED: the QA suite of PCP is not installed: ", err)
	}
}

// suite returns the archives of the installed QA suite, good and bad.
func suite(t *testing.T) []string {
	t.Helper()
	needSuite(t)
	var list []string
	for _, pattern := range []string{"*.meta*", "../badarchives/*.meta*", "*/*.meta*"} {
		paths, _ := filepath.Glob(filepath.Join(suiteDir, pattern))
		for _, p := range paths {
			if base, _, ok := archive.BaseName(p); ok {
				list = append(list, base)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// compare runs both tools and tells in which of stdout, stderr, status and files
// they differ, "" if in none.
func compare(t *testing.T, env []string, args ...string) string {
	t.Helper()
	args = append(slices.Clone(args), "out")
	c := runTool(t, false, t.TempDir(), env, args...)
	ours := runTool(t, true, t.TempDir(), env, args...)
	// Instances in a configuration file make it write where it may not.
	if c.status == -1 || c.status == 1 && ours.status == 0 && bytes.Contains(c.err, []byte("meta data (TYPE_DESC) for pmid 0.0.0 ")) {
		t.Logf("%q: the C tool crashed: %s", args, c.err)
		return ""
	}
	var diff []string
	if !bytes.Equal(c.out, ours.out) {
		diff = append(diff, "stdout")
		t.Logf("%q: stdout:\n%sours:\n%s", args, c.out, ours.out)
	}
	if !bytes.Equal(c.err, ours.err) {
		diff = append(diff, "stderr")
		t.Logf("%q: stderr:\n%sours:\n%s", args, c.err, ours.err)
	}
	if c.status != ours.status {
		diff = append(diff, "status")
		t.Logf("%q: status %d, ours %d", args, c.status, ours.status)
	}
	for name := range c.files {
		if _, ok := ours.files[name]; !ok {
			diff = append(diff, "no "+name)
		}
	}
	for name, b := range ours.files {
		want, ok := c.files[name]
		if !ok {
			diff = append(diff, "a file "+name)
			continue
		}
		if !bytes.Equal(b, want) {
			n := 0
			for n < min(len(b), len(want)) && b[n] == want[n] {
				n++
			}
			diff = append(diff, name)
			t.Logf("%q: %s: %d bytes, ours %d, equal up to %d", args, name, len(want), len(b), n)
		}
	}
	return strings.Join(diff, ", ")
}

// makeArchive writes an archive of n records, ten seconds apart, of some metrics.
func makeArchive(t testing.TB, base string, version, n int) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	start := pcp.Timestamp{Sec: 1700000000}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: version, PID: 1, Start: start, Host: "cellar", TimeZone: "UTC"}})
	must(err)
	indom := pcp.NewInDom(245, 1)
	count := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemCounter}
	size := pcp.Desc{PMID: pcp.NewPMID(245, 0, 2), Type: pcp.TypeU64, InDom: indom, Sem: pcp.SemInstant}
	name := pcp.Desc{PMID: pcp.NewPMID(245, 0, 3), Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
	must(w.Desc(count, "cellar.count"))
	must(w.Desc(size, "cellar.size"))
	must(w.Desc(name, "cellar.name"))
	must(w.InDom(start, indom, []pcp.Instance{{Inst: 0, Name: "red wine"}, {Inst: 1, Name: "white"}}))
	var res pcp.Result
	for i := range n {
		res.Reset()
		res.Time = start.Add(time.Duration(i) * 10 * time.Second)
		res.AddSet(count.PMID)
		res.Sets[0].ValFmt = pcp.ValInSitu
		res.Add(pcp.Uint32Value(uint32(i)).WithInst(pcp.InNull))
		res.AddSet(size.PMID)
		res.Sets[1].ValFmt = pcp.ValDPtr
		res.Add(pcp.Uint64Value(uint64(1000 * i)).WithInst(0))
		res.Add(pcp.Uint64Value(uint64(1000*i + 1)).WithInst(1))
		res.AddSet(name.PMID)
		res.Sets[2].ValFmt = pcp.ValDPtr
		res.Add(pcp.StringValue(strings.Repeat("x", i%5)).WithInst(pcp.InNull))
		must(w.WriteResult(&res))
	}
	must(w.Close())
}

package nsedit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// A tree is an installation in its own directory, without any file of the C
// implementation.
type tree struct {
	testdir.Dir
	vars map[string]string
}

func newTree(t testing.TB) *tree {
	t.Helper()
	r := &tree{Dir: testdir.Dir{T: t, Path: t.TempDir()}}
	conf := ""
	for name, path := range map[string]string{
		"PCP_VAR_DIR": "var", "PCP_SHARE_DIR": "share", "PCP_RUN_DIR": "run", "PCP_PMCDCONF_PATH": "pmcd.conf", "PCP_TMPFILE_DIR": "tmp",
	} {
		conf += name + "=" + filepath.Join(r.Path, path) + "\n"
	}
	r.Write("pcp.conf", conf)
	r.Write("tmp/x", "")
	r.Write("var/pmns/root_linux", "root {\n\tmem\n}\nmem {\n\tfree\t60:1:1\n}\n")
	r.Write("var/pmns/root_pmcd", "root {\n\tpmcd\n}\npmcd {\n\tversion\t2:0:0\n}\n")
	r.Write("var/pmns/root_xfs", "root {\n\txfs\n}\nxfs {\n\tlog\t11:0:0\n}\n")
	r.Write("var/pmns/stdpmid.pcp", "# name number\nPMCD\t2\nLINUX\t60\n")
	r.Write("var/pmns/stdpmid.local", "#EXAMPLE 123\nMINE  400\n")
	r.Write("pmcd.conf", "pmcd 2 dso pmcd_init pmda_pmcd.so\nlinux\t60 pipe binary x\n#xfs 11\n")
	r.vars = map[string]string{"PCP_CONF": filepath.Join(r.Path, "pcp.conf")}
	return r
}

// run runs a command and returns its exit status and output.
func (r *tree) run(c *cli.Command, args ...string) (int, string) {
	r.T.Helper()
	var out bytes.Buffer
	status := c.Run(context.Background(), &cli.Env{
		Name: "pcp " + c.Name, Args: args, Stdout: &out, Stderr: &out, Command: c,
		Getenv: func(name string) string { return r.vars[name] },
	})
	return status, out.String()
}

// want runs a command that must succeed, and whose output must have each part.
func (r *tree) want(status int, parts []string, args ...string) {
	r.T.Helper()
	got, out := r.run(Command, args...)
	if got != status {
		r.T.Errorf("%q: exit status %d, want %d: %s", args, got, status, out)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			r.T.Errorf("%q prints %q, without %q", args, out, part)
		}
	}
	if len(parts) == 0 && out != "" {
		r.T.Errorf("%q prints %q", args, out)
	}
}

func (r *tree) has(file, name string, want bool) {
	r.T.Helper()
	t, err := load(&cli.Env{Stderr: os.Stderr, Stdout: os.Stderr, Getenv: func(n string) string { return r.vars[n] }}, filepath.Join(r.Path, file), true)
	if err != nil {
		r.T.Error(err)
		return
	}
	if _, err := t.Lookup(name); (err == nil) != want {
		r.T.Errorf("%s: %s: %v, want it there: %v", file, name, err, want)
	}
}

func TestRebuild(t *testing.T) {
	r := newTree(t)
	r.want(0, []string{"dry run", "merging the following PMNS files", "root root_linux root_pmcd\n", "+ mv root.new root"}, "rebuild", "-n")
	if _, err := os.Stat(filepath.Join(r.Path, "var/pmns/root")); err == nil {
		t.Error("a dry run made the name space")
	}
	r.want(0, []string{"skipping root_xfs as xfs PMDA is not in pmcd.conf", "new PMNS", "no collector is signalled"}, "rebuild", "-v")
	r.has("var/pmns/root", "mem.free", true)
	r.has("var/pmns/root", "xfs.log", false)
	if got := r.Read("var/pmns/stdpmid"); !strings.Contains(got, "#define PMCD\t2\n#define LINUX\t60\n#define MINE\t400\n") {
		t.Errorf("stdpmid: %s", got)
	}
	r.want(0, []string{"PMNS is unchanged."}, "rebuild", "-v")
	r.want(0, nil, "rebuild")
	r.want(0, nil, "rebuild", "-o")
	r.has("var/pmns/root", "xfs.log", true)
	r.has("var/pmns/root.prev", "xfs.log", false)

	// A name that was removed from the files stays until -u.
	r.Write("var/pmns/root_linux", "root {\n\tmem\n}\nmem {\n\tutil\t60:1:2\n}\n")
	r.want(0, []string{"updated.", "root.prev"}, "rebuild", "-v")
	r.has("var/pmns/root", "mem.free", true)
	r.has("var/pmns/root", "mem.util", true)
	r.want(0, nil, "rebuild", "-su")
	r.has("var/pmns/root", "mem.free", false)
	r.has("var/pmns/root", "mem.util", true)

	// On a mistake nothing changes.
	before := r.Read("var/pmns/root")
	r.Write("var/pmns/root_pmcd", "root {\n\tpmcd\n")
	r.want(1, []string{"pmnsmerge failed", "\"root\" has not been changed"}, "rebuild")
	if r.Read("var/pmns/root") != before {
		t.Error("root changed")
	}
	r.Write("var/pmns/root_pmcd", "root {\n\tpmcd\n}\npmcd {\n\tversion\t2:0:0\n}\n")
	r.Write("var/pmns/stdpmid.local", "OTHER 60\n")
	r.want(1, []string{`duplicate for domain number "60" ... LINUX and OTHER`}, "rebuild")
	r.Write("var/pmns/stdpmid.local", "LINUX 61\nX y\n")
	r.want(1, []string{"line 2: want a name and a number from 1 to 511"}, "stdpmid")
	r.want(1, []string{"Usage"}, "rebuild", "more")
	r.want(1, []string{"unknown command"}, "rebuilt")
	if left, _ := filepath.Glob(filepath.Join(r.Path, "var/pmns/*.lock")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(r.Path, "var/pmns/*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestReplace(t *testing.T) {
	r := newTree(t)
	r.want(0, nil, "rebuild")
	sub := filepath.Join(r.Path, "sub")
	r.Write("sub", "mem {\n\tother\t60:1:9\n}\n")
	r.want(0, nil, "replace", "mem", sub)
	r.has("var/pmns/root", "mem.free", false)
	r.has("var/pmns/root", "mem.other", true)
	r.has("var/pmns/root", "pmcd.version", true)
	if r.Read("var/pmns/mem") != "mem {\n\tother\t60:1:9\n}\n" {
		t.Error("the subtree is not kept")
	}
	before := r.Read("var/pmns/root")
	r.Write("sub", "mem {\n\tother\t60:1\n}\n")
	r.want(1, []string{"pmLoadASCIINameSpace"}, "replace", "mem", sub)
	r.want(1, []string{"can't read replacement"}, "replace", "mem", sub+"x")
	r.want(1, []string{"namespace doesn't exist"}, "replace", "-n", sub+"x", "mem", sub)
	r.want(1, []string{"Usage"}, "replace", "mem")
	if r.Read("var/pmns/root") != before {
		t.Error("root changed")
	}
}

// TestTogether runs many changes of the name space concurrently: nothing is lost, and a
// reader always finds all names that existed at the start.
func TestTogether(t *testing.T) {
	r := newTree(t)
	r.want(0, nil, "rebuild")
	root := filepath.Join(r.Path, "var/pmns/root")
	var wg, reading sync.WaitGroup
	done := make(chan struct{})
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				r.has("var/pmns/root", "mem.free", true)
			}
		}
	})
	const n = 8
	for i := range n {
		r.Write(fmt.Sprintf("add%d", i), fmt.Sprintf("a%d {\n\tx\t%d:0:1\n}\n", i, 100+i))
		wg.Go(func() {
			if status, out := r.run(AddCommand, "-n", root, filepath.Join(r.Path, fmt.Sprintf("add%d", i))); status != 0 {
				t.Errorf("pmnsadd: %d %s", status, out)
			}
		})
	}
	wg.Wait()
	close(done)
	reading.Wait()
	for i := range n {
		r.has("var/pmns/root", fmt.Sprintf("a%d.x", i), true)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "root.lock")
	me := os.Getpid()
	if err := takeLock(t.Context(), path, me, time.Millisecond, 3); err != nil {
		t.Fatal(err)
	}
	if err := takeLock(t.Context(), path, me, time.Millisecond, 3); err != errLocked {
		t.Errorf("a second lock: %v", err)
	}
	// A lock of an ended process is taken over by exactly one process.
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d %s\n", gone.Process.Pid, lockTag), 0o644); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	got := make(chan error, 4)
	for range cap(got) {
		wg.Go(func() { got <- takeLock(t.Context(), path, me, time.Millisecond, 20) })
	}
	wg.Wait()
	close(got)
	n := 0
	for err := range got {
		if err == nil {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d took the lock of a process that has ended", n)
	}
	// A script's lock does not name the process that holds it.
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d pmnslock\n", gone.Process.Pid), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := takeLock(t.Context(), path, me, time.Millisecond, 3); err != errLocked {
		t.Errorf("with the lock of a script: %v", err)
	}

	r := newTree(t)
	r.want(0, nil, "lock")
	if text := r.Read("var/pmns/root.lock"); text != fmt.Sprintf("%d %s\n", os.Getppid(), lockTag) {
		t.Errorf("lock: %q", text)
	}
	r.want(0, nil, "unlock")
	r.want(0, nil, "unlock")
	other := filepath.Join(r.Path, "var/pmns/other")
	r.want(0, nil, "lock", other)
	if _, err := os.Stat(other + ".lock"); err != nil {
		t.Error(err)
	}
	r.want(1, []string{"No such file"}, "lock", "/nonexistent/root")
	r.want(1, []string{"Usage"}, "lock", "a", "b")
}

// TestBuiltinTable makes stdpmid without an installed PCP, and from a table as PCP installs
// it.
func TestBuiltinTable(t *testing.T) {
	r := newTree(t)
	if err := os.Remove(filepath.Join(r.Path, "var/pmns/stdpmid.pcp")); err != nil {
		t.Fatal(err)
	}
	r.want(0, nil, "rebuild")
	builtin := r.Read("var/pmns/stdpmid")
	for _, want := range []string{"#define LINUX\t60\n", "#define TXMON\t248\n", "#define MINE\t400\n"} {
		if !strings.Contains(builtin, want) {
			t.Errorf("without stdpmid.pcp: stdpmid lacks %q:\n%s", want, builtin)
		}
	}
	r.Write("var/pmns/stdpmid.local", "LINUX 401\n")
	r.want(1, []string{`duplicate for domain name "LINUX" ... 60 and 401`}, "stdpmid")

	r.Write("var/pmns/stdpmid.local", "#EXAMPLE 123\nMINE  400\n")
	target := filepath.Join(r.Path, "program")
	r.Write("program", "x")
	r.want(0, []string{"var/pmns/stdpmid.pcp\n"}, "scripts", "-t", target)
	if err := os.Remove(filepath.Join(r.Path, "var/pmns/stdpmid")); err != nil {
		t.Fatal(err)
	}
	r.want(0, nil, "scripts", "-t", target)
	if got := r.Read("var/pmns/stdpmid"); got != builtin {
		t.Errorf("stdpmid of the file that was written (-want +got):\n%s", cmp.Diff(builtin, got))
	}

	r.Write("var/pmns/stdpmid.pcp", "ONE\t1\t\t/* with a comment */\nLAST 511\n")
	r.want(0, nil, "stdpmid")
	if got := r.Read("var/pmns/stdpmid"); !strings.Contains(got, "#define ONE\t1\n#define MINE\t400\n#define LAST\t511\n") {
		t.Errorf("stdpmid: %s", got)
	}
}

func TestScripts(t *testing.T) {
	r := newTree(t)
	r.Write("share/lib/lockpmns", "#!/bin/sh\n")
	r.Write("program", "x")
	target := filepath.Join(r.Path, "program")
	r.want(0, []string{"var/pmns/Rebuild\n", "share/lib/lockpmns: is there already", "share/lib/unlockpmns\n"}, "scripts", "-t", target)
	for _, name := range []string{"var/pmns/Rebuild", "var/pmns/Make.stdpmid", "share/lib/unlockpmns", "share/lib/ReplacePmnsSubtree"} {
		if to, err := os.Readlink(filepath.Join(r.Path, name)); err != nil || to != target {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}
	if text := r.Read("share/lib/lockpmns"); text != "#!/bin/sh\n" {
		t.Errorf("lockpmns: %q", text)
	}
	if _, out := r.run(Command, "scripts", "-t", target); strings.Count(out, "\n") != 1 {
		t.Errorf("a second time: %s", out)
	}

	// A target is relative to the current directory, not to that of the link.
	t.Chdir(r.Path)
	if err := os.Remove(filepath.Join(r.Path, "var/pmns/Rebuild")); err != nil {
		t.Fatal(err)
	}
	r.run(Command, "scripts", "-t", "program")
	if to, err := os.Readlink(filepath.Join(r.Path, "var/pmns/Rebuild")); err != nil || !filepath.IsAbs(to) {
		t.Errorf("with a relative target Rebuild leads to %q, %v", to, err)
	}
}

// TestOracleRebuild runs the script of the C implementation in a directory like ours.
func TestOracleRebuild(t *testing.T) {
	oracle.Require(t)
	script := "/usr/lib/pcp/pmns/Rebuild"
	if _, err := os.Stat(script); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	theirs, ours := newTree(t), newTree(t)
	if text, err := os.ReadFile("/usr/lib/pcp/pmns/Make.stdpmid"); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(filepath.Join(theirs.Path, "var/pmns/Make.stdpmid"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	both := func(args ...string) {
		t.Helper()
		cmd := exec.Command(script, args...)
		cmd.Dir = filepath.Join(theirs.Path, "var/pmns")
		cmd.Env = append(oracle.Env(), "PMCD_PORT=1", "PMCD_SOCKET=/nonexistent", "PCP_SYSLOG_PROG=true")
		out, err := cmd.CombinedOutput()
		status, mine := ours.run(Command, append([]string{"rebuild"}, args...)...)
		if (err == nil) != (status == 0) {
			t.Errorf("%q: %v and %d\n%s\n%s", args, err, status, out, mine)
		}
		if !strings.HasSuffix(strings.Join(args, ""), "v") && len(out) > 0 != (len(mine) > 0) {
			t.Errorf("%q: %s\n%s", args, out, mine)
		}
		if diff := cmp.Diff(theirs.Read("var/pmns/root"), ours.Read("var/pmns/root")); diff != "" {
			t.Errorf("%q: root (-theirs +ours):\n%s", args, diff)
		}
		for _, phrase := range []string{"PMNS is unchanged.", "updated.", "new PMNS", "previous version saved", "merging the following"} {
			if strings.Contains(string(out), phrase) != strings.Contains(mine, phrase) {
				t.Errorf("%q: %q:\n%s\n%s", args, phrase, out, mine)
			}
		}
	}
	both("-o")
	if diff := cmp.Diff(defines(theirs.Read("var/pmns/stdpmid")), defines(ours.Read("var/pmns/stdpmid"))); diff != "" {
		t.Errorf("stdpmid (-theirs +ours):\n%s", diff)
	}
	both("-ov")
	for _, r := range []*tree{theirs, ours} {
		r.Write("var/pmns/root_linux", "#define _DATESTAMP 20200101\nroot {\n\tmem\n\tcpu\t60:3:3\n}\nmem {\n\tutil\t60:1:2\n\tfree\t60:9:9\n}\n")
	}
	both("-ov")
	both("-ov")
	both("-ou")
	both("-os")
	for _, r := range []*tree{theirs, ours} {
		r.Write("var/pmns/root_linux", "root {\n\tmem\n}\n")
	}
	both("-o")
}

var defineLine = regexp.MustCompile(`(?m)^#define \w+\t\d+$`)

func defines(text string) []string { return defineLine.FindAllString(text, -1) }

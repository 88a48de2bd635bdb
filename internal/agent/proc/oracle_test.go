package proc_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/proc"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// subtrees are the subtrees of the agent.
var subtrees = []string{"cgroup", "proc", "hotproc", "acct"}

// mistakes are metrics with wrong values in the real agent, and the reasons.
var mistakes = map[string]string{
	"proc.id.gid":                      "it is the user",
	"proc.psinfo.ngid":                 "it is the place of a string in a table",
	"proc.psinfo.priority":             "it is the real-time priority: from there on each field of stat is taken for the one before",
	"proc.psinfo.rt_priority":          "it is the policy",
	"proc.psinfo.policy":               "it is the time spent waiting for disks",
	"proc.psinfo.policy_s":             "as proc.psinfo.policy",
	"proc.psinfo.delayacct_blkio_time": "it is the time of virtual machines",
	"proc.psinfo.guest_time":           "it is that of children",
	"proc.psinfo.cguest_time":          "it is an address",
}

var me = &pmda.Client{Attrs: map[pmda.AttrKey]string{
	pmda.AttrUserID: strconv.Itoa(os.Getuid()), pmda.AttrGroupID: strconv.Itoa(os.Getgid()),
}}

// real is a collector with the real agent.
func startReal(t *testing.T, env ...string) (c *pmapi.Context, names []string, ids []pcp.PMID) {
	t.Helper()
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "proc"}, Env: env})
	c, err := pmapi.Dial(t.Context(), d.Unix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for _, g := range subtrees {
		for name, err := range c.Traverse(t.Context(), g) {
			if err != nil {
				t.Fatalf("%s: %v", g, err)
			}
			names = append(names, name)
		}
	}
	if ids, err = c.LookupName(t.Context(), names...); err != nil {
		t.Fatal(err)
	}
	return c, names, ids
}

// newer reports whether PCP 6.0.3 lacks a metric of ours.
func newer(name string) bool {
	return name == "proc.smaps.pss_dirty" || strings.HasPrefix(name, "proc.fdinfo.") || strings.HasPrefix(name, "proc.delayacct.") || strings.HasPrefix(name, "proc.numa_maps.") || strings.HasPrefix(name, "cgroup.pids.")
}

// TestOracleDescriptors compares names, PMIDs and descriptors with the real
// agent.
func TestOracleDescriptors(t *testing.T) {
	c, want, ids := startReal(t)
	a := proc.New(proc.Config{})
	var names []string
	for name := range a.NameSpace().All() {
		if !newer(strings.TrimPrefix(name, "hot")) {
			names = append(names, name)
		}
	}
	sorted := slices.Sorted(slices.Values(want)) // a collector has its own order
	if slices.Sort(names); !slices.Equal(names, sorted) {
		t.Errorf("names %q\nwant  %q", names, sorted)
	}
	for i, id := range ids {
		if got, err := a.LookupName(t.Context(), want[i]); err != nil || got != id {
			t.Errorf("%s is %v, %v, want %v", want[i], got, err, id)
		}
		wantDesc, err := c.LookupDesc(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if desc, err := a.Desc(t.Context(), id); err != nil || desc != wantDesc {
			t.Errorf("%s: %+v, %v, want %+v", want[i], desc, err, wantDesc)
		}
	}
}

func fetch(t *testing.T, a *proc.Agent, id pcp.PMID) map[int32]string {
	t.Helper()
	req := &pmda.FetchRequest{Client: me, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if err := errors.Join(a.Refresh(t.Context(), req.PMIDs), a.Fetch(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	return byInstance(&req.Result.Sets[0])
}

func byInstance(set *pcp.ValueSet) map[int32]string {
	m := make(map[int32]string)
	if set.Err != 0 {
		m[-1] = set.Err.Error()
	}
	for _, v := range set.Values {
		if m[v.Inst] = v.String(); v.Type() == pcp.TypeString {
			m[v.Inst], _ = v.Text()
		}
	}
	return m
}

// tries is how often the two sides may differ by chance, as the machine changes
// between the readings.
const tries = 10

// rounds is how often both sides are restarted if they differ: each keeps some of the
// first values of a process, and the process may have executed another program since.
const rounds = 3

// TestOracleValues fetches each metric from both, ours before and after the real one, and
// checks that values that did not change between are equal.
func TestOracleValues(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(mistakes)) {
		t.Logf("%s is not compared: in the real agent %s", name, mistakes[name])
	}
	own := startProcesses(t)
	diffs := differences(t, nil)
	for range rounds {
		if len(diffs) > 0 {
			again := differences(t, diffs)
			maps.DeleteFunc(diffs, func(k diffKey, _ string) bool { return again[k] == "" })
		}
	}
	for k, diff := range diffs {
		if k.inst < 0 || own[k.inst] || isKernels(k.inst) {
			t.Errorf("%s of %d (%s): %s", k.name, k.inst, argsNow(k.inst), diff)
		} else {
			t.Logf("%s of %d, a process that does what it likes (%.200s): %s", k.name, k.inst, argsNow(k.inst), diff)
		}
	}
}

// startProcesses starts processes that wait: a process with more arguments than
// either side keeps, a process with an environment, open files and a child, and a
// process with threads.
func startProcesses(t *testing.T) map[int32]bool {
	own := make(map[int32]bool)
	start := func(cmd *exec.Cmd) {
		t.Helper()
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		own[int32(cmd.Process.Pid)] = true
		t.Cleanup(func() {
			stdin.Close()
			cmd.Process.Kill()
			await.Exit(t, cmd)
		})
	}
	long := exec.Command("cat")
	long.Args[0] = strings.Repeat("long ", 1000)
	start(long)
	shell := exec.Command("sh", "-c", "exec 5</etc/passwd 6</etc/group; cat >/dev/null; true", "two words", "")
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "EMPTY=", "WORDS=one two"}
	start(shell)
	threads := exec.Command(os.Args[0], "-test.run=^TestWaits$")
	threads.Env = append(os.Environ(), waitsEnv+"=1")
	start(threads)
	return own
}

const waitsEnv = "PROC_TEST_WAITS"

// TestWaits is a process with threads, for TestOracleValues.
func TestWaits(t *testing.T) {
	if os.Getenv(waitsEnv) == "" {
		return
	}
	io.Copy(io.Discard, os.Stdin)
}

// isKernels reports whether a process is a thread of the kernel.
func isKernels(pid int32) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(after)
	return len(f) > 1 && (pid == 2 || f[1] == "2")
}

// A diffKey identifies a value that differs.
type diffKey struct {
	name string
	inst int32
}

// differences starts both sides and compares the metrics of only, or all if that is nil.
func differences(t *testing.T, only map[diffKey]string) map[diffKey]string {
	t.Helper()
	wanted := make(map[string]bool)
	for k := range only {
		wanted[k.name] = true
	}
	steady := allArgs()
	c, names, ids := startReal(t)
	a := proc.New(proc.Config{})
	found := make(map[diffKey]string)
	for i, id := range ids {
		switch {
		case only != nil && !wanted[names[i]]:
			continue
		case mistakes[strings.TrimPrefix(names[i], "hot")] != "":
			continue
		case strings.HasPrefix(names[i], "proc.runq."):
			continue // each side counts itself as running, and not the other; TestOracleTree compares them
		case strings.HasPrefix(names[i], "cgroup."):
			continue // TestOracleGroupsHere compares them
		}
		diffs := compare(t, c, a, id, steady)
		for range tries { // values that differ each time
			if len(diffs) == 0 {
				break
			}
			again := compare(t, c, a, id, steady)
			maps.DeleteFunc(diffs, func(inst int32, _ string) bool { return again[inst] == "" })
		}
		for inst, diff := range diffs {
			found[diffKey{names[i], inst}] = diff
		}
	}
	return found
}

// compare returns the differences by instance, except those caused by the busy processes
// of this test or by changes of the machine.
func compare(t *testing.T, c *pmapi.Context, a *proc.Agent, id pcp.PMID, steady map[int32]string) map[int32]string {
	t.Helper()
	diffs := make(map[int32]string)
	before := fetch(t, a, id)
	want := fetchReal(t, c, a, id)
	after := fetch(t, a, id)
	args := fetch(t, a, pcp.NewPMID(proc.Domain, 8, 41)) // proc.psinfo.psargs
	for inst, b := range before {
		w, ok := want[inst]
		// Each side keeps the arguments that it saw first: the process may have executed another program
		// between.
		busy := inst == int32(os.Getpid()) || id.Cluster() == 8 && id.Item() == 41 && (steady[inst] == "" || steady[inst] != argsNow(inst)) || strings.Contains(args[inst], "pmda") || strings.Contains(args[inst], "pmcd")
		if a, stays := after[inst]; !busy && stays && a == b && (w != b || !ok) {
			diffs[inst] = fmt.Sprintf("%q, want %q (%t)", b, w, ok)
		}
	}
	for inst, w := range want {
		_, was := before[inst]
		if _, is := after[inst]; !was && !is && args[inst] != "" && readable(inst) {
			diffs[inst] = fmt.Sprintf("no value, want %q", w)
		}
	}
	return diffs
}

// allArgs returns the arguments of all processes that have some.
func allArgs() map[int32]string {
	all := make(map[int32]string)
	list, _ := os.ReadDir("/proc")
	for _, e := range list {
		if pid, err := strconv.ParseInt(e.Name(), 10, 32); err == nil {
			all[int32(pid)] = argsNow(int32(pid))
		}
	}
	return all
}

// argsNow returns the arguments that a process has now.
func argsNow(pid int32) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.ReplaceAll(strings.TrimRight(string(b), "\x00"), "\x00", " ")
}

// readable reports whether this process may read the private files of another. If
// not, the real agent reports the values that it read last, of some other process.
func readable(pid int32) bool {
	_, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	return err == nil
}

// fetchReal returns the values of the real agent.
func fetchReal(t *testing.T, c *pmapi.Context, a *proc.Agent, id pcp.PMID) map[int32]string {
	t.Helper()
	// The real agent lists processes and groups again only for some of its metrics.
	ids := []pcp.PMID{id, pcp.NewPMID(proc.Domain, 8, 0)}
	if id.Cluster() == 76 { // pressure of interrupts
		ids = append(ids, pcp.NewPMID(proc.Domain, 67, 0))
	}
	res, err := c.Fetch(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	desc, err := a.Desc(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for j, v := range res.Sets[0].Values {
		res.Sets[0].Values[j] = v.As(desc.Type)
	}
	return byInstance(&res.Sets[0])
}

// TestOracleTree compares all values of a tree of files that does not change.
func TestOracleTree(t *testing.T) {
	dir := proc.WriteTree(t)
	c, names, ids := startReal(t, "PROC_STATSPATH="+dir)
	a := proc.New(proc.Config{Root: dir})
	for i, id := range ids {
		if mistakes[strings.TrimPrefix(names[i], "hot")] != "" || strings.HasSuffix(names[i], "_nm") || names[i] == "proc.id.container" {
			continue // or it uses names of this machine, or finds no container in a group of version 2
		}
		want, got := fetchReal(t, c, a, id), fetch(t, a, id)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s:\n got %q\nwant %q", names[i], got, want)
		}
	}
}

// TestOraclePredicates gives both the same predicates, and checks that the same
// processes of a tree are hot.
func TestOraclePredicates(t *testing.T) {
	dir := proc.WriteTree(t)
	if dir == "" || os.Getuid() != 0 {
		t.Skip("not run: only root may store predicates")
	}
	c, _, _ := startReal(t, "PROC_STATSPATH="+dir)
	a := proc.New(proc.Config{Root: dir})
	config, generation := pcp.NewPMID(proc.Domain, 60, 8), pcp.NewPMID(proc.Domain, 60, 9)
	for _, text := range []string{
		`true`, `false`, `! true || true && false`, `(cpuburn > 0.5 || uid == 1000) && fname != "init"`,
		"#comment\nVersion 1.0\nvirtualsize >= 4000 # more\n", `psargs ~ /two/`, `psargs !~ /^sh/`, `fname ~ /[a-z]*d$/`,
		`uname == "root" || gname == "users"`, `1 < 2`, `.5 == 0.50`, `12. < 1e3`, `"a" == "b"`, `"a" ~ /a/`, `residentsize < 3000000000`,
		`iowait == schedwait && ctxswitch <= iodemand`, `psargs ~ /\(kthreadd\|init\)/`, `psargs ~ /(kthreadd)/`, `true true`,
		// The real agent accepts texts with an illegal word or character and skips that.
		`uid = 1`, `uid == "x"`, `uname == 1`, `uname < "x"`, `uname ~ "x"`, `uid ~ /x/`, `(true`, `true)`, `&& true`, `uid`, `Version 2.0 true`,
		`Version 1.0`, `/x/ ~ /x/`, `!!true`, `! (uid < 5) && !false`,
	} {
		res := new(pcp.Result)
		res.AddSet(config)
		res.Add(pcp.StringValue(text))
		wantErr, gotErr := c.Store(t.Context(), res), a.Store(t.Context(), me, res)
		if (wantErr == nil) != (gotErr == nil) || wantErr != nil && pcp.Code(wantErr) != pcp.Code(gotErr) {
			t.Errorf("%s: %v, want %v", text, gotErr, wantErr)
			continue
		}
		if wantErr != nil {
			continue
		}
		if got, want := fetch(t, a, config)[-1], fetchReal(t, c, a, config)[-1]; got != want {
			t.Errorf("%s: it is %s, want %s", text, got, want)
		}
		if got := fetch(t, a, generation)[-1]; got == "0" {
			t.Errorf("%s: generation %s", text, got)
		}
	}
}

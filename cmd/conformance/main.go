//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	if os.Args[0] == innerName {
		os.Exit(innerMain())
	}
	os.Exit(run())
}

const usage = `usage: cmd/conformance/run [options] [test[:mode[:commands]] | @list]...

Runs tests of PCP's QA suite with our commands in place of the real ones. The
modes are offline, pmcd (a real collector), own (ours) and mixed (ours with real agents). Without tests it runs
those of must-pass.list; it is then no failure if the suite cannot run here, unless
CI says that it must. A test that fails beside others is run again by itself when the
others are done, unless its list says that it is always run so; that result counts.

`

func run() int {
	fs := flag.NewFlagSet("conformance", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		fs.PrintDefaults()
	}
	var (
		links   = fs.String("links", "bin/links", "`directory` of our commands under their classic names")
		cached  = fs.String("cache", "/var/cache/pcp-conformance", "`directory` for what is prepared once")
		suite   = fs.String("suite", "/var/lib/pcp/testsuite", "`directory` of the installed suite")
		added   = fs.String("tests", "cmd/conformance/tests", "`directory` of our own tests")
		wrap    = fs.String("wrap", "", "the `program` cmd/conformance/wrap (default: beside this one)")
		real    = fs.Bool("real", false, "use the real commands")
		keep    = fs.String("keep", "", "`directory` for the outputs of tests that do not pass")
		jobs    = fs.Int("j", 2*runtime.NumCPU(), "how many tests run at a `time`; most of them wait most of it")
		limit   = fs.Duration("timeout", 5*time.Minute, "how long one test may take")
		cand    = fs.Bool("candidates", false, "run the tests of candidates.list that use a command of ours; arguments are then modes")
		fresh   = fs.Bool("new", false, "with -candidates, only tests that are in no list yet")
		update  = fs.Bool("update", false, "with -candidates, rewrite the lists of those that pass")
		setenv  = fs.String("env", "", "a `variable` of tests and collectors, NAME=VALUE, such as PCP_COMPAT=7")
		verbose = fs.Bool("v", false, "tell which of our commands each test ran")
		command = fs.String("exec", "", "instead of tests, run a shell `command` in the sandbox of the mode that follows")
	)
	if err := fs.Parse(os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	args, byDefault := fs.Args(), false
	if len(args) == 0 && *command == "" && !*cand {
		args, byDefault = []string{"@cmd/conformance/must-pass.list"}, true
	}
	if reason := cannotRun(*suite); reason != "" {
		if byDefault && !inCI() {
			fmt.Printf("SKIPPED: the QA suite was not run: %s\n", reason)
			return 0
		}
		return failed(errors.New(reason))
	}
	r := &runner{suite: *suite, added: *added, cache: cache(*cached), limit: *limit}
	if *setenv != "" {
		if !strings.Contains(*setenv, "=") {
			return failed(fmt.Errorf("-env wants NAME=VALUE, not %q", *setenv))
		}
		r.env = []string{*setenv}
	}
	if err := r.findCommands(*links, *wrap, *real); err != nil {
		return failed(err)
	}
	if *command != "" {
		return r.exec(*command, args)
	}
	var tests []test
	var err error
	if *cand {
		tests, err = r.candidates(args)
		if *fresh && err == nil {
			tests, err = notListed(tests)
		}
	} else {
		tests, err = parseArgs(args)
	}
	if err == nil {
		err = r.prepare(tests, func(s string) { fmt.Println("#", s) })
	}
	if err == nil && *keep != "" {
		err = os.MkdirAll(*keep, 0o755)
	}
	if err != nil {
		return failed(err)
	}
	p := &reporter{jobs: max(*jobs, 1), keep: *keep, verbose: *verbose, explain: !*cand}
	if *cand {
		return p.tryCandidates(r, tests, *update)
	}
	return p.report(r, tests)
}

// inCI reports whether this runs where nothing may be left out unseen.
func inCI() bool {
	ci := os.Getenv("CI")
	return ci != "" && ci != "false" && ci != "0"
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "conformance:", err)
	return 1
}

// cannotRun returns the reason why the suite cannot run on this machine.
func cannotRun(suite string) string {
	switch {
	case os.Geteuid() != 0:
		return "it needs root, for namespaces and mounts"
	case !exists(suite):
		return suite + " is not there; Debian has it in the package pcp-testsuite"
	}
	if _, err := user.Lookup(qaUser); err != nil {
		return "there is no user " + qaUser + ", which the package pcp-testsuite makes"
	}
	cmd := exec.Command("unshare", "--mount", "--pid", "--net", "--fork", "true")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Sprintf("namespaces cannot be made here: %v: %s", err, out)
	}
	return ""
}

// inPython are agents that are Python scripts in the real PCP. A script that runs the wrapper
// replaces them.
var inPython = []string{"pmdaopenmetrics"}

// findCommands finds our commands, and the places of the real ones.
func (r *runner) findCommands(links, wrap string, real bool) error {
	r.wrap = wrap
	if wrap == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		r.wrap = filepath.Join(filepath.Dir(self), "wrap")
	}
	if !exists(r.wrap) {
		return fmt.Errorf("%s: no such program; build it from cmd/conformance/wrap", r.wrap)
	}
	if real {
		return nil
	}
	entries, err := os.ReadDir(links)
	if err != nil {
		return err
	}
	r.links, r.over = make(map[string]string), make(map[string][]string)
	for _, e := range entries {
		path, err := filepath.EvalSymlinks(filepath.Join(links, e.Name()))
		if err != nil {
			return err
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		if at := realCommands(e.Name()); len(at) > 0 {
			r.links[e.Name()], r.over[e.Name()] = path, at
		} else if at, ok := elsewhere[e.Name()]; ok {
			r.links[e.Name()], r.over[e.Name()] = path, []string{at}
		}
	}
	if len(r.links) == 0 {
		return fmt.Errorf("%s has no command that PCP has too", links)
	}
	return nil
}

// realCommands returns the files that are run when the real command of that name
// is called, in any directory of PCP. Where the name is a link, as pmevent is one to
// pmval, the wrapper covers its target, and looks at the name it is called by.
func realCommands(name string) []string {
	return commandsIn(commandDirs, agentDir, name)
}

func commandsIn(dirs []string, agents, name string) []string {
	agent, isAgent := strings.CutPrefix(name, "pmda")
	if isAgent {
		dirs = append(slices.Clone(dirs), filepath.Join(agents, agent))
	}
	var found []string
	for _, dir := range dirs {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	if slices.Contains(inPython, name) {
		if path, err := filepath.EvalSymlinks(filepath.Join(agents, agent, name+".python")); err == nil {
			return append(found, path)
		}
	}
	if path := filepath.Join(agents, agent, name); isAgent && exists(filepath.Dir(path)) && !slices.Contains(found, path) {
		// Set-up compiles it, or puts it there, perhaps in place of a link.
		found = append(found, path)
	}
	return found
}

// elsewhere lists commands of ours whose real ones are in packages that the suite here does
// without, such as those for screens, with the paths of the real ones. Only tests whose lists name
// them see them: others look for such a command, and behave differently if it is there.
var elsewhere = map[string]string{"pmdumptext": "/usr/bin/pmdumptext"}

// commandDirs are the directories in which PCP has its commands.
var commandDirs = []string{"/usr/bin", "/usr/sbin", "/usr/lib/pcp/bin", "/usr/libexec/pcp/bin"}

// agentDir is where agents are, each in a directory of its own.
const agentDir = "/var/lib/pcp/pmdas/"

// exec runs a command in a sandbox, to look around.
func (r *runner) exec(command string, args []string) int {
	m := offline
	if len(args) > 0 {
		m = mode(args[0])
	}
	if len(args) > 1 || !m.valid() {
		return failed(fmt.Errorf("-exec wants one mode, not %q", args))
	}
	if err := r.prepare(nil, func(s string) { fmt.Println("#", s) }); err != nil {
		return failed(err)
	}
	l := r.layout(m)
	l.Archives = r.cache.withArchives()
	j := job{Layout: l, Command: command, PMCD: m != offline, Timeout: r.limit, Env: r.env}
	if _, err := sandbox(&j); err != nil {
		return failed(err)
	}
	return 0
}

//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Results of a test.
const (
	pass    = "PASS"
	fail    = "FAIL"
	notRun  = "NOTRUN"  // the test reports that it cannot run here
	timeout = "TIMEOUT" // it took too long
	noSubst = "NOSUBST" // it passed or failed without the commands of ours it should have run
	broken  = "BROKEN"  // the sandbox failed, or there is no such test
)

// A runner runs tests.
type runner struct {
	suite string              // directory of the test suite
	added string              // directory of our own tests
	cache cache               // files that set-up prepared
	wrap  string              // the program of package wrap
	links map[string]string   // our commands, by name; nil to use the real ones
	over  map[string][]string // paths of the real ones
	limit time.Duration
	env   []string // additional environment of tests and collectors
	stub  string   // a program to run in place of the commands that a test names, or ""

	reads    map[string]bool // the tests that read archives of tmparch
	recorded <-chan struct{} // closed when these are made; nil if they were
}

// writable are the directories that tests write to. Some put another program in
// the collector's place, or change the units of services, and may be killed then.
var writable = []string{
	"/etc", "/run", "/var/lib/pcp", "/var/log/pcp", "/usr/local/bin",
	"/usr/bin", "/usr/lib/pcp/bin", "/usr/lib/pcp/pmdas", "/usr/lib/systemd/system",
}

// layout arranges the sandbox of a test.
func (r *runner) layout(m mode) layout {
	l := layout{
		Suite: r.suite, Layers: r.cache.layers(), Wrap: r.wrap,
		Links: make(map[string]string), Over: make(map[string][]string),
	}
	for _, dir := range writable {
		if exists(dir) {
			l.Writable = append(l.Writable, dir)
		}
	}
	for name, path := range r.over {
		if ours, ok := r.links[name]; ok && m.takes(name) {
			l.Links[name], l.Over[name] = ours, path
		}
	}
	return l
}

// takes reports whether the command of that name is ours.
func (m mode) takes(name string) bool {
	switch m {
	case pmcd:
		return !isService(name)
	case mixed:
		return !isService(name) || name == "pmcd"
	case offline: // dbpmda runs the agents
		return name != "pmcd"
	}
	return true
}

// isService reports whether a command is the collector or an agent.
func isService(name string) bool { return name == "pmcd" || strings.HasPrefix(name, "pmda") }

// run runs one test.
func (r *runner) run(t test) *result {
	dir := r.suite
	if t.added() {
		dir = r.added
	}
	if !exists(filepath.Join(dir, t.id)) {
		return &result{Status: broken, Note: dir + " has no such test"}
	}
	l := r.layout(t.mode)
	for name := range elsewhere {
		if !slices.Contains(t.tools, name) {
			delete(l.Links, name)
			delete(l.Over, name)
		}
	}
	if r.reads[t.id] {
		if r.recorded != nil {
			<-r.recorded
		}
		l.Archives = r.cache.withArchives()
	}
	for _, name := range t.tools {
		if _, ok := l.Links[name]; ok && r.stub != "" && !isService(name) {
			l.Links[name] = r.stub
		}
	}
	j := job{Layout: l, Test: t.id, PMCD: t.mode != offline, Timeout: r.limit, Env: r.env}
	j.Logger = j.PMCD && wantsLogger(r.suite, t)
	if t.noon {
		j.Zone = noonZone(time.Now())
	}
	if t.added() {
		var err error
		if j.Script, err = os.ReadFile(filepath.Join(dir, t.id)); err == nil {
			j.Expected, err = os.ReadFile(filepath.Join(dir, t.id+".out"))
		}
		if err != nil {
			return &result{Status: broken, Note: err.Error()}
		}
	}
	res, err := sandbox(&j)
	if err != nil {
		return &result{Status: broken, Note: err.Error()}
	}
	if r.links == nil || res.Status == notRun || res.Status == timeout {
		return res
	}
	missing := slices.DeleteFunc(slices.Clone(t.tools), func(name string) bool { return slices.Contains(res.Ran, name) })
	switch {
	case len(missing) > 0:
		res.Note = strings.TrimSpace("would be " + res.Status + ", did not run " + strings.Join(missing, ", "))
		res.Status = noSubst
	case len(res.Ran) == 0:
		res.Note, res.Status = "would be "+res.Status+", ran none of our commands", noSubst
	}
	return res
}

// noonZone returns a TZ in which it is between 12 and 13 o'clock.
func noonZone(now time.Time) string { return fmt.Sprintf("DAY%+d", now.UTC().Hour()-12) }

// sandbox does j in new namespaces.
func sandbox(j *job) (*result, error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	j.Out = filepath.Join(dir, "result")
	in, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{innerName}
	cmd.Stdin = bytes.NewReader(in)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = os.Stdout, &stderr
	// Daemons of the sandbox die with its first process.
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%v: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	b, err := os.ReadFile(j.Out)
	if err != nil {
		return nil, err
	}
	var res result
	if err := json.Unmarshal(b, &res); err != nil {
		return nil, err
	}
	return &res, nil
}

// innerName is the name of the first process of a sandbox.
const innerName = "conformance-inner"

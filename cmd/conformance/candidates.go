//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	candidateList = "cmd/conformance/candidates.list"
	mustPassList  = "cmd/conformance/must-pass.list"
	longList      = "cmd/conformance/long.list"

	// slow is the longest time of a test in must-pass.list.
	slow = 20 * time.Second
)

// candidates returns the tests of candidates.list, of some modes or all, that
// run a command of ours; as commands they name ours alone.
func (r *runner) candidates(modes []string) ([]test, error) {
	for _, m := range modes {
		if !mode(m).valid() {
			return nil, fmt.Errorf("-candidates wants modes, not %q", m)
		}
	}
	all, err := parseArgs([]string{"@" + candidateList})
	if err != nil {
		return nil, err
	}
	var list []test
	for _, t := range all {
		if len(modes) > 0 && !slices.Contains(modes, string(t.mode)) {
			continue
		}
		if r.links != nil {
			t.tools = slices.DeleteFunc(t.tools, func(name string) bool {
				return r.links[name] == "" || !t.mode.ours() && isService(name)
			})
		}
		if len(t.tools) > 0 && !slices.Equal(t.tools, []string{"pmcd"}) {
			list = append(list, t)
		}
	}
	return list, nil
}

// notListed returns the tests that are not in a list of tests that must pass.
func notListed(tests []test) ([]test, error) {
	listed, err := parseArgs([]string{"@" + mustPassList, "@" + longList})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(tests), func(t test) bool {
		return slices.ContainsFunc(listed, func(o test) bool { return o.String() == t.String() })
	}), nil
}

// tryCandidates runs tests, those that pass once without our commands and once
// more with them, and prints how the lists of those that must pass differ from
// the results.
func (p *reporter) tryCandidates(r *runner, tests []test, update bool) int {
	first, err := p.tryAny(r, tests)
	if err != nil {
		return failed(err)
	}
	var good []test
	for _, o := range first {
		if o.Status == pass {
			good = append(good, o.test)
		}
	}
	vacuous, err := p.vacuous(r, good)
	if err != nil {
		return failed(err)
	}
	good = slices.DeleteFunc(good, func(t test) bool { return vacuous[t.String()] })
	fmt.Printf("# the %d that passed once more\n", len(good))
	took := make(map[string]time.Duration)
	for _, o := range first {
		took[o.String()] = o.Took
	}
	var short, long []test
	second := p.run(r, good)
	for _, o := range second {
		switch {
		case o.Status != pass:
			fmt.Printf("# %v passes only at times\n", o.test)
		case min(o.Took, took[o.String()]) > slow:
			long = append(long, o.test)
		default:
			short = append(short, o.test)
		}
	}
	fmt.Printf("# of %d candidates %d pass, and %d that are slow\n", len(tests), len(short), len(long))
	tried := make(map[string]bool)
	for _, t := range tests {
		tried[t.String()] = true
	}
	for _, l := range []struct {
		path string
		now  []test
	}{{mustPassList, short}, {longList, long}} {
		if err := compareList(l.path, l.now, tried, update); err != nil {
			return failed(err)
		}
	}
	return 0
}

// tryAny runs tests without demanding that all commands which they name have
// run, since one of ours may do by itself what the real one leaves to others: of
// those that pass it names the ones that have. Tests that do not pass run once more,
// alone; those that pass then are listed as such.
func (p *reporter) tryAny(r *runner, tests []test) ([]outcome, error) {
	listed, err := parseArgs([]string{"@" + mustPassList, "@" + longList})
	if err != nil {
		return nil, err
	}
	any := slices.Clone(tests)
	for i := range any {
		any[i].tools = nil
		any[i].alone = slices.ContainsFunc(listed, func(t test) bool { return t.alone && t.String() == any[i].String() })
		any[i].noon = slices.ContainsFunc(listed, func(t test) bool { return t.noon && t.String() == any[i].String() })
	}
	all := p.run(r, any)
	for i := range all {
		if o := &all[i]; o.Status != pass && !o.alone {
			o.alone = true
			o.result = r.run(o.test)
			p.show(o)
		}
	}
	for i := range all {
		o := &all[i]
		o.tools = slices.DeleteFunc(slices.Clone(tests[i].tools), func(name string) bool {
			return r.links != nil && !slices.Contains(o.Ran, name)
		})
		if o.Status == pass && (len(o.tools) == 0 || slices.Equal(o.tools, []string{"pmcd"})) {
			o.Status, o.Note = noSubst, "ran none of our commands"
		}
	}
	return all, nil
}

// vacuous runs tests that have passed without the commands that they name,
// except services, and returns those that pass all the same: they prove nothing
// about ours. Other commands of ours stay, since starting a collector needs
// some.
func (p *reporter) vacuous(r *runner, tests []test) (map[string]bool, error) {
	found := make(map[string]bool)
	if r.links == nil {
		return found, nil
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	stub := filepath.Join(dir, "stub")
	if err := errors.Join(os.WriteFile(stub, []byte("#!/bin/sh\nexit 1\n"), 0o755), os.Chmod(dir, 0o755)); err != nil {
		return nil, err
	}
	fmt.Printf("# the %d that passed without our commands: each should fail\n", len(tests))
	quiet := &reporter{jobs: p.jobs, verbose: p.verbose}
	without := *r
	without.stub = stub
	for _, o := range quiet.run(&without, tests) {
		if o.Status == pass {
			fmt.Printf("# %v passes whatever our commands do\n", o.test)
			found[o.String()] = true
		}
	}
	return found, nil
}

// compareList prints the tests that a list lacks and the tried ones that do not
// belong there, and rewrites it if update is set.
func compareList(path string, now []test, tried map[string]bool, update bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	old, err := parseList(strings.NewReader(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	list := slices.Clone(now)
	for _, t := range old {
		switch {
		case slices.ContainsFunc(now, func(o test) bool { return o.String() == t.String() }):
		case tried[t.String()]:
			fmt.Printf("# %s: %v does not belong there\n", path, t)
		default:
			list = append(list, t)
		}
	}
	for _, t := range now {
		if !slices.ContainsFunc(old, func(o test) bool { return o.String() == t.String() }) {
			fmt.Printf("# %s: %v is new\n", path, t)
		}
	}
	if !update {
		return nil
	}
	return os.WriteFile(path, []byte(formatList(string(text), list)), 0o644)
}

// formatList makes a list with the comment at the head of another.
func formatList(old string, list []test) string {
	var b strings.Builder
	for line := range strings.Lines(old) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		b.WriteString(line)
	}
	b.WriteByte('\n')
	order := []mode{offline, pmcd, ownPMCD, mixed}
	slices.SortStableFunc(list, func(a, c test) int {
		if n := strings.Compare(fmt.Sprintf("%5s", a.id), fmt.Sprintf("%5s", c.id)); n != 0 {
			return n
		}
		return slices.Index(order, a.mode) - slices.Index(order, c.mode)
	})
	for _, t := range list {
		fmt.Fprintf(&b, "%-5s %-8s %s", t.id, t.mode, strings.Join(t.tools, ","))
		switch {
		case t.alone:
			b.WriteString(" alone")
		case t.noon:
			b.WriteString(" noon")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

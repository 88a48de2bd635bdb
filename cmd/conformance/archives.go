//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Some tests read archives that the suite does not come with, but with a makefile
// that has pmlogger record them. One after the other that takes minutes, nearly all
// of them spent waiting; here each is made in a directory of its own, all at the same
// time, while tests run that do not need them.

// archiveDir is the directory of the suite where these archives are.
const archiveDir = "tmparch"

// archives is where the cache has them: a layer over the suite.
func (c cache) archives() string { return filepath.Join(string(c), "archives") }

// withArchives is archives, or "" if there are none.
func (c cache) withArchives() string {
	if dir := c.archives(); exists(dir) {
		return dir
	}
	return ""
}

func (c cache) hasArchive(name string) bool {
	return exists(filepath.Join(c.archives(), archiveDir, name+".0"))
}

// A recipe is a rule of the makefile in archiveDir.
type recipe struct {
	makes []string // the archives that it makes, all at once
	from  []string // the archives it makes them of; none if it records them
}

var archiveRule = regexp.MustCompile(`(?m)^((?:[\w-]+\.0[ \t]*)+):(.*)$`)

// parseRecipes finds the rules of a makefile.
func parseRecipes(makefile []byte) []recipe {
	names := func(list string) (found []string) {
		for _, f := range strings.Fields(list) {
			if name, ok := strings.CutSuffix(f, ".0"); ok && !strings.Contains(name, "/") {
				found = append(found, name)
			}
		}
		return found
	}
	var rules []recipe
	for _, m := range archiveRule.FindAllSubmatch(makefile, -1) {
		r := recipe{makes: names(string(m[1])), from: names(string(m[2]))}
		if slices.Contains(r.makes, "bad-1") {
			r.from = append(r.from, "foo") // not in the makefile
		}
		rules = append(rules, r)
	}
	return rules
}

var (
	archiveUse  = regexp.MustCompile(`\b` + archiveDir + `/([\w-]+)`)
	archiveHere = regexp.MustCompile(`(?m)^\s*cd (?:\S*/)?` + archiveDir + `\b`)
	word        = regexp.MustCompile(`[\w-]+`)
)

// archivesOf returns the rules that a test needs, and those that these need.
func archivesOf(suite string, t test, rules []recipe) []recipe {
	text := scripts(suite, t)
	var names []string
	for _, m := range archiveUse.FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	if archiveHere.Match(text) {
		names = append(names, word.FindAllString(string(text), -1)...)
	}
	var need []recipe
	for i := 0; i < len(names); i++ { // it grows
		for _, r := range rules {
			known := slices.ContainsFunc(need, func(o recipe) bool { return o.makes[0] == r.makes[0] })
			if slices.Contains(r.makes, names[i]) && !known {
				need = append(need, r)
				names = append(names, r.from...)
			}
		}
	}
	return need
}

// makeArchives starts to make the archives that tests read and the cache lacks. Those
// tests wait for them in runner.run; others may run meanwhile. If an archive cannot
// be made, the tests that read it fail.
func (r *runner) makeArchives(tests []test, progress func(string)) error {
	makefile, err := os.ReadFile(filepath.Join(r.suite, archiveDir, "GNUlocaldefs"))
	if err != nil {
		progress("no archives can be made: " + err.Error())
		return nil
	}
	rules := parseRecipes(makefile)
	r.reads = make(map[string]bool)
	var need []recipe
	for _, t := range tests {
		list := archivesOf(r.suite, t, rules)
		if len(list) > 0 {
			r.reads[t.id] = true
		}
		for _, n := range list {
			if !slices.ContainsFunc(need, func(o recipe) bool { return o.makes[0] == n.makes[0] }) {
				need = append(need, n)
			}
		}
	}
	if len(r.missing(need)) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(r.cache.archives(), archiveDir), 0o755); err != nil {
		return err
	}
	done := make(chan struct{})
	r.recorded = done
	go func() {
		defer close(done)
		if err := r.recordArchives(need, progress); err != nil {
			progress(err.Error())
		}
	}()
	return nil
}

func (r *runner) missing(need []recipe) []recipe {
	return slices.DeleteFunc(slices.Clone(need), func(n recipe) bool {
		return !slices.ContainsFunc(n.makes, func(name string) bool { return !r.cache.hasArchive(name) })
	})
}

func (r *runner) recordArchives(need []recipe, progress func(string)) error {
	// Another run may be doing the same.
	lock, err := os.Create(filepath.Join(string(r.cache), "archives.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	if need = r.missing(need); len(need) == 0 {
		return nil
	}
	log := filepath.Join(string(r.cache), "archives.log")
	os.Remove(log)
	progress(fmt.Sprintf("making %s, while other tests run", strings.Join(archiveNames(need), ", ")))
	start := time.Now()
	l := r.layout(offline)
	l.Links, l.Over, l.Made = nil, nil, r.cache.archives()
	j := job{Layout: l, Command: archiveScript(need), PMCD: true, Root: true, Timeout: 15 * time.Minute, Log: log}
	_, err = sandbox(&j)
	if left := r.missing(need); len(left) > 0 {
		why := "see " + log
		if err != nil {
			why = err.Error() + "; " + why
		}
		return fmt.Errorf("could not be made: %s (%s)", strings.Join(archiveNames(left), ", "), why)
	}
	progress(fmt.Sprintf("archives made in %.0fs", time.Since(start).Seconds()))
	return nil
}

// archiveNames returns the archives that recipes make, by their names in tests.
func archiveNames(list []recipe) []string {
	var names []string
	for _, r := range list {
		for _, name := range r.makes {
			names = append(names, archiveDir+"/"+name)
		}
	}
	return names
}

// archiveScript makes the archives of recipes. Recordings run in parallel, except
// those that change values that others record: they take turns.
func archiveScript(need []recipe) string {
	var recorded, turns, derived strings.Builder
	for _, r := range need {
		names := strings.Join(r.makes, " ")
		switch {
		case len(r.from) > 0:
			fmt.Fprintf(&derived, "make_archives '%s' %s\n", strings.Join(r.from, " "), names)
		case strings.HasPrefix(r.makes[0], "dodgey-"):
			fmt.Fprintf(&turns, "make_archives '' %s\n", names)
		default:
			fmt.Fprintf(&recorded, "make_archives '' %s &\n", names)
		}
	}
	return makeArchives + recorded.String() + turns.String() + "wait\n" + derived.String() + "chown -R " + qaUser + " $made\n"
}

// makeArchives is called with the archives that others are made from, and with
// those that one rule makes. A mark in an archive that has no intended gap means
// that pmlogger had lost the collector.
const makeArchives = `made=` + sandboxDir + `/made/` + archiveDir + `
make_archives() {
	from=$1; shift
	dir=making.$1
	for try in 1 2 3
	do
		rm -rf $dir
		cp -rp ` + archiveDir + ` $dir
		for name in $from
		do
			cp -p $made/$name.* $dir
		done
		(
			cd $dir
			timeout 240 make $1.0 </dev/null || exit
			for name
			do
				test -s $name.0 && test -s $name.meta || exit
				case "$from$name" in
				*gap*) ;;
				$name) if pmdumplog -z $name | grep '<mark>'; then exit 1; fi ;;
				esac
			done
			for name
			do
				for file in $name.[!0]* $name.0
				do
					cp -p $file $made/.$file && mv -f $made/.$file $made/$file || exit
				done
			done
		) >$dir.log 2>&1 && return
		echo "$1, attempt $try:"
		cat $dir.log $dir/pmlogger.log
	done
}
`

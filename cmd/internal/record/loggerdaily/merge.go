package loggerdaily

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A day holds the archives that are merged into one.
type day struct {
	date   string
	inputs []string
}

// timedName matches the names of pmlogger's archives, with a time after the date.
const timedName = `^[^.].*\.[0-2][0-9]\.[0-5][0-9](-[0-9][0-9])?$`

// days returns the archives of past days, by date.
func (w *work) days() []day {
	entries, err := os.ReadDir(".")
	if err != nil {
		w.fault("%s", cli.FileErrText(err))
		return nil
	}
	match := regexp.MustCompile(timedName)
	var names []string
	for _, e := range entries {
		base, part, ok := archive.BaseName(e.Name())
		if ok && part == "meta" && match.MatchString(base) && !strings.HasPrefix(base, w.today()+".") {
			names = append(names, base)
		}
	}
	slices.Sort(names)
	var list []day
	for _, name := range slices.Compact(names) {
		date, _, _ := strings.Cut(name, ".")
		if n := len(list); n > 0 && list[n-1].date == date {
			list[n-1].inputs = append(list[n-1].inputs, name)
		} else {
			list = append(list, day{date, []string{name}})
		}
	}
	// Two-digit years come first, as with sort -n.
	slices.SortStableFunc(list, func(a, b day) int { return len(a.date) - len(b.date) })
	if w.yesterday {
		// A time close to midday of yesterday, as in the script.
		date := time.Now().In(w.now.Location()).Add(-time.Duration(12+w.now.Hour()) * time.Hour).Format("060102")
		list = slices.DeleteFunc(list, func(d day) bool { return !strings.HasSuffix(d.date, date) })
	}
	return list
}

// mergeDays merges the archives of each past day into one.
func (w *work) mergeDays() {
	list := w.days()
	if len(list) == 0 && !w.showMe {
		w.verbosef("Warning: no archives found to merge")
	}
	for _, d := range list {
		if w.ctx.Err() != nil {
			return
		}
		if !w.mergeDay(d) {
			continue
		}
		if len(w.mergeCallbacks) > 0 {
			w.verbosef("Merge callbacks ...")
			w.runCallbacks(w.mergeCallbacks, d.date)
		}
		w.merged = append(w.merged, d.date)
	}
}

// mergeDay merges the archives of a day into one, and reports whether it did.
func (w *work) mergeDay(d day) bool {
	if i := slices.IndexFunc(d.inputs, w.isWritten); i >= 0 {
		w.skipping("archive (%s) is still being written", d.inputs[i])
		return false
	}
	if w.renamed(d) {
		return true
	}
	if !w.free(d) {
		w.skipping("output archive (%s) already exists", d.date)
		return false
	}
	w.debugf("Rewriting input archives using %s", w.rules)
	ok := true
	for _, base := range d.inputs {
		switch {
		case w.noRewrite:
		case w.showMe:
			w.printf("+ pmlogrewrite -iq %s %s\n", w.rules, base)
		case w.call("pmlogrewrite", append(append([]string{"-iq"}, w.ruleSet...), base)...) != 0:
			w.skipping("rewrite for %s failed using %s failed", base, w.rules)
			ok = false
		}
	}
	if !ok || w.ctx.Err() != nil {
		return false
	}
	if w.verbose > 1 {
		for _, base := range d.inputs {
			w.debugf("Input archive %s ...", base)
			w.label(base)
		}
	}
	link, what, flags := "pmlogmv", "Renamed", slices.Clone(w.flags)
	if len(d.inputs) > 1 {
		link, what = "pmlogger_merge", "Merged"
		if w.expunge {
			flags = append(flags, "-E")
		}
		flags = append(flags, "-f")
	}
	if w.showMe {
		shown := strings.Join(append([]string{link}, flags...), " ")
		if len(d.inputs) > 1 && !w.expunge { // two blanks, as in the script
			shown = strings.TrimSuffix(shown, "-f") + " -f"
		}
		w.printf("+ %s %s %s\n", shown, strings.Join(d.inputs, " "), d.date)
		return true
	}
	if w.call(link, append(append(flags, d.inputs...), d.date)...) != 0 {
		if len(d.inputs) > 1 { // it has reported the error, which the script does not notice
			w.failed = true
		} else {
			w.fault("problems executing %s for host \"%s\"", link, w.host)
		}
		return false
	}
	w.debugf("%s output archive %s ...", what, d.date)
	w.label(d.date)
	return true
}

// label prints the label of an archive if -V is given twice.
func (w *work) label(base string) {
	switch {
	case w.verbose < 2:
	case w.showMe:
		w.printf("+ pmdumplog -L %s\n", base)
	default:
		w.flush()
		w.env.Call(w.ctx, "pmdumplog", w.errs, w.errs, "-L", base)
	}
}

// renamed reports whether the archive of a day is complete and includes the remaining files
// of its input: a pmlogmv was killed while removing these. They are removed now.
func (w *work) renamed(d day) bool {
	if len(d.inputs) != 1 {
		return false
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		return false
	}
	var left []string
	gone := false // whether pmlogmv had begun to remove
	for _, e := range entries {
		base, _, ok := archive.BaseName(e.Name())
		switch {
		case ok && base == d.inputs[0]:
			mine, err := os.Lstat(e.Name())
			if err != nil {
				return false
			}
			st, err := os.Lstat(d.date + strings.TrimPrefix(e.Name(), base))
			if err != nil || !os.SameFile(mine, st) {
				return false
			}
			left = append(left, e.Name())
		case ok && base == d.date:
			_, err := os.Lstat(d.inputs[0] + strings.TrimPrefix(e.Name(), base))
			gone = gone || errors.Is(err, fs.ErrNotExist)
		}
	}
	if !gone || len(left) == 0 {
		return false
	}
	if w.showMe {
		w.printf("+ rm -f %s\n", strings.Join(left, " "))
		return true
	}
	w.warn("archive %s: the renaming was interrupted, and is finished", filepath.Base(d.date))
	for _, name := range left {
		if err := os.Remove(name); err != nil {
			w.fault("%s", cli.FileErrText(err))
			return false
		}
	}
	return true
}

// free reports whether there is no archive of a day yet. A killed pmlogmv leaves files
// that are its input under a second name; these are removed.
func (w *work) free(d day) bool {
	entries, err := os.ReadDir(".")
	if err != nil {
		w.fault("%s", cli.FileErrText(err))
		return false
	}
	var links []string
	for _, e := range entries {
		base, _, ok := archive.BaseName(e.Name())
		if !ok || base != d.date {
			continue
		}
		mine, err := e.Info()
		if err != nil {
			return false
		}
		found := false
		for _, input := range d.inputs {
			if st, err := os.Lstat(input + strings.TrimPrefix(e.Name(), d.date)); err == nil && os.SameFile(mine, st) {
				found = true
			}
		}
		if !found {
			return false
		}
		links = append(links, e.Name())
	}
	if len(links) == 0 {
		return true
	}
	if w.showMe {
		w.printf("+ rm -f %s\n", strings.Join(links, " "))
		return true
	}
	w.warn("archive %s: the renaming was interrupted, and is done again", filepath.Base(d.date))
	for _, name := range links {
		if err := os.Remove(name); err != nil {
			w.fault("%s", cli.FileErrText(err))
			return false
		}
	}
	return true
}

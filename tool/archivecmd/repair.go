package archivecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/check"
	"github.com/go-pcp/pcp/tool/cli"
)

var repairCommand = &cli.Command{
	Name:     "archive repair",
	Summary:  "save what can be read of a damaged archive",
	Synopsis: "[options] archive newname",
	Options: []cli.Option{
		cli.Heading("Options"),
		{Short: 'i', Long: "in-place", Help: "put the repaired archive where the damaged one is, which becomes NAME.damaged"},
		{Short: 'q', Long: "quiet", Help: "do not say what is lost"},
		cli.OptHelp,
	},
	Run: repair,
}

func repair(ctx context.Context, env *cli.Env) int {
	var inPlace, quiet bool
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		switch opt.Long {
		case "in-place":
			inPlace = true
		case "quiet":
			quiet = true
		default:
			return false
		}
		return true
	}})
	want := 2
	if inPlace {
		want = 1
	}
	if len(o.Args) != want && !o.WantsVersion() {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	files, err := archive.FindFiles(o.Args[0])
	if err != nil {
		return failed(env, fmt.Errorf("%s: %w", o.Args[0], err))
	}
	note := func(format string, args ...any) {
		if !quiet {
			fmt.Fprintf(env.Stdout, format+"\n", args...)
		}
	}
	base := ""
	if !inPlace {
		base = o.Args[1]
	} else {
		if whole(o.Args[0]) {
			note("%s: whole, there is nothing to repair", strings.TrimPrefix(files.Base, "./"))
			return 0
		}
		if err := archive.CheckFree(files.Base + backupSuffix); err != nil {
			return failed(env, err)
		}
		dir, err := os.MkdirTemp(filepath.Dir(files.Base), ".pcp-repair-")
		if err != nil {
			return failed(env, err)
		}
		defer os.RemoveAll(dir)
		base = filepath.Join(dir, filepath.Base(files.Base))
	}
	r := &rescue{ctx: ctx, files: files, note: note}
	m := cli.NewProgress(env, files.Base, 0)
	err = r.run(base, m.Set)
	m.Clear()
	if err != nil {
		// What was begun is of no use, and what was there before is not ours.
		if !errors.Is(err, fs.ErrExist) {
			removeAll(base)
		}
		return failed(env, err)
	}
	if !whole(base) {
		removeAll(base)
		return env.Fatalf("%s: the repaired archive is not whole, and removed", files.Base)
	}
	if inPlace {
		if err := replace(files, base); err != nil {
			return failed(env, err)
		}
		note("%s: %d records kept, %d marks added; the damaged archive is %s", files.Base, r.kept, r.marked, files.Base+backupSuffix)
		return 0
	}
	note("%s: %d records kept, %d marks added", base, r.kept, r.marked)
	return 0
}

// whole tells whether an archive has no damage.
func whole(base string) bool {
	ok := true
	c := check.Checker{Path: base, NoWrap: true, Found: func(f check.Finding) {
		// An archive without an index can be used, but not well.
		if f.Severity == check.Error || f.Severity == check.Warning && f.Pass == 1 {
			ok = false
		}
	}}
	return c.Run() && ok
}

// removeAll removes the files of an archive that was not completed.
func removeAll(base string) {
	for _, path := range check.Files(base) {
		os.Remove(path)
	}
}

// backupSuffix ends the base name of what a repair in place leaves.
const backupSuffix = ".damaged"

// replace puts an archive where another is, which keeps all its files under
// another name. At each moment every file of the old one has one of its names.
func replace(files *archive.Files, fresh string) error {
	set, err := archive.FindFiles(fresh)
	if err != nil {
		return err
	}
	for _, path := range files.All() {
		suffix := strings.TrimPrefix(path, files.Base)
		if err := os.Link(path, files.Base+backupSuffix+suffix); err != nil {
			return err
		}
	}
	keep := make(map[string]bool)
	for _, path := range set.All() {
		if err := syncFile(path); err != nil {
			return err
		}
		to := files.Base + strings.TrimPrefix(path, set.Base)
		keep[to] = true
		if err := os.Rename(path, to); err != nil {
			return err
		}
	}
	for _, path := range files.All() {
		if !keep[path] { // it was compressed
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return syncFile(filepath.Dir(files.Base))
}

// syncFile makes sure that a file, or the names in a directory, are on the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

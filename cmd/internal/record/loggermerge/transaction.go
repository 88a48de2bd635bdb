package loggermerge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/cmd/internal/tool/parts"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Several archives cannot be replaced by one atomically. The order of the steps ensures
// that nothing is lost if the process is killed at any time:
//
//	1. The new archive is written as .NAME.merging, read back, and synced to disk.
//	2. .NAME.merged marks it as complete, and lists the archives that it replaces.
//	3. The files of .NAME.merging get their names, the metadata last.
//	4. The archives that it replaces are removed, the metadata first.
//	5. .NAME.merged is removed.
//
// If .NAME.merged exists, the steps from 3 on are repeated. If not, .NAME.merging is
// incomplete, and is removed.

const (
	mergingSuffix = ".merging"
	mergedSuffix  = ".merged"
	mergedHead    = "# archives that the one of this name replaces\n"
	mergedEnd     = "# end\n"

	// maxMerged is the maximum size of .NAME.merged.
	maxMerged = 16 << 20
)

// errExtract is the error if pmlogextract failed and reported the reason.
var errExtract = errors.New("pmlogextract failed")

// A transaction makes an archive.
type transaction struct {
	ctx    context.Context
	output string
	fail   func(step string) error
}

func (t *transaction) step(name string) error {
	if err := t.ctx.Err(); err != nil {
		return fmt.Errorf("archive %s: interrupted: %w", t.output, err)
	}
	if t.fail != nil {
		return t.fail(name)
	}
	return nil
}

// run calls make to write an archive, and gives it its name, in a directory that the
// caller has locked. replaced are the archives that the caller must remove before it
// calls forget; if there are none, it need not call it.
func (t *transaction) run(replaced []string, make func(base string) error) error {
	dir, name := filepath.Dir(t.output), filepath.Base(t.output)
	if err := archive.CheckFree(t.output); err != nil {
		return err
	}
	base := filepath.Join(dir, "."+name+mergingSuffix)
	if err := dropArchive(base); err != nil {
		return err
	}
	err := make(base)
	if err == nil {
		err = t.step("written")
	}
	if err == nil {
		err = t.verify(base)
	}
	if err == nil {
		err = syncArchive(base)
	}
	if err != nil {
		return errors.Join(err, dropArchive(base))
	}
	if err := t.step("synced"); err != nil {
		return errors.Join(err, dropArchive(base))
	}
	if err := writeMerged(dir, name, replaced); err != nil {
		return errors.Join(err, dropArchive(base))
	}
	if err := t.step("noted"); err != nil {
		return err
	}
	if err := t.rename(dir, name); err != nil {
		return err
	}
	if len(replaced) == 0 {
		return forget(t.output)
	}
	return nil
}

// verify reads an archive from start to end.
func (t *transaction) verify(base string) error {
	a, err := archive.Open(base)
	if err != nil {
		return err
	}
	defer a.Close()
	n := 0
	scan := archive.NewScanner(a)
	defer scan.Close()
	for _, err := range scan.Records() {
		if err != nil {
			return fmt.Errorf("reading the new archive back: %w", err)
		}
		if n++; n%1024 == 0 {
			if err := t.ctx.Err(); err != nil {
				return err
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("the new archive %s has no records", base)
	}
	return nil
}

// rename gives the files of .NAME.merging their names, the metadata last.
func (t *transaction) rename(dir, name string) error {
	return renameParts(dir, name, t.step)
}

func renameParts(dir, name string, step func(string) error) error {
	list, err := parts.Regular(filepath.Join(dir, "."+name+mergingSuffix))
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.Meta {
			if err := fsdir.Sync(dir); err != nil {
				return err
			}
		}
		if err := step("rename " + p.Suffix); err != nil {
			return err
		}
		if err := os.Rename(p.Path, filepath.Join(dir, name+p.Suffix)); err != nil {
			return err
		}
	}
	if len(list) > 0 {
		return fsdir.Sync(dir)
	}
	return nil
}

// writeMerged notes that the new archive is complete.
func writeMerged(dir, name string, replaced []string) error {
	var b strings.Builder
	b.WriteString(mergedHead)
	for _, r := range replaced {
		abs, err := filepath.Abs(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q\n", abs)
	}
	b.WriteString(mergedEnd)
	path := filepath.Join(dir, "."+name+mergedSuffix)
	return safefile.ReplaceBytes(path, []byte(b.String()), safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1})
}

// readMerged returns the archives that a complete one replaces. ok reports whether
// writeMerged wrote the note.
func readMerged(path string) (replaced []string, ok bool, err error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, false, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxMerged {
		return nil, false, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, false, err
	}
	text, ok := strings.CutPrefix(string(b), mergedHead)
	if ok {
		text, ok = strings.CutSuffix(text, mergedEnd)
	}
	if !ok {
		return nil, false, nil
	}
	for line := range strings.Lines(text) {
		var base string
		if n, err := fmt.Sscanf(line, "%q\n", &base); n != 1 || err != nil || !filepath.IsAbs(base) {
			return nil, false, nil
		}
		replaced = append(replaced, base)
	}
	return replaced, true, nil
}

// forget removes the note of a merge that is complete.
func forget(output string) error {
	dir, name := filepath.Dir(output), filepath.Base(output)
	err := os.Remove(filepath.Join(dir, "."+name+mergedSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// finish completes the interrupted merges in a directory, and reports them. The caller
// has locked the directory.
func finish(dir string) (notes []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var merged []string
	for _, e := range entries {
		if n, ok := strings.CutSuffix(e.Name(), mergedSuffix); ok && len(n) > 1 && n[0] == '.' {
			merged = append(merged, n[1:])
		}
		if strings.HasPrefix(e.Name(), "..") && strings.Contains(e.Name(), mergedSuffix+".") && e.Type().IsRegular() {
			// An incomplete note.
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	for _, name := range merged {
		path := filepath.Join(dir, "."+name+mergedSuffix)
		replaced, ok, err := readMerged(path)
		if err != nil {
			return notes, err
		}
		if !ok {
			notes = append(notes, fmt.Sprintf("%s is damaged or not a note of a merge, and is left", path))
			continue
		}
		if err := renameParts(dir, name, func(string) error { return nil }); err != nil {
			return notes, err
		}
		// The inputs are removed only if the archive with their values can be opened.
		a, err := archive.Open(filepath.Join(dir, name))
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: the archive is not there or damaged, what it replaces is left: %v", path, err))
			continue
		}
		a.Close()
		for _, r := range replaced {
			if err := dropArchive(r); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return notes, err
			}
		}
		if err := os.Remove(path); err != nil {
			return notes, err
		}
		notes = append(notes, fmt.Sprintf("archive %q: a merge that was interrupted is finished", filepath.Join(dir, name)))
	}
	for _, e := range entries {
		base, _, ok := archive.BaseName(e.Name())
		name, is := strings.CutSuffix(base, mergingSuffix)
		if !ok || !is || len(name) < 2 || name[0] != '.' || slices.Contains(merged, name[1:]) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return notes, err
		}
		notes = append(notes, fmt.Sprintf("%s is of a merge that was interrupted, and is removed", path))
	}
	return notes, nil
}

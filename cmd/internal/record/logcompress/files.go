package logcompress

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/record/logbasename"
)

// suffixes are those of compressed files.
var suffixes = []string{".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"}

// packed returns the suffix of a compressed file, or "".
func packed(path string) string {
	if ext := filepath.Ext(path); slices.Contains(suffixes, ext) {
		return ext
	}
	return ""
}

// files returns the files that an argument names: one file, or with its base name those of an archive.
func files(arg string) (base string, list []string, err error) {
	if st, err := os.Stat(arg); err == nil && st.Mode().IsRegular() {
		return "", []string{arg}, nil
	}
	base = logbasename.Base(arg)
	dir := filepath.Dir(base)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return base, nil, err
	}
	for _, e := range entries {
		if b, _, ok := archive.BaseName(e.Name()); !ok || b != filepath.Base(base) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if !strings.Contains(base, "/") {
			path = e.Name()
		}
		list = append(list, path)
	}
	return base, list, nil
}

// quiet is the time after which a file without changes is not that of another program's recorder: process numbers in labels
// are used again.
const quiet = 24 * time.Hour

// written returns an error if a recorder writes the archive that a file belongs to.
func written(path string) error {
	base, _, ok := archive.BaseName(path)
	if !ok {
		return nil
	}
	if w, err := archive.Written(base); w || err != nil {
		return errors.Join(fmt.Errorf("%s: a recorder writes this archive", base), err)
	}
	list, err := janitor.List(filepath.Dir(base))
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.Base == filepath.Clean(base) && time.Since(a.Time) < quiet && janitor.Written(a) {
			return fmt.Errorf("%s: a recorder writes this archive", base)
		}
	}
	return nil
}

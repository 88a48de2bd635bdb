package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/go-pcp/pcp/archive"
)

// Options are those of [Archive].
type Options struct {
	Dropped  func(Drop)              // called for each dropped or changed part; may be nil
	Progress func(done, total int64) // may be nil
}

// Archive repairs the archive of files to a new one named base, of which no file
// may exist. It only reads the damaged one. If it fails it removes the new one;
// if the process is killed a part of it remains.
func Archive(ctx context.Context, files *archive.Files, base string, o Options) (sum Summary, err error) {
	cfg := Config{Numbers: files.Numbers, Dropped: o.Dropped, Progress: o.Progress}
	var open []*archive.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	source := func(path string) (Source, error) {
		f, err := archive.OpenDamaged(path)
		if err != nil {
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
				return Source{}, err
			}
			st, serr := os.Stat(path)
			if serr != nil {
				return Source{}, serr
			}
			return Source{Name: path, Size: st.Size(), Broken: err}, nil
		}
		open = append(open, f)
		s := Source{Name: f.Name(), Data: f, Next: f.NextBlock}
		s.Size, s.End = f.Readable()
		return s, nil
	}
	if cfg.Meta, err = source(files.Meta); err != nil {
		return sum, err
	}
	for _, path := range files.Volumes {
		s, err := source(path)
		if err != nil {
			return sum, err
		}
		cfg.Volumes = append(cfg.Volumes, s)
	}
	if files.Index != "" {
		s, err := source(files.Index)
		if err != nil {
			return sum, err
		}
		if s.Broken == nil {
			cfg.Index = &s
		}
	}
	var w *archive.Writer
	sum, err = Run(ctx, cfg, func(label archive.Label, first int) (Output, error) {
		var err error
		w, err = archive.Create(base, archive.WriterConfig{Label: label, FirstVolume: first})
		return w, err
	})
	if w == nil {
		if errors.Is(err, ErrNothing) {
			err = fmt.Errorf("%s: %w", files.Base, err)
		}
		return sum, err
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		Remove(base)
		if errors.Is(err, ErrNothing) {
			err = fmt.Errorf("%s: %w", files.Base, err)
		}
	}
	return sum, err
}

// Remove removes the files of an archive.
func Remove(base string) {
	if set, err := archive.FindFiles(base); err == nil {
		for _, path := range set.All() {
			os.Remove(path)
		}
	}
}

// Move gives the files of an archive another name, the metadata last: without
// these it is not an archive. It never replaces a file.
func Move(from, to string) error {
	set, err := archive.FindFiles(from)
	if err != nil {
		return err
	}
	if err := archive.CheckFree(to); err != nil {
		return err
	}
	var made []string
	for _, path := range set.All() {
		name := to + path[len(set.Base):]
		err := os.Link(path, name)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = os.Rename(path, name) // a file system without links
		}
		if err != nil {
			for _, name := range slices.Backward(made) {
				os.Remove(name)
			}
			return err
		}
		made = append(made, name)
	}
	Remove(from)
	return nil
}

package janitor

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/columns"
)

// A File is a file of an archive.
type File struct {
	Path   string
	Volume int    // number, archive.VolMeta or archive.VolIndex
	Suffix string // of a compressed file, such as ".xz"; "" otherwise
	Size   int64  // on disk
	Time   time.Time
}

// An Archive is the files of an archive in a directory.
type Archive struct {
	Base  string // path without suffix
	Files []File // metadata, index, volumes
	Size  int64  // of all of them and the columns, on disk
	Time  time.Time
}

// whole reports whether there are metadata and a volume.
func (a *Archive) whole() bool {
	meta, volume := false, false
	for _, f := range a.Files {
		meta = meta || f.Volume == archive.VolMeta
		volume = volume || f.Volume >= 0
	}
	return meta && volume
}

// List returns the archives of a directory, the least recently changed first. It ignores
// anything but regular files.
func List(dir string) ([]*Archive, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	byBase := make(map[string]*Archive)
	var list []*Archive
	extra := make(map[string]int64) // bytes of columns, which go with their archives
	for _, e := range entries {
		if base, ok := columns.BaseName(e.Name()); ok {
			if fi, err := e.Info(); err == nil {
				extra[base] += fi.Size()
			}
			continue
		}
		base, part, ok := archive.BaseName(e.Name())
		if !ok || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		fi, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f := File{Path: filepath.Join(dir, e.Name()), Suffix: strings.TrimPrefix(e.Name(), base+"."+part), Size: fi.Size(), Time: fi.ModTime()}
		switch part {
		case "meta":
			f.Volume = archive.VolMeta
		case "index":
			f.Volume = archive.VolIndex
		default:
			n, err := strconv.Atoi(part)
			if err != nil || n > archive.MaxVolumes {
				continue
			}
			f.Volume = n
		}
		a := byBase[base]
		if a == nil {
			a = &Archive{Base: filepath.Join(dir, base)}
			byBase[base] = a
			list = append(list, a)
		}
		a.Files = append(a.Files, f)
		a.Size += f.Size
		if f.Time.After(a.Time) {
			a.Time = f.Time
		}
	}
	for _, a := range list {
		a.Size += extra[filepath.Base(a.Base)]
		slices.SortFunc(a.Files, func(x, y File) int {
			rank := func(f File) int {
				if f.Volume == archive.VolMeta {
					return archive.VolIndex - 1
				}
				return f.Volume
			}
			return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.Path, y.Path))
		})
	}
	slices.SortFunc(list, func(a, b *Archive) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Base, b.Base))
	})
	return list, nil
}

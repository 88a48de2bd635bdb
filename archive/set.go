package archive

import (
	"fmt"
	"io/fs"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/internal/compressed"
	"github.com/go-pcp/pcp/internal/storage"
)

// OpenAll opens archives that are replayed as one. They share one Meta, into which
// the metadata of the archives are read in the order of paths. The first of several
// names or descriptors counts; a descriptor that contradicts an earlier one is an
// error such as pcp.ErrLogChangeSem. If an archive is of another host than the
// first, the error is pcp.ErrLogHost; if two start at the same time, it is
// pcp.ErrLogOverlap. A repeated path counts once. OpenAll returns the error of the
// first archive that cannot be opened.
//
// If there are several archives, no volume stays open, so that their number is
// not limited by the open files of a process.
func (o Options) OpenAll(paths []string) (list []*Archive, err error) {
	switch len(paths) {
	case 0:
		return nil, fmt.Errorf("no archive is named: %w", pcp.ErrLogFile)
	case 1:
		a, err := o.Open(paths[0])
		if err != nil {
			return nil, err
		}
		return []*Archive{a}, nil
	}
	defer func() {
		if err != nil {
			for _, a := range list {
				a.Close()
			}
			list = nil
		}
	}()
	listings := make(map[string][]fs.DirEntry)
	o.readDir = func(dir string) ([]fs.DirEntry, error) {
		if list, ok := listings[dir]; ok {
			return list, nil
		}
		list, err := storage.ReadDir(dir)
		if err == nil {
			listings[dir] = list
		}
		return list, err
	}
	o.check = func(l Label) error {
		if len(list) > 0 && l.Host != list[0].label.Host {
			return fmt.Errorf("host %s, not %s as that of %s: %w", l.Host, list[0].label.Host, list[0].path, pcp.ErrLogHost)
		}
		return nil
	}
	o.later = true // there may be hundreds, of which a few are read
	o.meta, o.mem = newMeta(Label{}), new(compressed.Memory)
	starts := make(map[pcp.Timestamp]string) // the path that starts then
	for _, path := range paths {
		a, err := o.Open(path)
		if err != nil {
			return list, err
		}
		other, ok := starts[a.label.Start]
		if ok {
			a.Close()
			if other != path {
				return list, fmt.Errorf("archive %s: starts when %s does: %w", path, other, pcp.ErrLogOverlap)
			}
			continue
		}
		starts[a.label.Start] = path
		a.CloseIdle()
		if len(list) == 0 {
			o.meta.label = a.label
		}
		list = append(list, a)
	}
	o.meta.dropRepeatedLabels()
	return list, nil
}

// CloseIdle closes the volumes that no Reader uses. They are opened again when
// they are needed.
func (a *Archive) CloseIdle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v := range a.open {
		if v.refs == 0 {
			v.src.Close()
			delete(a.open, v.number)
		}
	}
}

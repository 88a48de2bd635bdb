package archive

import (
	"io/fs"
	"os"
)

// OpenAll opens archives that are replayed as one. They share their metadata:
// the Meta of each is that of all, into which those of the archives are read in
// the order of paths. A descriptor that contradicts one of an archive before is
// an error such as pcp.ErrLogChangeSem; of names and descriptors the first
// counts. The error is that of the first archive that cannot be opened.
//
// No volume stays open, so that there may be more archives than a process can
// have files.
func (o Options) OpenAll(paths []string) ([]*Archive, error) {
	listings := make(map[string][]fs.DirEntry)
	o.readDir = func(dir string) ([]fs.DirEntry, error) {
		if list, ok := listings[dir]; ok {
			return list, nil
		}
		list, err := os.ReadDir(dir)
		if err == nil {
			listings[dir] = list
		}
		return list, err
	}
	if len(paths) > 1 {
		o.meta = newMeta(Label{})
	}
	list := make([]*Archive, 0, len(paths))
	for _, path := range paths {
		a, err := o.Open(path)
		if err != nil {
			for _, a := range list {
				a.Close()
			}
			return nil, err
		}
		if len(paths) > 1 {
			a.CloseIdle()
		}
		list = append(list, a)
	}
	if o.meta != nil {
		o.meta.label = list[0].label
		o.meta.dropRepeatedLabels()
	}
	return list, nil
}

// CloseIdle closes the volumes that no Reader is at. They are opened again when
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

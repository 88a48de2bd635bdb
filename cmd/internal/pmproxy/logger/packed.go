package logger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/go-pcp/pcp/archive"
)

// Programs that maintain archives may compress one before its client, which was away, pushes the rest.

// open opens a regular file below the root for reading. Contents are expanded.
func (p *push) open(root *os.Root, name string) (*archive.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return archive.OpenFile(filepath.Join(root.Name(), filepath.FromSlash(name)))
}

// packed finds a compressed file among the names in the host's directory. The file stays as it is until
// there is more to write.
func (p *push) packed(root *os.Root, kind file, names []string) error {
	want := p.name(kind, p.volume)
	for _, name := range names {
		base, part, ok := archive.BaseName(name)
		if !ok || p.label.Host+"/"+base+"."+part != want {
			continue
		}
		f, err := p.open(root, p.label.Host+"/"+name)
		if err != nil {
			return err
		}
		defer f.Close()
		size, err := f.Size()
		if err != nil {
			return err
		}
		p.streams[kind] = stream{size: size, packed: p.label.Host + "/" + name}
		return nil
	}
	return fs.ErrNotExist
}

// expand replaces a compressed file.
func (p *push) expand(root *os.Root, kind file) error {
	s, name := &p.streams[kind], p.name(kind, p.volume)
	from := s.packed
	if s.size > p.h.cfg.MaxFile {
		return fmt.Errorf("%s of more than %d bytes: %w", name, p.h.cfg.MaxFile, errFull)
	}
	if err := p.take(root, s.size); err != nil {
		return err
	}
	temp := p.label.Host + "/." + path.Base(name) + ".expanding"
	if err := p.copyOut(root, from, temp, s.size); err != nil {
		p.give(s.size)
		return errors.Join(err, root.Remove(temp))
	}
	var packed int64
	if info, err := root.Lstat(from); err == nil {
		packed = info.Size()
	}
	if err := root.Rename(temp, name); err != nil {
		p.give(s.size)
		return errors.Join(err, root.Remove(temp))
	}
	if err := root.Remove(from); err != nil {
		return err
	}
	p.give(packed)
	return p.tail(root, kind)
}

// copyOut copies the contents of a compressed file to a new file.
func (p *push) copyOut(root *os.Root, from, to string, size int64) error {
	f, err := p.open(root, from)
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	defer f.Close()
	if err := root.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an interrupted attempt
		return err
	}
	out, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(f, 0, size))
	return errors.Join(err, out.Sync(), out.Close())
}

// sync writes the files of an archive to the disk.
func (p *push) sync(root *os.Root) error {
	list, err := names(root, p.label.Host)
	if err != nil {
		return err
	}
	for _, name := range list {
		base, _, ok := archive.BaseName(name)
		if !ok || p.label.Host+"/"+base != p.base {
			continue
		}
		if err := syncFile(root, p.label.Host+"/"+name); err != nil {
			return err
		}
	}
	return syncFile(root, p.label.Host)
}

func syncFile(root *os.Root, name string) error {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // compressed meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

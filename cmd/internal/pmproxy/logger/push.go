package logger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A push is an archive that a client pushes.
type push struct {
	h      *Handler
	id     uint32
	owner  string
	label  archive.Label
	base   string // path of its files, below the root
	timer  *time.Timer
	pause  time.Duration // idle time after which it ends
	quotas []*quota

	mu      sync.Mutex
	ended   bool
	volume  int // number of the last volume, -1 before the first
	streams [files]stream
}

// A stream is the data for one kind of file, of volumes the last one.
type stream struct {
	size    int64  // size of the file
	pending []byte // start of a record, not yet in the file
	last    pcp.Timestamp
	packed  string // path of the file if it is compressed, otherwise ""
}

// end is the file offset of the next byte.
func (s *stream) end() int64 { return s.size + int64(len(s.pending)) }

// name returns the path of a file.
func (p *push) name(kind file, volume int) string {
	if kind == volumeFile {
		return p.base + "." + strconv.Itoa(volume)
	}
	return p.base + "." + kind.String()
}

// create makes the directory of a host, chooses a free name, and creates the files with their labels.
func (p *push) create(root *os.Root, zone *time.Location) error {
	if err := root.MkdirAll(p.label.Host, 0o775); err != nil {
		return err
	}
	first := p.label.Host + "/" + baseName(p.label.Start, zone)
	taken, err := names(root, p.label.Host)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if p.base = first; n > 0 {
			p.base = fmt.Sprintf("%s-%02d", first, n)
		}
		if n > maxClash {
			return fmt.Errorf("%s: %w", first, fs.ErrExist)
		}
		// A compressed file counts too.
		if slices.ContainsFunc(taken, func(s string) bool { return strings.HasPrefix(p.label.Host+"/"+s, p.base+".") }) {
			continue
		}
		err := p.start(root, metaFile, 0)
		if errors.Is(err, fs.ErrExist) { // created by another client meanwhile
			continue
		}
		if err != nil {
			return err
		}
		if err := p.start(root, indexFile, 0); err != nil {
			root.Remove(p.name(metaFile, 0))
			return err
		}
		return nil
	}
}

// baseName returns the name of archives that begin at a time.
func baseName(start pcp.Timestamp, zone *time.Location) string {
	return start.Time().In(zone).Format("20060102.15.04")
}

// maxClash limits the archives of a host that begin in the same minute.
const maxClash = 99

// names lists the files in a directory.
func names(root *os.Root, dir string) ([]string, error) {
	d, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// labelOf returns the label of a file.
func (p *push) labelOf(kind file, volume int) []byte {
	l := p.label
	switch kind {
	case metaFile:
		l.Vol = archive.VolMeta
	case indexFile:
		l.Vol = archive.VolIndex
	default:
		l.Vol = int32(volume)
	}
	return l.Append(nil)
}

// start creates a file and writes its label.
func (p *push) start(root *os.Root, kind file, volume int) error {
	b := p.labelOf(kind, volume)
	if err := p.take(root, int64(len(b))); err != nil {
		return err
	}
	name := p.name(kind, volume)
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		p.give(int64(len(b)))
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		p.give(int64(len(b)))
		root.Remove(name)
		return err
	}
	p.streams[kind] = stream{size: int64(len(b)), last: p.streams[kind].last}
	return nil
}

// write handles data of a client: complete records are written, the rest is kept.
// The offset is the position in the file, -1 for its end.
func (p *push) write(root *os.Root, kind file, volume int, offset int64, body []byte) error {
	s := &p.streams[kind]
	if kind == volumeFile && volume != p.volume {
		switch {
		case volume < p.volume && offset >= 0:
			return nil // repeated request: volumes end before the next begins
		case volume < p.volume:
			return fmt.Errorf("%w: volume %d after volume %d", errRequest, volume, p.volume)
		case len(s.pending) > 0:
			return fmt.Errorf("%w: volume %d begins within a record of volume %d", errRequest, volume, p.volume)
		}
		if err := p.start(root, kind, volume); err != nil {
			return err
		}
		p.volume = volume
	}
	if s.packed != "" && len(body) > 0 && (offset < 0 || offset+int64(len(body)) > s.end()) {
		if err := p.expand(root, kind); err != nil {
			return err
		}
	}
	if offset >= 0 {
		if offset > s.end() {
			return &gapError{offset, s.end()}
		}
		if there := s.end() - offset; there >= int64(len(body)) {
			return nil
		} else if there > 0 {
			body = body[there:]
		}
	}
	all := body
	if len(s.pending) > 0 {
		all = slices.Concat(s.pending, body)
	}
	done, last := 0, s.last
	for {
		n, err := whole(kind, all[done:], p.label.Version)
		if err == nil && n == 0 {
			break
		}
		var t pcp.Timestamp
		if err == nil {
			t, err = check(kind, all[done:done+n], p.label.Version)
		}
		// Old archives have an index that goes back by a microsecond.
		if err == nil && kind == volumeFile && t.Compare(last) < 0 {
			err = fmt.Errorf("goes back in time, from %v to %v: %w", last, t, pcp.ErrLogRec)
		}
		if err != nil {
			return fmt.Errorf("%w: %s at offset %d: %w", errRequest, kind, s.size+int64(done), err)
		}
		last = t
		done += n
	}
	rest := all[done:]
	if err := p.h.wait(len(rest) - len(s.pending)); err != nil {
		return err
	}
	if err := p.append(root, kind, all[:done]); err != nil {
		p.h.wait(len(s.pending) - len(rest))
		return err
	}
	s.pending, s.last = slices.Clone(rest), last
	return nil
}

// append writes complete records, either all or none.
func (p *push) append(root *os.Root, kind file, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	s := &p.streams[kind]
	if s.size+int64(len(b)) > p.h.cfg.MaxFile {
		return fmt.Errorf("%s of more than %d bytes: %w", p.name(kind, p.volume), p.h.cfg.MaxFile, errFull)
	}
	if err := p.take(root, int64(len(b))); err != nil {
		return err
	}
	err := p.appendTo(root, kind, b)
	if err != nil {
		p.give(int64(len(b)))
		return err
	}
	s.size += int64(len(b))
	return nil
}

func (p *push) appendTo(root *os.Root, kind file, b []byte) error {
	s, name := &p.streams[kind], p.name(kind, p.volume)
	f, err := root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != s.size {
		return fmt.Errorf("%w: %s was changed by something else", errGone, name)
	}
	if _, err := f.WriteAt(b, s.size); err != nil {
		return errors.Join(err, f.Truncate(s.size))
	}
	return nil
}

// resume finds an archive with the label of p among the files of its host, and
// continues at its end. It reports whether there is such an archive.
func (p *push) resume(root *os.Root, zone *time.Location) (bool, error) {
	list, err := names(root, p.label.Host)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	slices.Sort(list)
	begin := baseName(p.label.Start, zone)
	want := p.label
	want.Vol = archive.VolMeta
	for _, name := range list {
		base, part, ok := archive.BaseName(name)
		if !ok || part != "meta" || !strings.HasPrefix(base, begin) {
			continue
		}
		p.base = p.label.Host + "/" + base
		if info, err := root.Lstat(p.label.Host + "/" + name); err == nil && info.Size() == 0 && !p.h.writes(p.base) {
			root.Remove(p.label.Host + "/" + name) // killed between its creation and its label
			continue
		}
		if got, err := p.readLabel(root, p.label.Host+"/"+name); err != nil || got != want {
			continue
		}
		p.volume = -1
		for _, other := range list {
			if b, n, ok := archive.BaseName(other); ok && b == base {
				if v, err := strconv.Atoi(n); err == nil && v >= 0 && v < MaxVolumes && strconv.Itoa(v) == n {
					p.volume = max(p.volume, v)
				}
			}
		}
		for kind := range files {
			if kind == volumeFile && p.volume < 0 {
				continue
			}
			err := p.tail(root, kind)
			if errors.Is(err, fs.ErrNotExist) {
				err = p.packed(root, kind, list)
			}
			if kind == indexFile && errors.Is(err, fs.ErrNotExist) { // killed before it was created
				err = p.start(root, kind, 0)
			}
			if err != nil {
				return false, fmt.Errorf("%s: %w", p.name(kind, p.volume), err)
			}
		}
		return true, nil
	}
	return false, nil
}

// readLabel reads the label of a file, which may be compressed.
func (p *push) readLabel(root *os.Root, name string) (archive.Label, error) {
	f, err := p.open(root, name)
	if err != nil {
		return archive.Label{}, err
	}
	defer f.Close()
	b := make([]byte, archive.LabelSize(archive.Version3))
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return archive.Label{}, err
	}
	return archive.DecodeLabel(b[:n])
}

// tail finds the last complete record of a file, and truncates the file after it.
func (p *push) tail(root *os.Root, kind file) error {
	f, err := root.OpenFile(p.name(kind, p.volume), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s := &p.streams[kind]
	*s = stream{size: int64(archive.LabelSize(p.label.Version))}
	if info.Size() < s.size { // killed between its creation and its label
		if err := p.take(root, s.size-info.Size()); err != nil {
			return err
		}
		_, err := f.WriteAt(p.labelOf(kind, p.volume), 0)
		return err
	}
	version := p.label.Version
	head := make([]byte, word+archive.HeadSize(version))
	entry := make([]byte, indexSize(version))
	for {
		if kind == indexFile {
			if _, err := f.ReadAt(entry, s.size); err != nil {
				break
			}
			s.last = archive.DecodeIndexEntry(entry, version).Time
			s.size += int64(len(entry))
			continue
		}
		n, err := f.ReadAt(head, s.size)
		if n < word || err != nil && !errors.Is(err, io.EOF) {
			break
		}
		size := int64(binary.BigEndian.Uint32(head))
		if size < frame || size > MaxRecord || s.size+size > info.Size() {
			break
		}
		if kind == volumeFile {
			t, _, ok := archive.RecordTime(head[word:n], version)
			if !ok {
				break
			}
			s.last = t
		}
		s.size += size
	}
	if s.size == info.Size() {
		return nil
	}
	p.give(info.Size() - s.size)
	return f.Truncate(s.size)
}

package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/internal/compressed"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/internal/storage"
)

// An Archive is one archive, opened for reading. It is safe for concurrent
// use, but not while Refresh runs; each [Reader] is for one goroutine.
type Archive struct {
	path   string // base name with directory
	label  Label  // of the first volume
	meta   *Meta
	read   int64 // bytes of the metadata read
	noMeta bool  // see Options
	index  []IndexEntry
	vols   []int // numbers of the existing volumes, ascending

	text   func([]byte) string // Options.Text
	ahead  int                 // Options.ReadAhead
	debug  *debug.Log
	traced int // whose reading has been traced

	mem  *compressed.Memory // of compressed volumes, shared by all of a set
	mu   sync.Mutex
	open map[int]*volume

	end     pcp.Timestamp // cached, see End
	endSize int64         // size of the last volume when end was found
}

// A volume is an open file and a count of its users.
type volume struct {
	number int
	src    *compressed.File
	refs   int
}

// Options configures the opening of an archive.
type Options struct {
	// AnyFeatures opens an archive even if it has features that this package does
	// not know (PM_CTXFLAG_NO_FEATURE_CHECK).
	AnyFeatures bool

	// NoMeta leaves the metadata unread, for a program that knows the metrics that it wants from the volumes:
	// Meta is empty, and hundreds of archives can be open. Damage to the volumes only shows when they are read.
	NoMeta bool

	// Debug is the log of reading the archive: for -D log the files and records, for -D pdu the contents
	// of records, for -D logmeta the metadata. Package replay uses it for -D interp, too.
	Debug *debug.Log

	// Text, if not nil, returns the bytes of a name or a help text of a metric as a string. With one function for many archives they can have
	// equal strings in common.
	Text func(b []byte) string
	// ReadAhead is the number of bytes that readers of the archive read at once, see [Reader.ReadAhead]; 0 means the default.
	ReadAhead int

	check   func(Label) error                       // of the first volume, before the metadata are read; may be nil
	later   bool                                    // the volumes are read when they are needed
	mem     *compressed.Memory                      // nil for one of its own
	meta    *Meta                                   // for the metadata, nil for a new one
	readDir func(dir string) ([]fs.DirEntry, error) // nil: storage.ReadDir
}

// Open opens the archive that path names: its base name, or that of any of its
// files.
func Open(path string) (*Archive, error) { return Options{}.Open(path) }

// Open is [Open] with options.
func (o Options) Open(path string) (*Archive, error) {
	a := &Archive{mem: o.mem, open: make(map[int]*volume), endSize: -1, debug: o.Debug, text: o.Text, ahead: o.ReadAhead}
	if a.mem == nil {
		a.mem = new(compressed.Memory)
	}
	parts, err := a.find(o, path)
	if err != nil {
		a.traceFailed(path, "__pmLogFindOpen", err)
		return nil, err
	}
	if err := a.load(o, parts); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// parts are the files of an archive in the directory.
type parts struct{ meta, index string }

// find looks for the files.
func (a *Archive) find(o Options, path string) (parts, error) {
	if path == "" {
		return parts{}, pcp.ErrLogFile
	}
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "./"
	}
	readDir := o.readDir
	if readDir == nil {
		prefix := base
		if b, _, ok := BaseName(base); ok {
			prefix = b
		}
		readDir = func(dir string) ([]fs.DirEntry, error) { return storage.ReadDirPrefix(dir, prefix) }
	}
	var p parts
	entries, err := readDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && isURL(path) && !storage.Remote(path) {
			return p, &urlError{err}
		}
		return p, err
	}
	// They are sorted.
	from := func(name string) int {
		i, _ := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		return i
	}
	if b, _, ok := BaseName(base); ok {
		// If there is such a file it is not the base name.
		for i := from(base); i < len(entries) && strings.HasPrefix(entries[i].Name(), base); i++ {
			if rest, _ := compressed.SplitSuffix(entries[i].Name()); rest == base || entries[i].Name() == base {
				base = b
				break
			}
		}
	}
	a.path = storage.Join(dir, base)
	if dir == "./" {
		a.path = dir + base
	}
	exists := false
	for _, e := range entries[from(base+"."):] {
		if !strings.HasPrefix(e.Name(), base+".") {
			break
		}
		b, part, ok := BaseName(e.Name())
		if !ok || b != base {
			continue
		}
		exists = true
		a.traceFile(storage.Join(dir, e.Name()))
		switch part {
		case "meta":
			p.meta = storage.Join(dir, e.Name())
		case "index":
			p.index = storage.Join(dir, e.Name())
		default:
			if n, err := strconv.Atoi(part); err == nil && n <= MaxVolumes {
				a.vols = append(a.vols, n)
			}
		}
	}
	slices.Sort(a.vols)
	a.vols = slices.Compact(a.vols)
	if len(a.vols) == 0 || p.meta == "" {
		a.traceMissing(base, p)
		err := pcp.Code(fs.ErrNotExist)
		if exists {
			err = pcp.ErrLogFile
		}
		return p, fmt.Errorf("archive %s: %w", a.path, err)
	}
	return p, nil
}

// load reads the first label, the metadata and the index.
func (a *Archive) load(o Options, p parts) error {
	v, label, err := a.volume(a.vols[0])
	if err != nil {
		a.traceFailed(a.path, "__pmLogChangeVol", err)
		return err
	}
	defer a.release(v)
	if a.traced = -1; a.debug != nil {
		a.traceVolume(a.vols[0])
	}
	a.label = label
	if !o.later && !o.NoMeta {
		// Whether a compressed file is complete is known at its end. As in the C
		// library that is checked when the archive is opened.
		if _, err := v.src.Size(); err != nil {
			return fmt.Errorf("%s.%d: %w", a.path, a.vols[0], err)
		}
	}
	if label.Features&^FeatureQA != 0 && !o.AnyFeatures {
		return fmt.Errorf("archive %s: features %#x: %w", a.path, label.Features, pcp.ErrFeature)
	}
	if p.index != "" {
		if err := a.loadIndex(p.index); err != nil {
			return fmt.Errorf("%s: %w", p.index, err)
		}
	}
	if o.check != nil {
		if err := o.check(label); err != nil {
			return fmt.Errorf("archive %s: %w", a.path, err)
		}
	}
	if o.NoMeta {
		a.meta, a.noMeta = newMeta(label), true
		return nil
	}
	if err := a.loadMeta(o, p.meta); err != nil {
		return fmt.Errorf("%s: %w", p.meta, err)
	}
	return nil
}

func (a *Archive) loadIndex(path string) error {
	src, err := a.openFile(path)
	if err != nil {
		return err
	}
	defer src.Close()
	a.traceLabel(src, VolIndex)
	length := int64(0)
	if !src.Compressed() {
		if length, err = src.Size(); err != nil {
			return err
		}
	}
	label, list, err := readIndex(io.NewSectionReader(src, 0, 1<<62), length)
	if err != nil {
		return err
	}
	if err := a.sameLabel(label, VolIndex); err != nil {
		return err
	}
	if size, err := src.Size(); err == nil && size == int64(LabelSize(label.Version)) {
		// As in the C library, a label alone is not an archive yet.
		return fmt.Errorf("nothing after the label: %w", pcp.ErrNoData)
	}
	a.index = list
	return nil
}

func (a *Archive) loadMeta(o Options, path string) error {
	src, err := a.openFile(path)
	if err != nil {
		return err
	}
	defer src.Close()
	a.traceLabel(src, VolMeta)
	mr, err := NewMetaReader(io.NewSectionReader(src, 0, 1<<62))
	if err != nil {
		return err
	}
	if err := a.sameLabel(mr.readLabel(), VolMeta); err != nil {
		return err
	}
	mr.text = a.text
	if a.debug.On(debugname.LogMeta) {
		mr.debug = a.debug
	}
	if a.meta = o.meta; a.meta == nil {
		a.meta = newMeta(mr.readLabel())
	}
	if err := a.meta.load(mr); err != nil {
		return err
	}
	a.read = mr.Offset()
	if o.meta == nil {
		a.meta.dropRepeatedLabels()
	}
	if len(a.meta.descs) == 0 {
		return fmt.Errorf("no metrics: %w", pcp.ErrNoData)
	}
	return nil
}

// sameLabel reports whether a file belongs to the volumes.
func (a *Archive) sameLabel(l Label, vol int32) error {
	if err := l.check(vol); err != nil {
		return err
	}
	if l.Version != a.label.Version || l.PID != a.label.PID || l.Host != a.label.Host {
		return fmt.Errorf("label is of version %d, host %s and process %d, that of the first volume of %d, %s and %d: %w",
			l.Version, l.Host, l.PID, a.label.Version, a.label.Host, a.label.PID, pcp.ErrLabel)
	}
	return nil
}

// Refresh reads the additions to an archive that still grows: metadata, index and
// volumes. Readers continue at their positions.
func (a *Archive) Refresh() error {
	fresh := &Archive{open: map[int]*volume{}}
	p, err := fresh.find(Options{}, a.path)
	if err != nil {
		return err
	}
	if !a.noMeta {
		if err := a.refreshMeta(p.meta); err != nil {
			return err
		}
	}
	if p.index != "" {
		if err := a.loadIndex(p.index); err != nil {
			return fmt.Errorf("%s: %w", p.index, err)
		}
	}
	a.vols = fresh.vols
	return nil
}

// refreshMeta reads the additions to the metadata.
func (a *Archive) refreshMeta(path string) error {
	src, err := a.mem.Open(path)
	if err != nil {
		return err
	}
	defer src.Close()
	n, err := src.Size()
	if err != nil {
		return err
	}
	if n > a.read {
		mr := &MetaReader{label: a.label, off: a.read, text: a.text}
		mr.reset(io.NewSectionReader(src, a.read, n-a.read))
		err := a.meta.load(mr)
		// A record that is being written may be cut; it is read next time.
		if err != nil && !errors.Is(err, errShort) {
			return fmt.Errorf("%s: %w", path, err)
		}
		a.read = mr.Offset()
		a.meta.dropRepeatedLabels()
	}
	return nil
}

// Close closes the files. Readers must not be used after it.
func (a *Archive) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	for _, v := range a.open {
		err = errors.Join(err, v.src.Close())
	}
	clear(a.open)
	return err
}

// Path returns the base name of the archive with its directory.
func (a *Archive) Path() string { return a.path }

// Label returns the label of the first existing volume.
func (a *Archive) Label() Label { return a.label }

// Version returns the version of the format.
func (a *Archive) Version() int { return a.label.Version }

// Meta returns the metadata.
func (a *Archive) Meta() *Meta { return a.meta }

// Index returns the temporal index, nil if there is none. It belongs to a.
func (a *Archive) Index() []IndexEntry { return a.index }

// Volumes returns the numbers of the existing volumes, ascending.
func (a *Archive) Volumes() []int { return a.vols }

// volume opens a volume and checks its label. The caller must release it.
func (a *Archive) volume(number int) (*volume, Label, error) {
	path := a.path + "." + strconv.Itoa(number)
	a.mu.Lock()
	v := a.open[number]
	if v != nil {
		v.refs++
	}
	a.mu.Unlock()
	fail := func(err error) (*volume, Label, error) {
		if v != nil {
			a.release(v)
		}
		return nil, Label{}, fmt.Errorf("%s: %w", path, err)
	}
	fresh := v == nil
	if fresh {
		src, err := a.openFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", ErrNoVolume, err)
		}
		if err != nil {
			return nil, Label{}, err
		}
		a.mu.Lock()
		if v = a.open[number]; v != nil {
			src.Close()
		} else {
			v = &volume{number: number, src: src}
			a.open[number] = v
		}
		v.refs++
		a.mu.Unlock()
	}
	b := make([]byte, labelSize3)
	n, err := v.src.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return fail(err)
	}
	if a.begun(v, int64(n)) {
		return fail(fmt.Errorf("label of %d bytes: %w: %w", n, ErrNoVolume, pcp.ErrNoData))
	}
	if fresh {
		a.traceLabel(v.src, int32(number))
	}
	label, err := DecodeLabel(b[:n])
	if err == nil && a.stray(label, number) {
		return fail(fmt.Errorf("label of volume %d, and the index does not know of volume %d: %w: %w", label.Vol, number, ErrNoVolume, pcp.ErrLabel))
	}
	if err == nil {
		err = label.check(int32(number))
	}
	if err == nil && a.label.Version != 0 && label.Version != a.label.Version {
		err = fmt.Errorf("version %d, want %d: %w", label.Version, a.label.Version, pcp.ErrLabel)
	}
	if err != nil {
		return fail(fmt.Errorf("offset 0: %w", err))
	}
	if n, err := v.src.ReadAt(b[:1], int64(LabelSize(label.Version))); n == 0 && err == io.EOF {
		if had := a.indexed(number); had > int64(LabelSize(label.Version)) {
			return fail(fmt.Errorf("nothing after the label, where the index knows of %d bytes: %w", had, pcp.ErrLogRec))
		}
		return fail(fmt.Errorf("nothing after the label: %w: %w", ErrNoVolume, pcp.ErrNoData))
	}
	return v, label, nil
}

// stray reports whether a file with this label only has the name of a volume: it is a
// copy of another volume of this archive, and the index has no volume of that number.
// C skips it, too.
func (a *Archive) stray(l Label, number int) bool {
	return l.Vol >= 0 && int(l.Vol) != number && number != a.vols[0] && len(a.index) > 0 && a.indexed(number) == 0 &&
		l.Version == a.label.Version && l.PID == a.label.PID && l.Host == a.label.Host && l.Start == a.label.Start
}

// begun reports whether the logger has just begun a volume, of which n bytes can
// be read, or was stopped while it did: its label is incomplete, and so is that
// of every later volume.
func (a *Archive) begun(v *volume, n int64) bool {
	whole := int64(LabelSize(a.label.Version))
	if v.src.Compressed() || v.number == a.vols[0] || n >= whole || a.indexed(v.number) > n {
		return false
	}
	for _, later := range a.vols {
		if later <= v.number {
			continue
		}
		fi, err := storage.Stat(a.path + "." + strconv.Itoa(later))
		if err != nil || fi.Size() >= whole || a.indexed(later) > fi.Size() {
			return false
		}
	}
	return true
}

// indexed returns the minimum length of the file of a volume by the index.
func (a *Archive) indexed(number int) int64 {
	most := int64(0)
	for i := len(a.index) - 1; i >= 0; i-- {
		if e := &a.index[i]; int(e.Vol) == number {
			most = max(most, e.Data)
		}
	}
	return most
}

// ErrNoVolume means that a volume has nothing to read: it was removed, it was
// begun and has no records, or it is a copy of another one. Readers continue with
// the next volume. Any other error of opening a volume is damage, and ends
// reading.
var ErrNoVolume = errors.New("volume without records")

// release ends a use of a volume. A volume without users stays open until another
// one is released.
func (a *Archive) release(v *volume) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v.refs--
	for _, other := range a.open {
		if other != v && other.refs == 0 {
			other.src.Close()
			delete(a.open, other.number)
		}
	}
}

// Records returns the records from a time on: forwards those not before it,
// backwards those not after it. It leaves out records whose time runs against the
// direction. A record is valid until the next one.
func (a *Archive) Records(from pcp.Timestamp, dir Direction) iter.Seq2[*pcp.Result, error] {
	return func(yield func(*pcp.Result, error) bool) {
		r := a.NewReader()
		defer r.Close()
		if err := r.Seek(from, dir); err != nil {
			yield(nil, err)
			return
		}
		for {
			res, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(res, err) || err != nil {
				return
			}
		}
	}
}

// OpenMeta opens the metadata to be read record by record, as they are in the file.
func (a *Archive) OpenMeta() (*MetaReader, io.Closer, error) {
	src, err := a.mem.Open(a.path + ".meta")
	if err != nil {
		return nil, nil, err
	}
	mr, err := NewMetaReader(io.NewSectionReader(src, 0, 1<<62))
	if err != nil {
		src.Close()
		return nil, nil, fmt.Errorf("%s.meta: %w", a.path, err)
	}
	return mr, src, nil
}

// FileSize returns the length of a file of an archive, expanded if it is
// compressed. Path may lack the suffix of a compressed one.
func FileSize(path string) (int64, error) {
	src, err := compressed.Open(path)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	return src.Size()
}

package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Limits and defaults of a Writer.
const (
	// MaxVolume2 is a length that files of a version 2 archive may not reach,
	// as offsets are signed words of 32 bits.
	MaxVolume2 = math.MaxInt32

	defaultIndexBytes  = 100_000
	defaultBufferBytes = 256 << 10
)

// A WriterConfig describes the archive that a Writer makes.
type WriterConfig struct {
	// Label is the label of all files; Vol is not used. Version 0 means
	// Version3. If Start is not set, it becomes the time of the first record
	// of a volume, and nothing is written to the files before that.
	Label Label

	// VolumeBytes is the maximum length of a volume: a record that would reach it
	// starts a new one. A record longer than that is alone in its volume. 0 means
	// the limit of the format.
	VolumeBytes int64

	// MetaBytes is the maximum length of the metadata: a record that would reach
	// it is an error (EFBIG). 0 means the limit of the format.
	MetaBytes int64

	// IndexBytes is the number of bytes of a volume after which the temporal
	// index gets an entry even without another reason. 0 means 100,000.
	IndexBytes int64

	// ManualIndex leaves all entries of the temporal index to calls of Index
	// and IndexAt. Otherwise there is one for the start of the archive, for
	// each record before which an instance domain changed, for the first of a
	// volume, after IndexBytes, and for the end.
	ManualIndex bool

	// BufferBytes is the number of bytes kept in memory before they are written
	// to the files. 0 means 256 KiB.
	BufferBytes int

	// FirstVolume is the number of the first volume.
	FirstVolume int

	// Append continues the archive if there is one, behind its last record. The fields
	// of Label that are set, except PID and Start, must be those of its label. The
	// archive must be complete: not damaged, compressed, or written by another
	// process; see [Trim]. FirstVolume is then not used.
	Append bool

	// WaitForSpace has the writer survive a full file system (ENOSPC, EDQUOT). Flush and
	// NewVolume return that error, and may be called again later: unwritten bytes stay
	// in memory, which grows. [Writer.Held] returns their number.
	WaitForSpace bool

	create func(path string) (io.WriteCloser, error) // for tests
	reopen func(f *os.File) io.WriteCloser           // for tests
}

// A Writer writes an archive, as pmlogger does, or a copy record by record. It is
// for one goroutine.
//
// Metadata and records may be given as values ([Writer.Desc], [Writer.InDom],
// [Writer.WriteResult]) or as bytes ([Writer.WriteMeta], [Writer.WriteRecord]),
// also mixed. The metadata of a record must be written before it.
//
// A Writer keeps records in memory until its buffer is full, or Flush is called. It
// writes the files in the order metadata, records, index, so that nothing in them
// refers to missing data. If the process is killed at any time, the files are an
// archive up to its last complete record. The one exception is a system that ends a
// write inside of a record of the metadata when it kills the process: readers refuse
// metadata that end this way; [Trim] cuts them.
//
// A write that fails leaves no bytes in its file. After an error all calls except
// Close fail with it; for a full file system see WriterConfig.WaitForSpace.
type Writer struct {
	cfg   WriterConfig
	base  string
	label Label
	vol   int

	meta, data, index outFile
	made              []string // paths of all files that it has made
	ends              []end    // of the files that it continues

	started bool
	closed  bool
	err     error

	limit     int64 // of a volume
	metaLimit int64
	labelLen  int64

	last      pcp.Timestamp // of the last record
	records   bool          // whether there was one
	entry     pcp.Timestamp // of the last entry of the index
	entries   bool          // whether there was one
	metaMark  int64         // end of the metadata when the last record was written
	need      bool          // the next record gets an entry
	nextEntry int64         // offset in the volume behind which there is an entry

	known
}

// An outFile is a file with its unwritten bytes.
type outFile struct {
	f     io.WriteCloser
	path  string
	buf   []byte
	off   int64 // of buf in the file
	spare int   // flushes in a row of a buffer that is mostly empty
}

func (o *outFile) pos() int64 { return o.off + int64(len(o.buf)) }

// keepBuffer is the maximum size of a mostly empty buffer: in a program with many writers the
// initial metadata of each must not keep their memory.
const keepBuffer = 8 << 10

// spareFlushes is the number of flushes in a row of a mostly empty buffer after which it
// shrinks.
const spareFlushes = 16

func (o *outFile) flush() error {
	if o.spare++; cap(o.buf) <= keepBuffer || len(o.buf) >= cap(o.buf)/8 {
		o.spare = 0
	} else if o.spare == spareFlushes {
		o.spare = 0
		o.buf = append([]byte(nil), o.buf...)
	}
	if len(o.buf) == 0 {
		return nil
	}
	left, err := o.put(o.buf)
	if err != nil {
		o.buf = append(o.buf[:0], left...)
		return err
	}
	if o.buf = o.buf[:0]; cap(o.buf) > maxSpare {
		o.buf = nil // the file system was full for a while
	}
	return nil
}

// put writes b at off. With an error it returns the unwritten bytes.
func (o *outFile) put(b []byte) (left []byte, err error) {
	n, err := o.f.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		if n > 0 && o.undo() {
			n = 0
		}
		o.off += int64(n)
		return b[n:], named(o.path, err)
	}
	o.off += int64(n)
	return nil, nil
}

// maxSpare is the size of memory that a file keeps when it has nothing to write.
const maxSpare = 16 << 20

// undo removes the bytes written of buf, and reports whether it could.
func (o *outFile) undo() bool {
	f, ok := o.f.(interface {
		io.Seeker
		Truncate(size int64) error
	})
	if !ok || f.Truncate(o.off) != nil {
		return false
	}
	_, err := f.Seek(o.off, io.SeekStart)
	return err == nil
}

func (o *outFile) close() error {
	if o.f == nil {
		return nil
	}
	err := o.f.Close()
	o.f = nil
	return named(o.path, err)
}

// named makes sure that an error names its file.
func named(path string, err error) error {
	var p *fs.PathError
	if err == nil || errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Create makes the files of an archive: base.index, base.meta and base.0. If
// any file of an archive of that name is already there, compressed or not, it
// makes none and returns an error that is fs.ErrExist and names it.
func Create(base string, cfg WriterConfig) (*Writer, error) {
	w := &Writer{cfg: cfg, base: base, label: cfg.Label, vol: cfg.FirstVolume}
	free := CheckFree(base)
	if cfg.Append && errors.Is(free, fs.ErrExist) {
		if err := w.findEnd(); err != nil {
			w.closeFiles()
			return nil, err
		}
		w.setLimits()
		w.nextEntry = w.data.off + w.cfg.IndexBytes
		return w, nil
	}
	if w.label.Version == 0 {
		w.label.Version = Version3
	}
	if LabelSize(w.label.Version) == 0 {
		return nil, fmt.Errorf("%s: version %d: %w", base, w.label.Version, pcp.ErrLabel)
	}
	if w.label.Features != 0 && w.label.Version < Version3 {
		return nil, fmt.Errorf("%s: features in version 2: %w", base, pcp.ErrFeature)
	}
	if cfg.FirstVolume < 0 || cfg.FirstVolume > MaxVolumes {
		return nil, fmt.Errorf("%s: volume %d: %w", base, cfg.FirstVolume, errInvalid)
	}
	if err := checkStamp(w.label.Start, w.label.Version); err != nil {
		return nil, fmt.Errorf("%s: %w", base, err)
	}
	w.setLimits()
	if free != nil {
		return nil, free
	}
	for _, o := range []struct {
		file   *outFile
		suffix string
	}{{&w.index, "index"}, {&w.meta, "meta"}, {&w.data, strconv.Itoa(w.vol)}} {
		if err := w.open(o.file, o.suffix); err != nil {
			w.closed = true
			for _, o := range []*outFile{&w.index, &w.meta} {
				o.close()
			}
			w.Discard() // the first error counts
			return nil, err
		}
		// Room for the label, whose length is known and whose start may not be.
		o.file.buf = append(o.file.buf, make([]byte, w.labelLen)...)
	}
	w.metaMark, w.nextEntry = w.labelLen, w.cfg.IndexBytes
	if !w.label.Start.IsZero() {
		w.start(w.label.Start)
	}
	return w, nil
}

// setLimits completes the configuration when the version is known.
func (w *Writer) setLimits() {
	cfg := w.cfg
	w.labelLen = int64(LabelSize(w.label.Version))
	w.limit, w.metaLimit = math.MaxInt64, math.MaxInt64
	if w.label.Version == Version2 {
		w.limit, w.metaLimit = MaxVolume2, MaxVolume2
	}
	if cfg.VolumeBytes > 0 {
		w.limit = min(w.limit, cfg.VolumeBytes)
	}
	if cfg.MetaBytes > 0 {
		w.metaLimit = min(w.metaLimit, cfg.MetaBytes)
	}
	if w.cfg.IndexBytes <= 0 {
		w.cfg.IndexBytes = defaultIndexBytes
	}
	if w.cfg.BufferBytes <= 0 {
		w.cfg.BufferBytes = defaultBufferBytes
	}
	if w.cfg.create == nil {
		w.cfg.create = createFile
	}
}

func createFile(path string) (io.WriteCloser, error) {
	create := os.OpenFile
	if os.Geteuid() == 0 { // the owner of the directory must not redirect it
		create = func(path string, _ int, perm os.FileMode) (*os.File, error) { return safefile.CreateNew(path, perm) }
	}
	f, err := create(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err // not f, which would be a non-nil interface
	}
	if strings.HasSuffix(path, ".meta") {
		lockFile(f)
	}
	return f, nil
}

// Written reports whether a Writer, in this process or another one, has the archive open. It
// does not know about archives that other programs write.
func Written(base string) (bool, error) {
	path := base + ".meta"
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // compressed, or not there
	}
	if err == nil && !st.Mode().IsRegular() {
		return false, nil // opening a FIFO would wait for a writer
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return locked(f), nil
}

func (w *Writer) open(o *outFile, suffix string) error {
	path := w.base + "." + suffix
	f, err := w.cfg.create(path)
	if err != nil {
		return named(path, err)
	}
	*o = outFile{f: f, path: path, buf: o.buf[:0]}
	w.made = append(w.made, path)
	return nil
}

// CheckFree returns an error if there is a file of an archive with that base name,
// compressed or not. The error is fs.ErrExist and names the file.
func CheckFree(base string) error {
	dir, name := filepath.Split(base)
	if dir == "" {
		dir = "."
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if b, _, ok := BaseName(e.Name()); ok && b == name {
			return &fs.PathError{Op: "create", Path: filepath.Join(dir, e.Name()), Err: fs.ErrExist}
		}
	}
	return nil
}

// Label returns the label, with Start if it is known.
func (w *Writer) Label() Label { return w.label }

// Path returns the base name of the archive.
func (w *Writer) Path() string { return w.base }

// Position returns the number of the volume, and the offsets in it and in the
// metadata at which the next records will be.
func (w *Writer) Position() (vol int, data, meta int64) {
	return w.vol, w.data.pos(), w.meta.pos()
}

// start fills in the labels when the start of the archive is known.
func (w *Writer) start(t pcp.Timestamp) {
	w.started = true
	w.label.Start = t
	for _, f := range []struct {
		o   *outFile
		vol int
	}{{&w.index, VolIndex}, {&w.meta, VolMeta}, {&w.data, w.vol}} {
		l := w.label
		l.Vol = int32(f.vol)
		l.Append(f.o.buf[:0])
	}
}

// SetStart sets the start in the labels, which are not yet written.
func (w *Writer) SetStart(t pcp.Timestamp) error {
	if w.err != nil {
		return w.err
	}
	if w.started {
		return fmt.Errorf("%s: the start is already %d.%09d: %w", w.base, w.label.Start.Sec, w.label.Start.Nsec, errInvalid)
	}
	if err := checkStamp(t, w.label.Version); err != nil {
		return fmt.Errorf("%s: %w", w.base, err)
	}
	w.start(t)
	return nil
}

// fail keeps an error after which nothing may be added to the files.
func (w *Writer) fail(err error) error {
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

var errClosed = errors.New("archive: writer is closed")

// errTooLong is the error for a file that reaches its limit (EFBIG).
var errTooLong = fmt.Errorf("file would be too long for its format: %w", errFileBig)

// WriteMeta writes a record of the metadata, given its contents without the
// length words: its type and the rest.
func (w *Writer) WriteMeta(body []byte) error {
	b, err := w.beginMeta()
	if err != nil {
		return err
	}
	if len(body) < 4 {
		return fmt.Errorf("%s: record of %d bytes: %w", w.meta.path, len(body), pcp.ErrLogRec)
	}
	switch typ, _, rest, ok := SplitMeta(body); typ {
	case MetaInDomV2, MetaInDom, MetaInDomDelta:
		w.need = true
		// The next record of InDom cannot be a delta to its last one.
		if ok && len(rest) >= 4 {
			delete(w.indoms, pcp.InDom(binary.BigEndian.Uint32(rest)))
		}
	}
	return w.endMeta(append(b, body...))
}

// beginMeta returns the buffer of the metadata with room for a length word.
func (w *Writer) beginMeta() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return append(w.meta.buf, 0, 0, 0, 0), nil
}

// endMeta completes the record begun by beginMeta.
func (w *Writer) endMeta(b []byte) error {
	n := len(b) + 4 - len(w.meta.buf)
	if n > maxRecord {
		return fmt.Errorf("%s: record of %d bytes: %w", w.meta.path, n, pcp.ErrTooBig)
	}
	if w.meta.pos()+int64(n) >= w.metaLimit {
		return fmt.Errorf("%s: %w", w.meta.path, errTooLong)
	}
	binary.BigEndian.PutUint32(b[len(w.meta.buf):], uint32(n))
	w.meta.buf = binary.BigEndian.AppendUint32(b, uint32(n))
	return w.enough(&w.meta)
}

// enough flushes the buffer of a file when it is full enough.
func (w *Writer) enough(o *outFile) error {
	if len(o.buf) < w.cfg.BufferBytes {
		return nil
	}
	err := w.Flush()
	if w.waits(err) {
		return nil // it is in memory
	}
	return err
}

// NoSpace reports whether an error is that of a full file system, or of an exhausted
// quota.
func NoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// waits reports whether an error is that of a file system that may have space later.
func (w *Writer) waits(err error) bool {
	return err != nil && w.cfg.WaitForSpace && NoSpace(err)
}

// Held returns the number of bytes in memory, not yet written to the files.
func (w *Writer) Held() int64 {
	return int64(len(w.meta.buf) + len(w.data.buf) + len(w.index.buf))
}

// WriteRecord writes a record of a volume, given its contents without the
// length words, and the time at their start.
func (w *Writer) WriteRecord(t pcp.Timestamp, body []byte) error {
	if err := w.beginRecord(t); err != nil {
		return err
	}
	if len(body) < HeadSize(w.label.Version) {
		return fmt.Errorf("%s: record of %d bytes: %w", w.data.path, len(body), pcp.ErrLogRec)
	}
	return w.endRecord(t, append(append(w.data.buf, 0, 0, 0, 0), body...))
}

// longRecord is the length from which a record is written from the caller's memory.
const longRecord = 4 << 10

// WriteFramed is WriteRecord for contents that have room for the length words, 4 bytes before
// and 4 behind them: rec is the whole record. A long record is written to the file at once,
// after the bytes in memory.
func (w *Writer) WriteFramed(t pcp.Timestamp, rec []byte) error {
	if err := w.beginRecord(t); err != nil {
		return err
	}
	n := len(rec)
	if n < HeadSize(w.label.Version)+frame {
		return fmt.Errorf("%s: record of %d bytes: %w", w.data.path, n, pcp.ErrLogRec)
	}
	if n < longRecord || n > maxRecord || w.data.pos()+int64(n) >= w.limit {
		return w.endRecord(t, append(append(w.data.buf, 0, 0, 0, 0), rec[4:n-4]...))
	}
	binary.BigEndian.PutUint32(rec, uint32(n))
	binary.BigEndian.PutUint32(rec[n-4:], uint32(n))
	at := w.data.pos()
	err := w.meta.flush()
	if err == nil {
		err = w.data.flush()
	}
	if err == nil {
		rec, err = w.data.put(rec)
	}
	if err != nil && !w.waits(err) {
		return w.fail(err)
	}
	w.data.buf = append(w.data.buf, rec...) // the bytes without space on disk
	w.recorded(t, at)
	return nil
}

// WriteResult writes res, whose memory it does not keep.
func (w *Writer) WriteResult(res *pcp.Result) error {
	if err := w.beginRecord(res.Time); err != nil {
		return err
	}
	b, err := AppendResult(append(w.data.buf, 0, 0, 0, 0), res, w.label.Version)
	if err != nil {
		return fmt.Errorf("%s: %w", w.data.path, err)
	}
	return w.endRecord(res.Time, b)
}

// Mark writes a mark record: values before and after it are not related.
func (w *Writer) Mark(t pcp.Timestamp) error {
	return w.WriteResult(&pcp.Result{Time: t})
}

func (w *Writer) beginRecord(t pcp.Timestamp) error {
	if w.err != nil {
		return w.err
	}
	if err := checkStamp(t, w.label.Version); err != nil {
		return fmt.Errorf("%s: %w", w.data.path, err)
	}
	if !w.started {
		w.start(t)
	}
	return nil
}

// endRecord completes the record that was appended, with room for a length
// word, to the buffer of the volume.
func (w *Writer) endRecord(t pcp.Timestamp, b []byte) error {
	n := len(b) + 4 - len(w.data.buf)
	if n > maxRecord {
		return fmt.Errorf("%s: record of %d bytes: %w", w.data.path, n, pcp.ErrTooBig)
	}
	if end := w.data.pos() + int64(n); end >= w.limit && (w.data.pos() > w.labelLen || end >= MaxVolume2 && w.label.Version == Version2) {
		if w.labelLen+int64(n) >= MaxVolume2 && w.label.Version == Version2 {
			return fmt.Errorf("%s: record of %d bytes: %w", w.data.path, n, errTooLong)
		}
		rec := append([]byte(nil), b[len(w.data.buf):]...)
		if err := w.NewVolume(); err != nil {
			return err
		}
		b = append(w.data.buf, rec...)
	}
	at := w.data.pos()
	binary.BigEndian.PutUint32(b[len(w.data.buf):], uint32(n))
	w.data.buf = binary.BigEndian.AppendUint32(b, uint32(n))
	w.recorded(t, at)
	return w.enough(&w.data)
}

// recorded updates the state after a record was written at an offset of the volume.
func (w *Writer) recorded(t pcp.Timestamp, at int64) {
	if !w.cfg.ManualIndex {
		w.autoIndex(t, at)
	}
	w.last, w.records = t, true
	w.metaMark = w.meta.pos()
}

// autoIndex adds the entry for a record at an offset of the volume if it gets
// one. The entry has the offsets of that record and of its metadata: all later
// ones are behind.
func (w *Writer) autoIndex(t pcp.Timestamp, at int64) {
	if !w.entries {
		w.addEntry(w.label.Start, w.labelLen, w.labelLen)
		w.need = false
	}
	if end := w.data.pos(); w.need || end > w.nextEntry {
		w.addEntry(t, w.metaMark, at)
		w.need, w.nextEntry = false, end+w.cfg.IndexBytes
	}
}

// addEntry adds an entry to the index. If the last one has the same time, it adds
// nothing, as the first offsets for a time are the right ones; callers that make
// all entries themselves may have reasons for two.
func (w *Writer) addEntry(t pcp.Timestamp, meta, data int64) {
	if w.entries && w.entry == t && !w.cfg.ManualIndex {
		return
	}
	w.entry, w.entries = t, true
	w.index.buf = IndexEntry{Time: t, Vol: int32(w.vol), Meta: meta, Data: data}.Append(w.index.buf, w.label.Version)
}

// Index adds an entry to the temporal index: records of that time or later are
// behind those written so far. It does nothing if the last entry has the same
// time, unless WriterConfig.ManualIndex is set.
func (w *Writer) Index(t pcp.Timestamp) error {
	return w.IndexAt(t, w.meta.pos(), w.data.pos())
}

// IndexAt is Index with offsets in the metadata and in the volume.
func (w *Writer) IndexAt(t pcp.Timestamp, meta, data int64) error {
	if err := w.beginRecord(t); err != nil {
		return err
	}
	if meta < w.labelLen || meta > w.meta.pos() || data < w.labelLen || data > w.data.pos() {
		return fmt.Errorf("%s: entry for offsets %d and %d, which are not written: %w", w.index.path, meta, data, errInvalid)
	}
	w.addEntry(t, meta, data)
	return nil
}

// NewVolume ends the volume and starts the next one. The start of the archive
// must be known.
func (w *Writer) NewVolume() error { return w.NewVolumeAt(w.vol + 1) }

// NewVolumeAt is NewVolume with the number of the next volume, which must be larger
// than that of the last one.
func (w *Writer) NewVolumeAt(number int) error {
	if w.err != nil {
		return w.err
	}
	if !w.started {
		return fmt.Errorf("%s: a new volume before the start of the archive is known: %w", w.base, errInvalid)
	}
	if number > MaxVolumes {
		return fmt.Errorf("%s: more than %d volumes: %w", w.base, MaxVolumes, pcp.ErrTooBig)
	}
	if number <= w.vol {
		return fmt.Errorf("%s: volume %d after %d: %w", w.base, number, w.vol, errInvalid)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	next := outFile{buf: w.data.buf}
	if err := w.open(&next, strconv.Itoa(number)); err != nil {
		return err // the old volume can still be used
	}
	if err := w.data.close(); err != nil {
		w.data = next
		return w.fail(err)
	}
	w.vol = number
	w.data = next
	l := w.label
	l.Vol = int32(w.vol)
	w.data.buf = l.Append(w.data.buf)
	w.need = true
	if err := w.data.flush(); !w.waits(err) {
		return w.fail(err)
	}
	return nil
}

// Flush writes the data in memory to the files. It does nothing before the start
// of the archive is known.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	if !w.started {
		return nil
	}
	for _, o := range []*outFile{&w.meta, &w.data, &w.index} {
		if err := o.flush(); err != nil {
			if w.waits(err) {
				return err
			}
			return w.fail(err)
		}
	}
	return nil
}

// Rest releases the memory of empty buffers, which the next records allocate again. It is for
// programs with many writers that are idle for seconds.
func (w *Writer) Rest() {
	for _, o := range []*outFile{&w.meta, &w.data, &w.index} {
		if len(o.buf) == 0 {
			o.buf, o.spare = nil, 0
		}
	}
	w.sorted, w.delta = nil, nil
}

// Discard closes the writer and removes the files that it has made. It restores an
// archive that it has continued.
func (w *Writer) Discard() error {
	w.Close() // errors do not matter for an archive that is removed
	var errs []error
	for _, e := range w.ends {
		errs = append(errs, e.restore())
	}
	w.ends = nil
	for _, path := range w.made {
		errs = append(errs, os.Remove(path))
	}
	w.made = nil
	return errors.Join(errs...)
}

// Close adds the last entry to the index, unless that is left to the caller,
// writes everything to the files and closes them. If the start of the archive
// never became known, the files stay empty and Close returns an error.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	err := w.err
	if err == nil && !w.started {
		err = fmt.Errorf("%s: nothing was written: %w", w.base, pcp.ErrNoData)
	}
	if err == nil && !w.cfg.ManualIndex && !w.unchanged() {
		if !w.entries {
			w.addEntry(w.label.Start, w.labelLen, w.labelLen)
		}
		if w.records {
			w.addEntry(w.last, w.meta.pos(), w.data.pos())
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if e := w.closeFiles(); err == nil {
		err = e
	}
	w.err = errClosed
	return err
}

func (w *Writer) closeFiles() (err error) {
	for _, o := range []*outFile{&w.meta, &w.data, &w.index} {
		if e := o.close(); err == nil {
			err = e
		}
	}
	return err
}

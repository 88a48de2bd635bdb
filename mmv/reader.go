package mmv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// ErrInFlux is returned for a file that is just being written: its generation
// numbers differ, or are 0. Read it again a little later.
var ErrInFlux = errors.New("mmv: file in flux")

// maxTOCs is the maximum number of sections of a file: there are six kinds.
const maxTOCs = 1 << 10

// A File has the contents of a file of metrics except its values, which
// [File.ReadValues] reads from the file each time.
type File struct {
	Version     int
	Generation  uint64
	Flags       Flags
	Process     int // of the writer
	Cluster     int // 0: none preferred
	InDoms      []FileInDom
	Metrics     []FileMetric
	Labels      []FileLabel
	ValuesAt    int64 // offset of the values section
	ValuesCount int
	// Problems lists the first few sections and records that were left out
	// because they lead outside the file.
	Problems []error

	order binary.ByteOrder
}

// A FileInDom is an instance domain of a File.
type FileInDom struct {
	Serial        int
	OneLine, Help string
	Texts         FileTexts
	Instances     []pcp.Instance
}

// A FileMetric is a metric of a File.
type FileMetric struct {
	Name          string
	Item          int
	Type          Type
	Sem           pcp.Sem
	Units         pcp.Units
	InDom         int // serial, 0 for a single value
	OneLine, Help string
	Texts         FileTexts
	Values        []FileValue
}

// FileTexts lists the help texts that exist: an existing text may be empty.
type FileTexts struct{ OneLine, Help bool }

// A FileValue locates one value: its record in the values section and its
// instance (pcp.InNull for a single value).
type FileValue struct {
	Inst  int32
	Index int
}

// A FileLabel is a label of a File.
type FileLabel struct {
	Kind     pcp.LabelFlags // the level, and whether it is optional
	Identity int            // cluster, item or serial, depending on Kind
	Inst     int32          // of an instance's label
	JSON     string         // {"name":value}
}

// Open reads the definitions of the file at path.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := st.Size()
	file, err := NewFile(f, size)
	if err == nil && len(file.Problems) > 0 {
		// Bytes beyond the end may have been added since the size was read.
		if st, err = f.Stat(); err == nil && st.Size() != size {
			err = ErrInFlux
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// source is the file being decoded, read section by section.
type source struct {
	r     io.ReaderAt
	size  int64
	order binary.ByteOrder

	// Single records are mostly adjacent, so a piece of the file is read at a
	// time.
	piece   [4096]byte
	pieceAt int64
	pieceN  int
}

// section reads count records of size bytes at offset at.
func (s *source) section(what string, at uint64, count uint32, size int) ([]byte, error) {
	n := uint64(count) * uint64(size)
	if at > uint64(s.size) || n > uint64(s.size)-at {
		return nil, fmt.Errorf("%s offset: %d < %d", what, s.size, at+n)
	}
	b := make([]byte, n)
	if _, err := s.r.ReadAt(b, int64(at)); err != nil {
		return nil, fmt.Errorf("offset %d: %s: %w", at, what, err)
	}
	return b, nil
}

// record reads one record of size bytes at offset at. It is valid until the
// next call.
func (s *source) record(what string, at uint64, size int) ([]byte, error) {
	if at > uint64(s.size) || uint64(size) > uint64(s.size)-at {
		return nil, fmt.Errorf("offset %d: %s of %d bytes in a file of %d", at, what, size, s.size)
	}
	off := int64(at) - s.pieceAt
	if off < 0 || off+int64(size) > int64(s.pieceN) {
		n, err := s.r.ReadAt(s.piece[:min(int64(len(s.piece)), s.size-int64(at))], int64(at))
		if n < size {
			s.pieceN = 0
			return nil, fmt.Errorf("offset %d: %s: %w", at, what, err)
		}
		s.pieceAt, s.pieceN, off = int64(at), n, 0
	}
	return s.piece[off : off+int64(size)], nil
}

// str reads the string record at an offset, "" at 0.
func (s *source) str(at uint64) (string, error) {
	if at == 0 {
		return "", nil
	}
	b, err := s.record("string", at, stringSize)
	if err != nil {
		return "", err
	}
	return textOf(b), nil
}

// textOf returns the text of a field; its last byte counts as NUL.
func textOf(b []byte) string { return string(ctext.Bytes(b[:len(b)-1])) }

// NewFile reads definitions from r, which holds size bytes. Files of either
// byte order are read. A section or record that leads outside the file is
// left out and listed in Problems; an error means that nothing can be used.
// If there are Problems and the size of the file has changed, the program was
// adding something: read it again. Its allocations are bounded by a small
// multiple of size, and by the size of maxFileValues values.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	return decodeFile(r, size, false)
}

// decodeFile is NewFile with an option to read a file in flux.
func decodeFile(r io.ReaderAt, size int64, evenInFlux bool) (*File, error) {
	if size < headerSize {
		return nil, fmt.Errorf("size %d too small, expecting at least %d: %w", size, headerSize, errInvalid)
	}
	var hdr [headerSize]byte
	if _, err := r.ReadAt(hdr[:], 0); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if string(hdr[:4]) != "MMV\x00" {
		return nil, fmt.Errorf("magic %q not \"MMV\" as expected: %w", hdr[:3], errInvalid)
	}
	s := &source{r: r, size: size, order: binary.NativeEndian}
	f := &File{}
	if f.Version = int(s.u32(hdr[hdrVersion:])); f.Version > 1<<16 {
		// A small number in the other byte order.
		s.order = otherEndian()
		f.Version = int(s.u32(hdr[hdrVersion:]))
	}
	f.order = s.order
	if f.Version < Version1 || f.Version > Version3 {
		return nil, fmt.Errorf("version %d unsupported: %w", f.Version, errInvalid)
	}
	f.Generation = s.order.Uint64(hdr[hdrG1:])
	if !evenInFlux && (f.Generation == 0 || f.Generation != s.order.Uint64(hdr[hdrG2:])) {
		return nil, ErrInFlux
	}
	f.Flags = Flags(s.u32(hdr[hdrFlags:]))
	f.Process = int(int32(s.u32(hdr[hdrProcess:])))
	f.Cluster = int(int32(s.u32(hdr[hdrCluster:])))
	tocs := s.u32(hdr[hdrTOCs:])
	if tocs < 2 {
		return nil, fmt.Errorf("%d sections, expecting at least 2: %w", tocs, errInvalid)
	}
	if tocs > maxTOCs {
		return nil, fmt.Errorf("%d sections, at most %d: %w", tocs, maxTOCs, errTooBig)
	}
	toc, err := s.section("sections", headerSize, tocs, tocSize)
	if err != nil {
		return nil, err
	}
	if err := f.decode(s, toc); err != nil {
		return nil, err
	}
	// The definitions count only if the file did not change meanwhile.
	if _, err := r.ReadAt(hdr[:], 0); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if !evenInFlux && (s.order.Uint64(hdr[hdrG1:]) != f.Generation || s.order.Uint64(hdr[hdrG2:]) != f.Generation) {
		return nil, ErrInFlux
	}
	return f, nil
}

func (s *source) u32(b []byte) uint32 { return s.order.Uint32(b) }

// texts returns which of two offsets of texts are valid.
func (s *source) texts(b []byte) FileTexts {
	return FileTexts{s.order.Uint64(b) != 0, s.order.Uint64(b[8:]) != 0}
}

// ByteOrder returns the byte order of the machine that wrote the file.
func (f *File) ByteOrder() binary.ByteOrder { return f.order }

func otherEndian() binary.ByteOrder {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// problem records an error, up to a limit: a hostile file can have millions of
// them.
func (f *File) problem(err error) {
	if len(f.Problems) < 32 {
		f.Problems = append(f.Problems, err)
	}
}

// decode reads the sections that toc lists. Of two sections of a kind the
// last counts, as for the agent of the C implementation.
func (f *File) decode(s *source, toc []byte) error {
	type span struct {
		at    uint64
		count uint32
	}
	var found [tocLabels + 1]*span
	for ; len(toc) > 0; toc = toc[tocSize:] {
		typ := s.u32(toc)
		if typ < tocInDoms || typ > tocLabels {
			f.problem(fmt.Errorf("bad TOC type (%x)", typ))
			continue
		}
		found[typ] = &span{s.order.Uint64(toc[8:]), s.u32(toc[4:])}
	}
	metricAt := map[uint64]int{} // offset of its record → index
	if sp := found[tocMetrics]; sp != nil {
		if sp.count > maxMetrics {
			f.problem(fmt.Errorf("metrics count: %d > %d", sp.count, maxMetrics))
		} else if err := f.decodeMetrics(s, sp.at, sp.count, metricAt); err != nil {
			f.problem(err)
		}
	}
	if sp := found[tocInDoms]; sp != nil {
		if sp.count > MaxSerial {
			f.problem(fmt.Errorf("indoms count: %d > %d", sp.count, MaxSerial))
		} else if err := f.decodeInDoms(s, sp.at, sp.count); err != nil {
			f.problem(err)
		}
	}
	if sp := found[tocValues]; sp != nil {
		if sp.count > maxFileValues {
			f.problem(fmt.Errorf("values count: %d > %d", sp.count, maxFileValues))
		} else if err := f.decodeValues(s, sp.at, sp.count, metricAt); err != nil {
			f.problem(err)
		}
	}
	if sp := found[tocLabels]; sp != nil {
		if sp.count > maxFileLabels {
			f.problem(fmt.Errorf("labels count: %d > %d", sp.count, maxFileLabels))
		} else if err := f.decodeLabels(s, sp.at, sp.count); err != nil {
			f.problem(err)
		}
	}
	return nil
}

func (f *File) decodeMetrics(s *source, at uint64, count uint32, metricAt map[uint64]int) error {
	size, nameSize := metric2Size, 8
	if f.Version == Version1 {
		size, nameSize = metric1Size, NameMax
	}
	b, err := s.section("metrics", at, count, size)
	if err != nil {
		return err
	}
	for i := range int(count) {
		rec := b[i*size : (i+1)*size]
		var m FileMetric
		if f.Version == Version1 {
			m.Name = textOf(rec[:NameMax])
		} else if m.Name, err = s.str(s.order.Uint64(rec)); err != nil {
			f.problem(fmt.Errorf("metric[%d] name: %w", i, err))
			continue
		}
		rec = rec[nameSize:]
		m.Item = int(s.u32(rec))
		m.Type = Type(int32(s.u32(rec[4:])))
		m.Sem = pcp.Sem(s.u32(rec[8:]))
		m.Units = pcp.UnpackUnits(s.u32(rec[12:]))
		if inDom := s.u32(rec[16:]); inDom != 0 && inDom != uint32(pcp.InDomNull) {
			m.InDom = int(inDom)
		}
		m.Texts = s.texts(rec[24:])
		if m.OneLine, err = s.str(s.order.Uint64(rec[24:])); err != nil {
			f.problem(fmt.Errorf("metric[%d] shorttext: %w", i, err))
		}
		if m.Help, err = s.str(s.order.Uint64(rec[32:])); err != nil {
			f.problem(fmt.Errorf("metric[%d] helptext: %w", i, err))
		}
		metricAt[at+uint64(i*size)] = len(f.Metrics)
		f.Metrics = append(f.Metrics, m)
	}
	return nil
}

func (f *File) decodeInDoms(s *source, at uint64, count uint32) error {
	b, err := s.section("indoms", at, count, inDomSize)
	if err != nil {
		return err
	}
	total := uint64(0)
	for i := range int(count) {
		rec := b[i*inDomSize:]
		d := FileInDom{Serial: int(s.u32(rec))}
		n := s.u32(rec[4:])
		// Domains may share instances: together they must still fit the file,
		// otherwise a small file could demand any amount of memory.
		if total += uint64(n); total > maxFileValues || total*uint64(f.instanceSize()) > uint64(s.size) {
			return fmt.Errorf("indom[%d]: the instances exceed the file", i)
		}
		if d.Instances, err = f.decodeInstances(s, s.order.Uint64(rec[8:]), n); err != nil {
			f.problem(fmt.Errorf("indom[%d]: %w", i, err))
			continue
		}
		d.Texts = s.texts(rec[16:])
		if d.OneLine, err = s.str(s.order.Uint64(rec[16:])); err != nil {
			f.problem(fmt.Errorf("indom[%d] shorttext: %w", i, err))
		}
		if d.Help, err = s.str(s.order.Uint64(rec[24:])); err != nil {
			f.problem(fmt.Errorf("indom[%d] helptext: %w", i, err))
		}
		f.InDoms = append(f.InDoms, d)
	}
	return nil
}

func (f *File) instanceSize() int {
	if f.Version == Version1 {
		return instance1Size
	}
	return instance2Size
}

func (f *File) decodeInstances(s *source, at uint64, count uint32) ([]pcp.Instance, error) {
	size := f.instanceSize()
	b, err := s.section("instances", at, count, size)
	if err != nil {
		return nil, err
	}
	insts := make([]pcp.Instance, 0, count)
	for ; len(b) > 0; b = b[size:] {
		in := pcp.Instance{Inst: int32(s.u32(b[12:]))}
		if f.Version == Version1 {
			in.Name = textOf(b[16:instance1Size])
		} else if in.Name, err = s.str(s.order.Uint64(b[16:])); err != nil {
			f.problem(fmt.Errorf("instance %d: %w", in.Inst, err))
			continue
		}
		insts = append(insts, in)
	}
	return insts, nil
}

// decodeValues assigns values to metrics and instances.
func (f *File) decodeValues(s *source, at uint64, count uint32, metricAt map[uint64]int) error {
	b, err := s.section("values", at, count, valueSize)
	if err != nil {
		return err
	}
	f.ValuesAt, f.ValuesCount = int64(at), int(count)
	for i := range int(count) {
		rec := b[i*valueSize:]
		k, ok := metricAt[s.order.Uint64(rec[16:])]
		if !ok {
			f.problem(fmt.Errorf("value[%d] belongs to no metric", i))
			continue
		}
		m := &f.Metrics[k]
		v := FileValue{Inst: pcp.InNull, Index: i}
		if m.InDom != 0 {
			inst, err := s.record("instance", s.order.Uint64(rec[24:]), 16)
			if err != nil {
				f.problem(fmt.Errorf("value[%d]: %w", i, err))
				continue
			}
			v.Inst = int32(s.u32(inst[12:]))
		}
		m.Values = append(m.Values, v)
	}
	return nil
}

func (f *File) decodeLabels(s *source, at uint64, count uint32) error {
	b, err := s.section("labels", at, count, labelSize)
	if err != nil {
		return err
	}
	for ; len(b) > 0; b = b[labelSize:] {
		f.Labels = append(f.Labels, FileLabel{
			Kind:     pcp.LabelFlags(s.u32(b)),
			Identity: int(s.u32(b[4:])),
			Inst:     int32(s.u32(b[8:])),
			JSON:     textOf(b[12:labelSize]),
		})
	}
	return nil
}

// A RawValue is a value as its record holds it.
type RawValue struct {
	Bits  uint64 // of a number
	Extra int64  // of a string the offset of its record, of an elapsed time minus its start in microseconds
}

// ReadValues reads the values section of the file from r into dst, which it
// returns, one RawValue for each record. If r is a mapping that the program
// writes to, each word is read atomically.
func (f *File) ReadValues(r io.ReaderAt, buf []byte, dst []RawValue) ([]byte, []RawValue, error) {
	n := f.ValuesCount * valueSize
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := r.ReadAt(buf, f.ValuesAt); err != nil {
		return buf, dst[:0], fmt.Errorf("values: %w", err)
	}
	dst = dst[:0]
	for b := buf; len(b) > 0; b = b[valueSize:] {
		dst = append(dst, RawValue{f.order.Uint64(b), int64(f.order.Uint64(b[8:]))})
	}
	return buf, dst, nil
}

// ReadString reads the string at a value's Extra. If the program sets the value
// repeatedly meanwhile, the result can be a mixture; that of ReadText cannot.
func (f *File) ReadString(r io.ReaderAt, extra int64) (string, error) {
	var b [stringSize]byte
	if extra <= 0 {
		return "", nil
	}
	if _, err := r.ReadAt(b[:], extra); err != nil {
		return "", fmt.Errorf("offset %d: string: %w", extra, err)
	}
	return textOf(b[:]), nil
}

// ReadText reads the string that is the value of the record index, in one
// piece: if the program set it meanwhile it is read again. The error is ErrInFlux
// if it changed each time.
func (f *File) ReadText(r io.ReaderAt, index int) (string, error) {
	if index < 0 || index >= f.ValuesCount {
		return "", fmt.Errorf("value[%d] of %d: %w", index, f.ValuesCount, errInvalid)
	}
	at := f.ValuesAt + int64(index)*valueSize
	read := func() (rec [16]byte, err error) {
		if _, err = r.ReadAt(rec[:], at); err != nil {
			err = fmt.Errorf("value[%d]: %w", index, err)
		}
		return rec, err
	}
	before, err := read()
	for tries := 0; err == nil; tries++ {
		var text string
		if text, err = f.ReadString(r, int64(f.order.Uint64(before[8:]))); err != nil {
			break
		}
		var after [16]byte
		if after, err = read(); err == nil && after == before {
			return text, nil
		}
		if before = after; tries == 100 {
			err = ErrInFlux
		}
	}
	return "", err
}

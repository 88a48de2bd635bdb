package zstdframes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/klauspost/compress/zstd"
)

// PieceSize is the length of a piece of the contents, except the last. Pieces of 1 MiB of a recorded day take a sixth more space.
const PieceSize = 4 << 20

// Most is the maximum length of the contents of a frame that [ReadTable] accepts.
const Most = 32 << 20

// Numbers of the format.
const (
	tableMagic   = 0x184D2A5E
	footMagic    = 0x8F92EAB1
	headSize     = 8
	footSize     = 9
	withChecksum = 0x80
	reserved     = 0x7c
)

// ErrNoTable means that a file has no valid table of frames. It can be read from its start.
var ErrNoTable = errors.New("no table of frames")

// A Writer compresses to another writer.
type Writer struct {
	w     io.Writer
	enc   *zstd.Encoder
	piece []byte
	room  []byte
	table []byte
	n     uint32
	err   error
}

// NewWriter returns a Writer, whose Close writes the table. Options are those of the encoder.
func NewWriter(w io.Writer, opts ...zstd.EOption) (*Writer, error) {
	enc, err := zstd.NewWriter(nil, append([]zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithZeroFrames(true)}, opts...)...)
	if err != nil {
		return nil, err
	}
	return &Writer{w: w, enc: enc}, nil
}

// Write implements [io.Writer].
func (w *Writer) Write(b []byte) (n int, err error) {
	for len(b) > 0 && w.err == nil {
		if w.piece == nil {
			w.piece = make([]byte, 0, PieceSize)
		}
		k := min(len(b), PieceSize-len(w.piece))
		w.piece = append(w.piece, b[:k]...)
		b, n = b[k:], n+k
		if len(w.piece) == PieceSize {
			w.flush()
		}
	}
	return n, w.err
}

// flush writes a frame.
func (w *Writer) flush() {
	w.room = w.enc.EncodeAll(w.piece, w.room[:0])
	w.table = binary.LittleEndian.AppendUint32(w.table, uint32(len(w.room)))
	w.table = binary.LittleEndian.AppendUint32(w.table, uint32(len(w.piece)))
	w.n++
	w.piece = w.piece[:0]
	_, w.err = w.w.Write(w.room)
}

// Close writes the last frame and the table. It does not close the other writer.
func (w *Writer) Close() error {
	if w.err == nil && (len(w.piece) > 0 || w.n == 0) {
		if len(w.piece) == 0 {
			w.piece = []byte{} // an empty file is a frame, not nothing
		}
		w.flush()
	}
	if w.err != nil {
		return w.err
	}
	var head []byte
	head = binary.LittleEndian.AppendUint32(head, tableMagic)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(w.table)+footSize))
	w.table = binary.LittleEndian.AppendUint32(w.table, w.n)
	w.table = append(w.table, 0)
	w.table = binary.LittleEndian.AppendUint32(w.table, footMagic)
	_, err := w.w.Write(append(head, w.table...))
	if w.err = err; err == nil {
		w.err = errors.New("zstdframes: closed")
	}
	return err
}

// A Frame is a part of a file.
type Frame struct {
	Off, Size     int64 // in the file
	Start, Length int64 // of its contents in those of the file
}

// A Table lists the frames of a file.
type Table struct {
	Frames []Frame
	Total  int64 // length of the contents
}

// Find returns the number of the frame with an offset of the contents, -1 if there is none.
func (t *Table) Find(at int64) int {
	if at < 0 || at >= t.Total {
		return -1
	}
	// Of frames that start at the same offset all but the last are empty.
	return sort.Search(len(t.Frames), func(i int) bool { return t.Frames[i].Start > at }) - 1
}

// tailSize is the number of bytes at the end of a file that are read first. They have the table of files up to some gigabytes.
const tailSize = 16 << 10

// ReadTable reads the table at the end of a file of size bytes. If there is no table, or its frames do not have the length
// of the file, the error is [ErrNoTable].
func ReadTable(r io.ReaderAt, size int64) (*Table, error) {
	if size < headSize+footSize {
		return nil, ErrNoTable
	}
	read := func(off, n int64) ([]byte, error) {
		b := make([]byte, n) // no more than the file has
		if k, err := r.ReadAt(b, off); k < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("table of frames: %w", err)
		}
		return b, nil
	}
	b, err := read(max(0, size-tailSize), min(size, tailSize))
	if err != nil {
		return nil, err
	}
	foot := b[len(b)-footSize:]
	flags := foot[4]
	if binary.LittleEndian.Uint32(foot[5:]) != footMagic || flags&reserved != 0 {
		return nil, ErrNoTable
	}
	entry := int64(8)
	if flags&withChecksum != 0 {
		entry = 12
	}
	n := int64(binary.LittleEndian.Uint32(foot))
	length := headSize + n*entry + footSize
	if length > size {
		return nil, ErrNoTable
	}
	if length > int64(len(b)) {
		if b, err = read(size-length, length); err != nil {
			return nil, err
		}
	}
	b = b[int64(len(b))-length:]
	if binary.LittleEndian.Uint32(b) != tableMagic || int64(binary.LittleEndian.Uint32(b[4:])) != length-headSize {
		return nil, ErrNoTable
	}
	t := &Table{Frames: make([]Frame, n)}
	off := int64(0)
	for i, b := 0, b[headSize:]; i < len(t.Frames); i, b = i+1, b[entry:] {
		f := Frame{Off: off, Size: int64(binary.LittleEndian.Uint32(b)), Start: t.Total, Length: int64(binary.LittleEndian.Uint32(b[4:]))}
		if f.Length > Most {
			return nil, ErrNoTable
		}
		off += f.Size
		t.Total += f.Length
		t.Frames[i] = f
	}
	if off != size-length {
		return nil, ErrNoTable
	}
	return t, nil
}

package compressed

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/storage"
	"github.com/go-pcp/pcp/internal/zstdframes"
)

// framesMost is the number of frames of a file in memory: the current frame, the one before, and the next.
const framesMost = 3

// A framesFile reads a file in the .zst format at random, by the frames in its table. If frames are read in order,
// the next one is decoded meanwhile.
type framesFile struct {
	*zstdframes.Table
	file storage.File
	mem  *Memory

	mu     sync.Mutex
	held   []*heldFrame // the last used first
	last   int          // the frame that was read last, -1 before the first
	closed bool
	ahead  sync.WaitGroup
}

// A heldFrame is a frame in memory. Its data are valid when ready is closed.
type heldFrame struct {
	number int
	refs   int // readers; the mutex is held
	gone   bool
	ready  chan struct{}
	data   []byte
	err    error
}

// frameDecoder decodes frames, at most to the capacity of their room. It is safe for concurrent use.
var frameDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderMaxMemory(128<<20))
})

func newFrames(f storage.File, t *zstdframes.Table, m *Memory) *framesFile {
	return &framesFile{Table: t, file: f, mem: m, last: -1}
}

func (x *framesFile) Size() (int64, error) { return x.Total, nil }

// Close waits for the decoding ahead.
func (x *framesFile) Close() error {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.ahead.Wait()
	return x.file.Close()
}

func (x *framesFile) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		i := x.Find(at)
		if i < 0 {
			return n, io.EOF
		}
		h, err := x.use(i)
		if err != nil {
			return n, err
		}
		<-h.ready
		if h.err == nil {
			n += copy(p[n:], h.data[at-x.Frames[i].Start:])
		}
		err = h.err
		x.mu.Lock()
		x.leave(h)
		x.mu.Unlock()
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// use returns a frame, which is being decoded or was. The caller must leave it.
func (x *framesFile) use(i int) (*heldFrame, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, fs.ErrClosed
	}
	h, fresh := x.hold(i)
	h.refs++
	inOrder := i == x.last+1 && i > 0
	x.last = i
	if inOrder && i+1 < len(x.Frames) && !x.closed {
		if next, fresh := x.hold(i + 1); fresh {
			next.refs++
			x.ahead.Go(func() {
				x.decode(next)
				x.mu.Lock()
				defer x.mu.Unlock()
				x.leave(next)
			})
		}
	}
	if fresh {
		x.mu.Unlock()
		x.decode(h)
		x.mu.Lock()
	}
	return h, nil
}

// hold returns a frame, and reports whether the caller must decode it. The mutex is held.
func (x *framesFile) hold(i int) (h *heldFrame, fresh bool) {
	if k := slices.IndexFunc(x.held, func(h *heldFrame) bool { return h.number == i }); k >= 0 {
		h = x.held[k]
		copy(x.held[1:k+1], x.held[:k])
		x.held[0] = h
		return h, false
	}
	if len(x.held) == framesMost {
		old := x.held[framesMost-1]
		x.held = x.held[:framesMost-1]
		old.gone = true
		old.refs++
		x.leave(old)
	}
	h = &heldFrame{number: i, ready: make(chan struct{})}
	x.held = slices.Insert(x.held, 0, h)
	return h, true
}

// leave ends a use of a frame. The mutex is held.
func (x *framesFile) leave(h *heldFrame) {
	if h.refs--; h.refs == 0 && h.gone {
		x.mem.free(h.data)
		h.data = nil
	}
}

// decode decodes a frame.
func (x *framesFile) decode(h *heldFrame) {
	defer close(h.ready)
	f := x.Frames[h.number]
	if h.err = x.into(h, f); h.err != nil {
		h.err = fmt.Errorf("zstd: offset %d: %w", f.Off, h.err)
	}
}

func (x *framesFile) into(h *heldFrame, f zstdframes.Frame) error {
	src, err := x.source(f)
	if err != nil {
		return err
	}
	dec, err := frameDecoder()
	if err != nil {
		return err
	}
	data, err := dec.DecodeAll(src, x.mem.alloc(int(f.Length)))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", err, pcp.ErrLogRec)
	case int64(len(data)) != f.Length:
		return fmt.Errorf("frame of %d bytes, want %d: %w", len(data), f.Length, pcp.ErrLogRec)
	}
	h.data = data
	return nil
}

// source returns the bytes of a frame, of which the file has all.
func (x *framesFile) source(f zstdframes.Frame) ([]byte, error) {
	src := make([]byte, f.Size)
	if n, err := x.file.ReadAt(src, f.Off); n < len(src) {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, pcp.ErrLogRec)
		}
		return nil, err
	}
	return src, nil
}

// A framesDamaged is a framesFile that returns the bytes of a damaged frame that can be decoded: those before the
// damage and perhaps some wrong ones.
type framesDamaged struct {
	*framesFile

	mu     sync.Mutex
	number int // of the frame whose data are here, -1 if none
	data   []byte
}

func (x *framesDamaged) ReadAt(p []byte, off int64) (int, error) {
	n, err := x.framesFile.ReadAt(p, off)
	if n > 0 || err == nil || err == io.EOF {
		return n, err // after n bytes the caller calls again
	}
	i := x.Find(off)
	if i < 0 {
		return 0, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.Frames[i]
	if x.number != i {
		x.number, x.data = i, x.partial(f)
	}
	if at := off - f.Start; at < int64(len(x.data)) {
		if n = copy(p, x.data[at:]); n == len(p) {
			err = nil
		}
	}
	return n, err
}

// partial decodes as much of a frame as possible.
func (x *framesDamaged) partial(f zstdframes.Frame) []byte {
	src, err := x.source(f)
	if err != nil {
		return nil
	}
	d, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil
	}
	defer d.Close()
	data := make([]byte, f.Length)
	n, _ := io.ReadFull(d, data)
	return data[:n]
}

package objects

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
)

// A file is one version of a file in a store.
type file struct {
	s       *store
	address string
	*info
	key string

	offset int64 // for Read
	closed atomic.Bool

	mu    sync.Mutex // held during a request
	last  int64      // the block that was read last
	ahead int64      // blocks to read at once
}

// Name returns the address.
func (f *file) Name() string { return f.address }

// Stat returns the description of the file when it was opened.
func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close ends the use of the file.
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return fs.ErrClosed
	}
	return nil
}

// Read reads on from the last Read.
func (f *file) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.offset)
	f.offset += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt reads from the blocks in memory or on the disk, and requests missing ones.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case f.closed.Load():
		return 0, fs.ErrClosed
	case off < 0:
		return 0, &fs.PathError{Op: "read", Path: f.address, Err: fs.ErrInvalid}
	}
	n := 0
	for n < len(p) && off+int64(n) < f.size {
		at := off + int64(n)
		need := (off + int64(len(p)) + blockSize - 1) / blockSize
		data, err := f.block(at/blockSize, need)
		if err != nil {
			return n, wrap(f.address, err)
		}
		n += copy(p[n:], data[at%blockSize:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// blocks returns the number of blocks of the file.
func (f *file) blocks() int64 { return (f.size + blockSize - 1) / blockSize }

// length returns the length of a block.
func (f *file) length(i int64) int64 { return min(blockSize, f.size-i*blockSize) }

// block returns a block. Blocks from it up to before need are wanted next.
func (f *file) block(i, need int64) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i == f.last+1 || i == f.last {
		if i != f.last {
			f.ahead = min(max(1, 2*f.ahead), aheadMost)
		}
	} else {
		f.ahead = 1
	}
	f.last = i
	if data := f.s.cache.get(block{f.key, i}, f.length(i)); data != nil {
		return data, nil
	}
	end := min(f.blocks(), max(i+f.ahead, min(need, i+aheadMost)))
	for j := i + 1; j < end; j++ {
		if f.s.cache.has(block{f.key, j}) {
			end = j
		}
	}
	var last error
	for range tries {
		data, err := f.request(i, end)
		if data != nil {
			return data, nil
		}
		if last = err; err != io.ErrUnexpectedEOF {
			break
		}
	}
	if last == io.ErrUnexpectedEOF {
		last = fmt.Errorf("the server's answers end before byte %d of %d", i*blockSize+f.length(i), f.size)
	}
	return nil, last
}

// request reads blocks from the server into the cache, and returns the first one. An answer that ends too early
// is io.ErrUnexpectedEOF.
func (f *file) request(i, end int64) (data []byte, err error) {
	off := i * blockSize
	body, from, err := f.s.back.get(context.Background(), f.address, f.version, off, min(end*blockSize, f.size)-off)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if from < off {
		// The server sends all of the file, of which nothing should be requested again.
		if f.s.cache.dir == "" && f.blocks() > inMemory {
			return nil, fmt.Errorf("the server does not send parts of a file; it must, or there must be a cache on the disk (%s)", cacheVar)
		}
		end = f.blocks()
	}
	if part := from % blockSize; part != 0 {
		if _, err := io.CopyN(io.Discard, body, blockSize-part); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		from += blockSize - part
	}
	for j := from / blockSize; j < end; j++ {
		b := make([]byte, f.length(j))
		if _, err := io.ReadFull(body, b); err != nil {
			return data, io.ErrUnexpectedEOF
		}
		f.s.cache.put(block{f.key, j}, b)
		if j == i {
			data = b
		}
	}
	return data, nil
}

package objects

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/internal/fileversion"
)

// A block is a part of a version of a file.
type block struct {
	key    string
	number int64
}

// key returns the key of the blocks of a version of a file.
func key(address string, i *info) string {
	sum := sha256.Sum256([]byte(address + "\x00" + i.version + "\x00" + strconv.FormatInt(i.size, 10) + "\x00" + i.time.UTC().String()))
	return hex.EncodeToString(sum[:16])
}

// A held block is in memory.
type held struct {
	data []byte
	used uint64
}

// A cache has the blocks that were used last, in memory and on the disk. Several processes use one directory: a
// block is written to a file of its own, which is renamed when it is complete, and has a checksum.
type cache struct {
	dir   string // "" for none
	limit int64  // bytes on the disk

	mu     sync.Mutex
	memory map[block]*held
	clock  uint64
	left   int64 // bytes to write until the size of the directory is looked at again
}

// headSize is the length of the head of a block on the disk: a magic number and the checksum of the data.
const headSize = 8

var magic = [4]byte{'P', 'C', 'P', blockVersion}

// blockVersion is the version of the format of a block on the disk.
const blockVersion = fileversion.CachedBlock

// newer reports whether a file is a block of a later release. Such a file is neither used nor replaced.
func newer(f *os.File) bool {
	var head [len(magic)]byte
	_, err := f.ReadAt(head[:], 0)
	return err == nil && [3]byte(head[:]) == [3]byte(magic[:]) && head[3] > blockVersion
}

// checksum returns the checksum of the data of a block.
func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

func (c *cache) path(b block) string {
	return filepath.Join(c.dir, b.key[:2], b.key[2:]+"-"+strconv.FormatInt(b.number, 36))
}

// get returns the data of a block, nil if it is not here.
func (c *cache) get(b block, length int64) []byte {
	c.mu.Lock()
	c.clock++
	if h := c.memory[b]; h != nil {
		h.used = c.clock
		c.mu.Unlock()
		return h.data
	}
	c.mu.Unlock()
	if c.dir == "" {
		return nil
	}
	path := c.path(b)
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if newer(f) {
		return nil
	}
	st, err := f.Stat()
	if err != nil || st.Size() != headSize+length {
		os.Remove(path)
		return nil
	}
	data := make([]byte, headSize+length)
	if _, err := f.ReadAt(data, 0); err != nil || [4]byte(data) != magic ||
		binary.BigEndian.Uint32(data[4:]) != checksum(data[headSize:]) {
		os.Remove(path)
		return nil
	}
	if now := time.Now(); now.Sub(st.ModTime()) > time.Minute {
		os.Chtimes(path, now, now) // it was used
	}
	c.remember(b, data[headSize:])
	return data[headSize:]
}

// has reports whether a block seems to be here.
func (c *cache) has(b block) bool {
	c.mu.Lock()
	h := c.memory[b]
	c.mu.Unlock()
	if h != nil {
		return true
	}
	if c.dir == "" {
		return false
	}
	_, err := os.Stat(c.path(b))
	return err == nil
}

func (c *cache) remember(b block, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	c.memory[b] = &held{data, c.clock}
	if len(c.memory) <= inMemory {
		return
	}
	oldest, used := block{}, c.clock+1
	for b, h := range c.memory {
		if h.used < used {
			oldest, used = b, h.used
		}
	}
	delete(c.memory, oldest)
}

// put adds a block. If the disk does not take it, it is in memory only.
func (c *cache) put(b block, data []byte) {
	c.remember(b, data)
	if c.dir == "" {
		return
	}
	path := c.path(b)
	if f, err := os.Open(path); err == nil {
		later := newer(f)
		f.Close()
		if later {
			return
		}
	}
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return
	}
	f, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return
	}
	head := append(magic[:len(magic):len(magic)], 0, 0, 0, 0)
	binary.BigEndian.PutUint32(head[4:], checksum(data))
	_, err = f.Write(append(head, data...))
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return
	}
	c.mu.Lock()
	c.left -= headSize + int64(len(data))
	full := c.left <= 0
	if full {
		c.left = c.limit / 16
	}
	c.mu.Unlock()
	if full {
		c.shrink()
	}
}

// shrink removes the blocks that have not been used for longest, until there is room for more.
func (c *cache) shrink() {
	type item struct {
		path string
		size int64
		time time.Time
	}
	var list []item
	total := int64(0)
	filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		st, err := d.Info()
		if err != nil {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".new-") && time.Since(st.ModTime()) > time.Hour {
			os.Remove(path) // of a process that was killed
			return nil
		}
		list = append(list, item{path, st.Size(), st.ModTime()})
		total += st.Size()
		return nil
	})
	slices.SortFunc(list, func(a, b item) int { return cmp.Or(a.time.Compare(b.time), strings.Compare(a.path, b.path)) })
	for _, i := range list {
		if total <= c.limit-c.limit/16 {
			break
		}
		if os.Remove(i.path) == nil {
			total -= i.size
		}
	}
}

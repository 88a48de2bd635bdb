package logger

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// recount is the interval at which the files are counted again when the quota seems
// full, since others may have removed some.
const recount = 10 * time.Second

// A quota limits the bytes of all files below a directory.
type quota struct {
	dir string // below the root

	mu      sync.Mutex
	limit   int64
	used    int64
	counted time.Time
}

// take reserves bytes.
func (q *quota) take(root *os.Root, n int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.counted.IsZero() || q.used+n > q.limit && time.Since(q.counted) >= recount {
		used, err := count(root, q.dir)
		if err != nil {
			return err
		}
		q.used, q.counted = used, time.Now()
	}
	if q.used+n > q.limit {
		of := ""
		if q.dir != "." {
			of = " by host " + q.dir
		}
		return fmt.Errorf("%w: %d bytes of at most %d are used%s", errFull, q.used, q.limit, of)
	}
	q.used += n
	return nil
}

func (q *quota) setLimit(limit int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = limit
}

func (q *quota) give(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= n
}

// count adds up the sizes of the files below a directory. It ignores files that vanish meanwhile.
func count(root *os.Root, dir string) (n int64, err error) {
	err = fs.WalkDir(root.FS(), dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n, err
}

// take reserves bytes for an archive, in all quotas or in none.
func (p *push) take(root *os.Root, n int64) error {
	for i, q := range p.quotas {
		if err := q.take(root, n); err != nil {
			for _, q := range p.quotas[:i] {
				q.give(n)
			}
			return err
		}
	}
	return nil
}

func (p *push) give(n int64) {
	for _, q := range p.quotas {
		q.give(n)
	}
}

package postfix

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/agent/service"
)

// Limits of a reading.
const (
	maxRecord  = 1 << 21 // bytes, as in qshape
	maxRecords = 100_000 // of a file
	maxDepth   = 4       // of directories of a queue
	maxText    = 1 << 10 // bytes of a record that are kept
)

func queueNames() []string { return []string{"maildrop", "incoming", "hold", "active", "deferred"} }

func ageNames() []string {
	return []string{
		"total", "0-5 mins", "5-10 mins", "10-20 mins", "20-40 mins", "40-80 mins", "80-160 mins", "160-320 mins", "320-640 mins", "640-1280 mins",
		"1280+ mins",
	}
}

// bucket returns the place of an age among ageNames.
func bucket(age time.Duration) int {
	m := age.Minutes() / 5
	if m < 1 {
		return 1
	}
	return min(2+int(math.Log2(m)), len(ageNames())-1)
}

// queues reads the queues.
type queues struct {
	dir  string
	ages *service.InDom
	now  func() time.Time

	last [][]uint64 // counts of the last reading, by queue and age
	at   time.Time
}

func (q *queues) read(ctx context.Context, a *service.Answer) error {
	if now := q.now(); q.last == nil || now.Sub(q.at) >= minAge {
		all := make([][]uint64, len(queueNames()))
		for i, name := range queueNames() {
			all[i] = make([]uint64, len(ageNames()))
			if err := q.count(ctx, filepath.Join(q.dir, name), all[i], now); err != nil {
				return err
			}
		}
		q.last, q.at = all, now
	}
	for i, name := range queueNames() {
		for j, age := range ageNames() {
			a.Row(q.ages, age).Set(name, strconv.FormatUint(q.last[i][j], 10))
		}
	}
	return nil
}

// count counts the recipients of the messages of a queue. Messages that go meanwhile are passed over.
func (q *queues) count(ctx context.Context, dir string, counts []uint64, now time.Time) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && path != dir && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			if strings.Count(strings.TrimPrefix(path, dir), "/") > maxDepth {
				return fs.SkipDir
			}
			return nil
		case !isQueueName(d.Name()):
			return nil
		}
		st, err := d.Info()
		// Files that are not complete have other permissions.
		if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o733 != 0o700 {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		defer f.Close()
		m, ok := envelope(f)
		if !ok {
			return nil
		}
		if m.arrival.IsZero() {
			m.arrival = st.ModTime()
		}
		counts[0] += m.recipients
		counts[bucket(now.Sub(m.arrival))] += m.recipients
		return nil
	})
}

// isQueueName reports whether a name is one of a message: at least six letters and digits.
func isQueueName(name string) bool {
	return len(name) >= 6 && strings.Trim(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// A message is an envelope.
type message struct {
	arrival    time.Time // zero in the queue maildrop
	recipients uint64    // that have not been served
}

// A records reads the records of a queue file: a byte with the type, the length in seven bits a byte, and the data.
type records struct {
	f io.ReadSeeker
	r *bufio.Reader
}

// next returns a record, with the beginning of its data.
func (r *records) next() (kind byte, text string, ok bool) {
	kind, err := r.r.ReadByte()
	if err != nil {
		return 0, "", false
	}
	n := 0
	for shift := 0; ; shift += 7 {
		b, err := r.r.ReadByte()
		if err != nil || shift > 14 {
			return 0, "", false
		}
		n |= int(b&0x7f) << shift
		if b&0x80 == 0 {
			break
		}
	}
	if n >= maxRecord {
		return 0, "", false
	}
	data := make([]byte, min(n, maxText))
	if _, err := io.ReadFull(r.r, data); err != nil {
		return 0, "", false
	}
	if _, err := r.r.Discard(n - len(data)); err != nil {
		return 0, "", false
	}
	return kind, string(data), true
}

// seek continues at a place of the file.
func (r *records) seek(offset int64, whence int) bool {
	if whence == io.SeekCurrent {
		offset -= int64(r.r.Buffered())
	}
	_, err := r.f.Seek(offset, whence)
	r.r.Reset(r.f)
	return err == nil
}

// Types of records.
const (
	recSize      = 'C'
	recTime      = 'T'
	recFull      = 'F'
	recSender    = 'S'
	recRecipient = 'R'
	recMessage   = 'M'
	recExtracted = 'X'
	recEnd       = 'E'
	recPointer   = 'p'
	recNormal    = 'N'
	recLong      = 'L'
)

// envelope reads the envelope of a message, and reports whether the file is complete. It accepts any bytes.
func envelope(f io.ReadSeeker) (m message, ok bool) {
	r := &records{f, bufio.NewReader(f)}
	kind, text, ok := r.next()
	if !ok {
		return m, false
	}
	length, sender := int64(-1), false
	switch kind {
	case recSize: // of the content
		if words := strings.Fields(text); len(words) >= 3 {
			if n, err := strconv.ParseInt(words[0], 10, 64); err == nil && n >= 0 {
				length = n
			}
		}
		kind, text, ok = r.next()
		if !ok || kind != recTime {
			return m, false
		}
		seconds, _, _ := strings.Cut(text, " ")
		n, err := strconv.ParseInt(seconds, 10, 64)
		if err != nil {
			return m, false
		}
		m.arrival = time.Unix(n, 0)
	case recFull:
		if kind, _, ok = r.next(); !ok || kind != recSender {
			return m, false
		}
		sender = true
	case recSender:
		sender = true
	default:
		return m, false
	}
	for range maxRecords {
		kind, text, ok := r.next()
		if !ok {
			return m, false
		}
		switch kind {
		case recPointer:
			if !r.follow(text) {
				return m, false
			}
		case recSender:
			sender = true
		case recRecipient:
			m.recipients++
		case recMessage:
			if !sender || !r.skipContent(length) {
				return m, false
			}
		case recEnd:
			return m, sender && m.recipients > 0
		}
	}
	return m, false
}

// follow continues where a pointer points to; 0 means nowhere.
func (r *records) follow(text string) bool {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return err != nil || n <= 0 || r.seek(n, io.SeekStart)
}

// skipContent skips the content of a message, whose length is -1 if it is not known, and the mark behind it.
func (r *records) skipContent(length int64) bool {
	if length >= 0 {
		if !r.seek(length, io.SeekCurrent) {
			return false
		}
		kind, _, ok := r.next()
		return ok && kind == recExtracted
	}
	for range maxRecords {
		kind, text, ok := r.next()
		switch {
		case !ok:
			return false
		case kind == recPointer:
			if !r.follow(text) {
				return false
			}
		case kind != recNormal && kind != recLong:
			return kind == recExtracted
		}
	}
	return false
}

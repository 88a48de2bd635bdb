package columns

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// ErrUnfit is the error of Make for an archive that can only be read record by record.
var ErrUnfit = errors.New("the archive does not fit into columns")

// Limits of Make. Archives over them are read record by record.
const (
	maxRecords = 1 << 24 // of an archive
	maxColumns = 1 << 22 // instances of all metrics together
	maxPending = 8 << 20 // values that are not encoded yet
	minChunk   = 256     // values of a chunk, if there are many columns
)

// Make makes the file of columns of an archive: at path, or beside the archive if path is "". The archive must not be written meanwhile.
// An existing file is replaced, unless a later release made it. The error is ErrUnfit if the archive does not fit, or its own if it cannot be read.
func Make(ctx context.Context, base, path string) (err error) {
	if path == "" {
		path = Path(base)
	}
	if err := checkNewer(path); err != nil {
		return err
	}
	before, err := identity(base)
	if err != nil {
		return err
	}
	a, err := archive.Open(base)
	if err != nil {
		return err
	}
	defer a.Close()
	m := newMaker(a.Meta())
	if err := m.read(ctx, a); err != nil {
		return fmt.Errorf("%s: %w", base, err)
	}
	out, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+temporary)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			out.Close()
			os.Remove(out.Name())
		}
	}()
	w := bufio.NewWriterSize(out, 256<<10)
	if err := m.write(w, before); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	info, err := os.Stat(m.like(base))
	if err != nil {
		return err
	}
	if err := errors.Join(out.Chmod(info.Mode().Perm()), out.Sync(), out.Close()); err != nil {
		return err
	}
	if after, err := identity(base); err != nil || after != before {
		return cmp.Or(err, fmt.Errorf("%s: changed while it was read", base))
	}
	return os.Rename(out.Name(), path)
}

// A maker collects the columns of an archive.
type maker struct {
	meta    *archive.Meta
	times   []int64 // nanoseconds
	marks   []uint32
	metrics map[pcp.PMID]*making
	columns int
	limit   int // values of a chunk
	enc     chunkWriter
}

// A making is a metric while its columns are collected.
type making struct {
	id      pcp.PMID
	t       pcp.Type
	left    bool
	records runs // with the metric
	n       uint32
	status  []statusRun
	byInst  map[int32]*collected
	list    []*collected
	last    []*collected // of the last record, in its order
}

// collected is a column while it is collected.
type collected struct {
	inst    int32
	samples runs
	pending []int64
	data    []byte
}

// runs are ranges of ascending numbers.
type runs []run

type run struct{ from, to uint32 }

func (r *runs) add(n uint32) {
	if k := len(*r); k > 0 && (*r)[k-1].to == n {
		(*r)[k-1].to++
		return
	}
	*r = append(*r, run{n, n + 1})
}

// last returns the last number, -1 if there is none.
func (r runs) last() int64 {
	if len(r) == 0 {
		return -1
	}
	return int64(r[len(r)-1].to) - 1
}

func (r runs) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(r)))
	at := uint32(0)
	for _, x := range r {
		b = binary.AppendUvarint(b, uint64(x.from-at))
		b = binary.AppendUvarint(b, uint64(x.to-x.from))
		at = x.to
	}
	return b
}

type statusRun struct {
	run
	err pcp.Error
}

func newMaker(meta *archive.Meta) *maker {
	return &maker{meta: meta, metrics: map[pcp.PMID]*making{}, limit: maxChunk}
}

// like returns a file whose mode the file of columns gets.
func (m *maker) like(base string) string {
	f, err := archive.FindFiles(base)
	if err != nil {
		return base
	}
	return f.Meta
}

// maxSeconds is the end of the times that fit into nanoseconds.
const maxSeconds = math.MaxInt64/1_000_000_000 - 1

// nanos returns a time in nanoseconds, false if that is not positive or too large.
func nanos(t pcp.Timestamp) (int64, bool) {
	if t.Sec < 0 || t.Sec > maxSeconds || t.Nsec < 0 || t.Nsec >= 1e9 {
		return 0, false
	}
	n := t.Sec*1e9 + int64(t.Nsec)
	return n, n > 0
}

// read reads all records.
func (m *maker) read(ctx context.Context, a *archive.Archive) error {
	r := a.NewReader()
	defer r.Close()
	var scan archive.SetScanner
	var check archive.Checker
	for {
		if len(m.times)%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		body, err := r.Step(archive.Forward)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if !scan.Start(body, a.Version()) {
			return pcp.ErrLogRec
		}
		if err := check.Check(&scan); err != nil {
			return err
		}
		scan.Start(body, a.Version())
		if err := m.record(&scan); err != nil {
			return err
		}
	}
	for _, k := range m.metrics {
		for _, c := range k.list {
			m.flush(k, c)
		}
	}
	return nil
}

// record adds a record.
func (m *maker) record(scan *archive.SetScanner) error {
	t, ok := nanos(scan.Time)
	if n := len(m.times); !ok || n == maxRecords || n > 0 && t < m.times[n-1] {
		return fmt.Errorf("%w: record %d is not in the order of time", ErrUnfit, n)
	}
	rec := uint32(len(m.times))
	m.times = append(m.times, t)
	if scan.Sets == 0 {
		m.marks = append(m.marks, rec)
		return nil
	}
	for scan.Next() {
		k := m.metrics[scan.PMID]
		if k == nil {
			desc, err := m.meta.Desc(scan.PMID)
			k = &making{id: scan.PMID, t: desc.Type, left: err != nil || !held(desc.Type), byInst: map[int32]*collected{}}
			m.metrics[scan.PMID] = k
		}
		if k.left {
			continue
		}
		// Of two records at the same time, readers use one.
		if last := k.records.last(); last >= 0 && m.times[last] == t || !m.sample(k, scan) {
			*k = making{id: k.id, left: true}
			continue
		}
		k.records.add(rec)
		k.n++
	}
	if m.columns > maxColumns {
		return fmt.Errorf("%w: there are more than %d instances of metrics", ErrUnfit, maxColumns)
	}
	return scan.Err()
}

// held reports whether values of a type are held in columns.
func held(t pcp.Type) bool {
	switch t {
	case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble:
		return true
	}
	return false
}

// sample adds the values of a metric in the current record. It returns false if they are irregular.
func (m *maker) sample(k *making, scan *archive.SetScanner) bool {
	if scan.Len == 0 {
		if n := len(k.status); n > 0 && k.status[n-1].to == k.n && k.status[n-1].err == scan.Status {
			k.status[n-1].to++
		} else {
			k.status = append(k.status, statusRun{run{k.n, k.n + 1}, scan.Status})
		}
		return true
	}
	for i := range scan.Len {
		v, err := scan.Value(i)
		if err != nil {
			return false
		}
		v = archive.Retype(v, k.t).As(k.t)
		if v.Type() != k.t {
			return false
		}
		var c *collected
		if i < len(k.last) && k.last[i].inst == v.Inst {
			c = k.last[i]
		} else if c = k.byInst[v.Inst]; c == nil {
			c = &collected{inst: v.Inst}
			k.byInst[v.Inst] = c
			k.list = append(k.list, c)
			if m.columns++; m.columns*maxChunk > maxPending {
				m.limit = max(minChunk, maxPending/m.columns)
			}
		}
		if c.samples.last() == int64(k.n) {
			return false // an instance twice
		}
		c.samples.add(k.n)
		c.pending = append(c.pending, integer(v))
		if len(c.pending) >= m.limit {
			m.flush(k, c)
		}
		if i < len(k.last) {
			k.last[i] = c
		} else {
			k.last = append(k.last, c)
		}
	}
	k.last = k.last[:scan.Len]
	return true
}

// integer returns a value as an integer or bits.
func integer(v pcp.Value) int64 {
	switch v.Type() {
	case pcp.Type32:
		return int64(v.Int32())
	case pcp.TypeU32, pcp.TypeFloat:
		return int64(uint32(v.Bits()))
	}
	return int64(v.Bits())
}

func (m *maker) flush(k *making, c *collected) {
	for len(c.pending) > 0 {
		n := min(maxChunk, len(c.pending))
		c.data = m.enc.append(c.data, c.pending[:n], k.t)
		c.pending = c.pending[n:]
	}
	c.pending = c.pending[:0]
}

// checksum returns the checksum of a block.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// write writes the file.
func (m *maker) write(w io.Writer, identity string) error {
	if _, err := io.WriteString(w, magic); err != nil {
		return err
	}
	off := uint64(len(magic))
	block := func(b []byte) error {
		n, err := w.Write(b)
		off += uint64(n)
		return err
	}
	index := binary.AppendUvarint(nil, uint64(len(identity)))
	index = append(index, identity...)

	// times
	unit := int64(1)
	if !slices.ContainsFunc(m.times, func(t int64) bool { return t%1000 != 0 }) {
		unit = 1000
	}
	var b []byte
	for part := range slices.Chunk(m.times, maxChunk) {
		for i := range part {
			part[i] /= unit
		}
		b = m.enc.append(b, part, pcp.Type64)
	}
	index = binary.AppendUvarint(index, uint64(len(m.times)))
	index = binary.AppendUvarint(index, uint64(unit))
	index = binary.AppendUvarint(index, uint64(len(b)))
	index = binary.LittleEndian.AppendUint32(index, checksum(b))
	if err := block(b); err != nil {
		return err
	}
	index = binary.AppendUvarint(index, uint64(len(m.marks)))
	last := uint32(0)
	for _, r := range m.marks {
		index = binary.AppendUvarint(index, uint64(r-last))
		last = r
	}

	// metrics
	list := make([]*making, 0, len(m.metrics))
	for _, k := range m.metrics {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *making) int { return cmp.Compare(a.id, b.id) })
	var sequences, presences interning
	var metrics []byte
	id := pcp.PMID(0)
	for _, k := range list {
		metrics = binary.AppendUvarint(metrics, uint64(k.id-id))
		id = k.id
		b = b[:0]
		if !k.left {
			b = m.columnsOf(b, k, &presences)
		}
		if k.left || len(b) > maxBlock {
			metrics = binary.AppendUvarint(metrics, 0)
			continue
		}
		metrics = binary.AppendUvarint(metrics, uint64(k.t)+1)
		metrics = binary.AppendUvarint(metrics, sequences.number(k.records))
		metrics = binary.AppendUvarint(metrics, uint64(len(k.status)))
		at := uint32(0)
		for _, s := range k.status {
			metrics = binary.AppendUvarint(metrics, uint64(s.from-at))
			metrics = binary.AppendUvarint(metrics, uint64(s.to-s.from))
			metrics = binary.AppendVarint(metrics, int64(s.err))
			at = s.to
		}
		metrics = binary.AppendUvarint(metrics, uint64(len(b)))
		metrics = binary.LittleEndian.AppendUint32(metrics, checksum(b))
		if err := block(b); err != nil {
			return err
		}
	}
	index = sequences.append(index)
	index = presences.append(index)
	index = binary.AppendUvarint(index, uint64(len(list)))
	index = append(index, metrics...)
	if len(index) > maxIndex {
		return fmt.Errorf("%w: the index has %d bytes", ErrUnfit, len(index))
	}
	at := off
	if err := block(index); err != nil {
		return err
	}
	foot := binary.LittleEndian.AppendUint64(nil, at)
	foot = binary.LittleEndian.AppendUint64(foot, uint64(len(index)))
	foot = binary.LittleEndian.AppendUint32(foot, checksum(index))
	return block(append(foot, endMagic...))
}

// columnsOf appends the block of a metric.
func (m *maker) columnsOf(b []byte, k *making, presences *interning) []byte {
	slices.SortFunc(k.list, func(a, b *collected) int { return cmp.Compare(a.inst, b.inst) })
	whole := complement(k.status, k.n)
	b = binary.AppendUvarint(b, uint64(len(k.list)))
	inst := int32(0)
	for _, c := range k.list {
		b = binary.AppendVarint(b, int64(c.inst)-int64(inst))
		inst = c.inst
		n := uint64(0)
		if !slices.Equal(c.samples, whole) {
			n = presences.number(c.samples) + 1
		}
		b = binary.AppendUvarint(b, n)
		b = binary.AppendUvarint(b, uint64(len(c.data)))
	}
	for _, c := range k.list {
		b = append(b, c.data...)
	}
	return b
}

// complement returns the samples of n that have values.
func complement(status []statusRun, n uint32) (r runs) {
	at := uint32(0)
	for _, s := range status {
		if s.from > at {
			r = append(r, run{at, s.from})
		}
		at = s.to
	}
	if n > at {
		r = append(r, run{at, n})
	}
	return r
}

// interning numbers equal runs once.
type interning struct {
	numbers map[string]uint64
	bytes   []byte
}

func (x *interning) number(r runs) uint64 {
	key := string(r.append(nil))
	n, ok := x.numbers[key]
	if !ok {
		if x.numbers == nil {
			x.numbers = map[string]uint64{}
		}
		n = uint64(len(x.numbers))
		x.numbers[key] = n
		x.bytes = append(x.bytes, key...)
	}
	return n
}

func (x *interning) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(x.numbers)))
	return append(b, x.bytes...)
}

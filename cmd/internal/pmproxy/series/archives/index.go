package archives

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/catalog"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/fileversion"
)

// Limits of the index.
const (
	maxKey   = 16 << 10 // bytes; longer strings are not searchable
	maxExprs = 10000    // stored expressions
	lockWait = time.Second
)

// An index is the file that indexes the archives. It can be rebuilt from them.
type index struct {
	db   *bbolt.DB
	path string
}

// openIndex opens an index, and replaces an unusable file.
func openIndex(path string) (x *index, fresh bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, false, err
	}
	x, err = tryIndex(path)
	if err == nil {
		return x, false, nil
	}
	if fileversion.IsNewer(err) { // it stays, and this release has one of its own
		ext := filepath.Ext(path)
		return openIndex(fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), indexVersion, ext))
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, false, fmt.Errorf("%s is used by another process", path)
	}
	if errors.Is(err, os.ErrPermission) {
		return nil, false, err
	}
	if _, statErr := os.Stat(path); statErr == nil {
		if err := os.Remove(path); err != nil {
			return nil, false, err
		}
	}
	x, err = tryIndex(path)
	return x, true, err
}

// tryIndex opens an index and checks its version.
func tryIndex(path string) (x *index, err error) {
	before, statErr := os.Stat(path)
	if statErr == nil && before.Size() > 0 {
		if err := precheck(path, before.Size()); err != nil {
			return nil, err
		}
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	db, err := bbolt.Open(path, 0o640, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	x = &index{db, path}
	if statErr == nil && before.Size() > 0 {
		err = x.view(func(tx *tx) error {
			v := tx.get("info", []byte("version"))
			if len(v) == 1 && v[0] > indexVersion {
				return fmt.Errorf("%s: %w", path, fileversion.Check(int(v[0]), indexVersion))
			}
			if len(v) != 1 || v[0] != indexVersion {
				return fmt.Errorf("%s: another version", path)
			}
			return nil
		})
	} else {
		err = x.update(func(tx *tx) error { return tx.put("info", []byte("version"), []byte{indexVersion}) })
	}
	if err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// precheck checks the two pages at the start of a bbolt file, of which one is valid. bbolt maps the
// file into memory and trusts these pages; a truncated file would crash the process.
func precheck(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const (
		pageHead = 16 // then magic, version, page size, flags (4 bytes each), root (16), free list, pages, transaction (8 each)
		metaSize = 64
		magic    = 0xed0cdaed
		noList   = ^uint64(0) // bbolt would search for free pages in another goroutine
	)
	first := make([]byte, pageHead+metaSize)
	if _, err := f.ReadAt(first, 0); err != nil {
		return fmt.Errorf("%s: %w", path, errDamaged)
	}
	page := int64(binary.NativeEndian.Uint32(first[pageHead+8:]))
	if page < 512 || page > 1<<20 {
		return fmt.Errorf("%s: pages of %d bytes: %w", path, page, errDamaged)
	}
	for i := range int64(2) {
		b := make([]byte, pageHead+metaSize)
		if _, err := f.ReadAt(b, i*page); err != nil {
			return fmt.Errorf("%s: %w", path, errDamaged)
		}
		b = b[pageHead:]
		free, pages := binary.NativeEndian.Uint64(b[32:]), binary.NativeEndian.Uint64(b[40:])
		if binary.NativeEndian.Uint32(b) != magic || free == noList || pages > uint64(size/page) {
			return fmt.Errorf("%s: %d bytes are not %d pages: %w", path, size, pages, errDamaged)
		}
	}
	return nil
}

// guard returns an error for the failures of bbolt on a damaged page: it panics, or accesses memory beyond
// the end of the file.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, p)
	}
}

func (x *index) view(f func(*tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	return x.db.View(func(b *bbolt.Tx) error {
		return f(&tx{b: b})
	})
}

func (x *index) update(f func(*tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	return x.db.Update(func(b *bbolt.Tx) error {
		t := &tx{b: b}
		if err := t.create(); err != nil {
			return err
		}
		return f(t)
	})
}

func (x *index) close() (err error) {
	defer guard(&err)
	return x.db.Close()
}

// A tx is a transaction. Results of get are valid as long as it is.
type tx struct {
	b       *bbolt.Tx
	buckets map[string]*bbolt.Bucket
	key     []byte
}

// create creates the buckets that are missing.
func (t *tx) create() error {
	for _, name := range buckets {
		if _, err := t.b.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	return nil
}

// bucket returns a bucket. There is always one in an intact index: guard returns the panic as an error.
func (t *tx) bucket(name string) *bbolt.Bucket {
	b := t.buckets[name]
	if b == nil {
		if b = t.b.Bucket([]byte(name)); b == nil {
			panic("no bucket " + name)
		}
		if t.buckets == nil {
			t.buckets = make(map[string]*bbolt.Bucket)
		}
		t.buckets[name] = b
	}
	return b
}

func (t *tx) get(bucket string, key []byte) []byte { return t.bucket(bucket).Get(key) }

func (t *tx) put(bucket string, key, value []byte) error {
	if err := t.bucket(bucket).Put(key, value); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}

// mark adds a key without a value, if it is missing.
func (t *tx) mark(bucket string, key []byte) error {
	b := t.bucket(bucket)
	if b.Get(key) != nil {
		return nil
	}
	return t.put(bucket, key, []byte{})
}

func (t *tx) del(bucket string, key []byte) error { return t.bucket(bucket).Delete(key) }

// each calls f with the rest of each key with a prefix, and its value, until f returns an error.
func (t *tx) each(bucket string, prefix []byte, f func(rest, value []byte) error) error {
	c := t.bucket(bucket).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if err := f(k[len(prefix):], v); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether any key has a prefix.
func (t *tx) has(bucket string, prefix []byte) bool {
	k, _ := t.bucket(bucket).Cursor().Seek(prefix)
	return k != nil && bytes.HasPrefix(k, prefix)
}

// texts calls f once with each text between a prefix and a NUL.
func (t *tx) texts(bucket string, prefix []byte, f func(text string) error) error {
	c := t.bucket(bucket).Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); {
		i := bytes.IndexByte(k[len(prefix):], 0)
		if i < 0 {
			return errDamaged
		}
		text := k[:len(prefix)+i]
		if err := f(string(text[len(prefix):])); err != nil {
			return err
		}
		k, _ = c.Seek(append(append(t.key[:0], text...), 1))
	}
	return nil
}

// next returns an unused number.
func (t *tx) next() (uint32, error) {
	var n uint32
	if v := t.get("info", []byte("next")); len(v) == 4 {
		n = binary.BigEndian.Uint32(v)
	}
	if n++; n == 0 {
		return 0, fmt.Errorf("%w: no numbers are left", errDamaged)
	}
	return n, t.put("info", []byte("next"), u32(nil, n))
}

// number decodes a number from a value or the end of a key.
func number(b []byte) (uint32, error) {
	if len(b) != 4 {
		return 0, errDamaged
	}
	return binary.BigEndian.Uint32(b), nil
}

// set returns the number of a set of labels.
func (t *tx) set(s pcp.LabelSet) (uint32, error) {
	text := appendSet(nil, s)
	digest := sha1.Sum(text)
	if v := t.get("setid", digest[:]); v != nil {
		return number(v)
	}
	n, err := t.next()
	if err != nil {
		return 0, err
	}
	if err := t.put("setid", digest[:], u32(nil, n)); err != nil {
		return 0, err
	}
	if err := t.put("set", u32(nil, n), text); err != nil {
		return 0, err
	}
	for l := range s.All() {
		if len(l.Name)+len(l.Value) > maxKey || strings.IndexByte(l.Name, 0) >= 0 || strings.IndexByte(l.Value, 0) >= 0 {
			continue
		}
		if err := t.mark("label", u32([]byte(l.Name+"\x00"+l.Value+"\x00"), n)); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (t *tx) labels(set uint32) ([]pcp.Label, error) {
	v := t.get("set", u32(nil, set))
	if v == nil {
		return nil, errDamaged
	}
	return decodeSet(v)
}

// source returns the number of a source.
func (t *tx) source(id sid.ID) (uint32, error) {
	if v := t.get("src", id[:]); v != nil {
		return number(v)
	}
	n, err := t.next()
	if err != nil {
		return 0, err
	}
	return n, t.put("src", id[:], u32(nil, n))
}

// add adds the catalog of an archive.
func (t *tx) add(path string, rec archiveRecord, c *catalog.Catalog) (archiveRecord, error) {
	var err error
	if old := t.get("arch", []byte(path)); old != nil {
		var was archiveRecord
		if err := was.decode(old); err != nil {
			return rec, err
		}
		rec.num = was.num
	} else if rec.num, err = t.next(); err != nil {
		return rec, err
	}
	if c == nil {
		if err := t.del("has", u32(nil, rec.num)); err != nil {
			return rec, err
		}
		return rec, t.put("arch", []byte(path), rec.append(nil))
	}
	if rec.source, err = t.source(c.Source); err != nil {
		return rec, err
	}
	has := make([]seriesOf, 0, len(c.Metrics))
	sets := map[string]uint32{} // cache of labels, by their JSON
	setOf := func(s pcp.LabelSet) (uint32, error) {
		if n, ok := sets[s.JSON]; ok {
			return n, nil
		}
		n, err := t.set(s)
		if err == nil && len(sets) < maxKey {
			sets[s.JSON] = n
		}
		return n, err
	}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		set, err := setOf(m.Labels)
		if err != nil {
			return rec, err
		}
		num, err := t.series(m, rec.source, set)
		if err != nil {
			return rec, err
		}
		has = append(has, seriesOf{num, m.Desc.PMID})
	}
	for _, d := range c.InDoms {
		for i := range d.Insts {
			in := &d.Insts[i]
			set, err := setOf(in.Labels)
			if err != nil {
				return rec, err
			}
			if err := t.instance(in, rec.source, d.InDom, set); err != nil {
				return rec, err
			}
		}
	}
	slices.SortFunc(has, func(a, b seriesOf) int { return cmp.Compare(a.series, b.series) })
	has = slices.CompactFunc(has, func(a, b seriesOf) bool { return a.series == b.series })
	if err := t.put("has", u32(nil, rec.num), appendHas(nil, has)); err != nil {
		return rec, err
	}
	return rec, t.put("arch", []byte(path), rec.append(nil))
}

// series adds a metric and returns its number.
func (t *tx) series(m *catalog.Metric, source, set uint32) (uint32, error) {
	rec := seriesRecord{m.ID, source, m.Desc, set, m.Name}
	text := rec.append(t.key[:0])
	t.key = text
	var num uint32
	if v := t.get("sid", m.ID[:]); v != nil {
		n, err := number(v)
		if err != nil {
			return 0, err
		}
		num = n
		old := t.get("ser", u32(nil, num))
		if bytes.Equal(old, text) {
			return num, nil
		}
		var was seriesRecord
		if err := was.decode(old); err != nil {
			return 0, err
		}
		// The domain or the labels differ from the archive before: replace the domain, add the labels.
		if was.desc.InDom != m.Desc.InDom {
			if err := t.del("dom", u32(u32(u32(nil, was.source), uint32(was.desc.InDom)), num)); err != nil {
				return 0, err
			}
		}
	} else {
		n, err := t.next()
		if err != nil {
			return 0, err
		}
		num = n
		if err := t.put("sid", m.ID[:], u32(nil, num)); err != nil {
			return 0, err
		}
		if err := t.mark("name", u32([]byte(m.Name+"\x00"), num)); err != nil {
			return 0, err
		}
	}
	if err := t.mark("dom", u32(u32(u32(nil, source), uint32(m.Desc.InDom)), num)); err != nil {
		return 0, err
	}
	if err := t.mark("setser", u32(u32(nil, set), num)); err != nil {
		return 0, err
	}
	return num, t.put("ser", u32(nil, num), slices.Clone(text))
}

func (t *tx) instance(in *catalog.Inst, source uint32, indom pcp.InDom, set uint32) error {
	where := u32(u32(nil, source), uint32(indom))
	value := putString(binary.AppendUvarint(nil, uint64(set)), in.Name)
	key := u32(append(slices.Clone(where), in.ID[:]...), uint32(in.Inst))
	if bytes.Equal(t.get("inst", key), value) {
		return nil
	}
	if err := t.put("inst", key, value); err != nil {
		return err
	}
	if err := t.mark("iid", u32(append(slices.Clone(in.ID[:]), where...), uint32(in.Inst))); err != nil {
		return err
	}
	if strings.IndexByte(in.Name, 0) < 0 {
		if err := t.mark("iname", append([]byte(in.Name+"\x00"), where...)); err != nil {
			return err
		}
	}
	return t.mark("setdom", append(u32(nil, set), where...))
}

// dropSource removes all series and instances of a source; the caller adds those of its remaining archives
// again.
func (t *tx) dropSource(id sid.ID) error {
	v := t.get("src", id[:])
	if v == nil {
		return nil
	}
	source := slices.Clone(v)
	var nums [][]byte
	if err := t.each("dom", source, func(rest, _ []byte) error {
		if len(rest) != 8 {
			return errDamaged
		}
		nums = append(nums, slices.Clone(rest))
		return nil
	}); err != nil {
		return err
	}
	for _, rest := range nums {
		num := rest[4:]
		var rec seriesRecord
		if err := rec.decode(t.get("ser", num)); err != nil {
			return err
		}
		if err := errors.Join(t.del("dom", append(slices.Clone(source), rest...)), t.del("ser", num), t.del("sid", rec.id[:]),
			t.del("name", append([]byte(rec.name+"\x00"), num...))); err != nil {
			return err
		}
	}
	if err := t.dropLabelled(nums); err != nil {
		return err
	}
	type gone struct {
		key  []byte
		name string
		set  uint32
	}
	var insts []gone
	if err := t.each("inst", source, func(rest, value []byte) error {
		if len(rest) != 4+sid.Size+4 {
			return errDamaged
		}
		d := decoder{b: value}
		g := gone{key: slices.Clone(rest), set: d.number(), name: d.text()}
		insts = append(insts, g)
		return d.end()
	}); err != nil {
		return err
	}
	for _, g := range insts {
		where := append(slices.Clone(source), g.key[:4]...)
		id, inst := g.key[4:4+sid.Size], g.key[4+sid.Size:]
		if err := errors.Join(t.del("inst", append(slices.Clone(source), g.key...)),
			t.del("iid", append(append(slices.Clone(id), where...), inst...)),
			t.del("iname", append([]byte(g.name+"\x00"), where...)),
			t.del("setdom", append(u32(nil, g.set), where...))); err != nil {
			return err
		}
	}
	return t.del("src", id[:])
}

// dropLabelled removes the label entries of series that are gone.
func (t *tx) dropLabelled(nums [][]byte) error {
	gone := make(map[string]bool, len(nums))
	for _, n := range nums {
		gone[string(n[4:])] = true
	}
	var keys [][]byte
	if err := t.each("setser", nil, func(key, _ []byte) error {
		if len(key) != 8 {
			return errDamaged
		}
		if gone[string(key[4:])] {
			keys = append(keys, slices.Clone(key))
		}
		return nil
	}); err != nil {
		return err
	}
	for _, key := range keys {
		if err := t.del("setser", key); err != nil {
			return err
		}
	}
	return nil
}

// dropArchive removes an archive.
func (t *tx) dropArchive(path string) error {
	v := t.get("arch", []byte(path))
	if v == nil {
		return nil
	}
	var rec archiveRecord
	if err := rec.decode(v); err != nil {
		return err
	}
	return errors.Join(t.del("has", u32(nil, rec.num)), t.del("arch", []byte(path)))
}

// record returns the record of a series.
func (t *tx) record(id sid.ID) (num uint32, rec seriesRecord, err error) {
	v := t.get("sid", id[:])
	if v == nil {
		return 0, rec, series.ErrUnknown
	}
	if num, err = number(v); err != nil {
		return 0, rec, err
	}
	v = t.get("ser", u32(nil, num))
	if v == nil {
		return 0, rec, errDamaged
	}
	return num, rec, rec.decode(v)
}

// pmid returns the PMID of a series in an archive.
func (t *tx) pmid(archive, num uint32) (id pcp.PMID, ok bool, err error) {
	err = eachHas(t.get("has", u32(nil, archive)), func(s seriesOf) bool {
		if s.series == num {
			id, ok = s.pmid, true
		}
		return s.series < num
	})
	return id, ok, err
}

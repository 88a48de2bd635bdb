package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits of an index.
const (
	// DefaultDocuments is the default maximum number of documents in an index.
	DefaultDocuments = 500_000
	// MaxText is the maximum length of a document's text, in bytes. A longer
	// text is cut there, and the rest is not searched.
	MaxText = 8192
	// compactAbove is the number of deleted documents that an index keeps in
	// its lists, in addition to half the number of existing ones.
	compactAbove = 1000
)

// ErrFull is the error of documents that exceed the limit of an index.
var ErrFull = errors.New("search index is full")

// Limits bound an Index.
type Limits struct {
	Documents int // 0: DefaultDocuments
}

// An Index finds documents by the words of their texts. It is safe for
// concurrent use.
type Index struct {
	limits Limits

	mu      sync.RWMutex
	byKey   map[key]*entry
	entries []*entry // by number; nil if deleted
	dead    int      // number of deleted entries
	words   uint64   // total words of the entries
	sources map[string][]*entry
	terms   map[string]*term
	stems   map[string][]*term
	indoms  map[string]map[*entry]struct{}
	sorted  []*term // by word; the first sortedN are sorted, see order
	mark    uint64
}

// A key identifies a document.
type key struct {
	typ         Type
	name, indom string
}

// An entry is a document of an index.
type entry struct {
	Document
	num   uint32 // in Index.entries
	words uint32 // number of words
	refs  int    // number of sources with the document
	mark  uint64 // last Replace that had it
}

// A term is a word with the documents that contain it.
type term struct {
	word  string
	posts []posting // ascending
	pos   []uint16  // field<<14 | position
}

// A posting is a document with the word, and the offset of its positions in
// those of the term. They end at the offset of the next posting.
type posting struct{ doc, start uint32 }

const (
	posBits = 14
	maxPos  = 1<<posBits - 1
)

// positions returns the positions of posting i.
func (t *term) positions(i int) []uint16 {
	end := len(t.pos)
	if i+1 < len(t.posts) {
		end = int(t.posts[i+1].start)
	}
	return t.pos[t.posts[i].start:end]
}

// NewIndex returns an empty index.
func NewIndex(l Limits) *Index {
	if l.Documents <= 0 {
		l.Documents = DefaultDocuments
	}
	x := &Index{limits: l, byKey: make(map[key]*entry), sources: make(map[string][]*entry), indoms: make(map[string]map[*entry]struct{})}
	x.clearTerms()
	return x
}

func (x *Index) clearTerms() {
	x.terms, x.stems, x.sorted, x.words = make(map[string]*term), make(map[string][]*term), nil, 0
}

// cut returns a copy of a text, cut to at most MaxText bytes.
func cut(s string) string {
	if len(s) <= MaxText {
		return s
	}
	n := MaxText
	for n > MaxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}

// Replace replaces all documents of a source. Documents of the same type, name
// and domain in several sources are merged: the latest text that is not empty
// wins. The error is ErrFull; the index is then unchanged.
func (x *Index) Replace(source string, docs []Document) error {
	return x.put(source, docs, true)
}

// Add adds documents to a source. The error is ErrFull; the index is then
// unchanged.
func (x *Index) Add(source string, docs ...Document) error {
	return x.put(source, docs, false)
}

// Remove removes a source, and its documents except those that another source has.
func (x *Index) Remove(source string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.release(x.sources[source])
	delete(x.sources, source)
	x.compact()
}

// Sources returns the sorted names of the sources.
func (x *Index) Sources() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	names := make([]string, 0, len(x.sources))
	for name := range x.sources {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (x *Index) put(source string, docs []Document, replace bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.sources[source]
	x.mark++
	n := len(x.byKey)
	for i := range docs {
		if e := x.byKey[keyOf(&docs[i])]; e != nil {
			e.mark = x.mark
		} else {
			n++
		}
	}
	if replace {
		for _, e := range old {
			if e.refs == 1 && e.mark != x.mark {
				n--
			}
		}
	}
	if n > x.limits.Documents {
		return fmt.Errorf("%d documents of %s would make %d, of %d: %w", len(docs), source, n, x.limits.Documents, ErrFull)
	}
	x.mark++
	var list []*entry
	if replace {
		list = make([]*entry, 0, len(docs))
	} else {
		for _, e := range old {
			e.mark = x.mark
		}
		list = old
	}
	for i := range docs {
		e := x.enter(&docs[i])
		if e.mark == x.mark {
			continue
		}
		e.mark = x.mark
		e.refs++
		list = append(list, e)
	}
	x.sources[source] = list
	if replace {
		x.release(old)
	}
	x.compact()
	return nil
}

func keyOf(d *Document) key { return key{d.Type, cut(d.Name), cut(d.InDom)} }

// enter returns the entry of a document, created or changed if necessary.
func (x *Index) enter(d *Document) *entry {
	k := keyOf(d)
	e := x.byKey[k]
	one, help := cut(d.OneLine), cut(d.Help)
	if e != nil {
		if one == "" {
			one = e.OneLine
		}
		if help == "" {
			help = e.Help
		}
		if one == e.OneLine && help == e.Help {
			return e
		}
		x.forget(e)
		e.OneLine, e.Help = one, help
	} else {
		e = &entry{Document: Document{d.Type, k.name, k.indom, one, help}}
		x.byKey[k] = e
		if d.InDom != "" {
			m := x.indoms[k.indom]
			if m == nil {
				m = make(map[*entry]struct{})
				x.indoms[k.indom] = m
			}
			m[e] = struct{}{}
		}
	}
	x.number(e)
	return e
}

// number gives an entry the next number and adds its words to the lists.
func (x *Index) number(e *entry) {
	e.num = uint32(len(x.entries))
	x.entries = append(x.entries, e)
	pos, words := 0, uint32(0)
	for field := fieldName; field <= fieldHelp; field++ {
		pos = splitWords(e.text(field), pos, func(w string, _, _, pos int) {
			words++
			t := x.terms[w]
			if t == nil {
				w = strings.Clone(w)
				t = &term{word: w}
				x.terms[w] = t
				s := stem(w)
				x.stems[s] = append(x.stems[s], t)
			}
			if n := len(t.posts); n == 0 || t.posts[n-1].doc != e.num {
				t.posts = append(t.posts, posting{e.num, uint32(len(t.pos))})
			}
			t.pos = append(t.pos, uint16(field<<posBits|min(pos, maxPos)))
		})
	}
	e.words = words
	x.words += uint64(words)
}

// forget deletes the number of an entry.
func (x *Index) forget(e *entry) {
	x.entries[e.num] = nil
	x.words -= uint64(e.words)
	x.dead++
}

// release removes a source from each entry, and deletes entries without
// sources.
func (x *Index) release(list []*entry) {
	for _, e := range list {
		if e.refs--; e.refs > 0 {
			continue
		}
		x.forget(e)
		delete(x.byKey, key{e.Type, e.Name, e.InDom})
		if m := x.indoms[e.InDom]; m != nil {
			if delete(m, e); len(m) == 0 {
				delete(x.indoms, e.InDom)
			}
		}
	}
}

// compact rebuilds the lists if many entries are deleted.
func (x *Index) compact() {
	if x.dead <= compactAbove+len(x.byKey)/2 {
		return
	}
	live := slices.DeleteFunc(x.entries, func(e *entry) bool { return e == nil })
	x.clearTerms()
	x.entries, x.dead = make([]*entry, 0, len(live)), 0
	for _, e := range live {
		x.number(e)
	}
}

// order returns the terms sorted by word. The caller holds x.mu for reading;
// order releases and reacquires it to sort.
func (x *Index) order() []*term {
	for len(x.sorted) != len(x.terms) {
		x.mu.RUnlock()
		x.mu.Lock()
		if len(x.sorted) != len(x.terms) {
			x.sorted = make([]*term, 0, len(x.terms))
			for _, t := range x.terms {
				x.sorted = append(x.sorted, t)
			}
			slices.SortFunc(x.sorted, func(a, b *term) int { return strings.Compare(a.word, b.word) })
		}
		x.mu.Unlock()
		x.mu.RLock()
	}
	return x.sorted
}

// An Info has the size of an index (pmSearchInfo(3)). Sizes are in megabytes of
// 2^20 bytes.
type Info struct {
	Documents, Terms, Records int     // a record is a document and one of its words
	RecordsPerDoc             float64 // on average
	BytesPerRecord            float64
	InvertedMB                float64 // lists of documents
	InvertedCapMB             float64 // memory allocated for them
	InvertedOverhead          float64 // the unused part of it, from 0 to 1
	SkipIndexMB               float64 // the list of words
	ScoreIndexMB              float64 // lengths of documents
	OffsetsPerTerm            float64 // positions of a word in a document
	OffsetBits                float64 // bits of a position
}

// Info returns the size of the index.
func (x *Index) Info() Info {
	x.mu.RLock()
	defer x.mu.RUnlock()
	const mb = 1 << 20
	var records, offsets, used, room int
	for _, t := range x.terms {
		records += len(t.posts)
		offsets += len(t.pos)
		used += 8*len(t.posts) + 2*len(t.pos)
		room += 8*cap(t.posts) + 2*cap(t.pos)
	}
	i := Info{
		Documents: len(x.byKey), Terms: len(x.terms), Records: records,
		InvertedMB: float64(used) / mb, InvertedCapMB: float64(room) / mb,
		SkipIndexMB: float64(8*cap(x.sorted)) / mb, ScoreIndexMB: float64(4*len(x.byKey)) / mb,
		OffsetBits: 16,
	}
	if i.Documents > 0 {
		i.RecordsPerDoc = float64(records) / float64(i.Documents)
	}
	if records > 0 {
		i.BytesPerRecord = float64(used) / float64(records)
		i.OffsetsPerTerm = float64(offsets) / float64(records)
	}
	if room > 0 {
		i.InvertedOverhead = float64(room-used) / float64(room)
	}
	return i
}

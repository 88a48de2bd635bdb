package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits of what an index takes.
const (
	// DefaultDocuments is how many documents an index holds unless Limits say so.
	DefaultDocuments = 500_000
	// MaxText is how long a text of a document may be, in bytes. What is longer
	// is cut there, and only what is kept is searched.
	MaxText = 8192
	// compactAbove is how many documents that are gone an index keeps in its
	// lists, besides half as many as there are.
	compactAbove = 1000
)

// ErrFull is the error of documents that exceed the limit of an index.
var ErrFull = errors.New("search index is full")

// Limits bound an Index.
type Limits struct {
	Documents int // 0: DefaultDocuments
}

// An Index finds documents by the words of their texts. Its methods may be
// called from many goroutines.
type Index struct {
	limits Limits

	mu      sync.RWMutex
	byKey   map[key]*entry
	entries []*entry // by number; nil if it is gone
	dead    int      // entries that are gone
	words   uint64   // of all entries
	sources map[string][]*entry
	terms   map[string]*term
	stems   map[string][]*term
	indoms  map[string]map[*entry]struct{}
	sorted  []*term // by word, of sortedN terms; see order
	mark    uint64
}

// A key is what makes a document another one.
type key struct {
	typ         Type
	name, indom string
}

// An entry is a document of an index.
type entry struct {
	Document
	num   uint32 // in Index.entries
	words uint32 // how many it has
	refs  int    // sources that have it
	mark  uint64 // of the last Replace that saw it
}

// A term is a word with the documents that have it.
type term struct {
	word  string
	posts []posting // ascending
	pos   []uint16  // field<<14 | position
}

// A posting is a document that has a word, and where its positions begin in
// those of the term. They end where those of the next posting begin.
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

// NewIndex returns an index without documents.
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

// cut returns a text of at most MaxText bytes that shares no memory with what
// the caller keeps.
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

// Replace makes docs all that a source has. Documents of the same type, name
// and domain that several sources have are one, with the texts that came last;
// texts that are empty leave those that are there. The error is ErrFull; the
// index is then as it was.
func (x *Index) Replace(source string, docs []Document) error {
	return x.put(source, docs, true)
}

// Add adds documents to those of a source. The error is ErrFull; the index is
// then as it was.
func (x *Index) Add(source string, docs ...Document) error {
	return x.put(source, docs, false)
}

// Remove removes a source. Its documents go unless another source has them.
func (x *Index) Remove(source string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.release(x.sources[source])
	delete(x.sources, source)
	x.compact()
}

// Sources returns the names of the sources, in order.
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

// enter returns the entry of a document, which it makes or changes where need
// be.
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

// number gives an entry the next number and enters its words.
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

// forget takes an entry out of the numbers.
func (x *Index) forget(e *entry) {
	x.entries[e.num] = nil
	x.words -= uint64(e.words)
	x.dead++
}

// release counts a source less for each entry, and forgets those that have
// none left.
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

// compact makes the lists anew if many entries are gone.
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

// order returns the terms in the order of their words. The caller holds x.mu
// for reading; it is given up and taken again where terms are to be sorted.
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

// An Info says how large an index is (pmSearchInfo(3)). Sizes are in megabytes
// of 2^20 bytes.
type Info struct {
	Documents, Terms, Records int     // records are pairs of a document and a word that it has
	RecordsPerDoc             float64 // on average
	BytesPerRecord            float64
	InvertedMB                float64 // lists of documents
	InvertedCapMB             float64 // memory allocated for them
	InvertedOverhead          float64 // the part of it that is not in use, from 0 to 1
	SkipIndexMB               float64 // the list of words
	ScoreIndexMB              float64 // how long documents are
	OffsetsPerTerm            float64 // positions of a word in a document
	OffsetBits                float64 // of a position
}

// Info returns how large the index is.
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

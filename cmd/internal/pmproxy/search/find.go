package search

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// Limits of searches.
const (
	// DefaultLimit is the default number of results of a search (pmsearch.count
	// in pmproxy.conf).
	DefaultLimit = 10
	// MaxLimit is the maximum number of results.
	MaxLimit = 10_000
	// MaxExpansions is the maximum number of words that a prefix, or a word
	// with a mistake, expands to, in alphabetical order.
	MaxExpansions = 200
	// maxWork is the maximum number of list entries that a search examines.
	maxWork = 20_000_000
)

// ErrQuery is the error of queries that exceed a limit.
var ErrQuery = errors.New("query exceeds a limit")

// A Request describes a search and its results (pmSearchTextRequest).
type Request struct {
	Query  string
	Offset int // results to skip
	Limit  int // maximum number of results; 0: DefaultLimit; at most MaxLimit
	// Types are the types of documents to return; an empty list means all.
	Types []Type
	// Fields are the fields to search; none means all.
	Fields Field
	// Highlight are the fields in which matching words are put between <b> and
	// </b>. The rest of the text is unchanged and not escaped for HTML.
	Highlight Field
}

// A Result is the result of a search.
type Result struct {
	Total   int // number of all matches
	Elapsed time.Duration
	Hits    []Hit
}

// A Hit is a document that was found.
type Hit struct {
	Document
	Score float64
}

// Weights of inexact matches.
const (
	scorePlural = 0.7
	scorePrefix = 0.8
	scoreFuzzy  = 0.25
	// BM25: the effects of repetition and of length.
	k1 = 1.2
	b  = 0.5
)

// Text finds documents (pmSearchTextQuery(3)), by descending score and then by
// name. It returns ErrQuery for queries that exceed a limit, and the error of
// ctx.
func (x *Index) Text(ctx context.Context, r Request) (Result, error) {
	start := time.Now()
	q, err := parse(r.Query)
	if err != nil {
		return Result{}, err
	}
	return x.find(ctx, start, q, r)
}

// Suggest finds names of metrics and instances that complete a query
// (pmSearchTextSuggest(3)): each word of the query is the prefix of a word of
// the name, or such a word with a mistake. It uses the query and the limit of
// the request. The errors are those of Text.
func (x *Index) Suggest(ctx context.Context, r Request) (Result, error) {
	start := time.Now()
	if len(r.Query) > MaxQuery {
		return Result{}, fmt.Errorf("query of %d bytes, of %d: %w", len(r.Query), MaxQuery, ErrQuery)
	}
	prefixes, fuzzy, short := &node{op: opAnd}, &node{op: opAnd}, (*node)(nil)
	for i := 0; ; {
		from, end, ok := nextWord(r.Query, i)
		if !ok {
			break
		}
		i = end
		w := lower(r.Query[from:end])
		// A last word of one letter, or a common one, may be the prefix of
		// another.
		if len(w) < minPrefix || isStop(w) {
			short = &node{op: opPrefix, word: w}
			continue
		}
		short = nil
		prefixes.kids = append(prefixes.kids, &node{op: opPrefix, word: w})
		if len(w) >= minFuzzy {
			fuzzy.kids = append(fuzzy.kids, &node{op: opFuzzy, word: w})
		}
	}
	if len(prefixes.kids) > MaxQueryWords {
		return Result{}, fmt.Errorf("query of %d words, of %d: %w", len(prefixes.kids), MaxQueryWords, ErrQuery)
	}
	or := &node{op: opOr}
	switch {
	case short != nil && len(prefixes.kids) == 0:
		or.kids = append(or.kids, short)
	case short != nil:
		with := &node{op: opAnd, kids: append(slices.Clip(prefixes.kids), short)}
		or.kids = append(or.kids, with, prefixes)
	case len(prefixes.kids) > 0:
		or.kids = append(or.kids, prefixes)
	}
	if len(fuzzy.kids) > 0 {
		or.kids = append(or.kids, fuzzy)
	}
	q := simplify(or)
	return x.find(ctx, start, q, Request{Limit: r.Limit, Fields: FieldName, Types: []Type{Metric, Instance}})
}

// InDomains finds an instance domain (pmSearchTextInDom(3)), its instances and
// then its metrics, by name. It uses the query, the offset and the limit of the
// request; the query is a domain, or several separated by bars.
func (x *Index) InDomains(r Request) (Result, error) {
	start := time.Now()
	if len(r.Query) > MaxQuery {
		return Result{}, fmt.Errorf("query of %d bytes, of %d: %w", len(r.Query), MaxQuery, ErrQuery)
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	var list []*entry
	var seen []string
	for name := range strings.SplitSeq(r.Query, "|") {
		name = strings.TrimSpace(name)
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		for e := range x.indoms[name] {
			list = append(list, e)
		}
	}
	// Sorted as text: indom, instance, metric.
	rank := [...]int{Unknown: 0, InDom: 1, Instance: 2, Metric: 3}
	slices.SortFunc(list, func(a, b *entry) int {
		if c := rank[a.Type] - rank[b.Type]; c != 0 {
			return c
		}
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.InDom, b.InDom)
	})
	res := Result{Total: len(list)}
	from, to := page(len(list), r)
	for _, e := range list[from:to] {
		res.Hits = append(res.Hits, Hit{e.Document, 1})
	}
	res.Elapsed = time.Since(start)
	return res, nil
}

// page returns the range of results, of n, that a request selects.
func page(n int, r Request) (from, to int) {
	from = min(max(r.Offset, 0), n)
	return from, from + min(limit(r.Limit), n-from)
}

// limit returns the effective limit of a request.
func limit(n int) int {
	if n <= 0 {
		return DefaultLimit
	}
	return min(n, MaxLimit)
}

// find executes a query.
func (x *Index) find(ctx context.Context, start time.Time, q *node, r Request) (Result, error) {
	if q == nil {
		return Result{Elapsed: time.Since(start)}, nil
	}
	if r.Fields&FieldsAll == 0 {
		r.Fields = FieldsAll
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	order := x.order() // first, since writers may run meanwhile
	f := finder{x: x, ctx: ctx, order: order, fields: r.Fields, n: float64(len(x.byKey)), ordered: true}
	if len(x.byKey) > 0 {
		f.avg = float64(x.words) / float64(len(x.byKey))
	}
	found := f.eval(q)
	if len(found) == 0 && f.dropped {
		f.ordered = false
		found = f.eval(q)
	}
	if f.err != nil {
		return Result{}, f.err
	}
	var types [Instance + 1]bool
	for _, t := range r.Types {
		if t <= Instance {
			types[t] = true
		}
	}
	found = slices.DeleteFunc(found, func(h scored) bool {
		e := x.entries[h.doc]
		return e == nil || len(r.Types) > 0 && !types[e.Type]
	})
	res := Result{Total: len(found)}
	from, to := page(len(found), r)
	found = f.first(found, to)
	if to > from {
		var hl *highlighter
		if r.Highlight != 0 {
			hl = newHighlighter(q)
		}
		for _, h := range found[from:to] {
			d := x.entries[h.doc].Document
			if hl != nil {
				hl.document(&d, r.Highlight&r.Fields)
			}
			res.Hits = append(res.Hits, Hit{d, float64(h.score)})
		}
	}
	res.Elapsed = time.Since(start)
	return res, nil
}

// A scored is a document's number and score.
type scored struct {
	doc   uint32
	score float32
}

// A finder executes a query.
type finder struct {
	x       *Index
	ctx     context.Context
	order   []*term
	fields  Field
	n, avg  float64 // number of documents, and their average number of words
	work    int
	err     error
	ordered bool // words must come in the order of the query
	dropped bool // a document was rejected only for the order
	a, b    []uint16
}

// spend counts work, and reports whether more is allowed.
func (f *finder) spend(n int) bool {
	if f.err != nil {
		return false
	}
	if f.work += n; f.work > maxWork {
		f.err = fmt.Errorf("query looks at too much: %w", ErrQuery)
	} else if err := f.ctx.Err(); err != nil {
		f.err = err
	}
	return f.err == nil
}

// eval returns the documents that match a node, in ascending order. Deleted
// documents may be among them.
func (f *finder) eval(n *node) []scored {
	switch n.op {
	case opWord, opPrefix, opFuzzy:
		return f.leaf(n)
	case opAnd, opPhrase:
		return f.and(n)
	case opOr:
		var all []scored
		for _, k := range n.kids {
			all = append(all, f.eval(k)...)
		}
		return merge(all, false)
	}
	return f.without(f.all(), n.kids[0])
}

// all returns all documents.
func (f *finder) all() []scored {
	if !f.spend(len(f.x.entries)) {
		return nil
	}
	list := make([]scored, len(f.x.entries))
	for i := range list {
		list[i].doc = uint32(i)
	}
	return list
}

// without returns the documents of list that do not match a node.
func (f *finder) without(list []scored, n *node) []scored {
	not := f.eval(n)
	return slices.DeleteFunc(list, func(h scored) bool {
		for len(not) > 0 && not[0].doc < h.doc {
			not = not[1:]
		}
		return len(not) > 0 && not[0].doc == h.doc
	})
}

// and returns the documents that match all kids of a node.
func (f *finder) and(n *node) []scored {
	var list []scored
	var leaves []*node
	first := true
	for _, k := range n.kids {
		if k.op == opNot {
			continue
		}
		found := f.eval(k)
		if k.op <= opFuzzy {
			leaves = append(leaves, k)
		}
		if first {
			list, first = found, false
			continue
		}
		list = both(list, found)
	}
	if first {
		list = f.all()
	}
	if len(leaves) > 1 && (n.op == opPhrase || f.ordered) {
		list = slices.DeleteFunc(list, func(h scored) bool {
			in := f.inOrder(h.doc, leaves, n.op == opPhrase)
			f.dropped = f.dropped || !in && n.op == opAnd
			return !in
		})
	}
	for _, k := range n.kids {
		if k.op == opNot {
			list = f.without(list, k.kids[0])
		}
	}
	return list
}

// both returns the documents in both lists, with the sum of their scores.
func both(a, b []scored) []scored {
	if len(a) > len(b) {
		a, b = b, a
	}
	out := a[:0:0]
	for _, h := range a {
		// Usually one list is much shorter than the other.
		n := sort.Search(len(b), func(i int) bool { return b[i].doc >= h.doc })
		b = b[n:]
		if len(b) == 0 {
			break
		}
		if b[0].doc == h.doc {
			out = append(out, scored{h.doc, h.score + b[0].score})
		}
	}
	return out
}

// merge sorts a list by document and merges duplicates, with the sum or the
// maximum of their scores.
func merge(list []scored, highest bool) []scored {
	slices.SortFunc(list, func(a, b scored) int { return int(int64(a.doc) - int64(b.doc)) })
	out := list[:0]
	for _, h := range list {
		if n := len(out); n > 0 && out[n-1].doc == h.doc {
			if highest {
				out[n-1].score = max(out[n-1].score, h.score)
			} else {
				out[n-1].score += h.score
			}
			continue
		}
		out = append(out, h)
	}
	return out
}

// leaf returns the documents with a word.
func (f *finder) leaf(n *node) []scored {
	n.matches = f.expand(n)
	var list []scored
	for _, t := range n.matches {
		list = f.term(list, t, factor(n, t.word))
	}
	if len(n.matches) > 1 {
		list = merge(list, true)
	}
	return list
}

// factor returns the weight of a node's match with a word.
func factor(n *node, word string) float64 {
	switch {
	case word == n.word:
		return 1
	case n.op == opPrefix:
		return scorePrefix
	case n.op == opFuzzy:
		return scoreFuzzy
	}
	return scorePlural
}

// expand returns the words that match a node.
func (f *finder) expand(n *node) []*term {
	switch n.op {
	case opPrefix:
		i := sort.Search(len(f.order), func(i int) bool { return f.order[i].word >= n.word })
		end := i
		for end < len(f.order) && end-i < MaxExpansions && strings.HasPrefix(f.order[end].word, n.word) {
			end++
		}
		return f.order[i:end]
	case opFuzzy:
		if !f.spend(len(f.order)) {
			return nil
		}
		var list []*term
		for _, t := range f.order {
			if d := len(t.word) - len(n.word); d >= -1 && d <= 1 && within(t.word, n.word) {
				if list = append(list, t); len(list) == MaxExpansions {
					break
				}
			}
		}
		return list
	}
	return f.x.stems[stem(n.word)]
}

// term appends the documents that have a word in the selected fields.
func (f *finder) term(list []scored, t *term, factor float64) []scored {
	if !f.spend(len(t.posts)) {
		return list
	}
	df := float64(len(t.posts))
	idf := math.Log(1 + (max(f.n-df, 0)+0.5)/(df+0.5))
	list = slices.Grow(list, len(t.posts))
	for i, p := range t.posts {
		tf := 0
		for _, pos := range t.positions(i) {
			switch field := pos >> posBits; {
			case f.fields>>field&1 == 0:
			case field == fieldName:
				tf += weightName
			case field == fieldOneLine:
				tf += weightOneLine
			default:
				tf += weightHelp
			}
		}
		if tf == 0 {
			continue
		}
		e := f.x.entries[p.doc]
		if e == nil {
			continue
		}
		w := float64(tf)
		score := factor * idf * w * (k1 + 1) / (w + k1*(1-b+b*float64(e.words)/f.avg))
		list = append(list, scored{p.doc, float32(score)})
	}
	return list
}

// inOrder reports whether a document has the words of leaves in order, or
// adjacent.
func (f *finder) inOrder(doc uint32, leaves []*node, next bool) bool {
	f.a = f.places(f.a[:0], doc, leaves[0])
	if !next {
		// The first position of each word after the previous one is the best.
		at := -1
		for i, leaf := range leaves {
			if i > 0 {
				f.a = f.places(f.a[:0], doc, leaf)
			}
			n := sort.Search(len(f.a), func(i int) bool { return int(f.a[i]&maxPos) > at })
			if n == len(f.a) {
				return false
			}
			at = int(f.a[n] & maxPos)
		}
		return true
	}
	for _, leaf := range leaves[1:] {
		f.b = f.places(f.b[:0], doc, leaf)
		keep := f.a[:0]
		for _, p := range f.a {
			// Both have the same fields, and so the same highest bits.
			if _, ok := slices.BinarySearch(f.b, p+1); ok {
				keep = append(keep, p+1)
			}
		}
		f.a = keep
	}
	return len(f.a) > 0
}

// places appends the positions in a document of a leaf's word, in ascending order.
func (f *finder) places(list []uint16, doc uint32, leaf *node) []uint16 {
	for _, t := range leaf.matches {
		i := sort.Search(len(t.posts), func(i int) bool { return t.posts[i].doc >= doc })
		if i == len(t.posts) || t.posts[i].doc != doc {
			continue
		}
		for _, p := range t.positions(i) {
			if f.fields>>(p>>posBits)&1 != 0 {
				list = append(list, p)
			}
		}
	}
	if len(leaf.matches) > 1 {
		slices.Sort(list)
	}
	return list
}

// first partially sorts list: its first n elements are the smallest, in order.
func (f *finder) first(list []scored, n int) []scored {
	if n*8 > len(list) {
		slices.SortFunc(list, f.compare)
		return list
	}
	top := &topmost{f: f, list: slices.Clone(list[:n])}
	heap.Init(top)
	for _, h := range list[n:] {
		if n > 0 && f.compare(h, top.list[0]) < 0 {
			top.list[0] = h
			heap.Fix(top, 0)
		}
	}
	slices.SortFunc(top.list, f.compare)
	return top.list
}

// compare orders two results.
func (f *finder) compare(a, b scored) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	d, e := f.x.entries[a.doc], f.x.entries[b.doc]
	if c := strings.Compare(d.Name, e.Name); c != 0 {
		return c
	}
	if c := int(d.Type) - int(e.Type); c != 0 {
		return c
	}
	return strings.Compare(d.InDom, e.InDom)
}

// A topmost is a heap with the last of the results at the top.
type topmost struct {
	f    *finder
	list []scored
}

func (t *topmost) Len() int           { return len(t.list) }
func (t *topmost) Less(i, j int) bool { return t.f.compare(t.list[i], t.list[j]) > 0 }
func (t *topmost) Swap(i, j int)      { t.list[i], t.list[j] = t.list[j], t.list[i] }
func (t *topmost) Push(any)           {}
func (t *topmost) Pop() any           { return nil }

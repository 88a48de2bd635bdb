package search

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of queries.
const (
	// MaxQuery is how long a query may be, in bytes.
	MaxQuery = 1024
	// MaxQueryWords is how many words it may have.
	MaxQueryWords = 32
	// MaxDepth is how deep parentheses in it may lie in each other.
	MaxDepth = 16
	// minPrefix is how many letters the beginning of a word must have to be
	// looked for as such; one that is shorter is a word.
	minPrefix = 2
	// minFuzzy is how many letters a word must have to be looked for with a
	// mistake.
	minFuzzy = 3
)

// An op is what a node of a query is.
type op uint8

const (
	opWord   op = iota
	opPrefix    // the beginning of a word
	opFuzzy     // a word with a mistake
	opPhrase    // kids follow each other
	opAnd       // all kids
	opOr        // any of the kids
	opNot       // not the kid
)

// A node is a part of a query.
type node struct {
	op   op
	word string // of opWord, opPrefix and opFuzzy
	kids []*node
	// matches are where opWord, opPrefix and opFuzzy were found.
	matches []*term
}

// parse reads a query. It returns nil for one without words. The errors are
// those of limits; everything else is a query.
func parse(query string) (*node, error) {
	if len(query) > MaxQuery {
		return nil, fmt.Errorf("query of %d bytes, of %d: %w", len(query), MaxQuery, ErrQuery)
	}
	p := parser{s: query}
	n := p.list(0)
	if p.words > MaxQueryWords {
		return nil, fmt.Errorf("query of %d words, of %d: %w", p.words, MaxQueryWords, ErrQuery)
	}
	if p.deep {
		return nil, fmt.Errorf("query with more than %d parentheses in each other: %w", MaxDepth, ErrQuery)
	}
	return n, nil
}

type parser struct {
	s     string
	i     int
	words int
	deep  bool
}

// list reads items up to the end or a closing parenthesis, which it leaves.
func (p *parser) list(depth int) *node {
	and := &node{op: opAnd}
	for {
		n, ok := p.union(depth)
		if !ok {
			break
		}
		if n != nil {
			and.kids = append(and.kids, n)
		}
	}
	return simplify(and)
}

// simplify returns a list without what it does not need.
func simplify(n *node) *node {
	switch {
	case len(n.kids) == 0:
		return nil
	case len(n.kids) == 1 && n.op != opNot:
		return n.kids[0]
	}
	return n
}

// union reads items with bars between them. It reports whether there was
// anything; what was there may be nothing to look for.
func (p *parser) union(depth int) (*node, bool) {
	n, ok := p.item(depth)
	if !ok {
		return nil, false
	}
	or := &node{op: opOr}
	for {
		if n != nil {
			or.kids = append(or.kids, n)
		}
		p.blanks()
		if p.i >= len(p.s) || p.s[p.i] != '|' {
			return simplify(or), true
		}
		p.i++
		if n, ok = p.item(depth); !ok {
			return simplify(or), true
		}
	}
}

// blanks steps over blanks.
func (p *parser) blanks() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t' || p.s[p.i] == '\n' || p.s[p.i] == '\r') {
		p.i++
	}
}

// item reads a word, a phrase, or what lies in parentheses, with or without a
// minus sign. It reports whether there is one before the end, a closing
// parenthesis or a bar.
func (p *parser) item(depth int) (*node, bool) {
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.blanks()
		case c == '-' && (p.i == 0 || strings.IndexByte(" \t\r\n(|", p.s[p.i-1]) >= 0) && p.startsItem(p.i+1):
			p.i++
			n, ok := p.item(depth)
			if n != nil {
				n = &node{op: opNot, kids: []*node{n}}
			}
			return n, ok
		case c == '"':
			return p.phrase(), true
		case c == '(':
			p.i++
			if depth == MaxDepth {
				p.deep = true
				p.i = len(p.s)
				return nil, false
			}
			n := p.list(depth + 1)
			if p.i < len(p.s) {
				p.i++
			}
			return n, true
		case c == ')':
			if depth > 0 {
				return nil, false
			}
			p.i++ // there is nothing that it closes
		case c == '|':
			p.i++ // there is nothing on its left
		case c == '%':
			if n, ok := p.fuzzy(); ok {
				return n, true
			}
			p.i++
		default:
			if r, size := utf8.DecodeRuneInString(p.s[p.i:]); !isWordRune(r) {
				p.i += size
				continue
			}
			return p.word(), true
		}
	}
	return nil, false
}

// startsItem reports whether a word, a phrase or a parenthesis begins at i.
func (p *parser) startsItem(i int) bool {
	if i >= len(p.s) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(p.s[i:])
	return r == '"' || r == '(' || r == '%' || isWordRune(r)
}

// word reads a word and the star after it.
func (p *parser) word() *node {
	start, end, _ := nextWord(p.s, p.i)
	p.i = end
	o := opWord
	if p.i < len(p.s) && p.s[p.i] == '*' {
		p.i++
		if end-start >= minPrefix {
			o = opPrefix
		}
	}
	return p.leaf(o, p.s[start:end])
}

// leaf returns a word that is looked for, or nil for one that is too common.
func (p *parser) leaf(o op, w string) *node {
	w = lower(w)
	if o != opPrefix && isStop(w) {
		return nil
	}
	p.words++
	return &node{op: o, word: w}
}

// phrase reads words in quotes, or up to the end.
func (p *parser) phrase() *node {
	s := p.s[p.i+1:]
	if n := strings.IndexByte(s, '"'); n >= 0 {
		s = s[:n]
		p.i += n + 2
	} else {
		p.i = len(p.s)
	}
	ph := &node{op: opPhrase}
	for i := 0; ; {
		start, end, ok := nextWord(s, i)
		if !ok {
			return simplify(ph)
		}
		i = end
		if n := p.leaf(opWord, s[start:end]); n != nil {
			ph.kids = append(ph.kids, n)
		}
	}
}

// fuzzy reads a word between percent signs.
func (p *parser) fuzzy() (*node, bool) {
	start := p.i
	for start < len(p.s) && p.s[start] == '%' {
		start++
	}
	from, end, ok := nextWord(p.s, start)
	if !ok || from != start || end >= len(p.s) || p.s[end] != '%' {
		return nil, false
	}
	p.i = end
	for p.i < len(p.s) && p.s[p.i] == '%' {
		p.i++
	}
	if end-start < minFuzzy {
		return p.leaf(opWord, p.s[start:end]), true
	}
	return p.leaf(opFuzzy, p.s[start:end]), true
}

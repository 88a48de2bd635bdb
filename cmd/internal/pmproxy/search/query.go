package search

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of queries.
const (
	// MaxQuery is the maximum length of a query, in bytes.
	MaxQuery = 1024
	// MaxQueryWords is the maximum number of words in a query.
	MaxQueryWords = 32
	// MaxDepth is the maximum depth of nested parentheses.
	MaxDepth = 16
	// minPrefix is the minimum length of a prefix, in letters; a shorter one is
	// treated as a word.
	minPrefix = 2
	// minFuzzy is the minimum length of a word that matches with a mistake, in
	// letters.
	minFuzzy = 3
)

// An op is the kind of a node.
type op uint8

const (
	opWord   op = iota
	opPrefix    // prefix of a word
	opFuzzy     // a word with a mistake
	opPhrase    // kids in sequence
	opAnd       // all kids
	opOr        // any of the kids
	opNot       // not the kid
)

// A node is a node of a query's tree.
type node struct {
	op   op
	word string // of opWord, opPrefix and opFuzzy
	kids []*node
	// matches are the fields where opWord, opPrefix and opFuzzy may match.
	matches []*term
}

// parse parses a query. It returns nil for a query without words. The only
// errors are exceeded limits; any text is a valid query.
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

// list parses items up to the end or a closing parenthesis, which it does not consume.
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

// simplify removes superfluous nodes of a list.
func simplify(n *node) *node {
	switch {
	case len(n.kids) == 0:
		return nil
	case len(n.kids) == 1 && n.op != opNot:
		return n.kids[0]
	}
	return n
}

// union parses items separated by bars. It reports whether there was an item;
// its node may be nil.
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

// blanks skips white space.
func (p *parser) blanks() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t' || p.s[p.i] == '\n' || p.s[p.i] == '\r') {
		p.i++
	}
}

// item parses a word, a phrase, or a group in parentheses, with or without a
// minus sign. It reports whether an item precedes the end, a closing
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
			p.i++ // unmatched
		case c == '|':
			p.i++ // nothing on its left
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

// word parses a word and the star after it.
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

// leaf returns a node for a word, or nil for a common word.
func (p *parser) leaf(o op, w string) *node {
	w = lower(w)
	if o != opPrefix && isStop(w) {
		return nil
	}
	p.words++
	return &node{op: o, word: w}
}

// phrase parses words in quotes; a missing quote ends at the end of the query.
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

// fuzzy parses a word between percent signs.
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

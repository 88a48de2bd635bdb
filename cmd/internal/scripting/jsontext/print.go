package jsontext

import (
	"bytes"
	"strings"
)

// width is the number of blanks of a level of the layout.
const width = 4

// A printer lays out a valid JSON value.
type printer struct {
	rest    []byte // not printed yet
	out     []byte
	minimal bool
}

// skip steps over white space, and returns the byte that comes next.
func (p *printer) skip() byte {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
	return p.rest[0]
}

// take steps over n bytes and returns them.
func (p *printer) take(n int) []byte {
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b
}

// scalar returns a string with its quotes, a number, or a word.
func (p *printer) scalar() []byte {
	if p.rest[0] != '"' {
		if n := bytes.IndexAny(p.rest, " \t\r\n,]}"); n >= 0 {
			return p.take(n)
		}
		return p.take(len(p.rest))
	}
	for i := 1; ; i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case '"':
			return p.take(i + 1)
		}
	}
}

// elements calls each before each element of an array or member of an object, until
// it ends.
func (p *printer) elements(end byte, each func(first bool)) (n int) {
	p.take(1)
	for {
		switch p.skip() {
		case end:
			p.take(1)
			return n
		case ',':
			p.take(1)
			p.skip()
		}
		each(n == 0)
		n++
	}
}

func (p *printer) blanks(level int) {
	p.out = append(p.out, strings.Repeat(" ", width*level)...)
}

// json prints a value as JSON. As in the C tool, an empty one has blanks.
func (p *printer) json(level int) {
	open := p.skip()
	if open != '{' && open != '[' {
		p.out = append(p.out, p.scalar()...)
		return
	}
	end := open + 2 // in ASCII
	p.out = append(p.out, open)
	n := p.elements(end, func(first bool) {
		if !first {
			p.out = append(p.out, ',')
		}
		if !p.minimal {
			p.out = append(p.out, '\n')
			p.blanks(level + 1)
		}
		if open == '{' {
			p.out = append(append(p.out, p.scalar()...), ':')
			p.skip()
			p.take(1) // the colon
			if !p.minimal {
				p.out = append(p.out, ' ')
			}
		}
		p.json(level + 1)
	})
	if !p.minimal {
		if n > 0 {
			p.out = append(p.out, '\n')
		}
		p.blanks(level)
	}
	p.out = append(p.out, end)
}

// yaml prints a value in the layout that the C tool calls YAML.
func (p *printer) yaml(level int) {
	open := p.skip()
	if open != '{' && open != '[' {
		p.out = append(p.out, bare(p.scalar())...)
		return
	}
	if level > 0 {
		p.out = append(p.out, '\n')
	}
	p.elements(open+2, func(first bool) {
		if !first {
			p.out = append(p.out, '\n')
		}
		p.blanks(level)
		if open == '{' {
			p.out = append(append(p.out, bare(p.scalar())...), ": "...)
			p.skip()
			p.take(1)
		} else {
			p.out = append(p.out, "  - "...)
		}
		p.yaml(level + 1)
	})
}

// bare returns a string without its quotes.
func bare(b []byte) []byte {
	if b[0] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

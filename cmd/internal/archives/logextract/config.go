package logextract

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmns"
)

// A selection holds the metrics and instances that the configuration file names.
type selection struct {
	metrics map[pcp.PMID]*wanted
	indoms  map[pcp.InDom]bool
}

// A wanted is a metric that the configuration file names.
type wanted struct {
	desc  pcp.Desc
	all   bool    // instances
	insts []int32 // in the order of the file
}

// wantsLabels reports whether labels belong to the selection, and whether their level
// exists. The C tool takes the number of a domain for a metric identifier, so that
// labels of domains are lost; scripts see that.
func (s *selection) wantsLabels(level pcp.LabelFlags, ident uint32) (want, known bool) {
	id := pcp.PMID(ident)
	match := func(f func(pcp.PMID) bool) bool {
		for other := range s.metrics {
			if f(other) {
				return true
			}
		}
		return false
	}
	switch level {
	case pcp.LabelContext:
		return true, true
	case pcp.LabelDomain:
		return match(func(m pcp.PMID) bool { return id.Domain() == m.Domain() }), true
	case pcp.LabelCluster:
		return match(func(m pcp.PMID) bool { return id.Domain() == m.Domain() && id.Cluster() == m.Cluster() }), true
	case pcp.LabelItem:
		return s.metrics[id] != nil, true
	case pcp.LabelInDom, pcp.LabelInstances:
		return s.indoms[pcp.InDom(ident)], true
	}
	return false, false
}

// A config reads a configuration file:
//
//	file:   [metric [[","] metric]...]
//	metric: name ["[" instance [[","] instance]... "]"]
//
// where a name is a name of the name space, and an instance is a word, a number or a
// quoted name. A # starts a comment.
type config struct {
	x    *extractor
	path string
	text []byte
	line int
	tok  token
}

type token struct {
	kind byte // 'n'ame, 's'tring, '0' number, one of "[],", or 0 at the end
	text string
}

// readConfig reads the configuration file.
func (x *extractor) readConfig(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		x.complain("Cannot open config file \"%s\": %s", path, cli.ErrText(err))
		return errExit
	}
	c := &config{x: x, path: path, text: text, line: 1}
	return c.parse()
}

func (c *config) fail(what string) error {
	fmt.Fprintf(c.x.env.Stderr, "Specification error in configuration file (%s)\n[line %d] %s\n", c.path, c.line, what)
	return errExit
}

func (c *config) warn(format string, args ...any) {
	fmt.Fprintf(c.x.env.Stderr, "Warning [%s, line %d]\n%s\n", c.path, c.line, fmt.Sprintf(format, args...))
}

func (c *config) reason(err error) {
	fmt.Fprintf(c.x.env.Stderr, "Reason: %s\n", cli.ErrText(err))
}

// unknown reports why an archive has no metrics of a name, with a suggestion.
func (c *config) unknown(in *input, name string) {
	fmt.Fprintf(c.x.env.Stderr, "Reason: %s%s\n", cli.ErrText(pcp.ErrName), source.DidYouMeanAmong(c.x.env, in.a.Meta().NamesInOrder(), name))
}

// next reads a token into c.tok.
func (c *config) next() error {
	for len(c.text) > 0 {
		b := c.text
		take := func(n int, ok func(byte) bool) string {
			for n < len(b) && ok(b[n]) {
				n++
			}
			c.text = b[n:]
			return string(b[:n])
		}
		switch ch := b[0]; {
		case ch == '[' || ch == ']' || ch == ',':
			c.tok = token{ch, take(1, func(byte) bool { return false })}
			return nil
		case ctext.IsAlpha(ch):
			c.tok = token{'n', take(1, func(c byte) bool { return ctext.IsAlpha(c) || ctext.IsDigit(c) || c == '_' || c == '.' })}
			return nil
		case ctext.IsDigit(ch):
			c.tok = token{'0', take(1, ctext.IsDigit)}
			return nil
		case ch == '#':
			take(1, func(c byte) bool { return c != '\n' })
		case ch == ' ' || ch == '\t' || ch == '\r':
			take(1, func(byte) bool { return false })
		case ch == '\n':
			c.line++
			c.text = b[1:]
		default:
			if ch == '"' || ch == '\'' {
				end := bytes.IndexAny(b[1:], string(ch)+"\n")
				if end > 0 && b[1+end] == ch {
					c.tok = token{'s', string(b[1 : 1+end])}
					c.text = b[end+2:]
					return nil
				}
			}
			return c.fail("Unexpected character '" + string(b[:1]) + "'")
		}
	}
	c.tok = token{}
	return nil
}

func (c *config) parse() error {
	if err := c.next(); err != nil {
		return err
	}
	for first := true; c.tok.kind != 0; first = false {
		if c.tok.kind == ',' && !first {
			if err := c.next(); err != nil {
				return err
			}
		}
		if c.tok.kind != 'n' {
			return c.fail("syntax error")
		}
		name := c.tok.text
		if err := c.next(); err != nil {
			return err
		}
		var insts []token
		if c.tok.kind == '[' {
			var err error
			if insts, err = c.instances(); err != nil {
				return err
			}
		}
		if err := c.metric(name, insts); err != nil {
			return err
		}
		// The token after the ] is read after the metric has been processed: the line
		// numbers of its warnings depend on that.
		if insts != nil {
			if err := c.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// instances reads instances up to the ], which stays the last token.
func (c *config) instances() ([]token, error) {
	var list []token
	for {
		if err := c.next(); err != nil {
			return nil, err
		}
		if c.tok.kind == ',' && len(list) > 0 {
			if err := c.next(); err != nil {
				return nil, err
			}
		} else if c.tok.kind == ']' && len(list) > 0 {
			return list, nil
		}
		switch c.tok.kind {
		case 'n', 's', '0':
			list = append(list, c.tok)
		default:
			return nil, c.fail("syntax error")
		}
	}
}

// metric adds a name of the file: a metric of any input, or all metrics below the name.
func (c *config) metric(name string, insts []token) error {
	found := false
	var last *input
	for _, in := range c.x.inputs {
		last = in
		if in.empty {
			c.x.complain("Error: cannot use context (%d) from archive \"%s\"", int32(pcp.ErrNoData), in.name)
			return errExit
		}
		for _, leaf := range in.under(name) {
			found = true
			c.choose(in, leaf, insts)
		}
	}
	if !found {
		c.warn("Problem with lookup for metric \"%s\" ... metric ignored", name)
		c.unknown(last, name)
	}
	return nil
}

// choose selects one metric.
func (c *config) choose(in *input, name string, insts []token) {
	meta := in.a.Meta()
	id, ok := meta.LookupName(name)
	if !ok {
		c.warn("Metric \"%s\" is unknown ... not extracted", name)
		c.unknown(in, name)
		return
	}
	if c.x.sel != nil && c.x.sel.metrics[id] != nil {
		return // by another input
	}
	desc, err := meta.Desc(id)
	if err != nil {
		c.warn("Description unavailable for metric \"%s\" ... not extracted", name)
		c.reason(err)
		return
	}
	if c.x.sel == nil {
		c.x.sel = &selection{metrics: make(map[pcp.PMID]*wanted), indoms: make(map[pcp.InDom]bool)}
	}
	w := &wanted{desc: desc}
	switch {
	case len(insts) == 0 && desc.InDom == pcp.InDomNull:
		w.insts = []int32{-1}
	case len(insts) == 0:
		w.all = true
	default:
		for _, t := range insts {
			inst, ok := in.instance(desc.InDom, t)
			if !ok {
				what := t.text
				if t.kind == '0' {
					what = strconv.Itoa(number(t.text))
				}
				c.warn("Instance \"%s\" is not defined for the metric \"%s\"", what, name)
				continue
			}
			w.insts = append(w.insts, inst)
		}
		if len(w.insts) == 0 {
			c.warn("None of the instances for metric \"%s\" are valid, metric not extracted", name)
			return
		}
	}
	c.x.sel.metrics[id] = w
	c.x.sel.indoms[desc.InDom] = true
}

// number reads digits as C's atol does, truncated to 32 bits.
func number(s string) int {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = 1<<63 - 1
	}
	return int(int32(n))
}

// instance finds an instance of any time: the name as a whole, or up to its
// first space, or the number.
func (in *input) instance(indom pcp.InDom, t token) (int32, bool) {
	if indom == pcp.InDomNull {
		return 0, false
	}
	var inst int32
	found := false
	for rec := range in.a.Meta().History(indom) {
		if n, ok := matchInstance(rec.Instances, t); ok {
			inst, found = n, true // the latest counts
		}
	}
	return inst, found
}

func matchInstance(list []pcp.Instance, t token) (int32, bool) {
	if t.kind == '0' {
		n := int32(number(t.text))
		return n, slices.ContainsFunc(list, func(m pcp.Instance) bool { return m.Inst == n })
	}
	for _, m := range list {
		if m.Name == t.text {
			return m.Inst, true
		}
	}
	for _, m := range list {
		// As in C: the text before the space begins a longer name.
		if short, _, ok := strings.Cut(m.Name, " "); ok && strings.HasPrefix(t.text, short) {
			return m.Inst, true
		}
	}
	return 0, false
}

// under returns the metrics that are name or below it, in the order in which the C
// library traverses the name space of an archive: the last of the file first.
func (in *input) under(name string) []string {
	meta := in.a.Meta()
	if _, ok := meta.LookupName(name); ok {
		return []string{name}
	}
	if in.tree == nil {
		in.tree = pmns.New()
		for name, id := range meta.NamesInOrder() {
			_ = in.tree.Prepend(name, id) // C ignores an invalid name too
		}
	}
	leaves, _ := in.tree.Leaves(name) // an error is an empty list
	var list []string
	for leaf := range leaves {
		list = append(list, leaf)
	}
	return list
}

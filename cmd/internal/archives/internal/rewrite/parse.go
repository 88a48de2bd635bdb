package rewrite

import (
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A parser reads rules word by word. It reads the next word only where it needs it,
// since the line in a message depends on that.
type parser struct {
	*Rules
	lex  lexer
	word lexeme
	have bool

	// Last ones parsed: many identifiers at once.
	starMetric int // 1: 1.2.*, 2: 1.*.*
	starInDom  bool

	labelName, labelValue string
}

// next returns the kind of the next word.
func (p *parser) next() token {
	if !p.have {
		p.word, p.have = p.lex.next(), true
		p.line = p.lex.line
	}
	return p.word.tok
}

// take returns the next word and advances.
func (p *parser) take() lexeme {
	p.next()
	p.have = false
	return p.word
}

// is reports whether the next word is of one of these kinds.
func (p *parser) is(kinds ...token) bool { return slices.Contains(kinds, p.next()) }

// want takes a word of one of these kinds, or stops with the message missing.
func (p *parser) want(missing string, kinds ...token) lexeme {
	if !p.is(kinds...) {
		p.stop("%s", missing)
	}
	return p.take()
}

// need is want with the message for syntax errors.
func (p *parser) need(kinds ...token) lexeme { return p.want("syntax error", kinds...) }

// rules reads the whole file: at least one rule.
func (p *parser) rules() {
	for {
		switch p.need(tokGlobal, tokInDom, tokMetric, tokText, tokLabel).tok {
		case tokGlobal:
			p.globalRule()
		case tokInDom:
			p.indomRule()
		case tokMetric:
			p.metricRule()
		case tokText:
			p.textRule()
		case tokLabel:
			p.labelRule()
		}
		if p.next() == tokEnd {
			return
		}
	}
}

// clauses reads the rest of a rule: words that start a clause, which clause reads.
func (p *parser) clauses(clause func(token), kinds ...token) (some bool) {
	for p.is(kinds...) {
		clause(p.take().tok)
		some = true
	}
	return some
}

func (p *parser) globalRule() {
	p.need(tokLBrace)
	p.clauses(p.globalClause, tokHostName, tokTimeZone, tokZoneInfo, tokFeatures, tokTime)
	p.need(tokRBrace)
}

func (p *parser) globalClause(kind token) {
	g, label := &p.global, p.meta.Label()
	var what, missing string
	switch kind {
	case tokHostName:
		what, missing = "hostname", "hostname"
	case tokTimeZone:
		what, missing = "timezone", "timezone string"
	case tokZoneInfo:
		what, missing = "zoneinfo", "zoneinfo string"
	case tokFeatures:
		what, missing = "features", "features value"
	case tokTime:
		what, missing = "time", "delta of the form [+-][HH:[MM:]]SS[.d...]"
	}
	p.want("Expecting -> in "+what+" clause", tokAssign)
	missing = "Expecting " + missing + " in " + what + " clause"
	once := func(set bool) {
		if set {
			p.stop("Duplicate global %s clause", what)
		}
	}
	version3 := func() {
		if p.version < 3 {
			p.stop("Global %s clause requires output archive version of 3 or greater", what)
		}
	}
	text := func(to *string, set *bool, old, s string) {
		if old == s {
			p.note("Global %s (%s): No change", what, old)
			return
		}
		*to, *set = s, true
	}
	switch kind {
	case tokHostName:
		s := p.want(missing, tokHName, tokGName, tokNumber, tokFloat, tokString).text
		once(g.setHost)
		text(&g.host, &g.setHost, label.Host, s)
	case tokTimeZone:
		s := p.want(missing, tokString).text
		once(g.setTimeZone)
		text(&g.timeZone, &g.setTimeZone, label.TimeZone, s)
	case tokZoneInfo:
		s := p.want(missing, tokString).text
		once(g.setZoneInfo)
		version3()
		text(&g.zoneInfo, &g.setZoneInfo, label.ZoneInfo, s)
	case tokFeatures:
		bits := p.featureBits(missing)
		once(g.setFeatures)
		version3()
		if label.Features == bits {
			p.note("Global features (%d): No change", int32(label.Features))
			return
		}
		g.features, g.setFeatures = bits, true
	case tokTime:
		p.shift(missing)
		once(g.setTime)
		if g.sec == 0 && g.nsec == 0 {
			p.note("Global time: No change")
			return
		}
		g.setTime = true
	}
}

// featureBits reads a number, or bits(n,...).
func (p *parser) featureBits(missing string) uint32 {
	w := p.want(missing, tokNumber, tokBits)
	if w.tok == tokNumber {
		n := uint64(0)
		for _, c := range []byte(w.text) {
			if n > (math.MaxUint64-9)/10 {
				return math.MaxUint32
			}
			n = 10*n + uint64(c-'0')
		}
		return uint32(n)
	}
	p.want(`Expecting ( after "bits" in features clause`, tokLParen)
	bits := uint32(0)
	one := func(w lexeme) {
		n := number(w.text)
		if n < 0 || n > 31 {
			p.stop("Bit \"%s\" not in the range 0..31", w.text)
		}
		bits |= 1 << n
	}
	one(p.want(`Expecting list of bit numbers after "bits(" in features clause`, tokNumber))
	for p.is(tokComma) {
		p.take()
		one(p.need(tokNumber))
	}
	p.want(`Expecting ) after "bits(" in features clause`, tokRParen)
	return bits
}

// A quantity is a number in a time, whole or not.
type quantity struct {
	f     float64
	whole bool
}

func (p *parser) quantity(w lexeme) quantity {
	if w.tok == tokNumber {
		return quantity{float64(number(w.text)), true}
	}
	f, _, _ := ctext.Strtod(w.text)
	return quantity{f, false}
}

// limit warns of minutes and seconds that are too large.
func (p *parser) limit(what string, q quantity) {
	switch {
	case q.f <= 59:
	case q.whole:
		p.warn("%s (%d) in time clause more than 59", what, int(q.f))
	default:
		p.warn("%s (%.6f) in time clause more than 59", what, q.f)
	}
}

// shift reads [+-][HH:[MM:]]SS[.d...].
func (p *parser) shift(missing string) {
	w := p.want(missing, tokPlus, tokMinus, tokNumber, tokFloat)
	negative := w.tok == tokMinus
	if w.tok == tokPlus || negative {
		w = p.need(tokNumber, tokFloat)
	}
	parts := []quantity{p.quantity(w)}
	for len(parts) < 3 && parts[len(parts)-1].whole && p.is(tokColon) {
		p.take()
		parts = append(parts, p.quantity(p.need(tokNumber, tokFloat)))
	}
	last := parts[len(parts)-1]
	g := &p.global
	sec := 0
	switch len(parts) {
	case 3:
		p.limit("Minutes", parts[1])
		sec = int(parts[0].f)*3600 + int(parts[1].f)*60
	case 2:
		p.limit("Minutes", parts[0])
		sec = int(parts[0].f) * 60
	}
	p.limit("Seconds", last)
	whole := math.Trunc(min(last.f, math.MaxInt32))
	g.sec = int64(int32(sec + int(whole))) // an int in C
	if !last.whole {
		g.nsec = int64(1e9*(last.f-whole) + 0.5)
		if g.nsec > 1e9 {
			g.nsec = 1e9
		}
	} else if len(parts) == 1 {
		g.nsec = 0
	}
	if negative {
		g.sec = -g.sec
	}
}

// fields returns the numbers of an identifier.
func fields(s string) []int {
	var list []int
	for _, f := range strings.Split(s, ".") {
		if f != "*" && f != "" {
			list = append(list, number(f))
		}
	}
	return list
}

// indomID reads 1.2 or 1.*; indom is given as its word.
func (p *parser) indomID(w lexeme) pcp.InDom {
	f := fields(w.text)
	if w.tok == tokFloat && len(f) < 2 {
		p.stop("Missing serial field for indom")
	}
	if f[0] < 1 || f[0] >= pcp.DomainDynamic {
		p.stop("Illegal domain field (%d) for indom", f[0])
	}
	if p.starInDom = w.tok == tokInDomStar; p.starInDom {
		return pcp.NewInDom(f[0], 0)
	}
	if f[1] < 0 || f[1] > pcp.MaxSerial {
		p.stop("Illegal serial field (%d) for indom", f[1])
	}
	return pcp.NewInDom(f[0], f[1])
}

// domain checks the domain of an identifier of a metric.
func (p *parser) domain(n int) {
	if n < 1 || n > pcp.DomainDynamic {
		p.stop("Illegal domain field (%d) for pmid", n)
	}
	if n == pcp.DomainDynamic {
		p.warn("Dynamic metric domain field (%d) for pmid", n)
	}
}

// pmid reads 1.2.3, 1.2.* or 1.*.*.
func (p *parser) pmid(w lexeme) pcp.PMID {
	f := fields(w.text)
	p.domain(f[0])
	p.starMetric = 3 - len(f)
	f = append(f, 0, 0)
	if p.starMetric < 2 && (f[1] >= pcp.MaxCluster+1 || f[1] < 0 && p.starMetric == 0) {
		p.stop("Illegal cluster field (%d) for pmid", f[1])
	}
	if p.starMetric == 0 && (f[2] < 0 || f[2] > pcp.MaxItem) {
		p.stop("Illegal item field (%d) for pmid", f[2])
	}
	return pcp.NewPMID(f[0], f[1], f[2])
}

// pmidOrName reads an identifier or a name; pcp.PMIDNull for an unknown one.
func (p *parser) pmidOrName(w lexeme) pcp.PMID {
	if w.tok != tokGName {
		return p.pmid(w)
	}
	p.starMetric = 0
	id, ok := p.meta.LookupName(w.text)
	if !ok {
		p.note("Metric: %s: %s", w.text, p.unknownName(w.text).Error())
		return pcp.PMIDNull
	}
	return id
}

// unknownName reports a name that is not that of a metric.
func (p *parser) unknownName(name string) error {
	for other := range p.meta.NamesInOrder() {
		if strings.HasPrefix(other, name) && len(other) > len(name) && other[len(name)] == '.' {
			return pcp.ErrNonLeaf
		}
	}
	return pcp.ErrName
}

// matches reports whether an identifier matches a metric.
func matches(id, pattern pcp.PMID, star int) bool {
	switch star {
	case 0:
		return id == pattern
	case 1:
		return id.Domain() == pattern.Domain() && id.Cluster() == pattern.Cluster()
	}
	return id.Domain() == pattern.Domain()
}

// renumber returns the new identifier of a metric.
func (p *parser) renumber(old, to pcp.PMID) pcp.PMID {
	switch p.starMetric {
	case 1:
		return pcp.NewPMID(to.Domain(), to.Cluster(), old.Item())
	case 2:
		return pcp.NewPMID(to.Domain(), old.Cluster(), old.Item())
	}
	return to
}

// renumberInDom returns the new identifier of an instance domain.
func (p *parser) renumberInDom(old, to pcp.InDom) pcp.InDom {
	if p.starInDom {
		return pcp.NewInDom(to.Domain(), old.Serial())
	}
	return to
}

func (p *parser) indomRule() {
	id := p.indomID(p.want("Expecting <domain>.<serial> or <domain>.* in indom rule", tokFloat, tokInDomStar))
	var specs []*indomSpec
	if p.starInDom {
		for _, other := range p.table().indoms {
			if other.Domain() == id.Domain() {
				p.indom(other, false)
			}
		}
		for s := range fromLast(p.indoms) {
			if s.old.Domain() == id.Domain() {
				specs = append(specs, s)
			}
		}
	} else if s := p.indom(id, false); s != nil {
		specs = append(specs, s)
	}
	p.need(tokLBrace)
	p.clauses(func(kind token) {
		switch kind {
		case tokInDom:
			p.indomInDom(specs)
		case tokIName:
			p.indomIName(specs)
		case tokInst:
			p.indomInst(specs)
		}
	}, tokInDom, tokIName, tokInst)
	p.need(tokRBrace)
}

func (p *parser) indomInDom(specs []*indomSpec) {
	p.want("Expecting -> in indom clause", tokAssign)
	w := p.want("Expecting <domain>.<serial> or <domain>.* in indom clause", tokDuplicate, tokFloat, tokInDomStar)
	duplicate := w.tok == tokDuplicate
	if duplicate {
		w = p.need(tokFloat, tokInDomStar)
	}
	to := p.indomID(w)
	for _, s := range specs {
		if s.new != s.old {
			p.stop("Duplicate indom clause for indom %s", s.old)
		}
		if id := p.renumberInDom(s.old, to); id != s.old {
			s.new = id
		} else {
			p.note("Instance domain %s: indom: No change", s.old)
		}
		s.duplicate = s.duplicate || duplicate
	}
}

func (p *parser) indomIName(specs []*indomSpec) {
	oldName, newName := "external instance name string", "external instance name string"
	if p.cfg.Seven {
		oldName, newName = "<external_instance_name> or REDACT or REPLACE", "<external_instance_name>"
	}
	w := p.want("Expecting old "+oldName+" in iname clause", tokString, tokRedact, tokReplace)
	switch w.tok {
	case tokRedact:
		p.rename(specs, func(c *instChange) (string, bool) { return itoa(int(c.inst)) + " [redacted]", true })
		return
	case tokReplace:
		re := p.replacement("Expecting <replacement> in iname clause", "Expecting -> in iname clause", "Expecting <regular expression> in iname clause")
		p.rename(specs, func(c *instChange) (string, bool) { return re.apply(c.name) })
		return
	}
	p.want("Expecting -> in iname clause", tokAssign)
	to := p.want("Expecting new "+newName+" or DELETE in iname clause", tokString, tokDelete)
	for _, s := range specs {
		i := slices.IndexFunc(s.insts, func(c instChange) bool { return sameInstName(c.name, w.text) })
		if i < 0 {
			p.note("Unknown instance \"%s\" in iname clause for indom %s", w.text, s.old)
			continue
		}
		c := &s.insts[i]
		if to.tok == tokDelete && c.changed() || c.setName || c.deleted {
			p.conflict(s, c)
		}
		switch {
		case to.tok == tokDelete:
			c.deleted = true
		case c.name == to.text:
			p.note("Instance domain %s: Instance: \"%s\": No change", s.old, c.name)
		default:
			c.newName, c.setName = to.text, true
		}
	}
}

// rename gives all instances new names.
func (p *parser) rename(specs []*indomSpec, name func(*instChange) (string, bool)) {
	for _, s := range specs {
		for i := range s.insts {
			c := &s.insts[i]
			if c.setName || c.deleted {
				p.conflict(s, c)
			}
			if to, ok := name(c); ok {
				c.newName, c.setName = to, true
			}
		}
	}
}

func (p *parser) conflict(s *indomSpec, c *instChange) {
	p.stop("Duplicate or conflicting clauses for instance [%d] \"%s\" of indom %s", c.inst, c.name, s.old)
}

func (p *parser) indomInst(specs []*indomSpec) {
	old := int32(number(p.want("Expecting old internal instance identifier in inst clause", tokNumber).text))
	p.want("Expecting -> in inst clause", tokAssign)
	w := p.want("Expecting new internal instance identifier or DELETE in inst clause", tokNumber, tokDelete)
	to := int32(number(w.text))
	for _, s := range specs {
		i := slices.IndexFunc(s.insts, func(c instChange) bool { return c.inst == old })
		if i < 0 {
			p.note("Unknown instance %d in inst clause for indom %s", old, s.old)
			continue
		}
		c := &s.insts[i]
		// A number that is too large becomes -1, which no instance has.
		remove := w.tok == tokDelete || to == pcp.InNull
		if remove && c.changed() || c.setInst || c.deleted {
			p.conflict(s, c)
		}
		switch {
		case remove:
			c.deleted = true
		case c.inst == to:
			p.note("Instance domain %s: Instance: %d: No change", s.old, c.inst)
		default:
			c.newInst, c.setInst = to, true
		}
	}
}

// replacement reads /pattern/ -> "replacement".
func (p *parser) replacement(noText, noAssign, noPattern string) replacement {
	p.lex.patterns = true
	defer func() { p.lex.patterns = false }()
	pattern := p.want(noPattern, tokPattern, tokString).text
	p.want(noAssign, tokAssign)
	with := p.want(noText, tokString, tokPattern).text
	re, err := compile(pattern)
	if err != nil {
		p.stop("regcomp error: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return replacement{pattern, with, re}
}

// compile compiles an extended regular expression. As with regcomp(3) it finds the longest
// match, and the lines of a text are nothing special: a name can have several.
func compile(pattern string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(pattern, syntax.ClassNL|syntax.DotNL|syntax.OneLine)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, err
	}
	re.Longest()
	return re, nil
}

// apply replaces the first match in s, as sed(1) does: & is the match and \1 a part
// of it. It reports whether there is a match.
func (r *replacement) apply(s string) (string, bool) {
	at := r.re.FindStringSubmatchIndex(s)
	if at == nil {
		return s, false
	}
	var b strings.Builder
	b.WriteString(s[:at[0]])
	for i := 0; i < len(r.with); i++ {
		c, part := r.with[i], -1
		switch {
		case c == '&':
			part = 0
		case c == '\\' && i+1 < len(r.with):
			i++
			if c = r.with[i]; '1' <= c && c <= '9' {
				part = int(c - '0')
			}
		case c == '\\':
			continue
		}
		if part < 0 {
			b.WriteByte(c)
		} else if 2*part+1 < len(at) && at[2*part] >= 0 {
			b.WriteString(s[at[2*part]:at[2*part+1]])
		}
	}
	b.WriteString(s[at[1]:])
	return b.String(), true
}

package rewrite

import (
	"github.com/go-pcp/pcp"
)

func (p *parser) textRule() {
	metrics := p.need(tokMetric, tokInDom).tok == tokMetric
	var id uint32
	known, star := true, 0
	if metrics {
		pmid := p.pmidOrName(p.need(tokGName, tokPMIDInt, tokPMIDStar))
		id, known, star = uint32(pmid), pmid != pcp.PMIDNull, p.starMetric
	} else {
		id = uint32(p.indomID(p.need(tokFloat, tokInDomStar)))
		if p.starInDom {
			star = 1
		}
	}
	types := pcp.TextKind(0)
	for p.is(tokStar, tokHelp, tokOneLine) {
		switch p.take().tok {
		case tokStar:
			types |= pcp.TextOneLine | pcp.TextHelp
		case tokHelp:
			types |= pcp.TextHelp
		case tokOneLine:
			types |= pcp.TextOneLine
		}
	}
	if types == 0 {
		types = pcp.TextOneLine
	}
	given := p.is(tokString, tokTextString)
	text := ""
	if given {
		text = p.take().text
	}
	var specs []*textSpec
	if known {
		specs = p.selectTexts(metrics, id, star, types, text, given)
	}
	p.need(tokLBrace)
	c := textClauses{p, specs}
	if metrics {
		c.some(tokMetric)
	} else {
		c.some(tokInDom)
	}
	p.need(tokRBrace)
}

// selectTexts returns the texts of a rule, the last first.
func (p *parser) selectTexts(metrics bool, id uint32, star int, types pcp.TextKind, text string, given bool) (specs []*textSpec) {
	object, other := pcp.TextPMID, pcp.TextInDom
	if !metrics {
		object, other = other, object
	}
	found := make(map[*textSpec]bool)
	for _, t := range p.table().texts {
		if t.kind&other != 0 || t.kind&^(object|types) != 0 {
			continue
		}
		for _, ident := range t.idents {
			switch {
			case star == 0:
				if ident != id {
					continue
				}
			case metrics:
				if !matches(pcp.PMID(ident), pcp.PMID(id), star) {
					continue
				}
			case pcp.InDom(ident).Domain() != pcp.InDom(id).Domain():
				continue
			}
			if s := p.text(t.kind, ident, text, given); s != nil {
				found[s] = true
			}
		}
	}
	for s := range fromLast(p.texts) {
		if found[s] {
			specs = append(specs, s)
		}
	}
	return specs
}

// The textClauses of a rule apply to the same texts.
type textClauses struct {
	*parser
	specs []*textSpec
}

func (c *textClauses) some(object token) {
	if !c.clauses(c.clause, tokDelete, tokText, object) {
		c.each(0, "active", func(*textSpec) {})
	}
}

// textName names a text. The C tool does not recognize the kinds, as it also checks the
// bits of the object.
func textName(s *textSpec) string {
	if s.kind&pcp.TextPMID != 0 {
		return "unknown text for metric " + pcp.PMID(s.ident).String()
	}
	return "unknown text for indom " + pcp.InDom(s.ident).String()
}

func (c *textClauses) each(flag int, what string, change func(*textSpec)) {
	for _, s := range c.specs {
		switch {
		case s.flags&flag != 0:
			c.stop("Duplicate %s clause for %s", what, textName(s))
		case flag != textDelete && s.flags&textDelete != 0:
			c.stop("Conflicting %s clause for deleted %s", what, textName(s))
		case flag == textDelete && s.flags&^textDelete != 0:
			c.stop("Conflicting delete and other clauses for %s", textName(s))
		}
		change(s)
	}
}

func (c *textClauses) clause(kind token) {
	switch kind {
	case tokDelete:
		c.each(textDelete, "delete", func(s *textSpec) { s.flags |= textDelete })
	case tokText:
		c.need(tokAssign)
		to := c.need(tokString, tokTextString).text
		c.each(textText, "text", func(s *textSpec) {
			if s.text == to {
				c.note("Help text: No change")
				return
			}
			s.newText = to
			s.flags |= textText
		})
	case tokMetric:
		c.need(tokAssign)
		to := c.pmid(c.need(tokPMIDInt, tokPMIDStar))
		c.each(textIdent, "id", func(s *textSpec) {
			id := c.renumber(pcp.PMID(s.ident), to)
			if uint32(id) == s.ident {
				c.note("Text for metric: %s: metric: No change", pcp.PMID(s.ident))
				return
			}
			for _, other := range c.texts {
				if other.flags&textIdent != 0 && other.kind == s.kind && other != s && other.newIdent == uint32(id) {
					c.stop("Text for metric: %s: metric: Conflicting metric change", pcp.PMID(s.ident))
				}
			}
			s.newIdent = uint32(id)
			s.flags |= textIdent
		})
	case tokInDom:
		c.need(tokAssign)
		to := c.indomID(c.need(tokFloat, tokInDomStar))
		c.each(textIdent, "id", func(s *textSpec) {
			id := c.renumberInDom(pcp.InDom(s.ident), to)
			if uint32(id) == s.ident {
				c.note("Text for instance domain %s: indom: No change", pcp.InDom(s.ident))
				return
			}
			s.newIdent = uint32(id)
			s.flags |= textIdent
		})
	}
}

// labelRule reads a rule for labels.
func (p *parser) labelRule() {
	kind := p.need(tokContext, tokDomain, tokCluster, tokItem, tokInDom, tokInstances).tok
	c := labelClauses{parser: p, kind: kind}
	var inst int32
	var instName *string
	known := true
	switch kind {
	case tokContext:
		c.level, c.ident = pcp.LabelContext, uint32(pcp.PMIDNull)
	case tokDomain:
		n := number(p.need(tokNumber).text)
		p.domain(n)
		p.starMetric = 0
		c.level, c.ident = pcp.LabelDomain, uint32(n)
	case tokCluster:
		c.level, c.ident = pcp.LabelCluster, uint32(p.clusterID(p.need(tokFloat, tokInDomStar)))
		c.star = p.starMetric
	case tokItem:
		id := p.pmidOrName(p.need(tokGName, tokPMIDInt, tokPMIDStar))
		c.level, c.ident, c.star = pcp.LabelItem, uint32(id), p.starMetric
		known = id != pcp.PMIDNull
	case tokInDom, tokInstances:
		c.level, c.ident = pcp.LabelInDom, uint32(p.indomID(p.need(tokFloat, tokInDomStar)))
		if kind == tokInstances {
			c.level = pcp.LabelInstances
		}
		if p.starInDom {
			c.star = 1
		}
	}
	c.inst = -1
	named := true
	if kind == tokInstances {
		inst = -1
		if named = p.is(tokString, tokNumber, tokStar); named {
			switch w := p.take(); w.tok {
			case tokString:
				instName = &w.text
			case tokNumber:
				inst = int32(number(w.text))
			}
		}
		c.inst = inst
	}
	p.labelName, p.labelValue = "", ""
	if named && p.is(tokJSONString, tokString, tokStar) {
		if p.next() == tokStar {
			p.take()
		} else {
			p.labelName = p.jsonName()
		}
		if p.is(tokStar) {
			p.take()
		} else if p.is(valueTokens()...) {
			p.labelValue = p.jsonValue()
		}
	}
	if known {
		c.selectLabels(inst, instName)
	}
	p.need(tokLBrace)
	kinds := []token{tokDelete, tokLabel, tokValue, tokNew}
	if kind != tokContext {
		kinds = append(kinds, kind)
	}
	if kind == tokInstances {
		kinds = append(kinds, tokInstance)
	}
	if !p.clauses(c.clause, kinds...) {
		c.unselect()
	}
	p.need(tokRBrace)
}

// clusterID reads 1.2 or 1.*.
func (p *parser) clusterID(w lexeme) pcp.PMID {
	f := fields(w.text)
	p.domain(f[0])
	if w.tok == tokInDomStar {
		p.starMetric = 2
		return pcp.NewPMID(f[0], 0, 0)
	}
	p.starMetric = 0
	if len(f) < 2 {
		p.stop("Illegal cluster field (%d) for pmid", -1)
	}
	if f[1] < 0 || f[1] > pcp.MaxCluster {
		p.stop("Illegal cluster field (%d) for pmid", f[1])
	}
	return pcp.NewPMID(f[0], f[1], 0)
}

// jsonName reads a string and returns it in quotes.
func (p *parser) jsonName() string {
	w := p.need(tokJSONString, tokString)
	if w.tok == tokString {
		return `"` + w.text + `"`
	}
	return w.text
}

func valueTokens() []token {
	return []token{tokJSONString, tokString, tokMinus, tokNumber, tokJSONNumber, tokTrue, tokFalse, tokJSONNull}
}

func (p *parser) jsonValue() string {
	switch w := p.need(valueTokens()...); w.tok {
	case tokMinus:
		return "-" + p.need(tokNumber, tokJSONNumber).text
	case tokString:
		return `"` + w.text + `"`
	default:
		return w.text
	}
}

// The labelClauses of a rule apply to the same labels.
type labelClauses struct {
	*parser
	kind  token
	level pcp.LabelFlags
	ident uint32
	star  int   // for many identifiers
	inst  int32 // -1 for all
	specs []*labelSpec
}

// covers reports whether the rule applies to an identifier.
func (c *labelClauses) covers(ident uint32) bool {
	switch {
	case c.star == 0:
		return ident == c.ident
	case c.level&(pcp.LabelInDom|pcp.LabelInstances) != 0:
		return pcp.InDom(ident).Domain() == pcp.InDom(c.ident).Domain()
	}
	return matches(pcp.PMID(ident), pcp.PMID(c.ident), c.star)
}

func (c *labelClauses) selectLabels(inst int32, instName *string) {
	found := make(map[*labelSpec]bool)
	for _, t := range c.table().labels {
		if t.level != c.level {
			continue
		}
		for _, ident := range t.idents {
			if !c.covers(ident) {
				continue
			}
			if s := c.label(t.level, ident, inst, instName, c.labelName, c.labelValue); s != nil {
				found[s] = true
			}
		}
	}
	for s := range fromLast(c.labels) {
		if found[s] {
			c.specs = append(c.specs, s)
		}
	}
}

// where names the owner of the labels of a spec.
func where(s *labelSpec) string {
	id := pcp.PMID(s.ident)
	switch s.level {
	case pcp.LabelContext:
		return "context label"
	case pcp.LabelDomain:
		return "label for domain " + itoa(id.Domain()) // of a PMID, in C too
	case pcp.LabelCluster:
		return "label for cluster " + cluster(s.ident)
	case pcp.LabelItem:
		return "label for metric " + id.String()
	case pcp.LabelInDom:
		return "label for indom " + pcp.InDom(s.ident).String()
	}
	return "label for the instances of indom " + pcp.InDom(s.ident).String()
}

func cluster(ident uint32) string {
	id := pcp.PMID(ident)
	return itoa(id.Domain()) + "." + itoa(id.Cluster())
}

func (c *labelClauses) each(flag int, what string, change func(*labelSpec)) {
	for _, s := range c.specs {
		switch {
		case s.flags&flag != 0:
			c.stop("Duplicate %s clause for %s", what, where(s))
		case flag != labelDelete && s.flags&labelDelete != 0:
			c.stop("Conflicting %s clause for deleted %s", what, where(s))
		case flag == labelDelete && s.flags&^labelDelete != 0:
			c.stop("Conflicting delete and other clauses for %s", where(s))
		}
		change(s)
	}
}

// unselect handles labels that a rule does not change as the C tool does.
func (c *labelClauses) unselect() {
	c.each(0, "active", func(*labelSpec) {})
	c.specs = nil
}

// owner names the owner of labels, for messages about their names and values.
func (c *labelClauses) owner(s *labelSpec, value bool) (duplicate, none string) {
	switch c.kind {
	case tokContext:
		if value {
			return "cluster " + cluster(s.ident), "cluster " + cluster(s.ident) // as in C
		}
		return "context", "context"
	case tokDomain:
		if value {
			return "cluster " + cluster(s.ident), "cluster " + cluster(s.ident)
		}
		return "domain " + itoa(int(int32(s.ident))), "domain " + itoa(int(int32(s.ident)))
	case tokCluster:
		return "cluster " + cluster(s.ident), "cluster " + cluster(s.ident)
	case tokItem:
		return "metric " + pcp.PMID(s.ident).String(), "metric " + pcp.PMID(s.ident).String()
	case tokInDom:
		return "indom " + pcp.InDom(s.ident).String(), "instance domain " + pcp.InDom(s.ident).String()
	}
	id := pcp.InDom(s.ident).String()
	return "instances of indom " + id, "instances of instance domain " + id
}

func (c *labelClauses) clause(kind token) {
	switch kind {
	case tokDelete:
		c.each(labelDelete, "delete", func(s *labelSpec) { s.flags |= labelDelete })
	case tokLabel:
		c.need(tokAssign)
		to := c.jsonName()
		c.each(labelName, "label", func(s *labelSpec) {
			duplicate, none := c.owner(s, false)
			if s.newName != "" {
				c.stop("Duplicate label clause for %s", duplicate)
			}
			if s.name == to {
				c.note("Label for %s: label: No change", none)
				return
			}
			s.newName = to
			s.flags |= labelName
		})
	case tokValue:
		c.need(tokAssign)
		to := c.jsonValue()
		c.each(labelValue, "value", func(s *labelSpec) {
			duplicate, none := c.owner(s, true)
			if s.newValue != "" {
				c.stop("Duplicate value clause for %s", duplicate)
			}
			if s.value == to {
				c.note("Label for %s: value: No change", none)
				return
			}
			s.newValue = to
			s.flags |= labelValue
		})
	case tokNew:
		c.newLabel()
	case tokInstance:
		c.need(tokAssign)
		to := int32(number(c.need(tokNumber).text))
		c.each(labelIdent, "id", func(s *labelSpec) {
			if s.newInst != s.inst {
				c.stop("Duplicate label clause for instances of indom %s", pcp.InDom(s.ident))
			}
			if to == s.inst {
				c.note("Label for instance domain %s instance %d: instance: No change", pcp.InDom(s.ident), s.inst)
				return
			}
			s.newInst = to
			s.flags |= labelInst
		})
	default:
		c.renumberLabels(kind)
	}
}

func (c *labelClauses) renumberLabels(kind token) {
	c.need(tokAssign)
	var to func(old uint32) uint32
	switch kind {
	case tokDomain:
		n := uint32(number(c.need(tokNumber).text))
		to = func(uint32) uint32 { return n }
	case tokCluster:
		id := c.clusterID(c.need(tokFloat, tokInDomStar))
		to = func(old uint32) uint32 {
			n := id.Cluster()
			if c.starMetric != 0 {
				n = pcp.PMID(old).Cluster()
			}
			return uint32(pcp.NewPMID(id.Domain(), n, 0))
		}
	case tokItem:
		id := c.pmid(c.need(tokPMIDInt, tokPMIDStar))
		to = func(old uint32) uint32 { return uint32(c.renumber(pcp.PMID(old), id)) }
	default:
		id := c.indomID(c.need(tokFloat, tokInDomStar))
		to = func(old uint32) uint32 { return uint32(c.renumberInDom(pcp.InDom(old), id)) }
	}
	c.each(labelIdent, "id", func(s *labelSpec) {
		if id := to(s.ident); id != s.ident {
			s.newIdent = id
			s.flags |= labelIdent
			return
		}
		switch kind {
		case tokDomain:
			c.note("Label for metric domain: %d: No change", int32(s.ident))
		case tokCluster:
			c.note("Label for cluster: %s: No change", cluster(s.ident))
		case tokItem:
			c.note("Label for metric: %s: item: No change", pcp.PMID(s.ident))
		default:
			c.note("Label for instance domain %s: indom: No change", pcp.InDom(s.ident))
		}
	})
}

// newLabel reads a label to add.
func (c *labelClauses) newLabel() {
	name, value := c.jsonName(), c.jsonValue()
	if c.labelName != "" || c.labelValue != "" {
		c.warn("The target label name and value must both not be specified for a NEW label and will be ignored")
	}
	c.labelName, c.labelValue = name, value // as the C tool keeps them
	c.unselect()
	json := "{" + name + ":" + value + "}"
	found := false
	add := func(ident uint32, inst int32) {
		found = true
		s := c.newLabelsOf(ident, inst)
		set := s.newSet
		if err := set.Add(json, c.level); err != nil {
			what := map[token]string{
				tokContext: "context label", tokDomain: "domain label", tokCluster: "cluster label", tokItem: "metric item label",
				tokInDom: "indom label", tokInstances: "indom instance label",
			}[c.kind]
			c.stop("Unable to add new %s %s: %s", what, json, pcp.Code(err).Error())
		}
		set.Inst = inst
		s.newSet = set
		s.flags |= labelNew
	}
	missing := ""
	switch c.kind {
	case tokContext:
		add(c.ident, 0)
	case tokDomain:
		missing = "domain"
		for _, id := range c.table().metrics {
			if uint32(id.Domain()) == c.ident {
				add(c.ident, 0)
				break
			}
		}
	case tokCluster, tokItem:
		missing = "cluster"
		if c.kind == tokItem {
			missing = "metric"
		}
		c.newOfMetrics(add)
	default:
		missing = "indom"
		if c.kind == tokInstances {
			missing = "indom instance"
		}
		c.newOfInDoms(add)
	}
	if !found {
		c.warn("No matching %s for new label %s", missing, json)
	}
}

func (c *labelClauses) newOfMetrics(add func(uint32, int32)) {
	if c.level == pcp.LabelItem && pcp.PMID(c.ident) == pcp.PMIDNull {
		return
	}
	for _, id := range c.table().metrics {
		ident := uint32(id)
		if c.level == pcp.LabelCluster {
			ident = uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0))
		}
		if !c.covers(ident) {
			continue
		}
		add(ident, 0)
		if c.star == 0 {
			break
		}
	}
}

func (c *labelClauses) newOfInDoms(add func(uint32, int32)) {
	for _, id := range c.table().indoms {
		if !c.covers(uint32(id)) {
			continue
		}
		if c.level == pcp.LabelInDom {
			add(uint32(id), 0)
		} else {
			c.newOfInstances(id, add)
		}
		if c.star == 0 {
			break
		}
	}
}

// newOfInstances adds to the instances of a domain, those of the last record first.
func (c *labelClauses) newOfInstances(id pcp.InDom, add func(uint32, int32)) {
	list, _ := c.meta.Lifetimes(id)
	for _, l := range list {
		if c.inst == -1 || c.inst == l.Inst {
			add(uint32(id), l.Inst)
		}
	}
}

// newLabelsOf returns the spec to which new labels are added.
func (c *labelClauses) newLabelsOf(ident uint32, inst int32) *labelSpec {
	for s := range fromLast(c.labels) {
		if s.level != c.level || s.ident != ident || s.name != "" {
			continue
		}
		switch c.level {
		case pcp.LabelInDom:
			if s.inst != -1 {
				continue
			}
		case pcp.LabelInstances:
			if s.inst != inst {
				continue
			}
		}
		return s
	}
	return c.newLabelSpec(c.level, ident, inst, "", "")
}

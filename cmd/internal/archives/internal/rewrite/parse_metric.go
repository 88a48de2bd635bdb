package rewrite

import (
	"strconv"

	"github.com/go-pcp/pcp"
)

func itoa(n int) string { return strconv.Itoa(n) }

// nameTerm returns the term for the name of a metric in messages.
func (p *parser) nameTerm() string {
	if p.cfg.Seven {
		return "<metric_name>"
	}
	return "metric name"
}

func (p *parser) metricRule() {
	id := p.pmidOrName(p.want("Expecting "+p.nameTerm()+" or <domain>.<cluster>.<item> or <domain>.<cluster>.* or <domain>.*.* in metric rule",
		tokGName, tokPMIDInt, tokPMIDStar))
	m := metricClauses{parser: p}
	switch star := p.starMetric; {
	case star != 0:
		for _, other := range p.table().metrics {
			if matches(other, id, star) {
				p.metric(other)
			}
		}
		for s := range fromLast(p.metrics) {
			if matches(s.old.PMID, id, star) {
				m.specs = append(m.specs, s)
			}
		}
	case id != pcp.PMIDNull:
		if s := p.metric(id); s != nil {
			m.specs = append(m.specs, s)
		}
	}
	p.need(tokLBrace)
	p.clauses(m.clause, tokPMID, tokName, tokType, tokInDom, tokSem, tokUnits, tokExtraUnits, tokValue, tokDelete)
	p.need(tokRBrace)
}

// The metricClauses of a rule apply to the same metrics.
type metricClauses struct {
	*parser
	specs []*metricSpec
}

// each calls change for each metric, and stops if it was changed before.
func (m *metricClauses) each(flag int, what string, again bool, change func(*metricSpec)) {
	for _, s := range m.specs {
		switch {
		case !again && s.flags&flag != 0:
			m.stop("Duplicate %s clause for metric %s", what, s.name)
		case flag != metricDelete && s.flags&metricDelete != 0:
			m.stop("Conflicting %s clause for deleted metric %s", what, s.name)
		case flag == metricDelete && s.flags&^metricDelete != 0:
			m.stop("Conflicting delete and other clauses for metric %s", s.name)
		}
		change(s)
	}
}

func (m *metricClauses) noChange(s *metricSpec, format string, args ...any) {
	m.note("Metric: %s (%s): %s: No change", s.name, s.old.PMID, message(format, args...))
}

func (m *metricClauses) clause(kind token) {
	switch kind {
	case tokPMID:
		m.need(tokAssign)
		to := m.pmid(m.want("Expecting <domain>.<cluster>.<item> or <domain>.<cluster>.* or <domain>.*.* in pmid clause", tokPMIDInt, tokPMIDStar))
		m.each(metricPMID, "pmid", false, func(s *metricSpec) {
			id := m.renumber(s.old.PMID, to)
			if id == s.old.PMID {
				m.noChange(s, "pmid")
				return
			}
			s.new.PMID = id
			s.flags |= metricPMID
		})
	case tokName:
		m.nameClause()
	case tokType:
		m.typeClause()
	case tokInDom:
		m.indomClause()
	case tokSem:
		m.need(tokAssign)
		to := pcp.Sem(m.want("Expecting XXX (from PM_SEM_XXX) in sem clause", tokSemName).n)
		m.each(metricSem, "sem", false, func(s *metricSpec) {
			if to == s.old.Sem {
				m.noChange(s, "sem: %s", semText(s.old.Sem))
				return
			}
			s.new.Sem = to
			s.flags |= metricSem
		})
	case tokUnits:
		m.unitsClause(false)
	case tokExtraUnits:
		m.unitsClause(true)
	case tokValue:
		m.valueClause()
	case tokDelete:
		// The first metric may have been deleted before.
		for i := range m.specs {
			one := metricClauses{m.parser, m.specs[i : i+1]}
			one.each(metricDelete, "delete", i == 0, func(s *metricSpec) { s.flags |= metricDelete })
		}
	}
}

func semText(s pcp.Sem) string {
	switch s {
	case pcp.SemCounter, pcp.SemInstant, pcp.SemDiscrete:
		return s.String()
	}
	return "bad sem? " + itoa(int(s))
}

func (m *metricClauses) nameClause() {
	m.need(tokAssign)
	name := m.want("Expecting "+m.nameTerm()+" in iname clause", tokGName).text
	// The word after it is already read; messages about the name show its line only in version 7.
	line := m.line
	again := m.is(tokDupOK)
	if again {
		m.take()
	} else if !m.cfg.Seven {
		m.line = line
	}
	m.each(metricName, "name", false, func(s *metricSpec) {
		if name == s.name {
			m.noChange(s, "name")
			return
		}
		if id, ok := m.meta.LookupName(name); ok && !again {
			m.stop("Metric name %s already assigned for PMID %s", name, id)
		}
		s.newName = name
		s.flags |= metricName
	})
	m.line = m.lex.line
}

func (m *metricClauses) typeClause() {
	const missing = "Expecting XXX (from PM_TYPE_XXX) in type clause"
	only := pcp.TypeUnknown
	conditional := m.need(tokAssign, tokIf).tok == tokIf
	if conditional {
		only = pcp.Type(m.want("Expecting XXX (from PM_TYPE_XXX) after if in type clause", tokTypeName).n)
		m.need(tokAssign)
	}
	to := pcp.Type(m.want(missing, tokTypeName).n)
	m.each(metricType, "type", conditional, func(s *metricSpec) {
		switch {
		case conditional && s.old.Type != only:
			m.note("Metric: %s (%s): type: PM_TYPE_%s: No conditional change to PM_TYPE_%s", s.name, s.old.PMID, s.old.Type, to)
		case !conditional && s.old.Type == to:
			m.noChange(s, "type: PM_TYPE_%s", s.old.Type)
		case !s.old.Type.IsNumeric():
			m.stop("Old type (PM_TYPE_%s) must be numeric", s.old.Type)
		default:
			s.new.Type = to
			s.flags |= metricType
		}
	})
}

func (m *metricClauses) indomClause() {
	m.need(tokAssign)
	w := m.want("Expecting <domain>.<serial> or NULL in indom clause", tokFloat, tokInDomStar, tokNull)
	to := pcp.InDomNull
	m.starInDom = false
	if w.tok != tokNull {
		to = m.indomID(w)
	}
	out, oneInst, oneName, named := outputAll, int32(0), "", false
	if m.is(tokOutput) {
		m.take()
		w := m.want("Expecting FIRST or LAST or INST or INAME or MIN or MAX or AVG for OUTPUT instance option", tokInst, tokIName, tokOutputType)
		switch w.tok {
		case tokInst:
			out, oneInst = outputOne, int32(number(m.need(tokNumber).text))
		case tokIName:
			out, oneInst, oneName, named = outputOne, pcp.InNull, m.need(tokString).text, true
		default:
			out = output(w.n)
		}
	}
	m.each(metricInDom, "indom", false, func(s *metricSpec) {
		id := m.renumberInDom(s.old.InDom, to)
		if id == s.old.InDom {
			m.noChange(s, "indom: %s", s.old.InDom)
			return
		}
		if out >= outputMin && !s.old.Type.IsNumeric() {
			m.stop("OUTPUT option MIN, MAX, AVG or SUM requires type to be numeric, not PM_TYPE_%s", s.old.Type)
		}
		s.new.InDom = id
		s.flags |= metricInDom
		s.output = out
		switch {
		case out == outputOne:
			s.oneName, s.oneInst, s.named = oneName, oneInst, named
			if s.old.InDom == pcp.InDomNull {
				s.output = outputFirst // instance of the value in the copy
			}
		case out != outputAll:
		case s.old.InDom != pcp.InDomNull && id == pcp.InDomNull:
			s.output, s.oneInst = outputFirst, pcp.InNull
		case s.old.InDom == pcp.InDomNull:
			s.output, s.oneInst = outputFirst, 0
		}
	})
}

// unitsClause reads the six numbers of units, or with extra, as in PCP 7.2, also
// the extra unit and its scale. Without extra a metric keeps its extra unit.
func (m *metricClauses) unitsClause(extra bool) {
	m.need(tokAssign)
	signed := func(missing string) int {
		w := m.want(missing, tokPlus, tokMinus, tokNumber)
		switch w.tok {
		case tokPlus:
			return number(m.need(tokNumber).text)
		case tokMinus:
			return -number(m.need(tokNumber).text)
		}
		return number(w.text)
	}
	var f [6]int
	f[0] = signed("Expecting 3 numeric values for dim* fields of units")
	m.need(tokComma)
	f[1] = signed("syntax error")
	m.need(tokComma)
	f[2] = signed("syntax error")
	m.need(tokComma)
	f[3] = m.want("Expecting 0 or XXX (from PM_SPACE_XXX) for scaleSpace field of units", tokSpaceName).n
	m.need(tokComma)
	f[4] = m.want("Expecting 0 or XXX (from PM_TIME_XXX) for scaleTime field of units", tokTimeName).n
	m.need(tokComma)
	f[5] = m.want("Expecting 0 or ONE for scaleCount field of units", tokCountName).n
	var extraUnit pcp.Extra
	if extra {
		extraUnit = m.extraUnit()
	}
	rescale := m.is(tokRescale)
	if rescale {
		m.take()
	}
	m.each(metricUnits, "units", false, func(s *metricSpec) {
		u := s.old.Units
		to := pcp.UnpackUnits(pcp.NewUnits(f[0], f[1], f[2], f[3], f[4], f[5]).Pack()) // each has four bits
		if to.Extra = u.Extra; extra {
			to.Extra = extraUnit
		}
		sameDim := f[0] == int(u.DimSpace) && f[1] == int(u.DimTime) && f[2] == int(u.DimCount) && to.Extra.Unit() == u.Extra.Unit()
		if sameDim && to.Extra == u.Extra && f[3] == int(u.ScaleSpace) && f[4] == int(u.ScaleTime) && f[5] == int(u.ScaleCount) {
			m.noChange(s, "units: %s", u)
			return
		}
		s.new.Units = to
		s.flags |= metricUnits
		switch {
		case sameDim && (rescale || m.cfg.Rescale):
			s.flags |= metricRescale
		case rescale:
			m.note("Metric: %s (%s): Dimension changed, cannot rescale", s.name, s.old.PMID)
		}
	})
}

// extraUnit reads the last two values of extraunits: TEMPERATURE, C or 0, 0.
func (m *metricClauses) extraUnit() pcp.Extra {
	m.need(tokComma)
	unit := m.want("Expecting 0 or XXX (from PM_UNIT_XXX) for extraUnit field of units", tokExtraName).text
	m.need(tokComma)
	scale := m.want("Expecting 0 or XXX (from PM_<unit>_XXX) for extraScale field of units", tokExtraName).text
	if unit == "0" && scale == "0" {
		return 0
	}
	if _, _, err := pcp.ParseUnits(unit + " (scale-1)"); err != nil {
		m.stop("Unknown extra unit type \"%s\"", unit)
	}
	u, _, err := pcp.ParseUnits(unit + " (" + scale + ")")
	if err != nil {
		m.stop("Unknown extra unit scale \"%s\" for type \"%s\"", scale, unit)
	}
	return u.Extra
}

func (m *metricClauses) valueClause() {
	if m.lex.patterns = true; m.is(tokReplace) {
		m.take()
	}
	re := m.replacement("Expecting <replacement> in metric value clause", "Expecting -> in metric value clause", "Expecting <regular expression> in metric value clause")
	m.each(metricValue, "value", true, func(s *metricSpec) {
		if s.old.Type != pcp.TypeString {
			m.warn("Metric: %s (%s): Type %s not STRING, cannot change value", s.name, s.old.PMID, s.old.Type)
			return
		}
		s.flags |= metricValue
		s.values = append(s.values, re)
	})
}

package query

import (
	"crypto/sha1"
	"strings"

	"github.com/go-pcp/pcp/pmproxy/series/sid"
)

// canonical appends the form of an expression from which its identifier is made
// (series_expr_canonical). It has no time windows, and the name of a metric
// where the expression has a pattern. It is not always a query that can be
// read: [Text] makes one that is.
func canonical(b *strings.Builder, e *Expr, metric string) {
	switch {
	case e.Match != nil:
		canonicalMatch(b, e.Match, metric)
	case e.Number != "":
		b.WriteString(e.Number)
	case e.Func != 0:
		b.WriteString(e.Func.String())
		b.WriteByte('(')
		canonical(b, e.Left, metric)
		switch e.Func {
		case FuncTopkInst, FuncTopkSample, FuncNthPercentileInst, FuncNthPercentileSample:
			b.WriteString(", " + e.Arg)
		case FuncRescale:
			b.WriteString(`,"` + e.Arg + `"`)
		case FuncLog:
			if e.Arg != "" {
				b.WriteString("," + e.Arg)
			}
		}
		b.WriteByte(')')
	default:
		canonical(b, e.Left, metric)
		b.WriteString(e.Op.String())
		canonical(b, e.Right, metric)
	}
}

func canonicalMatch(b *strings.Builder, m *Match, metric string) {
	switch m.Op {
	case OpAnd:
		if l := m.Left; (l.Op == OpEqual || l.Op == OpGlob) && l.Name == "metric.name" {
			b.WriteString(metric + "{")
			canonicalMatch(b, m.Right, metric)
			b.WriteByte('}')
			return
		}
		fallthrough
	case OpOr:
		canonicalMatch(b, m.Left, metric)
		b.WriteString(m.Op.String())
		canonicalMatch(b, m.Right, metric)
		return
	case OpEqual:
		if m.Name == "metric.name" {
			b.WriteString(m.Text)
			return
		}
		if !strings.HasPrefix("metric.name", m.Name) {
			b.WriteString(m.Name)
		}
	case OpGlob:
		if m.Name == "metric.name" {
			b.WriteString(metric)
			return
		}
		b.WriteString(m.Name)
	default:
		b.WriteString(m.Name)
	}
	b.WriteString(m.Op.String())
	switch m.Op {
	case OpEqual, OpNotEqual, OpGlob:
		b.WriteString(`"` + m.Text + `"`)
	default:
		b.WriteString(m.Text)
	}
}

// exprID identifies the series that an expression of a metric makes.
func exprID(e *Expr, metric string) sid.ID {
	var b strings.Builder
	b.WriteString(`{"series":"expr","expr":"`)
	canonical(&b, e, metric)
	b.WriteString(`"}`)
	return sha1.Sum([]byte(b.String()))
}

// Canonical returns the form of an expression that names its series, with the
// names of metrics as they are written.
func Canonical(e *Expr) string {
	var b strings.Builder
	canonical(&b, e, operandName(e))
	return b.String()
}

// operandName returns the name of the first metric in an expression, or "".
func operandName(e *Expr) string {
	for e != nil {
		switch {
		case e.Match != nil && e.Match.operand:
			return e.Match.Text
		case e.Match != nil && e.Match.Op == OpAnd && e.Match.Left.operand:
			return e.Match.Left.Text
		case e.Match != nil:
			return ""
		case e.Left != nil && e.Left.Number != "":
			e = e.Right
		default:
			e = e.Left
		}
	}
	return ""
}

// textFor writes an expression as a query for one metric.
func textFor(e *Expr, metric string) string {
	var b strings.Builder
	writeText(&b, e, metric)
	return b.String()
}

// Text writes an expression as a query that [Parse] reads, without time windows.
func Text(e *Expr) string {
	var b strings.Builder
	writeText(&b, e, "")
	return b.String()
}

// writeText writes an expression; metric, unless it is empty, replaces patterns
// of names of metrics.
func writeText(b *strings.Builder, e *Expr, metric string) {
	switch {
	case e.Match != nil && e.Match.operand:
		writeMetric(b, e.Match, metric)
	case e.Match != nil && e.Match.Op == OpAnd && e.Match.Left.operand:
		writeMetric(b, e.Match.Left, metric)
		b.WriteByte('{')
		writeMatch(b, e.Match.Right)
		b.WriteByte('}')
	case e.Match != nil:
		b.WriteByte('{')
		writeMatch(b, e.Match)
		b.WriteByte('}')
	case e.Number != "":
		b.WriteString(e.Number)
	case e.Func != 0:
		b.WriteString(e.Func.String())
		b.WriteByte('(')
		writeText(b, e.Left, metric)
		switch {
		case e.Func == FuncRescale:
			b.WriteString(`,"` + e.Arg + `"`)
		case e.Arg != "":
			b.WriteString("," + e.Arg)
		}
		b.WriteByte(')')
	default:
		writeText(b, e.Left, metric)
		b.WriteString(" " + e.Op.String() + " ") // "a*b" is a pattern
		writeText(b, e.Right, metric)
	}
}

func writeMetric(b *strings.Builder, m *Match, metric string) {
	if m.Op == OpGlob && metric != "" {
		b.WriteString(metric)
	} else {
		b.WriteString(m.Text)
	}
}

// writeMatch writes conditions. Those that a comma joins may hold && and || that
// bind more: the right side of a condition is compound only there.
func writeMatch(b *strings.Builder, m *Match) {
	switch m.Op {
	case OpAnd, OpOr:
		writeMatch(b, m.Left)
		if m.comma {
			b.WriteByte(',')
		} else {
			b.WriteString(m.Op.String())
		}
		writeMatch(b, m.Right)
		return
	}
	var l lexer
	l.src = m.Name
	if l.next(); l.tok == tokName && l.text == m.Name {
		b.WriteString(m.Name)
	} else {
		b.WriteString(`"` + m.Name + `"`)
	}
	b.WriteString(m.Op.String())
	if m.Kind == KindString {
		b.WriteString(`"` + m.Text + `"`)
	} else {
		b.WriteString(m.Text)
	}
}

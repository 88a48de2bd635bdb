package query

import (
	"crypto/sha1"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// A namer returns the names of the metrics for the operands of an expression,
// in order; "" if a name is not known.
type namer struct{ names []string }

func (n *namer) next() string {
	if len(n.names) == 0 {
		return ""
	}
	name := n.names[0]
	n.names = n.names[1:]
	return name
}

// canonical appends the form of an expression from which its identifier is
// computed (series_expr_canonical). It has no time windows, and the name of a
// metric in place of a pattern. It cannot always be parsed as a query; for
// that, use [Text].
func canonical(b *strings.Builder, e *Expr, metrics *namer) {
	switch {
	case e.Match != nil:
		canonicalMatch(b, e.Match, metrics.next())
	case e.Number != "":
		b.WriteString(e.Number)
	case e.Func != 0:
		b.WriteString(e.Func.String())
		b.WriteByte('(')
		canonical(b, e.Left, metrics)
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
		canonical(b, e.Left, metrics)
		b.WriteString(e.Op.String())
		canonical(b, e.Right, metrics)
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

// exprID returns the identifier of an expression with metrics, one for each
// operand.
func exprID(e *Expr, metrics []string) sid.ID {
	var b strings.Builder
	b.WriteString(`{"series":"expr","expr":"`)
	canonical(&b, e, &namer{metrics})
	b.WriteString(`"}`)
	return sha1.Sum([]byte(b.String()))
}

// Canonical returns the canonical form of an expression, with the names of
// metrics as in the query.
func Canonical(e *Expr) string {
	var b strings.Builder
	canonical(&b, e, &namer{operandNames(nil, e)})
	return b.String()
}

// operandNames appends the names of the metrics in an expression, one for each
// operand.
func operandNames(names []string, e *Expr) []string {
	switch {
	case e == nil:
	case e.Match != nil && e.Match.operand:
		names = append(names, e.Match.Text)
	case e.Match != nil && e.Match.Op == OpAnd && e.Match.Left.operand:
		names = append(names, e.Match.Left.Text)
	case e.Match != nil:
		names = append(names, "")
	default:
		names = operandNames(operandNames(names, e.Left), e.Right)
	}
	return names
}

// textFor formats an expression as a query for metrics, one for each operand.
func textFor(e *Expr, metrics []string) string {
	var b strings.Builder
	writeText(&b, e, &namer{metrics})
	return b.String()
}

// Text formats an expression as a query that [Parse] accepts, without time windows.
func Text(e *Expr) string {
	var b strings.Builder
	writeText(&b, e, &namer{})
	return b.String()
}

// writeText writes an expression; known names in metrics replace patterns.
func writeText(b *strings.Builder, e *Expr, metrics *namer) {
	switch {
	case e.Match != nil && e.Match.operand:
		writeMetric(b, e.Match, metrics.next())
	case e.Match != nil && e.Match.Op == OpAnd && e.Match.Left.operand:
		writeMetric(b, e.Match.Left, metrics.next())
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
		writeText(b, e.Left, metrics)
		switch {
		case e.Func == FuncRescale:
			b.WriteString(`,"` + e.Arg + `"`)
		case e.Arg != "":
			b.WriteString("," + e.Arg)
		}
		b.WriteByte(')')
	default:
		writeText(b, e.Left, metrics)
		b.WriteString(" " + e.Op.String() + " ") // "a*b" is a pattern
		writeText(b, e.Right, metrics)
	}
}

func writeMetric(b *strings.Builder, m *Match, metric string) {
	if m.Op == OpGlob && metric != "" {
		b.WriteString(metric)
	} else {
		b.WriteString(m.Text)
	}
}

// writeMatch writes conditions. Operands of a comma may contain && and ||, which
// bind more tightly: the right side of a condition is compound only there.
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

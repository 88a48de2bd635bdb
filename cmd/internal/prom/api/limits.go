package api

import (
	"fmt"
	"net/http"
	"regexp/syntax"
	"sync/atomic"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"

	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// Limits of all open requests together.
const (
	MaxBodies   = 32 << 20 // bytes of bodies
	heldResults = 2        // results that are written, as a multiple of the samples of one query
)

// Limits of a regular expression. Without them, one of 20 bytes may take gigabytes of memory, and one of 64 KiB a second for each name
// that it is compared with.
const (
	MaxRegexp   = 100_000 // size: 1 for a character or a range of a class, opCost for other operations
	MaxCaptures = 200     // pairs of parentheses
	opCost      = 10
)

// A budget is an amount of which requests take parts while they are open.
type budget struct {
	max  int64
	used atomic.Int64
}

// take takes n, unless more than all would be in use.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) <= b.max {
		return true
	}
	b.used.Add(-n)
	return false
}

// give returns n.
func (b *budget) give(n int64) { b.used.Add(-n) }

// takeBody takes the size of a request's body. The caller calls give if there is no error.
func (h *Handler) takeBody(r *http.Request, most int64) (give func(), err error) {
	n := r.ContentLength
	if n < 0 || n > most {
		n = most
	}
	if !h.bodies.take(n) {
		return nil, &failure{"unavailable", http.StatusServiceUnavailable, fmt.Errorf("the bodies of open requests have more than %d bytes", MaxBodies)}
	}
	return func() { h.bodies.give(n) }, nil
}

// points returns the number of samples of a value.
func points(v parser.Value) (n int64) {
	switch v := v.(type) {
	case promql.Vector:
		n = int64(len(v))
	case promql.Matrix:
		for i := range v {
			n += int64(len(v[i].Floats) + len(v[i].Histograms))
		}
	}
	return n
}

// checkExpr returns an error for an expression that is too long, nested too deeply, or has too large regular expressions.
func checkExpr(expr string) error {
	if len(expr) > MaxExpr {
		return fmt.Errorf("the expression has %d bytes, more than %d", len(expr), MaxExpr)
	}
	if !store.Flat(expr) {
		return fmt.Errorf("the expression has more than %d operators and parentheses", MaxNesting)
	}
	lex := parser.Lex(expr)
	var before parser.ItemType
	replaces := false // there is a function with a regular expression
	for {
		var item parser.Item
		lex.NextItem(&item)
		switch {
		case item.Typ == parser.EOF, item.Typ == parser.ERROR:
			return nil // the parser reports errors
		case item.Typ == parser.IDENTIFIER && item.Val == "label_replace":
			replaces = true
		case item.Typ == parser.STRING && (replaces || before == parser.EQL_REGEX || before == parser.NEQ_REGEX):
			if text, err := strutil.Unquote(item.Val); err == nil {
				if err := checkRegexp(text); err != nil {
					return err
				}
			}
		}
		before = item.Typ
	}
}

// checkRegexp returns an error for a regular expression that is too large. Those that are not valid are reported where they are compiled.
func checkRegexp(text string) error {
	re, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil
	}
	if re.MaxCap() > MaxCaptures {
		return fmt.Errorf("a regular expression has more than %d pairs of parentheses", MaxCaptures)
	}
	if regexpSize(re) > MaxRegexp {
		return fmt.Errorf("a regular expression is larger than %d operations", MaxRegexp)
	}
	return nil
}

// regexpSize returns the size of an expression, or any number above MaxRegexp.
func regexpSize(re *syntax.Regexp) int {
	n := opCost
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 2
	}
	for _, sub := range re.Sub {
		n += regexpSize(sub)
		if n > MaxRegexp {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n = opCost + (n-opCost)*max(re.Min, re.Max, 1)
	}
	return n
}

// checkSteps returns the engine's error for too many samples if a subquery has more steps than a query may have samples. The engine
// allocates memory for all steps of a subquery before it counts samples.
func checkSteps(s *parser.EvalStmt, most int) error {
	var err error
	whole := s.End.Sub(s.Start).Seconds()
	parser.Inspect(s.Expr, func(n parser.Node, path []parser.Node) error {
		if _, ok := n.(*parser.SubqueryExpr); !ok {
			return nil
		}
		span, step := whole, store.SubqueryStep
		for _, p := range append(path[:len(path):len(path)], n) {
			sub, ok := p.(*parser.SubqueryExpr)
			if !ok {
				continue
			}
			if sub.Timestamp != nil || sub.StartOrEnd != 0 {
				span = 0 // it is evaluated once
			}
			span += sub.Range.Seconds()
			if step = store.SubqueryStep; sub.Step > 0 {
				step = sub.Step
			}
		}
		if span/step.Seconds() > float64(most) {
			err = promql.ErrTooManySamples("query execution")
		}
		return err
	})
	return err
}

package api

import (
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// A node is an expression as JSON.
type node = map[string]any

// tree returns an expression as the JSON of parse_query.
func tree(e parser.Expr) any {
	switch e := e.(type) {
	case nil:
		return nil
	case *parser.AggregateExpr:
		return node{
			"type": "aggregation", "op": e.Op.String(), "expr": tree(e.Expr), "param": tree(e.Param),
			"grouping": some(e.Grouping), "without": e.Without,
		}
	case *parser.BinaryExpr:
		return node{
			"type": "binaryExpr", "op": e.Op.String(), "lhs": tree(e.LHS), "rhs": tree(e.RHS),
			"matching": matching(e.VectorMatching), "bool": e.ReturnBool,
		}
	case *parser.Call:
		args := []any{}
		for _, arg := range e.Args {
			args = append(args, tree(arg))
		}
		return node{
			"type": "call", "args": args,
			"func": node{"name": e.Func.Name, "argTypes": e.Func.ArgTypes, "variadic": e.Func.Variadic, "returnType": e.Func.ReturnType},
		}
	case *parser.MatrixSelector:
		n, ok := tree(e.VectorSelector).(node)
		if !ok {
			return nil
		}
		n["type"], n["range"], n["rangeExpr"] = "matrixSelector", e.Range.Milliseconds(), duration(e.RangeExpr)
		return n
	case *parser.VectorSelector:
		return node{
			"type": "vectorSelector", "name": e.Name, "matchers": matchers(e.LabelMatchers),
			"offset": e.OriginalOffset.Milliseconds(), "offsetExpr": duration(e.OriginalOffsetExpr),
			"timestamp": e.Timestamp, "startOrEnd": edge(e.StartOrEnd), "anchored": e.Anchored, "smoothed": e.Smoothed,
		}
	case *parser.SubqueryExpr:
		return node{
			"type": "subquery", "expr": tree(e.Expr),
			"range": e.Range.Milliseconds(), "rangeExpr": duration(e.RangeExpr),
			"offset": e.OriginalOffset.Milliseconds(), "offsetExpr": duration(e.OriginalOffsetExpr),
			"step": e.Step.Milliseconds(), "stepExpr": duration(e.StepExpr),
			"timestamp": e.Timestamp, "startOrEnd": edge(e.StartOrEnd),
		}
	case *parser.DurationExpr:
		return duration(e)
	case *parser.NumberLiteral:
		return node{"type": "numberLiteral", "val": number(e)}
	case *parser.ParenExpr:
		return node{"type": "parenExpr", "expr": tree(e.Expr)}
	case *parser.StringLiteral:
		return node{"type": "stringLiteral", "val": e.Val}
	case *parser.UnaryExpr:
		return node{"type": "unaryExpr", "op": e.Op.String(), "expr": tree(e.Expr)}
	}
	return nil
}

// duration returns an expression for a duration, nil for none.
func duration(e parser.Expr) any {
	switch e := e.(type) {
	case *parser.DurationExpr:
		if e == nil {
			return nil
		}
		return node{"type": "durationExpr", "op": e.Op.String(), "lhs": duration(e.LHS), "rhs": duration(e.RHS), "wrapped": e.Wrapped}
	case *parser.NumberLiteral:
		if e == nil {
			return nil
		}
		return node{"type": "numberLiteral", "val": number(e), "duration": e.Duration}
	}
	return tree(e)
}

func number(e *parser.NumberLiteral) string { return strconv.FormatFloat(e.Val, 'f', -1, 64) }

func matching(m *parser.VectorMatching) any {
	if m == nil {
		return nil
	}
	return node{
		"card": m.Card.String(), "labels": some(m.MatchingLabels), "on": m.On, "include": some(m.Include),
		"fillValues": map[string]*float64{"lhs": m.FillValues.LHS, "rhs": m.FillValues.RHS},
	}
}

func matchers(list []*labels.Matcher) any {
	all := []node{}
	for _, m := range list {
		all = append(all, node{"name": m.Name, "value": m.Value, "type": m.Type.String()})
	}
	return all
}

// edge returns "start" or "end" of the modifier @, nil for none.
func edge(t parser.ItemType) any {
	if t == 0 {
		return nil
	}
	return t.String()
}

// some returns a list that is not nil: JSON has [] for it.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

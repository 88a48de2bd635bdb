package rule

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/internal/ctext"
)

// simple reports whether an argument of an operator is written without parentheses.
func simple(x *eval.Expr) bool {
	switch x.Op {
	case eval.OpNone, eval.OpVar, eval.OpDelay, eval.OpFetch, eval.OpRate, eval.OpInstant:
		return true
	}
	return x.Op.Aggregate()
}

// AppendSyntax appends an expression as it was parsed. A brief one has only the hosts and
// instances that were named.
func AppendSyntax(b []byte, x *eval.Expr, brief bool) []byte {
	part := func(b []byte, x *eval.Expr, bare bool) []byte {
		if bare {
			return AppendSyntax(b, x, brief)
		}
		return append(AppendSyntax(append(b, '('), x, brief), ')')
	}
	switch o := x.Op; {
	case o == eval.OpNone:
		if x.Nvals == 0 || x.Span == 0 {
			return b
		}
		return append(b, strings.TrimLeft(string(eval.AppendValue(nil, x)), ctext.Space)...)
	case o == eval.OpFetch || o == eval.OpDelay:
		return appendFetch(b, x, brief)
	case o.Delivers():
		b = append(append(b, o.String()...), ' ')
		if x.Arg2 != nil {
			b = append(AppendSyntax(b, x.Arg2, brief), ' ')
		}
		return AppendSyntax(fmt.Appendf(b, "%s ", appendName(nil, x.Text)), x.Arg1, brief)
	case o == eval.OpVar:
		return append(b, x.Text...)
	case x.Arg1 == nil:
		return append(b, o.String()...)
	case o == eval.ActArgument:
		if s := x.Syslog; s != nil {
			b = fmt.Appendf(b, "[level=%d tag=%q] ", s.Priority, s.Tag)
		}
		for y := x.Arg1; y != nil; y = y.Arg1 {
			if y != x.Arg1 {
				b = append(b, ' ')
			}
			b = AppendSyntax(b, y, brief)
		}
		return b
	case x.Arg2 == nil:
		b = append(append(b, o.String()...), ' ')
		return part(b, x.Arg1, x.Arg1.Op == eval.ActSeq || x.Arg1.Op == eval.ActAlt || o.Acts())
	case o.Acts() && o != eval.ActSyslog:
		b = append(append(b, o.String()...), ' ')
		return AppendSyntax(append(AppendSyntax(b, x.Arg2, brief), ' '), x.Arg1, brief)
	case o >= eval.OpPercent && o < eval.OpPercent+3:
		b = fmt.Appendf(b, "%v %d%% ", o, int(x.Arg2.Nums[0]*100+0.5))
		return part(b, x.Arg1, x.Arg1.Op == eval.OpNone || x.Arg1.Op == eval.OpDelay || x.Arg1.Op == eval.OpFetch)
	case o == eval.OpMatch || o == eval.OpNoMatch:
		b = append(append(b, o.String()...), ' ')
		return part(append(AppendSyntax(b, x.Arg2, brief), ' '), x.Arg1, false)
	default:
		b = part(b, x.Arg1, simple(x.Arg1) || o == eval.OpRule)
		b = fmt.Appendf(b, " %v ", o)
		return part(b, x.Arg2, simple(x.Arg2) || o == eval.OpRule)
	}
}

func appendFetch(b []byte, x *eval.Expr, brief bool) []byte {
	m := x.Metrics.First()
	b = append(b, m.Name...)
	if !brief {
		for _, m := range x.Metrics.List[:max(x.Hosts, 0)] {
			b = fmt.Appendf(b, " :%s", m.Host)
		}
	} else if m.Given {
		for _, m := range x.Metrics.List {
			b = fmt.Appendf(b, " :%s", m.Conn)
		}
	}
	names := min(max(m.Count, 0), len(m.Names))
	if brief {
		names = min(m.Named, len(m.Names))
	}
	for i := range names {
		b = fmt.Appendf(b, " #%s", m.Names[i])
	}
	switch {
	case x.Op == eval.OpFetch:
		if x.Times > 1 {
			b = fmt.Appendf(b, " @0..%d", x.Times-1)
		}
	case x.Times == x.Arg1.Times-1:
		b = fmt.Appendf(b, " @%d", x.Times)
	default:
		b = fmt.Appendf(b, " @%d..%d", x.Times, x.Times+x.Arg1.Times-1)
	}
	return b
}

// ConditionOf returns the condition of a rule as it was parsed.
func ConditionOf(rule *eval.Expr) string {
	if rule == nil || rule.Op != eval.OpRule {
		return ""
	}
	if rule.Text == "" {
		rule.Text = string(AppendSyntax(nil, rule.Arg1, true))
	}
	return rule.Text
}

// appendName appends the name of a receiver as rules write it.
func appendName(b []byte, name string) []byte {
	for i := range len(name) {
		c := int(name[i])
		if !isAlpha(c) && (i == 0 || !isDigit(c) && c != '.' && c != '_') {
			return fmt.Appendf(b, "'%s'", name)
		}
	}
	return append(b, name...)
}

package pmie

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// simple reports whether an argument of an operator is written without parentheses.
func simple(x *expr) bool {
	switch x.op {
	case opNone, opVar, opDelay, opFetch, opRate, opInstant:
		return true
	}
	return x.op.aggregate()
}

// appendSyntax appends an expression as it was parsed. A brief one has only the hosts and
// instances that were named.
func appendSyntax(b []byte, x *expr, brief bool) []byte {
	part := func(b []byte, x *expr, bare bool) []byte {
		if bare {
			return appendSyntax(b, x, brief)
		}
		return append(appendSyntax(append(b, '('), x, brief), ')')
	}
	switch o := x.op; {
	case o == opNone:
		if x.nvals == 0 || x.span == 0 {
			return b
		}
		return append(b, strings.TrimLeft(string(appendValue(nil, x)), ctext.Space)...)
	case o == opFetch || o == opDelay:
		return appendFetch(b, x, brief)
	case o.delivers():
		b = append(append(b, o.String()...), ' ')
		if x.arg2 != nil {
			b = append(appendSyntax(b, x.arg2, brief), ' ')
		}
		return appendSyntax(fmt.Appendf(b, "%s ", appendName(nil, x.text)), x.arg1, brief)
	case o == opVar:
		return append(b, x.text...)
	case x.arg1 == nil:
		return append(b, o.String()...)
	case o == actArgument:
		if s := x.syslog; s != nil {
			b = fmt.Appendf(b, "[level=%d tag=%q] ", s.priority, s.tag)
		}
		for y := x.arg1; y != nil; y = y.arg1 {
			if y != x.arg1 {
				b = append(b, ' ')
			}
			b = appendSyntax(b, y, brief)
		}
		return b
	case x.arg2 == nil:
		b = append(append(b, o.String()...), ' ')
		return part(b, x.arg1, x.arg1.op == actSeq || x.arg1.op == actAlt || o.acts())
	case o.acts() && o != actSyslog:
		b = append(append(b, o.String()...), ' ')
		return appendSyntax(append(appendSyntax(b, x.arg2, brief), ' '), x.arg1, brief)
	case o >= opPercent && o < opPercent+3:
		b = fmt.Appendf(b, "%v %d%% ", o, int(x.arg2.nums[0]*100+0.5))
		return part(b, x.arg1, x.arg1.op == opNone || x.arg1.op == opDelay || x.arg1.op == opFetch)
	case o == opMatch || o == opNoMatch:
		b = append(append(b, o.String()...), ' ')
		return part(append(appendSyntax(b, x.arg2, brief), ' '), x.arg1, false)
	default:
		b = part(b, x.arg1, simple(x.arg1) || o == opRule)
		b = fmt.Appendf(b, " %v ", o)
		return part(b, x.arg2, simple(x.arg2) || o == opRule)
	}
}

func appendFetch(b []byte, x *expr, brief bool) []byte {
	m := x.metrics.first()
	b = append(b, m.name...)
	if !brief {
		for _, m := range x.metrics.list[:max(x.hosts, 0)] {
			b = fmt.Appendf(b, " :%s", m.host)
		}
	} else if m.given {
		for _, m := range x.metrics.list {
			b = fmt.Appendf(b, " :%s", m.conn)
		}
	}
	names := min(max(m.count, 0), len(m.names))
	if brief {
		names = min(m.named, len(m.names))
	}
	for i := range names {
		b = fmt.Appendf(b, " #%s", m.names[i])
	}
	switch {
	case x.op == opFetch:
		if x.times > 1 {
			b = fmt.Appendf(b, " @0..%d", x.times-1)
		}
	case x.times == x.arg1.times-1:
		b = fmt.Appendf(b, " @%d", x.times)
	default:
		b = fmt.Appendf(b, " @%d..%d", x.times, x.times+x.arg1.times-1)
	}
	return b
}

// conditionOf returns the condition of a rule as it was parsed.
func conditionOf(rule *expr) string {
	if rule == nil || rule.op != opRule {
		return ""
	}
	if rule.text == "" {
		rule.text = string(appendSyntax(nil, rule.arg1, true))
	}
	return rule.text
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

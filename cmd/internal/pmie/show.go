package pmie

import (
	"fmt"
	"io"

	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/cmd/internal/pmie/rule"
)

// show prints the values of a task's rules, if Verbose selects them.
func (e *Engine) show(t *task) {
	if e.cfg.Verbose == Silent {
		return
	}
	b := e.buf
	for _, r := range t.rules {
		if e.cfg.Verbose == Applet {
			b = append(eval.AppendValue(b, r.X), ' ')
			continue
		}
		b = append(b, r.Name...)
		if e.src.archives != nil || e.cfg.Timestamps {
			b = fmt.Appendf(b, " (%s)", e.cfg.date(e.now))
		}
		b = append(b, ": "...)
		switch e.cfg.Verbose {
		case Annotated:
			b = appendAnnotated(b, r.X)
		case Satisfying:
			b = appendSatisfying(b, r.X)
		default:
			b = eval.AppendValue(b, r.X)
		}
		b = append(b, '\n')
	}
	e.buf = append(b, '\n')
}

func appendAnnotated(b []byte, x *eval.Expr) []byte {
	if x.Insts <= 0 && x.Hosts <= 0 || x.Sem == eval.SemText || x.Metrics == nil || x.Valid == 0 {
		return eval.AppendValue(b, x)
	}
	for i := range x.Span {
		b = appendBound(b, x, x, i)
	}
	return b
}

// appendBound appends a line with the ith value of x, and the host and the instance of
// that of where.
func appendBound(b []byte, where, x *eval.Expr, i int) []byte {
	bind := eval.BindingOf(where, i)
	b = append(b, "\n    "...)
	b = append(b, bind.Host...)
	b = append(b, ": "...)
	if bind.HasInst {
		b = fmt.Appendf(b, "[%s] ", bind.Inst)
	}
	switch {
	case i >= x.Span:
		return append(b, '?')
	case x.Sem == eval.SemTruth:
		return eval.AppendTruth(b, x, i)
	case x.Texts != nil && x.Valid > 0:
		return append(append(append(b, '"'), x.Strs(0)[i]...), '"')
	}
	return eval.AppendNumber(b, x, i)
}

func appendSatisfying(b []byte, x *eval.Expr) []byte {
	switch {
	case x.Metrics == nil || x.Valid == 0:
		return eval.AppendValue(b, x)
	case x.Sem != eval.SemTruth:
		return appendAnnotated(b, x)
	}
	where := eval.FindBindings(x)
	what := eval.FindValues(where)
	if where.Valid == 0 {
		return append(b, " <no bindings available>"...)
	}
	for i := range where.Span {
		if eval.Satisfies(where, i) {
			b = appendBound(b, where, what, i)
		}
	}
	return b
}

// Print writes a rule as it was parsed, all rules if the name is "". It reports whether
// there is such a rule.
func (e *Engine) Print(w io.Writer, name string) bool {
	return e.each(name, func(r *rule.Rule) {
		fmt.Fprintf(w, "%s =\n%s;\n\n", r.Name, rule.AppendSyntax(nil, r.X, false))
	})
}

// PrintBindings writes the part of a rule that %h, %i and %v refer to, as Print does the
// rule.
func (e *Engine) PrintBindings(w io.Writer, name string) bool {
	return e.each(name, func(r *rule.Rule) {
		fmt.Fprintf(w, "%s (subexpression for %%h, %%i and %%v bindings) =\n%s\n\n", r.Name, rule.AppendSyntax(nil, eval.FindValues(eval.FindBindings(r.X)), false))
	})
}

func (e *Engine) each(name string, f func(*rule.Rule)) bool {
	if name != "" {
		r := e.rules.Rule(name)
		if r != nil {
			f(r)
		}
		return r != nil
	}
	for _, t := range e.get.tasks {
		for _, r := range t.rules {
			f(r.Rule)
		}
	}
	return true
}

package pmie

import (
	"fmt"
	"io"
)

// show prints the values of a task's rules, if Verbose selects them.
func (e *Engine) show(t *task) {
	if e.cfg.Verbose == Silent {
		return
	}
	b := e.buf
	for _, r := range t.rules {
		if e.cfg.Verbose == Applet {
			b = append(appendValue(b, r.x), ' ')
			continue
		}
		b = append(b, r.name...)
		if e.src.archives != nil || e.cfg.Timestamps {
			b = fmt.Appendf(b, " (%s)", e.cfg.date(e.now))
		}
		b = append(b, ": "...)
		switch e.cfg.Verbose {
		case Annotated:
			b = appendAnnotated(b, r.x)
		case Satisfying:
			b = appendSatisfying(b, r.x)
		default:
			b = appendValue(b, r.x)
		}
		b = append(b, '\n')
	}
	e.buf = append(b, '\n')
}

func appendAnnotated(b []byte, x *expr) []byte {
	if x.insts <= 0 && x.hosts <= 0 || x.sem == semText || x.metrics == nil || x.valid == 0 {
		return appendValue(b, x)
	}
	for i := range x.span {
		b = appendBound(b, x, x, i)
	}
	return b
}

// appendBound appends a line with the ith value of x, and the host and the instance of
// that of where.
func appendBound(b []byte, where, x *expr, i int) []byte {
	bind := bindingOf(where, i)
	b = append(b, "\n    "...)
	b = append(b, bind.host...)
	b = append(b, ": "...)
	if bind.hasInst {
		b = fmt.Appendf(b, "[%s] ", bind.inst)
	}
	switch {
	case i >= x.span:
		return append(b, '?')
	case x.sem == semTruth:
		return appendTruth(b, x, i)
	case x.texts != nil && x.valid > 0:
		return append(append(append(b, '"'), x.strs(0)[i]...), '"')
	}
	return appendNumber(b, x, i)
}

func appendSatisfying(b []byte, x *expr) []byte {
	switch {
	case x.metrics == nil || x.valid == 0:
		return appendValue(b, x)
	case x.sem != semTruth:
		return appendAnnotated(b, x)
	}
	where := findBindings(x)
	what := findValues(where)
	if where.valid == 0 {
		return append(b, " <no bindings available>"...)
	}
	for i := range where.span {
		if satisfies(where, i) {
			b = appendBound(b, where, what, i)
		}
	}
	return b
}

// Print writes a rule as it was parsed, all rules if the name is "". It reports whether
// there is such a rule.
func (e *Engine) Print(w io.Writer, name string) bool {
	return e.each(name, func(r *named) {
		fmt.Fprintf(w, "%s =\n%s;\n\n", r.name, appendSyntax(nil, r.x, false))
	})
}

// PrintBindings writes the part of a rule that %h, %i and %v refer to, as Print does the
// rule.
func (e *Engine) PrintBindings(w io.Writer, name string) bool {
	return e.each(name, func(r *named) {
		fmt.Fprintf(w, "%s (subexpression for %%h, %%i and %%v bindings) =\n%s\n\n", r.name, appendSyntax(nil, findValues(findBindings(r.x)), false))
	})
}

func (e *Engine) each(name string, f func(*named)) bool {
	if name != "" {
		r := e.rules.find(name)
		if r != nil {
			f(r)
		}
		return r != nil
	}
	for _, t := range e.get.tasks {
		for _, r := range t.rules {
			f(r.named)
		}
	}
	return true
}

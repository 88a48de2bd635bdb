package pmie

// run evaluates a statement of rules: an expression, a rule or ruleset, or an action.
func (e *Engine) run(x *expr) {
	switch {
	case x.op == opRule:
		e.ev.run(x.arg1)
		e.decide(x, x.arg1.cell)
	case x.op == opRuleset:
		evalRuleset(e, x)
	case x.op == actSeq:
		evalSeq(e, x)
	case x.op == actAlt:
		evalAlt(e, x)
	case x.op == actArgument:
		evalArgument(e, x)
	case x.op.acts() && e.archives != nil:
		evalPretend(e, x)
	case x.op.delivers():
		evalDeliver(e, x)
	case x.op.acts():
		evalAction(e, x)
	default:
		e.ev.run(x)
	}
}

// decide gives a rule the value of its condition, and runs its actions if that is true.
func (e *Engine) decide(x *expr, condition *cell) {
	x.conclude(condition)
	x.pass = e.pass
	if e.count(condition.verdict()) {
		e.fired = x
		e.run(x.arg2)
	}
}

// count counts a value of a condition, and reports whether it is true.
func (e *Engine) count(verdict int8) bool {
	switch verdict {
	case isFalse:
		e.stats.False++
	case isTrue:
		e.stats.True++
	default:
		e.stats.Unknown++
	}
	return verdict == isTrue
}

// as evaluates a rule of a ruleset: the output of its actions is about that rule.
func (e *Engine) as(rule *expr) {
	outer := e.current
	e.current = rule
	e.run(rule)
	e.current = outer
}

func evalRuleset(e *Engine, x *expr) {
	defer func(fired *expr) {
		// The other actions do not fire the ruleset.
		if e.fired != nil && (x.arg2 != nil && (e.fired == x.arg2.arg1 || e.fired == x.arg2.arg2)) {
			e.fired = fired
		}
	}(e.fired)
	take := func(rule *expr) {
		x.valid = rule.valid
		x.truths[0] = rule.truths[0]
	}
	x.valid = 0
	allUnknown := true
	for o := x.arg1; o != nil; o = o.arg2 {
		rule := o
		if o.op != opRule {
			rule = o.arg1
		}
		if rule == nil || rule.op != opRule {
			return // the mistake was reported
		}
		e.as(rule)
		if rule.valid > 0 {
			take(rule)
			switch x.truths[0] {
			case isTrue:
				return
			case isFalse:
				allUnknown = false
			}
		}
		if o.op == opRule {
			break
		}
	}
	if x.arg2 == nil {
		return
	}
	unknown, otherwise := x.arg2.arg1, x.arg2.arg2
	switch {
	case allUnknown && unknown.op == opRule:
		e.as(unknown)
	case otherwise.op == opRule:
		e.as(otherwise)
		take(otherwise)
	}
}

package pmie

// An actor carries out what rules ask for.
type actor struct {
	*sources
	ev     evaluator
	runner runner
	tally  func() // counts have changed
	counts Stats

	now     float64
	current *expr  // the rule that is evaluated
	rule    *ruled // the named rule that it is, or is a part of
	fired   *expr  // the rule that was true
	pass    uint64 // counts evaluations
}

// evaluate evaluates a rule. If a plan has evaluated its condition, that is the condition.
func (act *actor) evaluate(r *ruled, condition *cell) {
	if condition != nil && act.cfg.Observe == nil && act.cfg.Alert == nil && condition.verdict() != isTrue {
		act.count(condition.verdict())
		act.counts.Actual++
		return // the rule gets its value when the plan is abandoned
	}
	if r.x.inert() {
		return
	}
	act.current, act.rule, act.fired = r.x, r, nil
	act.pass++
	if condition != nil {
		r.x.arg1.store()
		act.decide(r.x, condition)
	} else {
		act.run(r.x)
	}
	act.counts.Actual++
	act.settle(r)
}

// run evaluates a statement of rules: an expression, a rule or ruleset, or an action.
func (act *actor) run(x *expr) {
	switch {
	case x.op == opRule:
		act.ev.run(x.arg1)
		act.decide(x, x.arg1.cell)
	case x.op == opRuleset:
		act.ruleset(x)
	case x.op == actSeq:
		act.seq(x)
	case x.op == actAlt:
		act.alt(x)
	case x.op == actArgument:
		act.arguments(x)
	case x.op.acts() && act.archives != nil:
		act.pretend(x)
	case x.op.delivers():
		act.notifyReceiver(x)
	case x.op.acts():
		act.action(x)
	default:
		act.ev.run(x)
	}
}

// decide gives a rule the value of its condition, and runs its actions if that is true.
func (act *actor) decide(x *expr, condition *cell) {
	x.conclude(condition)
	x.pass = act.pass
	if act.count(condition.verdict()) {
		act.fired = x
		act.run(x.arg2)
	}
}

// count counts a value of a condition, and reports whether it is true.
func (act *actor) count(verdict int8) bool {
	switch verdict {
	case isFalse:
		act.counts.False++
	case isTrue:
		act.counts.True++
	default:
		act.counts.Unknown++
	}
	return verdict == isTrue
}

// as evaluates a rule of a ruleset: the output of its actions is about that rule.
func (act *actor) as(rule *expr) {
	outer := act.current
	act.current = rule
	act.run(rule)
	act.current = outer
}

func (act *actor) ruleset(x *expr) {
	defer func(fired *expr) {
		// The other actions do not fire the ruleset.
		if act.fired != nil && (x.arg2 != nil && (act.fired == x.arg2.arg1 || act.fired == x.arg2.arg2)) {
			act.fired = fired
		}
	}(act.fired)
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
		act.as(rule)
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
		act.as(unknown)
	case otherwise.op == opRule:
		act.as(otherwise)
		take(otherwise)
	}
}

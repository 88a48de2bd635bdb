package pmie

import (
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
)

// An actor carries out what rules ask for.
type actor struct {
	*sources
	ev     eval.Evaluator
	runner deliver.Runner
	tally  func() // counts have changed
	counts Stats

	now     float64
	current *eval.Expr // the rule that is evaluated
	rule    *ruled     // the named rule that it is, or is a part of
	fired   *eval.Expr // the rule that was true
	pass    uint64     // counts evaluations
}

// evaluate evaluates a rule. If a plan has evaluated its condition, that is the condition.
func (act *actor) evaluate(r *ruled, condition *eval.Cell) {
	if condition != nil && act.cfg.Observe == nil && act.cfg.Alert == nil && condition.Verdict() != eval.True {
		act.count(condition.Verdict())
		act.counts.Actual++
		return // the rule gets its value when the plan is abandoned
	}
	if r.X.Inert() {
		return
	}
	act.current, act.rule, act.fired = r.X, r, nil
	act.pass++
	if condition != nil {
		r.X.Arg1.Store()
		act.decide(r.X, condition)
	} else {
		act.run(r.X)
	}
	act.counts.Actual++
	act.settle(r)
}

// run evaluates a statement of rules: an expression, a rule or ruleset, or an action.
func (act *actor) run(x *eval.Expr) {
	switch {
	case x.Op == eval.OpRule:
		act.ev.Run(x.Arg1)
		act.decide(x, x.Arg1.Cell)
	case x.Op == eval.OpRuleset:
		act.ruleset(x)
	case x.Op == eval.ActSeq:
		act.seq(x)
	case x.Op == eval.ActAlt:
		act.alt(x)
	case x.Op == eval.ActArgument:
		act.arguments(x)
	case x.Op.Acts() && act.archives != nil:
		act.pretend(x)
	case x.Op.Delivers():
		act.notifyReceiver(x)
	case x.Op.Acts():
		act.action(x)
	default:
		act.ev.Run(x)
	}
}

// decide gives a rule the value of its condition, and runs its actions if that is true.
func (act *actor) decide(x *eval.Expr, condition *eval.Cell) {
	x.Conclude(condition)
	x.Pass = act.pass
	if act.count(condition.Verdict()) {
		act.fired = x
		act.run(x.Arg2)
	}
}

// count counts a value of a condition, and reports whether it is true.
func (act *actor) count(verdict int8) bool {
	switch verdict {
	case eval.False:
		act.counts.False++
	case eval.True:
		act.counts.True++
	default:
		act.counts.Unknown++
	}
	return verdict == eval.True
}

// as evaluates a rule of a ruleset: the output of its actions is about that rule.
func (act *actor) as(rule *eval.Expr) {
	outer := act.current
	act.current = rule
	act.run(rule)
	act.current = outer
}

func (act *actor) ruleset(x *eval.Expr) {
	defer func(fired *eval.Expr) {
		// The other actions do not fire the ruleset.
		if act.fired != nil && (x.Arg2 != nil && (act.fired == x.Arg2.Arg1 || act.fired == x.Arg2.Arg2)) {
			act.fired = fired
		}
	}(act.fired)
	take := func(rule *eval.Expr) {
		x.Valid = rule.Valid
		x.Truths[0] = rule.Truths[0]
	}
	x.Valid = 0
	allUnknown := true
	for o := x.Arg1; o != nil; o = o.Arg2 {
		rule := o
		if o.Op != eval.OpRule {
			rule = o.Arg1
		}
		if rule == nil || rule.Op != eval.OpRule {
			return // the mistake was reported
		}
		act.as(rule)
		if rule.Valid > 0 {
			take(rule)
			switch x.Truths[0] {
			case eval.True:
				return
			case eval.False:
				allUnknown = false
			}
		}
		if o.Op == eval.OpRule {
			break
		}
	}
	if x.Arg2 == nil {
		return
	}
	unknown, otherwise := x.Arg2.Arg1, x.Arg2.Arg2
	switch {
	case allUnknown && unknown.Op == eval.OpRule:
		act.as(unknown)
	case otherwise.Op == eval.OpRule:
		act.as(otherwise)
		take(otherwise)
	}
}

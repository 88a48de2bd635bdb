package pmie

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// seq does both actions, also the second if the first failed.
func (act *actor) seq(x *expr) {
	act.run(x.arg1)
	act.run(x.arg2)
	x.truths[0] = truthOf(x.arg1.truths[0] == isTrue && x.arg2.truths[0] == isTrue)
}

// alt does the second action if the first failed.
func (act *actor) alt(x *expr) {
	act.run(x.arg1)
	x.truths[0] = isTrue
	if x.arg1.truths[0] == isFalse {
		act.run(x.arg2)
		x.truths[0] = x.arg2.truths[0]
	}
}

// arguments puts values into the arguments of an action.
func (act *actor) arguments(x *expr) {
	put := func(b []byte, value string) []byte { return append(b, value...) }
	if x.parent != nil && x.parent.op == actShell && act.archives == nil {
		put = appendQuoted
	}
	apart := x.parent != nil && x.parent.op == actExec
	var b []byte
	x.args = x.args[:0]
	for y := x.arg1; y != nil; y = y.arg1 {
		start := len(b)
		b = act.expand(b, y.text, put)
		if apart {
			x.args = append(x.args, string(b[start:]))
		}
	}
	if x.text = string(b); apart {
		x.text = appendArguments(x.args)
	}
}

// held reports whether the last run of an action is too recent to repeat it.
func (act *actor) held(x *expr) bool {
	return x.arg2 != nil && x.last != 0 && act.now < x.arg2.nums[0]+x.last
}

// pretend prints the action instead of carrying it out, for archives.
func (act *actor) pretend(x *expr) {
	if act.held(x) {
		return
	}
	act.run(x.arg1)
	x.truths[0] = isTrue
	x.last = act.now
	text := x.arg1.text
	if x.op.delivers() {
		text = x.text + ": " + text
	}
	act.buf = fmt.Appendf(act.buf, "%v %s: %s\n", x.op, act.cfg.date(act.now), text)
}

func (act *actor) action(x *expr) {
	if act.held(x) {
		return
	}
	act.run(x.arg1)
	a := act.actionOf(x)
	a.Text = x.arg1.text
	if x.op == actExec {
		a.Args = x.arg1.args
	}
	if act.cfg.Act != nil {
		a.Matches = act.matches(act.current, x.arg1, false)
	}
	if s := x.arg1.syslog; s != nil {
		a.Priority, a.Tag = s.priority, s.tag
	}
	err := act.carryOut(x, a)
	x.truths[0] = truthOf(err == nil)
	x.last = act.now
	act.counts.Actions++
	act.tally()
}

// appendArguments returns arguments quoted, so that spaces in them are visible.
func appendArguments(args []string) string {
	var b []byte
	for i, arg := range args {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendQuote(b, arg)
	}
	return string(b)
}

// expand appends an argument of an action, once for each host and instance that makes
// the rule true if it has %h, %i, %v or %c in it. Put appends a value.
func (act *actor) expand(b []byte, format string, put func(b []byte, value string) []byte) []byte {
	if !strings.ContainsRune(format, '%') || findFormat(format) < 0 || act.current == nil {
		return append(b, format...)
	}
	where := findBindings(act.current)
	what := findValues(where)
	if where.valid == 0 {
		return append(b, format...)
	}
	for i := range where.span {
		if !satisfies(where, i) {
			continue
		}
		b = fill(b, format, bindingOf(where, i), what, i, put)
	}
	return b
}

// fill appends an argument with the ith value of the expression what, whose hosts and
// instances are in bind. What may be nil.
func fill(b []byte, format string, bind binding, what *expr, i int, put func(b []byte, value string) []byte) []byte {
	for {
		at := findFormat(format)
		if at < 0 {
			return append(b, format...)
		}
		b = append(b, format[:at]...)
		switch c := format[at+1]; {
		case c == 'v' && what != nil && i < what.span:
			b = put(b, string(appendSamples(nil, what, i)))
		case c == 'h' && bind.hasHost:
			b = put(b, bind.host)
		case c == 'c' && bind.hasHost:
			b = put(b, bind.conn)
		case c == 'i' && bind.hasInst:
			b = put(b, bind.inst)
		default:
			b = fmt.Appendf(b, "<%%%c undefined>", c)
		}
		format = format[at+2:]
	}
}

// findFormat returns where the first %h, %i, %v or %c is, or -1.
func findFormat(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '%' && strings.IndexByte("hivc", s[i+1]) >= 0 {
			return i
		}
	}
	return -1
}

func kindOf(x *expr) ActionKind { return ActionKind(x.op - actShell) }

// actionOf returns the fields that all actions of the rule being evaluated share.
func (act *actor) actionOf(x *expr) Action {
	a := Action{Kind: kindOf(x), Time: timestamp(act.now).Time().In(act.cfg.Zone)}
	if act.rule != nil {
		a.Rule = act.rule.name
	}
	if act.cfg.Act != nil || act.cfg.Alert != nil {
		a.Expr = conditionOf(act.current)
	}
	return a
}

// notifyReceiver notifies a receiver of the matches of a rule.
func (act *actor) notifyReceiver(x *expr) {
	a := act.actionOf(x)
	a.Matches = act.matches(act.current, x.arg1, true)
	var text strings.Builder
	for _, m := range a.Matches {
		text.WriteString(m.Text)
	}
	a.Text = text.String()
	x.truths[0] = truthOf(act.deliver(x, a) == nil)
	if !act.held(x) {
		x.last = act.now
		act.counts.Actions++
	}
}

// deliver passes an action to Config.Alert, or to Config.Act if that is nil.
func (act *actor) deliver(x *expr, a Action) error {
	a.Receiver = x.text
	if x.arg2 != nil {
		a.Holdoff = time.Duration(math.Min(x.arg2.nums[0], math.MaxInt32) * float64(time.Second))
	}
	switch {
	case act.cfg.Alert != nil:
		return act.cfg.Alert(act.ctx, a)
	case a.Resolved:
		return nil
	case act.cfg.Act != nil:
		if act.held(x) {
			return nil
		}
		return act.cfg.Act(act.ctx, a)
	}
	act.notify(slog.LevelError, fmt.Sprintf("the action %v is not supported\n", a.Kind))
	return errors.ErrUnsupported
}

// settle notifies receivers and observers of a rule that is not true.
func (act *actor) settle(r *ruled) {
	if act.cfg.Alert != nil && act.archives == nil {
		for i, d := range r.deliveries {
			if act.over(r.deliveries, i) {
				act.current = d.rule
				a := act.actionOf(d.act)
				a.Resolved = true
				act.deliver(d.act, a)
			}
		}
	}
	if act.cfg.Observe == nil || r.x.op != opRule && r.x.op != opRuleset {
		return
	}
	ev := Evaluation{Rule: r.name, Expr: conditionOf(r.x), Time: timestamp(act.now).Time().In(act.cfg.Zone), State: False}
	switch {
	case act.fired != nil:
		ev.State, ev.Expr = True, conditionOf(act.fired)
		ev.Matches = act.matches(act.fired, nil, false)
	case r.x.valid == 0 || r.x.truths[0] == isUnknown:
		ev.State = Unknown
	}
	act.cfg.Observe(ev)
}

// over reports whether the ith action of a rule must report that the rule is not true any more.
// If the rules of a ruleset have several actions for one receiver, the first of them reports it,
// provided none has reported a match and each rule is known not to be true.
func (act *actor) over(list []delivery, i int) bool {
	for j, d := range list {
		if d.act.op != list[i].act.op || d.act.text != list[i].act.text {
			continue
		}
		if j < i || d.rule.pass == act.pass && (d.rule.valid == 0 || d.rule.truths[0] != isFalse) {
			return false
		}
	}
	return true
}

// matches returns the matches of a rule, with the strings of an action.
func (act *actor) matches(rule, arg *expr, labels bool) []Match {
	if rule == nil {
		return nil
	}
	where := findBindings(rule)
	what := findValues(where)
	put := func(b []byte, value string) []byte { return append(b, value...) }
	one := func(bind binding, what *expr, i int) Match {
		m := Match{Host: bind.host, Conn: bind.conn, Instance: bind.inst}
		if what != nil && i < what.span {
			m.Value = string(appendSamples(nil, what, i))
			m.Limit = limitOf(rule.arg1, what, i)
		}
		if arg != nil {
			var b []byte
			for y := arg.arg1; y != nil; y = y.arg1 {
				b = fill(b, y.text, bind, what, i, put)
			}
			m.Text = string(b)
		}
		if labels && bind.m != nil {
			m.Labels = act.labelsOf(bind.m, bind.number, act.now)
		}
		return m
	}
	var list []Match
	if where.valid > 0 {
		for i := range where.span {
			if satisfies(where, i) {
				list = append(list, one(bindingOf(where, i), what, i))
			}
		}
	}
	if list == nil {
		// The rule is true for a reason other than its metrics.
		bind := binding{}
		if where.metrics != nil && len(where.metrics.list) == 1 {
			m := where.metrics.first()
			bind = binding{host: m.host, conn: m.conn, hasHost: true, m: m, number: pcp.InNull}
		}
		list = append(list, one(bind, nil, 0))
	}
	return list
}

// A delivery is such an action and its rule.
type delivery struct {
	act, rule *expr // the rule may be one of a ruleset
}

// deliveriesOf returns the actions of a rule that name a receiver.
func deliveriesOf(x *expr) []delivery { return appendDeliveries(nil, x, nil) }

func appendDeliveries(list []delivery, x, rule *expr) []delivery {
	switch {
	case x == nil:
	case x.op == opRule:
		return appendDeliveries(list, x.arg2, x)
	case rule == nil && (x.op == opRuleset || x.op == opOr || x.op == opOther),
		rule != nil && (x.op == actSeq || x.op == actAlt):
		return appendDeliveries(appendDeliveries(list, x.arg1, rule), x.arg2, rule)
	case rule != nil && x.op.delivers():
		return append(list, delivery{act: x, rule: rule})
	}
	return list
}

// carryOut carries out an action.
func (act *actor) carryOut(x *expr, a Action) error {
	if act.cfg.Act != nil {
		return act.cfg.Act(act.ctx, a)
	}
	err := act.runner.run(act.ctx, a)
	if a.Kind == ActionShell || a.Kind == ActionExec {
		x.valid = status(err)
	}
	return err
}

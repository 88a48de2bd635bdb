package pmie

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/cmd/internal/pmie/rule"
)

// seq does both actions, also the second if the first failed.
func (act *actor) seq(x *eval.Expr) {
	act.run(x.Arg1)
	act.run(x.Arg2)
	x.Truths[0] = eval.TruthOf(x.Arg1.Truths[0] == eval.True && x.Arg2.Truths[0] == eval.True)
}

// alt does the second action if the first failed.
func (act *actor) alt(x *eval.Expr) {
	act.run(x.Arg1)
	x.Truths[0] = eval.True
	if x.Arg1.Truths[0] == eval.False {
		act.run(x.Arg2)
		x.Truths[0] = x.Arg2.Truths[0]
	}
}

// arguments puts values into the arguments of an action.
func (act *actor) arguments(x *eval.Expr) {
	put := func(b []byte, value string) []byte { return append(b, value...) }
	if x.Parent != nil && x.Parent.Op == eval.ActShell && act.archives == nil {
		put = deliver.AppendQuoted
	}
	apart := x.Parent != nil && x.Parent.Op == eval.ActExec
	var b []byte
	x.Args = x.Args[:0]
	for y := x.Arg1; y != nil; y = y.Arg1 {
		start := len(b)
		b = act.expand(b, y.Text, put)
		if apart {
			x.Args = append(x.Args, string(b[start:]))
		}
	}
	if x.Text = string(b); apart {
		x.Text = appendArguments(x.Args)
	}
}

// held reports whether the last run of an action is too recent to repeat it.
func (act *actor) held(x *eval.Expr) bool {
	return x.Arg2 != nil && x.Last != 0 && act.now < x.Arg2.Nums[0]+x.Last
}

// pretend prints the action instead of carrying it out, for archives.
func (act *actor) pretend(x *eval.Expr) {
	if act.held(x) {
		return
	}
	act.run(x.Arg1)
	x.Truths[0] = eval.True
	x.Last = act.now
	text := x.Arg1.Text
	if x.Op.Delivers() {
		text = x.Text + ": " + text
	}
	if act.cfg.Format == "" {
		act.buf = fmt.Appendf(act.buf, "%v %s: %s\n", x.Op, act.cfg.date(act.now), text)
		return
	}
	act.buf = append(act.appendFormat(act.buf, x, text), '\n')
}

// appendFormat appends Config.Format with its fields filled in. Other letters after a percent sign are text.
func (act *actor) appendFormat(b []byte, x *eval.Expr, text string) []byte {
	format := act.cfg.Format
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b = append(b, format[i])
			continue
		}
		i++
		switch c := format[i]; c {
		case 'a':
			b = fmt.Append(b, x.Op)
		case 'd':
			b = append(b, act.cfg.date(act.now)...)
		case 'f':
			b = append(b, cmp.Or(x.File, "<stdin>")...)
		case 'l':
			b = strconv.AppendInt(b, int64(x.Line), 10)
		case 'm':
			b = append(b, text...)
		case 'u':
			b = append(b, timestamp(act.now).Time().Round(time.Microsecond).In(act.cfg.Zone).Format("Mon Jan _2 15:04:05.000000 2006")...)
		case '%':
			b = append(b, '%')
		default:
			b = append(b, '%', c)
		}
	}
	return b
}

func (act *actor) action(x *eval.Expr) {
	if act.held(x) {
		return
	}
	act.run(x.Arg1)
	a := act.actionOf(x)
	a.Text = x.Arg1.Text
	if x.Op == eval.ActExec {
		a.Args = x.Arg1.Args
	}
	if act.cfg.Act != nil {
		a.Matches = act.matches(act.current, x.Arg1, false)
	}
	if s := x.Arg1.Syslog; s != nil {
		a.Priority, a.Tag = s.Priority, s.Tag
	}
	err := act.carryOut(x, a)
	x.Truths[0] = eval.TruthOf(err == nil)
	x.Last = act.now
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
	where := eval.FindBindings(act.current)
	what := eval.FindValues(where)
	if where.Valid == 0 {
		return append(b, format...)
	}
	for i := range where.Span {
		if !eval.Satisfies(where, i) {
			continue
		}
		b = fill(b, format, eval.BindingOf(where, i), what, i, put)
	}
	return b
}

// fill appends an argument with the ith value of the expression what, whose hosts and
// instances are in bind. What may be nil.
func fill(b []byte, format string, bind eval.Binding, what *eval.Expr, i int, put func(b []byte, value string) []byte) []byte {
	for {
		at := findFormat(format)
		if at < 0 {
			return append(b, format...)
		}
		b = append(b, format[:at]...)
		switch c := format[at+1]; {
		case c == 'v' && what != nil && i < what.Span:
			b = put(b, string(eval.AppendSamples(nil, what, i)))
		case c == 'h' && bind.HasHost:
			b = put(b, bind.Host)
		case c == 'c' && bind.HasHost:
			b = put(b, bind.Conn)
		case c == 'i' && bind.HasInst:
			b = put(b, bind.Inst)
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

func kindOf(x *eval.Expr) deliver.Kind { return deliver.Kind(x.Op - eval.ActShell) }

// actionOf returns the fields that all actions of the rule being evaluated share.
func (act *actor) actionOf(x *eval.Expr) deliver.Action {
	a := deliver.Action{Kind: kindOf(x), Time: timestamp(act.now).Time().In(act.cfg.Zone)}
	if act.rule != nil {
		a.Rule = act.rule.Name
	}
	if act.cfg.Act != nil || act.cfg.Alert != nil {
		a.Expr = rule.ConditionOf(act.current)
	}
	return a
}

// notifyReceiver notifies a receiver of the matches of a rule.
func (act *actor) notifyReceiver(x *eval.Expr) {
	a := act.actionOf(x)
	a.Matches = act.matches(act.current, x.Arg1, true)
	var text strings.Builder
	for _, m := range a.Matches {
		text.WriteString(m.Text)
	}
	a.Text = text.String()
	x.Truths[0] = eval.TruthOf(act.deliver(x, a) == nil)
	if !act.held(x) {
		x.Last = act.now
		act.counts.Actions++
	}
}

// deliver passes an action to Config.Alert, or to Config.Act if that is nil.
func (act *actor) deliver(x *eval.Expr, a deliver.Action) error {
	a.Receiver = x.Text
	if x.Arg2 != nil {
		a.Holdoff = time.Duration(math.Min(x.Arg2.Nums[0], math.MaxInt32) * float64(time.Second))
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
	if act.cfg.Observe == nil || r.X.Op != eval.OpRule && r.X.Op != eval.OpRuleset {
		return
	}
	ev := deliver.Evaluation{Rule: r.Name, Expr: rule.ConditionOf(r.X), Time: timestamp(act.now).Time().In(act.cfg.Zone), State: deliver.False}
	switch {
	case act.fired != nil:
		ev.State, ev.Expr = deliver.True, rule.ConditionOf(act.fired)
		ev.Matches = act.matches(act.fired, nil, false)
	case r.X.Valid == 0 || r.X.Truths[0] == eval.Unknown:
		ev.State = deliver.Unknown
	}
	act.cfg.Observe(ev)
}

// over reports whether the ith action of a rule must report that the rule is not true any more.
// If the rules of a ruleset have several actions for one receiver, the first of them reports it,
// provided none has reported a match and each rule is known not to be true.
func (act *actor) over(list []delivery, i int) bool {
	for j, d := range list {
		if d.act.Op != list[i].act.Op || d.act.Text != list[i].act.Text {
			continue
		}
		if j < i || d.rule.Pass == act.pass && (d.rule.Valid == 0 || d.rule.Truths[0] != eval.False) {
			return false
		}
	}
	return true
}

// matches returns the matches of a rule, with the strings of an action.
func (act *actor) matches(rule, arg *eval.Expr, labels bool) []deliver.Match {
	if rule == nil {
		return nil
	}
	where := eval.FindBindings(rule)
	what := eval.FindValues(where)
	put := func(b []byte, value string) []byte { return append(b, value...) }
	one := func(bind eval.Binding, what *eval.Expr, i int) deliver.Match {
		m := deliver.Match{Host: bind.Host, Conn: bind.Conn, Instance: bind.Inst}
		if what != nil && i < what.Span {
			m.Value = string(eval.AppendSamples(nil, what, i))
			m.Limit = eval.LimitOf(rule.Arg1, what, i)
		}
		if arg != nil {
			var b []byte
			for y := arg.Arg1; y != nil; y = y.Arg1 {
				b = fill(b, y.Text, bind, what, i, put)
			}
			m.Text = string(b)
		}
		if labels && bind.M != nil {
			m.Labels = act.labelsOf(bind.M, bind.Number, act.now)
		}
		return m
	}
	var list []deliver.Match
	if where.Valid > 0 {
		for i := range where.Span {
			if eval.Satisfies(where, i) {
				list = append(list, one(eval.BindingOf(where, i), what, i))
			}
		}
	}
	if list == nil {
		// The rule is true for a reason other than its metrics.
		bind := eval.Binding{}
		if where.Metrics != nil && len(where.Metrics.List) == 1 {
			m := where.Metrics.First()
			bind = eval.Binding{Host: m.Host, Conn: m.Conn, HasHost: true, M: m, Number: pcp.InNull}
		}
		list = append(list, one(bind, nil, 0))
	}
	return list
}

// A delivery is such an action and its rule.
type delivery struct {
	act, rule *eval.Expr // the rule may be one of a ruleset
}

// deliveriesOf returns the actions of a rule that name a receiver.
func deliveriesOf(x *eval.Expr) []delivery { return appendDeliveries(nil, x, nil) }

func appendDeliveries(list []delivery, x, rule *eval.Expr) []delivery {
	switch {
	case x == nil:
	case x.Op == eval.OpRule:
		return appendDeliveries(list, x.Arg2, x)
	case rule == nil && (x.Op == eval.OpRuleset || x.Op == eval.OpOr || x.Op == eval.OpOther),
		rule != nil && (x.Op == eval.ActSeq || x.Op == eval.ActAlt):
		return appendDeliveries(appendDeliveries(list, x.Arg1, rule), x.Arg2, rule)
	case rule != nil && x.Op.Delivers():
		return append(list, delivery{act: x, rule: rule})
	}
	return list
}

// carryOut carries out an action.
func (act *actor) carryOut(x *eval.Expr, a deliver.Action) error {
	if act.cfg.Act != nil {
		return act.cfg.Act(act.ctx, a)
	}
	err := act.runner.Do(act.ctx, a)
	if a.Kind == deliver.Shell || a.Kind == deliver.Exec {
		x.Valid = deliver.Status(err)
	}
	return err
}

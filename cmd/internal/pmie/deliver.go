package pmie

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// A Match is a host, or an instance of a host, for which the condition of a rule is true. A
// rule whose condition names no hosts or instances has a single match.
type Match struct {
	Host     string            // its name, "" if the rule is about none
	Conn     string            // how the host is reached: a host specification or an archive
	Instance string            // "" if the rule is not about instances
	Value    string            // as %v has it
	Limit    string            // the operator and operand of the comparison, such as "> 0.9"; "" without a comparison
	Text     string            // the strings of an action, with the values of this match alone
	Labels   map[string]string // the labels of the value that are not optional; only of actions that name a receiver
}

// A State is the state of a condition.
type State int

const (
	Unknown State = iota
	False
	True
)

func (s State) String() string {
	switch s {
	case False:
		return "false"
	case True:
		return "true"
	}
	return "unknown"
}

// An Evaluation is the result of evaluating a rule.
type Evaluation struct {
	Rule    string
	Expr    string // its condition, or that of the true rule of a ruleset
	Time    time.Time
	State   State
	Matches []Match // if it is true
}

// A Delivery is an action of a rule that names a receiver.
type Delivery struct {
	Rule     string
	Kind     ActionKind
	Receiver string
}

// A delivery is such an action and its rule.
type delivery struct {
	act, rule *expr // the rule may be one of a ruleset
}

// Deliveries lists the actions of all rules that name a receiver.
func (e *Engine) Deliveries() []Delivery {
	var list []Delivery
	for _, t := range e.tasks {
		for _, r := range t.rules {
			for _, d := range r.deliveries {
				list = append(list, Delivery{Rule: r.name, Kind: kindOf(d.act), Receiver: d.act.text})
			}
		}
	}
	return list
}

// collect finds the actions of a rule that name a receiver.
func (r *named) collect(x, rule *expr) {
	switch {
	case x == nil:
	case x.op == opRule:
		r.collect(x.arg2, x)
	case rule == nil && (x.op == opRuleset || x.op == opOr || x.op == opOther),
		rule != nil && (x.op == actSeq || x.op == actAlt):
		r.collect(x.arg1, rule)
		r.collect(x.arg2, rule)
	case rule != nil && x.op.delivers():
		r.deliveries = append(r.deliveries, delivery{act: x, rule: rule})
	}
}

func kindOf(x *expr) ActionKind { return ActionKind(x.op - actShell) }

// actionOf returns the fields that all actions of the rule being evaluated share.
func (e *Engine) actionOf(x *expr) Action {
	a := Action{Kind: kindOf(x), Time: timestamp(e.now).Time().In(e.cfg.Zone)}
	if e.rule != nil {
		a.Rule = e.rule.name
	}
	if e.cfg.Act != nil || e.cfg.Alert != nil {
		a.Expr = conditionOf(e.current)
	}
	return a
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

// evalDeliver notifies a receiver of the matches of a rule.
func evalDeliver(e *Engine, x *expr) {
	a := e.actionOf(x)
	a.Matches = e.matches(e.current, x.arg1, true)
	var text strings.Builder
	for _, m := range a.Matches {
		text.WriteString(m.Text)
	}
	a.Text = text.String()
	x.truths[0] = truthOf(e.deliver(x, a) == nil)
	if !e.held(x) {
		x.last = e.now
		e.stats.Actions++
	}
}

// deliver passes an action to Config.Alert, or to Config.Act if that is nil.
func (e *Engine) deliver(x *expr, a Action) error {
	a.Receiver = x.text
	if x.arg2 != nil {
		a.Holdoff = time.Duration(math.Min(x.arg2.nums[0], math.MaxInt32) * float64(time.Second))
	}
	switch {
	case e.cfg.Alert != nil:
		return e.cfg.Alert(e.ctx, a)
	case a.Resolved:
		return nil
	case e.cfg.Act != nil:
		if e.held(x) {
			return nil
		}
		return e.cfg.Act(e.ctx, a)
	}
	e.notify(slog.LevelError, fmt.Sprintf("the action %v is not supported\n", a.Kind))
	return errors.ErrUnsupported
}

// settle notifies receivers and observers of a rule that is not true.
func (e *Engine) settle(r *named) {
	if e.cfg.Alert != nil && e.archives == nil {
		for i, d := range r.deliveries {
			if e.over(r.deliveries, i) {
				e.current = d.rule
				a := e.actionOf(d.act)
				a.Resolved = true
				e.deliver(d.act, a)
			}
		}
	}
	if e.cfg.Observe == nil || r.x.op != opRule && r.x.op != opRuleset {
		return
	}
	ev := Evaluation{Rule: r.name, Expr: conditionOf(r.x), Time: timestamp(e.now).Time().In(e.cfg.Zone), State: False}
	switch {
	case e.fired != nil:
		ev.State, ev.Expr = True, conditionOf(e.fired)
		ev.Matches = e.matches(e.fired, nil, false)
	case r.x.valid == 0 || r.x.truths[0] == isUnknown:
		ev.State = Unknown
	}
	e.cfg.Observe(ev)
}

// over reports whether the ith action of a rule must report that the rule is not true any more.
// If the rules of a ruleset have several actions for one receiver, the first of them reports it,
// provided none has reported a match and each rule is known not to be true.
func (e *Engine) over(list []delivery, i int) bool {
	for j, d := range list {
		if d.act.op != list[i].act.op || d.act.text != list[i].act.text {
			continue
		}
		if j < i || d.rule.pass == e.pass && (d.rule.valid == 0 || d.rule.truths[0] != isFalse) {
			return false
		}
	}
	return true
}

// matches returns the matches of a rule, with the strings of an action.
func (e *Engine) matches(rule, arg *expr, labels bool) []Match {
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
			m.Labels = e.labelsOf(bind.m, bind.number)
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

// limitOf returns the operator and the ith value of the other operand of a comparison, as it is now: "> 0.9".
func limitOf(condition, what *expr, i int) string {
	if condition == nil || condition.sem != semTruth {
		return ""
	}
	o, other := condition.op, condition.arg2
	switch {
	case o < opEq || o > opGte:
		if limit := limitOf(condition.arg1, what, i); limit != "" {
			return limit
		}
		return limitOf(condition.arg2, what, i)
	case condition.arg1 == what:
	case condition.arg2 == what:
		other = condition.arg1
		switch o {
		case opLt:
			o = opGt
		case opLte:
			o = opGte
		case opGt:
			o = opLt
		case opGte:
			o = opLte
		}
	default:
		return ""
	}
	if other == nil || other.span <= 0 || other.nvals <= 0 {
		return ""
	}
	if i >= other.span {
		i = 0
	}
	return string(appendSamples(append([]byte(strings.TrimSuffix(o.String(), "<str>")), ' '), other, i))
}

// labels are the labels of a metric and its instances.
type labels struct {
	common []pcp.LabelSet
	insts  map[int32]pcp.LabelSet
	asked  float64
}

// labelsOf returns the labels of a value. They are requested once, and again for a new
// instance. If no labels are available it returns nil.
func (e *Engine) labelsOf(m *metric, inst int32) map[string]string {
	l := m.labels
	known := false
	if l != nil {
		_, known = l.insts[inst]
		known = known || inst == pcp.InNull
	}
	if !known && (l == nil || l.asked != e.now) {
		l = e.askLabels(m)
		m.labels = l
	}
	sets := l.common
	if set, ok := l.insts[inst]; ok {
		sets = append(sets[:len(sets):len(sets)], set)
	}
	var all map[string]string
	for i := range sets {
		for label := range sets[i].All() {
			if label.Flags&pcp.LabelOptional != 0 {
				continue
			}
			if all == nil {
				all = make(map[string]string)
			}
			value := label.Value
			var text string
			if json.Unmarshal([]byte(value), &text) == nil {
				value = text
			}
			all[label.Name] = value
		}
	}
	return all
}

func (e *Engine) askLabels(m *metric) *labels {
	l := &labels{asked: e.now, insts: make(map[int32]pcp.LabelSet)}
	c, err := e.context(m.conn)
	if err != nil {
		return l
	}
	// A collector without support for labels is like a collector without labels.
	l.common, _ = c.LookupLabels(e.ctx, m.desc.PMID)
	if m.desc.InDom == pcp.InDomNull {
		return l
	}
	sets, err := c.Labels(e.ctx, pcp.LabelInstances, uint32(m.desc.InDom))
	if err != nil {
		return l
	}
	for _, s := range sets {
		l.insts[s.Inst] = s
	}
	// Instances without labels are known not to have any.
	for _, inst := range m.insts {
		if _, ok := l.insts[inst]; !ok {
			l.insts[inst] = pcp.LabelSet{Inst: inst}
		}
	}
	return l
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

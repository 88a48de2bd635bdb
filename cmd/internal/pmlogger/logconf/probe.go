package logconf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmapi"
)

// probed is the result of a source for the metric of a group's probe.
type probed struct {
	exists bool
	desc   pcp.Desc // with PMIDNull if the metric is unknown
	set    *pcp.ValueSet
}

// Probe requests the metrics of the groups' probes from a source. It returns an error if the source
// does not answer; an unknown metric is not an error.
func (s *Set) Probe(ctx context.Context, c *pmapi.Context) error {
	var ask []*Group
	var names []string
	asked := false
	for _, g := range s.groups {
		if g.valid && g.hasMetric {
			asked = true
			if g.metric != "" { // not the name of a metric
				ask = append(ask, g)
				names = append(names, g.metric)
			}
		}
	}
	if !asked {
		// The C tool sends the request all the same.
		s.warnf("cannot lookup metric names: %s\n", pcp.ErrTooSmall)
		return nil
	}
	if len(names) == 0 {
		return nil
	}
	ids, err := c.LookupName(ctx, names...)
	if err != nil && !isAboutNames(err) {
		return fmt.Errorf("cannot lookup metric names: %w", err)
	}
	known := ids[:0:0]
	seen := make(map[pcp.PMID]int, len(ids))
	for _, id := range ids {
		if _, ok := seen[id]; !ok && id != pcp.PMIDNull {
			seen[id] = len(known)
			known = append(known, id)
		}
	}
	if len(known) == 0 {
		return nil
	}
	res, err := c.Fetch(ctx, known)
	if err != nil {
		return fmt.Errorf("cannot fetch metric values: %w", err)
	}
	descs, err := c.LookupDescs(ctx, known...)
	if err != nil && len(descs) != len(known) || broken(err) {
		return fmt.Errorf("cannot look up descriptors of metrics: %w", err)
	}
	for i, g := range ask {
		k, ok := seen[ids[i]]
		if !ok {
			continue
		}
		g.probed = probed{exists: true, desc: descs[k]}
		if k < len(res.Sets) {
			g.probed.set = &res.Sets[k]
		}
	}
	return nil
}

// isAboutNames reports whether an error means that names are unknown, or that their agents are
// away.
func isAboutNames(err error) bool {
	return !broken(err) && pcp.Code(err) != pcp.ErrTooSmall
}

// broken reports whether an error means that the source cannot be used any more.
func broken(err error) bool {
	return err != nil && (errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout) || errors.Is(err, pcp.ErrNotConn) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || pcp.Code(err) > -1000)
}

// Evaluate decides the state of each group. It warns twice about a condition that cannot be evaluated, as
// the C tool does with -s.
func (s *Set) Evaluate() {
	for _, g := range s.groups {
		s.holds(g)
		s.evaluate(g)
	}
}

// evaluate decides the state of a group.
func (s *Set) evaluate(g *Group) State {
	switch {
	case g.force != nil:
		g.final = g.Saved
		if g.final == Unset {
			g.final = g.ifTrue
		}
		if g.final == Exclude || g.final == Available && (!g.hasMetric || !s.holds(g)) {
			return g.final
		}
		g.final, g.success = Include, true
		return g.final
	case !g.fromFile:
		g.final = g.Saved
	case s.holds(g):
		if g.final = g.Saved; g.final != Include {
			g.final = g.ifTrue
		}
		g.success = true
	default:
		if g.final = g.Saved; g.final != Exclude {
			g.final = g.ifFalse
		}
		g.success = false
	}
	return g.final
}

// holds reports whether the condition of a group is true. A condition that cannot be evaluated counts as
// true, as in C.
func (s *Set) holds(g *Group) bool {
	p := &g.probed
	switch g.style {
	case styleNone, styleExists:
		return p.exists
	case styleValues:
		return p.set != nil && len(p.set.Values) > 0
	}
	if !p.exists || p.desc.PMID == pcp.PMIDNull || p.set == nil {
		return false
	}
	switch {
	case g.style == styleMatch || g.style == styleNoMatch:
		return s.matches(g)
	case p.desc.Type == pcp.TypeString:
		given := g.operand
		for v := range values(p.set, pcp.TypeString, pcp.TypeString) {
			text, _ := v.Text()
			if unquoted, ok := unquote(given); ok && len(unquoted) == len(text) {
				given = unquoted
			}
			if compare(g.style, cmp.Compare(text, given)) {
				return true
			}
			given = g.operand
		}
		return false
	}
	given, end, _ := ctext.Strtod(g.operand)
	if end < len(g.operand) {
		s.warnf("Error: %s operand \"%s\" is not a number\n", s.path(g), g.operand)
		return true
	}
	for v := range values(p.set, p.desc.Type, pcp.TypeDouble) {
		if compareNumbers(g.style, v.Double(), given) {
			return true
		}
	}
	return false
}

// values yields the values of a set converted to a type, skipping those that cannot be converted.
func values(vs *pcp.ValueSet, from, to pcp.Type) func(func(pcp.Value) bool) {
	return func(yield func(pcp.Value) bool) {
		for _, v := range vs.Values {
			if v, err := v.Extract(from, to); err == nil && !yield(v) {
				return
			}
		}
	}
}

// unquote removes the quotes around s.
func unquote(s string) (string, bool) {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1], true
	}
	return s, false
}

func compare(st style, order int) bool {
	switch st {
	case styleEQ:
		return order == 0
	case styleNE:
		return order != 0
	case styleGT:
		return order > 0
	case styleGE:
		return order >= 0
	case styleLT:
		return order < 0
	}
	return order <= 0
}

// compareNumbers is separate from compare because of NaN.
func compareNumbers(st style, v, given float64) bool {
	switch st {
	case styleEQ:
		return v == given
	case styleNE:
		return v != given
	case styleGT:
		return v > given
	case styleGE:
		return v >= given
	case styleLT:
		return v < given
	}
	return v <= given
}

// maxMatched is the number of bytes of a quoted string that are matched with a regular expression.
const maxMatched = 1023

func (s *Set) matches(g *Group) bool {
	t := g.probed.desc.Type
	if t < 0 || t > pcp.TypeString {
		s.warnf("%s uses regular expression on non-scalar metric\n", g.Tag)
		return false
	}
	re, err := compile(g.operand)
	if err != nil {
		s.warnf("expression \"%s\" in group %s is invalid\n", g.operand, g.Tag)
		return true
	}
	for v := range values(g.probed.set, t, t) {
		text, ok := unquote(matchText(v, t))
		if ok && len(text) > maxMatched {
			text = text[:maxMatched]
		}
		if re.MatchString(text) == (g.style == styleMatch) {
			return true
		}
	}
	return false
}

// matchText formats a value for matching with regular expressions.
func matchText(v pcp.Value, t pcp.Type) string {
	switch t {
	case pcp.TypeString:
		text, _ := v.Text()
		return text
	case pcp.TypeFloat:
		return fmt.Sprintf("%f", v.Float())
	case pcp.TypeDouble:
		return fmt.Sprintf("%f", v.Double())
	}
	return v.As(t).String()
}

// compile compiles a POSIX extended regular expression, with extensions of the C library such as
// \w.
func compile(expr string) (*regexp.Regexp, error) {
	re, err := regexp.CompilePOSIX(expr)
	if err != nil && strings.Contains(expr, `\`) {
		return regexp.Compile(expr)
	}
	return re, err
}

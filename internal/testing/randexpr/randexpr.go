// Package randexpr writes expressions of derived metrics at random, for tests that
// compare our results with those of the C library.
package randexpr

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
)

// A Writer writes expressions over the metrics that were added to it.
type Writer struct {
	r       *rand.Rand
	metrics []pcp.Desc
	names   map[pcp.PMID]string
	insts   map[pcp.InDom][]pcp.Instance

	ofMetric, ofAny *regexp.Regexp // functions of a metric, which all versions take, and of anything
}

// New returns a writer that writes the same expressions for the same seeds and metrics.
func New(seed, stream uint64) *Writer {
	return &Writer{
		r:     rand.New(rand.NewPCG(seed, stream)),
		names: make(map[pcp.PMID]string), insts: make(map[pcp.InDom][]pcp.Instance),
		ofMetric: regexp.MustCompile(`(delta|rate|instant)\( *[a-z][a-zA-Z0-9_.]* *\)`),
		ofAny:    regexp.MustCompile(`(delta|rate|instant)\(`),
	}
}

// Add adds a metric and the instances of its domain to w. It reports whether expressions may have it:
// each PMID counts once, and not every name can be in an expression.
func (w *Writer) Add(name string, d pcp.Desc, insts []pcp.Instance) bool {
	if w.names[d.PMID] != "" || slices.ContainsFunc(strings.Split(name, "."), reserved) {
		return false
	}
	w.names[d.PMID] = name
	w.metrics = append(w.metrics, d)
	if d.InDom != pcp.InDomNull {
		w.insts[d.InDom] = insts
	}
	return true
}

// Len returns the number of metrics added to w.
func (w *Writer) Len() int { return len(w.metrics) }

// reserved reports whether a name cannot be in an expression.
func reserved(s string) bool { return s == "type" || s == "semantics" || s == "units" }

func (w *Writer) pick(list ...string) string { return list[w.r.IntN(len(list))] }

// metric returns a metric, mostly one with numbers.
func (w *Writer) metric(numeric bool) pcp.Desc {
	for range 50 {
		if d := w.metrics[w.r.IntN(len(w.metrics))]; d.Type.IsNumeric() || !numeric && w.r.IntN(8) == 0 {
			return d
		}
	}
	return w.metrics[0]
}

func (w *Writer) name(d pcp.Desc) string { return w.names[d.PMID] }

// expr returns an expression of a few levels.
func (w *Writer) expr(depth int, like *pcp.Desc) string {
	m := func() string {
		// Expressions bind only if their operands belong together.
		if like != nil && w.r.IntN(10) < 8 {
			var same []pcp.Desc
			for _, d := range w.metrics {
				if d.Type.IsNumeric() && d.Sem == like.Sem && d.Units == like.Units && (d.InDom == like.InDom || d.InDom == pcp.InDomNull) {
					same = append(same, d)
				}
			}
			if len(same) > 0 {
				return w.name(same[w.r.IntN(len(same))])
			}
		}
		return w.name(w.metric(false))
	}
	if depth <= 0 {
		switch w.r.IntN(12) {
		case 0:
			return fmt.Sprint(w.r.IntN(1000))
		case 1:
			return w.pick("0.5", "10.25", "0", "1", "4294967295", "3.")
		case 2:
			if d := w.metric(true); len(w.insts[d.InDom]) > 0 {
				list := w.insts[d.InDom]
				return w.name(d) + "[" + strings.NewReplacer("]", `\]`, `\`, `\\`).Replace(list[w.r.IntN(len(list))].Name) + "]"
			}
		case 3:
			return fmt.Sprintf("mkconst(%d, type=%s, semantics=%s, units=%q)", w.r.IntN(5), w.pick("32", "u32", "64", "u64", "float", "double"),
				w.pick("counter", "instant", "discrete"), w.pick("", "byte", "kbyte", "count", "sec", "millisec", "byte / sec", "count x 10^3"))
		}
		return m()
	}
	sub := func() string { return w.expr(depth-1-w.r.IntN(2), like) }
	switch w.r.IntN(16) {
	case 0, 1, 2, 3:
		return sub() + w.pick(" + ", " - ", " * ", " / ") + sub()
	case 4:
		return "(" + sub() + ")" + w.pick("+", "-", "*", "/") + "(" + sub() + ")"
	case 5, 6:
		return sub() + w.pick(" < ", " <= ", " == ", " >= ", " > ", " != ") + sub()
	case 7:
		return "(" + sub() + " > " + sub() + ")" + w.pick(" && ", " || ") + "(" + sub() + " <= " + sub() + ")"
	case 8:
		return "-" + sub()
	case 9:
		// In parentheses: of numbers other than these C's has bits that were never set.
		return "(!((" + sub() + ") != (" + sub() + ")))"
	case 10, 11:
		return w.pick("delta", "rate", "instant", "delta", "rate") + "(" + m() + ")"
	case 12:
		return w.pick("avg", "sum", "count") + "(" + m() + ")"
	case 13:
		return "matchinst(" + w.pick("", "!") + w.pick("/a/", "/^[a-m]/", "/[0-9]$/", "/^(bin|sd)/", "/./") + ", " + w.expr(0, like) + ")"
	case 14:
		return "rescale(" + sub() + ", " + w.pick(`"kbyte"`, `"sec"`, `"count"`, `"mbyte"`, `"hour"`) + ")"
	}
	s := "(" + sub() + " > " + sub() + ") ? " + sub() + " : " + sub()
	if strings.Contains(s, "[") || strings.Contains(s, "matchinst") {
		return m() // where an arm has fewer values, C reads instances after its end
	}
	return s
}

// Definition returns an expression. Some are broken: they miss a token, or have
// one too many or two in the wrong order. Others make no sense for their operands.
func (w *Writer) Definition() string {
	like := w.metric(true)
	s := w.expr(w.r.IntN(4), &like)
	// After a mistake inside of matchinst the C library takes a slash for a
	// pattern in all expressions that follow.
	if strings.Contains(s, "!") || strings.Contains(s, "matchinst") || w.r.IntN(6) > 0 {
		return s
	}
	words := strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ").Replace(s))
	i := w.r.IntN(len(words))
	switch w.r.IntN(3) {
	case 0:
		words = slices.Delete(words, i, i+1)
	case 1:
		words = slices.Insert(words, i, w.pick("+", "(", ")", "?", ":", "x", "7", "&", "==", "\"s\"", ","))
	default:
		words[i], words[len(words)-1] = words[len(words)-1], words[i]
	}
	if len(words) == 0 {
		return "("
	}
	broken := strings.NewReplacer(" ( ", "(", " ) ", ")").Replace(strings.Join(words, " "))
	if strings.Contains(broken, "[") || len(w.ofMetric.FindAllString(broken, -1)) != len(w.ofAny.FindAllString(broken, -1)) {
		return s // an instance that C finds by its first characters; accepted only by later versions
	}
	return broken
}

// Growing returns an expression over counters whose values never get less, as
// long as the counters do not.
func (w *Writer) Growing() string {
	var counters []pcp.Desc
	for _, d := range w.metrics {
		if d.Sem == pcp.SemCounter && d.Type.IsNumeric() {
			counters = append(counters, d)
		}
	}
	first := counters[w.r.IntN(len(counters))]
	var same []pcp.Desc
	for _, d := range counters {
		if d.Units == first.Units && d.InDom == first.InDom {
			same = append(same, d)
		}
	}
	s := w.name(first)
	for range w.r.IntN(4) {
		s += " + " + w.name(same[w.r.IntN(len(same))])
	}
	switch w.r.IntN(6) {
	case 0:
		return "(" + s + ")" + w.pick(" * 2.5", " * 1.0", " / 3", " / 0.5")
	case 1:
		return "instant(" + s[:strings.IndexByte(s+" ", ' ')] + ")"
	case 2:
		return w.pick("sum", "max", "min", "avg") + "(" + w.name(first) + ")"
	case 3:
		return "scalar(" + s + ")"
	case 4:
		return "(" + s + ") > 0 ? (" + s + ") : " + w.name(first)
	}
	return s
}

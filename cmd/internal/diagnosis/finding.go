package diagnosis

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// A Diagnosis is the result of [Run].
type Diagnosis struct {
	Host       string
	Start, End pcp.Timestamp // of the samples
	Interval   time.Duration
	Samples    int

	Findings  []Finding // causes before their effects, in the order of their severity
	Checked   int       // number of rules
	Unchecked []Unchecked
	Unread    string // the part of the metrics that the collector may not read, and the command that gives it; "" for none

	Changes  []Change // the largest first
	Compared *Comparison
}

// Unchecked is a rule that could not be checked.
type Unchecked struct {
	ID     string
	Reason string
}

// A Finding is a rule that was true.
type Finding struct {
	Rule     *Rule
	ID       string
	Severe   bool   // the rule's second limit was exceeded
	Instance string // of which the rule was true; "" if its value has no instances
	Text     string

	Since, Until pcp.Timestamp // the first and the last sample for which it was true
	AtStart      bool          // it was true from the first sample on
	AtEnd        bool          // and to the last
	Held         int           // number of samples for which it was true

	Value      float64 // the worst one
	Average    float64 // of the samples for which it was true
	Time       pcp.Timestamp
	Units      string
	Expression string
	Metrics    []string // of the expression

	Takers []Share
	More   int // number of further instances of which the rule was true

	Cause   int   // index of the finding whose effect this is, or -1
	Effects []int // indexes of its effects

	inst  int32
	score float64 // from 0 to 1, how far beyond the limit
	first int     // number of the first sample for which it was true
	last  int
	order int
}

// A Share is what a process, a control group or a device takes.
type Share struct {
	Kind       string
	Instance   string
	PID        int32 // of a process, else 0
	User       string
	CGroup     string
	Container  string
	Value      float64
	Text       string // the value with its unit, and the rank if that is not the average
	Rank       Rank
	Units      string
	Expression string
	Metrics    []string
	Texts      bool // the values of Expression are texts, and Value is derived from them
	inst       int32
}

// rank orders findings: causes by their severity, each followed by its effects.
func rank(list []Finding) []Finding {
	for i := range list {
		list[i].Cause = -1
	}
	for i := range list {
		for j := range list {
			c, e := &list[j], &list[i]
			if i == j || !c.Rule.causes(e.ID) || c.Since.Compare(e.Until) > 0 || e.Since.Compare(c.Until) > 0 {
				continue
			}
			if e.Cause < 0 || nearer(list, j, e.Cause) {
				e.Cause = j
			}
		}
	}
	children := make([][]int, len(list))
	var roots []int
	for i := range list {
		if c := list[i].Cause; c >= 0 {
			children[c] = append(children[c], i)
		} else {
			roots = append(roots, i)
		}
	}
	severity := make([]float64, len(list))
	var weigh func(i int) float64
	weigh = func(i int) float64 {
		severity[i] = list[i].score
		if list[i].Severe {
			severity[i]++
		}
		for _, c := range children[i] {
			severity[i] = max(severity[i], weigh(c))
		}
		return severity[i]
	}
	for _, i := range roots {
		weigh(i)
	}
	var sorted []Finding
	at := make([]int, len(list))
	var put func(indexes []int)
	put = func(indexes []int) {
		slices.SortFunc(indexes, func(a, b int) int {
			return cmp.Or(cmp.Compare(severity[b], severity[a]), cmp.Compare(list[a].order, list[b].order), cmp.Compare(a, b))
		})
		for _, i := range indexes {
			at[i] = len(sorted)
			f := list[i]
			if f.Cause >= 0 {
				f.Cause = at[f.Cause]
				sorted[f.Cause].Effects = append(sorted[f.Cause].Effects, at[i])
			}
			sorted = append(sorted, f)
			put(children[i])
		}
	}
	put(roots)
	return sorted
}

// nearer reports whether finding a is more directly the cause of an effect than b: a is itself an effect of b.
// Otherwise the more severe one is.
func nearer(list []Finding, a, b int) bool {
	x, y := &list[a], &list[b]
	switch {
	case y.Rule.causes(x.ID):
		return true
	case x.Rule.causes(y.ID):
		return false
	case x.Severe != y.Severe:
		return x.Severe
	}
	return x.score > y.score
}

// score returns how far a value is beyond the limit of a rule, from 0 to 1.
func (r *Rule) score(v float64) float64 {
	if r.severe(v) {
		return 1
	}
	if math.IsInf(r.Severe, 0) || r.Severe == r.Limit {
		return 0.5
	}
	return min(max((v-r.Limit)/(r.Severe-r.Limit), 0), 1)
}

// holds reports whether a value is beyond the limit of a rule.
func (r *Rule) holds(v float64) bool {
	if r.Above {
		return v > r.Limit
	}
	return v < r.Limit
}

func (r *Rule) severe(v float64) bool {
	if r.Above {
		return v >= r.Severe
	}
	return v <= r.Severe
}

// text returns the text of a finding.
func (f *Finding) text(u pcp.Units, name string, sum float64) string {
	name = cmp.Or(name, f.Instance)
	r := f.Rule
	return strings.NewReplacer("{value}", Format(f.Value, r.Unit, u), "{sum}", Format(math.Round(sum), "", pcp.Units{}),
		"{limit}", Format(r.Limit, r.Unit, u), "{name}", name, "{instance}", f.Instance).Replace(r.Text)
}

// Format returns a number with a unit, or if that is empty with that of units, scaled for readers.
func Format(v float64, unit string, u pcp.Units) string {
	switch {
	case unit == "%":
		return number(v) + "%"
	case strings.HasPrefix(unit, "/"):
		return number(v) + unit
	case unit != "":
		return number(v) + " " + unit
	case u.DimSpace == 1 && u.DimCount == 0:
		bytes := pcp.NewUnits(1, int(u.DimTime), 0, 0, pcp.TimeSec, 0)
		suffix := "B"
		switch u.DimTime {
		case 0:
		case -1:
			suffix = "B/s"
		default:
			return number(v) + " " + u.String()
		}
		if b, err := pcp.ConvScale(pcp.DoubleValue(v), u, bytes); err == nil {
			v = b.Double()
		}
		n := 0
		for ; math.Abs(v) >= 1000 && n < 6; n++ {
			v /= 1000
		}
		return number(v) + " " + [...]string{"", "k", "M", "G", "T", "P", "E"}[n] + suffix
	case u.DimSpace == 0 && u.DimCount == 1 && u.ScaleCount == 0 && u.DimTime == 0:
		return number(v)
	case u.DimSpace == 0 && u.DimCount == 1 && u.ScaleCount == 0 && u.DimTime == -1 && u.ScaleTime == pcp.TimeSec:
		return number(v) + "/s"
	case u.HasDim():
		return number(v) + " " + u.String()
	}
	return number(v)
}

// number returns a number with three digits.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e15 || a > 0 && a < 0.001:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 100 || a == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return trim(strconv.FormatFloat(v, 'f', 1, 64))
	case a >= 1:
		return trim(strconv.FormatFloat(v, 'f', 2, 64))
	}
	return trim(strconv.FormatFloat(v, 'f', 3, 64))
}

func trim(s string) string {
	if strings.Contains(s, ".") {
		return strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

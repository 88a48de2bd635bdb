package eval

import (
	"regexp"

	"github.com/go-pcp/pcp"
)

// A Sem is the kind of a value: the semantics of a metric, or the type of another value.
type Sem uint8

const (
	SemUnknown Sem = iota // not known yet
	SemInstant
	SemDiscrete
	SemVar     // a number that changes
	SemNumber  // a constant
	SemTruth   // true, false or unknown
	SemText    // a constant string
	SemPattern // a regular expression
)

// None is the size of a dimension that an expression does not have.
const None = -1

// An Expr is a node of an expression and the values that it had last. Values of one
// sample are contiguous: those of the instances of the first host, then of the second.
//
// A dimension is less than 0 where there is one value for all of it; insts is 0 where
// instances are not available.
type Expr struct {
	*Cell

	Arg1, Arg2 *Expr
	Parent     *Expr
	same       *Expr // the node that has the values of this one while there is a plan
	Units      bool  // known
	Nvals      int   // of all samples
	Texts      []string

	Unit    pcp.Units // of a constant
	Pattern *regexp.Regexp
	hits    []bool   // which instances match
	hitsOf  int      // the changes of instances that hits are of, 0 if there are none
	Text    string   // of a constant; the name of a variable; the receiver of an action
	Args    []string // of an action, apart
	Pass    uint64   // the evaluation in which a rule was last looked at
	Syslog  *Syslog  // where an action's text goes
	Last    float64  // when an action ran, 0 for never
	File    string   // with the rule of an action, "" for the standard input
	Line    int      // of the arrow before an action
}

// A Cell is the part of a node that each evaluation reads. The cells of a plan are contiguous, in the order of
// its steps: of a thousand rules a processor's caches hold only a part.
type Cell struct {
	Op         Op
	kind       fetchKind // of a fetch
	Sem        Sem
	one1, one2 bool // the argument always has one value
	rates      int8 // the result of rated, unknown until it is called
	Valid      int  // samples that have values, the newest first
	Span       int  // values of a sample
	Nums       []float64
	Samples    []sample
	Truths     []int8
	inline     struct { // for one value of one sample, without a separate allocation
		sample [1]sample
		num    [1]float64
		truth  [1]int8
	}

	Metrics             *Metrics
	node                *Expr
	Hosts, Insts, Times int
	_                   [3]uint64 // three lines of a cache
}

// move moves the cell of x.
func (x *Expr) move(to *Cell) {
	from := x.Cell
	*to = *from
	if len(from.Samples) == 1 {
		to.Samples = to.inline.sample[:]
	}
	if len(from.Nums) == 1 && &from.Nums[0] == &from.inline.num[0] {
		to.Nums = to.inline.num[:]
	}
	if len(from.Truths) == 1 && &from.Truths[0] == &from.inline.truth[0] {
		to.Truths = to.inline.truth[:]
	}
	x.Cell = to
}

// A sample has the index of the values of a sample, and their time.
type sample struct {
	at   int
	time float64
}

// Metrics are the metrics of a fetch, one for each host. Nodes above share the pointer:
// sharing it means that their values are for the same instances.
type Metrics struct {
	List []*Metric
}

// First returns the metric of the first host.
func (m *Metrics) First() *Metric { return m.List[0] }

// strings reports whether the values of x are those of a metric of strings.
func (x *Expr) strings() bool {
	return (x.Op == OpFetch || x.Op == OpDelay) && x.Metrics != nil && x.Metrics.First().Desc.Type == pcp.TypeString
}

// NewExpr returns a node above its arguments.
func NewExpr(o Op, arg1, arg2 *Expr, hosts, insts, times, samples int, s Sem) *Expr {
	whole := &struct {
		Expr
		Cell
	}{Expr: Expr{Arg1: arg1, Arg2: arg2}}
	x := &whole.Expr
	x.Cell = &whole.Cell
	x.Op, x.Sem, x.node = o, s, x
	x.Hosts, x.Insts, x.Times = hosts, insts, times
	x.sampled(samples)
	if arg1 != nil {
		arg1.Parent = x
		x.Metrics = Primary(arg1, arg2).Metrics
	}
	if arg2 != nil {
		arg2.Parent = x
	}
	x.Units = s == SemVar || s == SemNumber || s == SemTruth || s == SemText || s == SemPattern
	x.reshape()
	return x
}

// sampled makes x keep a number of samples, without values.
func (x *Expr) sampled(n int) {
	if n == 1 {
		x.inline.sample[0] = sample{}
		x.Samples = x.inline.sample[:]
		return
	}
	x.Samples = make([]sample, n)
}

// reshape allocates the values for the present dimensions.
func (x *Expr) reshape() {
	x.Span = x.Insts
	if x.Insts < 0 {
		x.Span = Abs(x.Hosts)
	}
	x.Nvals = x.Span * len(x.Samples)
	x.Room()
}

// Room allocates the values of all samples.
func (x *Expr) Room() {
	x.Nums, x.Truths, x.Texts = nil, nil, nil
	switch {
	case x.Sem == SemTruth && x.Nvals == 1:
		x.inline.truth[0] = 0
		x.Truths = x.inline.truth[:]
	case x.Sem == SemTruth:
		x.Truths = make([]int8, x.Nvals)
	case x.Sem == SemText:
	case x.strings():
		x.Texts = make([]string, x.Nvals)
	case x.Nvals == 1:
		x.inline.num[0] = 0
		x.Nums = x.inline.num[:]
	default:
		x.Nums = make([]float64, x.Nvals)
	}
	for i := range x.Samples {
		x.Samples[i].at = i * x.Span
	}
}

// Abs returns the absolute value of n.
func Abs(n int) int { return max(n, -n) }

// Numbers returns the numbers of a sample, the newest being 0.
func (x *Cell) Numbers(sample int) []float64 {
	at := x.Samples[sample].at
	return x.Nums[at : at+x.Span]
}

// Truth returns the truth values of a sample.
func (x *Cell) Truth(sample int) []int8 {
	at := x.Samples[sample].at
	return x.Truths[at : at+x.Span]
}

// Strs returns the strings of a sample.
func (x *Expr) Strs(sample int) []string {
	at := x.Samples[sample].at
	return x.Texts[at : at+x.Span]
}

// rotate makes the slot of the oldest sample that of the newest.
func (x *Cell) rotate() {
	n := len(x.Samples) - 1
	if n < 1 {
		return
	}
	oldest := x.Samples[n].at
	copy(x.Samples[1:], x.Samples[:n])
	x.Samples[0].at = oldest
}

// Keep makes x keep more samples.
func (x *Expr) Keep(samples int) {
	if len(x.Samples) == samples {
		return
	}
	x.sampled(samples)
	x.Nvals = x.Span * samples
	x.Valid = 0
	x.Room()
}

// Primary returns the argument that determines the dimensions of a node.
func Primary(arg1, arg2 *Expr) *Expr {
	varied := func(x *Expr) bool {
		return x.Metrics != nil && (x.Hosts != None || x.Insts != None || x.Times != None)
	}
	switch {
	case arg2 == nil || arg1.Nvals > 1:
		return arg1
	case arg2.Nvals > 1:
		return arg2
	case varied(arg1):
		return arg1
	case varied(arg2):
		return arg2
	}
	return arg1
}

// inherit takes semantics and instances from the arguments, and passes them on.
func (x *Expr) inherit() {
	up := false
	arg := Primary(x.Arg1, x.Arg2)
	if x.Sem == SemUnknown {
		switch {
		case x.Arg2 == nil:
			if x.Arg1.Sem != SemUnknown {
				up, x.Sem = true, x.Arg1.Sem
			}
		case x.Arg1.Sem != SemUnknown && x.Arg2.Sem != SemUnknown:
			up, x.Sem = true, arg.Sem
		default:
			return
		}
	}
	if !x.Units && x.Arg1.Units && (x.Arg2 == nil || x.Arg2.Units) {
		up, x.Units = true, true
	}
	if x.Insts != None && x.Insts != arg.Insts {
		up = true
		x.Insts = arg.Insts
		x.Valid = 0
		x.reshape()
	}
	if up && x.Parent != nil {
		x.Parent.inherit()
	}
}

// Instances takes semantics and instances from the metrics of a fetch, and passes them
// on.
func (x *Expr) Instances() {
	if x.Sem == SemUnknown {
		for _, m := range x.Metrics.List {
			if s := m.Desc.Sem; s != 0 {
				x.Units = true
				if x.Sem = SemInstant; s == pcp.SemDiscrete {
					x.Sem = SemDiscrete
				}
				break
			}
		}
	}
	n := None
	for _, m := range x.Metrics.List {
		if len := m.Count; len >= 0 {
			n = max(n, 0) + len
		}
	}
	up := x.Insts != n
	if up {
		x.Insts = n
		x.Valid = 0
		x.reshape()
	}
	if p := x.Parent; p != nil && (up || !p.Units && x.Units) {
		p.inherit()
	}
}

// Refit gives a fetch, and the nodes above it, the dimensions that they would have if the expression
// were made now: a metric was not known when the expression was made.
func (x *Expr) Refit() {
	x.Instances()
	x.retype()
	x.Settle()
	for x = x.Parent; x != nil && x.Op.computes(); x = x.Parent {
		arg := Primary(x.Arg1, x.Arg2)
		x.Metrics = arg.Metrics
		n := arg.Insts
		if d, ok := x.Op.domain(); ok && d != OverSamples {
			n = None
		}
		if x.Insts != n {
			x.Insts = n
			x.Valid = 0
			x.reshape()
		}
		x.retype()
		x.Settle()
	}
}

// retype allocates strings in place of numbers, or the other way round.
func (x *Expr) retype() {
	if (x.Op == OpFetch || x.Op == OpDelay) && x.strings() != (x.Texts != nil) {
		x.Valid = 0
		x.Room()
	}
}

// Unknown forgets all values below x.
func (x *Expr) Unknown() {
	if x.Op == OpNone || x.Op == OpVar {
		return
	}
	for _, arg := range []*Expr{x.Arg1, x.Arg2} {
		if arg != nil && x.Op != ActArgument {
			arg.Unknown()
		}
	}
	x.Valid = 0
	for i := range x.Truths {
		x.Truths[i] = Unknown
	}
	for i := range x.Nums {
		x.Nums[i] = nan()
	}
}

// Restart resets the state below x: no counter was seen before, and no action was done.
func (x *Expr) Restart() {
	if x.Op == OpFetch {
		for _, m := range x.Metrics.List {
			m.Before = 0
		}
		return
	}
	x.Last = 0
	for _, arg := range []*Expr{x.Arg1, x.Arg2} {
		if arg != nil && x.Op != ActArgument {
			arg.Restart()
		}
	}
}

// single reports whether an argument always has one value.
func single(x *Expr) bool {
	switch {
	case x.Op.Aggregate() && !x.Op.ofSamples() && x.Span <= 1:
		return true
	case x.Span == 1:
		if x.Metrics == nil {
			return true
		}
		m := x.Metrics.First()
		return m.Desc.InDom == pcp.InDomNull && m.Ready || m.Named > 0
	}
	return x.Sem == SemText
}

// Settle sets what x needs to know of its arguments and metrics when it is evaluated.
func (x *Expr) Settle() {
	x.one1 = x.Arg1 != nil && single(x.Arg1)
	x.one2 = x.Arg2 != nil && single(x.Arg2)
	x.rates = ratesUnknown
	x.hits, x.hitsOf = nil, 0
	if x.Op == OpFetch {
		switch m := x.Metrics.First(); {
		case m.Desc.InDom == pcp.InDomNull || m.Conv == 0:
			x.kind = fetchOne
		case m.Named == 0:
			x.kind = fetchAll
		default:
			x.kind = fetchNamed
		}
	}
}

// Syslog describes a message for the system log.
type Syslog struct {
	Priority int
	Tag      string
}

package pmie

import (
	"regexp"

	"github.com/go-pcp/pcp"
)

// A sem is the kind of a value: the semantics of a metric, or the type of another value.
type sem uint8

const (
	semUnknown sem = iota // not known yet
	semInstant
	semDiscrete
	semVar     // a number that changes
	semNumber  // a constant
	semTruth   // true, false or unknown
	semText    // a constant string
	semPattern // a regular expression
)

// none is the size of a dimension that an expression does not have.
const none = -1

// An expr is a node of an expression and the values that it had last. Values of one
// sample are contiguous: those of the instances of the first host, then of the second.
//
// A dimension is less than 0 where there is one value for all of it; insts is 0 where
// instances are not available.
type expr struct {
	*cell

	arg1, arg2 *expr
	parent     *expr
	same       *expr // the node that has the values of this one while there is a plan
	units      bool  // known
	nvals      int   // of all samples
	texts      []string

	unit    pcp.Units // of a constant
	pattern *regexp.Regexp
	hits    []bool   // which instances match
	hitsOf  int      // the changes of instances that hits are of, 0 if there are none
	text    string   // of a constant; the name of a variable; the receiver of an action
	args    []string // of an action, apart
	pass    uint64   // the evaluation in which a rule was last looked at
	syslog  *syslog  // where an action's text goes
	last    float64  // when an action ran, 0 for never
}

// A cell is the part of a node that each evaluation reads. The cells of a plan are contiguous, in the order of
// its steps: of a thousand rules a processor's caches hold only a part.
type cell struct {
	op         op
	kind       fetchKind // of a fetch
	sem        sem
	one1, one2 bool // the argument always has one value
	rates      int8 // the result of rated, unknown until it is called
	valid      int  // samples that have values, the newest first
	span       int  // values of a sample
	nums       []float64
	samples    []sample
	truths     []int8
	inline     struct { // for one value of one sample, without a separate allocation
		sample [1]sample
		num    [1]float64
		truth  [1]int8
	}

	metrics             *metrics
	node                *expr
	hosts, insts, times int
	_                   [3]uint64 // three lines of a cache
}

// move moves the cell of x.
func (x *expr) move(to *cell) {
	from := x.cell
	*to = *from
	if len(from.samples) == 1 {
		to.samples = to.inline.sample[:]
	}
	if len(from.nums) == 1 && &from.nums[0] == &from.inline.num[0] {
		to.nums = to.inline.num[:]
	}
	if len(from.truths) == 1 && &from.truths[0] == &from.inline.truth[0] {
		to.truths = to.inline.truth[:]
	}
	x.cell = to
}

// A sample has the index of the values of a sample, and their time.
type sample struct {
	at   int
	time float64
}

// metrics are the metrics of a fetch, one for each host. Nodes above share the pointer:
// sharing it means that their values are for the same instances.
type metrics struct {
	list []*metric
}

func (m *metrics) first() *metric { return m.list[0] }

// strings reports whether the values of x are those of a metric of strings.
func (x *expr) strings() bool {
	return (x.op == opFetch || x.op == opDelay) && x.metrics != nil && x.metrics.first().desc.Type == pcp.TypeString
}

// newExpr returns a node above its arguments.
func newExpr(o op, arg1, arg2 *expr, hosts, insts, times, samples int, s sem) *expr {
	whole := &struct {
		expr
		cell
	}{expr: expr{arg1: arg1, arg2: arg2}}
	x := &whole.expr
	x.cell = &whole.cell
	x.op, x.sem, x.node = o, s, x
	x.hosts, x.insts, x.times = hosts, insts, times
	x.sampled(samples)
	if arg1 != nil {
		arg1.parent = x
		x.metrics = primary(arg1, arg2).metrics
	}
	if arg2 != nil {
		arg2.parent = x
	}
	x.units = s == semVar || s == semNumber || s == semTruth || s == semText || s == semPattern
	x.reshape()
	return x
}

// sampled makes x keep a number of samples, without values.
func (x *expr) sampled(n int) {
	if n == 1 {
		x.inline.sample[0] = sample{}
		x.samples = x.inline.sample[:]
		return
	}
	x.samples = make([]sample, n)
}

// reshape allocates the values for the present dimensions.
func (x *expr) reshape() {
	x.span = x.insts
	if x.insts < 0 {
		x.span = abs(x.hosts)
	}
	x.nvals = x.span * len(x.samples)
	x.room()
}

// room allocates the values of all samples.
func (x *expr) room() {
	x.nums, x.truths, x.texts = nil, nil, nil
	switch {
	case x.sem == semTruth && x.nvals == 1:
		x.inline.truth[0] = 0
		x.truths = x.inline.truth[:]
	case x.sem == semTruth:
		x.truths = make([]int8, x.nvals)
	case x.sem == semText:
	case x.strings():
		x.texts = make([]string, x.nvals)
	case x.nvals == 1:
		x.inline.num[0] = 0
		x.nums = x.inline.num[:]
	default:
		x.nums = make([]float64, x.nvals)
	}
	for i := range x.samples {
		x.samples[i].at = i * x.span
	}
}

func abs(n int) int { return max(n, -n) }

// numbers returns the numbers of a sample, the newest being 0.
func (x *cell) numbers(sample int) []float64 {
	at := x.samples[sample].at
	return x.nums[at : at+x.span]
}

// truth returns the truth values of a sample.
func (x *cell) truth(sample int) []int8 {
	at := x.samples[sample].at
	return x.truths[at : at+x.span]
}

// strs returns the strings of a sample.
func (x *expr) strs(sample int) []string {
	at := x.samples[sample].at
	return x.texts[at : at+x.span]
}

// rotate makes the slot of the oldest sample that of the newest.
func (x *cell) rotate() {
	n := len(x.samples) - 1
	if n < 1 {
		return
	}
	oldest := x.samples[n].at
	copy(x.samples[1:], x.samples[:n])
	x.samples[0].at = oldest
}

// keep makes x keep more samples.
func (x *expr) keep(samples int) {
	if len(x.samples) == samples {
		return
	}
	x.sampled(samples)
	x.nvals = x.span * samples
	x.valid = 0
	x.room()
}

// primary returns the argument that determines the dimensions of a node.
func primary(arg1, arg2 *expr) *expr {
	varied := func(x *expr) bool {
		return x.metrics != nil && (x.hosts != none || x.insts != none || x.times != none)
	}
	switch {
	case arg2 == nil || arg1.nvals > 1:
		return arg1
	case arg2.nvals > 1:
		return arg2
	case varied(arg1):
		return arg1
	case varied(arg2):
		return arg2
	}
	return arg1
}

// inherit takes semantics and instances from the arguments, and passes them on.
func (x *expr) inherit() {
	up := false
	arg := primary(x.arg1, x.arg2)
	if x.sem == semUnknown {
		switch {
		case x.arg2 == nil:
			if x.arg1.sem != semUnknown {
				up, x.sem = true, x.arg1.sem
			}
		case x.arg1.sem != semUnknown && x.arg2.sem != semUnknown:
			up, x.sem = true, arg.sem
		default:
			return
		}
	}
	if !x.units && x.arg1.units && (x.arg2 == nil || x.arg2.units) {
		up, x.units = true, true
	}
	if x.insts != none && x.insts != arg.insts {
		up = true
		x.insts = arg.insts
		x.valid = 0
		x.reshape()
	}
	if up && x.parent != nil {
		x.parent.inherit()
	}
}

// instances takes semantics and instances from the metrics of a fetch, and passes them
// on.
func (x *expr) instances() {
	if x.sem == semUnknown {
		for _, m := range x.metrics.list {
			if s := m.desc.Sem; s != 0 {
				x.units = true
				if x.sem = semInstant; s == pcp.SemDiscrete {
					x.sem = semDiscrete
				}
				break
			}
		}
	}
	n := none
	for _, m := range x.metrics.list {
		if len := m.count; len >= 0 {
			n = max(n, 0) + len
		}
	}
	up := x.insts != n
	if up {
		x.insts = n
		x.valid = 0
		x.reshape()
	}
	if p := x.parent; p != nil && (up || !p.units && x.units) {
		p.inherit()
	}
}

// refit gives a fetch, and the nodes above it, the dimensions that they would have if the expression
// were made now: a metric was not known when the expression was made.
func (x *expr) refit() {
	x.instances()
	x.retype()
	x.settle()
	for x = x.parent; x != nil && x.op.computes(); x = x.parent {
		arg := primary(x.arg1, x.arg2)
		x.metrics = arg.metrics
		n := arg.insts
		if d, ok := x.op.domain(); ok && d != overSamples {
			n = none
		}
		if x.insts != n {
			x.insts = n
			x.valid = 0
			x.reshape()
		}
		x.retype()
		x.settle()
	}
}

// retype allocates strings in place of numbers, or the other way round.
func (x *expr) retype() {
	if (x.op == opFetch || x.op == opDelay) && x.strings() != (x.texts != nil) {
		x.valid = 0
		x.room()
	}
}

// unknown forgets all values below x.
func (x *expr) unknown() {
	if x.op == opNone || x.op == opVar {
		return
	}
	for _, arg := range []*expr{x.arg1, x.arg2} {
		if arg != nil && x.op != actArgument {
			arg.unknown()
		}
	}
	x.valid = 0
	for i := range x.truths {
		x.truths[i] = isUnknown
	}
	for i := range x.nums {
		x.nums[i] = nan()
	}
}

// restart resets the state below x: no counter was seen before, and no action was done.
func (x *expr) restart() {
	if x.op == opFetch {
		for _, m := range x.metrics.list {
			m.before = 0
		}
		return
	}
	x.last = 0
	for _, arg := range []*expr{x.arg1, x.arg2} {
		if arg != nil && x.op != actArgument {
			arg.restart()
		}
	}
}

// single reports whether an argument always has one value.
func single(x *expr) bool {
	switch {
	case x.op.aggregate() && !x.op.ofSamples() && x.span <= 1:
		return true
	case x.span == 1:
		if x.metrics == nil {
			return true
		}
		m := x.metrics.first()
		return m.desc.InDom == pcp.InDomNull && m.ready || m.named > 0
	}
	return x.sem == semText
}

// settle sets what x needs to know of its arguments and metrics when it is evaluated.
func (x *expr) settle() {
	x.one1 = x.arg1 != nil && single(x.arg1)
	x.one2 = x.arg2 != nil && single(x.arg2)
	x.rates = ratesUnknown
	x.hits, x.hitsOf = nil, 0
	if x.op == opFetch {
		switch m := x.metrics.first(); {
		case m.desc.InDom == pcp.InDomNull || m.conv == 0:
			x.kind = fetchOne
		case m.named == 0:
			x.kind = fetchAll
		default:
			x.kind = fetchNamed
		}
	}
}

// syslog describes a message for the system log.
type syslog struct {
	priority int
	tag      string
}

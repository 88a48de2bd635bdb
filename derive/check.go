package derive

import (
	"strconv"

	"github.com/go-pcp/pcp"
)

// A checker makes the bound expression of a definition: it finds the operands
// and computes the descriptor of each part, by the rules of pmRegisterDerived(3).
type checker struct {
	b       *Binding
	known   known
	name    string
	noValue bool   // the control of this name
	err     error  // error of the expression, nil if an operand is missing
	wrong   *expr  // the part with the error
	lacks   string // the first missing operand
}

// expr returns the bound form of n, nil if there is none.
func (c *checker) expr(n *node) *expr {
	if c.missing(n) {
		return nil
	}
	return c.build(n)
}

// fail records the error of e.
func (c *checker) fail(e *expr, msg string) *expr {
	if c.err == nil {
		c.err, c.wrong = &SemanticError{c.name, e.where(), msg}, e
	}
	return nil
}

func (c *checker) desc(name string) (pcp.Desc, bool) {
	id := c.known.ids[name]
	if id == pcp.PMIDNull {
		return pcp.Desc{}, false
	}
	d := c.known.descs[id]
	return d, d.PMID != pcp.PMIDNull
}

// replaced reports whether an operand is a number without a value, because the source
// does not have it and [NoValue] is on.
func (c *checker) replaced(name string) bool {
	return c.noValue && c.known.ids[name] == pcp.PMIDNull
}

// missing reports whether the source does not have an operand that n needs.
func (c *checker) missing(n *node) bool {
	if n == nil {
		return false
	}
	if n.op == opName {
		_, ok := c.desc(n.text)
		if _, derived := c.b.Lookup(n.text); !ok && derived {
			c.fail(&expr{op: opName, text: n.text}, "Illegal nested derived metric")
			return true
		}
		return !ok && !c.replaced(n.text) && c.lack(n.text)
	}
	if name := n.metaName(); name != "" {
		if _, ok := c.desc(name); !ok {
			return c.lack(name)
		}
	}
	if n.op == opQuest {
		if c.missing(n.left) {
			return true
		}
		yes, no := c.arms(n)
		return yes && c.missing(n.right.left) || no && c.missing(n.right.right)
	}
	return c.missing(n.left) || c.missing(n.right)
}

// lack notes a missing operand, and returns true.
func (c *checker) lack(name string) bool {
	if c.lacks == "" {
		c.lacks = name
	}
	return true
}

// arms reports which arms of the ternary expression n are evaluated. A constant
// guard selects one if the other cannot be bound, or need not be, as in version 7
// of the C library.
func (c *checker) arms(n *node) (yes, no bool) {
	yes, no = true, true
	a, b := n.right.left, n.right.right
	if a.op != opNoValue && b.op != opNoValue {
		// Check without leaving a message.
		saved, first := c.err, c.lacks
		lacks := c.missing(a) || c.missing(b)
		c.err, c.lacks = saved, first
		if !lacks {
			return yes, no
		}
	}
	switch c.guard(n.left) {
	case guardTrue:
		no = false
	case guardFalse:
		yes = false
	}
	return yes, no
}

type guardValue uint8

const (
	guardUnknown guardValue = iota
	guardTrue
	guardFalse
)

func guardOf(b bool) guardValue {
	if b {
		return guardTrue
	}
	return guardFalse
}

// guard returns the value of a guard if it does not depend on values.
func (c *checker) guard(n *node) guardValue {
	switch n.op {
	case opDefined:
		return guardOf(c.defined(n.text))
	case opInteger:
		v, _ := strconv.ParseUint(n.text, 10, 64)
		return guardOf(v != 0)
	case opNot:
		switch c.guard(n.left) {
		case guardTrue:
			return guardFalse
		case guardFalse:
			return guardTrue
		}
	case opOr:
		if v := c.guard(n.left); v != guardFalse {
			return v
		}
		return c.guard(n.right)
	case opAnd:
		if v := c.guard(n.left); v != guardTrue {
			return v
		}
		return c.guard(n.right)
	}
	return guardUnknown
}

func (c *checker) defined(name string) bool {
	if c.known.ids[name] != pcp.PMIDNull {
		return true
	}
	_, ok := c.b.Lookup(name)
	return ok
}

// build makes the bound form of n, whose operands exist.
func (c *checker) build(n *node) *expr {
	e := &expr{op: n.op, text: n.text, last: n.last, mul: 1, div: 1, inst: pcp.InNull}
	switch n.op {
	case opName:
		d, ok := c.desc(n.text)
		if !ok {
			return &expr{op: opNoValue, text: n.text, desc: plain(pcp.Type32), mul: 1, div: 1}
		}
		e.id, e.desc = d.PMID, d
		return e
	case opInteger, opDouble, opNoValue:
		e.desc = c.constDesc(n)
		if n.op != opNoValue {
			e.value = constValue(n.text, e.desc.Type)
		}
		return e
	case opAnon:
		e.desc = n.more.desc
		return e
	case opDefined:
		e.desc = plain(pcp.TypeU32)
		if c.defined(n.text) {
			e.value = 1
		}
		e.add(pcp.InNull, e.value)
		e.count(1)
		return e
	case opQuest:
		return c.ternary(e, n)
	}
	if e.left = c.build(n.left); e.left == nil {
		return nil
	}
	if n.right != nil {
		if e.right = c.build(n.right); e.right == nil {
			return nil
		}
		return c.binary(e)
	}
	return c.unary(e, n)
}

// constDesc returns the descriptor of a constant: that of another metric if it
// names one, except for its own fields.
func (c *checker) constDesc(n *node) pcp.Desc {
	m := n.more
	switch {
	case m == nil && n.op == opDouble:
		return plain(pcp.TypeDouble)
	case m == nil:
		return plain(pcp.TypeU32)
	case m.metaName == "":
		return m.desc
	}
	d, _ := c.desc(m.metaName)
	d.PMID = pcp.PMIDNull
	if m.meta&metaType != 0 || !d.Type.IsNumeric() {
		d.Type = m.desc.Type
	}
	if m.meta&metaInDom != 0 {
		d.InDom = m.desc.InDom
	}
	if m.meta&metaSem != 0 {
		d.Sem = m.desc.Sem
	}
	if m.meta&metaUnits != 0 {
		d.Units = m.desc.Units
	}
	return d
}

func (c *checker) ternary(e *expr, n *node) *expr {
	if e.left = c.build(n.left); e.left == nil {
		return nil
	}
	yes, no := c.arms(n)
	colon := &expr{op: opColon}
	e.right = colon
	if yes {
		if colon.left = c.build(n.right.left); colon.left == nil {
			return nil
		}
	}
	if no {
		if colon.right = c.build(n.right.right); colon.right == nil {
			return nil
		}
	}
	a, b := colon.left, colon.right
	switch {
	case b == nil:
		colon.desc = a.desc
	case a == nil:
		colon.desc = b.desc
	case a.op == opNoValue || b.op == opNoValue:
		if colon.desc = a.desc; a.op == opNoValue {
			colon.desc = b.desc
		}
		colon.desc.InDom = either(a.desc.InDom, b.desc.InDom)
	default:
		if msg := differ(a.desc, b.desc); msg != "" {
			c.b.traceArms(msg, a.desc, b.desc)
			return c.fail(colon, "Different "+msg+" for ternary operands")
		}
		colon.desc = a.desc
		colon.desc.InDom = either(a.desc.InDom, b.desc.InDom)
	}
	if !e.left.desc.Type.IsNumeric() {
		return c.fail(e, "Non-arithmetic operand for ternary guard")
	}
	if colon.desc.InDom == pcp.InDomNull && e.left.desc.InDom != pcp.InDomNull {
		return c.fail(e, "Non-scalar ternary guard with scalar expressions")
	}
	e.desc = colon.desc
	return e
}

// either returns a, or b if a is missing.
func either(a, b pcp.InDom) pcp.InDom {
	if a != pcp.InDomNull {
		return a
	}
	return b
}

// differ names the difference between the descriptors of the arms of a ternary
// expression, "" if there is no relevant one.
func differ(a, b pcp.Desc) string {
	u, v := a.Units, b.Units
	switch {
	case a.Type != b.Type:
		return "types"
	case a.InDom != b.InDom && a.InDom != pcp.InDomNull && b.InDom != pcp.InDomNull:
		return "instance domains"
	case a.Sem != b.Sem:
		return "semantics"
	case u.DimSpace != v.DimSpace || u.ScaleSpace != v.ScaleSpace:
		return "units or scale (space)"
	case u.DimTime != v.DimTime || u.ScaleTime != v.ScaleTime:
		return "units or scale (time)"
	case u.DimCount != v.DimCount || u.ScaleCount != v.ScaleCount:
		return "units or scale (count)"
	case u.Extra != v.Extra:
		return "units or scale (extra)"
	}
	return ""
}

// unary computes the descriptor of a function or prefix operator.
func (c *checker) unary(e *expr, n *node) *expr {
	from := e.left.desc
	e.desc = from
	switch e.op {
	case opSelect:
		return e
	case opMatch:
		e.re, e.invert = n.more.re, n.more.invert
		return e
	case opScalar:
		e.desc.InDom = pcp.InDomNull
		return e
	case opInstant:
		if from.Sem == pcp.SemCounter {
			e.desc.Sem = pcp.SemInstant
		}
		return e
	case opCount:
		e.desc = pcp.Desc{PMID: from.PMID, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
		e.desc.Units.DimCount = 1
		return e
	case opRescale:
		e.desc.Units = n.more.desc.Units
		if !from.Type.IsNumeric() {
			return c.fail(e, "Non-arithmetic operand for function")
		}
		if _, err := pcp.ConvScale(pcp.RawValue(from.Type, numberBits(from.Type, 1)), from.Units, e.desc.Units); err != nil {
			return c.fail(e, "Incompatible dimensions")
		}
		return e
	}
	if !from.Type.IsNumeric() {
		if e.op == opNeg || e.op == opNot {
			return c.fail(e, "Non-arithmetic operand for unary negation")
		}
		return c.fail(e, "Non-arithmetic operand for function")
	}
	switch e.op {
	case opNot:
		return e // C changes nothing, not even the type
	case opSum:
		e.desc.InDom = pcp.InDomNull
		return e
	}
	e.desc.Sem = pcp.SemInstant
	switch e.op {
	case opAvg:
		e.desc.InDom = pcp.InDomNull
		e.desc.Type = pcp.TypeFloat
	case opMax, opMin:
		e.desc.InDom = pcp.InDomNull
	case opRate:
		if from.Units.DimTime != 0 && from.Units.DimTime != 1 {
			return c.fail(e, "Incorrect time dimension for operand")
		}
		e.desc.Type = pcp.TypeDouble
		e.desc.Units.DimTime--
		e.desc.Units.ScaleTime = pcp.TimeSec
		if e.desc.Units.DimTime == 0 {
			e.desc.Units.ScaleTime = 0
		}
		e.factor = 1
		if from.Units.DimTime == 1 {
			e.factor = seconds(from.Units.ScaleTime)
		}
	case opNeg:
		switch from.Type {
		case pcp.TypeU32:
			e.desc.Type = pcp.Type32
		case pcp.TypeU64:
			e.desc.Type = pcp.Type64
		}
	case opDelta:
		switch from.Type {
		case pcp.TypeU32:
			e.desc.Type = pcp.Type64
		case pcp.TypeU64:
			e.desc.Type = pcp.TypeDouble
		}
	}
	return e
}

// seconds returns the number of seconds in the unit of a scale of time. It
// multiplies and divides step by step, as C does.
func seconds(scale uint8) float64 {
	f := 1.0
	for s := scale; s < pcp.TimeSec; s++ {
		f /= 1000
	}
	for s := uint8(pcp.TimeSec); s < scale; s++ {
		f *= 60
	}
	return f
}

// promoted returns the common type of two numbers.
func promoted(a, b pcp.Type) pcp.Type {
	return max(a, b) // the order of the constants is that of promotion
}

// binary computes the descriptor of an operator with two operands.
func (c *checker) binary(e *expr) *expr {
	left, right := e.left.desc, e.right.desc
	lc, rc := left.Sem == pcp.SemCounter, right.Sem == pcp.SemCounter
	if !e.op.isTruth() {
		switch sum := e.op == opAdd || e.op == opSub; {
		case lc && rc && !sum:
			return c.fail(e, "Illegal operator for counters")
		case lc && !rc && sum:
			return c.fail(e, "Illegal operator for counter and non-counter")
		case !lc && rc && e.op != opMul:
			return c.fail(e, "Illegal operator for non-counter and counter")
		}
	}
	e.desc = left
	if e.left.op.isConst() {
		e.desc = right
	}
	if !lc && !rc {
		e.desc.Sem = pcp.SemInstant
		if left.Sem == pcp.SemDiscrete && right.Sem == pcp.SemDiscrete {
			e.desc.Sem = pcp.SemDiscrete
		}
	}
	if !left.Type.IsNumeric() {
		return c.fail(e, "Non-arithmetic type for left operand")
	}
	if !right.Type.IsNumeric() {
		return c.fail(e, "Non-arithmetic type for right operand")
	}
	e.operand = promoted(left.Type, right.Type)
	switch {
	case e.op == opDiv:
		e.desc.Type, e.operand = pcp.TypeDouble, pcp.TypeDouble
	case e.op.isTruth():
		e.desc.Type = pcp.TypeU32
	default:
		e.desc.Type = e.operand
	}

	switch e.op {
	case opAdd, opSub:
		if !comparable(left.Units, right.Units) {
			return c.fail(e, "Dimensions are not the same")
		}
	case opAnd, opOr:
		if left.Units.HasDim() || right.Units.HasDim() {
			return c.fail(e, "Dimensions are not the same")
		}
	case opMul, opDiv:
	default:
		// C intends to exclude constants here, but excludes type U32
		// (derive_parser.y, map_desc).
		if left.Type != pcp.TypeU32 && right.Type != pcp.TypeU32 && !comparable(left.Units, right.Units) {
			return c.fail(e, "Dimensions are not the same")
		}
	}
	if e.op != opAdd && e.op != opSub && e.op != opAnd && e.op != opOr {
		if lc && !rc && right.Units.HasDim() {
			return c.fail(e, "Non-counter and not dimensionless for right operand")
		}
		if !lc && rc && left.Units.HasDim() {
			return c.fail(e, "Non-counter and not dimensionless for left operand")
		}
	}
	if x, y := left.Units.Extra, right.Units.Extra; x.Unit() != 0 && y.Unit() != 0 {
		switch {
		case e.op == opMul:
			return c.fail(e, "Extra units not allowed for both operands of *")
		case x == y:
		case e.op == opDiv:
			return c.fail(e, "Different extra units not allowed for both operands of /")
		default:
			return c.fail(e, "Operands have incompatible extra units or scale")
		}
	}
	if e.op.isTruth() {
		e.desc.Units = pcp.Units{}
	} else {
		e.mapUnits()
		if e.desc.Type == pcp.TypeDouble {
			e.operand = pcp.TypeDouble
		}
	}
	if left.InDom != pcp.InDomNull && right.InDom != pcp.InDomNull && left.InDom != right.InDom {
		return c.fail(e, "Operands should have the same instance domain")
	}
	if e.desc.InDom == pcp.InDomNull || left.InDom == pcp.InDomNull || right.InDom == pcp.InDomNull {
		e.desc.InDom = either(left.InDom, right.InDom)
	}
	return e
}

// comparable reports whether a and b have the same dimension. None and a count
// are the same here, as for pmConvScale(3).
func comparable(a, b pcp.Units) bool {
	if a.DimSpace != b.DimSpace || a.DimTime != b.DimTime || a.Extra.Unit() != b.Extra.Unit() {
		return false
	}
	return a.DimCount == b.DimCount ||
		a.Extra.Unit() == 0 && a.DimSpace == 0 && a.DimTime == 0 && (a.DimCount == 0 && b.DimCount == 1 || a.DimCount == 1 && b.DimCount == 0)
}

// mapUnits computes the units of an arithmetic operator. If the operands have a
// dimension in different scales, the operand with the smaller scale is converted.
func (e *expr) mapUnits() {
	left, right := e.left.desc.Units, e.right.desc.Units
	to := &e.desc.Units
	scaled := func(x *expr, dim int8, factor int) {
		if dim > 0 {
			x.div *= factor
		} else {
			x.mul *= factor
		}
		e.desc.Type = pcp.TypeDouble
	}
	if left.DimCount != 0 && right.DimCount != 0 {
		for s := right.ScaleCount; s < left.ScaleCount; s++ {
			scaled(e.right, right.DimCount, 10)
		}
		for s := left.ScaleCount; s < right.ScaleCount; s++ {
			scaled(e.left, left.DimCount, 10)
			to.ScaleCount = right.ScaleCount
		}
	}
	if left.DimTime != 0 && right.DimTime != 0 {
		for s := right.ScaleTime; s < left.ScaleTime; s++ {
			scaled(e.right, right.DimTime, timeStep(s))
		}
		for s := left.ScaleTime; s < right.ScaleTime; s++ {
			scaled(e.left, right.DimTime, timeStep(s)) // of the right one, as in C
			to.ScaleTime = right.ScaleTime
		}
	}
	if left.DimSpace != 0 && right.DimSpace != 0 {
		for s := right.ScaleSpace; s < left.ScaleSpace; s++ {
			scaled(e.right, right.DimSpace, 1024)
		}
		for s := left.ScaleSpace; s < right.ScaleSpace; s++ {
			// C checks the dimension of the other operand here too.
			scaled(e.left, right.DimSpace, 1024)
			to.ScaleSpace = right.ScaleSpace
		}
	}
	switch e.op {
	case opMul:
		to.DimCount = dimension(left.DimCount + right.DimCount)
		to.DimTime = dimension(left.DimTime + right.DimTime)
		to.DimSpace = dimension(left.DimSpace + right.DimSpace)
		if left.Extra.Unit() == 0 {
			to.Extra = right.Extra
		}
	case opDiv:
		to.DimCount = dimension(left.DimCount - right.DimCount)
		to.DimTime = dimension(left.DimTime - right.DimTime)
		to.DimSpace = dimension(left.DimSpace - right.DimSpace)
		switch {
		case right.Extra.Unit() == 0:
		case left.Extra.Unit() != 0:
			to.Extra = 0 // the two are the same
		default:
			to.Extra = right.Extra.Inverse()
		}
	}
	scale(to.DimCount, left.DimCount, &to.ScaleCount, right.ScaleCount)
	scale(to.DimTime, left.DimTime, &to.ScaleTime, right.ScaleTime)
	scale(to.DimSpace, left.DimSpace, &to.ScaleSpace, right.ScaleSpace)
	if to.Extra.Unit() == 0 {
		to.Extra = 0
	}
}

// dimension cuts n to the four bits that units have for it, as C does.
func dimension(n int8) int8 { return n << 4 >> 4 }

// scale sets the scale of a result: that of the right operand if it has the
// dimension, 0 if there is none.
func scale[T int8 | uint8](dim, left int8, to *T, right T) {
	switch {
	case dim == 0:
		*to = 0
	case left == 0:
		*to = right
	}
}

// timeStep is the number of units of a scale of time in the next larger one.
func timeStep(scale uint8) int {
	if scale < pcp.TimeSec {
		return 1000
	}
	return 60
}

// where describes the place of a semantic error in C's words.
func (e *expr) where() string {
	switch e.op {
	case opQuest:
		return e.left.operandText() + " ? " + e.right.where()
	case opColon:
		return e.left.operandText() + " : " + e.right.operandText()
	case opNot, opNeg:
		return opNames[e.op].sign + " " + e.left.operandText()
	case opRescale:
		units := e.desc.Units.String()
		if units == "" {
			units = "none"
		}
		return e.left.operandText() + " RESCALE " + units
	case opName:
		return "operand " + e.text
	}
	if e.right != nil {
		return e.left.operandText() + " " + opNames[e.op].sign + " " + e.right.operandText()
	}
	text := e.left.text
	if e.left.op != opName && !e.left.op.isConst() {
		text = "<expr>"
	}
	return e.op.String() + "(" + text + ")"
}

func (e *expr) operandText() string {
	if e != nil && (e.op == opName || e.op.isConst()) {
		return e.text
	}
	return "<expr>"
}

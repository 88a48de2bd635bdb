package derive

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/debugname"
)

// The traces have the layout of the C library: -D derive alone logs that
// something happens to a metric, together with one of the other flags also the
// details.
const (
	traceParse = debugname.Appl0
	traceBind  = debugname.Appl1
	traceEval  = debugname.Appl2
)

// tracing returns the log of s if it is for derived metrics and for one of the flags
// what, else nil.
func (s *Set) tracing(what ...string) *debug.Log {
	if s.Debug == nil || !s.Debug.On(debugname.Derive) {
		return nil
	}
	for _, name := range what {
		if !s.Debug.On(name) {
			return nil
		}
	}
	return s.Debug
}

// eventMetrics are the metrics that the C library registers before all others, as
// this module does by leaving their PMIDs free: see firstItem.
var eventMetrics = [...]string{"event.flags", "event.missed"}

const eventExpr = "anon(PM_TYPE_U32)"

// indexBase is the index of the first definition of a set in messages.
const indexBase = len(eventMetrics)

// traceStart traces the registration of the event metrics, once and before the
// first definition. The mutex is held.
func (s *Set) traceStart() {
	if s.started {
		return
	}
	s.started = true
	if s.Debug == nil {
		return
	}
	for i, name := range eventMetrics {
		s.traceName(name, eventExpr)
		d := definition{Definition: Definition{Name: name, Expr: eventExpr}}
		if d.check(&s.units, s.tracing(traceParse)) == nil {
			s.traceAdded(i, &d)
		}
	}
}

// begin is traceStart for callers that do not hold the mutex.
func (s *Set) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.traceStart()
}

func (s *Set) traceName(name, expr string) {
	if log := s.tracing(traceParse); log != nil {
		log.Printf("pmRegisterDerived: name=\"%s\" expr=\"%s\"\n", name, expr)
	}
}

func (s *Set) traceAdded(i int, d *definition) {
	log := s.tracing()
	if log == nil {
		return
	}
	log.Printf("pmRegisterDerived: global metric[%d] %s = %s\n", i, d.Name, d.Expr)
	if log.On(traceParse) {
		log.Write(dump(d.tree()))
	}
}

// parseTraced parses an expression, and with a log traces its tokens.
func parseTraced(expr string, log *debug.Log) (*node, *syntaxError) {
	if log == nil {
		return parse(expr)
	}
	var tokens []token
	tree, err := parseTokens(expr, &tokens)
	var b []byte
	for _, t := range tokens {
		b = fmt.Appendf(b, "derive_lex() -> type=L_%s \"%s\"\n", t.name(), t.text)
	}
	log.Write(b)
	return tree, err
}

// name returns the name of t's kind in messages.
func (t token) name() string {
	switch t.kind {
	case tokError:
		return "ERROR"
	case tokEnd:
		return "EOS"
	case tokInteger:
		return "INTEGER"
	case tokDouble:
		return "DOUBLE"
	case tokName:
		if isKeyword(t.text) {
			return strings.ToUpper(t.text)
		}
		return "NAME"
	case tokString:
		return "STRING"
	case tokInstance:
		return "INSTNAME"
	case tokPattern:
		return "PATTERN"
	case tokFunc:
		if t.op == opInteger {
			return "MKCONST"
		}
		return t.op.String()
	case tokLeft:
		return "LPAREN"
	case tokRight:
		return "RPAREN"
	case tokComma:
		return "COMMA"
	case tokAssign:
		return "ASSIGN"
	}
	return t.op.String()
}

// traceOperands traces the look-up of the operands of n, up to the first that the
// source does not have. Operands of defined() may be missing.
func (c *checker) traceOperands(log *debug.Log, n *node) bool {
	if n == nil {
		return true
	}
	if n.op == opName || n.op == opDefined {
		id := c.known.ids[n.text]
		if id == pcp.PMIDNull {
			id = c.b.traceLookup(n.text)
		}
		switch _, ok := c.desc(n.text); {
		case n.op == opDefined:
		case (id == pcp.PMIDNull || !ok) && log.On(debugname.Version7): // traceBad follows
			return false
		case id == pcp.PMIDNull:
			log.Printf("bind_expr: error: derived metric %s: operand: %s: %v\n", c.name, n.text, pcp.ErrName)
			return false
		case !ok:
			log.Printf("bind_expr: error: derived metric %s: operand (%s [%s]): %v\n", c.name, n.text, id, pcp.ErrPMID)
			return false
		}
	}
	return c.traceOperands(log, n.left) && c.traceOperands(log, n.right)
}

// traceLookup traces the look-up among the derived metrics of a name that the
// source does not have, and returns the result.
func (b *Binding) traceLookup(name string) pcp.PMID {
	id, ok := b.Lookup(name)
	if log := b.set.tracing(); ok {
		log.Printf("__dmgetpmid: metric \"%s\" -> PMID %s\n", name, id)
	} else {
		log.Printf("__dmgetpmid: metric \"%s\" -> %v\n", name, pcp.ErrName)
	}
	return id
}

// A bindReason is the reason why a definition is bound.
type bindReason uint8

const (
	bindID   bindReason = iota // its PMID is used
	bindName                   // names are listed
	bindNow                    // it is added to the binding
)

// traceBegin traces that a definition is about to be bound, as version 7 of the C library does.
func (b *Binding) traceBegin(d *bound, why bindReason) {
	log := b.set.tracing()
	if log == nil || !log.On(debugname.Version7) {
		return
	}
	locked, async := 0, 1
	switch why {
	case bindName:
		locked = 1
	case bindNow:
		async = 0
	}
	log.Printf("__dmbind(derive_locked=%d, ctx=%d, metric[%d] %s, async= %d)\n", locked, b.number, b.index(d), d.Name, async)
}

// traceBound traces that a definition was bound. Version 7 of the C library does so only for -D desperate.
func (b *Binding) traceBound(d *bound) {
	log := b.set.tracing()
	switch {
	case !log.On(debugname.Version7):
		log.Printf("__dmbind: bind metric[%d] %s\n", b.index(d), d.Name)
	case log.On(traceBind) && log.On(debugname.Desperate):
		log.Printf("__dmbind: metric[%d] %s: after check_expr ...\n", b.index(d), d.Name)
	default:
		return
	}
	if log.On(traceBind) {
		log.Write(dumpHead(d.root, d.root.dump(nil, nil)))
	}
}

// traceBad traces that a definition was not bound, as version 7 of the C library does. An operand is missing, or wrong is the part of
// the expression with the error.
func (b *Binding) traceBad(d *bound, wrong *expr) {
	log := b.set.tracing()
	if log == nil || !log.On(debugname.Version7) {
		return
	}
	if wrong == nil {
		log.Printf("__dmbind: bind_expr failed for metric[%d] %s\n", b.index(d), d.Name)
		return
	}
	log.Printf("__dmbind: check_expr failed for metric[%d] %s\n", b.index(d), d.Name)
	if log.On(traceBind) {
		log.Write(dumpHead(wrong, wrong.dump(nil, nil)))
	}
}

// index returns the index of a definition in messages: those of the binding
// itself are last.
func (b *Binding) index(d *bound) int {
	if d.PMID>>31 == 0 {
		return indexOf(d.PMID) + indexBase
	}
	return indexBase + len(b.shared) + maxOwn - 1 - indexOfOwn(d.PMID)
}

// indexOfOwn returns the number of the PMID of a binding's own definition.
func indexOfOwn(id pcp.PMID) int {
	id &^= 1 << 31
	return id.Cluster()*pcp.MaxItem + id.Item() - 1
}

// traceOpen gives a new binding the number of the context that was opened last, and traces it.
func (b *Binding) traceOpen() {
	s := b.set
	if s.Debug == nil {
		return
	}
	s.begin()
	b.number = max(s.Debug.CurrentContext(), 0)
	b.traceOpened()
}

func (b *Binding) traceOpened() {
	if b.set.Debug == nil {
		return
	}
	b.opened = b.set.Len()
	b.set.tracing(traceBind).Printf("__dmopencontext(->ctx %d) called, %d derived metrics\n", b.number, indexBase+b.opened)
}

// traceOwn traces the binding of one of b's own definitions, and returns the log.
// If option is not empty, it must be set as well.
func (b *Binding) traceOwn(option, format string, args ...any) *debug.Log {
	log := b.set.tracing()
	if log != nil && (option == "" || log.On(option)) {
		log.Printf("pmAddDerived(ctx->%d): %s\n", b.number, fmt.Sprintf(format, args...))
	}
	return log
}

// traceArms traces the differences between the arms of a ternary expression.
func (b *Binding) traceArms(what string, left, right pcp.Desc) {
	log := b.set.tracing(traceBind)
	if log == nil {
		return
	}
	var l, r string
	switch what {
	case "types":
		what, l, r = "type", left.Type.String(), right.Type.String()
	case "instance domains":
		what, l, r = "indom", left.InDom.String(), right.InDom.String()
	case "semantics":
		l, r = left.Sem.String(), right.Sem.String()
	default:
		what = strings.Replace(what, "or scale ", "", 1)
		l, r = left.Units.String(), right.Units.String()
		if u, v := left.Units, right.Units; strings.Contains(what, "space") {
			l = fmt.Sprintf("%s (dim=%d scale=%d)", l, u.DimSpace, u.ScaleSpace)
			r = fmt.Sprintf("%s (dim=%d scale=%d)", r, v.DimSpace, v.ScaleSpace)
		}
	}
	log.Printf("Semantic error: ternary op %s: left=%s right=%s\n", what, l, r)
}

// traceValues traces the values of set i of the result.
func (e *expr) traceValues(log *debug.Log, f *frame, i, n int) {
	b := fmt.Appendf(nil, "__dmpostvalueset: [%d] root node %s: numval=%d", i, f.res.Sets[i].PMID, n)
	for k := range max(min(n, len(e.vals)), 0) {
		v := &e.vals[k]
		b = fmt.Appendf(b, " vset[%d]: inst=%d", k, v.inst)
		x := pcp.RawValue(e.desc.Type, v.bits)
		switch e.desc.Type {
		case pcp.Type32:
			b = fmt.Appendf(b, " l=%d", x.Int32())
		case pcp.TypeU32:
			b = fmt.Appendf(b, " u=%d", x.Uint32())
		case pcp.Type64:
			b = fmt.Appendf(b, " ll=%d", x.Int64())
		case pcp.TypeU64:
			b = fmt.Appendf(b, " ul=%d", x.Uint64())
		case pcp.TypeFloat:
			b = ctext.AppendFloat(append(b, " f="...), float64(x.Float()), 'f', 6)
		case pcp.TypeDouble:
			b = ctext.AppendFloat(append(b, " d="...), x.Double(), 'f', 6)
		case pcp.TypeString:
			data := f.data[v.bits]
			b = fmt.Appendf(b, " cp=%s (len=%d)", ctext.Bytes(data), len(data)+1)
		default:
			data := f.data[v.bits]
			b = fmt.Appendf(b, " vbp=%p (len=%d)", data, len(data)+blockHead)
		}
	}
	log.Write(e.dump(append(b, '\n'), f))
}

// blockHead is the number of bytes in the length of a value block in addition to
// the value (PM_VAL_HDR_SIZE).
const blockHead = 4

// dump returns the nodes of an expression before it is bound.
func dump(n *node) []byte { return dumpHead(n, n.dump(nil)) }

func dumpHead(at any, nodes []byte) []byte {
	return append(fmt.Appendf(nil, "Derived metric expr dump from %p...\n", at), nodes...)
}

// A part is a node of an expression in dumps: some nodes have two.
type part struct {
	at          any // a pointer, which identifies a node
	typ         string
	left, right any
	last        bool
	text        string // of a name or number
	bound       bool
}

// address prints a pointer as C does.
func address(p any) string {
	if p == nil {
		return "(nil)"
	}
	return fmt.Sprintf("%p", p)
}

func (p *part) append(b []byte) []byte {
	last := 0
	if p.last {
		last = 1
	}
	b = fmt.Appendf(b, "expr node %p type=%s left=%s right=%s save_last=%d", p.at, p.typ, address(p.left), address(p.right), last)
	if p.text != "" {
		primary := 1
		if p.bound {
			primary = 0
		}
		b = fmt.Appendf(b, " [%s] primary=%d", p.text, primary)
	}
	return b
}

// scalePart appends the units that a rescale converts to.
func scalePart(b []byte, at any, units pcp.Units) []byte {
	p := part{at: at, typ: "SCALE"}
	return fmt.Appendf(p.append(b), " [%s]\n", units)
}

func (n *node) dump(b []byte) []byte {
	p := part{at: n, typ: n.op.String(), last: n.last}
	if n.left != nil {
		p.left = n.left
	}
	if n.right != nil {
		p.right = n.right
	}
	switch n.op {
	case opName, opInteger, opDouble:
		p.text = n.text
	case opAnon, opDefined:
		p.left = &n.text
		arg := part{at: &n.text, typ: opName.String(), text: n.text}
		if n.op == opAnon {
			arg.typ = opInteger.String()
		}
		return append(arg.append(append(p.append(b), '\n')), '\n')
	case opRescale:
		p.right = n.more
		return scalePart(n.left.dump(append(p.append(b), '\n')), n.more, n.more.desc.Units)
	case opSelect, opMatch:
		p.left, p.right = &n.text, n.left
		b = fmt.Appendf(append(p.append(b), '\n'), "expr node %p type=PATTERN pattern: %s type: ", &n.text, n.text)
		switch {
		case n.op == opSelect:
			b = fmt.Appendf(b, "exact match inst=%d\n", pcp.InNull)
		case n.more.invert:
			b = append(b, "inverted regex used=0\n"...)
		default:
			b = append(b, "regex used=0\n"...)
		}
		return n.left.dump(b)
	}
	b = append(p.append(b), '\n')
	if n.left != nil {
		b = n.left.dump(b)
	}
	if n.right != nil {
		b = n.right.dump(b)
	}
	return b
}

// dump appends the nodes of a bound expression with their values. The frame is
// that of the current evaluation, nil if there is none.
func (e *expr) dump(b []byte, f *frame) []byte {
	p := part{at: e, typ: e.op.String(), last: e.last, bound: true}
	if e.left != nil {
		p.left = e.left
	}
	if e.right != nil {
		p.right = e.right
	}
	switch e.op {
	case opName, opInteger, opDouble:
		p.text = e.text
	case opRescale:
		p.right = &e.text
	case opSelect, opMatch:
		p.left, p.right = &e.text, e.left
	}
	b = append(p.append(b), '\n')
	id := pcp.PMIDNull
	if e.op == opName {
		id = e.id
	}
	b = fmt.Appendf(b, "    PMID: %s (%s from pmDesc) numval: %d", id, e.desc.PMID, e.n)
	if e.div != 1 && e.div != 0 {
		b = fmt.Appendf(b, " div_scale: %d", e.div)
	}
	if e.mul != 1 && e.mul != 0 {
		b = fmt.Appendf(b, " mul_scale: %d", e.mul)
	}
	b = e.desc.AppendPrint(append(b, '\n'), false)
	b = e.dumpValues(b, f)
	switch e.op {
	case opRescale:
		return scalePart(e.left.dump(b, f), &e.text, e.desc.Units)
	case opSelect:
		b = fmt.Appendf(b, "expr node %p type=PATTERN pattern: %s type: exact match inst=%d\n", &e.text, e.text, e.inst)
	case opMatch:
		b = e.dumpPattern(b)
	}
	if e.left != nil {
		b = e.left.dump(b, f)
	}
	if e.right != nil {
		b = e.right.dump(b, f)
	}
	return b
}

// dumpPattern appends the pattern of a matchinst and its results for instances.
func (e *expr) dumpPattern(b []byte) []byte {
	b = fmt.Appendf(b, "expr node %p type=PATTERN pattern: %s type: ", &e.text, e.text)
	if e.invert {
		b = append(b, "inverted "...)
	}
	b = fmt.Appendf(b, "regex used=%d", e.rounds)
	if e.seen != nil {
		matches := 0
		for _, m := range e.seen {
			if m.ok {
				matches++
			}
		}
		b = fmt.Appendf(b, " (%d instances, %d matches)", len(e.seen), matches)
	}
	return append(b, '\n')
}

// dumpValues appends the values of e, and those of the previous fetch.
func (e *expr) dumpValues(b []byte, f *frame) []byte {
	if len(e.vals) == 0 {
		return b
	}
	wasN := 0
	if e.last {
		wasN = min(e.wasN, len(e.was))
	}
	n := min(e.n, len(e.vals))
	for i := range max(n, wasN, 0) {
		b = fmt.Appendf(b, "[%d]", i)
		if i < n {
			b = fmt.Appendf(b, " inst=%d, val=", e.vals[i].inst)
			b = e.appendValue(b, e.vals[i].bits, f)
		}
		if i < wasN {
			b = fmt.Appendf(b, " (last inst=%d, val=", e.was[i].inst)
			b = append(e.appendValue(b, e.was[i].bits, nil), ')')
		}
		b = append(b, '\n')
	}
	return b
}

func (e *expr) appendValue(b []byte, bits uint64, f *frame) []byte {
	switch t := e.desc.Type; t {
	case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64:
		return pcp.RawValue(t, bits).AppendText(b)
	case pcp.TypeFloat, pcp.TypeDouble:
		return ctext.AppendFloat(b, floating[float64](t, bits), 'g', 6)
	case pcp.TypeString:
		if f != nil && bits < uint64(len(f.data)) {
			return append(b, ctext.Bytes(f.data[bits])...)
		}
		return b
	}
	return append(b, "[blob]"...)
}

// mismatch traces that the values of two operands, or of two fetches, are not of
// the same instance. That is expected if instances are picked.
func (f *frame) mismatch(e *expr, other string, i int, v val, j int, w val) {
	if f.log != nil && !e.picks() {
		f.log.Printf("eval_expr: %s: inst[%d] mismatch left [%d]=%d %s [%d]=%d\n", e.op, len(e.vals), i, v.inst, other, j, w.inst)
	}
}

// recovered traces the place where the instance was found.
func (f *frame) recovered(e *expr, other string, j int, v val) {
	if f.log != nil && !e.picks() {
		f.log.Printf("eval_expr: recover @ %s [%d]=%d\n", other, j, v.inst)
	}
}

// picks reports whether an operand of e picks instances.
func (e *expr) picks() bool {
	for _, x := range [...]*expr{e.left, e.right} {
		if x != nil && (x.op == opSelect || x.op == opMatch) {
			return true
		}
	}
	return false
}

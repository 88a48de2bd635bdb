package rewrite

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A ValueError is a value that cannot be changed as the rules want, such as a
// number that does not fit into its new type. It ends the rewriting.
type ValueError struct {
	What   string // the failure and its kind: "Error: ..."
	Err    error
	Record []byte // the rewritten part of the record, in the words of the C library
}

func (e *ValueError) Error() string { return e.What + ": " + pcp.Code(e.Err).Error() }
func (e *ValueError) Unwrap() error { return e.Err }

// concerns reports whether records with the metric change.
func (s *metricSpec) concerns() bool {
	return s.flags&(metricPMID|metricType|metricDelete|metricRescale|metricValue) != 0 || s.picks() || s.renumbers()
}

// renumbers reports whether instances of the metric change their numbers, or are removed.
func (s *metricSpec) renumbers() bool { return s.insts != nil && s.insts.renumbers }

// picks reports whether one value of several must be picked.
func (s *metricSpec) picks() bool { return s.flags&metricInDom != 0 && s.output != outputAll }

// changesValues reports whether values change, and not only identifiers.
func (s *metricSpec) changesValues() bool {
	return s.flags&(metricType|metricRescale|metricValue) != 0 || s.picks()
}

// A layoutPlan has the changes to the records of a layout.
type layoutPlan struct {
	specs []*metricSpec // by set, nil if it does not change
	any   bool
}

// plan returns the changes to a record.
func (w *rewriter) plan(rec *archive.Record) *layoutPlan {
	p := &w.plans[rec.Layout]
	if rec.Layout != 0 && p.specs != nil {
		return p
	}
	p.specs, p.any = p.specs[:0], false
	for i := range rec.Sets {
		s := w.concerned[rec.Sets[i].PMID]
		p.specs = append(p.specs, s)
		p.any = p.any || s != nil
	}
	if p.specs == nil {
		p.specs = []*metricSpec{}
	}
	return p
}

// values writes a record with the changes of the rules.
func (w *rewriter) values(rec *archive.Record) error {
	p := w.plan(rec)
	if !p.any {
		return w.copier.Record(rec, nil)
	}
	w.parts, w.used, w.numbers, w.picks = w.parts[:0], 0, w.numbers[:0], w.picks[:0]
	for i := range rec.Sets {
		set := &rec.Sets[i]
		s := p.specs[i]
		switch {
		case s == nil:
			w.parts = append(w.parts, archive.Part{Set: *set})
		case s.flags&metricDelete != 0:
		default:
			part := archive.Part{Set: *set}
			if s.flags&metricPMID != 0 {
				part.PMID = s.new.PMID
			}
			switch {
			case set.Len == 0:
			case !s.changesValues():
				if s.renumbers() {
					w.renumber(rec, set, s.insts, &part)
				}
			default:
				if err := w.change(rec, set, s, &part); err != nil {
					if e, ok := err.(*ValueError); ok {
						w.parts = append(w.parts, part)
						e.Record = w.describe(rec, p, i+1)
					}
					return err
				}
			}
			w.parts = append(w.parts, part)
		}
	}
	if len(w.parts) == 0 {
		return nil
	}
	return w.copier.Record(rec, w.parts)
}

// renumber gives a part the changed instances of a set.
func (w *rewriter) renumber(rec *archive.Record, set *archive.Set, in *indomSpec, part *archive.Part) {
	pairs := rec.Values(set)
	numbers, picks := len(w.numbers), len(w.picks)
	for i := range set.Len {
		inst := int32(binary.BigEndian.Uint32(pairs[valueset.Pair*i:]))
		if k, ok := in.byInst[inst]; ok {
			c := &in.insts[k]
			if c.deleted {
				continue
			}
			if c.setInst {
				inst = c.newInst
			}
		}
		w.numbers = append(w.numbers, inst)
		w.picks = append(w.picks, i)
	}
	part.Insts = w.numbers[numbers:len(w.numbers):len(w.numbers)]
	switch len(part.Insts) {
	case set.Len:
	case 0:
		part.Pick = []int{} // not nil, which is all of them
	default:
		part.Pick = w.picks[picks:len(w.picks):len(w.picks)]
	}
}

// room returns memory for n values of a record. Memory returned earlier stays valid until
// the next record.
func (w *rewriter) room(n int) []pcp.Value {
	if w.used+n > len(w.pool) {
		w.pool, w.used = make([]pcp.Value, max(2*len(w.pool), n, 64)), 0
	}
	w.used += n
	return w.pool[w.used-n : w.used-n : w.used]
}

// change gives a part the changed values of a set.
func (w *rewriter) change(rec *archive.Record, set *archive.Set, s *metricSpec, part *archive.Part) error {
	list := w.room(set.Len)
	list, err := appendValues(list, rec, set)
	if err != nil {
		return err
	}
	if s.picks() {
		list = s.pick(list)
	}
	if s.flags&metricValue != 0 {
		for i := range list {
			text, ok := list[i].Text()
			if !ok {
				continue
			}
			for k := range s.values {
				text, _ = s.values[k].apply(text)
			}
			list[i] = pcp.StringValue(text).WithInst(list[i].Inst)
		}
	}
	if s.renumbers() {
		kept := list[:0]
		for _, v := range list {
			if k, ok := s.insts.byInst[v.Inst]; ok {
				c := &s.insts.insts[k]
				if c.deleted {
					continue
				}
				if c.setInst {
					v.Inst = c.newInst
				}
			}
			kept = append(kept, v)
		}
		list = kept
	}
	failed := func(err error, done int, format string, args ...any) error {
		part.Values = list[:done]
		return &ValueError{What: fmt.Sprintf(format, args...), Err: err}
	}
	typ := s.old.Type
	if s.flags&metricRescale != 0 {
		for i := range list {
			v, err := w.extract(list[i], typ, typ)
			if err != nil {
				return failed(err, i, "Botch: %s (%s): extracting value", s.name, s.old.PMID)
			}
			from := v
			v, err = pcp.ConvScale(v, s.old.Units, s.new.Units)
			w.traceScale(from, v, err, s)
			if err != nil {
				return failed(err, i, "Botch: %s (%s): scale conversion from %s to %s failed", s.name, s.old.PMID, s.old.Units, s.new.Units)
			}
			list[i] = v
		}
		part.ValFmt = valueFormat(typ)
	}
	if s.flags&metricType != 0 {
		for i := range list {
			v, err := w.extract(list[i], typ, s.new.Type)
			if err != nil {
				return failed(err, i, "Error: %s (%s): extracting value from type %s to %s", s.name, s.old.PMID, s.old.Type, s.new.Type)
			}
			list[i] = v
		}
		part.ValFmt = valueFormat(s.new.Type)
	}
	for i := range list {
		if n := len(list[i].Bytes()); n > maxString {
			return fmt.Errorf("metric %s: value of %d bytes: %w", s.name, n, pcp.ErrTooBig)
		}
	}
	part.Values = list
	return nil
}

// extract converts a value from one type to another, and traces that (pmExtractValue(3)).
func (w *rewriter) extract(v pcp.Value, from, to pcp.Type) (pcp.Value, error) {
	made, err := v.Extract(from, to)
	if log := w.rules.cfg.Debug; log.On(debugname.Value) {
		text := fmt.Appendf(nil, "pmExtractValue:  %s [%s] -> ", v.As(from), from)
		if err != nil {
			text = fmt.Appendf(text, "Error: %s", pcp.Code(err))
		} else {
			text = fmt.Appendf(text, "%s", made)
		}
		log.Printf("%s [%s]\n", text, to)
	}
	return made, err
}

// traceScale traces the conversion of a value to other units (pmConvScale(3)).
func (w *rewriter) traceScale(from, to pcp.Value, err error, s *metricSpec) {
	log := w.rules.cfg.Debug
	if !log.On(debugname.Value) {
		return
	}
	after := to.String()
	if err != nil {
		after = "Error: " + pcp.Code(err).Error()
	}
	log.Printf("pmConvScale: %s [%s] -> %s [%s]\n", from, s.old.Units, after, s.new.Units)
}

// appendValues appends the values of a set.
func appendValues(list []pcp.Value, rec *archive.Record, set *archive.Set) ([]pcp.Value, error) {
	if set.Len == 0 {
		return list, nil
	}
	pairs := rec.Values(set)
	for i := range set.Len {
		pair := pairs[valueset.Pair*i:]
		word := binary.BigEndian.Uint32(pair[4:])
		v := pcp.RawValue(pcp.TypeUnknown, uint64(word))
		if set.ValFmt != pcp.ValInSitu {
			if err := valueset.DecodeValue(&v, rec.Body, word); err != nil {
				return list, err
			}
		}
		list = append(list, v.WithInst(int32(binary.BigEndian.Uint32(pair))))
	}
	return list, nil
}

// maxString is the maximum length of a string, for its block with the NUL.
const maxString = 1<<24 - 1 - 4 - 1

// valueFormat returns how the C library stores values of a type.
func valueFormat(t pcp.Type) pcp.ValFmt {
	if t.InSitu() {
		return pcp.ValInSitu
	}
	return pcp.ValDPtr
}

// pick returns the single value to keep, or none.
func (s *metricSpec) pick(list []pcp.Value) []pcp.Value {
	k := 0
	switch s.output {
	case outputLast:
		k = len(list) - 1
	case outputOne:
		for k < len(list) && list[k].Inst != s.oneInst {
			k++
		}
		if k == len(list) {
			return list[:0]
		}
	case outputMin, outputMax:
		for i := range list {
			if s.output == outputMin && less(list[i], list[k], s.old.Type) || s.output == outputMax && less(list[k], list[i], s.old.Type) {
				k = i
			}
		}
	case outputSum, outputAvg:
		list[0] = sum(list, s.old.Type, s.output == outputAvg)
	}
	v := list[k]
	switch {
	case s.new.InDom == pcp.InDomNull:
		v.Inst = pcp.InNull
	case s.old.InDom == pcp.InDomNull:
		v.Inst = s.oneInst
	}
	if s.newInst != nil && (s.output == outputOne || s.old.InDom == pcp.InDomNull) {
		v.Inst = *s.newInst
	}
	return append(list[:0], v)
}

func less(a, b pcp.Value, t pcp.Type) bool {
	switch t {
	case pcp.Type32:
		return int32(a.Bits()) < int32(b.Bits())
	case pcp.TypeU32:
		return uint32(a.Bits()) < uint32(b.Bits())
	case pcp.Type64:
		return int64(a.Bits()) < int64(b.Bits())
	case pcp.TypeU64:
		return a.Bits() < b.Bits()
	case pcp.TypeFloat:
		return math.Float32frombits(uint32(a.Bits())) < math.Float32frombits(uint32(b.Bits()))
	}
	return math.Float64frombits(a.Bits()) < math.Float64frombits(b.Bits())
}

// sum returns the sum or the average of values as the first of them, and wraps around
// as C does.
func sum(list []pcp.Value, t pcp.Type, average bool) pcp.Value {
	n := float64(len(list))
	bits := uint64(0)
	switch t {
	case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64:
		for _, v := range list {
			bits += v.Bits()
		}
		switch {
		case t == pcp.Type32:
			if bits = uint64(uint32(bits)); average {
				bits = uint64(uint32(int32(0.5 + float64(int32(bits))/n)))
			}
		case t == pcp.TypeU32:
			if bits = uint64(uint32(bits)); average {
				bits = uint64(uint32(0.5 + float64(bits)/n))
			}
		case average && t == pcp.Type64:
			bits = uint64(int64(0.5 + float64(int64(bits))/n))
		case average:
			bits = uint64(0.5 + float64(bits)/n)
		}
	case pcp.TypeFloat:
		f := float32(0)
		for i, v := range list {
			if x := math.Float32frombits(uint32(v.Bits())); i == 0 {
				f = x
			} else {
				f += x
			}
		}
		if average {
			f /= float32(n)
		}
		bits = uint64(math.Float32bits(f))
	case pcp.TypeDouble:
		f := 0.0
		for i, v := range list {
			if x := math.Float64frombits(v.Bits()); i == 0 {
				f = x
			} else {
				f += x
			}
		}
		if average {
			f /= n
		}
		bits = math.Float64bits(f)
	}
	return pcp.RawValue(list[0].Type(), bits).WithInst(list[0].Inst)
}

// describe returns a record as the C library prints it: the finished parts, and the
// remaining sets.
func (w *rewriter) describe(rec *archive.Record, p *layoutPlan, from int) []byte {
	parts := w.parts
	for i := from; i < len(rec.Sets); i++ {
		if s := p.specs[i]; s == nil || s.flags&metricDelete == 0 {
			parts = append(parts, archive.Part{Set: rec.Sets[i]})
		}
	}
	b := fmt.Appendf(nil, "__pmResult dump from %p timestamp: %d.%09d ", rec, rec.Time.Sec, rec.Time.Nsec)
	b = rec.Time.AppendHighResStamp(b, w.zone())
	b = fmt.Appendf(b, " numpmid: %d\n", len(parts))
	for i := range parts {
		b = w.describePart(b, rec, &parts[i])
	}
	return b
}

func (w *rewriter) zone() *time.Location {
	if w.rules.cfg.Zone == nil {
		return time.UTC
	}
	return w.rules.cfg.Zone
}

func (w *rewriter) describePart(b []byte, rec *archive.Record, part *archive.Part) []byte {
	names := strings.Join(w.rules.meta.Names(part.PMID), ", ")
	if names == "" {
		names = "<noname>"
	}
	b = fmt.Appendf(b, "  %s (%s):", part.PMID, names)
	values := part.Values
	if values == nil {
		values, _ = appendValues(nil, rec, &part.Set)
	}
	switch {
	case len(values) == 0 && part.Values == nil && part.Status != 0:
		return fmt.Appendf(b, " %s\n", part.Status.Error())
	case len(values) == 0:
		return append(b, " No values returned!\n"...)
	}
	b = fmt.Appendf(b, " numval: %d valfmt: %d vlist[]:\n", len(values), part.ValFmt)
	desc, err := w.rules.meta.Desc(part.PMID)
	for _, v := range values {
		if len(values) > 1 || v.Inst != pcp.InNull {
			b = fmt.Appendf(b, "    inst [%d or ???] value ", v.Inst)
		} else {
			b = append(b, "   value "...)
		}
		as := v.Type()
		if err == nil {
			as = desc.Type
		}
		b = append(v.AppendPrint(b, as, 1, w.zone()), '\n')
	}
	return b
}

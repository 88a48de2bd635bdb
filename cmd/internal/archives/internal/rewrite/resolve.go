package rewrite

import (
	"math"
	"strings"

	"github.com/go-pcp/pcp"
)

// Resolve applies the rules to all metadata that they affect, once all files are
// parsed: the metrics, texts and labels of an instance domain change with it. It
// returns an [Error] for rules that contradict each other.
func (r *Rules) Resolve() (err error) {
	defer stopped(&err)
	r.linkMetrics()
	r.linkTexts()
	r.linkLabels()
	r.checkDescs()
	r.checkInDoms()
	r.checkInsts()
	r.checkOutputs()
	return nil
}

// checkDescs checks the descriptors that change.
func (r *Rules) checkDescs() {
	if r.cfg.Check == nil {
		return
	}
	for m := range fromLast(r.metrics) {
		if m.flags&(metricPMID|metricName|metricType|metricInDom|metricSem|metricUnits) == 0 {
			continue
		}
		text, wrong := "", false
		for _, line := range r.cfg.Check(&m.new) {
			text += m.name + ": " + line + "\n"
			wrong = wrong || strings.HasPrefix(line, "Error")
		}
		switch {
		case wrong:
			panic(&Error{r.file, r.line, text})
		case text != "" && r.cfg.Warn != nil:
			r.cfg.Warn(Warning{r.file, r.line, text})
		}
	}
}

// changedInDoms calls f for each instance domain that changes.
func (r *Rules) changedInDoms(f func(s *indomSpec, insts bool)) {
	for s := range fromLast(r.indoms) {
		if insts := s.changesInsts(); insts || s.new != s.old {
			f(s, insts)
		}
	}
}

func (r *Rules) linkMetrics() {
	r.changedInDoms(func(in *indomSpec, insts bool) {
		for _, id := range r.table().metrics {
			s := r.metric(id)
			if s == nil || s.old.InDom != in.old {
				continue
			}
			if insts {
				s.insts = in
			}
			switch {
			case in.new == in.old:
			case s.flags&metricInDom == 0:
				s.flags |= metricInDom
				s.new.InDom = in.new
			case s.new.InDom != in.new:
				r.contradiction("Conflicting indom change for metric %s (%s from metric clause, %s from indom clause)", s.name, s.new.InDom, in.new)
			}
		}
	})
}

func (r *Rules) linkTexts() {
	r.changedInDoms(func(in *indomSpec, insts bool) {
		r.eachText(pcp.TextInDom, uint32(in.old), func(kind pcp.TextKind) {
			s := r.text(kind, uint32(in.old), "", false)
			if s == nil {
				return
			}
			s.insts = s.insts || insts
			switch {
			case in.new == in.old:
			case s.flags&textIdent == 0:
				s.flags |= textIdent
				s.newIdent = uint32(in.new)
			case s.newIdent != uint32(in.new):
				r.contradiction("Conflicting indom change for help text (%s from text clause, %s from indom clause)", pcp.InDom(s.newIdent), in.new)
			}
		})
	})
	for m := range fromLast(r.metrics) {
		if m.new.PMID == m.old.PMID {
			continue
		}
		r.eachText(pcp.TextPMID, uint32(m.old.PMID), func(kind pcp.TextKind) {
			s := r.text(kind, uint32(m.old.PMID), "", false)
			switch {
			case s == nil:
			case s.flags&textIdent == 0:
				s.flags |= textIdent
				s.newIdent = uint32(m.new.PMID)
			case s.newIdent != uint32(m.new.PMID):
				r.contradiction("Conflicting pmid change for help text (%s from text clause, %s from pmid clause)", pcp.PMID(s.newIdent), m.new.PMID)
			}
		})
	}
}

// eachText calls f for the kinds of texts that an object has.
func (r *Rules) eachText(object pcp.TextKind, ident uint32, f func(pcp.TextKind)) {
	for _, t := range r.table().texts {
		if t.kind&object == 0 {
			continue
		}
		for _, id := range t.idents {
			if id == ident {
				f(t.kind)
			}
		}
	}
}

// endOfTime is behind all records.
func endOfTime() pcp.Timestamp { return pcp.Timestamp{Sec: math.MaxInt64} }

func (r *Rules) linkLabels() {
	r.changedInDoms(func(in *indomSpec, insts bool) {
		for _, t := range r.table().labels {
			if t.level != pcp.LabelInDom && t.level != pcp.LabelInstances {
				continue
			}
			for _, ident := range t.idents {
				if ident == uint32(in.old) {
					r.linkInDomLabels(in, insts, t.level)
				}
			}
		}
	})
	for m := range fromLast(r.metrics) {
		if m.new.PMID == m.old.PMID {
			continue
		}
		for _, t := range r.table().labels {
			var old, to uint32
			switch t.level {
			case pcp.LabelDomain:
				old, to = uint32(m.old.PMID.Domain()), uint32(m.new.PMID.Domain())
			case pcp.LabelItem:
				old, to = uint32(m.old.PMID), uint32(m.new.PMID)
			default:
				// The C tool does not find the labels of a cluster, and a cluster may
				// keep some of its metrics.
				continue
			}
			for _, ident := range t.idents {
				if ident == old {
					r.linkMetricLabels(t.level, old, to, m)
				}
			}
		}
	}
}

func (r *Rules) linkInDomLabels(in *indomSpec, insts bool, level pcp.LabelFlags) {
	sets, _ := r.meta.LookupLabels(level, uint32(in.old), endOfTime())
	for i := range sets {
		s := r.label(level, uint32(in.old), sets[i].Inst, nil, "", "")
		s.insts = s.insts || insts
		switch {
		case in.new == in.old:
		case s.flags&labelIdent == 0:
			s.flags |= labelIdent
			s.newIdent = uint32(in.new)
		case s.newIdent != uint32(in.new):
			r.contradiction("Conflicting indom change for label set (%s from text clause, %s from indom clause)", pcp.InDom(s.newIdent), in.new)
		}
	}
}

func (r *Rules) linkMetricLabels(level pcp.LabelFlags, old, to uint32, m *metricSpec) {
	s := r.label(level, old, 0, nil, "", "")
	switch {
	case old == to:
	case s.flags&labelIdent == 0:
		s.flags |= labelIdent
		s.newIdent = to
	case s.newIdent != to:
		r.contradiction("Conflicting pmid change for help label (%s from label clause, %s from pmid clause)", pcp.PMID(s.newIdent), m.new.PMID)
	}
}

// becomes reports whether the copy has the instance domain to, given the changes of
// domain old.
func (r *Rules) becomes(old, to pcp.InDom, byNew bool) bool {
	for s := range fromLast(r.indoms) {
		if s.old == old || byNew && s.new == to {
			return s.new != s.old && s.new == to
		}
	}
	for _, id := range r.table().indoms {
		if id == to {
			return true
		}
	}
	return false
}

// checkInDoms checks that the copy has the new instance domains of metrics, texts and
// labels.
func (r *Rules) checkInDoms() {
	const lacks = "is not in the output archive"
	any := len(r.table().indoms) > 0
	for s := range fromLast(r.metrics) {
		if s.insts == nil && s.flags&metricInDom != 0 && s.new.InDom != pcp.InDomNull && !(any && r.becomes(s.old.InDom, s.new.InDom, true)) {
			r.contradiction("New indom (%s) for metric %s %s", s.new.InDom, s.name, lacks)
		}
	}
	for s := range fromLast(r.texts) {
		if !s.insts && s.kind&pcp.TextInDom != 0 && s.flags&textIdent != 0 && !(any && r.becomes(pcp.InDom(s.ident), pcp.InDom(s.newIdent), false)) {
			r.contradiction("New indom (%s) for help text %s", pcp.InDom(s.newIdent), lacks)
		}
	}
	for s := range fromLast(r.labels) {
		if !s.insts && s.level&(pcp.LabelInDom|pcp.LabelInstances) != 0 && s.flags&labelIdent != 0 && !(any && r.becomes(pcp.InDom(s.ident), pcp.InDom(s.newIdent), false)) {
			r.contradiction("New indom (%s) for label set %s %s", pcp.InDom(s.newIdent), identText(s.level, s.newIdent), lacks)
		}
	}
}

// checkInsts checks that the instances of each domain have unique numbers and
// names.
func (r *Rules) checkInsts() {
	for s := range fromLast(r.indoms) {
		// The first two instances by number or name.
		insts, names := make(map[int32][2]int), make(map[string][2]int)
		for i := range s.insts {
			inst, name := s.insts[i].result()
			noteUse(insts, inst, i)
			if name != "" {
				noteUse(names, firstWord(name), i)
			}
		}
		for i := range s.insts {
			inst, name := s.insts[i].result()
			other := func(use [2]int) int {
				if use[0] == i {
					return use[1]
				}
				return use[0]
			}
			byInst, byName := other(insts[inst]), -1
			if name != "" {
				byName = other(names[firstWord(name)])
			}
			switch {
			case byInst >= 0 && (byName < 0 || byInst <= byName):
				_, name2 := s.insts[byInst].result()
				r.contradiction("Duplicate instance id %d (\"%s\" and \"%s\") for indom %s", inst, name, name2, s.old)
			case byName >= 0:
				inst2, name2 := s.insts[byName].result()
				r.contradiction("Duplicate instance name \"%s\" (%d) and \"%s\" (%d) for indom %s", name, inst, name2, inst2, s.old)
			}
		}
	}
}

func noteUse[K comparable](uses map[K][2]int, key K, i int) {
	u, ok := uses[key]
	switch {
	case !ok:
		uses[key] = [2]int{i, -1}
	case u[1] < 0:
		u[1] = i
		uses[key] = u
	}
}

// checkOutputs finds the instances in rules that keep a single value.
func (r *Rules) checkOutputs() {
	for s := range fromLast(r.metrics) {
		if s.flags&metricInDom == 0 || s.output != outputOne && s.output != outputFirst {
			continue
		}
		if s.old.InDom != pcp.InDomNull && s.output == outputOne {
			in := r.indom(s.old.InDom, false)
			if in == nil {
				r.stop("Botch: old indom %s for metric %s not found", s.old.InDom, s.name)
			}
			r.findOutput(s, in, "old", s.old.InDom)
		}
		if s.new.InDom != pcp.InDomNull {
			in := r.newInDom(s)
			r.findOutput(s, in, "new", s.new.InDom)
			if s.old.InDom == pcp.InDomNull && s.oneInst == pcp.InNull {
				s.oneInst = 0
			}
			if in.new == s.new.InDom && in.old != in.new {
				s.newInst = in.changed(s.oneInst)
			}
		}
	}
}

// newInDom returns the spec of the instance domain that a metric gets, with PCP 7 also the spec that renumbers another one to it.
func (r *Rules) newInDom(s *metricSpec) *indomSpec {
	id := s.new.InDom
	if r.cfg.Seven {
		for _, in := range r.indoms {
			if in.new == id {
				return in
			}
		}
	}
	in := r.indom(id, r.cfg.Seven)
	switch {
	case in == nil && r.cfg.Seven:
		r.contradiction("New indom (%s) for metric %s is not in the output archive", id, s.name)
	case in == nil:
		r.stop("Botch: InDom %s not found", id)
	}
	return in
}

// changed returns the new number of an instance, nil if there is none.
func (in *indomSpec) changed(inst int32) *int32 {
	for i := range in.insts {
		if c := &in.insts[i]; c.inst == inst {
			to, _ := c.result()
			return &to
		}
	}
	return nil
}

func (r *Rules) findOutput(s *metricSpec, in *indomSpec, which string, id pcp.InDom) {
	for i := range in.insts {
		c := &in.insts[i]
		switch {
		case !s.named && c.inst == s.oneInst:
			return
		case s.named && sameInstName(c.name, s.oneName):
			s.named, s.oneName, s.oneInst = false, "", c.inst
			return
		}
	}
	if s.named {
		r.note("Instance \"%s\" from OUTPUT clause not found in %s indom %s", s.oneName, which, id)
	} else {
		r.note("Instance %d from OUTPUT clause not found in %s indom %s", s.oneInst, which, id)
	}
}

package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// labels writes a record of labels with the changes of the rules.
func (w *rewriter) labels(rec *archive.MetaRecord, body []byte) error {
	changes := ^labelNew
	if w.rules.cfg.KeepSets {
		changes = ^0
	}
	concerned := false
	for _, s := range w.rules.labels {
		if s.level == rec.Level && s.ident == rec.Ident && s.flags&changes != 0 {
			concerned = true
		}
	}
	if !concerned {
		return w.copier.Meta(rec, body)
	}
	e := labelEdit{w: w, rec: rec, sets: slices.Clone(rec.Labels), ident: rec.Ident}
	for s := range fromLast(w.rules.labels) {
		if s.level != rec.Level || s.ident != rec.Ident || s.flags&^labelNew == 0 {
			continue
		}
		gone, err := e.apply(s)
		if err != nil {
			return err
		}
		if gone {
			e.sets = nil
			break
		}
	}
	if w.rules.cfg.KeepSets {
		if err := e.addNew(); err != nil {
			return err
		}
	}
	if len(e.sets) == 0 {
		return nil
	}
	return e.write(e.ident, e.sets)
}

// A labelEdit is a record of labels being changed. Rules take sets out of it and write
// them as separate records; the remaining sets are written at the end. With
// [Config.KeepSets] only labels that move to another identifier or instance are taken out, and new labels are put in.
type labelEdit struct {
	w     *rewriter
	rec   *archive.MetaRecord
	sets  []pcp.LabelSet
	ident uint32
}

// inPlace reports whether the changes of a rule stay in the record.
func (e *labelEdit) inPlace(s *labelSpec) bool {
	return e.w.rules.cfg.KeepSets && s.newIdent == e.ident
}

// addNew adds the new labels of the rules to the sets.
func (e *labelEdit) addNew() error {
	for s := range fromLast(e.w.rules.labels) {
		if s.flags&labelNew == 0 || s.level != e.rec.Level || s.newIdent != e.ident {
			continue
		}
		at := slices.IndexFunc(e.sets, func(set pcp.LabelSet) bool { return s.level != pcp.LabelInstances || set.Inst == s.newSet.Inst })
		if at < 0 {
			e.sets = append(e.sets, s.newSet)
			continue
		}
		if err := e.sets[at].Add(s.newSet.JSON, s.level); err != nil {
			return &ValueError{What: "Unable to add label " + s.newSet.JSON, Err: err}
		}
	}
	return nil
}

// newLabels returns the records of the labels that the rules add, for the start of the copy. With [Config.KeepSets]
// there is a record for each identifier whose labels are not in another record then: readers use one record for a time.
func (w *rewriter) newLabels(t pcp.Timestamp) []archive.MetaRecord {
	var list []archive.MetaRecord
	for s := range fromLast(w.rules.labels) {
		if s.flags&labelNew == 0 {
			continue
		}
		rec := archive.MetaRecord{Type: archive.MetaLabel, Time: t, Level: s.level, Ident: s.newIdent, Labels: []pcp.LabelSet{s.newSet}}
		if w.rules.cfg.KeepSets {
			at := slices.IndexFunc(list, func(r archive.MetaRecord) bool { return r.Level == rec.Level && r.Ident == rec.Ident })
			if at >= 0 {
				list[at].Labels = append(list[at].Labels, s.newSet)
				continue
			}
			if w.hasLabels(s, t) {
				continue // they get the new ones
			}
		}
		list = append(list, rec)
	}
	return list
}

// hasLabels reports whether the archive has labels of the identifier of a rule at the start of the copy.
func (w *rewriter) hasLabels(s *labelSpec, start pcp.Timestamp) bool {
	return slices.ContainsFunc(w.rules.meta.LabelRecords(), func(rec archive.LabelRecord) bool {
		return rec.Level == s.level && rec.Ident == s.ident && w.rules.global.shift(rec.Time).Compare(start) <= 0
	})
}

func (e *labelEdit) write(ident uint32, sets []pcp.LabelSet) error {
	out := *e.rec
	out.Ident, out.Labels = ident, sets
	return e.w.copier.Meta(&out, nil)
}

// apply applies a rule, and reports whether nothing is left.
func (e *labelEdit) apply(s *labelSpec) (gone bool, err error) {
	flags := s.flags &^ labelNew
	covers := func(set *pcp.LabelSet) bool {
		return s.level != pcp.LabelInstances || s.inst == -1 || s.inst == set.Inst
	}
	whole := s.name == "" && s.value == ""
	if whole && !slices.ContainsFunc(e.sets, func(set pcp.LabelSet) bool { return !covers(&set) }) {
		if flags&labelDelete != 0 {
			return true, nil
		}
		if flags&labelIdent != 0 {
			e.ident = s.newIdent
		}
	}
	for i := 0; i < len(e.sets); i++ {
		if !covers(&e.sets[i]) {
			continue
		}
		if !whole {
			set, err := e.applyToLabels(s, e.sets[i])
			if err != nil {
				return false, err
			}
			if e.sets[i] = set; len(set.Index) == 0 {
				e.sets = slices.Delete(e.sets, i, i+1)
				i--
			}
			continue
		}
		if flags == labelInst {
			e.sets[i].Inst = s.newInst
			continue
		}
		set, inPlace := e.sets[i], flags&labelDelete == 0 && e.inPlace(s)
		if !inPlace {
			e.sets = slices.Delete(e.sets, i, i+1)
			i--
		}
		if flags&labelDelete != 0 {
			continue
		}
		if flags&labelInst != 0 {
			set.Inst = s.newInst
		}
		name, value := "", ""
		if flags&labelName != 0 {
			name = s.newName
		}
		if flags&labelValue != 0 {
			value = s.newValue
		}
		if set, err = replaceLabels(set, name, value); err != nil {
			return false, err
		}
		if inPlace {
			e.sets[i] = set
		} else if err := e.write(s.newIdent, []pcp.LabelSet{set}); err != nil {
			return false, err
		}
	}
	return false, nil
}

// applyToLabels applies a rule to the labels of a set that it names. It returns the
// rest of the set.
func (e *labelEdit) applyToLabels(s *labelSpec, set pcp.LabelSet) (pcp.LabelSet, error) {
	var kept []pcp.Label
	taken := false
	inPlace := s.flags&(labelDelete|labelInst) == 0 && e.inPlace(s)
	for l := range set.All() {
		if s.name != "" && s.name != `"`+l.Name+`"` || s.value != "" && s.value != l.Value {
			kept = append(kept, l)
			continue
		}
		taken = true
		if s.flags&labelDelete != 0 {
			continue
		}
		name, value := `"`+l.Name+`"`, l.Value
		if s.newName != "" {
			name = s.newName
		}
		if s.newValue != "" {
			value = s.newValue
		}
		json := "{" + name + ":" + value + "}"
		own, err := pcp.ParseLabels(json, s.level)
		if err != nil {
			return set, &ValueError{What: "Unable to rewrite label " + json, Err: err}
		}
		if inPlace && !hasOther(&set, l.Name, name) {
			l.Name, l.Value = name[1:len(name)-1], value
			kept = append(kept, l)
			continue
		}
		own.Inst = set.Inst
		if s.flags&labelInst != 0 {
			own.Inst = s.newInst
		}
		if err := e.write(s.newIdent, []pcp.LabelSet{own}); err != nil {
			return set, err
		}
	}
	if !taken {
		return set, nil
	}
	if inPlace {
		slices.SortStableFunc(kept, func(a, b pcp.Label) int { return strings.Compare(a.Name, b.Name) })
	}
	return labelSet(set.Inst, kept)
}

// hasOther reports whether a set has a label of the quoted name besides the label called own. A set may have each
// name once.
func hasOther(set *pcp.LabelSet, own, quoted string) bool {
	for l := range set.All() {
		if l.Name != own && `"`+l.Name+`"` == quoted {
			return true
		}
	}
	return false
}

// replaceLabels gives all labels of a set a name or a value, as JSON; "" changes nothing.
func replaceLabels(set pcp.LabelSet, name, value string) (pcp.LabelSet, error) {
	if name == "" && value == "" || len(set.Index) == 0 {
		return set, nil
	}
	var list []pcp.Label
	for l := range set.All() {
		if name != "" {
			l.Name = name[1 : len(name)-1]
		}
		if value != "" {
			l.Value = value
		}
		list = append(list, l)
	}
	return labelSet(set.Inst, list)
}

// labelSet makes a set of unchanged labels, in their order.
func labelSet(inst int32, list []pcp.Label) (pcp.LabelSet, error) {
	set := pcp.LabelSet{Inst: inst}
	b := []byte{'{'}
	for i, l := range list {
		if i > 0 {
			b = append(b, ',')
		}
		x := pcp.LabelIndex{Name: uint16(len(b) + 1), NameLen: uint8(len(l.Name)), Flags: l.Flags}
		b = append(append(append(b, '"'), l.Name...), `":`...)
		x.Value, x.ValueLen = uint16(len(b)), uint16(len(l.Value))
		b = append(b, l.Value...)
		if len(l.Name) > pcp.MaxLabelNameLen || len(b) >= pcp.MaxLabelJSONLen {
			return set, fmt.Errorf("labels of %d bytes: %w", len(b), pcp.ErrTooBig)
		}
		set.Index = append(set.Index, x)
	}
	set.JSON = string(append(b, '}'))
	return set, nil
}

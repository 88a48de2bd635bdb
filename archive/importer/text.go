package importer

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A text is a help text that was put.
type text struct {
	kind    pcp.TextKind
	ident   uint32
	content string
	done    bool // written
}

// A label is the labels that were put for one identifier and instance.
type label struct {
	level pcp.LabelFlags
	ident uint32
	set   pcp.LabelSet
}

// A labelKey finds a label.
type labelKey struct {
	level pcp.LabelFlags
	ident uint32
	inst  int32 // of an instance, else 0
}

// PutText puts help text for the next Write (pmiPutText(3)). Kind is
// pcp.TextPMID or pcp.TextInDom, which selects the kind of ident, with
// pcp.TextOneLine or pcp.TextHelp.
func (im *Importer) PutText(kind pcp.TextKind, ident uint32, content string) error {
	if im.ended {
		return pcp.ErrNoContext
	}
	if typ := kind &^ (pcp.TextOneLine | pcp.TextHelp); typ != pcp.TextPMID && typ != pcp.TextInDom {
		return fmt.Errorf("text of kind %s: %w", kind, ErrBadTextType)
	}
	if class := kind & (pcp.TextOneLine | pcp.TextHelp); class != pcp.TextOneLine && class != pcp.TextHelp {
		return fmt.Errorf("text of kind %s: %w", kind, ErrBadTextClass)
	}
	if ident == uint32(pcp.PMIDNull) {
		return ErrBadTextID
	}
	content, _, _ = strings.Cut(content, "\x00")
	if content == "" {
		return ErrEmptyTextContent
	}
	t := text{kind: kind, ident: ident, content: content}
	if im.old != nil && im.old.texts[t] {
		return nil
	}
	if im.said[t] {
		return ErrDupText
	}
	im.said[t] = true
	im.texts = append(im.texts, t)
	return nil
}

// PutLabel puts a label for the next Write (pmiPutLabel(3)). Flags are one of
// the levels, perhaps with pcp.LabelOptional; ident is the identifier that the
// level demands, and inst counts for pcp.LabelInstances. A value becomes a
// string, except true, false, null and a value that is already in quotes, which C
// does not accept.
func (im *Importer) PutLabel(flags pcp.LabelFlags, ident uint32, inst int32, name, value string) error {
	if im.ended {
		return pcp.ErrNoContext
	}
	level := flags.Level()
	switch level {
	case pcp.LabelContext, pcp.LabelDomain, pcp.LabelInDom, pcp.LabelCluster, pcp.LabelItem:
	case pcp.LabelInstances:
		if inst == pcp.InNull {
			return fmt.Errorf("label %s: %w", name, ErrBadLabelInstance)
		}
	default:
		return fmt.Errorf("label %s: level %s: %w", name, flags, ErrBadLabelType)
	}
	if ident == uint32(pcp.PMIDNull) && level != pcp.LabelContext {
		return fmt.Errorf("label %s: %w", name, ErrBadLabelID)
	}
	if name == "" {
		return ErrEmptyLabelName
	}
	if value == "" {
		return fmt.Errorf("label %s: %w", name, ErrEmptyLabelValue)
	}
	key := labelKey{level, ident, 0}
	if level == pcp.LabelInstances {
		key.inst = inst
	}
	i, ok := im.labelAt[key]
	if !ok {
		i = len(im.labels)
	}
	var l label
	if i < len(im.labels) {
		l = im.labels[i]
	} else {
		l = label{level: level, ident: ident}
	}
	if !isJSON(value) {
		value = `"` + value + `"`
	}
	if err := l.set.Add(`{"`+name+`":`+value+`}`, flags); err != nil {
		return fmt.Errorf("label %s: %w: %w", name, ErrAddLabel, err)
	}
	if level == pcp.LabelInstances {
		l.set.Inst = inst
	}
	if i < len(im.labels) {
		im.labels[i] = l
	} else {
		im.labels = append(im.labels, l)
		im.labelAt[key] = i
	}
	return nil
}

// isJSON reports whether the value of a label is already JSON.
func isJSON(value string) bool {
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		return true
	}
	switch strings.ToLower(value) {
	case "true", "false", "null":
		return true
	}
	return false
}

// putTexts writes the texts that are not yet written, each after its metric or
// instance domain.
func (im *Importer) putTexts(t pcp.Timestamp) error {
	if err := im.start(t); err != nil {
		return err
	}
	entry := false
	for i := range im.texts {
		x := &im.texts[i]
		if x.done {
			continue
		}
		if err := im.putSubject(t, x.kind&pcp.TextPMID != 0, x.kind&pcp.TextInDom != 0, x.ident, &entry); err != nil {
			return err
		}
		b, err := archive.AppendText(im.body2[:0], x.kind, x.ident, x.content)
		if err != nil {
			return fmt.Errorf("%s: %w", im.base, err)
		}
		im.body2 = b
		if err := im.w.WriteMeta(b); err != nil {
			return err
		}
		x.done = true
	}
	if entry {
		return im.w.Index(t)
	}
	return nil
}

// putLabels writes the labels that were put, and drops them.
func (im *Importer) putLabels(t pcp.Timestamp) error {
	if err := im.start(t); err != nil {
		return err
	}
	entry := false
	var done map[pcp.InDom]bool // instance domains whose labels of instances are written
	for i := range im.labels {
		l := &im.labels[i]
		sets := []pcp.LabelSet{l.set}
		if im.opt.JoinLabels && l.level == pcp.LabelInstances {
			if done[pcp.InDom(l.ident)] {
				continue
			}
			if done == nil {
				done = make(map[pcp.InDom]bool)
			}
			done[pcp.InDom(l.ident)] = true
			sets = im.instanceLabels(l.ident)
		}
		if err := im.putSubject(t, l.level == pcp.LabelItem, l.level == pcp.LabelInDom || l.level == pcp.LabelInstances, l.ident, &entry); err != nil {
			return err
		}
		b, err := archive.AppendLabels(im.body2[:0], t, l.level, l.ident, sets, im.opt.Version)
		if err != nil {
			return fmt.Errorf("%s: %w", im.base, err)
		}
		im.body2 = b
		if err := im.w.WriteMeta(b); err != nil {
			return err
		}
	}
	im.labels = im.labels[:0]
	clear(im.labelAt)
	if entry {
		return im.w.Index(t)
	}
	return nil
}

// instanceLabels returns the labels of instances of a domain that are not yet written.
func (im *Importer) instanceLabels(ident uint32) []pcp.LabelSet {
	var sets []pcp.LabelSet
	for i := range im.labels {
		if l := &im.labels[i]; l.level == pcp.LabelInstances && l.ident == ident {
			sets = append(sets, l.set)
		}
	}
	return sets
}

// putSubject writes the metric or the instance domain of text or labels, if it is
// known and not yet written.
func (im *Importer) putSubject(t pcp.Timestamp, isMetric, isInDom bool, ident uint32, entry *bool) error {
	switch {
	case isMetric:
		if m := im.byID[pcp.PMID(ident)]; m != nil {
			return im.putMetric(t, m, entry)
		}
	case isInDom:
		return im.putInDom(t, im.indoms[pcp.InDom(ident)], entry)
	}
	return nil
}

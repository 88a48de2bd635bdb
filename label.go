package pcp

import (
	"iter"
	"slices"
	"strings"
)

// LabelFlags have the level at which a label was set (PM_LABEL_*), and in a label
// also whether it is compound or optional. As the type of a request it is one of
// the six levels.
type LabelFlags uint8

// Label levels, lowest precedence first, and flags. The numbers are part of
// the protocol and of the archive format.
const (
	LabelContext   LabelFlags = 1 << 0 // PM_LABEL_CONTEXT
	LabelDomain    LabelFlags = 1 << 1 // PM_LABEL_DOMAIN
	LabelInDom     LabelFlags = 1 << 2 // PM_LABEL_INDOM
	LabelCluster   LabelFlags = 1 << 3 // PM_LABEL_CLUSTER
	LabelItem      LabelFlags = 1 << 4 // PM_LABEL_ITEM
	LabelInstances LabelFlags = 1 << 5 // PM_LABEL_INSTANCES
	LabelCompound  LabelFlags = 1 << 6 // PM_LABEL_COMPOUND: the name has dots
	LabelOptional  LabelFlags = 1 << 7 // PM_LABEL_OPTIONAL: extrinsic (a note), not part of a series' identity
)

// Level returns f without LabelCompound and LabelOptional.
func (f LabelFlags) Level() LabelFlags { return f &^ (LabelCompound | LabelOptional) }

// String prints f as the tools do: "indom,optional".
func (f LabelFlags) String() string {
	s := "?"
	switch f.Level() {
	case LabelContext:
		s = "context"
	case LabelDomain:
		s = "domain"
	case LabelInDom:
		s = "indom"
	case LabelCluster:
		s = "cluster"
	case LabelItem:
		s = "pmid"
	case LabelInstances:
		s = "instances"
	}
	if f&LabelCompound != 0 {
		s += ",compound"
	}
	if f&LabelOptional != 0 {
		s += ",optional"
	}
	return s
}

// Limits on a label set.
const (
	MaxLabels       = 255   // PM_MAXLABELS: labels in a set
	MaxLabelJSONLen = 65535 // PM_MAXLABELJSONLEN: bytes in the JSON of a set
	MaxLabelNameLen = 254   // bytes in a name, dots included
)

// A Label is one label of a set. Value is JSON: a string has its quotes.
type Label struct {
	Name, Value string
	Flags       LabelFlags
}

// A LabelSet holds the labels of one level, or of one instance (pmLabelSet), as
// in PDUs and archives: a JSON object with an index to it. [LabelSet.All] and
// [LabelSet.Lookup] read it. The functions of this package write its JSON by the
// JSONB rules: no insignificant white space, names sorted, no name twice; the
// index is sorted by name. The JSON of a set from a peer is not checked: trust
// only the index to it.
type LabelSet struct {
	Inst  int32 // InNull unless the level is LabelInstances
	Err   Error // if not 0, the reason for the absence of labels (a negative nlabels)
	JSON  string
	Index []LabelIndex
}

// A LabelIndex locates one label in the JSON of its set (pmLabel). Offsets and
// lengths are in bytes; the name is without its quotes, the value as in the JSON.
// It is part of the protocol and of the archive format.
type LabelIndex struct {
	Name     uint16
	NameLen  uint8
	Flags    LabelFlags
	Value    uint16
	ValueLen uint16
}

// Label returns label i of len(s.Index). If the index points outside the JSON,
// the name is "" and the value "null".
func (s *LabelSet) Label(i int) Label {
	at := &s.Index[i]
	l := Label{s.slice(int(at.Name), int(at.NameLen)), s.slice(int(at.Value), int(at.ValueLen)), at.Flags}
	if l.Value == "" {
		l.Value = "null"
	}
	return l
}

func (s *LabelSet) slice(start, n int) string {
	if start > len(s.JSON) || n > len(s.JSON)-start {
		return ""
	}
	return s.JSON[start : start+n]
}

// All returns the labels of s in the order of the index.
func (s *LabelSet) All() iter.Seq[Label] {
	return func(yield func(Label) bool) {
		for i := range s.Index {
			if !yield(s.Label(i)) {
				return
			}
		}
	}
}

// Lookup returns the label with the given name.
func (s *LabelSet) Lookup(name string) (l Label, ok bool) {
	for l := range s.All() {
		if l.Name == name {
			return l, true
		}
	}
	return Label{}, false
}

// Add parses labels as ParseLabels does and merges them into s, where they
// replace those of the same name (pmdaAddLabels(3); with LabelOptional in
// flags pmdaAddNotes). With an error, s is unchanged.
func (s *LabelSet) Add(json string, flags LabelFlags) error {
	more, err := ParseLabels(json, flags)
	if err != nil {
		return err
	}
	list := appendLabels(nil, s, nil)
	list = appendLabels(list, &more, nil)
	merged, err := buildLabels(lastOfEach(list), MaxLabels)
	if err != nil {
		return err
	}
	merged.Inst = s.Inst
	if len(s.Index) == 0 && s.JSON == "" {
		merged.Inst = InNull
	}
	*s = merged
	return nil
}

// appendLabels appends the labels of s. It leaves out labels without a name
// because of a broken index, and names that would break the JSON.
func appendLabels(list []Label, s *LabelSet, keep func(Label) bool) []Label {
	for l := range s.All() {
		if l.Name == "" || strings.IndexFunc(l.Name, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' }) >= 0 {
			continue
		}
		if keep != nil && !keep(l) {
			// It still hides those of its name at lower levels.
			l.Value = ""
		}
		list = append(list, l)
	}
	return list
}

// lastOfEach sorts list by name and drops all except the last label of each name.
func lastOfEach(list []Label) []Label {
	slices.SortStableFunc(list, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	kept := list[:0]
	for i, l := range list {
		if i+1 < len(list) && list[i+1].Name == l.Name {
			continue
		}
		if l.Value != "" {
			kept = append(kept, l)
		}
	}
	return kept
}

// buildLabels writes the JSON of the sorted labels in list and the index to
// it. An empty list makes the JSON "{}".
func buildLabels(list []Label, limit int) (LabelSet, error) {
	if len(list) > limit {
		return LabelSet{}, errTooManyLabels
	}
	size := 2
	for _, l := range list {
		size += len(l.Name) + len(l.Value) + len(`"":,`)
	}
	if len(list) > 0 {
		size--
	}
	if size > MaxLabelJSONLen {
		return LabelSet{}, errLabelsTooLong
	}
	s := LabelSet{Inst: InNull}
	if len(list) > 0 {
		s.Index = make([]LabelIndex, len(list))
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteByte('{')
	for i, l := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		s.Index[i].Name, s.Index[i].NameLen = uint16(b.Len()), uint8(len(l.Name))
		b.WriteString(l.Name)
		b.WriteString(`":`)
		s.Index[i].Value, s.Index[i].ValueLen = uint16(b.Len()), uint16(len(l.Value))
		b.WriteString(l.Value)
		s.Index[i].Flags = l.Flags
	}
	b.WriteByte('}')
	s.JSON = b.String()
	return s, nil
}

// MergeLabels merges sets, the lowest precedence first, into one. Of labels
// with the same name, it keeps that of the last set (pmMergeLabelSets(3)). It
// ignores sets with an error; if none is left, the result is empty and has no
// JSON. The labels keep their flags.
//
// If keep is not nil it decides which labels to take. A label that it refuses
// still hides those of its name in earlier sets.
func MergeLabels(sets []LabelSet, keep func(Label) bool) (LabelSet, error) {
	var list []Label
	present := false
	for i := range sets {
		if sets[i].Err != 0 {
			continue
		}
		present = true
		list = appendLabels(list, &sets[i], keep)
	}
	if !present {
		return LabelSet{Inst: InNull}, nil
	}
	const levels = 6
	return buildLabels(lastOfEach(list), levels*MaxLabels)
}

// MergeLabelJSON merges labels in JSON form, the lowest precedence first, as
// MergeLabels does (pmMergeLabels(3)). It accepts compound names. Without any
// labels it returns the empty string.
func MergeLabelJSON(sets ...string) (string, error) {
	parsed := make([]LabelSet, 0, len(sets))
	for _, json := range sets {
		s, err := parseLabels(json, LabelCompound, len(sets)*MaxLabels)
		if err != nil {
			return "", err
		}
		parsed = append(parsed, s)
	}
	merged, err := MergeLabels(parsed, nil)
	if len(merged.Index) == 0 {
		return "", err
	}
	return merged.JSON, err
}

// StringLabels makes a set of labels with string values, given as pairs of
// name and value. It panics if the last name has no value.
func StringLabels(flags LabelFlags, pairs ...string) (LabelSet, error) {
	if len(pairs)%2 != 0 {
		panic("pcp.StringLabels: odd number of arguments")
	}
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSONString(b, pairs[i]), ':')
		b = appendJSONString(b, pairs[i+1])
	}
	return ParseLabels(string(append(b, '}')), flags|LabelCompound)
}

// appendJSONString appends s in quotes. It replaces bytes that are not UTF-8.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ':
			b = append(b, `\u00`...)
			b = append(b, hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}

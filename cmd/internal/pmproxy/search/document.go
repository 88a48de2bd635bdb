package search

import (
	"crypto/sha1"
	"fmt"
)

// A Type is the type of a document.
type Type uint8

// The types of documents (PM_SEARCH_TYPE_METRIC, _INDOM, _INST).
const (
	Unknown Type = iota
	Metric
	InDom
	Instance
)

// String returns the type's name, as in results.
func (t Type) String() string {
	switch t {
	case Metric:
		return "metric"
	case InDom:
		return "indom"
	case Instance:
		return "instance"
	}
	return "unknown"
}

// A Document is what a search finds: a metric, an instance domain, or an
// instance.
type Document struct {
	Type Type
	Name string // name of the metric or instance; of an instance domain the same as InDom
	// InDom is the instance domain, such as "60.1"; "none" for a metric without
	// instances.
	InDom   string
	OneLine string // one-line help; "" if there is none
	Help    string // the help text; "" if there is none
}

// ID returns the identifier of the document, computed from its type and name as
// in PCP's own index (pmsearch -d). Instances of the same name in several
// domains share an identifier.
func (d *Document) ID() [sha1.Size]byte {
	return sha1.Sum(fmt.Appendf(nil, `{"series":"search","key":"pcp:text","type":"%s",name:"%s"}`, d.Type, d.Name))
}

// A Field is a text of a document; fields are a set.
type Field uint8

// The fields of a document.
const (
	FieldName Field = 1 << iota
	FieldOneLine
	FieldHelp

	FieldsAll = FieldName | FieldOneLine | FieldHelp
)

// The numbers of fields in positions, and the weight of a word in each.
const (
	fieldName = iota
	fieldOneLine
	fieldHelp

	weightName    = 9
	weightOneLine = 4
	weightHelp    = 2
)

// text returns a field of the document by its number.
func (d *Document) text(field int) string {
	switch field {
	case fieldName:
		return d.Name
	case fieldOneLine:
		return d.OneLine
	}
	return d.Help
}

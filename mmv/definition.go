package mmv

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-pcp/pcp"
)

// A Metric defines a metric (mmv_stats_add_metric(3)).
type Metric struct {
	// Name is dot-separated, below mmv.FILE; at most 255 bytes.
	Name string
	// Item is the last field of the PMID, 1..1023; 0 takes the lowest that is
	// free, and ItemZero is the item 0.
	Item int
	// Sem is pcp.SemCounter for counters and timers, pcp.SemInstant for
	// gauges, unless set.
	Sem pcp.Sem
	// Units are counts for counters unless set; timers set their own.
	Units pcp.Units
	// OneLine and Help are the help texts, at most 255 bytes each.
	OneLine, Help string
	// InDom is the instance domain of a metric with many values; if nil, the
	// functions that make such a metric add a new one.
	InDom *InDom
	// Labels describe the metric (mmv_stats_add_metric_label(3)).
	Labels []Label
}

// ItemZero selects the item 0 in a Metric.
const ItemZero = -1

// metric is a definition with its values.
type metric struct {
	r     *Registry // nil if the definition was refused
	def   Metric
	typ   Type
	item  int
	inDom *InDom
	slots slots
	at    int // of its record in the file
}

// An InDomDef defines an instance domain (mmv_stats_add_indom(3)).
type InDomDef struct {
	// Serial identifies the domain, 1..4194303; 0 takes the lowest that is free.
	Serial int
	// OneLine and Help are the help texts, at most 255 bytes each.
	OneLine, Help string
	// Instances are the initial instances; Add and With add more.
	Instances []string
	// Labels describe the domain (mmv_stats_add_indom_label(3)).
	Labels []Label
}

// An InDom is an instance domain that metrics share: an instance added to it
// has a value in each of them.
//
// The name of an instance is any text without NUL, at most 255 bytes. Tools of
// PCP look an instance up by its whole name, or by the part before the first
// space: avoid names that are equal up to there, as the short form then finds the
// first of them.
type InDom struct {
	r       *Registry
	def     InDomDef
	insts   []pcp.Instance
	names   index          // in insts
	byInst  map[int32]bool // nil while numbers only rise
	next    int64          // above all numbers
	hole    int32          // no number below it is free
	metrics []*metric
	at      int // offset of its record, or while encoding of its first instance
	// In a file that grows:
	instAt []int // offset of the record of each instance
	rowAt  int   // offset of their copies in a row
	room   int   // capacity
}

// A Label is a name with a value that describes metrics, such as
// "team": "web". Files with labels are of version 3, and hold at most 255.
type Label struct {
	// Name is letters, digits and underscores, and starts with a letter.
	Name string
	// Value is any value that encoding/json can encode: a string, a number, a
	// bool, nil, a list, a map, or a json.RawMessage.
	Value any
	// Optional labels are not part of the identity of a metric: tools leave them
	// out where they record metrics.
	Optional bool
}

// payload returns {"name":value}, with the checks of a reader.
func (l Label) payload(flags pcp.LabelFlags) (string, error) {
	if l.Name == "" {
		return "", fmt.Errorf("no name: %w", errInvalid)
	}
	var b bytes.Buffer
	b.WriteString(`{"` + l.Name + `":`)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l.Value); err != nil {
		return "", fmt.Errorf("%w: %w", errInvalid, err)
	}
	b.Truncate(b.Len() - 1) // the newline
	b.WriteByte('}')
	if b.Len() >= labelMax {
		return "", fmt.Errorf("%d bytes, at most %d: %w", b.Len(), labelMax-1, errTooBig)
	}
	set, err := pcp.ParseLabels(b.String(), flags)
	if err != nil {
		return "", err
	}
	if len(set.Index) == 0 {
		return "", fmt.Errorf("no value: %w", errInvalid)
	}
	return b.String(), nil
}

// A label is one record of the labels section.
type label struct {
	flags    pcp.LabelFlags
	identity int // cluster, item or serial, as flags select
	inst     int32
	payload  string // {"name":value}
}

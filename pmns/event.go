package pmns

import "github.com/go-pcp/pcp"

// The metrics that every source has in addition to its own, for the parts that
// pmUnpackEventRecords(3) finds in event records.
const (
	EventFlags  = pcp.EventFlagsPMID  // event.flags
	EventMissed = pcp.EventMissedPMID // event.missed
)

// Events returns a name space of EventFlags and EventMissed. A client overlays
// that of the source with it: its names are last, and exist for every source.
func Events() *Tree {
	t := New()
	for _, m := range eventMetrics {
		if err := t.Add(m.name, m.id); err != nil {
			panic(err)
		}
	}
	return t
}

// EventDesc returns the descriptor of EventFlags and EventMissed, and false for
// any other metric.
func EventDesc(id pcp.PMID) (pcp.Desc, bool) {
	for _, m := range eventMetrics {
		if m.id == id {
			return pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}, true
		}
	}
	return pcp.Desc{}, false
}

// EventText returns the one-line help text of EventFlags and EventMissed, or "".
func EventText(id pcp.PMID) string {
	for _, m := range eventMetrics {
		if m.id == id {
			return m.text
		}
	}
	return ""
}

var eventMetrics = [...]struct {
	name string
	id   pcp.PMID
	text string
}{
	{"event.flags", EventFlags, "Flag bits of an event record"},
	{"event.missed", EventMissed, "How many event records were lost"},
}

package pmapi

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// GroupEvents are the values of one field of the event records that a
// FetchGroup fetches. Fetch sets Records and Err.
type GroupEvents struct {
	Records []EventValue // in the order of the records, those that have the field
	Err     error        // why there are no Records

	set   int // index in a result
	inst  int32
	field conversion
}

// An EventValue is the value of a field in one event record, as in GroupItem.
type EventValue struct {
	Time  pcp.Timestamp // of the record
	Value pcp.Value
	Err   error
}

// AddEvents adds the field of the event records that are the values of m.Metric
// to the group (pmExtendFetchGroup_event(3)). The field is a metric as well,
// perhaps event.flags or event.missed; m.Scale and m.Type are those of its values.
// A rate has no meaning here and no value.
func (g *FetchGroup) AddEvents(ctx context.Context, m GroupMetric, field string) (*GroupEvents, error) {
	desc, err := g.lookup(ctx, m.Metric)
	if err != nil {
		return nil, err
	}
	e := &GroupEvents{Err: pcp.ErrValue}
	if e.inst, err = g.instance(ctx, m.Metric, desc.InDom, m.Instance); err != nil {
		return nil, err
	}
	if desc.Type != pcp.TypeEvent && desc.Type != pcp.TypeHighResEvent {
		return nil, fmt.Errorf("%s has no event records: %w", m.Metric, pcp.ErrType)
	}
	fieldDesc, err := g.lookup(ctx, field)
	if err != nil {
		return nil, err
	}
	if fieldDesc.InDom != pcp.InDomNull {
		return nil, fmt.Errorf("field %s: %w", field, pcp.ErrInDom)
	}
	if e.field, err = newConversion(fieldDesc, m); err != nil {
		return nil, fmt.Errorf("field %s in %q: %w", field, m.Scale, err)
	}
	if desc.InDom != pcp.InDomNull {
		if err := g.wantInstance(desc.InDom, e.inst); err != nil {
			return nil, err
		}
	}
	e.field.set = -1
	g.events = append(g.events, e)
	e.set = g.addID(desc.PMID)
	return e, nil
}

// unpack sets the records of e from a result.
func (g *FetchGroup) unpack(e *GroupEvents, res, prev *pcp.Result) {
	vs := &res.Sets[e.set]
	e.Records, e.Err = e.Records[:0], setError(vs)
	for _, v := range vs.Values {
		if e.inst != pcp.InNull && v.Inst != e.inst {
			continue
		}
		records, err := v.EventRecords()
		if err != nil {
			e.Err = err
			return
		}
		for _, rec := range records {
			e.add(g, rec, res, prev)
		}
		return
	}
}

// add adds the values of the field in one record; it may appear repeatedly.
func (e *GroupEvents) add(g *FetchGroup, rec pcp.EventRecord, res, prev *pcp.Result) {
	add := func(v pcp.Value) {
		// Events have no value before, so a rate is pcp.ErrAgain at first
		// and pcp.ErrValue later, as in C.
		ev := EventValue{Time: rec.Time}
		ev.Err = g.convert(&e.field, &ev.Value, &v, 0, res, prev)
		e.Records = append(e.Records, ev)
	}
	switch id := e.field.desc.PMID; {
	case id == pmns.EventFlags && rec.Flags != 0:
		add(pcp.Uint32Value(uint32(rec.Flags)))
	case id == pmns.EventMissed && rec.Flags&pcp.EventMissed != 0:
		add(pcp.Uint32Value(rec.Missed))
	}
	for _, p := range rec.Params {
		if p.PMID == e.field.desc.PMID {
			add(p.Value)
		}
	}
}

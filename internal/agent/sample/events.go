package sample

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/event"
)

// An eventState counts the fetches of event records of one resolution: of
// "fungus" and of the others.
type eventState struct {
	fungus, others int32
	last           [2]pcp.Value // of fungus, and of the others
}

// Items of the records and parameters of events.
const (
	itemRecords        = 136
	itemNoInDomRecords = 137
	itemHighResRecords = 139

	itemEventType      = 127
	itemEventParam32   = 128
	itemEventParamU32  = 129
	itemEventParam64   = 130
	itemEventParamU64  = 131
	itemEventFloat     = 132
	itemEventDouble    = 133
	itemEventString    = 134
	itemEventAggregate = 135
)

// aggregateParam is the value in the event of an aggregate.
var aggregateParam = []byte{0x01, 0x03, 0x07, 0x0f, 0x1f, 0x3f, 0x7f, 0xff}

// A recorder collects the records of one fetch. Its first error sticks.
type recorder struct {
	a      *Agent
	array  *event.Array
	at     pcp.Timestamp
	missed uint32
	err    error
}

// record starts a record a second after the previous one.
func (r *recorder) record(flags pcp.EventFlags) {
	if r.err == nil {
		r.err = r.array.Add(r.at, flags)
	}
	r.at.Sec++
}

func (r *recorder) param(item int, v pcp.Value) {
	if r.err == nil {
		r.err = r.array.Param(pcp.NewPMID(r.a.Domain(), 0, item), v)
	}
}

// typ is the first parameter of most records: their number.
func (r *recorder) typ(n int32) { r.param(itemEventType, pcp.Uint32Value(uint32(n))) }

// fungus makes the records of one of four fetches, or records that provoke a
// fault in clients if n is negative.
func (r *recorder) fungus(n int32) {
	r.at.Sec -= 10
	if n >= 0 {
		n %= 4
	}
	switch n {
	case 1:
		r.record(pcp.EventPoint)
	case 2:
		r.record(pcp.EventPoint)
		r.typ(1)
		r.record(pcp.EventPoint)
		r.typ(2)
		r.param(itemEventParam64, pcp.Int64Value(-3))
	case 3:
		r.record(pcp.EventStart | pcp.EventID | pcp.EventParent)
		r.typ(4)
		r.param(itemEventParamU64, pcp.Uint64Value(5))
		r.param(itemEventString, pcp.StringValue("6"))
		r.record(pcp.EventPoint)
		r.typ(7)
		r.param(itemEventDouble, pcp.DoubleValue(8))
		r.param(itemEventDouble, pcp.DoubleValue(-9))
		r.record(pcp.EventEnd)
		r.typ(10)
		r.param(itemEventParamU64, pcp.Uint64Value(11))
		r.param(itemEventString, pcp.StringValue("twelve"))
		r.param(itemEventString, pcp.StringValue("thirteen"))
		r.param(itemEventParam32, pcp.Int32Value(-14))
		r.param(itemEventParamU32, pcp.Uint32Value(15))
		if r.err == nil {
			r.err = r.array.AddMissed(r.at, r.missed)
		}
		r.at.Sec++
		r.record(pcp.EventPoint)
		r.typ(16)
		r.param(itemEventFloat, pcp.FloatValue(-17))
		r.param(itemEventAggregate, pcp.BytesValue(pcp.TypeAggregate, aggregateParam))
	case -1:
		r.record(pcp.EventPoint)
		r.typ(n)
		if r.err == nil { // an unknown metric
			r.err = r.array.Param(pcp.NewPMID(0, 100, 200), pcp.Uint32Value(uint32(n)))
		}
	}
}

// bogus makes one record or, each third time, two.
func (r *recorder) bogus(n int32) {
	at := r.at
	r.record(pcp.EventPoint)
	r.param(itemEventString, pcp.StringValue(fmt.Sprintf("fetch #%d", n)))
	if n%3 == 0 {
		r.at = at
		r.record(pcp.EventPoint)
		r.param(itemEventString, pcp.StringValue("bingo!"))
	}
}

// records makes the value of an event metric: micro- or high resolution, and
// the instance, InNull for the metric without instances.
func (a *Agent) records(highRes bool, inst int32) (pcp.Value, error) {
	s, r := &a.events[0], &recorder{a: a, array: &event.Array{}, missed: 7, at: pcp.TimestampOf(time.Now())}
	if highRes {
		s, r.array, r.missed = &a.events[1], event.NewHighResArray(), 7000
	}
	last := &s.last[0]
	if inst == 0 {
		r.fungus(s.fungus)
		s.fungus++
	} else {
		r.bogus(s.others)
		s.others++
		last = &s.last[1]
	}
	if r.err != nil {
		a.fetchErr = r.err
	}
	*last = r.array.Value()
	return *last, nil
}

// shareEvents replaces the records of one fetch by the last: in the C agent
// "bogus" and the metric without instances share their records.
func (a *Agent) shareEvents(vs *pcp.ValueSet) {
	s := &a.events[0]
	if vs.PMID.Item() == itemHighResRecords {
		s = &a.events[1]
	}
	for i, v := range vs.Values {
		last := s.last[1]
		if v.Inst == 0 {
			last = s.last[0]
		}
		vs.Values[i] = last.WithInst(v.Inst)
	}
}

func (a *Agent) eventRows() []row {
	records := func(highRes bool) func(int32, int) (pcp.Value, error) {
		return func(inst int32, _ int) (pcp.Value, error) { return a.records(highRes, inst) }
	}
	reset := func(name string, item int, s *eventState, what string) row {
		return row{Metric: pmda.Metric{
			Name: "event." + name, Item: item, Type: pcp.Type32, Sem: pcp.SemInstant,
			OneLine: "which of four sets of records " + what + " has next",
			Help:    "0 to 3. A store sets it; of -1 makes the next one a record with a parameter\nof an unknown metric.",
			Value:   func(int32, int) (pcp.Value, error) { return pcp.Int32Value(s.fungus % 4), nil },
		}, set: func(v pcp.Value) error {
			s.fungus, s.others = v.Int32(), v.Int32()
			return nil
		}}
	}
	const help = `"fungus" takes turns of four fetches: no records; one without parameters; two with
some; and five with all kinds of parameters, one of which reports missed
records. "bogus" has one record, each third time two.`
	rows := []row{
		{Metric: pmda.Metric{
			Name: "event.records", Item: itemRecords, Type: pcp.TypeEvent, Sem: pcp.SemInstant, InDom: a.dom.event,
			OneLine: "event records", Help: help,
			Value: records(false),
		}},
		{Metric: pmda.Metric{
			Name: "event.highres_records", Item: itemHighResRecords, Type: pcp.TypeHighResEvent, Sem: pcp.SemInstant, InDom: a.dom.event,
			OneLine: "event records with times in nanoseconds", Help: help,
			Value: records(true),
		}},
		{Metric: pmda.Metric{
			Name: "event.no_indom_records", Item: itemNoInDomRecords, Type: pcp.TypeEvent, Sem: pcp.SemInstant,
			OneLine: "event records of a metric without instances",
			Help:    "One record, each third time two.",
			Value:   records(false),
		}},
		reset("reset", 126, &a.events[0], "sample.event.records"),
		reset("reset_highres", 140, &a.events[1], "sample.event.highres_records"),
	}
	for _, p := range []struct {
		name string
		item int
		typ  pcp.Type
	}{
		{"type", itemEventType, pcp.Type32},
		{"param_32", itemEventParam32, pcp.Type32},
		{"param_u32", itemEventParamU32, pcp.TypeU32},
		{"param_64", itemEventParam64, pcp.Type64},
		{"param_u64", itemEventParamU64, pcp.TypeU64},
		{"param_float", itemEventFloat, pcp.TypeFloat},
		{"param_double", itemEventDouble, pcp.TypeDouble},
		{"param_string", itemEventString, pcp.TypeString},
		{"param_aggregate", itemEventAggregate, pcp.TypeAggregate},
	} {
		rows = append(rows, row{Metric: pmda.Metric{
			Name: "event." + p.name, Item: p.item, Type: p.typ, Sem: pcp.SemInstant,
			OneLine: "a parameter of event records of type " + p.typ.String(),
			Help:    "Has values only in the records of sample.event.records and its like.",
		}})
	}
	return rows
}

package val

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/tool/cli"
)

// An eventMetric is what is known about a parameter of event records.
type eventMetric struct {
	name string
	desc pcp.Desc
}

// eventValues prints the event records of a sample.
func (x *viewer) eventValues(ctx context.Context, s *sample) int {
	for i := range s.vs.Values {
		v := &s.vs.Values[i]
		switch {
		case v.Inst == pcp.InNull:
			x.printf("%s:", x.metric)
		case x.column(v.Inst) >= 0:
			x.printf("%s[%s]:", x.metric, x.insts[x.column(v.Inst)].Name)
		case len(x.insts) > 0:
			continue
		default:
			name, err := x.c.NameInDom(ctx, x.desc.InDom, v.Inst)
			if err != nil {
				x.flush()
				return x.env.Fatalf("pmNameInDom: %s[%d]: %s", x.metric, uint32(v.Inst), cli.ErrText(err))
			}
			x.printf("%s[%s]:", x.metric, name)
		}
		x.eventRecords(ctx, v.As(x.desc.Type))
	}
	return 0
}

func (x *viewer) eventRecords(ctx context.Context, v pcp.Value) {
	records, err := v.EventRecords()
	if err != nil {
		x.printf(" pmUnpackEventRecords: %s\n", cli.ErrText(err))
		return
	}
	x.printf(" %d event records\n", len(records))
	for i := range records {
		r := &records[i]
		x.out = append(x.out, "  "...)
		if v.Type() == pcp.TypeHighResEvent {
			x.out = r.Time.AppendHighResStamp(x.out, x.loc)
		} else {
			x.out = r.Time.AppendStamp(x.out, x.loc)
		}
		x.printf(" --- event record [%d]", i)
		switch {
		case r.Flags != 0:
			x.printf(" flags 0x%x (%s) ---\n", uint32(r.Flags), r.Flags)
		case len(r.Params) == 0:
			x.printf(" ---\n    ==> No parameters\n")
		default:
			x.printf(" ---\n")
		}
		if r.Flags&pcp.EventMissed != 0 {
			x.printf("    ==> %d missed event records\n", int32(r.Missed))
		}
		for j := range r.Params {
			x.eventParam(ctx, &r.Params[j])
		}
	}
}

// eventMetric returns what is known about a parameter. It remembers it; an
// error says what failed.
func (x *viewer) eventMetric(ctx context.Context, id pcp.PMID) (*eventMetric, error) {
	if m := x.eventMetrics[id]; m != nil {
		return m, nil
	}
	m := &eventMetric{}
	var err error
	if m.name, err = x.c.NameID(ctx, id); err != nil {
		return nil, fmt.Errorf("%s: pmNameID: %s", id, cli.ErrText(err))
	}
	if m.desc, err = x.c.LookupDesc(ctx, id); err != nil {
		return nil, fmt.Errorf("%s: pmLookupDesc: %s", m.name, cli.ErrText(err))
	}
	if x.eventMetrics == nil {
		x.eventMetrics = map[pcp.PMID]*eventMetric{}
	}
	x.eventMetrics[id] = m
	return m, nil
}

func (x *viewer) eventParam(ctx context.Context, p *pcp.EventParam) {
	m, err := x.eventMetric(ctx, p.PMID)
	if err != nil {
		x.printf("\t%v\n", err)
		return
	}
	x.printf("    %s", m.name)
	if m.desc.InDom != pcp.InDomNull {
		x.printf("[%d]", p.Value.Inst)
	}
	x.out = append(x.out, ' ')
	if m.desc.Type == pcp.TypeAggregate || m.desc.Type == pcp.TypeAggregateStatic {
		x.printf("[%x]\n", p.Value.Bytes())
		return
	}
	x.out = p.Value.AppendPrint(x.out, m.desc.Type, 1, x.loc)
	x.out = append(x.out, '\n')
}

package val

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
)

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
	layout := report.Events{
		Missed: "    ",
		None:   "    ==> No parameters",
		Head: func(b []byte, i int, r *pcp.EventRecord) []byte {
			b = report.AppendEventTime(append(b, "  "...), r, v.Type(), x.loc)
			return fmt.Appendf(b, " --- event record [%d]", i)
		},
		Param: func(b []byte, p *pcp.EventParam) []byte { return x.eventParam(ctx, b, p) },
	}
	x.out = layout.Append(x.out, records)
}

func (x *viewer) eventParam(ctx context.Context, b []byte, p *pcp.EventParam) []byte {
	m := x.params.Lookup(ctx, x.c, p.PMID)
	switch {
	case m.NameErr != nil:
		return fmt.Appendf(b, "\t%s: pmNameID: %s\n", p.PMID, cli.ErrText(m.NameErr))
	case m.DescErr != nil:
		return fmt.Appendf(b, "\t%s: pmLookupDesc: %s\n", m.Name, cli.ErrText(m.DescErr))
	}
	b = append(append(b, "    "...), m.Name...)
	if m.Desc.InDom != pcp.InDomNull {
		b = fmt.Appendf(b, "[%d]", p.Value.Inst)
	}
	b = append(b, ' ')
	if m.Desc.Type == pcp.TypeAggregate || m.Desc.Type == pcp.TypeAggregateStatic {
		return fmt.Appendf(b, "[%x]\n", p.Value.Bytes())
	}
	return append(report.AppendValue(b, x.env, &p.Value, m.Desc.Type, 1, x.loc), '\n')
}

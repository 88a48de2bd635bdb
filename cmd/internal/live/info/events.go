package info

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
)

// eventRecords prints the records in a value.
func (r *reporter) eventRecords(ctx context.Context, v pcp.Value) {
	records, err := v.EventRecords()
	if err != nil {
		name := "pmUnpackEventRecords"
		if v.Type() == pcp.TypeHighResEvent {
			name = "pmUnpackHighResEventRecords"
		}
		r.env.Fatalf("%s: %s", name, cli.ErrText(err))
		return
	}
	layout := report.Events{
		Missed: "        ",
		None:   "\tNo parameters",
		Head: func(b []byte, i int, rec *pcp.EventRecord) []byte {
			b = fmt.Appendf(b, "    --- event record [%d] timestamp ", i)
			return report.AppendEventTime(b, rec, v.Type(), r.loc)
		},
		Param: func(b []byte, p *pcp.EventParam) []byte {
			r.out = b
			r.eventParam(ctx, p)
			return r.out
		},
	}
	r.out = layout.Append(r.out, records)
}

func (r *reporter) eventParam(ctx context.Context, p *pcp.EventParam) {
	if names, err := r.c.NameAll(ctx, p.PMID); err == nil {
		r.printf("    %s (%s)\n", strings.Join(names, " or "), p.PMID)
	} else {
		r.printf("\tPMID: %s\n", p.PMID)
	}
	desc, err := r.c.LookupDesc(ctx, p.PMID)
	if err != nil {
		r.printf("\tpmLookupDesc: %s\n", cli.ErrText(err))
		return
	}
	vs := pcp.ValueSet{PMID: p.PMID, Values: []pcp.Value{p.Value}}
	r.values(ctx, &desc, &vs, "    ")
}

package info

import (
	"context"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/tool/cli"
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
	for i := range records {
		rec := &records[i]
		r.printf("    --- event record [%d] timestamp ", i)
		if v.Type() == pcp.TypeHighResEvent {
			r.out = rec.Time.AppendHighResStamp(r.out, r.loc)
		} else {
			r.out = rec.Time.AppendStamp(r.out, r.loc)
		}
		switch {
		case rec.Flags != 0:
			r.printf(" flags 0x%x (%s) ---\n", uint32(rec.Flags), rec.Flags)
		case len(rec.Params) == 0:
			r.printf(" ---\n\tNo parameters\n")
		default:
			r.printf(" ---\n")
		}
		if rec.Flags&pcp.EventMissed != 0 {
			r.printf("        ==> %d missed event records\n", int32(rec.Missed))
		}
		for j := range rec.Params {
			r.eventParam(ctx, &rec.Params[j])
		}
	}
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

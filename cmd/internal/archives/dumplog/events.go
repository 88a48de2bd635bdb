package dumplog

import (
	"fmt"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/pmns"
)

// appendEvent dumps the event records of one value.
func (d *dumper) appendEvent(b []byte, m *metric, v pcp.Value) []byte {
	b = append(b, m.head[:len(m.head)-len("):")]...)
	if m.insts != nil {
		b = strconv.AppendInt(append(b, '['), int64(v.Inst), 10)
		if name, ok := d.view(m.insts).Name(v.Inst); ok {
			b = append(append(append(b, ` or "`...), name...), `"]`...)
		} else {
			b = append(b, " or ???]"...)
		}
	}
	b = append(b, "): "...)
	records, err := v.EventRecords()
	if err != nil {
		return b // as in the C tool: the line is left unfinished
	}
	if len(records) == 0 {
		return append(b, "No event records\n"...)
	}
	missed := 0
	for i := range records {
		if r := &records[i]; r.Flags&pcp.EventMissed != 0 {
			missed += int(int32(r.Missed))
		}
	}
	b = strconv.AppendInt(b, int64(len(records)), 10)
	if missed > 0 {
		b = fmt.Appendf(b, " (and %d missed)", missed)
	}
	b = append(b, " event record"...)
	if len(records)+missed != 1 {
		b = append(b, 's')
	}
	b = append(b, '\n')
	layout := report.Events{
		Missed: "        ",
		None:   "\t          No parameters",
		Head: func(b []byte, i int, r *pcp.EventRecord) []byte {
			b = fmt.Appendf(b, "        --- event record [%d] timestamp ", i)
			if m.desc.Type == pcp.TypeHighResEvent {
				return r.Time.AppendHighResStamp(b, d.loc)
			}
			// Always with microseconds, regardless of the version of the archive.
			return d.appendEventStamp(b, r.Time)
		},
		Param: d.appendParam,
	}
	return layout.Append(b, records)
}

func (d *dumper) appendParam(b []byte, p *pcp.EventParam) []byte {
	names := d.names(p.PMID)
	if names == nil {
		names, _ = pmns.Events().Names(p.PMID)
	}
	if names != nil {
		b = p.PMID.AppendText(append(b, "        "...))
		b = append(appendNames(append(b, " ("...), names), "):"...)
	} else {
		b = append(p.PMID.AppendText(append(b, "        PMID: "...)), ':')
	}
	desc, err := d.meta.Desc(p.PMID)
	if err != nil {
		if e, ok := pmns.EventDesc(p.PMID); ok {
			desc, err = e, nil
		}
	}
	if err != nil {
		return append(append(append(b, " pmLookupDesc: "...), pcp.Code(err).Error()...), '\n')
	}
	return appendValue(append(b, " value "...), &p.Value, desc.Type, d.loc)
}

// appendEventStamp appends the time of an event of low resolution, and with -x the time
// since the start, to the microsecond.
func (d *dumper) appendEventStamp(b []byte, t pcp.Timestamp) []byte {
	version, start, long := d.label.Version, d.label.Start, d.long
	d.label.Version, d.label.Start.Nsec, d.long = 2, start.Nsec/1000*1000, min(long, 2)
	b = d.appendStamp(b, t)
	d.label.Version, d.label.Start, d.long = version, start, long
	return b
}

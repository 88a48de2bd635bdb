package report

import (
	"context"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
)

// Events is the layout of the records of an event metric in a tool.
type Events struct {
	Missed string // text before the number of records lost
	None   string // the line of a record without parameters

	// Head appends the start of the line of record i, with its time.
	Head func(b []byte, i int, r *pcp.EventRecord) []byte
	// Param appends the lines of a parameter.
	Param func(b []byte, p *pcp.EventParam) []byte
}

// Append appends records.
func (e *Events) Append(b []byte, records []pcp.EventRecord) []byte {
	for i := range records {
		r := &records[i]
		b = e.Head(b, i, r)
		if r.Flags != 0 {
			b = fmt.Appendf(b, " flags 0x%x (%s)", uint32(r.Flags), r.Flags)
		}
		b = append(b, " ---\n"...)
		if r.Flags == 0 && len(r.Params) == 0 {
			b = append(append(b, e.None...), '\n')
		}
		if r.Flags&pcp.EventMissed != 0 {
			b = fmt.Appendf(b, "%s==> %d missed event records\n", e.Missed, int32(r.Missed))
		}
		for j := range r.Params {
			b = e.Param(b, &r.Params[j])
		}
	}
	return b
}

// AppendEventTime appends the time of a record of a metric of type t.
func AppendEventTime(b []byte, r *pcp.EventRecord, t pcp.Type, loc *time.Location) []byte {
	if t == pcp.TypeHighResEvent {
		return r.Time.AppendHighResStamp(b, loc)
	}
	return r.Time.AppendStamp(b, loc)
}

// Metrics names and describes metrics; a context does.
type Metrics interface {
	NameID(ctx context.Context, id pcp.PMID) (string, error)
	LookupDesc(ctx context.Context, id pcp.PMID) (pcp.Desc, error)
}

// Params remembers the metrics that parameters of event records are values of.
type Params struct{ known map[pcp.PMID]*Param }

// A Param has the known properties of such a metric, and the errors of the
// others.
type Param struct {
	Name    string
	Desc    pcp.Desc
	NameErr error
	DescErr error
}

// Lookup returns the properties of a metric that from knows. It asks once, and
// again for those that were not known.
func (ps *Params) Lookup(ctx context.Context, from Metrics, id pcp.PMID) *Param {
	if p := ps.known[id]; p != nil {
		return p
	}
	p := &Param{}
	p.Name, p.NameErr = from.NameID(ctx, id)
	p.Desc, p.DescErr = from.LookupDesc(ctx, id)
	if p.NameErr == nil && p.DescErr == nil {
		if ps.known == nil {
			ps.known = map[pcp.PMID]*Param{}
		}
		ps.known[id] = p
	}
	return p
}

// Namer returns a function for package pcpjson to show records.
func (ps *Params) Namer(ctx context.Context, from Metrics) func(id pcp.PMID) (string, pcp.Type) {
	return func(id pcp.PMID) (string, pcp.Type) {
		p := ps.Lookup(ctx, from, id)
		if p.DescErr != nil {
			return p.Name, pcp.TypeUnknown
		}
		return p.Name, p.Desc.Type
	}
}

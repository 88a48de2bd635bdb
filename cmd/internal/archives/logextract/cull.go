package logextract

import (
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// cull removes the metrics without a descriptor from a record, with a warning and their values,
// as PCP 7 does. It reports whether any metrics are left.
func (x *extractor) cull(in *input, r *record) (left bool, err error) {
	if !slices.ContainsFunc(r.metrics, func(m *metric) bool { return !m.known }) {
		return true, nil
	}
	var res pcp.Result
	if err := archive.DecodeResult(&res, r.Body, in.label.Version); err != nil {
		return false, err
	}
	parts, metrics := slices.Clone(r.parts), slices.Clone(r.metrics)
	if r.parts == nil {
		for _, set := range r.Sets {
			parts = append(parts, archive.Part{Set: set})
		}
	}
	for i := 0; i < len(metrics); {
		m := metrics[i]
		if m.known {
			i++
			continue
		}
		b := fmt.Appendf(nil, "__pmResult dump from %p timestamp: %d.%09d ", &res, r.Time.Sec, r.Time.Nsec)
		b = r.Time.AppendHighResStamp(b, x.loc)
		b = fmt.Appendf(b, " numpmid: %d\n[%d] ", len(metrics), i)
		x.complain("Warning: [log %s] metadata for PMID %s has not been found, culling this metric ...\n%s",
			in.name, m.id, appendValues(b, &res, &parts[i]))
		parts, metrics = slices.Delete(parts, i, i+1), slices.Delete(metrics, i, i+1)
	}
	r.parts, r.metrics = parts, metrics
	return len(parts) > 0, nil
}

// appendValues appends the values of a part of a record, as the C library prints those of a
// metric whose type is unknown, without a newline.
func appendValues(b []byte, res *pcp.Result, p *archive.Part) []byte {
	b = fmt.Appendf(b, "  %s (<noname>):", p.PMID)
	at := slices.IndexFunc(res.Sets, func(s pcp.ValueSet) bool { return s.PMID == p.PMID })
	set := &res.Sets[at]
	switch {
	case set.Err != 0:
		return fmt.Appendf(b, " %v", set.Err)
	case len(set.Values) == 0:
		return append(b, " No values returned!"...)
	}
	b = fmt.Appendf(b, " numval: %d valfmt: %d vlist[]:", len(set.Values), set.ValFmt)
	for _, v := range set.Values {
		if len(set.Values) > 1 || v.Inst != pcp.InNull {
			b = fmt.Appendf(b, "\n    inst [%d or ???] value ", v.Inst)
		} else {
			b = append(b, "\n   value "...)
		}
		b = v.AppendPrint(b, v.Type(), 1, nil)
	}
	return b
}

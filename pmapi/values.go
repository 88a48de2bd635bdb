package pmapi

import (
	"context"
	"iter"
	"strings"

	"github.com/go-pcp/pcp"
)

// A MetricValue is a value with its metric, descriptor and instance.
type MetricValue struct {
	Metric   string
	Instance string // external name, "" for a metric with a single value
	Value    pcp.Value
	Desc     pcp.Desc // of Value, with its type, units and semantics
	Time     pcp.Timestamp
}

// String returns a line as "disk.dev.read[sda] 17 count".
func (s MetricValue) String() string {
	var b strings.Builder
	b.WriteString(s.Metric)
	if s.Instance != "" {
		b.WriteString("[" + s.Instance + "]")
	}
	b.WriteString(" " + s.Value.String())
	if units := s.Desc.Units.String(); units != "" {
		b.WriteString(" " + units)
	}
	return b.String()
}

// Values fetches metrics once and yields their values: one for each instance, in the
// order of the names. A failed metric yields an error that names it, and a MetricValue
// that has at least Metric; the others follow. Each call looks up names, descriptors
// and instances again. Programs that fetch repeatedly do that once: see [Context.Fetch]
// and [NewFetchGroup].
func (c *Context) Values(ctx context.Context, names ...string) iter.Seq2[MetricValue, error] {
	return func(yield func(MetricValue, error) bool) {
		ids, err := c.LookupName(ctx, names...)
		var known []pcp.PMID
		var of []string // their names
		for i, id := range ids {
			if id != pcp.PMIDNull {
				known, of = append(known, id), append(of, names[i])
				continue
			}
			// Each bad name has its own reason.
			why := err
			if len(names) > 1 {
				if _, why = c.LookupName(ctx, names[i]); why == nil {
					why = nameError(names[i], pcp.ErrName)
				}
			}
			if !yield(MetricValue{Metric: names[i]}, why) {
				return
			}
		}
		if len(known) == 0 {
			if len(ids) == 0 && err != nil {
				yield(MetricValue{}, err)
			}
			return
		}
		descs, descErr := c.LookupDescs(ctx, known...)
		if descs == nil {
			yield(MetricValue{Metric: of[0]}, descErr)
			return
		}
		res, err := c.Fetch(ctx, known)
		if err != nil {
			yield(MetricValue{Metric: of[0]}, err)
			return
		}
		instances := make(map[pcp.InDom]map[int32]string)
		for i := range res.Sets {
			vs, s := &res.Sets[i], MetricValue{Metric: of[i], Desc: descs[i], Time: res.Time}
			var why error
			switch {
			case vs.Err < 0:
				why = nameError(of[i], vs.Err)
			case descs[i].PMID == pcp.PMIDNull:
				why = nameError(of[i], pcp.Code(descErr))
			}
			if why != nil {
				if !yield(s, why) {
					return
				}
				continue
			}
			inNames := instances[s.Desc.InDom]
			if inNames == nil && s.Desc.InDom != pcp.InDomNull && len(vs.Values) > 0 {
				if inNames, why = c.InstanceNames(ctx, s.Desc.InDom); why != nil {
					if !yield(s, nameError(of[i], why)) {
						return
					}
					continue
				}
				instances[s.Desc.InDom] = inNames
			}
			for _, v := range vs.Values {
				s.Value, s.Instance = v.As(s.Desc.Type), inNames[v.Inst]
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

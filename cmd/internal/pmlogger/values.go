package pmlogger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// values are the last fetched values of a group, and the record of them. Its memory is used again.
type values struct {
	c        *pmapi.Context
	profiled *group // the group whose profile the context has

	res     pcp.Result
	raw     wire.RawResult // the values, if it has any sets; otherwise they are in res
	ids     []pcp.PMID     // of the sets, as the collector has them
	record  []byte         // res or raw encoded for the archive
	version int            // of the record
	scan    archive.SetScanner
}

// fetch fetches a group, with the profile that was set.
func (v *values) fetch(ctx context.Context, g *group) (wire.State, error) {
	v.raw = wire.RawResult{}
	if g.decoded > 0 {
		return v.c.FetchInto(ctx, g.ids, &v.res)
	}
	return v.c.FetchRaw(ctx, g.ids, &v.raw, &v.res)
}

// profile sets the profile of a group, unless it is set already. The change is sent with the next
// fetch.
func (v *values) profile(g *group) error {
	if v.profiled == g && !g.changed {
		return nil
	}
	v.profiled = nil
	if err := v.c.AddProfile(pcp.InDomNull); err != nil {
		return err
	}
	for _, d := range g.indoms {
		if d.indom != pcp.InDomNull && !d.want.all {
			if err := errors.Join(v.c.DelProfile(d.indom), v.c.AddProfile(d.indom, d.want.insts...)); err != nil {
				return err
			}
		}
	}
	v.profiled, g.changed = g, false
	return nil
}

// prepare replaces the metric numbers in the values with those of the archive. It returns the metrics in event
// records whose metadata the archive lacks.
func (v *values) prepare(g *group, p *plan, d *dictionary) ([]pcp.PMID, error) {
	if v.raw.Sets > 0 {
		v.ids = append(v.ids[:0], g.ids...)
		return nil, nil
	}
	var events []pcp.PMID
	v.ids = v.ids[:0]
	for i := range v.res.Sets {
		s := &v.res.Sets[i]
		v.ids = append(v.ids, s.PMID)
		if t := p.typeOf(s.PMID); t == pcp.TypeEvent || t == pcp.TypeHighResEvent {
			for _, value := range s.Values {
				records, err := value.As(t).EventRecords()
				if err != nil {
					return nil, fmt.Errorf("event records of %v: %w", s.PMID, err)
				}
				for _, rec := range records {
					for _, param := range rec.Params {
						if _, ok := d.metrics[param.PMID]; !ok && !slices.Contains(events, param.PMID) {
							events = append(events, param.PMID)
						}
					}
				}
			}
		}
		s.PMID = s.PMID.Logged()
	}
	return events, nil
}

// encode encodes the values as a record, with room for its length words.
func (v *values) encode(version int) (err error) {
	v.version = version
	b := append(v.record[:0], 0, 0, 0, 0)
	if v.raw.Sets > 0 {
		head := archive.HeadSize(version)
		b = slices.Grow(b, head+v.raw.Len()+4)
		b = v.raw.Append(archive.AppendHead(b, v.res.Time, v.raw.Sets, version), head)
	} else if b, err = archive.AppendResult(b, &v.res, version); err != nil {
		return err
	}
	v.record = append(b, 0, 0, 0, 0)
	return nil
}

// sets returns the metrics of the record, as the collector has them, with the instances and values that
// [archive.SetScanner] finds.
func (v *values) sets() iter.Seq2[pcp.PMID, []byte] {
	return func(yield func(pcp.PMID, []byte) bool) {
		v.scan.Start(v.record[4:len(v.record)-4], v.version)
		for i := 0; v.scan.Next(); i++ {
			if !yield(v.ids[i], v.scan.Pairs()) {
				return
			}
		}
	}
}

// rest releases memory that the next fetch allocates again.
func (v *values) rest() {
	v.res, v.raw, v.ids, v.record = pcp.Result{}, wire.RawResult{}, nil, nil
	v.scan = archive.SetScanner{}
}

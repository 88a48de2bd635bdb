package pmapi

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// A fetcher fetches values from a collector, and stores them there. Its memory is
// reused from fetch to fetch.
type fetcher struct {
	on       *conversation
	fetchReq wire.Fetch
	result   wire.Result
	pending  pending // of startFetch
}

func (f *fetcher) fetch(ctx context.Context, p profile, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error) {
	return f.fetchAny(ctx, p, ids, nil, res, keep)
}

// fetchAny is fetch if raw is nil. Otherwise raw gets the values that need no
// conversion.
func (f *fetcher) fetchAny(ctx context.Context, p profile, ids []pcp.PMID, raw *wire.RawResult, res *pcp.Result, keep bool) (Changes, error) {
	gen, want, err := f.fetchRequest(p, ids)
	if err != nil {
		return 0, err
	}
	if err := f.on.begin(ctx); err != nil {
		return 0, err
	}
	f.on.profileGen = gen
	err = f.on.write()
	var body []byte
	if err == nil {
		body, err = f.on.answer(want)
	}
	return f.finishFetch(ctx, ids, body, err, raw, res, keep)
}

// fetchRequest makes the request of a fetch. It returns the generation of the profile that the collector has
// after it, and the type of the answer.
func (f *fetcher) fetchRequest(p profile, ids []pcp.PMID) (gen uint64, want wire.Type, err error) {
	f.on.clear()
	if gen, err = f.on.addProfile(p); err != nil {
		return 0, 0, err
	}
	want = wire.TypeResult
	if f.on.has(wire.FeatureHighRes) {
		want = wire.TypeHighResResult
	}
	f.fetchReq = wire.Fetch{HighRes: want == wire.TypeHighResResult, Context: slot, PMIDs: ids}
	err = f.on.add(&f.fetchReq)
	f.fetchReq.PMIDs = nil
	return gen, want, err
}

// finishFetch takes in the body of the answer to a fetch, or the error that came in its place, and ends the request.
func (f *fetcher) finishFetch(ctx context.Context, ids []pcp.PMID, body []byte, err error, raw *wire.RawResult, res *pcp.Result, keep bool) (Changes, error) {
	highRes := f.on.has(wire.FeatureHighRes)
	changes := f.on.takeChanges()
	if err == nil && raw != nil && raw.Take(body, highRes, ids) {
		res.Reset()
		res.Time = raw.Time
		return changes, f.on.end(ctx, nil)
	}
	if err == nil {
		if keep || f.on.trace != nil {
			body = bytes.Clone(body)
		}
		f.result.HighRes = highRes
		f.result.Result = *res
		err = f.result.DecodeBody(body)
		*res = f.result.Result
		f.result.Result = pcp.Result{}
	}
	if err = f.on.end(ctx, err); err != nil {
		return changes, err
	}
	f.on.trace.hostResult(ctx, res)
	for i := 0; f.on.denied != nil && i < len(res.Sets); i++ {
		if res.Sets[i].Err == pcp.ErrPermission {
			f.on.refused(pcp.ErrPermission)
			break
		}
	}
	if len(res.Sets) != len(ids) {
		return changes, fmt.Errorf("values of %d metrics for %d: %w", len(res.Sets), len(ids), pcp.ErrIPC)
	}
	for i, id := range ids {
		if res.Sets[i].PMID != id {
			return changes, fmt.Errorf("values of metric %v where those of %v belong: %w", res.Sets[i].PMID, id, pcp.ErrIPC)
		}
	}
	return changes, nil
}

func (f *fetcher) store(ctx context.Context, res *pcp.Result) error {
	f.on.trace.hostResult(ctx, res)
	f.result = wire.Result{Result: *res}
	defer func() { f.result = wire.Result{} }()
	return f.on.ask(ctx, &f.result, nil)
}

// rest frees memory.
func (f *fetcher) rest() { f.result = wire.Result{} }

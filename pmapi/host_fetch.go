package pmapi

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/wire"
)

// addProfile appends the profile to h.out if the collector does not have it, and
// returns its generation, to be noted once it is sent.
func (h *host) addProfile(p profile) (uint64, error) {
	if p.gen == h.sent {
		return p.gen, nil
	}
	h.trace.sendProfile(p.Profile)
	return p.gen, h.add(&wire.Profile{Context: slot, Profile: *p.Profile})
}

func (h *host) fetch(ctx context.Context, p profile, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error) {
	return h.fetchAny(ctx, p, ids, nil, res, keep)
}

// fetchAny is fetch if raw is nil. Otherwise raw gets the values that need no
// conversion.
func (h *host) fetchAny(ctx context.Context, p profile, ids []pcp.PMID, raw *wire.RawResult, res *pcp.Result, keep bool) (Changes, error) {
	gen, want, err := h.fetchRequest(p, ids)
	if err != nil {
		return 0, err
	}
	if err := h.begin(ctx); err != nil {
		return 0, err
	}
	h.sent = gen
	err = h.write()
	var body []byte
	if err == nil {
		body, err = h.answer(want)
	}
	return h.finishFetch(ctx, ids, body, err, raw, res, keep)
}

// fetchRequest has h.out be the request of a fetch. It returns the generation of the profile that the collector has
// after it, and the type of the answer.
func (h *host) fetchRequest(p profile, ids []pcp.PMID) (gen uint64, want wire.Type, err error) {
	h.out = h.out[:0]
	if gen, err = h.addProfile(p); err != nil {
		return 0, 0, err
	}
	want = wire.TypeResult
	if h.features&wire.FeatureHighRes != 0 {
		want = wire.TypeHighResResult
	}
	h.fetchReq = wire.Fetch{HighRes: want == wire.TypeHighResResult, Context: slot, PMIDs: ids}
	err = h.add(&h.fetchReq)
	h.fetchReq.PMIDs = nil
	return gen, want, err
}

// finishFetch takes in the body of the answer to a fetch, or the error that came in its place, and ends the request.
func (h *host) finishFetch(ctx context.Context, ids []pcp.PMID, body []byte, err error, raw *wire.RawResult, res *pcp.Result, keep bool) (Changes, error) {
	highRes := h.features&wire.FeatureHighRes != 0
	changes := h.changes
	h.changes = 0
	if err == nil && raw != nil && raw.Take(body, highRes, ids) {
		res.Reset()
		res.Time = raw.Time
		return changes, h.end(ctx, nil)
	}
	if err == nil {
		if keep || h.trace != nil {
			body = bytes.Clone(body)
		}
		h.result.HighRes = highRes
		h.result.Result = *res
		err = h.result.DecodeBody(body)
		*res = h.result.Result
		h.result.Result = pcp.Result{}
	}
	if err = h.end(ctx, err); err != nil {
		return changes, err
	}
	h.trace.hostResult(ctx, res)
	for i := 0; h.denied != nil && i < len(res.Sets); i++ {
		if res.Sets[i].Err == pcp.ErrPermission {
			h.denied()
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

func (h *host) store(ctx context.Context, res *pcp.Result) error {
	h.trace.hostResult(ctx, res)
	h.result = wire.Result{Result: *res}
	defer func() { h.result = wire.Result{} }()
	return h.ask(ctx, &h.result, nil)
}

// hostName returns the name that the collector reports, or else the name it was
// found by.
func (h *host) hostName(ctx context.Context, p profile) (string, error) {
	name, err := h.fetchString(ctx, p, "pmcd.hostname")
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	if name == "" {
		name = h.givenName()
	}
	return name, nil
}

// givenName returns the name of the collector's host that is known without asking
// it.
func (h *host) givenName() string {
	name := h.spec.Hosts[0].Name
	if h.spec.Protocol == "unix" || h.spec.Protocol == "local" || len(name) >= 9 && name[:9] == "localhost" {
		if n, err := os.Hostname(); err == nil {
			return n
		}
	}
	return name
}

func (h *host) timeZone(ctx context.Context, p profile) (string, error) {
	return h.fetchString(ctx, p, "pmcd.timezone")
}

// fetchString fetches the value of a metric that is a single string.
func (h *host) fetchString(ctx context.Context, p profile, name string) (string, error) {
	ids := []pcp.PMID{pcp.PMIDNull}
	if err := h.lookupNames(ctx, []string{name}, ids); err != nil {
		return "", nameError(name, err)
	}
	var res pcp.Result
	changes, err := h.fetch(ctx, p, ids, &res, false)
	if h.trace.on(debug.Fetch) {
		h.trace.fetched(ctx, h.trace.lookup, changes, &res, err)
	}
	if err != nil {
		return "", err
	}
	vs := &res.Sets[0]
	if vs.Err < 0 {
		return "", nameError(name, vs.Err)
	}
	if len(vs.Values) == 0 {
		return "", nameError(name, pcp.ErrValue)
	}
	return string(vs.Values[0].Bytes()), nil
}

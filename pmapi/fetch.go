package pmapi

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// Changes are the collector's state bits that a fetch can bring (PMCD_*).
type Changes = wire.State

// State bits.
const (
	AddAgent     = wire.AddAgent     // PMCD_ADD_AGENT
	RestartAgent = wire.RestartAgent // PMCD_RESTART_AGENT
	DropAgent    = wire.DropAgent    // PMCD_DROP_AGENT
	LabelChange  = wire.LabelChange  // PMCD_LABEL_CHANGE
	NamesChange  = wire.NamesChange  // PMCD_NAMES_CHANGE
	AgentChange  = wire.AgentChange  // PMCD_AGENT_CHANGE
)

// AddProfile includes instances in the fetches that follow (pmAddProfile(3)).
// Without insts it includes the whole domain, with pcp.InDomNull all domains.
func (c *Context) AddProfile(indom pcp.InDom, insts ...int32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ownProfile().Add(indom, insts...)
}

// DelProfile excludes instances from the fetches that follow (pmDelProfile(3)).
// Without insts it excludes the whole domain, with pcp.InDomNull all domains.
func (c *Context) DelProfile(indom pcp.InDom, insts ...int32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ownProfile().Del(indom, insts...)
}

// ownProfile returns the profile for a change. The mutex is held.
func (c *Context) ownProfile() *pcp.Profile {
	if c.lent {
		c.profile.Profile, c.lent = c.profile.Clone(), false
	}
	c.profile.gen++
	return c.profile.Profile
}

// lendProfile returns the profile for a request.
func (c *Context) lendProfile() profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lent = true
	return c.profile
}

// Fetch returns the values of metrics, a set for each id in order
// (pmFetchHighRes(3)). A metric that cannot be had has its error in its set.
// Values have the types of their metrics where this context has looked up the
// descriptors; see [pcp.Value.As] for others.
func (c *Context) Fetch(ctx context.Context, ids []pcp.PMID) (*pcp.Result, error) {
	res := new(pcp.Result)
	if _, err := c.fetch(ctx, ids, res, true); err != nil {
		return nil, err
	}
	return res, nil
}

// FetchInto is Fetch into a Result that is reused. Strings and other values of
// variable length are valid until the context's next call, so a context that
// several goroutines fetch such values from wants Fetch. It also returns the
// collector's state bits.
func (c *Context) FetchInto(ctx context.Context, ids []pcp.PMID, res *pcp.Result) (Changes, error) {
	return c.fetch(ctx, ids, res, false)
}

func (c *Context) fetch(ctx context.Context, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error) {
	if len(ids) == 0 {
		return 0, pcp.ErrTooSmall
	}
	if err := c.lock(ctx); err != nil {
		return 0, err
	}
	defer c.unlock()
	changes, err := c.src.fetch(ctx, c.lendProfile(), ids, res, keep)
	if err == nil {
		c.types.stamp(ids, res)
	}
	return changes, err
}

// Store sets values (pmStore(3)). Each set must have a value, else nothing is
// sent and the error is pcp.ErrValue; that it has the type of its metric is for
// the agent to check, which may refuse it with pcp.ErrBadStore, pcp.ErrConv or
// pcp.ErrType, or any value with pcp.ErrPermission. Where one of several is
// refused, those of other agents may have been set.
func (c *Context) Store(ctx context.Context, res *pcp.Result) error {
	if len(res.Sets) == 0 {
		return pcp.ErrTooSmall
	}
	for i := range res.Sets {
		if len(res.Sets[i].Values) == 0 {
			return fmt.Errorf("metric %v: %w", res.Sets[i].PMID, pcp.ErrValue)
		}
	}
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	return c.src.store(ctx, res)
}

// addProfile appends the profile to h.out if the collector does not have it, and
// returns its generation, to be noted once it is sent.
func (h *host) addProfile(p profile) (uint64, error) {
	if p.gen == h.sent {
		return p.gen, nil
	}
	return p.gen, h.add(&wire.Profile{Context: slot, Profile: *p.Profile})
}

func (h *host) fetch(ctx context.Context, p profile, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error) {
	h.out = h.out[:0]
	gen, err := h.addProfile(p)
	if err != nil {
		return 0, err
	}
	want := wire.TypeResult
	if h.features&wire.FeatureHighRes != 0 {
		want = wire.TypeHighResResult
	}
	h.fetchReq = wire.Fetch{HighRes: want == wire.TypeHighResResult, Context: slot, PMIDs: ids}
	err = h.add(&h.fetchReq)
	h.fetchReq.PMIDs = nil
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
	changes := h.changes
	h.changes = 0
	if err == nil {
		if keep {
			body = bytes.Clone(body)
		}
		h.result.HighRes = want == wire.TypeHighResResult
		h.result.Result = *res
		err = h.result.DecodeBody(body)
		*res = h.result.Result
		h.result.Result = pcp.Result{}
	}
	if err = h.end(ctx, err); err != nil {
		return changes, err
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
	h.result = wire.Result{Result: *res}
	defer func() { h.result = wire.Result{} }()
	return h.ask(ctx, &h.result, nil)
}

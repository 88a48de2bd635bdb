package pmapi

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// AddProfile includes instances in the fetches that follow (pmAddProfile(3)).
// Without insts it includes the whole domain, with pcp.InDomNull all domains.
func (c *Context) AddProfile(indom pcp.InDom, insts ...int32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.ownProfile().Add(indom, insts...)
	if c.traced != nil && err == nil {
		c.traced.profileChange("pmAddProfile", indom, c.profile.Profile)
	}
	return err
}

// DelProfile excludes instances from the fetches that follow (pmDelProfile(3)).
// Without insts it excludes the whole domain, with pcp.InDomNull all domains.
func (c *Context) DelProfile(indom pcp.InDom, insts ...int32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.ownProfile().Del(indom, insts...)
	if c.traced != nil && err == nil {
		c.traced.profileChange("pmDelProfile", indom, c.profile.Profile)
	}
	return err
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

// FetchRaw is FetchInto for programs that relay results as bytes. The bytes from a collector are in
// raw if they can be used unchanged: then res has no sets but the time, and raw is valid until the
// context's next call. Otherwise raw is empty, as with derived metrics and other sources than
// collectors, and the values are in res.
func (c *Context) FetchRaw(ctx context.Context, ids []pcp.PMID, raw *wire.RawResult, res *pcp.Result) (Changes, error) {
	*raw = wire.RawResult{}
	if c.host == nil || len(ids) == 0 || slices.ContainsFunc(ids, pcp.PMID.IsDerived) {
		return c.fetch(ctx, ids, res, false)
	}
	if err := c.lock(ctx); err != nil {
		return 0, err
	}
	defer c.unlock()
	changes, err := c.host.fetchAny(ctx, c.lendProfile(), ids, raw, res, false)
	if err == nil {
		c.types.stamp(ids, res)
	}
	c.derived.note(changes)
	return changes, err
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

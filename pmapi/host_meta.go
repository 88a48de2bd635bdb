package pmapi

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/wire"
)

// maxDescs is how many descriptors go into a request.
const maxDescs = (maxRequest - wire.HeaderSize - 4) / 4

// descWindow is how many single requests are on the way at a time to a
// collector that cannot answer for many at once. The answers to them fit any
// socket buffer, so neither side can block the other.
const descWindow = 64

func (h *host) descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	if len(ids) == 1 || h.features&wire.FeatureDescs == 0 {
		return h.descsOneByOne(ctx, ids, descs)
	}
	for base := 0; base < len(ids); base += maxDescs {
		part := ids[base:min(base+maxDescs, len(ids))]
		var ans wire.Descs
		if err := h.ask(ctx, &wire.DescIDs{PMIDs: part}, &ans); err != nil {
			if pcp.Code(err) == pcp.ErrIPC || ctx.Err() != nil {
				return err
			}
			// One metric of an agent that is gone must not spoil the rest.
			if err := h.descsOneByOne(ctx, part, descs[base:base+len(part)]); err != nil && pcp.Code(err) == pcp.ErrIPC {
				return err
			}
			continue
		}
		if len(ans.Descs) != len(part) {
			return fmt.Errorf("%d descriptors for %d metrics: %w", len(ans.Descs), len(part), pcp.ErrIPC)
		}
		copy(descs[base:], ans.Descs)
	}
	for i := range descs {
		if descs[i].PMID == pcp.PMIDNull {
			// Only a request for a single metric returns the reason that it has
			// no descriptor.
			return h.descsOneByOne(ctx, ids[i:i+1], descs[i:i+1])
		}
	}
	return nil
}

func (h *host) descsOneByOne(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	var first error
	for len(ids) > 0 {
		n := min(len(ids), descWindow)
		h.out = h.out[:0]
		for _, id := range ids[:n] {
			if err := h.add(&wire.DescReq{PMID: id}); err != nil {
				return err
			}
		}
		if err := h.begin(ctx); err != nil {
			return err
		}
		err := h.write()
		for i := 0; i < n && err == nil; i++ {
			var body []byte
			var ans wire.Desc
			if body, err = h.answer(wire.TypeDesc); err == nil {
				err = ans.DecodeBody(body)
			}
			code, refused := err.(pcp.Error)
			if refused && first == nil {
				first = fmt.Errorf("metric %v: %w", ids[i], code)
			}
			if refused {
				err = nil
			} else if err == nil {
				descs[i] = ans.Desc
			}
		}
		if err = h.end(ctx, err); err != nil {
			return err
		}
		ids, descs = ids[n:], descs[n:]
	}
	return first
}

func (h *host) text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if a, ok := h.known[aheadKey{wire.TypeText, ident, uint32(kind &^ pcp.TextDirect)}]; ok {
		return a.text, a.err
	}
	var ans wire.Text
	err := h.ask(ctx, &wire.TextReq{Ident: ident, Kind: kind}, &ans)
	return ans.Text, err
}

func (h *host) labels(ctx context.Context, p profile, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error) {
	if h.features&wire.FeatureLabels == 0 {
		return nil, pcp.ErrNoLabels
	}
	if a, ok := h.known[aheadKey{wire.TypeLabel, ident, uint32(kind)}]; ok {
		return a.sets, a.err
	}
	h.out = h.out[:0]
	gen := h.sent
	if kind&pcp.LabelInstances != 0 {
		var err error
		if gen, err = h.addProfile(p); err != nil {
			return nil, err
		}
	}
	if err := h.add(&wire.LabelReq{Ident: ident, Kind: kind}); err != nil {
		return nil, err
	}
	if err := h.begin(ctx); err != nil {
		return nil, err
	}
	h.sent = gen
	var ans wire.Labels
	err := h.end(ctx, h.exchange(&ans))
	if err == nil {
		h.trace.labels(ans.Kind, ans.Ident, ans.Sets)
	}
	return ans.Sets, err
}

func (h *host) instances(ctx context.Context, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	var ans wire.Instance
	err := h.ask(ctx, &wire.InstanceReq{InDom: indom, Inst: inst, Name: name}, &ans)
	if err == nil && h.trace.on(debug.InDom) {
		h.trace.instances(ans.InDom, ans.Instances, name != "" || inst == pcp.InNull, name == "")
	}
	return ans.Instances, err
}

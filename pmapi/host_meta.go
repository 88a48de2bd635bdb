package pmapi

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/wire"
)

// maxDescs is how many descriptors go into a request.
const maxDescs = (maxRequest - wire.HeaderSize - 4) / 4

// remoteMeta is the metadata of a collector's metrics and instance domains.
type remoteMeta struct {
	on       *conversation
	foreseen *foreseen
}

func (m *remoteMeta) descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	if len(ids) == 1 || !m.on.has(wire.FeatureDescs) {
		return m.descsOneByOne(ctx, ids, descs)
	}
	for base := 0; base < len(ids); base += maxDescs {
		part := ids[base:min(base+maxDescs, len(ids))]
		var ans wire.Descs
		if err := m.on.ask(ctx, &wire.DescIDs{PMIDs: part}, &ans); err != nil {
			if pcp.Code(err) == pcp.ErrIPC || ctx.Err() != nil {
				return err
			}
			// One metric of an agent that is gone must not spoil the rest.
			if err := m.descsOneByOne(ctx, part, descs[base:base+len(part)]); err != nil && pcp.Code(err) == pcp.ErrIPC {
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
			return m.descsOneByOne(ctx, ids[i:i+1], descs[i:i+1])
		}
	}
	return nil
}

// descsOneByOne asks for each metric alone, as must be done at a collector that cannot answer for
// many at once. The error is that of the first metric without a descriptor.
func (m *remoteMeta) descsOneByOne(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	var first error
	request := func(i int) (wire.PDU, wire.Type) { return &wire.DescReq{PMID: ids[i]}, wire.TypeDesc }
	err := m.on.askAll(ctx, len(ids), request, func(i int, body []byte, err error) error {
		if err != nil {
			if first == nil {
				first = fmt.Errorf("metric %v: %w", ids[i], err)
			}
			return nil
		}
		var ans wire.Desc
		err = ans.DecodeBody(body)
		if err == nil {
			descs[i] = ans.Desc
		}
		return err
	})
	if err != nil {
		return err
	}
	return first
}

func (m *remoteMeta) text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if a, ok := m.foreseen.answer(textKey(ident, kind&^pcp.TextDirect)); ok {
		return a.text, a.err
	}
	var ans wire.Text
	err := m.on.ask(ctx, &wire.TextReq{Ident: ident, Kind: kind}, &ans)
	return ans.Text, err
}

func (m *remoteMeta) labels(ctx context.Context, p profile, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error) {
	if !m.on.has(wire.FeatureLabels) {
		return nil, pcp.ErrNoLabels
	}
	if a, ok := m.foreseen.answer(labelKey(ident, kind)); ok {
		return a.sets, a.err
	}
	m.on.clear()
	gen := m.on.profileGen
	if kind&pcp.LabelInstances != 0 {
		var err error
		if gen, err = m.on.addProfile(p); err != nil {
			return nil, err
		}
	}
	if err := m.on.add(&wire.LabelReq{Ident: ident, Kind: kind}); err != nil {
		return nil, err
	}
	if err := m.on.begin(ctx); err != nil {
		return nil, err
	}
	m.on.profileGen = gen
	var ans wire.Labels
	err := m.on.end(ctx, m.on.exchange(&ans))
	if err == nil {
		m.on.trace.labels(ans.Kind, ans.Ident, ans.Sets)
	}
	return ans.Sets, err
}

func (m *remoteMeta) instances(ctx context.Context, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	var ans wire.Instance
	err := m.on.ask(ctx, &wire.InstanceReq{InDom: indom, Inst: inst, Name: name}, &ans)
	if err == nil && m.on.trace.on(debugname.InDom) {
		m.on.trace.instances(ans.InDom, ans.Instances, name != "" || inst == pcp.InNull, name == "")
	}
	return ans.Instances, err
}

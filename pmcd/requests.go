package pmcd

import (
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

func (r *request) lookupDesc(id pcp.PMID) (pcp.Desc, error) {
	ag, err := r.s.agents.of(id.Domain(), pcp.ErrPMID)
	if err != nil {
		return pcp.Desc{}, err
	}
	return ag.Desc(&r.Caller, id)
}

func (r *request) desc(body []byte) (wire.PDU, error) {
	var req wire.DescReq
	if err := decode(&req, body); err != nil {
		return nil, err
	}
	desc, err := r.lookupDesc(req.PMID)
	if err != nil {
		return nil, err
	}
	return &wire.Desc{Desc: desc}, nil
}

// descIDs answers for many metrics. The PMID of a metric that fails is PMIDNull,
// without a reason. A request for one metric gets its error instead.
func (r *request) descIDs(body []byte) (wire.PDU, error) {
	req := &r.descs
	if err := decode(req, body); err != nil {
		return nil, err
	}
	reply := wire.Descs{Descs: make([]pcp.Desc, len(req.PMIDs))}
	for i, id := range req.PMIDs {
		desc, err := r.lookupDesc(id)
		if err != nil {
			if len(req.PMIDs) == 1 {
				return nil, err
			}
			desc = pcp.Desc{PMID: pcp.PMIDNull}
		}
		reply.Descs[i] = desc
	}
	return &reply, nil
}

func (r *request) instances(body []byte) (wire.PDU, error) {
	var req wire.InstanceReq
	if err := decode(&req, body); err != nil {
		return nil, err
	}
	ag, err := r.s.agents.of(req.InDom.Domain(), pcp.ErrInDom)
	if err != nil {
		return nil, err
	}
	list, err := ag.Instances(&r.Caller, req.InDom, req.Inst, req.Name)
	if err != nil {
		return nil, err
	}
	return &wire.Instance{InDom: req.InDom, Instances: list}, nil
}

func (r *request) text(body []byte) (wire.PDU, error) {
	var req wire.TextReq
	if err := decode(&req, body); err != nil {
		return nil, err
	}
	ag, err := r.s.agents.usable(pcp.PMID(req.Ident).Domain(), pcp.ErrPMID)
	if err != nil {
		return nil, err
	}
	text, err := ag.Text(&r.Caller, req.Ident, req.Kind)
	if err != nil {
		return nil, err
	}
	return &wire.Text{Ident: req.Ident, Text: text}, nil
}

func (r *request) labels(body []byte) (wire.PDU, error) {
	var req wire.LabelReq
	if err := decode(&req, body); err != nil {
		return nil, err
	}
	var unknown pcp.Error
	domain := pcp.PMID(req.Ident).Domain() // the same bits as an InDom's
	switch req.Kind {
	case pcp.LabelContext:
		sets, err := r.s.labels.context(r.Client())
		if err != nil {
			return nil, err
		}
		return &wire.Labels{Ident: req.Ident, Kind: req.Kind, Sets: sets}, nil
	case pcp.LabelDomain:
		domain, unknown = int(min(req.Ident, pcp.MaxDomain)), pcp.ErrNoAgent
	case pcp.LabelInDom, pcp.LabelInstances:
		unknown = pcp.ErrInDom
	case pcp.LabelCluster, pcp.LabelItem:
		unknown = pcp.ErrPMID
	default:
		return nil, pcp.ErrType
	}
	ag, err := r.s.agents.usable(domain, unknown)
	if err != nil {
		return nil, err
	}
	sets, err := ag.Labels(&r.Caller, req.Ident, req.Kind)
	if err != nil {
		return nil, err
	}
	if len(sets) > 1 && req.Kind != pcp.LabelInstances {
		sets = sets[:1]
	}
	return &wire.Labels{Ident: req.Ident, Kind: req.Kind, Sets: sets}, nil
}

// store sets values. Agents get their shares one after another. If several fail,
// store returns the last error, but prefers one for a missing agent.
func (r *request) store(body []byte) (wire.PDU, error) {
	var req wire.Result
	if err := decode(&req, body); err != nil {
		return nil, err
	}
	var failed error
	var done [pcp.MaxDomain + 1]bool
	missing := false
	for i := range req.Sets {
		domain := req.Sets[i].PMID.Domain()
		if done[domain] {
			continue
		}
		done[domain] = true
		ag, err := r.s.agents.usable(domain, pcp.ErrNoAgent)
		if err != nil {
			missing = missing || errors.Is(err, pcp.ErrNoAgent)
			failed = err
			continue
		}
		share := pcp.Result{Time: req.Time}
		for _, vs := range req.Sets[i:] {
			if vs.PMID.Domain() == domain {
				share.Sets = append(share.Sets, vs)
			}
		}
		if err := ag.Store(&r.Caller, &share); err != nil {
			failed = err
		}
	}
	if missing {
		failed = pcp.ErrNoAgent
	}
	if failed != nil {
		return nil, failed
	}
	return &wire.Error{}, nil
}

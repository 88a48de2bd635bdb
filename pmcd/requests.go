package pmcd

import (
	"errors"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

// handle answers one request. An error is sent to the client in its place;
// see loop.
func (c *client) handle(h wire.Header, body []byte) error {
	need := access.OpFetch
	if h.Type == wire.TypeResult {
		need = access.OpStore
	}
	if c.denied()&need != 0 && h.Type != wire.TypeCreds {
		return pcp.ErrPermission
	}
	c.enterGate(len(body))
	var err error
	switch h.Type {
	case wire.TypeFetch, wire.TypeHighResFetch:
		err = c.fetch(h.Type == wire.TypeHighResFetch, body)
	case wire.TypeProfile:
		err = c.setProfile(body)
	case wire.TypeDescReq:
		err = c.descReq(body)
	case wire.TypeDescIDs:
		err = c.descIDs(body)
	case wire.TypeInstanceReq:
		err = c.instanceReq(body)
	case wire.TypeTextReq:
		err = c.textReq(body)
	case wire.TypeLabelReq:
		err = c.labelReq(body)
	case wire.TypePMNSIDs:
		err = c.pmnsIDs(body)
	case wire.TypePMNSNames:
		err = c.pmnsNames(body)
	case wire.TypePMNSChild:
		err = c.pmnsChild(body)
	case wire.TypePMNSTraverse:
		err = c.pmnsTraverse(body)
	case wire.TypeResult:
		err = c.store(body)
	case wire.TypeCreds:
		err = c.credentials(body)
	default:
		err = pcp.ErrIPC // and the client may go on
	}
	if err != nil {
		return c.judge(h.Type, err)
	}
	return nil
}

// judge drops a client whose request could not be decoded.
func (c *client) judge(t wire.Type, err error) error {
	var m *malformedError
	if errors.As(err, &m) {
		return c.refuse(fmt.Errorf("%v PDU: %w", t, m.error))
	}
	return err
}

// A malformedError says that a request could not be decoded.
type malformedError struct{ error }

func (e *malformedError) Unwrap() error { return e.error }

// decode decodes a request.
func decode(p wire.PDU, body []byte) error {
	if err := p.DecodeBody(body); err != nil {
		return &malformedError{err}
	}
	return nil
}

// agentFor returns the agent of a domain if it can be asked, else why not;
// unknown is the error for a domain without an agent.
func (s *Server) agentFor(domain int, unknown pcp.Error) (*agent, error) {
	ag := s.table.Load().byDomain[domain&pcp.MaxDomain]
	if ag == nil {
		return nil, unknown
	}
	return ag, ag.usable()
}

func (c *client) lookupDesc(id pcp.PMID) (pcp.Desc, error) {
	ag, err := c.s.agentFor(id.Domain(), pcp.ErrPMID)
	if err != nil {
		return pcp.Desc{}, err
	}
	return ag.be.desc(c, id)
}

func (c *client) descReq(body []byte) error {
	var req wire.DescReq
	if err := decode(&req, body); err != nil {
		return err
	}
	desc, err := c.lookupDesc(req.PMID)
	if err != nil {
		return err
	}
	return c.send(&wire.Desc{Desc: desc})
}

// descIDs answers for many metrics. The PMID of a metric that fails is PMIDNull,
// without a reason. A request for one metric gets its error instead.
func (c *client) descIDs(body []byte) error {
	req := &c.req.descs
	if err := decode(req, body); err != nil {
		return err
	}
	reply := wire.Descs{Descs: make([]pcp.Desc, len(req.PMIDs))}
	for i, id := range req.PMIDs {
		desc, err := c.lookupDesc(id)
		if errors.Is(err, errAbandoned) {
			return err
		}
		if err != nil {
			if len(req.PMIDs) == 1 {
				return err
			}
			desc = pcp.Desc{PMID: pcp.PMIDNull}
		}
		reply.Descs[i] = desc
	}
	return c.send(&reply)
}

func (c *client) instanceReq(body []byte) error {
	var req wire.InstanceReq
	if err := decode(&req, body); err != nil {
		return err
	}
	ag, err := c.s.agentFor(req.InDom.Domain(), pcp.ErrInDom)
	if err != nil {
		return err
	}
	list, err := ag.be.instances(c, req.InDom, req.Inst, req.Name)
	if err != nil {
		return err
	}
	return c.send(&wire.Instance{InDom: req.InDom, Instances: list})
}

func (c *client) textReq(body []byte) error {
	var req wire.TextReq
	if err := decode(&req, body); err != nil {
		return err
	}
	ag, err := c.s.agentFor(pcp.PMID(req.Ident).Domain(), pcp.ErrPMID)
	if err != nil {
		return err
	}
	text, err := ag.be.text(c, req.Ident, req.Kind)
	if err != nil {
		return err
	}
	return c.send(&wire.Text{Ident: req.Ident, Text: text})
}

func (c *client) labelReq(body []byte) error {
	var req wire.LabelReq
	if err := decode(&req, body); err != nil {
		return err
	}
	var unknown pcp.Error
	domain := pcp.PMID(req.Ident).Domain() // the same bits as an InDom's
	switch req.Kind {
	case pcp.LabelContext:
		sets, err := c.s.contextLabels(&c.pub)
		if err != nil {
			return err
		}
		return c.send(&wire.Labels{Ident: req.Ident, Kind: req.Kind, Sets: sets})
	case pcp.LabelDomain:
		domain, unknown = int(min(req.Ident, pcp.MaxDomain)), pcp.ErrNoAgent
	case pcp.LabelInDom, pcp.LabelInstances:
		unknown = pcp.ErrInDom
	case pcp.LabelCluster, pcp.LabelItem:
		unknown = pcp.ErrPMID
	default:
		return pcp.ErrType
	}
	ag, err := c.s.agentFor(domain, unknown)
	if err != nil {
		return err
	}
	sets, err := ag.be.labels(c, req.Ident, req.Kind)
	if err != nil {
		return err
	}
	if len(sets) > 1 && req.Kind != pcp.LabelInstances {
		sets = sets[:1]
	}
	return c.send(&wire.Labels{Ident: req.Ident, Kind: req.Kind, Sets: sets})
}

// store sets values. Agents get their shares one after another. If several fail,
// store returns the last error, but prefers one for a missing agent.
func (c *client) store(body []byte) error {
	var req wire.Result
	if err := decode(&req, body); err != nil {
		return err
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
		ag, err := c.s.agentFor(domain, pcp.ErrNoAgent)
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
		if err := ag.be.store(c, &share); errors.Is(err, errAbandoned) {
			return err
		} else if err != nil {
			failed = err
		}
	}
	if missing {
		failed = pcp.ErrNoAgent
	}
	if failed != nil {
		return failed
	}
	return c.send(&wire.Error{})
}

package pmcd

import (
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/wire"
)

// A request is what one goroutine has of a client while agents are asked for it:
// the right to ask them, what was asked, and memory. An agent that hangs keeps
// it; the client goes on with its successor.
//
// Its methods answer one kind of request each. They return the reply; serve sends
// it, or the error in its place, if the request is not abandoned by then.
type request struct {
	backend.Caller
	s     *Server
	pdu   wire.Type // what was asked
	doing work
	job   *fetchJob

	// PDUs that come and go often enough to be worth reusing.
	values wire.Fetch
	descs  wire.DescIDs
	result wire.Result // filled from job when it is sent
}

// A work is what has to be finished if an agent hangs; see takeOver.
type work int

const (
	asking work = iota
	fetching
	leaving
)

// successor returns a request for the goroutine that goes on.
func (r *request) successor() *request {
	return &request{s: r.s, Caller: r.Caller.Successor(), pdu: r.pdu, job: r.job}
}

// handle does the work of one request. There may be no reply.
func (c *client) handle(r *request, h wire.Header, body []byte) (reply wire.PDU, err error) {
	r.pdu, r.doing = h.Type, asking
	need := access.OpFetch
	if h.Type == wire.TypeResult {
		need = access.OpStore
	}
	if c.denied()&need != 0 && h.Type != wire.TypeCreds {
		return nil, pcp.ErrPermission
	}
	c.enterGate(len(body))
	switch h.Type {
	case wire.TypeProfile:
		return nil, c.setProfile(body)
	case wire.TypeCreds:
		return nil, c.credentials(body)
	case wire.TypeFetch, wire.TypeHighResFetch:
		return r.fetch(h.Type == wire.TypeHighResFetch, body, c.profiles)
	case wire.TypeDescReq:
		return r.desc(body)
	case wire.TypeDescIDs:
		return r.descIDs(body)
	case wire.TypeInstanceReq:
		return r.instances(body)
	case wire.TypeTextReq:
		return r.text(body)
	case wire.TypeLabelReq:
		return r.labels(body)
	case wire.TypePMNSIDs:
		return r.names(body)
	case wire.TypePMNSNames:
		return r.ids(body)
	case wire.TypePMNSChild:
		return r.children(body)
	case wire.TypePMNSTraverse:
		return r.traverse(body)
	case wire.TypeResult:
		return r.store(body)
	}
	return nil, pcp.ErrIPC // and the client may go on
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
	return ag, ag.Usable()
}

func (r *request) lookupDesc(id pcp.PMID) (pcp.Desc, error) {
	ag, err := r.s.agentFor(id.Domain(), pcp.ErrPMID)
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
	ag, err := r.s.agentFor(req.InDom.Domain(), pcp.ErrInDom)
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
	ag, err := r.s.agentFor(pcp.PMID(req.Ident).Domain(), pcp.ErrPMID)
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
		sets, err := r.s.contextLabels(r.Client())
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
	ag, err := r.s.agentFor(domain, unknown)
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
		ag, err := r.s.agentFor(domain, pcp.ErrNoAgent)
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

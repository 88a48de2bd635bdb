package pmcd

import (
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// names answers with the names of a metric: those of the name space, or, if
// there are none, those that its agent knows.
func (r *request) names(body []byte) (wire.PDU, error) {
	var req wire.PMNSIDs
	if err := decode(&req, body); err != nil {
		return nil, err
	}
	if len(req.PMIDs) != 1 {
		return nil, pcp.ErrIPC
	}
	id := req.PMIDs[0]
	names, err := r.s.agents.names.Load().Names(id)
	if err != nil || len(names) == 0 {
		ag, err := r.s.agents.of(id.Domain(), pcp.ErrNoAgent)
		if err != nil {
			return nil, err
		}
		if names, err = ag.Names(&r.Caller, id); err != nil {
			return nil, err
		}
	}
	return &wire.PMNSNames{Names: names}, nil
}

// ids answers with the PMIDs of names, PMIDNull for unknown ones. The client
// gets a reason only if it asked for one name, or if the agent of a dynamic
// subtree fails.
func (r *request) ids(body []byte) (wire.PDU, error) {
	var req wire.PMNSNames
	if err := decode(&req, body); err != nil {
		return nil, err
	}
	if len(req.Names) == 0 {
		return nil, pcp.ErrTooSmall
	}
	alone := len(req.Names) == 1
	reply := wire.PMNSIDs{PMIDs: make([]pcp.PMID, len(req.Names))}
	var failed error
	for i, name := range req.Names {
		if name == "" {
			// As in C its error is returned if it is the last name and no name has an id.
			if i == len(req.Names)-1 && reply.Status == 0 {
				return nil, pcp.ErrIPC
			}
			reply.PMIDs[i] = pcp.PMIDNull
			continue
		}
		id, err := r.lookupName(name)
		if err != nil {
			id = pcp.PMIDNull
			switch pcp.Code(err) {
			case pcp.ErrName, pcp.ErrNonLeaf, pcp.ErrNoAgent:
				if alone {
					failed = err
				}
			default:
				if failed == nil {
					failed = err
				}
			}
		} else {
			reply.Status++
		}
		reply.PMIDs[i] = id
	}
	if failed != nil {
		return nil, failed
	}
	return &reply, nil
}

// lookupName returns the PMID of one name.
func (r *request) lookupName(name string) (pcp.PMID, error) {
	domain, dynamic := r.s.agents.names.Load().DynamicRoot(name)
	if !dynamic {
		return r.s.agents.names.Load().Lookup(name)
	}
	ag, err := r.s.agents.of(domain, pcp.ErrNoAgent)
	if err != nil {
		return pcp.PMIDNull, err
	}
	return ag.Lookup(&r.Caller, name)
}

// children answers with the children of a node.
func (r *request) children(body []byte) (wire.PDU, error) {
	var req wire.PMNSChild
	if err := decode(&req, body); err != nil {
		return nil, err
	}
	var list []pmns.Child
	var err error
	if domain, ok := r.s.agents.names.Load().DynamicRoot(req.Name); ok {
		var ag *agent
		if ag, err = r.s.agents.of(domain, pcp.ErrNoAgent); err == nil {
			list, err = ag.Children(&r.Caller, req.Name)
		}
	} else {
		list, err = r.s.agents.names.Load().Children(req.Name)
	}
	if err != nil {
		return nil, err
	}
	reply := wire.PMNSNames{Names: make([]string, len(list))}
	if req.WithStatus {
		reply.Status = make([]int32, len(list))
	}
	for i, ch := range list {
		reply.Names[i] = ch.Name
		if req.WithStatus && !ch.Leaf {
			reply.Status[i] = wire.NonLeafStatus
		}
	}
	return &reply, nil
}

// traverse answers with the names of all leaves at or below a node.
func (r *request) traverse(body []byte) (wire.PDU, error) {
	var req wire.PMNSTraverse
	if err := decode(&req, body); err != nil {
		return nil, err
	}
	var names []string
	var failed error
	expand := func(name string, domain int, whole bool) error {
		ag, err := r.s.agents.of(domain, pcp.ErrNoAgent)
		if err == nil {
			var found []string
			if found, err = ag.Traverse(&r.Caller, name); err == nil {
				names = append(names, found...)
				return nil
			}
		}
		// The subtree of an agent that is not there keeps its root's name, and so does one of an agent that is
		// overdue: the names of others are not to be missed with its.
		slow := whole && ag != nil && ag.Overdue() && errors.Is(err, pcp.ErrAgain)
		if slow || errors.Is(err, pcp.ErrNoAgent) || errors.Is(err, pcp.ErrPMDAFenced) || errors.Is(err, backend.ErrNoNames) {
			names = append(names, name)
			return nil
		}
		return err
	}
	if domain, ok := r.s.agents.names.Load().DynamicRoot(req.Name); ok {
		before := len(names)
		if err := expand(req.Name, domain, false); err != nil {
			return nil, err
		}
		if len(names) == before {
			return nil, pcp.ErrName
		}
		return &wire.PMNSNames{Names: names}, nil
	}
	leaves, err := r.s.agents.names.Load().Leaves(req.Name)
	if err != nil {
		return nil, err
	}
	for name, id := range leaves {
		if id.IsDynamicRoot() {
			err := expand(name, id.Cluster(), true)
			if err != nil && failed == nil {
				failed = err
			}
		} else {
			names = append(names, name)
		}
	}
	switch {
	case failed != nil:
		return nil, failed
	case len(names) == 0:
		return nil, pcp.ErrName
	}
	return &wire.PMNSNames{Names: names}, nil
}

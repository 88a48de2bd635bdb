package pmcd

import (
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// pmnsIDs answers with the names of a metric: those of the name space, or, if
// there are none, those that its agent knows.
func (c *client) pmnsIDs(body []byte) error {
	var req wire.PMNSIDs
	if err := decode(&req, body); err != nil {
		return err
	}
	if len(req.PMIDs) != 1 {
		return pcp.ErrIPC
	}
	id := req.PMIDs[0]
	names, err := c.s.names.Load().Names(id)
	if err != nil || len(names) == 0 {
		ag, err := c.s.agentFor(id.Domain(), pcp.ErrNoAgent)
		if err != nil {
			return err
		}
		if names, err = ag.be.names(c, id); err != nil {
			return err
		}
	}
	return c.send(&wire.PMNSNames{Names: names})
}

// pmnsNames answers with the PMIDs of names, PMIDNull for unknown ones. The
// client is told a reason only if it asked for one name, or if the agent of a
// dynamic subtree fails.
func (c *client) pmnsNames(body []byte) error {
	var req wire.PMNSNames
	if err := decode(&req, body); err != nil {
		return err
	}
	if len(req.Names) == 0 {
		return pcp.ErrTooSmall
	}
	alone := len(req.Names) == 1
	reply := wire.PMNSIDs{PMIDs: make([]pcp.PMID, len(req.Names))}
	var failed error
	for i, name := range req.Names {
		if name == "" {
			// As in C its error is returned if it is the last name and no name has an id.
			if i == len(req.Names)-1 && reply.Status == 0 {
				return pcp.ErrIPC
			}
			reply.PMIDs[i] = pcp.PMIDNull
			continue
		}
		id, err := c.lookupName(name)
		if errors.Is(err, errAbandoned) {
			return err
		}
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
		return failed
	}
	return c.send(&reply)
}

// lookupName returns the PMID of one name.
func (c *client) lookupName(name string) (pcp.PMID, error) {
	domain, dynamic := c.s.names.Load().DynamicRoot(name)
	if !dynamic {
		return c.s.names.Load().Lookup(name)
	}
	ag, err := c.s.agentFor(domain, pcp.ErrNoAgent)
	if err != nil {
		return pcp.PMIDNull, err
	}
	return ag.be.lookup(c, name)
}

// pmnsChild answers with the children of a node.
func (c *client) pmnsChild(body []byte) error {
	var req wire.PMNSChild
	if err := decode(&req, body); err != nil {
		return err
	}
	var list []pmns.Child
	var err error
	if domain, ok := c.s.names.Load().DynamicRoot(req.Name); ok {
		var ag *agent
		if ag, err = c.s.agentFor(domain, pcp.ErrNoAgent); err == nil {
			list, err = ag.be.children(c, req.Name)
		}
	} else {
		list, err = c.s.names.Load().Children(req.Name)
	}
	if err != nil {
		return err
	}
	reply := wire.PMNSNames{Names: make([]string, len(list))}
	if req.WithStatus {
		reply.Status = make([]int32, len(list))
	}
	for i, ch := range list {
		reply.Names[i] = ch.Name
		if req.WithStatus && !ch.Leaf {
			reply.Status[i] = nonLeafStatus
		}
	}
	return c.send(&reply)
}

// nonLeafStatus is the status of a child that has children
// (PMNS_NONLEAF_STATUS); that of a leaf is 0.
const nonLeafStatus = 1

// pmnsTraverse answers with the names of all leaves at or below a node.
func (c *client) pmnsTraverse(body []byte) error {
	var req wire.PMNSTraverse
	if err := decode(&req, body); err != nil {
		return err
	}
	var names []string
	var failed error
	expand := func(name string, domain int) error {
		ag, err := c.s.agentFor(domain, pcp.ErrNoAgent)
		if err == nil {
			var found []string
			if found, err = ag.be.traverse(c, name); err == nil {
				names = append(names, found...)
				return nil
			}
		}
		// The subtree of an agent that is not there keeps its root's name.
		if errors.Is(err, pcp.ErrNoAgent) || errors.Is(err, pcp.ErrPMDAFenced) || errors.Is(err, errNoNames) {
			names = append(names, name)
			return nil
		}
		return err
	}
	if domain, ok := c.s.names.Load().DynamicRoot(req.Name); ok {
		before := len(names)
		if err := expand(req.Name, domain); err != nil {
			return err
		}
		if len(names) == before {
			return pcp.ErrName
		}
		return c.send(&wire.PMNSNames{Names: names})
	}
	leaves, err := c.s.names.Load().Leaves(req.Name)
	if err != nil {
		return err
	}
	for name, id := range leaves {
		if id.IsDynamicRoot() {
			err := expand(name, id.Cluster())
			if errors.Is(err, errAbandoned) {
				return err
			}
			if err != nil && failed == nil {
				failed = err
			}
		} else {
			names = append(names, name)
		}
	}
	switch {
	case failed != nil:
		return failed
	case len(names) == 0:
		return pcp.ErrName
	}
	return c.send(&wire.PMNSNames{Names: names})
}

package backend

import (
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// fetch implements link. It returns true: agents in other processes keep no
// memory of the caller.
func (r *remote) fetch(c *Caller, p *Part) bool {
	r.slot.acquire()
	defer r.slot.release()
	p.Err = r.ag.Usable()
	if p.Err != nil {
		return true
	}
	r.introduce(c)
	r.sendProfile(c, p.context, p.profile)
	h, body, err := r.exchange(int32(c.client.ID), &wire.Fetch{Context: p.context, PMIDs: p.PMIDs})
	r.take(p, h, body, err)
	return true
}

// take gives p the outcome of an exchange. Called by the holder of r.slot.
func (r *remote) take(p *Part, h wire.Header, body []byte, err error) {
	if err != nil {
		p.Err = err
		return
	}
	if p.alone && len(body) >= relayLength && h.Type == wire.TypeResult {
		r.takeRelay(p, body)
		return
	}
	// The values outlive the exchange.
	p.buf = append(p.buf[:0], body...)
	r.result.HighRes = false
	r.result.Result, p.Result = p.Result, r.result.Result
	p.Err = r.decode(h, p.buf, &wire.Fetch{}, &r.result)
	r.result.Result, p.Result = p.Result, r.result.Result
	if p.Err != nil {
		return
	}
	if !p.valid() {
		r.dropLocked(fmt.Errorf("agent answered for other metrics than it was asked for: %d of %d", len(p.Result.Sets), len(p.PMIDs)))
		p.Err = pcp.ErrIPC
		return
	}
	r.noteChanges(p.Result.Time)
}

// relayLength is the length, in bytes, from which an agent's result is passed on
// to the client as it is.
const relayLength = 1 << 20

// takeRelay gives p a long result. Called by the holder of r.slot.
func (r *remote) takeRelay(p *Part, body []byte) {
	stamp, same, err := p.Relay.Take(body, p.PMIDs)
	if err != nil {
		r.dropLocked(fmt.Errorf("agent's %v PDU: %w", wire.TypeResult, err))
		p.Err = pcp.ErrIPC
		return
	}
	if !same {
		r.dropLocked(fmt.Errorf("agent answered for other metrics than it was asked for: %d of %d", p.Relay.Sets, len(p.PMIDs)))
		p.Err = pcp.ErrIPC
		return
	}
	r.pdus.Detach()
	p.Relayed = true
	r.noteChanges(stamp)
}

// noteChanges notifies clients that names or labels of the agent changed. The
// agent reports that in place of a time stamp.
func (r *remote) noteChanges(stamp pcp.Timestamp) {
	if sec := stamp.Sec; sec > 0 && sec < 1<<6 {
		if changes := wire.State(sec) & (wire.LabelChange | wire.NamesChange); changes != 0 {
			r.h.Changed(changes)
		}
	}
}

func (r *remote) Desc(c *Caller, id pcp.PMID) (pcp.Desc, error) {
	var answer wire.Desc
	err := r.ask(c, &wire.DescReq{PMID: id}, &answer)
	return answer.Desc, err
}

func (r *remote) Instances(c *Caller, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	var answer wire.Instance
	err := r.ask(c, &wire.InstanceReq{InDom: indom, Inst: inst, Name: name}, &answer)
	return answer.Instances, err
}

func (r *remote) Text(c *Caller, ident uint32, kind pcp.TextKind) (string, error) {
	var answer wire.Text
	err := r.ask(c, &wire.TextReq{Ident: ident, Kind: kind}, &answer)
	return answer.Text, err
}

func (r *remote) Labels(c *Caller, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	r.slot.acquire()
	defer r.slot.release()
	if err := r.ag.askable(c); err != nil {
		return nil, err
	}
	r.introduce(c)
	if kind == pcp.LabelInstances {
		// C agents give labels to the instances of the profile alone.
		r.sendProfile(c, int32(c.client.ID), Everything)
	}
	req := &wire.LabelReq{Ident: ident, Kind: kind}
	h, body, err := r.exchange(int32(c.client.ID), req)
	if err != nil {
		return nil, lost(err)
	}
	var answer wire.Labels
	err = r.decode(h, body, req, &answer)
	return answer.Sets, err
}

func (r *remote) Store(c *Caller, res *pcp.Result) error {
	var answer wire.Error
	return r.ask(c, &wire.Result{Result: *res}, &answer)
}

func (r *remote) Names(c *Caller, id pcp.PMID) ([]string, error) {
	var answer wire.PMNSNames
	err := r.ask(c, &wire.PMNSIDs{PMIDs: []pcp.PMID{id}}, &answer)
	return answer.Names, err
}

func (r *remote) Lookup(c *Caller, name string) (pcp.PMID, error) {
	var answer wire.PMNSIDs
	if err := r.ask(c, &wire.PMNSNames{Names: []string{name}}, &answer); err != nil {
		return pcp.PMIDNull, err
	}
	switch {
	case answer.Status < 0:
		return pcp.PMIDNull, answer.Status
	case len(answer.PMIDs) != 1 || answer.PMIDs[0] == pcp.PMIDNull:
		return pcp.PMIDNull, pcp.ErrName
	}
	return answer.PMIDs[0], nil
}

func (r *remote) Children(c *Caller, name string) ([]pmns.Child, error) {
	var answer wire.PMNSNames
	if err := r.ask(c, &wire.PMNSChild{Name: name, WithStatus: true}, &answer); err != nil {
		return nil, err
	}
	list := make([]pmns.Child, len(answer.Names))
	for i, n := range answer.Names {
		list[i] = pmns.Child{Name: n, Leaf: i >= len(answer.Status) || answer.Status[i] != wire.NonLeafStatus}
	}
	return list, nil
}

func (r *remote) Traverse(c *Caller, name string) ([]string, error) {
	var answer wire.PMNSNames
	err := r.ask(c, &wire.PMNSTraverse{Name: name}, &answer)
	return answer.Names, err
}

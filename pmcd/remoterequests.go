package pmcd

import (
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// fetch implements backend. It returns nil: calls to a remote are not abandoned.
func (r *remote) fetch(c *client, p *part) error {
	r.slot.acquire()
	defer r.slot.release()
	p.err = r.ag.usable()
	if p.err != nil {
		return nil
	}
	r.introduce(c)
	r.sendProfile(c, p.context, p.profile)
	h, body, err := r.exchange(int32(c.pub.ID), &wire.Fetch{Context: p.context, PMIDs: p.ids})
	r.take(p, h, body, err)
	return nil
}

// take gives p the outcome of an exchange. Called by the holder of r.slot.
func (r *remote) take(p *part, h wire.Header, body []byte, err error) {
	if err != nil {
		p.err = err
		return
	}
	if p.alone && len(body) >= relayLength && h.Type == wire.TypeResult {
		r.takeRelay(p, body)
		return
	}
	// The values outlive the exchange.
	p.buf = append(p.buf[:0], body...)
	r.result.HighRes = false
	r.result.Result, p.res = p.res, r.result.Result
	p.err = r.decode(h, p.buf, &wire.Fetch{}, &r.result)
	r.result.Result, p.res = p.res, r.result.Result
	if p.err != nil {
		return
	}
	if !p.valid() {
		r.dropLocked(fmt.Errorf("agent answered for other metrics than it was asked for: %d of %d", len(p.res.Sets), len(p.ids)))
		p.err = pcp.ErrIPC
		return
	}
	r.noteChanges(p.res.Time)
}

// relayLength is the length, in bytes, from which an agent's result is passed on
// to the client as it is.
const relayLength = 1 << 20

// takeRelay gives p a long result. Called by the holder of r.slot.
func (r *remote) takeRelay(p *part, body []byte) {
	stamp, same, err := p.relay.Take(body, p.ids)
	if err != nil {
		r.dropLocked(fmt.Errorf("agent's %v PDU: %w", wire.TypeResult, err))
		p.err = pcp.ErrIPC
		return
	}
	if !same {
		r.dropLocked(fmt.Errorf("agent answered for other metrics than it was asked for: %d of %d", p.relay.Sets, len(p.ids)))
		p.err = pcp.ErrIPC
		return
	}
	r.pdus.Detach()
	p.relayed = true
	r.noteChanges(stamp)
}

// noteChanges tells clients that names or labels of the agent changed. The agent
// says so in place of a time stamp.
func (r *remote) noteChanges(stamp pcp.Timestamp) {
	if sec := stamp.Sec; sec > 0 && sec < 1<<6 {
		if changes := wire.State(sec) & (wire.LabelChange | wire.NamesChange); changes != 0 {
			r.h.Changed(changes)
		}
	}
}

func (r *remote) desc(c *client, id pcp.PMID) (pcp.Desc, error) {
	var answer wire.Desc
	err := r.ask(c, &wire.DescReq{PMID: id}, &answer)
	return answer.Desc, err
}

func (r *remote) instances(c *client, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	var answer wire.Instance
	err := r.ask(c, &wire.InstanceReq{InDom: indom, Inst: inst, Name: name}, &answer)
	return answer.Instances, err
}

func (r *remote) text(c *client, ident uint32, kind pcp.TextKind) (string, error) {
	var answer wire.Text
	err := r.ask(c, &wire.TextReq{Ident: ident, Kind: kind}, &answer)
	return answer.Text, err
}

func (r *remote) labels(c *client, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	r.slot.acquire()
	defer r.slot.release()
	if err := r.ag.usable(); err != nil {
		return nil, err
	}
	r.introduce(c)
	if kind == pcp.LabelInstances {
		// C agents give labels to the instances of the profile alone.
		r.sendProfile(c, int32(c.pub.ID), everything)
	}
	req := &wire.LabelReq{Ident: ident, Kind: kind}
	h, body, err := r.exchange(int32(c.pub.ID), req)
	if err != nil {
		return nil, lost(err)
	}
	var answer wire.Labels
	err = r.decode(h, body, req, &answer)
	return answer.Sets, err
}

func (r *remote) store(c *client, res *pcp.Result) error {
	var answer wire.Error
	return r.ask(c, &wire.Result{Result: *res}, &answer)
}

func (r *remote) names(c *client, id pcp.PMID) ([]string, error) {
	var answer wire.PMNSNames
	err := r.ask(c, &wire.PMNSIDs{PMIDs: []pcp.PMID{id}}, &answer)
	return answer.Names, err
}

func (r *remote) lookup(c *client, name string) (pcp.PMID, error) {
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

func (r *remote) children(c *client, name string) ([]pmns.Child, error) {
	var answer wire.PMNSNames
	if err := r.ask(c, &wire.PMNSChild{Name: name, WithStatus: true}, &answer); err != nil {
		return nil, err
	}
	list := make([]pmns.Child, len(answer.Names))
	for i, n := range answer.Names {
		list[i] = pmns.Child{Name: n, Leaf: i >= len(answer.Status) || answer.Status[i] != nonLeafStatus}
	}
	return list, nil
}

func (r *remote) traverse(c *client, name string) ([]string, error) {
	var answer wire.PMNSNames
	err := r.ask(c, &wire.PMNSTraverse{Name: name}, &answer)
	return answer.Names, err
}

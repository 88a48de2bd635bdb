package linux

import (
	"context"
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// Refresh implements pmda.Refresher. A source that cannot be read leaves its
// metrics without values.
func (a *Agent) Refresh(_ context.Context, ids []pcp.PMID) error {
	var want sources
	for _, id := range ids {
		if m := a.metric(id); m != nil && (!m.rootOnly() || a.cfg.AllAccess) {
			want |= m.need
		}
	}
	a.fresh = 0
	a.read(want)
	return nil
}

// Fetch implements pmda.Agent. Strings in the result stay as they are; a later
// Refresh makes new ones. For a client that looks into a container it reads
// there.
func (a *Agent) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	if containerOf(req.Client) != "" {
		return a.fetchInside(ctx, req)
	}
	a.readMissing(req, false)
	a.copy(req, nil)
	return nil
}

// readMissing reads what a request needs and the last Refresh did not read. If
// outer is set, what is read inside a container is not needed.
func (a *Agent) readMissing(req *pmda.FetchRequest, outer bool) {
	var missing sources
	for _, id := range req.PMIDs {
		if m := a.metric(id); m != nil && !(outer && isInside(m.block)) && a.allows(req, m) {
			missing |= m.need &^ a.fresh
		}
	}
	if missing != 0 {
		a.read(missing)
	}
}

// rootOnly tells whether only root may read m's file, and so only root may ask.
// They are not read for others: slabinfo alone costs the kernel as much as a
// third of all metrics.
func (m *metric) rootOnly() bool { return rootOnly(m.block) }

// rootOnly reports whether only root may read the file of a block.
func rootOnly(b blockID) bool { return b == blockSlab || b == blockTTY }

// allows reports whether the client that asks gets values of m.
func (a *Agent) allows(req *pmda.FetchRequest, m *metric) bool {
	return !m.rootOnly() || a.isRoot(req.Client)
}

// isRoot reports whether a client may see what only root may.
func (a *Agent) isRoot(client *pmda.Client) bool {
	return a.cfg.AllAccess || client != nil && client.Attrs[wire.AttrUserID] == "0"
}

// copy appends the values that were read to the result: those of a container
// from inside, if that is not nil.
func (a *Agent) copy(req *pmda.FetchRequest, inside *Agent) {
	res, all := req.Result, req.Profile.IsAll()
	for _, id := range req.PMIDs {
		m := a.metric(id)
		if m == nil {
			res.AddError(id, pcp.ErrPMID)
			continue
		}
		if m.err != 0 {
			res.AddError(id, m.err)
			continue
		}
		res.AddSet(id)
		if !a.allows(req, m) {
			continue
		}
		b := &a.blocks[m.block]
		if inside != nil && isInside(m.block) {
			b = &inside.blocks[m.block]
		}
		if b.insts == nil {
			if len(b.cells) > 0 && b.cells[m.col].ok {
				res.Add(b.value(m.col, m.typ))
			}
			continue
		}
		i := m.col
		if all {
			for _, inst := range b.insts {
				if b.cells[i].ok {
					res.Add(b.value(i, m.typ).WithInst(inst))
				}
				i += b.cols
			}
			continue
		}
		p := req.Profile.InDom(pcp.NewInDom(a.domain, int(m.indom)))
		for _, inst := range b.insts {
			if b.cells[i].ok && p.Includes(inst) {
				res.Add(b.value(i, m.typ).WithInst(inst))
			}
			i += b.cols
		}
	}
}

// read reads the sources want, each once, in the order of their numbers: one
// that builds on another comes after it.
func (a *Agent) read(want sources) { a.readOnly(withSources(want)) }

// withSources adds to want what it builds on.
func withSources(want sources) sources {
	for s := numSources - 1; s >= 0; s-- {
		if want&s.bit() != 0 {
			want |= sourceSpecs[s].after
		}
	}
	return want
}

// readOnly reads the sources want, and nothing that they build on.
func (a *Agent) readOnly(want sources) {
	for s := range numSources {
		if want&s.bit() == 0 {
			continue
		}
		err := sourceSpecs[s].read(a)
		for _, b := range a.filled[s] {
			if err != nil {
				a.blocks[b].clear()
			}
			a.blocks[b].sort()
		}
		if err == nil {
			a.failing[s] = false
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) && !a.failing[s] {
			a.failing[s] = true // once, not with each sample
			a.log.Warn("cannot read", "err", err)
		}
	}
	a.fresh |= want
}

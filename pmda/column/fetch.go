package column

import (
	"context"
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Refresh implements pmda.Refresher: it reads the sources of the metrics and their dependencies, each
// once. A source that cannot be read leaves its metrics without values. Restricted sources are read here
// only if all clients are trusted, else by Fetch.
func (a *Agent) Refresh(_ context.Context, ids []pcp.PMID) error {
	all := a.trusts(nil)
	want := a.scratch
	clear(want)
	for _, id := range ids {
		if m := a.metric(id); m != nil && (!m.restricted || all) {
			want[m.source] = true
		}
	}
	clear(a.fresh)
	a.read(want)
	return nil
}

// Fetch implements pmda.Agent. It reads what the last Refresh did not. Strings in the
// result stay as they are; a later Refresh makes new ones.
func (a *Agent) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	return a.FetchOver(req, nil)
}

// FetchOver is Fetch, but takes the values of sources with a Scope from over, a twin
// of a that has read them, if over is not nil. a does not read them then.
func (a *Agent) FetchOver(req *pmda.FetchRequest, over *Agent) error {
	trusted := a.trusts(req.Client)
	want, missing := a.scratch, false
	clear(want)
	for _, id := range req.PMIDs {
		m := a.metric(id)
		if m != nil && !a.fresh[m.source] && !(over != nil && m.scoped) && (trusted || !m.restricted) {
			want[m.source], missing = true, true
		}
	}
	if missing {
		a.read(want)
	}
	a.copy(req, over, trusted)
	return nil
}

func (a *Agent) trusts(client *pmda.Client) bool { return a.cfg.Trusts == nil || a.cfg.Trusts(client) }

// copy appends the values that were read to the result.
func (a *Agent) copy(req *pmda.FetchRequest, over *Agent, trusted bool) {
	res, all := req.Result, req.Profile.IsAll()
	for _, id := range req.PMIDs {
		m := a.metric(id)
		if m == nil {
			res.AddError(id, pcp.ErrPMID)
			continue
		}
		b := a.blocks[m.block]
		if over != nil && m.scoped {
			b = over.blocks[m.block]
		}
		if m.Err != 0 {
			res.AddError(id, m.Err)
			continue
		}
		if s := b.source; s.Row != nil {
			s.fillRows(b, m.indom, req.Profile)
		}
		if b.errs != nil && b.errs[m.col] != 0 {
			res.AddError(id, b.errs[m.col])
			continue
		}
		res.AddSet(id)
		if m.restricted && !trusted {
			continue
		}
		i := m.col
		if m.indom == pcp.InDomNull {
			if b.cells[i].OK {
				res.Add(b.value(i, m.Type))
			}
			continue
		}
		if all {
			for _, inst := range b.insts {
				if b.cells[i].OK {
					res.Add(b.value(i, m.Type).WithInst(inst))
				}
				i += b.cols
			}
			continue
		}
		p := req.Profile.InDom(m.indom)
		for _, inst := range b.insts {
			if b.cells[i].OK && p.Includes(inst) {
				res.Add(b.value(i, m.Type).WithInst(inst))
			}
			i += b.cols
		}
	}
}

// fillRows fills the rows of a block that a profile includes.
func (s *Source) fillRows(b *Block, indom pcp.InDom, profile *pcp.Profile) {
	if profile.IsAll() {
		for row := range b.insts {
			s.Fill(row)
		}
		return
	}
	p := profile.InDom(indom)
	for row, inst := range b.insts {
		if p.Includes(inst) {
			s.Fill(row)
		}
	}
}

// read reads the sources want and their dependencies, each once, in the order of
// their numbers: a source comes after its dependencies.
func (a *Agent) read(want Set) {
	a.close(want)
	for i, s := range a.sources {
		if want[i] {
			a.readSource(s)
		}
	}
}

// close adds to want its dependencies.
func (a *Agent) close(want Set) {
	for i := len(a.sources) - 1; i >= 0; i-- {
		if want[i] {
			for _, s := range a.sources[i].After {
				want[s.number] = true
			}
		}
	}
}

func (a *Agent) readSource(s *Source) {
	err := s.read()
	for _, b := range s.Blocks {
		if err != nil {
			b.Clear()
		}
		b.Sort()
	}
	a.fresh[s.number] = true
	if err == nil {
		s.failing = false
		return
	}
	if !errors.Is(err, fs.ErrNotExist) && !s.failing {
		s.failing = true // once, not with each sample
		a.cfg.Log.Warn("cannot read", "err", err)
	}
}

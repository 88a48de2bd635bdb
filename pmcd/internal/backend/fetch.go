package backend

import (
	"slices"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// Everything is the profile of most requests; its identity lets agents see
// quickly that two are the same.
var Everything = &pcp.Profile{}

// A Fetch is a request for values on its way: each agent's part of it. Its memory
// is reused.
type Fetch struct {
	Parts []*Part

	context int32
	profile *pcp.Profile
	highRes bool

	at      int     // the part whose agent is being asked in this goroutine
	spare   []*Part // of earlier requests
	sent    []*Part // to agents that were idle; not those of others
	remotes sync.WaitGroup
	crowd   *crowd // that counts it
}

// A Part is the part of a fetch for one agent. While a call for it runs it
// belongs to the agent, permanently if the agent hangs: then another replaces
// it in the Fetch.
type Part struct {
	PMIDs []pcp.PMID

	// The result: Err, for all metrics, or else Result; or if Relayed is set
	// Relay in place of a long Result.
	Err     error
	Result  pcp.Result
	Relay   wire.Relay
	Relayed bool

	ag      *Agent
	lent    bool // PMIDs is not memory to be used for another part
	remote  bool // the agent is in another process
	alone   bool // the fetch has no other part
	context int32
	profile *pcp.Profile
	sentTo  *remote // by sendFetch; p holds its slot

	req pmda.FetchRequest
	buf []byte // holds what the values of Result point into
}

// Begin makes f a fetch without parts. Context is the number of the client's
// context, and profile its profile; highRes selects the form in which a long
// result is passed on.
func (f *Fetch) Begin(context int32, profile *pcp.Profile, highRes bool) {
	f.spare = append(f.spare, f.Parts...)
	f.Parts = f.Parts[:0]
	f.context, f.profile, f.highRes = context, profile, highRes
	f.at = 0
}

// Add adds the part of an agent, which is nil if there is none: the error of the
// part is then pcp.ErrNoAgent. If ids is nil, the caller must append the metrics
// to PMIDs; else f borrows ids, unless an agent that hangs keeps them: the final
// PMIDs of the part can be used again.
func (c *Caller) Add(f *Fetch, ag *Agent, ids []pcp.PMID) *Part {
	var p *Part
	if n := len(f.spare); n > 0 {
		p, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		p = new(Part)
	}
	p.reset()
	if ids != nil {
		p.PMIDs, p.lent = ids, true
	}
	p.ag, p.context, p.profile = ag, f.context, f.profile
	if ag == nil {
		p.Err = pcp.ErrNoAgent
	} else {
		p.Err = ag.Usable()
		p.remote = ag.remote()
		c.makeRoom(ag) // before several agents are asked at once
	}
	f.Parts = append(f.Parts, p)
	return p
}

func (p *Part) reset() {
	if p.lent {
		p.PMIDs, p.lent = nil, false
	}
	p.PMIDs = p.PMIDs[:0]
	p.Result.Reset()
	p.Err, p.remote = nil, false
	p.alone, p.sentTo, p.Relay, p.Relayed = false, nil, wire.Relay{}, false
}

// Forget drops the references of f to memory of others.
func (f *Fetch) Forget() {
	f.spare = append(f.spare, f.Parts...)
	f.Parts = f.Parts[:0]
	for _, p := range f.spare {
		p.reset()
		p.ag, p.profile, p.req = nil, nil, pmda.FetchRequest{}
	}
	f.profile = nil
}

// valid reports whether the answer of the agent matches the request.
func (p *Part) valid() bool {
	if len(p.Result.Sets) != len(p.PMIDs) {
		return false
	}
	for i := range p.Result.Sets {
		if p.Result.Sets[i].PMID != p.PMIDs[i] {
			return false
		}
	}
	return true
}

// lose replaces a part that a hanging agent may still write to, and moves to the
// next.
func (f *Fetch) lose() {
	p := f.Parts[f.at]
	f.Parts[f.at] = &Part{ag: p.ag, PMIDs: slices.Clone(p.PMIDs), lent: true, Err: pcp.ErrAgain}
	f.at++
}

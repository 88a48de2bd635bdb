package pmcd

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/wire"
)

// A fetchJob is a fetch on its way: the metrics asked for, and each agent's
// part of them. Its memory is reused.
type fetchJob struct {
	highRes bool
	ids     []pcp.PMID
	fetch   backend.Fetch // its parts are in the order of their first metrics
	where   []int32       // by domain: 1 + index of the part; nil until there are several
	next    []int         // by part: the set of its result to be merged next
	merged  []pcp.ValueSet
	out     []byte // the client's, while no client has the job
}

// fetch asks agents for values. They are merged when the reply is sent.
func (r *request) fetch(highRes bool, body []byte, profiles *profiles) (wire.PDU, error) {
	req := &r.values
	req.HighRes = highRes
	j := r.job
	big := len(body) > fetchHead+4*keepMetrics
	if big {
		j = r.s.spares.bigJob()
		req.PMIDs = j.ids
	}
	profile, err := r.decodeFetch(body, profiles)
	if err != nil {
		if big {
			j.ids, req.PMIDs = req.PMIDs, nil
			r.s.spares.leaveBig(j)
		}
		return nil, err
	}
	r.job = j
	j.highRes, j.ids = highRes, req.PMIDs
	j.fetch.Begin(req.Context, profile, highRes)
	r.split(j)
	r.doing = fetching
	r.Fetch(&j.fetch)
	return &r.result, nil
}

// fetchHead is how long a request for values is without any metrics.
const fetchHead = 16

// decodeFetch decodes a request into r.values and returns its profile.
func (r *request) decodeFetch(body []byte, profiles *profiles) (*pcp.Profile, error) {
	req := &r.values
	if err := decode(req, body); err != nil {
		return nil, err
	}
	if len(req.PMIDs) > r.s.cfg.MaxMetrics {
		return nil, pcp.ErrTooBig
	}
	profile := profiles.of(req.Context)
	if profile == nil {
		return nil, pcp.ErrNoProfile
	}
	return profile, nil
}

// split deals the metrics out to their agents.
func (r *request) split(j *fetchJob) {
	table := r.s.agents.table.Load()
	one := true
	for _, id := range j.ids[min(1, len(j.ids)):] {
		if id.Domain() != j.ids[0].Domain() {
			one = false
			break
		}
	}
	if one {
		if len(j.ids) > 0 {
			r.Add(&j.fetch, table.reach(j.ids[0].Domain()), j.ids)
		}
		return
	}
	j.needWhere()
	for _, id := range j.ids {
		domain := id.Domain()
		if j.where[domain] == 0 {
			r.Add(&j.fetch, table.reach(domain), nil)
			j.where[domain] = int32(len(j.fetch.Parts))
		}
		p := j.fetch.Parts[j.where[domain]-1]
		p.PMIDs = append(p.PMIDs, id)
	}
	for _, id := range j.ids {
		j.where[id.Domain()] = 0
	}
}

func (j *fetchJob) needWhere() {
	if j.where == nil {
		j.where = make([]int32, pcp.MaxDomain+1)
	}
}

// merge returns the sets of all parts in the order of the request.
func (j *fetchJob) merge() []pcp.ValueSet {
	parts := j.fetch.Parts
	j.merged, j.next = j.merged[:0], j.next[:0]
	j.needWhere()
	for i, p := range parts {
		j.where[p.PMIDs[0].Domain()] = int32(i + 1)
		j.next = append(j.next, 0)
	}
	for _, id := range j.ids {
		i := j.where[id.Domain()] - 1
		p := parts[i]
		if p.Err != nil {
			j.merged = append(j.merged, pcp.ValueSet{PMID: id, Err: pcp.Code(p.Err)})
			continue
		}
		j.merged = append(j.merged, p.Result.Sets[j.next[i]])
		j.next[i]++
	}
	for _, p := range parts {
		j.where[p.PMIDs[0].Domain()] = 0
	}
	return j.merged
}

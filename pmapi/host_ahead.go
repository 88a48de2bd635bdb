package pmapi

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// foreseen are answers of a collector to requests that are expected to follow.
type foreseen struct {
	on      *conversation
	answers map[aheadKey]aheadAnswer
}

// answer returns the answer to a request if it is there already.
func (f *foreseen) answer(k aheadKey) (aheadAnswer, bool) {
	a, ok := f.answers[k]
	return a, ok
}

// forget forgets all answers.
func (f *foreseen) forget() { f.answers = nil }

// ahead is Context.Ahead. It does nothing if requests are traced, each where it belongs.
func (f *foreseen) ahead(ctx context.Context, descs []pcp.Desc, labelsOnly bool) error {
	if f.on.trace != nil {
		return nil
	}
	keys := aheadKeys(descs, labelsOnly, f.on.has(wire.FeatureLabels))
	f.answers = make(map[aheadKey]aheadAnswer, len(keys))
	request := func(i int) (wire.PDU, wire.Type) { return keys[i].request(), keys[i].answer }
	return f.on.askAll(ctx, len(keys), request, func(i int, body []byte, err error) error {
		if err != nil {
			f.answers[keys[i]] = aheadAnswer{err: err}
			return nil
		}
		a, err := keys[i].decode(body)
		if err == nil {
			f.answers[keys[i]] = a
		}
		return err
	})
}

// aheadKeys returns the requests for the metadata of metrics, or for their labels alone, each once. There are
// no requests for labels if the collector has no labels.
func aheadKeys(descs []pcp.Desc, labelsOnly, hasLabels bool) []aheadKey {
	var list []aheadKey
	seen := make(map[aheadKey]bool)
	labels := func(kind pcp.LabelFlags, ident uint32) {
		if k := labelKey(ident, kind); hasLabels && !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	for _, d := range descs {
		if d.PMID.IsDerived() {
			continue
		}
		if !labelsOnly {
			list = append(list,
				namesKey(d.PMID),
				textKey(uint32(d.PMID), pcp.TextPMID|pcp.TextOneLine),
				textKey(uint32(d.PMID), pcp.TextPMID|pcp.TextHelp),
			)
		}
		labels(pcp.LabelDomain, uint32(d.PMID.Domain()))
		labels(pcp.LabelCluster, uint32(pcp.NewPMID(d.PMID.Domain(), d.PMID.Cluster(), 0)))
		labels(pcp.LabelItem, uint32(d.PMID))
	}
	return list
}

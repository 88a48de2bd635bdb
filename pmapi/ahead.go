package pmapi

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// Ahead asks a collector for the metadata of metrics, with many requests on their way at a
// time, and keeps the answers for calls of NameAll, LookupText and Labels that follow: names, help
// texts, and the labels of items, clusters and domains. [Context.Rest] forgets them. Other calls
// ask the collector as ever. With other sources than collectors it does nothing.
func (c *Context) Ahead(ctx context.Context, descs []pcp.Desc) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	return c.src.ahead(ctx, descs, false)
}

// AheadLabels is Ahead without names and help texts, for metrics whose labels may have changed.
func (c *Context) AheadLabels(ctx context.Context, descs []pcp.Desc) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	return c.src.ahead(ctx, descs, true)
}

// Rest frees memory that the next call would use, and forgets the samples of Ahead. It is for programs
// with many contexts that leave each idle for seconds. A Result of FetchInto stays valid as documented
// there.
func (c *Context) Rest() {
	if c.lock(context.Background()) != nil {
		return
	}
	defer c.unlock()
	c.src.rest()
}

// An aheadKey is a request.
type aheadKey struct {
	answer wire.Type
	ident  uint32
	kind   uint32 // of text or labels
}

// An aheadAnswer is the answer to a request, or the collector's status.
type aheadAnswer struct {
	text  string
	names []string
	sets  []pcp.LabelSet
	err   error
}

// request returns the PDU of a request.
func (k *aheadKey) request() wire.PDU {
	switch k.answer {
	case wire.TypeText:
		return &wire.TextReq{Ident: k.ident, Kind: pcp.TextKind(k.kind)}
	case wire.TypeLabel:
		return &wire.LabelReq{Ident: k.ident, Kind: pcp.LabelFlags(k.kind)}
	}
	return &wire.PMNSIDs{PMIDs: []pcp.PMID{pcp.PMID(k.ident)}}
}

// decode reads the answer.
func (k *aheadKey) decode(body []byte) (a aheadAnswer, err error) {
	switch k.answer {
	case wire.TypeText:
		var p wire.Text
		err = p.DecodeBody(body)
		a.text = p.Text
	case wire.TypeLabel:
		var p wire.Labels
		err = p.DecodeBody(body)
		a.sets = p.Sets
	default:
		var p wire.PMNSNames
		err = p.DecodeBody(body)
		a.names = p.Names
	}
	return a, err
}

// aheadKeys returns the requests for the metadata of metrics, or for their labels alone, each once.
func (h *host) aheadKeys(descs []pcp.Desc, labelsOnly bool) []aheadKey {
	var list []aheadKey
	seen := make(map[aheadKey]bool)
	labels := func(kind pcp.LabelFlags, ident uint32) {
		if k := (aheadKey{wire.TypeLabel, ident, uint32(kind)}); h.features&wire.FeatureLabels != 0 && !seen[k] {
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
				aheadKey{wire.TypePMNSNames, uint32(d.PMID), 0},
				aheadKey{wire.TypeText, uint32(d.PMID), uint32(pcp.TextPMID | pcp.TextOneLine)},
				aheadKey{wire.TypeText, uint32(d.PMID), uint32(pcp.TextPMID | pcp.TextHelp)},
			)
		}
		labels(pcp.LabelDomain, uint32(d.PMID.Domain()))
		labels(pcp.LabelCluster, uint32(pcp.NewPMID(d.PMID.Domain(), d.PMID.Cluster(), 0)))
		labels(pcp.LabelItem, uint32(d.PMID))
	}
	return list
}

// ahead does nothing if requests are traced, each where it belongs.
func (h *host) ahead(ctx context.Context, descs []pcp.Desc, labelsOnly bool) error {
	if h.trace != nil {
		return nil
	}
	keys := h.aheadKeys(descs, labelsOnly)
	h.known = make(map[aheadKey]aheadAnswer, len(keys))
	for len(keys) > 0 {
		n := min(len(keys), descWindow)
		h.out = h.out[:0]
		for i := range keys[:n] {
			if err := h.add(keys[i].request()); err != nil {
				return err
			}
		}
		if err := h.begin(ctx); err != nil {
			return err
		}
		err := h.write()
		for i := 0; i < n && err == nil; i++ {
			var body []byte
			var a aheadAnswer
			if body, err = h.answer(keys[i].answer); err == nil {
				a, err = keys[i].decode(body)
			}
			if code, refused := err.(pcp.Error); refused {
				a.err, err = code, nil
			}
			if err == nil {
				h.known[keys[i]] = a
			}
		}
		if err = h.end(ctx, err); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

func (h *host) rest() {
	h.known = nil
	h.out = nil
	h.result = wire.Result{}
	if h.r != nil {
		h.r.Rest()
	}
}

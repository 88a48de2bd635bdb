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

func namesKey(id pcp.PMID) aheadKey { return aheadKey{wire.TypePMNSNames, uint32(id), 0} }

func textKey(ident uint32, kind pcp.TextKind) aheadKey {
	return aheadKey{wire.TypeText, ident, uint32(kind)}
}

func labelKey(ident uint32, kind pcp.LabelFlags) aheadKey {
	return aheadKey{wire.TypeLabel, ident, uint32(kind)}
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

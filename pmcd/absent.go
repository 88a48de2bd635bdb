package pmcd

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// An absent is the backend of an agent in process that could not be made. It is
// not connected, so that requests do not get as far as this.
type absent struct{}

func (absent) fetch(_ *client, p *part) { p.err = pcp.ErrNoAgent }

func (absent) desc(*client, pcp.PMID) (pcp.Desc, error) { return pcp.Desc{}, pcp.ErrNoAgent }

func (absent) instances(*client, pcp.InDom, int32, string) ([]pcp.Instance, error) {
	return nil, pcp.ErrNoAgent
}

func (absent) text(*client, uint32, pcp.TextKind) (string, error) { return "", pcp.ErrNoAgent }

func (absent) labels(*client, uint32, pcp.LabelFlags) ([]pcp.LabelSet, error) {
	return nil, pcp.ErrNoAgent
}

func (absent) store(*client, *pcp.Result) error { return pcp.ErrNoAgent }

func (absent) names(*client, pcp.PMID) ([]string, error) { return nil, pcp.ErrNoAgent }

func (absent) lookup(*client, string) (pcp.PMID, error) { return pcp.PMIDNull, pcp.ErrNoAgent }

func (absent) children(*client, string) ([]pmns.Child, error) { return nil, pcp.ErrNoAgent }

func (absent) traverse(*client, string) ([]string, error) { return nil, pcp.ErrNoAgent }

func (absent) endContext(*client) {}

func (absent) stop() {}

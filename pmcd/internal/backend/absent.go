package backend

import (
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// An absent is the link to an agent in process that could not be made. It is
// not connected, so that requests do not get as far as this.
type absent struct{ inProcess }

func (absent) fetch(_ *Caller, p *Part) bool {
	p.Err = pcp.ErrNoAgent
	return true
}

func (absent) Desc(*Caller, pcp.PMID) (pcp.Desc, error) { return pcp.Desc{}, pcp.ErrNoAgent }

func (absent) Instances(*Caller, pcp.InDom, int32, string) ([]pcp.Instance, error) {
	return nil, pcp.ErrNoAgent
}

func (absent) Text(*Caller, uint32, pcp.TextKind) (string, error) { return "", pcp.ErrNoAgent }

func (absent) Labels(*Caller, uint32, pcp.LabelFlags) ([]pcp.LabelSet, error) {
	return nil, pcp.ErrNoAgent
}

func (absent) Store(*Caller, *pcp.Result) error { return pcp.ErrNoAgent }

func (absent) Names(*Caller, pcp.PMID) ([]string, error) { return nil, pcp.ErrNoAgent }

func (absent) Lookup(*Caller, string) (pcp.PMID, error) { return pcp.PMIDNull, pcp.ErrNoAgent }

func (absent) Children(*Caller, string) ([]pmns.Child, error) { return nil, pcp.ErrNoAgent }

func (absent) Traverse(*Caller, string) ([]string, error) { return nil, pcp.ErrNoAgent }

func (absent) endContext(*Caller) {}

func (absent) Stop() {}

func (absent) Abandon() {}

func (absent) rename(string) {}

func (absent) NameSpace() *pmns.Tree { return nil }

func (absent) Describe(*strings.Builder) {}

// inProcess is the common part of links to agents in this process: there is no
// connection.
type inProcess struct{}

func (inProcess) sendFetch(*Caller, *Fetch, *Part, time.Time) bool { return false }

// greet implements link: the agent learns of a client with its first request.
func (inProcess) greet(*Caller) bool { return true }

func (inProcess) Start() {}

func (inProcess) DropClosed() {}

func (inProcess) Features() wire.Features { return 0 }

func (inProcess) Waiting() int { return 0 }

func (inProcess) ended() (in, out int, how string) { return -1, -1, "" }

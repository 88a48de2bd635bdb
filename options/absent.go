package options

import (
	"context"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// An absentAgent represents an agent of the collector's configuration that this
// program does not have. The first request for its metrics prints a message.
// Otherwise it acts as if there were no such agent.
type absentAgent struct {
	tell func()
	once sync.Once
}

func (a *absentAgent) sorry() error {
	a.once.Do(a.tell)
	return pcp.ErrNoAgent
}

// Desc implements pmda.Agent.
func (a *absentAgent) Desc(context.Context, pcp.PMID) (pcp.Desc, error) {
	return pcp.Desc{}, a.sorry()
}

// Instances implements pmda.Agent.
func (a *absentAgent) Instances(context.Context, pcp.InDom) ([]pcp.Instance, error) {
	return nil, a.sorry()
}

// Fetch implements pmda.Agent.
func (a *absentAgent) Fetch(context.Context, *pmda.FetchRequest) error { return a.sorry() }

// Text implements pmda.Texter.
func (a *absentAgent) Text(context.Context, uint32, pcp.TextKind) (string, error) {
	return "", a.sorry()
}

// Labels implements pmda.Labeler.
func (a *absentAgent) Labels(context.Context, uint32, pcp.LabelFlags) ([]pcp.LabelSet, error) {
	return nil, a.sorry()
}

// Store implements pmda.Storer.
func (a *absentAgent) Store(context.Context, *pmda.Client, *pcp.Result) error { return a.sorry() }

// LookupName implements pmda.DynamicNamer.
func (a *absentAgent) LookupName(context.Context, string) (pcp.PMID, error) {
	return pcp.PMIDNull, a.sorry()
}

// Names implements pmda.DynamicNamer.
func (a *absentAgent) Names(context.Context, pcp.PMID) ([]string, error) { return nil, a.sorry() }

// Children implements pmda.DynamicNamer.
func (a *absentAgent) Children(context.Context, string, bool) ([]pmns.Child, error) {
	return nil, a.sorry()
}

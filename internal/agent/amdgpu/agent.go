package amdgpu

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (AMDGPU in the stdpmid of PCP 7).
const Domain = 162

// Config sets the files that an Agent reads. The zero Config reads those of this machine.
type Config struct {
	// Root is the directory of sys and usr; "" means /.
	Root string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Log gets the messages enabled by amdgpu.control.debug; nil discards them.
	Log *slog.Logger
}

// An Agent serves the cards. It implements the interfaces of a [column.Agent], and
// pmda.Storer.
type Agent struct {
	*column.Agent
	r *reader
}

// New returns an agent for the cards that cfg names. It reads nothing yet.
func New(cfg Config) *Agent {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := newReader(cfg.Root, cfg.Log)
	a, err := column.New(column.Config{Name: "amdgpu", Domain: cfg.Domain, Log: cfg.Log}, r.family())
	if err != nil {
		panic(err) // the tables are wrong
	}
	return &Agent{a, r}
}

// Store implements [pmda.Storer]: amdgpu.control.debug takes names of debugging options with
// commas between. With appl1 the agent logs each file that it reads.
func (a *Agent) Store(ctx context.Context, _ *pmda.Client, res *pcp.Result) error {
	for _, set := range res.Sets {
		if _, err := a.Desc(ctx, set.PMID); err != nil {
			return pcp.ErrPMID
		}
		if set.PMID.Cluster() != clusterCards || set.PMID.Item() != itemDebug {
			return pcp.ErrPermission
		}
		if len(set.Values) != 1 {
			return pcp.ErrBadStore
		}
		text, ok := set.Values[0].Text()
		if !ok {
			return pcp.ErrBadStore
		}
		names, ok := debug.Parse(text)
		if !ok {
			return pcp.ErrBadStore
		}
		slices.Sort(names)
		names = slices.Compact(names)
		a.r.debug, a.r.verbose = strings.Join(names, ","), slices.Contains(names, debugname.Appl1)
	}
	return nil
}

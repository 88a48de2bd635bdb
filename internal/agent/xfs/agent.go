package xfs

import (
	"context"
	"log/slog"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (XFS in stdpmid).
const Domain = 11

// Config sets the files that an Agent reads. The zero Config reads those of this machine.
type Config struct {
	// Root is the directory of proc, sys and etc; "" means /. The names of devices in its
	// /proc/mounts are those of this machine nevertheless.
	Root string
	// Live is set if Root is the root directory of the host, mounted in the container of this process, rather than a
	// copy of its files.
	Live bool
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Replaced is set if files below Root may be replaced by others: no file
	// stays open from one reading to the next.
	Replaced bool
	// Log gets a line about each file that exists and cannot be read; nil discards.
	Log *slog.Logger
}

// An Agent is the agent for XFS. It implements pmda.Agent and pmda.Refresher, NameSpacer,
// Texter and Storer.
type Agent struct {
	engine
	host    *host
	stats   []stat
	devices *devices
}

// An engine is a [column.Agent] without its labels, which the C agent lacks too.
type engine interface {
	pmda.Agent
	pmda.Refresher
	pmda.NameSpacer
	pmda.Texter
}

// New returns an agent for the files that cfg names. It reads nothing yet.
func New(cfg Config) *Agent {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{host: newHost(cfg), stats: allStats()}
	all, deviceFamily := statsFamily(a.host, a.stats), column.Family{}
	a.devices, deviceFamily = devicesFamily(a.host, a.stats)
	var err error
	a.engine, err = column.New(column.Config{Name: "xfs", Domain: cfg.Domain, Order: nameOrder(), Log: cfg.Log},
		all, controlFamily(), deviceFamily, quotaFamily(a.host))
	if err != nil {
		panic(err) // the tables are wrong
	}
	return a
}

// controlFamily reports the value of the metric for stores.
func controlFamily() column.Family {
	b := column.NewBlocks(controlMetrics, column.Layout{Cols: 1})
	return column.Family{Name: "control", Metrics: controlMetrics, Sources: []*column.Source{{
		Name: "control", Blocks: b,
		Read: func() error {
			b[0].Zero()
			return nil
		},
	}}}
}

// Text implements pmda.Texter.
func (a *Agent) Text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	text, err := a.engine.Text(ctx, ident, kind)
	if err != nil || kind&pcp.TextPMID == 0 || kind&pcp.TextHelp == 0 {
		return text, err
	}
	id := pcp.PMID(ident)
	cluster, item := id.Cluster(), id.Item()
	if cluster == clusterBuffer {
		item += firstBuffer
	}
	if cluster != clusterQuota {
		for i := range a.stats {
			if s := &a.stats[i]; s.item == item {
				return wrap(s.long), nil
			}
		}
	}
	return text, nil
}

// wrap breaks a text into lines that fit on a terminal.
func wrap(text string) string {
	const width = 79
	b := []byte(text)
	start, blank := 0, -1
	for i, c := range b {
		if c == ' ' {
			blank = i
		}
		if i-start >= width && blank > start {
			b[blank] = '\n'
			start = blank + 1
		}
	}
	return string(b)
}

// Fetch implements pmda.Agent.
func (a *Agent) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	first := len(req.Result.Sets)
	if err := a.engine.Fetch(ctx, req); err != nil {
		return err
	}
	for i := first; i < len(req.Result.Sets); i++ {
		set := &req.Result.Sets[i]
		if set.PMID.Cluster() == clusterDevice && len(set.Values) == 0 && set.Err == 0 && a.devices.wanted(req.Profile, set.PMID.Domain()) {
			set.Err = whyNone(set.PMID.Item())
		}
	}
	return nil
}

// whyNone returns the error if there are devices and none of them has a value.
func whyNone(item int) pcp.Error {
	switch item {
	case itemShakeReclaims, itemInactReclaims:
		return pcp.ErrAppVersion
	case itemReset:
		return pcp.ErrPMID
	}
	return pcp.ErrInst // its file cannot be read
}

package linux

import (
	"context"
	_ "embed"
	"log/slog"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// texts are the help texts.
//
//go:embed help.txt
var texts string

// Domain is the domain of the agent (LINUX in stdpmid).
const Domain = 60

// Config sets the files that an Agent reads. The zero Config reads those of this machine.
type Config struct {
	// Root is the directory in which proc and sys are found; "" means /.
	Root string
	// Live is set if Root is the root directory of the host, mounted in the container of this process, rather than a
	// copy of its files.
	Live bool
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// HZ is the number of the kernel's ticks in a second; 0 means 100, its value
	// for user space on all systems except some old ones.
	HZ int
	// PageSize is the size of a page in bytes; 0 means os.Getpagesize.
	PageSize int
	// OneNode puts all processors into one NUMA node.
	OneNode bool
	// Replaced is set if files below Root may be replaced by others: no file
	// stays open from one reading to the next.
	Replaced bool
	// Bandwidth is the file with the memory bandwidth of each NUMA node
	// (bandwidth.conf); without it the metric has no values.
	Bandwidth string
	// MDAdm is a program to ask for the status of software RAID devices, as
	// mdadm --detail --test DEVICE; "" means to read the kernel's files.
	MDAdm string
	// AllAccess gives every client the metrics that are otherwise for root only.
	AllAccess bool
	// StatfsTimeout is the time that a fetch of filesys metrics waits for a file
	// system that does not answer, such as one on a server that has gone; 0 means
	// one second.
	StatfsTimeout time.Duration
	// Version is the value of pmda.version; without it the metric has no value.
	Version string
	// Helper finds the processes of containers; nil means the root helper of
	// this installation, which is looked for when it is first needed.
	Helper Helper
	// Log gets a line about each file that exists and cannot be read; nil discards.
	Log *slog.Logger
}

// An Agent is the agent for the Linux kernel. It implements the
// interfaces of a [column.Agent].
type Agent struct {
	*column.Agent
	host  *host
	boxes boxes
}

// New returns an agent for the files that cfg names. It reads nothing yet.
func New(cfg Config) *Agent {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	h := newHost(cfg)
	a, err := column.New(column.Config{Name: "linux", Domain: cfg.Domain, Trusts: h.trusts, Order: order, Texts: texts, Log: h.log}, families(h)...)
	if err != nil {
		panic(err) // the tables are wrong
	}
	return &Agent{Agent: a, host: h}
}

// trusts reports whether a client may see values for root only. Files that are for
// root alone are not read for others: slabinfo alone costs the kernel as much as a
// third of all metrics.
func (h *host) trusts(client *pmda.Client) bool {
	return h.cfg.AllAccess || client != nil && client.Attrs[pmda.AttrUserID] == "0"
}

// Fetch implements pmda.Agent. Strings in the result do not change; a later
// Refresh makes new ones. For a client that looks into a container it reads the
// files of the container.
func (a *Agent) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	if containerOf(req.Client) == "" {
		return a.Agent.Fetch(ctx, req)
	}
	in, err := a.inside(ctx, req.Client, a.Scoped(req.PMIDs))
	if err != nil {
		return err
	}
	return a.FetchOver(req, in)
}

// Instances implements pmda.Agent. It reads the sources that list the instances.
func (a *Agent) Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	in, err := a.listedInside(ctx, indom)
	if err != nil {
		return nil, err
	}
	return a.InstancesOver(ctx, indom, in)
}

// Labels implements pmda.Labeler.
func (a *Agent) Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	var in *column.Agent
	if kind.Level() == pcp.LabelInstances {
		var err error
		if in, err = a.listedInside(ctx, pcp.InDom(ident)); err != nil {
			return nil, nil // an unknown domain or item has no labels
		}
	}
	return a.LabelsOver(ctx, ident, kind, in)
}

// listedInside returns the agent that has just read the instances of a domain in the
// container that the client of ctx looks into, nil if it looks into none.
func (a *Agent) listedInside(ctx context.Context, indom pcp.InDom) (*column.Agent, error) {
	client, _ := pmda.ClientFrom(ctx)
	if containerOf(client) == "" {
		return nil, nil
	}
	return a.inside(ctx, client, a.ScopedInDom(indom))
}

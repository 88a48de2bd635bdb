package root

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"

	"github.com/go-pcp/pcp"
	labels "github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (ROOT in stdpmid).
const Domain = 1

// A Config sets where containers are searched. Zero fields mean the documented
// defaults.
type Config struct {
	Domain int // to be served under; 0 means Domain

	// HostRoot is the root directory of the host, "" or "/" except in a container.
	// The defaults below are paths of the host.
	HostRoot string
	// Sockets is the root directory below which the sockets of runtimes are looked for; "" means HostRoot.
	Sockets string

	PodmanData    string // "" means /var/lib/containers/storage/overlay-containers
	PodmanRun     string // "" means /var/run/containers/storage/overlay-containers
	Docker        string // "" means /var/lib/docker
	LXC           string // "" means /var/lib/lxc
	LXCInfo       string // the command, with arguments; "" means lxc-info
	CGroup        string // "" means /sys/fs/cgroup
	CGroupCheck   string // "" means /sys/fs/cgroup/memory/docker
	SystemdCGroup string // parent of docker's scopes, if systemd names them

	Log *slog.Logger // nil discards
}

// ConfigFrom returns the configuration set by the environment variables of
// pmdaroot.
func ConfigFrom(getenv func(string) string) Config {
	return Config{
		HostRoot: hostroot.Of(getenv), Sockets: getenv("PCP_CONTAINER_SOCKETS_DIR"),
		PodmanData: getenv("PCP_PODMAN_DATADIR"), PodmanRun: getenv("PCP_PODMAN_RUNDIR"),
		Docker: getenv("PCP_DOCKER_DIR"), SystemdCGroup: getenv("PCP_SYSTEMD_CGROUP"),
		LXC: getenv("PCP_LXC_DIR"), LXCInfo: getenv("PCP_LXC_INFO"),
		CGroup: getenv("PCP_CGROUP_DIR"), CGroupCheck: getenv("PCP_CGROUP_CHECK_PATH"),
	}
}

// An Agent reports containers. Its methods for a collector are called one at a
// time; clients of its Server are answered at the same time.
type Agent struct {
	*pmda.Table
	log        *slog.Logger
	containers *containers

	// Results of the last Refresh.
	insts []pcp.Instance
	found []container
	errs  []error
}

// New returns an agent. It searches for containers once, since that may take a
// while the first time.
func New(cfg Config) (*Agent, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	domain := cmp.Or(cfg.Domain, Domain)
	a := &Agent{log: cfg.Log, containers: newContainers(cfg, pcp.NewInDom(domain, 0))}
	indom := &pmda.InDom{
		Serial:  0,
		OneLine: "Containers on this host",
		Help: "Containers of all engines, whether they run or not. The name of an instance\n" +
			"is what the engine knows the container by, which is not what users call it.",
		List:           func(context.Context) ([]pcp.Instance, error) { return a.insts, nil },
		Refresh:        a.refresh,
		InstanceLabels: func(_ int32, i int) string { return a.found[i].labels() },
	}
	table, err := pmda.NewTable(pmda.Config{
		Name: "root", Domain: domain, Labels: "{}",
		Metrics: a.metrics(indom),
		Refresh: func(ctx context.Context, _ []pcp.PMID) error { return a.refresh(ctx) },
		Log:     cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	a.Table = table
	return a, a.refresh(context.Background())
}

// Close ends requests to runtimes. The agent continues to report its last answers.
func (a *Agent) Close() error { return a.containers.sockets.close() }

func (a *Agent) refresh(ctx context.Context) error {
	a.insts, a.found, a.errs = a.containers.snapshot(ctx)
	return nil
}

// metrics are the rows of the table. Clients and archives rely on the PMIDs and
// types; do not change them.
func (a *Agent) metrics(indom *pmda.InDom) []pmda.Metric {
	row := func(item int, name string, typ pcp.Type, sem pcp.Sem, help string, value func(*container) (pcp.Value, error)) pmda.Metric {
		return pmda.Metric{
			Name: name, Cluster: 0, Item: item, Type: typ, InDom: indom, Sem: sem, OneLine: help,
			Value: func(_ int32, i int) (pcp.Value, error) {
				if a.errs[i] != nil {
					return pcp.Value{}, pcp.ErrInst // its engine does not know it any more
				}
				return value(&a.found[i])
			},
		}
	}
	text := func(s string) (pcp.Value, error) { return pcp.StringValue(s), nil }
	is := func(state state) func(*container) (pcp.Value, error) {
		return func(c *container) (pcp.Value, error) {
			if c.state == state {
				return pcp.Uint32Value(1), nil
			}
			return pcp.Uint32Value(0), nil
		}
	}
	return []pmda.Metric{
		row(0, "containers.engine", pcp.TypeString, pcp.SemDiscrete, "what runs each container: docker, podman, containerd, cri-o or lxc",
			func(c *container) (pcp.Value, error) { return text(c.engineName()) }),
		row(1, "containers.name", pcp.TypeString, pcp.SemInstant, "what users call each container",
			func(c *container) (pcp.Value, error) { return text(c.shownName()) }),
		row(2, "containers.pid", pcp.TypeU32, pcp.SemInstant, "number of the first process in each container",
			func(c *container) (pcp.Value, error) {
				if c.pid <= 0 {
					return pcp.Value{}, pmda.ErrNoValue
				}
				return pcp.Uint32Value(uint32(c.pid)), nil
			}),
		row(3, "containers.state.running", pcp.TypeU32, pcp.SemInstant, "1 for a container that runs, else 0", is(running)),
		row(4, "containers.state.paused", pcp.TypeU32, pcp.SemInstant, "1 for a container that is halted, else 0", is(paused)),
		row(5, "containers.state.restarting", pcp.TypeU32, pcp.SemInstant, "1 for a container that is being started, else 0", is(restarting)),
		row(6, "containers.cgroup", pcp.TypeString, pcp.SemDiscrete, "control group that each container's processes are in",
			func(c *container) (pcp.Value, error) {
				if c.pid <= 0 {
					return pcp.Value{}, pmda.ErrNoValue
				}
				return text(c.cgroup)
			}),
		// The C agent has no metric of clusters from 1000 on.
		{
			Name: "containers.image", Cluster: 1000, Item: 0, Type: pcp.TypeString, InDom: indom, Sem: pcp.SemDiscrete,
			OneLine: "image that each container was made of, as its engine names it",
			Value: func(_ int32, i int) (pcp.Value, error) {
				if s := a.found[i].shownImage(); s != "" {
					return text(s)
				}
				return pcp.Value{}, pmda.ErrNoValue
			},
		},
	}
}

// labels returns the labels of a container that a runtime lists as a JSON object, "" for another: those that its control group and
// its processes have.
func (c *container) labels() string {
	if c.listed == nil {
		return ""
	}
	l := labels.Of(c.listed)
	b, err := json.Marshal(l.Map(map[string]any{}))
	if err != nil {
		return ""
	}
	return string(b)
}

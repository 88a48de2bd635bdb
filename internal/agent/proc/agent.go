package proc

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
	"github.com/go-pcp/pcp/pmns"
)

// Domain is the domain of the agent (PROC in stdpmid).
const Domain = 3

// Config sets the files that an Agent reads. The zero Config reads those of this machine.
type Config struct {
	// Root is the directory of proc; "" means /.
	Root string
	// Live is set if Root is the root directory of the host, mounted in the container of this process, rather than a
	// copy of its files.
	Live bool
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// HZ is the number of the kernel's ticks in a second; 0 means 100.
	HZ int
	// PageSize is the size of a page in bytes; 0 means os.Getpagesize.
	PageSize int
	// Threads makes the agent list threads as well as processes, until a client
	// stores another value in proc.control.all.threads.
	Threads bool
	// CGroup is the path of a control group below Root, such as /sys/fs/cgroup/user.slice, whose
	// processes are listed until a client stores another in proc.control.perclient.cgroups;
	// "" means that all are.
	CGroup string
	// HotConfig are files that may have the predicate for hot processes; the first that
	// exists counts.
	HotConfig []string
	// AcctFile is the system's file of records of processes that have ended; "" if there is none.
	// OwnAcctFile is the file that the agent makes the kernel write if root stores 1 in
	// acct.control.enable_acct and the system has no accounting; "" disables that.
	AcctFile, OwnAcctFile string
	// AllAccess gives every client the values that the agent itself can read.
	AllAccess bool
	// Containers finds the processes of containers, for clients that look into one; nil for
	// no containers.
	Containers interface {
		ProcessID(container string) (int, error)
	}
	// Log gets a line about each file that exists and cannot be read; nil discards.
	Log *slog.Logger
}

// An Agent is the agent for processes. It implements pmda.Agent and pmda.Refresher,
// NameSpacer, DynamicNamer, Texter, Labeler, Storer, InstanceLooker, AttributeReceiver and ContextEnder.
type Agent struct {
	cfg       Config
	machine   *machine
	threads   bool // proc.control.all.threads
	clients   map[*pmda.Client]*settings
	views     []*view // the last used first
	hot       *hot
	acctClock uint64 // the reading at which records of accounting were read
	meta      *column.Agent
	names     pmda.TreeNamer // without a tree until a name is requested
}

// settings are the values stored by a client.
type settings struct {
	threads    bool
	hasThreads bool
	cgroup     string
}

// A machine is the state shared by all views of an agent.
type machine struct {
	root          string
	live          bool   // root is that of the host, seen from a container
	dir           string // /proc
	hz, page      uint64
	users, groups *names
	ttys          ttys
	clock         uint64 // counts refreshes
	open, maxOpen int    // files of processes that are kept open
	registers     map[int]*register
	files         map[string]column.File // that stay open
	acct          *accounting
	delays        *accountedDelays // nil without the kernel's own
	containers    *containers.Finder
}

// New returns an agent for the files that cfg names. It reads nothing yet.
func New(cfg Config) *Agent {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.CGroup != "" {
		cfg.CGroup = filepath.Clean("/" + cfg.CGroup)
	}
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	if cfg.HZ <= 0 {
		cfg.HZ = 100
	}
	if cfg.PageSize <= 0 {
		cfg.PageSize = os.Getpagesize()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	m := newMachine(&cfg)
	m.acct = newAccounting(&cfg)
	m.delays = newDelays(&cfg)
	a := &Agent{cfg: cfg, machine: m, threads: cfg.Threads, clients: make(map[*pmda.Client]*settings)}
	a.hot = newHot(&a.cfg)
	if err := a.hot.load(); err != nil {
		cfg.Log.Warn("no process is hot", "err", err)
	}
	a.meta = a.viewFor(viewKey{identity: identity{own: true}}).engine
	return a
}

// newMachine returns the machine whose files cfg names.
func newMachine(cfg *Config) *machine {
	m := &machine{root: cfg.Root, live: cfg.Live, dir: filepath.Join(cfg.Root, "proc"), hz: uint64(cfg.HZ), page: uint64(cfg.PageSize)}
	m.users = &names{path: filepath.Join(cfg.Root, "etc/passwd"), reading: &m.clock}
	m.groups = &names{path: filepath.Join(cfg.Root, "etc/group"), reading: &m.clock}
	m.ttys.root = cfg.Root
	m.containers = containers.New(cfg.Root, cfg.Log)
	if isProc(m.dir) {
		m.maxOpen = min(maxOpen, max(0, openLimit()-otherOpen)/openShare)
	}
	return m
}

// Desc implements pmda.Agent.
func (a *Agent) Desc(ctx context.Context, id pcp.PMID) (pcp.Desc, error) {
	if c := a.control(id); c != nil {
		return pcp.Desc{PMID: id, Type: c.kind, InDom: pcp.InDomNull, Sem: cmp.Or(c.sem, instant), Units: c.units}, nil
	}
	return a.meta.Desc(ctx, id)
}

// NameSpace implements pmda.NameSpacer.
func (a *Agent) NameSpace() *pmns.Tree {
	t := a.meta.NameSpace()
	for _, c := range slices.Concat(controls[:], acctControls[:]) {
		if err := t.Add(c.name, pcp.NewPMID(a.cfg.Domain, c.cluster, c.item)); err != nil {
			panic("proc: " + err.Error()) // the table is wrong
		}
	}
	return t
}

func (a *Agent) namer() pmda.TreeNamer {
	if a.names.Tree == nil {
		a.names.Tree = a.NameSpace()
	}
	return a.names
}

// LookupName implements pmda.DynamicNamer, for a collector with the name space of C, which
// leaves most names to the agent.
func (a *Agent) LookupName(ctx context.Context, name string) (pcp.PMID, error) {
	return a.namer().LookupName(ctx, name)
}

// Names implements pmda.DynamicNamer.
func (a *Agent) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	return a.namer().Names(ctx, id)
}

// Children implements pmda.DynamicNamer.
func (a *Agent) Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error) {
	return a.namer().Children(ctx, name, traverse)
}

// Origin implements pmda.Originator.
func (a *Agent) Origin(id pcp.PMID) string { return a.meta.Origin(id) }

// Text implements pmda.Texter.
func (a *Agent) Text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if kind&pcp.TextPMID != 0 {
		if c := a.control(pcp.PMID(ident)); c != nil {
			if kind&pcp.TextHelp != 0 && c.long != "" {
				return c.long, nil
			}
			return c.help, nil
		}
	}
	return a.meta.Text(ctx, ident, kind)
}

// Labels implements pmda.Labeler.
func (a *Agent) Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	if kind.Level() != pcp.LabelInstances {
		return a.meta.Labels(ctx, ident, kind)
	}
	client, _ := pmda.ClientFrom(ctx)
	v, err := a.viewOfInDom(client, pcp.InDom(ident))
	if err != nil {
		return nil, nil // there are no instances for this client
	}
	var sets []pcp.LabelSet
	err = v.do(func() (err error) {
		sets, err = v.engine.Labels(ctx, ident, kind)
		return err
	})
	return sets, err
}

// Instances implements pmda.Agent.
func (a *Agent) Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	client, _ := pmda.ClientFrom(ctx)
	v, err := a.viewOfInDom(client, indom)
	if err != nil {
		return nil, err
	}
	if indom.Serial() == acctSerial {
		a.refreshAcct(client)
	}
	if indom.Serial() == hotSerial {
		if err := a.hot.update(); err != nil {
			return nil, err
		}
	}
	var insts []pcp.Instance
	err = v.do(func() (err error) {
		insts, err = v.engine.Instances(ctx, indom)
		return err
	})
	return insts, err
}

// LookupInstance implements pmda.InstanceLooker: a number names a process, with or
// without leading zeros.
func (a *Agent) LookupInstance(ctx context.Context, indom pcp.InDom, name string) (int32, error) {
	insts, err := a.Instances(ctx, indom)
	if err != nil {
		return 0, err
	}
	if name != "" && strings.Trim(name, "0123456789") == "" {
		name = fmt.Sprintf("%06s", strings.TrimLeft(name, "0"))
	}
	for i := range insts {
		if name != "" && pcp.MatchInstance(insts[i].Name, name) {
			return insts[i].Inst, nil
		}
	}
	return 0, fmt.Errorf("proc: instance %q: %w", name, pcp.ErrInst)
}

// InstanceName implements pmda.InstanceLooker.
func (a *Agent) InstanceName(ctx context.Context, indom pcp.InDom, inst int32) (string, error) {
	insts, err := a.Instances(ctx, indom)
	if err != nil {
		return "", err
	}
	for i := range insts {
		if insts[i].Inst == inst {
			return insts[i].Name, nil
		}
	}
	return "", fmt.Errorf("proc: instance %d: %w", inst, pcp.ErrInst)
}

// Refresh implements pmda.Refresher. It does not know the clients yet, which may see
// different processes: the first Fetch of a view reads, and later ones copy.
func (a *Agent) Refresh(ctx context.Context, _ []pcp.PMID) error {
	a.machine.clock++
	for _, v := range a.views {
		if err := v.engine.Refresh(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// Fetch implements pmda.Agent.
func (a *Agent) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	if slices.ContainsFunc(req.PMIDs, isHot) {
		if err := a.hot.update(); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(req.PMIDs, isAcct) {
		a.refreshAcct(req.Client)
	}
	v, denied := a.viewOf(req.Client)
	if v == nil {
		return denied // of the container
	}
	if !slices.ContainsFunc(req.PMIDs, func(id pcp.PMID) bool { return a.control(id) != nil || denied != nil && !a.open(id) }) {
		return v.fetch(ctx, req)
	}
	for _, id := range req.PMIDs {
		if c := a.control(id); c != nil {
			req.Result.AddSet(id)
			req.Result.Add(c.value(a, req.Client))
			continue
		}
		if denied != nil && !a.open(id) {
			req.Result.AddError(id, pcp.ErrPermission)
			continue
		}
		one := *req
		one.PMIDs = []pcp.PMID{id}
		if err := v.fetch(ctx, &one); err != nil {
			return err
		}
	}
	return nil
}

// viewOfInDom returns a client's view of an instance domain.
func (a *Agent) viewOfInDom(client *pmda.Client, indom pcp.InDom) (*view, error) {
	v, err := a.viewOf(client)
	if v != nil && !ofProcesses(indom) {
		return v, nil
	}
	return v, err
}

// ofProcesses reports whether instances of a domain are processes.
func ofProcesses(indom pcp.InDom) bool {
	return indom != pcp.InDomNull && (indom.Serial() == serial || indom.Serial() == hotSerial || indom.Serial() == acctSerial)
}

// open reports whether all clients may have a metric: those that are not about single
// processes, and unknown ones.
func (a *Agent) open(id pcp.PMID) bool {
	desc, err := a.meta.Desc(context.Background(), id)
	return err != nil || !ofProcesses(desc.InDom)
}

// Attribute implements pmda.AttributeReceiver: with it the collector identifies a
// client.
func (a *Agent) Attribute(context.Context, *pmda.Client, pmda.AttrKey, string) error { return nil }

// EndContext implements pmda.ContextEnder. It closes the files that were kept open, as
// they may have been open for this client.
func (a *Agent) EndContext(client *pmda.Client) {
	delete(a.clients, client)
	for _, v := range a.views {
		v.close()
	}
	if a.machine.delays != nil {
		a.machine.delays.source.close()
	}
}

package mmv

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/processes"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// Domain is the agent's domain unless a configuration sets another (MMV).
const Domain = 70

// A Config sets the files that an agent serves. Zero fields mean the defaults.
type Config struct {
	// Dirs are the folders with the files; nil means DefaultDirs of Prefix.
	// Of two files of the same name that in the earlier folder counts.
	Dirs []string
	// HostRoot is the directory in which the root directory of the host is mounted in the container of this process, ""
	// for none. HostDirs are more folders, of the host and below HostRoot; the processes that their files name are those
	// of the host.
	HostRoot string
	HostDirs []string
	// Prefix is the first component of all names; "" means "mmv".
	Prefix string
	Domain int          // 0 means Domain
	Log    *slog.Logger // nil discards
}

// DefaultDirs returns the folder of the installation that the environment
// describes, prefix below PCP_TMP_DIR, and for "mmv" also the folder of the
// user's own programs.
func DefaultDirs(cfg *config.Config, prefix string) []string {
	dirs := []string{filepath.Join(cfg.Get("PCP_TMP_DIR"), prefix)}
	if own := mmv.UserDir(cfg); prefix == "mmv" && own != "" && own != dirs[0] {
		dirs = append(dirs, own)
	}
	return dirs
}

// An Agent is the agent.
type Agent struct {
	prefix string
	domain int
	log    *slog.Logger
	root   *pmns.Tree // the dynamic root alone

	dirs  []*dir
	files []*file // in the order of dirs and names, as in the C agent
	open  int     // descriptors that are kept
	// maxOpen leaves descriptors for other parts of this process; files beyond it
	// are opened each time.
	maxOpen int

	index     *index
	wanted    []*loaded // of the last Refresh
	now       int64     // in microseconds, when values were read
	clock     func() time.Time
	checked   time.Time
	checkCost time.Duration

	reload int32 // mmv.control.reload
	forced bool  // everything must be read again
	debug  int32 // mmv.control.debug

	built                       bool
	namesChanged, labelsChanged bool
}

// New returns an agent. Missing folders may appear later.
func New(cfg Config) (*Agent, error) {
	a := &Agent{
		prefix: cmp.Or(cfg.Prefix, "mmv"),
		domain: cmp.Or(cfg.Domain, Domain),
		log:    cfg.Log,
		root:   pmns.New(),
		clock:  time.Now,
	}
	if a.domain < 1 || a.domain > pcp.MaxAgentDomain {
		return nil, fmt.Errorf("agent mmv: domain %d is not in 1..%d", a.domain, pcp.MaxAgentDomain)
	}
	if err := a.root.Add(a.prefix, pcp.DynamicRoot(a.domain)); err != nil {
		return nil, fmt.Errorf("agent mmv: prefix: %w", err)
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	paths := cfg.Dirs
	if paths == nil {
		paths = DefaultDirs(config.Process(), a.prefix)
	}
	for _, path := range paths {
		a.dirs = append(a.dirs, &dir{path: path, alive: processes.Exists, files: map[string]*file{}})
	}
	for _, path := range cfg.HostDirs {
		a.dirs = append(a.dirs, &dir{path: filepath.Join(cfg.HostRoot, path), files: map[string]*file{}, alive: func(pid int) bool {
			return procfs.Exists(filepath.Join(cfg.HostRoot, "proc", strconv.Itoa(pid)))
		}})
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil {
		a.maxOpen = int(min(limit.Cur/4, 4096))
	}
	a.build()
	return a, nil
}

// Close closes the files. The agent must not be used afterwards.
func (a *Agent) Close() error {
	for _, f := range a.files {
		a.drop(f)
	}
	a.files = nil
	return nil
}

// NameSpace implements [pmda.NameSpacer]: one dynamic root.
func (a *Agent) NameSpace() *pmns.Tree { return a.root }

// Desc implements [pmda.Agent].
func (a *Agent) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	a.check(false)
	if id.Cluster() == 0 {
		if c := controlOf(id); c != nil {
			return c.desc(id), nil
		}
		return pcp.Desc{}, pcp.ErrPMID
	}
	if m := a.index.metrics[id]; m != nil {
		return m.desc, nil
	}
	return pcp.Desc{}, pcp.ErrPMID
}

// Instances implements [pmda.Agent].
func (a *Agent) Instances(_ context.Context, id pcp.InDom) ([]pcp.Instance, error) {
	a.check(false)
	if d := a.index.indoms[id]; d != nil {
		return d.list(), nil
	}
	return nil, pcp.ErrInDom
}

// LookupInstance implements [pmda.InstanceLooker].
func (a *Agent) LookupInstance(_ context.Context, id pcp.InDom, name string) (int32, error) {
	a.check(false)
	d := a.index.indoms[id]
	if d == nil {
		return 0, pcp.ErrInDom
	}
	for _, in := range d.list() {
		if pcp.MatchInstance(in.Name, name) {
			return in.Inst, nil
		}
	}
	return 0, pcp.ErrInst
}

// InstanceName implements [pmda.InstanceLooker].
func (a *Agent) InstanceName(_ context.Context, id pcp.InDom, inst int32) (string, error) {
	a.check(false)
	d := a.index.indoms[id]
	if d == nil {
		return "", pcp.ErrInDom
	}
	if i, ok := d.position(inst); ok {
		return d.list()[i].Name, nil
	}
	return "", pcp.ErrInst
}

// LookupName implements [pmda.DynamicNamer].
func (a *Agent) LookupName(ctx context.Context, name string) (pcp.PMID, error) {
	a.check(false)
	return a.namer().LookupName(ctx, name)
}

// Names implements [pmda.DynamicNamer].
func (a *Agent) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	a.check(false)
	return a.namer().Names(ctx, id)
}

// Children implements [pmda.DynamicNamer].
func (a *Agent) Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error) {
	a.check(false)
	return a.namer().Children(ctx, name, traverse)
}

func (a *Agent) namer() pmda.TreeNamer { return pmda.TreeNamer{Tree: a.index.tree} }

// Changes implements [pmda.Changer].
func (a *Agent) Changes() (names, labels bool) {
	names, labels = a.namesChanged, a.labelsChanged
	a.namesChanged, a.labelsChanged = false, false
	return names, labels
}

var (
	_ pmda.Agent          = (*Agent)(nil)
	_ pmda.Refresher      = (*Agent)(nil)
	_ pmda.NameSpacer     = (*Agent)(nil)
	_ pmda.DynamicNamer   = (*Agent)(nil)
	_ pmda.Storer         = (*Agent)(nil)
	_ pmda.Texter         = (*Agent)(nil)
	_ pmda.Labeler        = (*Agent)(nil)
	_ pmda.InstanceLooker = (*Agent)(nil)
	_ pmda.Changer        = (*Agent)(nil)
)

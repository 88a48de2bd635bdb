package openmetrics

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/openmetrics"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/cache"
	"github.com/go-pcp/pcp/pmns"
)

// Domain is the agent's domain unless a configuration has another (OPENMETRICS).
const Domain = 144

// A Config is the configuration of an agent. Zero fields mean the defaults.
type Config struct {
	// Dirs are the folders with files of sources; nil means DefaultDirs of Root. Of two files of the same name the one
	// in the earlier folder counts.
	Dirs []string
	// State is the folder with the files of numbers; "" means that of the installation, and "-" that
	// numbers are not kept.
	State  string
	Root   string // the first component of all names; "" means "openmetrics"
	Domain int    // 0 means Domain
	// Timeout is how long a source may take to begin with its answer, and pause in it; all of it may take twice that.
	// 0 means DefaultTimeout.
	Timeout  time.Duration
	Unsorted bool // number new sources in the order in which the file system lists them
	Debug    bool // log each reading of a source
	// Wait has New wait until all sources have been read once.
	Wait bool
	// Limits limit the data of one source; zero fields mean 64 MB, and lines of 1 MB.
	Limits openmetrics.Limits
	// Memory limits the memory for all sources together, in bytes, approximately; 0 means DefaultMemory. A source that would take
	// more is read in part, unless it has less than its share.
	Memory int64
	// Workers is how many sources are read at the same time, and as many again that were late
	// before; 0 means DefaultWorkers.
	Workers   int
	Getenv    func(string) string    // for scripts of other users; nil means that of config.Process
	HostName  func() (string, error) // name of the host, for labels; nil means os.Hostname
	UserAgent string                 // "" means that of this software without a version
	Log       *slog.Logger           // nil discards
}

// Defaults of Config.
const (
	DefaultTimeout = 2 * time.Second
	DefaultWorkers = 64
	defaultBytes   = 64 << 20
)

// DefaultDirs returns the folder of the installation that the environment describes, config.d in $PCP_PMDAS_DIR/root, and the
// user's own, root in $XDG_CONFIG_HOME/pcp or ~/.config/pcp.
func DefaultDirs(cfg *config.Config, root string) []string {
	dirs := []string{InstalledDir(cfg, root)}
	home := cfg.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(home) {
		if home = cfg.Getenv("HOME"); !filepath.IsAbs(home) {
			return dirs
		}
		home = filepath.Join(home, ".config")
	}
	return append(dirs, filepath.Join(home, "pcp", root))
}

// InstalledDir returns the folder of the installation.
func InstalledDir(cfg *config.Config, root string) string {
	return filepath.Join(cfg.Get("PCP_PMDAS_DIR"), root, "config.d")
}

// An Agent is the agent.
type Agent struct {
	root       string
	domain     int
	log        *slog.Logger
	state      string
	timeout    time.Duration
	sorted     bool
	limits     openmetrics.Limits
	budget     budget
	client     *http.Client
	userAgent  string
	hostName   func() (string, error) // nil for os.Hostname
	getenv     func(string) string
	sourceName *regexp.Regexp
	dynamic    *pmns.Tree // the dynamic root alone

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	lanes   [2]chan struct{} // of sources, and of those that were late before

	debug        atomic.Uint32
	namesChanged atomic.Bool
	warned       atomic.Bool // that names are not kept

	mu        sync.Mutex // before that of a source
	closed    bool
	folders   []*folder
	clusters  *numbering
	byName    map[string]*source
	byCluster map[int]*source
	ordered   []*source
	retired   map[string]*source
	tree      *pmns.Tree // nil if it must be made

	totalMu sync.Mutex
	totals  stats

	saveMu sync.Mutex
	unkept map[*source]bool // with names that are not in files yet
	saving bool

	newMu sync.Mutex // after that of a source
	fresh []named    // metrics that are not in tree yet
}

type named struct {
	s *source
	m *metric
}

// maxClusters is how many numbers for sources there are in a PMID. 0 is that of the control metrics.
const maxClusters = 1 << 12

// New returns an agent. Folders that are not there may appear later.
func New(cfg Config) (*Agent, error) {
	a := &Agent{
		root:       cmp.Or(cfg.Root, "openmetrics"),
		domain:     cmp.Or(cfg.Domain, Domain),
		log:        cfg.Log,
		state:      cfg.State,
		timeout:    cmp.Or(cfg.Timeout, DefaultTimeout),
		sorted:     !cfg.Unsorted,
		limits:     cfg.Limits,
		userAgent:  cmp.Or(cfg.UserAgent, "go-pcp"),
		hostName:   cfg.HostName,
		sourceName: sourceName(),
		dynamic:    pmns.New(),
		byName:     make(map[string]*source),
		byCluster:  make(map[int]*source),
		retired:    make(map[string]*source),
		unkept:     make(map[*source]bool),
		totals:     stats{status: "none"},
	}
	if a.domain < 1 || a.domain > pcp.MaxAgentDomain {
		return nil, fmt.Errorf("agent openmetrics: domain %d is not in 1..%d", a.domain, pcp.MaxAgentDomain)
	}
	if err := a.dynamic.Add(a.root, pcp.DynamicRoot(a.domain)); err != nil {
		return nil, fmt.Errorf("agent openmetrics: root: %w", err)
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.budget.limit = cmp.Or(cfg.Memory, DefaultMemory)
	a.limits.Bytes = cmp.Or(a.limits.Bytes, defaultBytes)
	if a.getenv = cfg.Getenv; a.getenv == nil {
		a.getenv = config.Process().Getenv
	}
	if cfg.Debug {
		a.debug.Store(1)
	}
	dirs := cfg.Dirs
	if dirs == nil {
		dirs = DefaultDirs(config.Process(), a.root)
	}
	for _, dir := range dirs {
		a.folders = append(a.folders, &folder{path: filepath.Clean(dir)})
	}
	switch a.state {
	case "":
		a.state = cache.DefaultDir(config.Process())
	case "-":
		a.state = ""
	}
	var err error
	if a.clusters, err = openNumbering(a.namesPath(0)); err != nil {
		a.log.Warn("numbers of sources of before are not known", "err", err)
	}
	if n, _ := a.clusters.add("control", maxClusters); n != 0 {
		a.log.Warn("numbers of sources of before are ignored, control is not the first of them", "file", a.clusters.path)
		a.clusters = &numbering{path: a.clusters.path, index: make(map[string]int32)}
		a.clusters.add("control", maxClusters)
	}
	a.clusters.changed = false // "control" alone is not worth a file
	workers := cmp.Or(cfg.Workers, DefaultWorkers)
	for i := range a.lanes {
		a.lanes[i] = make(chan struct{}, workers)
	}
	a.client = newClient(workers)
	a.ctx, a.cancel = context.WithCancel(context.Background())
	if cfg.Wait { // scripts look for these lines, which are those of the agent in Python
		a.log.Info("Initializing ... currently in notready state.")
		a.wait(context.Background(), a.check(), 10*a.timeout)
		a.log.Info("Ready to process requests")
	}
	return a, nil
}

// Close ends all that the agent has started.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	a.running.Wait()
	a.client.CloseIdleConnections()
	return nil
}

// namesPath returns the path of a file of numbers.
func (a *Agent) namesPath(serial int) string {
	if a.state == "" {
		return ""
	}
	return filepath.Join(a.state, strconv.Itoa(a.domain)+"."+strconv.Itoa(serial)+".py")
}

// keep has the new names of a source written to files. That is done beside the work, as it waits for the disk.
func (a *Agent) keep(s *source) {
	a.saveMu.Lock()
	defer a.saveMu.Unlock()
	a.unkept[s] = true
	if !a.saving {
		a.saving = true
		a.running.Go(a.save)
	}
}

// save writes files until there is nothing to write.
func (a *Agent) save() {
	for {
		a.saveMu.Lock()
		var next *source
		for next = range a.unkept {
			break
		}
		delete(a.unkept, next)
		if next == nil {
			a.saving = false
			a.saveMu.Unlock()
			return
		}
		a.saveMu.Unlock()
		var failed error
		for _, r := range next.changedNames() {
			err := r.write()
			a.warnUnkept(err)
			failed = cmp.Or(failed, err)
		}
		if failed == nil && a.state != "" {
			a.drop(next)
		}
	}
}

// warnUnkept logs the first error of files of names.
func (a *Agent) warnUnkept(err error) {
	if err != nil && !a.warned.Swap(true) {
		a.log.Warn("numbers of metrics and instances are not kept", "err", err)
	}
}

// total changes what the control metrics have of all sources.
func (a *Agent) total(change func(*stats)) {
	a.totalMu.Lock()
	defer a.totalMu.Unlock()
	change(&a.totals)
}

// start begins to read a source unless it is being read, and returns a channel that is closed at the
// end of the reading. Called with a.mu held.
func (a *Agent) start(s *source) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil || a.closed {
		return s.run
	}
	done := make(chan struct{})
	s.run, s.tried = done, time.Now()
	lane := a.lanes[0]
	if s.slow {
		lane = a.lanes[1]
	}
	a.running.Go(func() {
		defer func() {
			a.ended(s)
			select {
			case <-s.first:
			default:
				close(s.first)
			}
			close(done)
		}()
		select {
		case lane <- struct{}{}:
			defer func() { <-lane }()
			s.read(a.ctx)
		case <-a.ctx.Done():
		}
	})
	return done
}

// ended notes that a source is not being read any more.
func (a *Agent) ended(s *source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = nil
	if s.gone {
		s.release()
		a.keep(s)
	}
}

// wait waits until sources have been read once, or for a time.
func (a *Agent) wait(ctx context.Context, unread []*source, limit time.Duration) {
	if len(unread) == 0 {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, s := range unread {
		select {
		case <-s.first:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// firstWait is how long a request for names waits for new sources. What answers later has names at the next one.
const firstWait = time.Second

// look is called before requests that are not fetches: they must see the metrics of new sources.
func (a *Agent) look(ctx context.Context) {
	unread := a.check()
	now := time.Now()
	wait := time.Duration(0)
	for _, s := range unread {
		wait = max(wait, firstWait-now.Sub(s.found))
	}
	if wait > 0 {
		a.wait(ctx, unread, wait)
	}
}

// Prepare implements [pmda.Preparer]: it reads the sources of the metrics. Fetches that come
// while a source is being read share the reading.
func (a *Agent) Prepare(ctx context.Context, ids []pcp.PMID) {
	a.check()
	var wanted [maxClusters / 64]uint64
	for _, id := range ids {
		if c := id.Cluster(); c > 0 && c < maxClusters && id.Domain() == a.domain {
			wanted[c/64] |= 1 << (c % 64)
		}
	}
	var runs []<-chan struct{}
	a.mu.Lock()
	for i, word := range wanted {
		for c := i * 64; word != 0; c, word = c+1, word>>1 {
			if s := a.byCluster[c]; word&1 != 0 && s != nil {
				if run := a.start(s); run != nil {
					runs = append(runs, run)
				}
			}
		}
	}
	a.mu.Unlock()
	for _, run := range runs {
		select {
		case <-run:
		case <-ctx.Done():
			return
		}
	}
}

// source returns the source of a metric, nil if there is none.
func (a *Agent) source(cluster int) *source {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byCluster[cluster]
}

// Desc implements [pmda.Agent].
func (a *Agent) Desc(ctx context.Context, id pcp.PMID) (pcp.Desc, error) {
	a.look(ctx)
	if id.Cluster() == 0 {
		if c := controlOf(id.Item()); c != nil {
			return c.desc(id, a.domain), nil
		}
		return pcp.Desc{}, pcp.ErrPMID
	}
	s := a.source(id.Cluster())
	if s == nil {
		return pcp.Desc{}, pcp.ErrPMID
	}
	a.names() // knows which metrics are hidden
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.byItem[int32(id.Item())]; m != nil && !m.hidden {
		return m.desc, nil
	}
	return pcp.Desc{}, pcp.ErrPMID
}

// numbers calls with the names of an instance domain while these do not change. It returns pcp.ErrInDom if there
// is none.
func (a *Agent) numbers(indom pcp.InDom, with func(*numbering)) error {
	serial := indom.Serial()
	if serial == 0 {
		a.mu.Lock()
		defer a.mu.Unlock()
		with(a.clusters)
		return nil
	}
	cluster, item := serial, -1
	if serial >= firstSerial {
		cluster, item = (serial-firstSerial)>>10, (serial-firstSerial)&(maxMetrics-1)
	}
	s := a.source(cluster)
	if s == nil {
		return pcp.ErrInDom
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if item < 0 {
		with(s.items)
		return nil
	}
	m := s.byItem[int32(item)]
	if m == nil || m.insts == nil {
		return pcp.ErrInDom
	}
	with(m.insts)
	return nil
}

// Instances implements [pmda.Agent].
func (a *Agent) Instances(ctx context.Context, indom pcp.InDom) (list []pcp.Instance, err error) {
	a.look(ctx)
	err = a.numbers(indom, func(n *numbering) { list = n.instances() })
	return list, err
}

// LookupInstance implements [pmda.InstanceLooker].
func (a *Agent) LookupInstance(ctx context.Context, indom pcp.InDom, name string) (inst int32, err error) {
	a.look(ctx)
	inst = -1
	err = a.numbers(indom, func(n *numbering) {
		for _, in := range n.instances() {
			if pcp.MatchInstance(in.Name, name) {
				inst = in.Inst
				return
			}
		}
	})
	if err == nil && inst < 0 {
		err = pcp.ErrInst
	}
	return inst, err
}

// InstanceName implements [pmda.InstanceLooker].
func (a *Agent) InstanceName(ctx context.Context, indom pcp.InDom, inst int32) (name string, err error) {
	a.look(ctx)
	known := false
	err = a.numbers(indom, func(n *numbering) {
		if known = inst >= 0 && int(inst) < len(n.names); known {
			name = n.full(int(inst), n.names[inst])
		}
	})
	if err == nil && !known {
		err = pcp.ErrInst
	}
	return name, err
}

// Fetch implements [pmda.Agent].
func (a *Agent) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	for _, id := range req.PMIDs {
		if id.Cluster() == 0 {
			a.fetchControl(id, req)
		} else if s := a.source(id.Cluster()); s != nil {
			s.fetch(id, req.Profile, req.Result)
		} else {
			req.Result.AddError(id, pcp.ErrPMID)
		}
	}
	return nil
}

// announce adds the name of a metric. Called with the lock of its source.
func (a *Agent) announce(s *source, m *metric) {
	a.newMu.Lock()
	a.fresh = append(a.fresh, named{s, m})
	a.newMu.Unlock()
	a.namesChanged.Store(true)
}

// names returns the tree of names. It changes at the next call.
func (a *Agent) names() pmda.TreeNamer {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.newMu.Lock()
	fresh := a.fresh
	a.fresh = nil
	a.newMu.Unlock()
	if a.tree == nil {
		a.tree = pmns.New()
		for i := range controls() {
			c := &controls()[i]
			a.tree.Add(a.root+".control."+c.name, pcp.NewPMID(a.domain, 0, c.item))
		}
		fresh = fresh[:0]
		for _, s := range a.ordered {
			s.mu.Lock()
			for _, m := range s.metrics {
				m.hidden = false
				fresh = append(fresh, named{s, m})
			}
			s.mu.Unlock()
		}
		sortNamed(fresh)
	}
	for _, n := range fresh {
		if a.byCluster[n.s.cluster] != n.s {
			continue
		}
		name := a.root + "." + n.s.name + "." + n.m.pcpName
		if id, err := a.tree.Lookup(name); err == nil && id == n.m.desc.PMID {
			continue
		}
		if err := a.tree.Add(name, n.m.desc.PMID); err != nil {
			a.log.Warn("metric has no name", "source", n.s.name, "metric", n.m.name, "err", err)
			n.s.mu.Lock()
			n.m.hidden = true
			n.s.mu.Unlock()
		}
	}
	return pmda.TreeNamer{Tree: a.tree}
}

// NameSpace implements [pmda.NameSpacer]: one dynamic root.
func (a *Agent) NameSpace() *pmns.Tree { return a.dynamic }

// LookupName implements [pmda.DynamicNamer].
func (a *Agent) LookupName(ctx context.Context, name string) (pcp.PMID, error) {
	a.look(ctx)
	return a.names().LookupName(ctx, name)
}

// Names implements [pmda.DynamicNamer].
func (a *Agent) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	a.look(ctx)
	return a.names().Names(ctx, id)
}

// Children implements [pmda.DynamicNamer].
func (a *Agent) Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error) {
	a.look(ctx)
	return a.names().Children(ctx, name, traverse)
}

// Changes implements [pmda.Changer].
func (a *Agent) Changes() (names, labels bool) { return a.namesChanged.Swap(false), false }

// Doing implements [pmda.Narrator].
func (a *Agent) Doing() string {
	if !a.mu.TryLock() {
		return ""
	}
	defer a.mu.Unlock()
	var busy []string
	for _, s := range a.ordered {
		if s.mu.TryLock() {
			if s.run != nil {
				busy = append(busy, s.name)
			}
			s.mu.Unlock()
		}
	}
	if len(busy) == 0 {
		return ""
	}
	return "reading " + strings.Join(busy[:min(len(busy), 5)], ", ")
}

var (
	_ pmda.Agent          = (*Agent)(nil)
	_ pmda.Preparer       = (*Agent)(nil)
	_ pmda.NameSpacer     = (*Agent)(nil)
	_ pmda.DynamicNamer   = (*Agent)(nil)
	_ pmda.Storer         = (*Agent)(nil)
	_ pmda.Texter         = (*Agent)(nil)
	_ pmda.Labeler        = (*Agent)(nil)
	_ pmda.InstanceLooker = (*Agent)(nil)
	_ pmda.Changer        = (*Agent)(nil)
	_ pmda.Narrator       = (*Agent)(nil)
)

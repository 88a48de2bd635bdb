package kvm

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
	"github.com/go-pcp/pcp/pmns"
)

// Domain is the domain of the agent (KVM in stdpmid).
const Domain = 95

// The default directories of the kernel's files.
const (
	DefaultDebug    = "/sys/kernel/debug"
	DefaultTracing  = "/sys/kernel/debug/tracing"
	DefaultLockdown = "/sys/kernel/security/lockdown"
)

// Config sets the files that an Agent reads. The zero Config reads those of this machine,
// without trace points.
type Config struct {
	Debug    string   // where debugfs is mounted, with the directory kvm; "" means DefaultDebug
	Tracing  string   // where tracefs is mounted; "" means DefaultTracing
	Lockdown string   // the file with the lockdown state of the kernel; "" means DefaultLockdown
	CPUs     int      // number of processors, online or not; 0 means to count them
	Trace    []string // trace points to count, in the order of their PMIDs; at most MaxTrace
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Log gets a line about events that cannot be counted; nil discards them.
	Log *slog.Logger
}

// MaxTrace is the maximum number of trace points with a PMID.
const MaxTrace = 1023

// An Agent is the agent for KVM. It implements the interfaces of a [column.Agent], and
// pmda.DynamicNamer. Close closes the performance events.
type Agent struct {
	*column.Agent
	cfg    Config
	tracer *tracer
	locked bool
	names  pmda.TreeNamer // without a tree until a name is requested
}

// New returns an agent for the files that cfg names. It only reads the lockdown state of
// the kernel.
func New(cfg Config) *Agent {
	if cfg.Debug == "" {
		cfg.Debug = DefaultDebug
	}
	if cfg.Tracing == "" {
		cfg.Tracing = DefaultTracing
	}
	if cfg.Lockdown == "" {
		cfg.Lockdown = DefaultLockdown
	}
	if cfg.CPUs <= 0 {
		cfg.CPUs = processors("/")
	}
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if len(cfg.Trace) > MaxTrace {
		cfg.Log.Warn("too many trace points", "first left out", cfg.Trace[MaxTrace], "most", MaxTrace)
		cfg.Trace = cfg.Trace[:MaxTrace]
	}
	a := &Agent{cfg: cfg, locked: lockedDown(cfg.Lockdown), tracer: newTracer(&cfg)}
	if a.locked {
		a.tracer.ready = true                                                  // without events
		cfg.Log.Info("disabling KVM metrics: kernel running in lockdown mode") // the words of the C agent
	}
	var err error
	a.Agent, err = column.New(column.Config{Name: "kvm", Domain: cfg.Domain, Log: cfg.Log}, a.tracer.family(&cfg), debugFamily(&cfg))
	if err != nil {
		panic(err) // the tables are wrong
	}
	return a
}

// lockedDown reports whether the kernel is locked down: the file has the state in force in
// brackets.
func lockedDown(path string) bool {
	b, err := procfs.ReadOnce(path)
	if err != nil {
		return false
	}
	for l := range strings.Lines(string(b)) {
		_, state, _ := strings.Cut(ctext.String(l), "[")
		if strings.HasPrefix(state, "integrity]") || strings.HasPrefix(state, "confidentiality]") {
			return true
		}
	}
	return false
}

// processors counts the processors of the host whose files are below root, online or not.
func processors(root string) int {
	n := 0
	for _, name := range procfs.Names(filepath.Join(root, "sys/devices/system/cpu")) {
		if number, ok := strings.CutPrefix(name, "cpu"); ok && number != "" && strings.Trim(number, "0123456789") == "" {
			n++
		}
	}
	if n == 0 {
		return runtime.NumCPU()
	}
	return n
}

// Close closes the performance events.
func (a *Agent) Close() error {
	a.tracer.close()
	return nil
}

func (a *Agent) namer() pmda.TreeNamer {
	if a.names.Tree == nil {
		a.names.Tree = a.NameSpace()
	}
	return a.names
}

// LookupName implements pmda.DynamicNamer, for a collector with the name space of C, which
// leaves the names of trace points to the agent.
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

// Text implements pmda.Texter.
func (a *Agent) Text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	text, err := a.Agent.Text(ctx, ident, kind)
	id := pcp.PMID(ident)
	if err == nil && kind&pcp.TextPMID != 0 && kind&pcp.TextHelp != 0 && id.Cluster() == clusterTrace && id.Item() > 0 {
		text += "\nThe trace point is this one:\n" + filepath.Join(a.cfg.Tracing, "events/kvm", a.cfg.Trace[id.Item()-1])
	}
	return text, err
}

// Refresh implements pmda.Refresher.
func (a *Agent) Refresh(ctx context.Context, ids []pcp.PMID) error {
	if a.locked {
		return nil
	}
	return a.Agent.Refresh(ctx, ids)
}

// Fetch implements pmda.Agent.
func (a *Agent) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	if !a.locked {
		return a.Agent.Fetch(ctx, req)
	}
	for _, id := range req.PMIDs {
		desc, err := a.Desc(ctx, id)
		switch {
		case err != nil:
			req.Result.AddError(id, pcp.ErrPMID)
		case desc.InDom != pcp.InDomNull:
			req.Result.AddSet(id) // no processor has one
		default:
			req.Result.AddError(id, pcp.ErrPermission)
		}
	}
	return nil
}

// debugFamily reads the counters of KVM. Each number has a file, and each file is a source, so
// that only the wanted files are read.
func debugFamily(cfg *Config) column.Family {
	f := column.Family{Name: "debug", Metrics: debugMetrics()}
	layouts := make([]column.Layout, len(f.Metrics))
	blocks := column.NewBlocks(f.Metrics, layouts...)
	files := &procfs.Buffer{Max: maxFile}
	for i, b := range blocks {
		path := filepath.Join(cfg.Debug, "kvm", debugCounters[i].name)
		b.Zero()
		f.Sources = append(f.Sources, &column.Source{Name: path, Blocks: blocks[i : i+1], Read: func() error {
			// A value that cannot be read stays unchanged.
			if text, err := files.Read(path, true); err == nil && len(text) > 0 {
				b.Set(0, 0, number(text))
			}
			return nil
		}})
	}
	return f
}

// maxFile is the number of bytes read of a file with one number.
const maxFile = 64 << 10

package pmimport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/importrun"
	"github.com/go-pcp/pcp/internal/processes"
	"github.com/go-pcp/pcp/internal/timezone"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/cache"
)

// Domain is the domain of the agent (PMIMPORT).
const Domain = 43

// A Config configures an agent.
type Config struct {
	Dir    string // of the files of programs
	Domain int    // 0 means Domain
	// Cache is the directory of the file with the numbers of programs; "" means that they are not kept.
	Cache string
	// Exists reports whether a process exists; nil means processes of this host.
	Exists func(pid int) bool
	// HostName returns the name of the host; nil means os.Hostname.
	HostName func() (string, error)
	Log      *slog.Logger // nil discards
}

// An Agent lists the programs. It is for one goroutine.
type Agent struct {
	*pmda.Table
	cfg     Config
	tools   *cache.Cache[importrun.Status]
	problem string // last in the log
}

// New returns an agent. It reads no files of programs yet.
func New(cfg Config) (*Agent, error) {
	cfg.Domain = cmp.Or(cfg.Domain, Domain)
	if cfg.Exists == nil {
		cfg.Exists = processes.Exists
	}
	if cfg.HostName == nil {
		cfg.HostName = os.Hostname
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{cfg: cfg, tools: cache.New[importrun.Status](pcp.NewInDom(cfg.Domain, 0), &cache.Options{Dir: cfg.Cache, Log: cfg.Log})}
	if cfg.Cache != "" {
		if _, err := a.tools.Load(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			cfg.Log.Debug("numbers of programs are not known", "err", err)
		}
	}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{
		Name: "pmimport", Domain: cfg.Domain, Metrics: a.metrics(), Log: cfg.Log,
		Refresh: func(context.Context, []pcp.PMID) error { return a.refresh() },
	})
	return a, err
}

// refresh lists the programs. Problems with single files are logged when they change.
func (a *Agent) refresh() error {
	list, err := importrun.List(a.cfg.Dir, a.cfg.Exists)
	err = errors.Join(err, a.tools.Replace(func(yield func(string, importrun.Status) bool) {
		for _, t := range list {
			if !yield(t.Name, t.Status) {
				return
			}
		}
	}))
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if problem != a.problem && err != nil {
		a.cfg.Log.Warn("files of import programs are ignored", "dir", a.cfg.Dir, "err", err)
	}
	a.problem = problem
	if a.cfg.Cache != "" {
		if _, err := a.tools.Save(); err != nil {
			a.cfg.Log.Debug("numbers of programs are not kept", "err", err)
		}
	}
	return nil
}

func (a *Agent) metrics() []pmda.Metric {
	indom := &pmda.InDom{
		Serial: 0, List: a.tools.List, Refresh: func(context.Context) error { return a.refresh() },
		OneLine: "Programs that write archives of imported data",
		Help: fmt.Sprintf("Programs with a file in PCP_IMPORTRUN_DIR, and its name, at most %d. A file with\n"+
			"the number of a process that has ended does not count.", importrun.MaxTools),
	}
	ofTool := func(item int, name, oneline, help string, field func(importrun.Status) string) pmda.Metric {
		return pmda.Metric{
			Name: "pmimport." + name, Cluster: 0, Item: item, Type: pcp.TypeString, Sem: pcp.SemDiscrete, InDom: indom, OneLine: oneline, Help: help,
			Value: a.tools.Value(func(s importrun.Status) (pcp.Value, error) { return pcp.StringValue(field(s)), nil }),
		}
	}
	ofHost := func(item int, name, oneline, help string, value func() (string, error)) pmda.Metric {
		return pmda.Metric{
			Name: "pmimport." + name, Cluster: 1, Item: item, Type: pcp.TypeString, Sem: pcp.SemDiscrete, OneLine: oneline, Help: help,
			Value: func(int32, int) (pcp.Value, error) {
				text, err := value()
				return pcp.StringValue(text), err
			},
		}
	}
	return []pmda.Metric{
		ofTool(0, "archive", "Archive that each program writes", "The path without the ending of a volume, \"\" if the program does not report it.",
			func(s importrun.Status) string { return s.Archive }),
		ofTool(1, "version", "Version of each program", "\"\" if the program does not report it.",
			func(s importrun.Status) string { return s.Version }),
		ofTool(2, "args", "Sources of the data of each program", "For pcp import the names of the files, for sadc the activities.",
			func(s importrun.Status) string { return s.Args }),
		ofHost(0, "hostname", "Name of this host", "The name that programs write into the labels of their archives.", a.cfg.HostName),
		ofHost(1, "timezone", "Time zone of this host, in the form of TZ", "As pmcd.timezone.",
			func() (string, error) { return timezone.Local(timezone.MaxLen), nil }),
		ofHost(2, "zoneinfo", "Name of the time zone of this host", "As pmcd.zoneinfo: a colon and a file of the zone database, \"\" if it is not\nknown.",
			func() (string, error) { return timezone.File(), nil }),
	}
}

// Simple is the agent of the guide's second chapter: single values and instances, an instance
// domain that a file chooses, values that can be stored, help and labels.
//
//	simple 253 pipe binary /path/to/simple -d 253
//	simple 253:*:*
package main

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
)

func main() {
	path := filepath.Join(config.Process().Get("PCP_PMDAS_DIR"), "simple", "simple.conf")
	d := &pmda.Daemon{
		Name: "pmdasimple", Domain: 253,
		Own: []pmda.Option{{Short: 'c', Long: "config", Arg: "FILE", Help: "read the instances of simple.now from FILE"}},
		Set: func(_ *pmda.Option, arg string) error { path = arg; return nil },
		New: func(domain int, log *slog.Logger) (pmda.Agent, error) { return newAgent(domain, path, log) },
	}
	d.Main()
}

// An agent answers one request at a time, so that its fields need no lock.
type agent struct {
	*pmda.Table
	path      string
	fetches   uint32
	color     [3]int32
	now       time.Time
	parts     []pcp.Instance // of simple.now
	user, sys time.Duration
}

func newAgent(domain int, path string, log *slog.Logger) (pmda.Agent, error) {
	a := &agent{path: path, color: [3]int32{0, 100, 200}}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{
		Name: "simple", Domain: domain, Log: log, Labels: `{"role":"testing"}`, Metrics: a.metrics(),
	})
	return a, err
}

// metrics returns the table. The numbers are part of archives: they never change.
func (a *agent) metrics() []pmda.Metric {
	colors := &pmda.InDom{
		Serial: 0, Instances: []pcp.Instance{{Inst: 0, Name: "red"}, {Inst: 1, Name: "green"}, {Inst: 2, Name: "blue"}},
		OneLine: "three colors", Labels: `{"indom_name":"color","model":"RGB"}`,
	}
	parts := &pmda.InDom{
		Serial: 1, List: func(context.Context) ([]pcp.Instance, error) { return a.parts, nil },
		Refresh: func(context.Context) error { return a.readParts() },
		OneLine: "parts of the time of day", Labels: `{"indom_name":"time","unitsystem":"SI"}`,
		InstanceLabels: func(_ int32, i int) string { return `{"units":"` + a.parts[i].Name + `"}` },
	}
	seconds := pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0)
	return []pmda.Metric{{
		Name: "simple.numfetch", Cluster: 0, Item: 0, Type: pcp.TypeU32, Sem: pcp.SemInstant,
		OneLine: "number of fetches so far; can be stored",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(a.fetches), nil },
		Store: func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error {
			if v.Int32() < 0 {
				return pcp.ErrBadStore
			}
			a.fetches = v.Uint32()
			return nil
		},
	}, {
		Name: "simple.color", Cluster: 0, Item: 1, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: colors,
		OneLine: "numbers up to 255 that grow with each fetch, and start again; can be stored",
		Value: func(_ int32, i int) (pcp.Value, error) {
			a.color[i] = (a.color[i] + 1) % 256
			return pcp.Int32Value(a.color[i]), nil
		},
		Store: func(_ *pmda.Client, _ int32, i int, v pcp.Value) error {
			if v.Int32() < 0 || v.Int32() > 255 {
				return pcp.ErrBadStore
			}
			a.color[i] = v.Int32()
			return nil
		},
	}, {
		Name: "simple.now", Cluster: 2, Item: 4, Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: parts,
		OneLine: "time of day, in the parts that a file chooses",
		Value: func(_ int32, i int) (pcp.Value, error) {
			part := map[string]int{"sec": a.now.Second(), "min": a.now.Minute(), "hour": a.now.Hour()}
			return pcp.Uint32Value(uint32(part[a.parts[i].Name])), nil
		},
	}, {
		Name: "simple.time.user", Cluster: 1, Item: 2, Type: pcp.TypeDouble, Sem: pcp.SemCounter, Units: seconds,
		OneLine: "processor time of this agent",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.DoubleValue(a.user.Seconds()), nil },
	}, {
		Name: "simple.time.sys", Cluster: 1, Item: 3, Type: pcp.TypeDouble, Sem: pcp.SemCounter, Units: seconds,
		OneLine: "processor time of the kernel for this agent",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.DoubleValue(a.sys.Seconds()), nil },
	}}
}

// Fetch counts fetches. The table answers them.
func (a *agent) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	a.fetches++
	return a.Table.Fetch(ctx, req)
}

// Refresh reads what the functions of the metrics return. One reading may serve several fetches.
func (a *agent) Refresh(ctx context.Context, ids []pcp.PMID) error {
	a.now = time.Now()
	a.user, a.sys = processorTime()
	if err := a.readParts(); err != nil {
		return err
	}
	return a.Table.Refresh(ctx, ids)
}

// readParts reads the file, whose only line is sec,min,hour or less. Without it there are all three.
func (a *agent) readParts() error {
	all := []string{"sec", "min", "hour"}
	line := strings.Join(all, ",")
	f, err := os.Open(a.path)
	switch {
	case err == nil:
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Scan()
		if err := s.Err(); err != nil {
			return err
		}
		line = s.Text()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	a.parts = nil
	chosen := strings.Split(line, ",")
	for i, name := range all {
		if slices.Contains(chosen, name) {
			a.parts = append(a.parts, pcp.Instance{Inst: int32(i), Name: name})
		}
	}
	return nil
}

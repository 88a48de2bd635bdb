package client

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmapi"
)

// A group leaves conversions and rates to a fetch group.
type group struct {
	env           *cli.Env
	fg            *pmapi.FetchGroup
	ncpu          *pmapi.GroupItem
	load1, load15 *pmapi.GroupItem
	freeMem, ops  *pmapi.GroupItem
	user, sys     *pmapi.GroupInstances
	util          float64
	peak          int32
	peakUtil      float64
}

func newGroup(ctx context.Context, env *cli.Env, c *pmapi.Context) (sampler, error) {
	fg, err := pmapi.NewFetchGroupConfig(c, env.Config())
	if err != nil {
		env.Fatalf("Cannot create fetchgroup: %s", cli.ErrText(err))
		return nil, err
	}
	return &group{env: env, fg: fg}, nil
}

// extend adds the metrics to the group.
func (g *group) extend(ctx context.Context) error {
	for _, m := range []struct {
		item   **pmapi.GroupItem
		metric pmapi.GroupMetric
		name   string // in messages
	}{
		{&g.ncpu, pmapi.GroupMetric{Metric: "hinv.ncpu", Type: pcp.Type32}, "hinv.ncpu"},
		{&g.load1, pmapi.GroupMetric{Metric: "kernel.all.load", Instance: "1 minute", Type: pcp.TypeDouble}, "kernel.all.load[1]"},
		{&g.load15, pmapi.GroupMetric{Metric: "kernel.all.load", Instance: "15 minute", Type: pcp.TypeDouble}, "kernel.all.load[15]"},
	} {
		var err error
		if *m.item, err = g.fg.Add(ctx, m.metric); err != nil {
			return g.failed(m.name, err)
		}
	}
	for _, m := range []struct {
		all  **pmapi.GroupInstances
		name string
	}{{&g.user, "kernel.percpu.cpu.user"}, {&g.sys, "kernel.percpu.cpu.sys"}} {
		var err error
		if *m.all, err = g.fg.AddInstances(ctx, pmapi.GroupMetric{Metric: m.name, Scale: "second/second", Type: pcp.TypeDouble}); err != nil {
			return g.failed(m.name, err)
		}
	}
	for _, m := range []struct {
		item   **pmapi.GroupItem
		metric pmapi.GroupMetric
	}{
		{&g.freeMem, pmapi.GroupMetric{Metric: "mem.freemem", Scale: "Mbyte", Type: pcp.TypeDouble}},
		{&g.ops, pmapi.GroupMetric{Metric: "disk.all.total", Scale: "count/second", Type: pcp.Type32}},
	} {
		var err error
		if *m.item, err = g.fg.Add(ctx, m.metric); err != nil {
			return g.failed(m.metric.Metric, err)
		}
	}
	return nil
}

func (g *group) failed(name string, err error) error {
	g.env.Fatalf("Failed %s ExtendFetchGroup: %s", name, cli.ErrText(err))
	return err
}

func (g *group) time() pcp.Timestamp { return g.fg.Time() }

func (g *group) processors() int { return max(1, int(g.ncpu.Value.Int32())) }

func (g *group) sample(ctx context.Context) error {
	if g.ncpu == nil {
		if err := g.extend(ctx); err != nil {
			return err
		}
	}
	if err := g.fg.Fetch(ctx); err != nil {
		g.env.Fatalf("pmFetchGroup: %s", cli.ErrText(err))
		return err
	}
	g.util, g.peakUtil = 0, -1
	for i, user := range g.user.Values {
		u := user.Value.Double()
		if i < len(g.sys.Values) {
			u += g.sys.Values[i].Value.Double() // both have one instance domain
		}
		if u > 1 {
			u = 1
		}
		g.util += u
		if u > g.peakUtil {
			g.peakUtil, g.peak = u, user.Inst
		}
	}
	g.util /= float64(g.processors())
	return nil
}

func (g *group) append(b []byte) []byte {
	b = appendFloat(b, g.util, 5, 2)
	if g.processors() > 1 {
		b = appendFloat(fmt.Appendf(b, "   %3d   ", g.peak), g.peakUtil, 5, 2)
	}
	b = appendFloat(append(b, ' '), g.freeMem.Value.Double(), 9, 3)
	b = fmt.Appendf(b, " %6d  ", g.ops.Value.Int32())
	b = appendFloat(b, g.load1.Value.Double(), 7, 2)
	b = appendFloat(append(b, ' '), g.load15.Value.Double(), 7, 2)
	return append(b, '\n')
}

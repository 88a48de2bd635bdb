//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	agentpmcd "github.com/go-pcp/pcp/internal/agent/pmcd"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// simEnv has the number of metrics in a process that is the hosts.
const simEnv = "PCP_BENCH_SIMULATE"

// simMain is a collector that serves all addresses of the loopback interface: each is a host.
func simMain() {
	n, err := strconv.Atoi(os.Getenv(simEnv))
	if err == nil {
		err = serveHosts(n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulated hosts:", err)
		os.Exit(1)
	}
}

// simInstances is how many instances one metric in six has.
const simInstances = 8

func serveHosts(metrics int) error {
	var clock atomic.Uint64
	var indoms []*pmda.InDom
	for i := range 5 {
		indoms = append(indoms, &pmda.InDom{Serial: i + 1, List: func(context.Context) ([]pcp.Instance, error) {
			list := make([]pcp.Instance, simInstances)
			for j := range list {
				list[j] = pcp.Instance{Inst: int32(j), Name: fmt.Sprintf("unit%d-%d", i, j)}
			}
			return list, nil
		}})
	}
	cfg := pmda.Config{Name: "sim", Domain: 400, InDoms: indoms}
	for i := range metrics {
		m := pmda.Metric{
			Name: fmt.Sprintf("sim.group%02d.metric%03d", i/20, i), Cluster: i / 20, Item: i % 20, Type: pcp.TypeU64, Sem: pcp.SemCounter,
			OneLine: fmt.Sprintf("Simulated metric number %d of many", i),
			Help:    strings.Repeat("A text of the length that help usually has. ", 4) + strconv.Itoa(i),
			Value:   func(inst int32, _ int) (pcp.Value, error) { return pcp.Uint64Value(clock.Add(1) + uint64(inst)), nil },
		}
		if i%6 == 5 {
			m.InDom = indoms[i%5]
		}
		cfg.Metrics = append(cfg.Metrics, m)
	}
	sim, err := pmda.NewTable(cfg)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return err
	}
	own := agentpmcd.Builtin()
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{
		{Name: own.Name, Domain: own.Domain, Open: func(s *pmcd.Server) (pmda.Agent, error) {
			return own.Open(builtin.Env{Host: s.Host(), Version: "bench"})
		}},
		{Name: "sim", Domain: 400, Agent: sim},
	}})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Println(ln.Addr().(*net.TCPAddr).Port)
	return s.Run(ctx)
}

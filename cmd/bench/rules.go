//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/archive/importer"
	agentpmcd "github.com/go-pcp/pcp/internal/agent/pmcd"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

const (
	rulesMetrics   = 500
	rulesCount     = 1000
	rulesDisks     = 4 // instances of each fifth metric
	rulesRecords   = 5000
	rulesFull      = 100_000 // with -full
	rulesHosts     = 50
	rulesInstances = 100_000
)

// rules measures rules: many over an archive, some over many live hosts, and one over many instances.
func (b *bench) rules(ctx context.Context) error {
	for _, part := range []struct {
		label string
		run   func(context.Context) error
	}{{"rules.archive", b.rulesOverArchive}, {"rules.instances", b.rulesOverInstances}, {"rules.live", b.rulesOverHosts}} {
		if !b.wants(part.label) {
			continue
		}
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.label, err)
		}
	}
	return ctx.Err()
}

// A ruled is the cost of an evaluation of rules.
type ruled struct {
	wall, cpu time.Duration
	rss       int64 // KiB at the most
	out       []byte
}

// pmies returns the tools to measure, ours last.
func (b *bench) pmies() (names []string, tools map[string][]string) {
	tools = map[string][]string{"ours": {b.pcp, "ie"}}
	if b.real != nil {
		tools["C"], names = []string{"/usr/bin/pmie"}, append(names, "C")
	}
	return append(names, "ours"), tools
}

// pmie evaluates rules over an archive to its end.
func pmie(ctx context.Context, tool []string, args ...string) (r ruled, err error) {
	cmd := exec.CommandContext(ctx, tool[0], slices.Concat(tool[1:], args)...)
	cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return r, err
	}
	peak := make(chan int64)
	ended := make(chan struct{})
	go func() { peak <- peakMemory(cmd.Process.Pid, ended) }()
	err = cmd.Wait()
	r.wall = time.Since(begin)
	close(ended)
	r.rss = <-peak
	if err != nil {
		return r, fmt.Errorf("%v: %w: %.500s", cmd.Args, err, &stderr)
	}
	r.cpu, r.out = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), out.Bytes()
	return r, nil
}

// peakMemory returns the largest resident set that a process had until a few milliseconds before its
// end, in KiB. The value of wait4(2) is no less than that of the parent process.
func peakMemory(pid int, ended <-chan struct{}) (rss int64) {
	for {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
			if _, rest, ok := strings.Cut(string(text), "VmHWM:"); ok {
				var n int64
				if _, err := fmt.Sscan(rest, &n); err == nil {
					rss = n
				}
			}
		}
		select {
		case <-ended:
			return rss
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// printRules measures both over an archive in turn and prints a row for each.
func (b *bench) printRules(ctx context.Context, label string, records, turns int, args ...string) error {
	names, tools := b.pmies()
	all := map[string][]ruled{}
	for range turns {
		for _, name := range names {
			r, err := pmie(ctx, tools[name], args...)
			if err != nil {
				return err
			}
			all[name] = append(all[name], r)
		}
	}
	fmt.Printf("\n%-16s %8s %6s %10s %10s %12s %9s %7s %7s\n", "rules", "records", "side", "wall", "cpu", "cpu/record", "rss", "wall", "cpu")
	for _, name := range names {
		list := slices.Clone(all[name])
		slices.SortFunc(list, func(a, b ruled) int { return cmp.Compare(a.wall, b.wall) })
		r := list[len(list)/2]
		fmt.Printf("%-16s %8d %6s %10s %10s %12s %6.1fMiB", label, records, name, short(r.wall), short(r.cpu), short(r.cpu/time.Duration(records)), float64(r.rss)/1024)
		if name == "ours" && len(names) > 1 {
			fmt.Printf(" %7.2f", ratio(all["ours"], all["C"], func(r ruled) float64 { return float64(r.wall) }))
			fmt.Printf(" %7.2f", ratio(all["ours"], all["C"], func(r ruled) float64 { return float64(r.cpu) }))
			if !bytes.Equal(all["ours"][0].out, all["C"][0].out) {
				fmt.Print("  OUTPUT DIFFERS")
			}
		}
		fmt.Println()
	}
	return nil
}

// rulesOverArchive evaluates 1,000 rules over 500 metrics for each record of an archive.
func (b *bench) rulesOverArchive(ctx context.Context) error {
	records := rulesRecords
	turns := 3
	if b.full {
		records, turns = rulesFull, 1
	}
	dir := filepath.Dir(b.ours.dir)
	path, err := rulesArchive(filepath.Join(dir, "rules"), records)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "thousand.pmie")
	if err := os.WriteFile(file, []byte(thousandRules()), 0o644); err != nil {
		return err
	}
	return b.printRules(ctx, "rules.archive", records, turns, "-q", "-Z", "UTC", "-t", "1sec", "-a", path, "-c", file)
}

// rulesArchive writes an archive of 500 metrics, half of them counters and each fifth over disks.
func rulesArchive(base string, records int) (path string, err error) {
	im, err := importer.Start(base, importer.Options{Host: "bench", TimeZone: "UTC", Version: 2})
	if err != nil {
		return "", err
	}
	disks := pcp.NewInDom(importer.Domain, 1)
	for i := range rulesDisks {
		if err := im.AddInstance(disks, fmt.Sprintf("sd%c", 'a'+i), int32(i)); err != nil {
			return "", err
		}
	}
	var handles [][]importer.Handle
	for i := range rulesMetrics {
		desc := pcp.Desc{PMID: pcp.NewPMID(importer.Domain, i/100, i%100), Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: pcp.InDomNull}
		if i%2 == 1 {
			desc.Type, desc.Sem, desc.Units.DimCount = pcp.TypeU64, pcp.SemCounter, 1
		}
		insts := []string{""}
		if i%5 == 4 {
			desc.InDom = disks
			insts = insts[:0]
			for k := range rulesDisks {
				insts = append(insts, fmt.Sprintf("sd%c", 'a'+k))
			}
		}
		name := fmt.Sprintf("bench.m%d", i)
		if _, err := im.AddMetric(name, desc); err != nil {
			return "", err
		}
		var list []importer.Handle
		for _, inst := range insts {
			h, err := im.Handle(name, inst)
			if err != nil {
				return "", err
			}
			list = append(list, h)
		}
		handles = append(handles, list)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range records {
		for i, list := range handles {
			for k, h := range list {
				v := uint64((n*7919 + i*104729 + k*31) % 1000)
				if i%2 == 1 {
					v = uint64(n*(i+k+1)) + v
				}
				if err := h.PutUint(v); err != nil {
					return "", err
				}
			}
		}
		if err := im.Write(start.Add(time.Duration(n) * time.Second)); err != nil {
			return "", err
		}
	}
	return im.Path(), im.End()
}

// thousandRules returns rules of which few are true at a time, with common parts.
func thousandRules() string {
	var text strings.Builder
	one := func(i int) string { return fmt.Sprintf("bench.m%d", i-i%5+i%4) } // of one value
	disk := func(i int) string { return fmt.Sprintf("bench.m%d", i-i%5+4) }
	for i := range rulesCount {
		j, k := i%rulesMetrics, i*7%rulesMetrics
		switch i % 8 {
		case 0:
			fmt.Fprintf(&text, "%s > 998 count/sec -> print \"%%v\";\n", one(j))
		case 1:
			fmt.Fprintf(&text, "%s + 2 * %s > 200000 && %s < 5 -> print \"%%v\";\n", one(j), one(k), one(k))
		case 2:
			fmt.Fprintf(&text, "some_inst (%s > 100000) -> print \"%%i %%v\";\n", disk(j))
		case 3:
			fmt.Fprintf(&text, "rising (%s > 990) && %s > 500 -> print \"up\";\n", one(j), one(k))
		case 4:
			fmt.Fprintf(&text, "avg_sample %s @0..4 > 900000 -> print \"%%v\";\n", one(j))
		case 5:
			fmt.Fprintf(&text, "sum_inst %s / %d > 50000 || %s == 3 -> print \"%%h\";\n", disk(j), rulesDisks, one(k))
		case 6:
			fmt.Fprintf(&text, "count_inst (%s > 10) < 0 || ! (%s >= 0) -> print \"never\";\n", disk(k), one(j))
		default:
			fmt.Fprintf(&text, "50 %%_inst (%s > 200000 && %s > 150000) -> print \"%%i\";\n", disk(j), disk(j))
		}
	}
	return text.String()
}

// rulesOverInstances evaluates rules over an instance domain of 100,000.
func (b *bench) rulesOverInstances(ctx context.Context) error {
	const records = 20
	dir := filepath.Dir(b.ours.dir)
	im, err := importer.Start(filepath.Join(dir, "instances"), importer.Options{Host: "bench", TimeZone: "UTC", Version: 2})
	if err != nil {
		return err
	}
	indom := pcp.NewInDom(importer.Domain, 1)
	desc := pcp.Desc{PMID: pcp.NewPMID(importer.Domain, 0, 1), Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: indom, Units: pcp.Units{DimCount: 1}}
	if _, err := im.AddMetric("bench.many", desc); err != nil {
		return err
	}
	handles := make([]importer.Handle, rulesInstances)
	for i := range handles {
		name := fmt.Sprintf("instance-%06d", i)
		if err := im.AddInstance(indom, name, int32(i)); err != nil {
			return err
		}
		if handles[i], err = im.Handle("bench.many", name); err != nil {
			return err
		}
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range records {
		for i, h := range handles {
			if err := h.PutUint(uint64(n) * uint64(i%1000)); err != nil {
				return err
			}
		}
		if err := im.Write(start.Add(time.Duration(n) * time.Second)); err != nil {
			return err
		}
	}
	if err := im.End(); err != nil {
		return err
	}
	file := filepath.Join(dir, "instances.pmie")
	text := "some_inst (bench.many > 998) && $minute == 0 && avg_inst bench.many > 100 -> print \"busy\";\ncount_inst (rising (bench.many > 500)) > 3 -> print \"%v\";\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	return b.printRules(ctx, "rules.instances", records, 3, "-q", "-Z", "UTC", "-t", "1sec", "-a", im.Path(), "-c", file)
}

// rulesOverHosts evaluates rules over 50 hosts each second, by both at the same time. The hosts are
// collectors in this process, each at an address of its own of the loopback interface.
func (b *bench) rulesOverHosts(ctx context.Context) error {
	specs, stop, err := serveRuleHosts(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var hosts strings.Builder
	for _, spec := range specs {
		fmt.Fprintf(&hosts, " :'%s'", spec)
	}
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "some_host (some_inst (sim.m%d%s > 1000000000)) -> print \"%%h %%i\";\n", i, hosts.String())
		fmt.Fprintf(&text, "avg_host (sim.n%d%s) < 0 -> print \"%%v\";\n", i, hosts.String())
	}
	file := filepath.Join(filepath.Dir(b.ours.dir), "hosts.pmie")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		return err
	}
	names, tools := b.pmies()
	cmds := map[string]*exec.Cmd{}
	defer func() {
		for _, cmd := range cmds {
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
		}
	}()
	for _, name := range names {
		cmd := exec.Command(tools[name][0], slices.Concat(tools[name][1:], []string{"-f", "-q", "-t", "1sec", "-h", specs[0], "-c", file})...)
		cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=")
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := cmd.Start(); err != nil {
			return err
		}
		cmds[name] = cmd
	}
	used := func(name string) time.Duration { return cpuTime([]int{cmds[name].Process.Pid}) }
	seconds := max(5, int(2*b.time/time.Second))
	// They load their rules first.
	var before map[string]time.Duration
	for i := range seconds + 3 {
		if i == 3 {
			before = map[string]time.Duration{}
			for _, name := range names {
				before[name] = used(name)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	fmt.Printf("\n%-16s %8s %6s %12s %9s %7s\n", "rules", "hosts", "side", "cpu/second", "rss", "ratio")
	each := map[string]float64{}
	for _, name := range names {
		each[name] = float64(used(name)-before[name]) / float64(seconds)
		rss, _ := memory([]int{cmds[name].Process.Pid})
		fmt.Printf("%-16s %8d %6s %12s %6.1fMiB", "rules.live", rulesHosts, name, short(time.Duration(each[name])), float64(rss)/1024)
		if name == "ours" && len(names) > 1 {
			fmt.Printf(" %7.2f", each["C"]/each["ours"])
		}
		fmt.Println()
	}
	return nil
}

// serveRuleHosts starts the collectors that are the hosts, and returns their addresses. Each
// reports another name: pmie takes collectors of the same name for one host, and fetches from one
// of them.
func serveRuleHosts(ctx context.Context) (specs []string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	stop = func() { cancel(); wg.Wait() }
	for i := range rulesHosts {
		s, spec, err := ruleHost(i + 1)
		if err != nil {
			stop()
			return nil, nil, err
		}
		specs = append(specs, spec)
		wg.Go(func() { s.Run(ctx) })
	}
	return specs, stop, nil
}

// ruleHost returns one of the hosts.
func ruleHost(n int) (s *pmcd.Server, spec string, err error) {
	var clock atomic.Uint64
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		list := make([]pcp.Instance, 8)
		for i := range list {
			list[i] = pcp.Instance{Inst: int32(i), Name: fmt.Sprintf("unit%d", i)}
		}
		return list, nil
	}}
	cfg := pmda.Config{Name: "sim", Domain: 400, InDoms: []*pmda.InDom{indom}}
	value := func(inst int32, _ int) (pcp.Value, error) { return pcp.Uint64Value(clock.Add(1)), nil }
	for i := range 10 {
		cfg.Metrics = append(cfg.Metrics,
			pmda.Metric{Name: fmt.Sprintf("sim.m%d", i), Item: i, InDom: indom, Type: pcp.TypeU64, Sem: pcp.SemCounter, Value: value},
			pmda.Metric{Name: fmt.Sprintf("sim.n%d", i), Item: 10 + i, Type: pcp.TypeU64, Sem: pcp.SemInstant, Value: value})
	}
	sim, err := pmda.NewTable(cfg)
	if err != nil {
		return nil, "", err
	}
	ln, err := net.Listen("tcp4", fmt.Sprintf("127.1.0.%d:0", n))
	if err != nil {
		return nil, "", err
	}
	own := agentpmcd.Builtin()
	s, err = pmcd.New(pmcd.Config{HostName: fmt.Sprintf("host%d", n), Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{
		{Name: own.Name, Domain: own.Domain, Open: func(s *pmcd.Server) (pmda.Agent, error) {
			return own.Open(builtin.Env{Host: s.Host(), Version: "bench"})
		}},
		{Name: "sim", Domain: 400, Agent: sim},
	}})
	if err != nil {
		ln.Close()
		return nil, "", err
	}
	return s, ln.Addr().String(), nil
}

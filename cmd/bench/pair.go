//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// A pair is two collectors, the C one and ours, started by the same command
// line with a pmcd.conf each.
type pair struct {
	real, ours *server // real is nil where the C implementation is missing
}

// startPair starts a pair. The lines are those of pmcd.conf, in which PMDAS
// represents the folder of the C agents.
func (b *bench) startPair(ctx context.Context, name string, realLines, ourLines []string) (*pair, error) {
	root := filepath.Dir(b.ours.dir)
	p := new(pair)
	var err error
	if b.real != nil {
		if p.real, err = startCollector(ctx, "C", realPMCD, filepath.Join(root, name+"-C"), realLines); err != nil {
			return nil, err
		}
	}
	if p.ours, err = startCollector(ctx, "ours", filepath.Join(b.links, "pmcd"), filepath.Join(root, name+"-ours"), ourLines); err != nil {
		if p.real != nil {
			p.real.stop()
		}
		return nil, err
	}
	return p, nil
}

// startCollector starts a collector in a folder, with the lines of its pmcd.conf.
func startCollector(ctx context.Context, name, binary, dir string, lines []string) (*server, error) {
	s := &server{name: name, dir: dir, command: func(ctx context.Context, dir string) (*exec.Cmd, string, string, error) {
		return pairCommand(ctx, binary, dir, lines)
	}}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (p *pair) stop() {
	for _, s := range p.sides() {
		s.stop()
	}
}

func (p *pair) sides() []*server {
	if p.real == nil {
		return []*server{p.ours}
	}
	return []*server{p.real, p.ours}
}

func pairCommand(ctx context.Context, binary, dir string, lines []string) (*exec.Cmd, string, string, error) {
	port, err := freePort()
	if err != nil {
		return nil, "", "", err
	}
	conf := ""
	if _, err := os.Stat(realConf); err == nil {
		if conf, err = realSetup(dir); err != nil {
			return nil, "", "", err
		}
	} else if err := os.MkdirAll(filepath.Join(dir, "log", "pmcd"), 0o755); err != nil {
		return nil, "", "", err
	}
	text := strings.ReplaceAll(strings.Join(lines, "\n"), "PMDAS", realAgents) + "\n[access]\nallow \"*\" : all;\n"
	confFile := filepath.Join(dir, "pmcd.conf")
	if err := os.WriteFile(confFile, []byte(text), 0o644); err != nil {
		return nil, "", "", err
	}
	if abs, err := filepath.Abs(binary); err == nil {
		binary = abs
	}
	sock := filepath.Join(dir, "pmcd.socket")
	// Agents may take long for all metrics of many processes.
	args := []string{"-A", "-f", "-t", "60", "-i", "127.0.0.1", "-p", port, "-s", sock, "-c", confFile, "-l", filepath.Join(dir, "log", "pmcd", "pmcd.log")}
	if binary == realPMCD {
		args = append(args, "-U", "root")
	}
	if names := filepath.Join(dir, "pmns"); conf != "" {
		args = append(args, "-n", names)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "PMCD_ROOT_AGENT=0", "LC_ALL=C")
	if conf != "" {
		cmd.Env = append(cmd.Env, "PCP_CONF="+conf)
	}
	cmd.Dir = filepath.Join(dir, "log", "pmcd")
	return cmd, net.JoinHostPort("127.0.0.1", port), sock, nil
}

// rounds is the number of measurements of each side, in turn, so that a busy
// moment affects both; medians are printed.
const rounds = 5

// inTurn measures each side in rounds and returns the results of it.
func inTurn[T any](ctx context.Context, sides []*server, measure func(*server) (T, error)) (map[*server][]T, error) {
	out := map[*server][]T{}
	for range rounds {
		for _, s := range sides {
			r, err := measure(s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			out[s] = append(out[s], r)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	return out, nil
}

// middle returns the median of of(x) over the elements x of list.
func middle[T any](list []T, of func(T) float64) float64 {
	v := make([]float64, len(list))
	for i := range list {
		v[i] = of(list[i])
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// ratio returns the median of the ratios round by round, ours over theirs.
func ratio[T any](theirs, ours []T, of func(T) float64) float64 {
	v := make([]float64, min(len(theirs), len(ours)))
	for i := range v {
		v[i] = of(ours[i]) / of(theirs[i])
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// A measured load, with the processor time of the collector and its agents.
type measured struct {
	loadResult
	cpu time.Duration // for one fetch
}

func runLoad(s *server, l load) (measured, error) {
	l.Addr = s.tcp
	before := cpuTime(s.pids())
	r, err := l.run()
	if err != nil {
		return measured{}, err
	}
	return measured{r, (cpuTime(s.pids()) - before) / time.Duration(max(1, r.Fetches))}, nil
}

// printLoads runs a load at each side in turn and prints a row for each.
func (b *bench) printLoads(ctx context.Context, p *pair, label string, ids []pcp.PMID, clients int) error {
	all, err := inTurn(ctx, p.sides(), func(s *server) (measured, error) {
		return runLoad(s, load{Clients: clients, Time: b.time / 2, PMIDs: ids})
	})
	if err != nil {
		return err
	}
	for _, s := range p.sides() {
		r := all[s]
		fmt.Printf("%-12s %7d %8d %9s %10.0f %10s %10s %9s", label, clients, len(ids), s.name,
			middle(r, measured.PerSecond),
			short(time.Duration(middle(r, func(m measured) float64 { return float64(m.P50) }))),
			short(time.Duration(middle(r, func(m measured) float64 { return float64(m.P99) }))),
			short(time.Duration(middle(r, func(m measured) float64 { return float64(m.cpu) }))))
		if s == p.ours && p.real != nil {
			fmt.Printf(" %7.2f", ratio(all[p.real], r, measured.PerSecond))
		}
		fmt.Println()
	}
	return nil
}

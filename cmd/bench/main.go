//go:build linux

// Command bench measures our collector and tools against the C implementation,
// in one run, with one client for both, and prints the ratios. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	if os.Getenv(agentEnv) != "" {
		slowMain()
		return
	}
	if os.Getenv(webEnv) != "" {
		if err := webMain(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv(replayEnv); path != "" {
		fmt.Fprintln(os.Stderr, "bench:", replayMain(path))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := dispatch(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// dispatch runs a command, or, without one, the side by side measurements of many clients.
func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "compare":
			return compareMain(ctx, args[1:])
		case "table":
			return tableMain(args[1:])
		case "write":
			return writeMain(args[1:])
		}
	}
	var b bench
	flag.StringVar(&b.pcp, "pcp", "bin/pcp", "our binary")
	flag.StringVar(&b.links, "links", "bin/links", "the folder of links to it")
	flag.DurationVar(&b.time, "time", 5*time.Second, "how long each load runs")
	flag.IntVar(&b.runs, "runs", 30, "how often a command is started")
	flag.BoolVar(&b.full, "full", false, "rules.archive over 100,000 records")
	only := flag.String("only", "", "regular expression that selects workloads by their label")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is not a command: there are compare, table and write", flag.Arg(0))
	}
	var err error
	if b.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	return b.run(ctx)
}

type bench struct {
	pcp, links string
	time       time.Duration
	runs       int
	full       bool
	only       *regexp.Regexp

	real, ours *server // real is nil where the C implementation is missing
}

func (b *bench) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "pcpbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	fmt.Printf("%s; %v a load, %d starts; ratio is theirs over ours, above 1 ours is better\n",
		machine(), b.time, b.runs)
	if b.real, err = startReal(ctx, dir+"/real"); err != nil {
		fmt.Printf("the C implementation is left out: %v\n", err)
	} else {
		defer b.real.stop()
	}
	if b.ours, err = startOurs(ctx, b.pcp, dir+"/ours"); err != nil {
		return err
	}
	defer b.ours.stop()

	for _, part := range []func(context.Context) error{
		b.loads, b.samples, b.eightAgents, b.slowAgent, b.heavyFetches, b.processes, b.recorders, b.connections, b.manyClients, b.mappedValues, b.traced, b.webServers, b.bursts, b.fullFetch, b.memory, b.top, b.others, b.derivedMetrics, b.rules, b.collectorStart,
	} {
		if err := part(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// wants reports whether the workload label is selected.
func (b *bench) wants(label string) bool { return b.only.MatchString(label) }

// sides returns the servers to measure, the C one first.
func (b *bench) sides() []*server {
	if b.real == nil {
		return []*server{b.ours}
	}
	return []*server{b.real, b.ours}
}

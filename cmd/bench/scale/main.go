//go:build linux

// Command scale measures the cost of recording many simulated hosts by some recorders, which it kills meanwhile,
// and checks that no sample is lost. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type bench struct {
	pcp       string
	engine    string
	hosts     int
	metrics   int
	interval  time.Duration
	duration  time.Duration
	recorders int
	kill      time.Duration
	down      time.Duration
	fleet     bool
	real      int
	dir       string
	ship      bool
	victims   []string

	crowd  *crowd
	victor *engine // nil without one
	store  *store  // nil without one
	list   []*recorder
}

func main() {
	if os.Getenv(simEnv) != "" {
		simMain()
		return
	}
	var b bench
	flag.StringVar(&b.pcp, "pcp", "bin/pcp", "our binary")
	flag.StringVar(&b.engine, "engine", "", "a binary of VictoriaMetrics; recorders send to it")
	flag.IntVar(&b.hosts, "hosts", 1000, "number of hosts")
	flag.IntVar(&b.metrics, "metrics", 300, "number of metrics of a host, each sixth with 8 instances")
	flag.DurationVar(&b.interval, "interval", 10*time.Second, "time between two samples")
	flag.DurationVar(&b.duration, "duration", time.Minute, "how long all hosts are recorded; the long form is 1h")
	flag.IntVar(&b.recorders, "recorders", 1, "number of recorders")
	flag.DurationVar(&b.kill, "kill", 0, "time from one kill to the next; 0 kills none")
	victims := flag.String("victims", "recorder", "what is killed, in turn: recorder, engine, store")
	flag.DurationVar(&b.down, "down", 5*time.Second, "time until what was killed is started again")
	flag.BoolVar(&b.fleet, "fleet", false, "the recorders share the hosts (--fleet), instead of a list for each")
	flag.IntVar(&b.real, "real", 0, "number of pmloggers of the C implementation that are measured beside them")
	flag.BoolVar(&b.ship, "ship", false, "the recorders store their archives in object storage, which this process has in its memory")
	flag.StringVar(&b.dir, "dir", "", "keep the archives there")
	plans := flag.Bool("plan", false, "print the table of docs/scaling.md, and exit")
	flag.Parse()
	b.victims = strings.Split(*victims, ",")
	if *plans {
		fmt.Print(plan())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.hosts < 1 || b.recorders < 1 || b.recorders > b.hosts || b.interval <= 0 {
		return fmt.Errorf("%d hosts, %d recorders, interval %v", b.hosts, b.recorders, b.interval)
	}
	for _, v := range b.victims {
		switch {
		case v == "recorder", v == "engine" && b.engine != "", v == "store" && b.ship:
		default:
			return fmt.Errorf("victim %q is unknown, or its option -engine or -ship is not given", v)
		}
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "scale"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
	} else if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return err
	}
	if b.crowd, err = simulate(b.hosts, b.metrics, b.dir); err != nil {
		return err
	}
	defer b.crowd.stop()
	config := filepath.Join(b.dir, "config")
	text := fmt.Sprintf("log mandatory on every %d msec { sim }\n", b.interval.Milliseconds())
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		return err
	}
	if b.engine != "" {
		if b.victor, err = startEngine(ctx, b.engine, filepath.Join(b.dir, "engine")); err != nil {
			return err
		}
		defer b.victor.stop()
	}
	if b.ship {
		if b.store, err = startStore(); err != nil {
			return err
		}
		defer b.store.stop()
	}
	fmt.Printf("%d hosts of %d metrics (%d values) every %v, %d recorders, %v, a kill each %v (%s)\n",
		b.hosts, b.metrics, b.crowd.values, b.interval, b.recorders, b.duration, b.kill, strings.Join(b.victims, ", "))
	if err := b.record(ctx, config); err != nil {
		return err
	}
	if b.real > 0 {
		return b.theirs(ctx, config)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

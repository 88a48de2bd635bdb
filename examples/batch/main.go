// Batch works through a list of jobs with several workers, and keeps the
// distribution of their times in a histogram. Its metrics outlive it, and the next run
// continues from their counts.
//
//	go run ./examples/batch -jobs 1000
//	pminfo -f mmv.batch.job.time.stats mmv.batch.jobs
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

func main() {
	jobs := flag.Int("jobs", 1000, "how many jobs there are")
	workers := flag.Int("workers", 4, "how many at a time")
	limit := flag.Duration("for", 0, "how long to work at most; 0 means to the end, or until ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *limit > 0 {
		ctx, stop = context.WithTimeout(ctx, *limit)
		defer stop()
	}
	if err := run(ctx, *jobs, max(1, *workers)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, jobs, workers int) error {
	// A batch job is over before somebody looks: Persist keeps its metrics.
	reg, err := mmv.New("batch", mmv.Options{Persist: true, Continue: true})
	if err != nil {
		return err
	}
	defer reg.Close()
	outcome := reg.CounterVec(mmv.Metric{Name: "jobs", OneLine: "Jobs done, by outcome, in this run and those before"})
	good, bad := outcome.With("good"), outcome.With("failed")
	left := reg.IntGauge(mmv.Metric{Name: "left", OneLine: "Jobs of this run still to do", Units: pcp.Units{DimCount: 1}})
	took := reg.Histogram(mmv.Metric{
		Name: "job.time", OneLine: "Time that jobs take", Units: pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec},
	})
	state := reg.String(mmv.Metric{Name: "state", OneLine: "running, done or interrupted"})
	if err := reg.Err(); err != nil {
		return err
	}
	left.Set(int64(jobs))
	state.Set("running")

	list := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := range list {
				start := time.Now()
				err := job(n)
				took.ObserveDuration(time.Since(start))
				left.Dec()
				if err != nil {
					bad.Inc()
				} else {
					good.Inc()
				}
			}
		})
	}
	end := "done"
	for n := range jobs {
		select {
		case list <- n:
			continue
		case <-ctx.Done():
			end = "interrupted"
		}
		break
	}
	close(list)
	wg.Wait()
	state.Set(end)
	fmt.Printf("%s: %d good, %d failed so far, %d left\n", end, good.Value(), bad.Value(), left.Value())
	return nil
}

// job computes for a time of its own; one in a hundred fails.
func job(n int) error {
	b := make([]byte, 4096)
	for range 1 + int(rand.ExpFloat64()*50) {
		sum := sha256.Sum256(b)
		copy(b, sum[:])
	}
	if n%100 == 99 {
		return fmt.Errorf("job %d: no luck", n)
	}
	return nil
}

// Download fetches one large file after the other, with a library that reports
// nothing before a file is complete. The time spent is an elapsed time: it grows
// while a download runs, where a counter would not change and then jump.
//
//	go run ./examples/download
//	pmval -f2 mmv.download.time mmv.download.jumps
//
// It fetches the URLs that are its arguments, or without any pretends to.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

func main() {
	limit := flag.Duration("for", 0, "how long to go on; 0 means until ctrl-C")
	each := flag.Duration("each", 5*time.Second, "how long a pretended download takes on average")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *limit > 0 {
		ctx, stop = context.WithTimeout(ctx, *limit)
		defer stop()
	}
	fetch := func(ctx context.Context, _ string) (int64, error) { return pretend(ctx, *each) }
	files := flag.Args()
	if len(files) == 0 {
		files = []string{"pretended"}
	} else {
		fetch = download
	}
	if err := run(ctx, files, fetch); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, files []string, fetch func(context.Context, string) (int64, error)) error {
	reg, err := mmv.New("download", mmv.Options{})
	if err != nil {
		return err
	}
	defer reg.Close()
	spent := reg.Elapsed(mmv.Metric{Name: "time", OneLine: "Time spent in downloads, those that run included"})
	jumps := reg.Timer(mmv.Metric{Name: "jumps", OneLine: "The same as counted at the end of each download"})
	size := reg.Counter(mmv.Metric{
		Name: "bytes", OneLine: "Bytes of the files that are there",
		Units: pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte},
	})
	done := reg.CounterVec(mmv.Metric{Name: "files", OneLine: "Downloads by how they ended"})
	good, bad := done.With("good"), done.With("failed")
	current := reg.String(mmv.Metric{Name: "current", OneLine: "What is being fetched"})
	if err := reg.Err(); err != nil {
		return err
	}
	fmt.Println("Fetching: pmval -f2 mmv.download.time. End it with ctrl-C.")

	for i := 0; ctx.Err() == nil; i++ {
		file := files[i%len(files)]
		current.Set(file)
		start := time.Now()
		spent.Start()
		n, err := fetch(ctx, file)
		spent.End()
		jumps.Since(start)
		current.Set("")
		switch {
		case ctx.Err() != nil:
		case err != nil:
			bad.Inc()
			log.Print(err)
			sleep(ctx, time.Second)
		default:
			good.Inc()
			size.Add(uint64(n))
			sleep(ctx, 200*time.Millisecond) // so that the line is not always full
		}
	}
	return nil
}

func download(ctx context.Context, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", url, res.Status)
	}
	return io.Copy(io.Discard, res.Body)
}

// pretend takes the time of a download of 10 megabytes a second.
func pretend(ctx context.Context, each time.Duration) (int64, error) {
	took := time.Duration((0.5 + rand.Float64()) * float64(each))
	sleep(ctx, took)
	return int64(took.Seconds() * 10e6), ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

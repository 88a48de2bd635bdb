// Httpserver is an HTTP server that counts its requests by route and code, and
// publishes the metrics of the Go runtime. With -load it sends requests to itself.
//
//	go run ./examples/httpserver -load
//	pmval -f1 mmv.httpserver.http.requests
//	pminfo -f mmv.httpserver.http.latency.stats
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge/httpmmv"
	"github.com/go-pcp/pcp/mmv/bridge/runtimemmv"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	load := flag.Bool("load", false, "send requests to itself")
	limit := flag.Duration("for", 0, "how long to serve; 0 means until ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *limit > 0 {
		ctx, stop = context.WithTimeout(ctx, *limit)
		defer stop()
	}
	if err := serve(ctx, *addr, *load); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, addr string, load bool) error {
	reg, err := mmv.New("httpserver", mmv.Options{})
	if err != nil {
		return err
	}
	defer reg.Close()
	defer runtimemmv.Export(reg, runtimemmv.Options{Prefix: "go"}).Stop()

	// This is the line that instruments the server.
	server := &http.Server{Handler: httpmmv.Handler(reg, routes(), httpmmv.Options{}), ReadHeaderTimeout: 10 * time.Second}

	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	url := "http://" + ln.Addr().String()
	fmt.Printf("Serving %s: pmval -f1 mmv.httpserver.http.requests. End it with ctrl-C.\n", url)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		server.Shutdown(end)
	})
	if load {
		wg.Go(func() { visit(ctx, url) })
	}
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// routes are those of a shop that is slow at times.
func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "Anvils, Rockets and Giant Rubber Bands\n")
	})
	mux.HandleFunc("GET /products/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id > 8 {
			http.NotFound(w, r)
			return
		}
		time.Sleep(time.Duration(rand.ExpFloat64() * float64(2*time.Millisecond)))
		fmt.Fprintf(w, "product %d\n", id)
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 1<<20))
		time.Sleep(time.Duration(rand.ExpFloat64() * float64(10*time.Millisecond)))
		w.WriteHeader(http.StatusCreated)
	})
	return mux
}

// visit sends requests until ctx is done.
func visit(ctx context.Context, url string) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		method, path := http.MethodGet, "/"
		switch rand.IntN(4) {
		case 0:
			method, path = http.MethodPost, "/orders"
		case 1, 2:
			path = fmt.Sprintf("/products/%d", rand.IntN(10))
		}
		req, err := http.NewRequestWithContext(ctx, method, url+path, nil)
		if err != nil {
			log.Print(err)
			return
		}
		res, err := client.Do(req)
		if err != nil {
			continue // ctx is done, or the server is going
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}

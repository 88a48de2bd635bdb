//go:build unix

// Openmetrics measures the cost of reading 500 endpoints of 1,000 series each with the agent
// openmetrics, compared with the parsers of Prometheus alone on the same texts. See README.md.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/openmetrics"
	"github.com/go-pcp/pcp/pmda"
)

func main() {
	sources := flag.Int("sources", 500, "endpoints")
	series := flag.Int("series", 1000, "series of each")
	rounds := flag.Int("rounds", 10, "readings of all")
	serve := flag.Bool("serve", false, "serve the endpoints; for the program itself")
	flag.Parse()
	run := measure
	if *serve {
		run = serveAll
	}
	if err := run(*sources, *series, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "openmetrics:", err)
		os.Exit(1)
	}
}

// exposition appends the text of an endpoint. The values are other ones in each round.
func exposition(b []byte, source, series, round int) []byte {
	for i := range series {
		if i%20 == 0 {
			b = fmt.Appendf(b, "# HELP app_http_requests%d_total Requests that were served, by method and status.\n# TYPE app_http_requests%d_total counter\n", i/20, i/20)
		}
		b = fmt.Appendf(b, "app_http_requests%d_total{method=\"post\",handler=\"/api/v1/things/%d\",code=\"200\"} %d", i/20, i%20, 1000*source+7919*i+round)
		if i%3 == 0 {
			b = fmt.Appendf(b, ".%d", i)
		}
		b = append(b, '\n')
	}
	return b
}

// serveAll serves endpoints until standard input ends.
func serveAll(sources, series, _ int) error {
	texts := make([][2][]byte, sources)
	for i := range texts {
		texts[i] = [2][]byte{exposition(nil, i, series, 0), exposition(nil, i, series, 1)}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	calls := make([]int, sources)
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || i < 0 || i >= sources {
			http.NotFound(w, r)
			return
		}
		calls[i]++ // one reader reads each
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.Write(texts[i][calls[i]%2])
	}))
	fmt.Println(ln.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func measure(sources, series, rounds int) error {
	cmd := exec.Command("/proc/self/exe", "-serve", "-sources", strconv.Itoa(sources), "-series", strconv.Itoa(series))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer stdin.Close()
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "openmetrics")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i := range sources {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%d.url", i)), fmt.Appendf(nil, "http://%s/%d\n", strings.TrimSpace(addr), i), 0o644); err != nil {
			return err
		}
	}
	empty := heap()
	a, err := openmetrics.New(openmetrics.Config{Dirs: []string{dir}, State: "-", Wait: true, Timeout: time.Minute})
	if err != nil {
		return err
	}
	defer a.Close()
	var ids []pcp.PMID
	for i := range sources {
		for j := range (series + 19) / 20 {
			ids = append(ids, pcp.NewPMID(openmetrics.Domain, i+1, j))
		}
	}
	var res pcp.Result
	read := func(round int) error {
		ctx := context.Background()
		a.Prepare(ctx, ids)
		res.Reset()
		if err := a.Fetch(ctx, &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: &res}); err != nil {
			return err
		}
		values := 0
		for _, set := range res.Sets {
			values += len(set.Values)
		}
		if values != sources*series {
			return fmt.Errorf("round %d: %d values, want %d", round, values, sources*series)
		}
		return nil
	}
	for i := range 2 { // both texts have been seen
		if err := read(-i); err != nil {
			return err
		}
	}
	start, cpu := time.Now(), cpuTime()
	for i := range rounds {
		if err := read(i); err != nil {
			return err
		}
	}
	took, ours := time.Since(start), cpuTime()-cpu
	res = pcp.Result{}
	kept := heap() - empty

	text := exposition(nil, 1, series, 1)
	n := sources * rounds
	cpu = cpuTime()
	for range n {
		p := expfmt.NewTextParser(model.LegacyValidation)
		if _, err := p.TextToMetricFamilies(bytes.NewReader(text)); err != nil {
			return err
		}
	}
	families := cpuTime() - cpu
	cpu = cpuTime()
	for range n {
		if err := promScan(text, series); err != nil {
			return err
		}
	}
	scan := cpuTime() - cpu
	per := func(d time.Duration) string {
		return fmt.Sprintf("%6.0f ms   %4.0f ns", float64(d.Microseconds())/1000/float64(rounds), float64(d.Nanoseconds())/float64(n*series))
	}
	fmt.Printf("%d endpoints of %d series, %.1f MB, processor time of one reading and of a series in it\n\n", sources, series, float64(len(text)*sources)/1e6)
	fmt.Printf("agent openmetrics, HTTP, parsing and fetch   %s   in %.0f ms\n", per(ours), float64(took.Microseconds())/1000/float64(rounds))
	fmt.Printf("expfmt.TextParser, parsing alone             %s   ratio %.2f\n", per(families), float64(ours)/float64(families))
	fmt.Printf("textparse.PromParser, parsing alone          %s   ratio %.2f\n", per(scan), float64(ours)/float64(scan))
	fmt.Printf("\nthe agent keeps %.1f MB, %.0f bytes a series\n", float64(kept)/1e6, float64(kept)/float64(sources*series))
	return nil
}

// promScan processes a text as a scrape of Prometheus does before it looks the series up.
func promScan(text []byte, series int) error {
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	got := 0
	var l labels.Labels
	for {
		e, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if e == textparse.EntrySeries {
			p.Series()
			p.Labels(&l)
			got++
		}
	}
	if got != series {
		return fmt.Errorf("textparse found %d series, want %d", got, series)
	}
	return nil
}

func cpuTime() time.Duration {
	runtime.GC()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/bench/harness"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/webapi"
	"github.com/go-pcp/pcp/pmapi"
)

// Our web server is this program, when it is started with webEnv.
const (
	webEnv      = "BENCH_WEB" // the collector
	webAddrEnv  = "BENCH_WEB_ADDR"
	realPMProxy = "/usr/lib/pcp/bin/pmproxy"
)

// webMain is the main function of our web server.
func webMain() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", os.Getenv(webAddrEnv))
	if err != nil {
		return err
	}
	h, err := webapi.New(webapi.Config{Host: os.Getenv(webEnv)})
	if err != nil {
		return err
	}
	defer h.Close()
	s, err := pmproxy.New(pmproxy.Config{
		Listeners: []net.Listener{ln}, TrustLocal: true, Handlers: map[string]http.Handler{"/pmapi": h, "/metrics": h},
	})
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// A webServer is one of the two proxies, over our collector.
type webServer struct {
	name, addr string
	cmd        *exec.Cmd
}

func (w *webServer) stop() {
	w.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(5*time.Second, func() { w.cmd.Process.Kill() })
	w.cmd.Wait()
	timer.Stop()
}

// alive reports whether the server still runs.
func (w *webServer) alive() bool {
	conn, err := net.DialTimeout("tcp", w.addr, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// startWeb starts a web server over our collector.
func (b *bench) startWeb(ctx context.Context, real bool) (*webServer, error) {
	if real {
		return startProxy(ctx, b.ours.dir, "C", realPMProxy)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &webServer{name: "ours", addr: net.JoinHostPort("127.0.0.1", port), cmd: exec.CommandContext(ctx, exe)}
	w.cmd.Env = append(os.Environ(), webEnv+"="+b.ours.tcp, webAddrEnv+"="+w.addr)
	return w.start()
}

// startProxy starts the program pmproxy of a side, with its files in a new folder below dir.
func startProxy(ctx context.Context, dir, name, program string) (*webServer, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if dir, err = os.MkdirTemp(dir, "web"); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "pmproxy.conf")
	text := "[pmproxy]\nredis.enabled = false\nsecure.enabled = false\n[redis]\nenabled = false\n[discover]\nenabled = false\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return nil, err
	}
	w := &webServer{name: name, addr: net.JoinHostPort("127.0.0.1", port)}
	w.cmd = exec.CommandContext(ctx, program, "-f", "-A", "-U", "root", "-c", conf, "-i", "127.0.0.1", "-p", port,
		"-s", filepath.Join(dir, "s"), "-l", filepath.Join(dir, "log"), "-x", filepath.Join(dir, "fatal"))
	w.cmd.Dir = dir
	return w.start()
}

// start starts the server and waits until it answers.
func (w *webServer) start() (*webServer, error) {
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if w.alive() {
			return w, nil
		}
	}
	w.stop()
	return nil, fmt.Errorf("%s pmproxy does not answer", w.name)
}

// webServers measures fetches and scrapes over HTTP: both web servers ask our collector, one at a time.
func (b *bench) webServers(ctx context.Context) error {
	headed := false
	for _, clients := range []int{1, 2, 100, 1000} {
		label := "web.fetch." + strconv.Itoa(clients)
		if !b.wants(label) {
			continue
		}
		if !headed {
			headed = true
			fmt.Printf("\n%-16s %6s %10s %10s %10s %8s %12s\n", "web", "side", "answers/s", "p50", "p99", "lost", "CPU/answer")
		}
		for _, real := range []bool{true, false} {
			if real && b.real == nil {
				continue
			}
			w, err := b.startWeb(ctx, real)
			if err != nil {
				return err
			}
			before := cpuTime([]int{w.cmd.Process.Pid})
			m := webLoad(w.addr, clients, b.time, "kernel.all.load", b.ours.tcp)
			cpu := cpuTime([]int{w.cmd.Process.Pid}) - before
			if m.answers == 0 || !w.alive() {
				fmt.Printf("%-16s %6s %10s %10s %10s %8d %12s\n", label, w.name, "ended", "", "", m.lost, "")
			} else {
				fmt.Printf("%-16s %6s %10.0f %10s %10s %8d %12s\n", label, w.name, float64(m.answers)/b.time.Seconds(), short(m.quantile(0.5)),
					short(m.quantile(0.99)), m.lost, short(cpu/time.Duration(m.answers)))
			}
			w.stop()
		}
	}
	return b.webForwards(ctx)
}

// webForwards measures clients of the collector that connect through a proxy.
func (b *bench) webForwards(ctx context.Context) error {
	headed := false
	for _, clients := range []int{1, 2, 100} {
		label := "web.forward." + strconv.Itoa(clients)
		if !b.wants(label) {
			continue
		}
		if !headed {
			headed = true
			fmt.Printf("\n%-16s %6s %10s %10s %10s %8s %12s\n", "forwarded", "side", "answers/s", "p50", "p99", "lost", "CPU/answer")
		}
		for _, real := range []bool{true, false} {
			if real && b.real == nil {
				continue
			}
			w, err := b.startWeb(ctx, real)
			if err != nil {
				return err
			}
			before := cpuTime([]int{w.cmd.Process.Pid})
			m := forwardLoad(ctx, b.ours.tcp+"@"+w.addr, clients, b.time)
			cpu := cpuTime([]int{w.cmd.Process.Pid}) - before
			if m.answers == 0 {
				fmt.Printf("%-16s %6s %10s %10s %10s %8d %12s\n", label, w.name, "ended", "", "", m.lost, "")
			} else {
				fmt.Printf("%-16s %6s %10.0f %10s %10s %8d %12s\n", label, w.name, float64(m.answers)/b.time.Seconds(), short(m.quantile(0.5)),
					short(m.quantile(0.99)), m.lost, short(cpu/time.Duration(m.answers)))
			}
			w.stop()
		}
	}
	return nil
}

// forwardLoad has clients of the protocol of PCP fetch a metric of the collector itself for a time.
func forwardLoad(ctx context.Context, spec string, clients int, d time.Duration) (m webMeasured) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var stop atomic.Bool
	ids := []pcp.PMID{pcp.NewPMID(2, 0, 0)}
	ready := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(clients)
	for range clients {
		wg.Go(func() {
			c, err := pmapi.Dial(ctx, spec)
			waiting.Done()
			<-ready
			var times []time.Duration
			if err == nil {
				defer c.Close()
				var res pcp.Result
				for !stop.Load() && err == nil {
					begin := time.Now()
					if _, err = c.FetchInto(ctx, ids, &res); err == nil {
						times = append(times, time.Since(begin))
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			m.answers += len(times)
			m.times = append(m.times, times...)
			if err != nil {
				m.lost++
			}
		})
	}
	waiting.Wait()
	close(ready)
	time.Sleep(d)
	stop.Store(true)
	wg.Wait()
	slices.Sort(m.times)
	return m
}

// scrapes measures /metrics of everything: all web servers ask one collector of ours. A client that accepts compressed
// answers gets them from ours.
func (c *compare) scrapes(compressed bool) opener {
	return func(ctx context.Context) ([]harness.Side, string, func(), error) {
		collector, err := c.all(ctx)
		if err != nil {
			return nil, "", nil, err
		}
		var list []harness.Side
		var servers []*webServer
		stop := func() {
			for _, w := range servers {
				w.stop()
			}
		}
		for _, side := range sides() {
			path, err := c.tool(side, "pmproxy")
			if err != nil {
				stop()
				return nil, "", nil, err
			}
			if path == "" {
				continue
			}
			w, err := startProxy(ctx, c.dir, side, path)
			if err != nil {
				stop()
				return nil, "", nil, err
			}
			servers = append(servers, w)
			pids := func() []int { return family(w.cmd.Process.Pid) }
			list = append(list, harness.Side{Name: side, Measure: c.repeat(pids, func(ctx context.Context) error {
				return scrape(ctx, w.addr, collector.tcp, compressed)
			})})
		}
		now := servers[len(servers)-1]
		floor, err := c.replay(ctx, now.addr, func(addr string) error {
			return scrape(ctx, addr, collector.tcp, compressed)
		})
		if err != nil {
			stop()
			return nil, "", nil, err
		}
		list = append(list, harness.Side{Name: harness.Floor, Measure: c.repeat(floor.pids, func(ctx context.Context) error {
			return scrape(ctx, floor.tcp, collector.tcp, compressed)
		})})
		return list, "", func() { stop(); floor.stop() }, nil
	}
}

// scrape gets all metrics once.
func scrape(ctx context.Context, addr, host string, compressed bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics?hostspec="+host, nil)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{DisableCompression: !compressed}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// webMeasured is the result for many clients.
type webMeasured struct {
	answers, lost int
	times         []time.Duration
}

func (m *webMeasured) quantile(q float64) time.Duration {
	if len(m.times) == 0 {
		return 0
	}
	return m.times[min(len(m.times)-1, int(q*float64(len(m.times))))]
}

// webLoad has clients fetch a metric for a time, each on a connection and in a context of its own, as soon as it has its answer.
func webLoad(addr string, clients int, d time.Duration, metric, host string) webMeasured {
	var m webMeasured
	var mu sync.Mutex
	var wg sync.WaitGroup
	var stop atomic.Bool
	ready := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(clients)
	for range clients {
		wg.Go(func() {
			times, err := webClient(addr, metric, host, &stop, waiting.Done, ready)
			mu.Lock()
			defer mu.Unlock()
			m.answers += len(times)
			m.times = append(m.times, times...)
			if err != nil {
				m.lost++
			}
		})
	}
	waiting.Wait()
	close(ready)
	time.Sleep(d)
	stop.Store(true)
	wg.Wait()
	slices.Sort(m.times)
	return m
}

func webClient(addr, metric, host string, stop *atomic.Bool, prepared func(), ready <-chan struct{}) ([]time.Duration, error) {
	conn, number, err := webContext(addr, host)
	prepared()
	<-ready
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	request := []byte("GET /pmapi/" + number + "/fetch?names=" + metric + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	times := make([]time.Duration, 0, 1<<14)
	for !stop.Load() {
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		begin := time.Now()
		if _, err := conn.Write(request); err != nil {
			return times, err
		}
		if err := webAnswer(in); err != nil {
			return times, err
		}
		times = append(times, time.Since(begin))
	}
	return times, nil
}

// webAnswer reads a good answer, with less to do than net/http: clients and servers share the processors.
func webAnswer(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("answer %q", line)
	}
	size, chunked := 0, false
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if size, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		}
	}
	for chunked {
		if line, err = in.ReadSlice('\n'); err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if err != nil {
			return err
		}
		if _, err := in.Discard(int(n) + 2); err != nil || n == 0 {
			return err
		}
	}
	_, err = in.Discard(size)
	return err
}

// webContext connects and makes a context.
func webContext(addr, host string) (net.Conn, string, error) {
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, "", err
	}
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "GET /pmapi/context?polltimeout=600&hostspec=%s HTTP/1.1\r\nHost: localhost\r\n\r\n", host)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		conn.Close()
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	_, rest, ok := strings.Cut(string(body), `{"context":`)
	number, _, _ := strings.Cut(rest, ",")
	if err != nil || !ok {
		conn.Close()
		return nil, "", fmt.Errorf("no context: %s %v", body, err)
	}
	return conn, number, nil
}

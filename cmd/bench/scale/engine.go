//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An engine is a VictoriaMetrics.
type engine struct {
	cmd  *exec.Cmd
	path string
	addr string
	dir  string

	spent time.Duration // by those that were killed
	bytes float64       // that those received
}

func startEngine(ctx context.Context, path, dir string) (*engine, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &engine{path: path, addr: ln.Addr().String(), dir: dir}
	ln.Close()
	return e, e.start(ctx)
}

// start starts the process, and waits until it answers.
func (e *engine) start(ctx context.Context) error {
	log, err := os.OpenFile(e.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	// New samples are found at once, and no sample is left out because of its time.
	e.cmd = exec.Command(e.path, "-storageDataPath="+e.dir, "-httpListenAddr="+e.addr, "-retentionPeriod=100y", "-search.latencyOffset=0s", "-search.disableCache", "-memory.allowedPercent=20")
	e.cmd.Stdout, e.cmd.Stderr = log, log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := e.cmd.Start(); err != nil {
		return err
	}
	for range 300 {
		if r, err := http.Get(e.url() + "/health"); err == nil {
			r.Body.Close()
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			break
		}
	}
	e.stop()
	return fmt.Errorf("%s does not answer, see %s.log", e.path, e.dir)
}

// kill kills the process.
func (e *engine) kill() {
	e.spent, e.bytes = e.cpu(), e.received(context.Background())
	e.cmd.Process.Kill()
	e.cmd.Wait()
}

// cpu returns the processor time so far.
func (e *engine) cpu() time.Duration { return e.spent + cpuTime(e.cmd.Process.Pid) }

func (e *engine) url() string { return "http://" + e.addr }

func (e *engine) stop() {
	e.cmd.Process.Signal(syscall.SIGTERM)
	e.cmd.Wait()
}

// get makes a request.
func (e *engine) get(ctx context.Context, path string, args url.Values) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, "GET", e.url()+path+"?"+args.Encode(), nil)
	if err != nil {
		return nil, err
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != 200 {
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1000))
		r.Body.Close()
		return nil, fmt.Errorf("%s: %s: %s", path, r.Status, b)
	}
	return r.Body, nil
}

// flush makes all samples visible to queries.
func (e *engine) flush(ctx context.Context) error {
	body, err := e.get(ctx, "/internal/force_flush", nil)
	if err != nil {
		return err
	}
	return body.Close()
}

// A point is a value at a time in milliseconds since 1970.
type point struct {
	at    int64
	value float64
}

// export calls f with each series of a host, without stale markers.
func (e *engine) export(ctx context.Context, host string, f func(metric, instance string, list []point)) error {
	body, err := e.get(ctx, "/api/v1/export", url.Values{"match[]": {fmt.Sprintf(`{__name__=~"sim_.*",hostname=%q}`, host)}})
	if err != nil {
		return err
	}
	defer body.Close()
	d := json.NewDecoder(bufio.NewReader(body))
	for {
		var one struct {
			Metric     map[string]string
			Values     []*float64
			Timestamps []int64
		}
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(one.Values) != len(one.Timestamps) {
			return fmt.Errorf("export: %d values, %d times", len(one.Values), len(one.Timestamps))
		}
		var list []point
		for i, v := range one.Values {
			if v != nil {
				list = append(list, point{one.Timestamps[i], *v})
			}
		}
		f(one.Metric["__name__"], one.Metric["instname"], list)
	}
}

// received returns the number of bytes that were sent to the engine.
func (e *engine) received(ctx context.Context) (sum float64) {
	sum = e.bytes
	body, err := e.get(ctx, "/metrics", nil)
	if err != nil {
		return sum
	}
	defer body.Close()
	s := bufio.NewScanner(body)
	for s.Scan() {
		if rest, ok := strings.CutPrefix(s.Text(), "vm_tcplistener_read_bytes_total{"); ok {
			if _, v, ok := strings.Cut(rest, "} "); ok {
				n, _ := strconv.ParseFloat(v, 64)
				sum += n
			}
		}
	}
	return sum
}

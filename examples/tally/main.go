// Tally is an agent that programs send numbers to: a datagram "mail.sent 3" to its
// socket adds 3 to the metric tally.mail.sent, which exists from then on.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/cache"
	"github.com/go-pcp/pcp/pmns"
)

func main() {
	path := "/run/pcp/tally.socket"
	d := &pmda.Daemon{
		Name: "pmdatally", Domain: 404,
		Own: []pmda.Option{{Short: 's', Long: "socket", Arg: "PATH", Help: "listen at PATH rather than " + path}},
		Set: func(_ *pmda.Option, arg string) error { path = arg; return nil },
		New: func(domain int, log *slog.Logger) (pmda.Agent, error) { return newAgent(domain, path, log) },
	}
	d.Main()
}

// maxNames is the maximum number of names that the agent keeps for senders.
const maxNames = 1000

// A tally serves two: the collector, one request at a time, and a goroutine that waits for
// senders. The data that both use is guarded.
type tally struct {
	*pmda.Table
	conn net.PacketConn
	log  *slog.Logger
	done chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex
	sums  map[string]float64
	items *cache.Cache[struct{}] // remembers which name has which number
	now   map[string]float64     // of this request
}

func newAgent(domain int, path string, log *slog.Logger) (pmda.Agent, error) {
	t := &tally{
		log: log, sums: make(map[string]float64), done: make(chan struct{}),
		items: cache.New[struct{}](pcp.NewInDom(domain, 0), &cache.Options{Log: log}),
	}
	if err := t.items.Resize(pcp.MaxItem); err != nil {
		return nil, err
	}
	if _, err := t.items.Load(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var err error
	t.Table, err = pmda.NewTable(pmda.Config{
		Name: "tally", Domain: domain, Dynamic: []string{"tally"}, Log: log,
		Refresh: func(context.Context, []pcp.PMID) error {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.now = maps.Clone(t.sums)
			return nil
		},
		Value: func(_ *pmda.FetchRequest, m *pmda.Metric, _ int32, _ int) (pcp.Value, error) {
			sum, ok := t.now[m.User.(string)]
			if !ok { // it is newer than the refresh
				return pcp.Value{}, pmda.ErrNoValue
			}
			return pcp.DoubleValue(sum), nil
		},
	})
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if t.conn, err = net.ListenPacket("unixgram", path); err != nil {
		return nil, err
	}
	go t.listen()
	return t, nil
}

// Close ends the goroutine.
func (t *tally) Close() error {
	err := t.conn.Close()
	<-t.done
	return err
}

func (t *tally) listen() {
	defer close(t.done)
	b := make([]byte, 256)
	for {
		n, _, err := t.conn.ReadFrom(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			err = t.add(b[:n])
		}
		if err != nil {
			t.log.Warn("datagram is not counted", "err", err)
		}
	}
}

// add counts one datagram.
func (t *tally) add(b []byte) error {
	name, number, _ := bytes.Cut(bytes.TrimSpace(b), []byte(" "))
	x, err := strconv.ParseFloat(string(number), 64)
	if err != nil || !pmns.ValidName(string(name)) {
		return fmt.Errorf("%q is not a name and a number", b)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.sums[string(name)]
	if !known && len(t.sums) == maxNames {
		return fmt.Errorf("%s: there are %d names already", name, maxNames)
	}
	t.sums[string(name)] += x
	if known {
		return nil
	}
	if err := t.rows(); err != nil { // "mail" and "mail.sent" cannot both be metrics
		delete(t.sums, string(name))
		t.items.Cull(string(name))
		return err
	}
	return nil
}

// rows makes a metric of each name.
func (t *tally) rows() error {
	var rows []pmda.Metric
	for _, name := range slices.Sorted(maps.Keys(t.sums)) {
		item, err := t.items.Store(name, struct{}{})
		if err != nil {
			return err
		}
		rows = append(rows, pmda.Metric{
			Name: "tally." + name, Item: int(item), User: name, Type: pcp.TypeDouble, Sem: pcp.SemCounter,
			OneLine: "sum of the numbers sent as " + name, Help: "Programs send them as datagrams to the agent.",
		})
	}
	if err := t.SetMetrics(rows); err != nil {
		return err
	}
	_, err := t.items.Save()
	return err
}

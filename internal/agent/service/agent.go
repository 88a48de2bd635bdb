package service

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// The times of readings.
const (
	Patience = 250 * time.Millisecond // for which a fetch waits for a server
	Limit    = 3 * time.Second        // for a reading
	MaxAge   = 15 * time.Second       // of values that are reported

	minPause = time.Second // after a reading that failed
	maxPause = time.Minute
)

// A Metric is a row of an agent's table.
type Metric struct {
	Name          string
	Cluster, Item int
	Type          pcp.Type
	InDom         *InDom // nil for a metric with a single value
	Sem           pcp.Sem
	Units         pcp.Units
	Key           string // of its values in an answer; "" means the last component of Name
	Help          string // one line
	Long          string // the help text beside it; "" means one made from Help and Config.Origin
}

// An InDom is an instance domain.
type InDom struct {
	Serial     int
	Help, Long string
	// Members are instances that are always in the domain, with their place as number; the numbers of others are made from their
	// names.
	Members []string
	// Labels of the domain are a JSON object, "" for none. InstanceLabel is the name of a label of each instance that has its name, "" for
	// none.
	Labels, InstanceLabel string

	number int // place in the agent's list
}

// A Server is a server of the service.
type Server struct {
	Name string // for messages
	// Read asks the server and fills an answer. It ends with its context. One call is made at a time.
	Read func(ctx context.Context, a *Answer) error
	// Close, which may be nil, releases what Read keeps.
	Close func()
}

// A Config describes an agent.
type Config struct {
	Name    string
	Domain  int
	Metrics []Metric
	InDoms  []*InDom
	// Origin describes where the value of a key is from, with %s for the key: "The field %s of the answer to INFO.".
	Origin  string
	Servers []Server
	// MinAge is the age of values until which a server is not asked again, for servers whose answers are costly.
	MinAge time.Duration
	Log    *slog.Logger // nil discards

	patience time.Duration // 0 means Patience; for tests, as are the others
	limit    time.Duration
	maxAge   time.Duration
}

// An Agent serves the metrics of a service. It implements the interfaces of a [pmda.Table], and pmda.Preparer.
type Agent struct {
	*pmda.Table
	layout  *layout
	servers []*server
	now     *Answer // the values that Fetch copies
}

// A layout has the place of each metric in an answer.
type layout struct {
	indoms []*InDom
	keys   []map[string][]place // by number of the domain, 0 for metrics without one
	width  []int                // columns
}

type place struct {
	col int
	of  pcp.Type
	sem pcp.Sem
}

// New returns the agent that cfg describes. It reads nothing yet.
func New(cfg Config) (*Agent, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := &layout{indoms: cfg.InDoms, keys: make([]map[string][]place, len(cfg.InDoms)+1), width: make([]int, len(cfg.InDoms)+1)}
	for i := range l.keys {
		l.keys[i] = make(map[string][]place)
	}
	a := &Agent{layout: l, now: newAnswer(l)}
	indoms := make([]*pmda.InDom, len(cfg.InDoms))
	for i, d := range cfg.InDoms {
		d.number = i + 1
		indoms[i] = &pmda.InDom{
			Serial: d.Serial, OneLine: d.Help, Help: d.Long, Labels: d.Labels,
			List:    func(context.Context) ([]pcp.Instance, error) { return a.now.tables[i+1].insts, nil },
			Refresh: a.refreshInstances,
		}
	}
	for i, d := range cfg.InDoms {
		if d.InstanceLabel != "" {
			indoms[i].InstanceLabels = func(_ int32, j int) string {
				b, err := json.Marshal(map[string]string{d.InstanceLabel: a.now.tables[i+1].insts[j].Name})
				if err != nil {
					return ""
				}
				return string(b)
			}
		}
	}
	list := make([]pmda.Metric, len(cfg.Metrics))
	for i, m := range cfg.Metrics {
		number := 0
		var indom *pmda.InDom
		if m.InDom != nil {
			if number = m.InDom.number; number == 0 || cfg.InDoms[number-1] != m.InDom {
				return nil, fmt.Errorf("agent %s: metric %s: its instance domain is not in the list", cfg.Name, m.Name)
			}
			indom = indoms[number-1]
		}
		key := m.Key
		if key == "" {
			key = strings.TrimPrefix(path.Ext(m.Name), ".")
		}
		if m.Long == "" && cfg.Origin != "" {
			m.Long = m.Help + ".\n" + fmt.Sprintf(cfg.Origin, key)
		}
		col := l.width[number]
		l.width[number]++
		l.keys[number][key] = append(l.keys[number][key], place{col, m.Type, m.Sem})
		list[i] = pmda.Metric{
			Name: m.Name, Cluster: m.Cluster, Item: m.Item, Type: m.Type, InDom: indom, Sem: m.Sem, Units: m.Units, OneLine: m.Help, Help: m.Long,
			Value: func(_ int32, i int) (pcp.Value, error) { return a.now.value(number, i, col) },
		}
	}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{Name: cfg.Name, Domain: cfg.Domain, Metrics: list, InDoms: indoms, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	for _, s := range cfg.Servers {
		a.servers = append(a.servers, newServer(s, l, cfg))
	}
	a.merge(time.Now())
	return a, nil
}

// Prepare implements [pmda.Preparer]: it has the servers read, and waits for those that answer in time.
func (a *Agent) Prepare(ctx context.Context, _ []pcp.PMID) {
	waits := make([]<-chan struct{}, 0, len(a.servers))
	for _, s := range a.servers {
		if done := s.start(); done != nil {
			waits = append(waits, done)
		}
	}
	if len(waits) == 0 {
		return
	}
	timer := time.NewTimer(a.servers[0].patience)
	defer timer.Stop()
	for _, done := range waits {
		select {
		case <-done:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Await has the servers read, as Prepare does, and waits for all of them, however long they take. It is for tests.
func (a *Agent) Await() {
	for _, s := range a.servers {
		s.start()
		s.mu.Lock()
		running := s.running
		s.mu.Unlock()
		if running != nil {
			<-running
		}
	}
}

// Refresh implements [pmda.Refresher]: fetches get the last values of all servers.
func (a *Agent) Refresh(ctx context.Context, ids []pcp.PMID) error {
	a.merge(time.Now())
	return a.Table.Refresh(ctx, ids)
}

// refreshInstances is for a request for instances, which are those of the last fetch, if there was one recently.
func (a *Agent) refreshInstances(ctx context.Context) error {
	if a.merge(time.Now()); a.now.empty {
		a.Prepare(ctx, nil)
		a.merge(time.Now())
	}
	return nil
}

// merge puts the answers of the servers together.
func (a *Agent) merge(now time.Time) {
	if len(a.servers) == 1 {
		if one := a.servers[0].values(now); one != nil {
			a.now = one
			return
		}
	}
	all := newAnswer(a.layout)
	for _, s := range a.servers {
		if one := s.values(now); one != nil {
			all.add(one)
		}
	}
	all.finish()
	a.now = all
}

// Try reads all servers, and returns nil if one of them answers, else the error of the first. It is for builtin.Spec.Try.
func (a *Agent) Try(ctx context.Context) error {
	var first error
	for _, s := range a.servers {
		err := s.Read(ctx, newAnswer(a.layout))
		if err == nil {
			return nil
		}
		if first == nil {
			first = fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return first
}

// Blank returns an answer without values, for tests of the functions that fill one.
func (a *Agent) Blank() *Answer { return newAnswer(a.layout) }

// Close ends the readings and closes the connections.
func (a *Agent) Close() error {
	for _, s := range a.servers {
		s.stop()
	}
	return nil
}

package column

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// A Config describes an Agent.
type Config struct {
	Name   string // of the agent: in errors, and in the label of its domain
	Domain int    // under which the agent is served
	// Trusts reports whether a client, which may be nil, gets the values of sources
	// that are Restricted. If it is nil all clients do.
	Trusts func(client *pmda.Client) bool
	// Order lists subtrees of names, or names, that come first in the name space, in
	// this order. All other names follow, in the order of the tables.
	Order []string
	// Texts are help texts that are too long for tables, often an embedded file. Metric.Help
	// and Metric.Long take precedence. A line "@ NAME one line of text" begins the texts of
	// a metric, and "@ indom:SERIAL" those of an instance domain; the help text follows, and
	// its lines are wrapped again. Blank lines are between paragraphs. In a name {a,b}
	// matches either, and * anything; an entry for one name takes precedence over one with
	// *. "@+ NAME" adds paragraphs to the texts of all that match. A line "= TEXT" is the
	// origin of the values, in place of the name of their Source. After a line "% WORD NAME
	// text" $WORD means the text in the texts of the names that match, unless an earlier
	// line defined it. # begins a comment.
	Texts string
	// Log gets a line about each source that exists and cannot be read; nil discards.
	Log *slog.Logger
}

// An Agent serves families. It implements pmda.Agent and pmda.Refresher, NameSpacer,
// Texter, Originator and Labeler.
type Agent struct {
	cfg     Config
	metrics []metric
	index   [][]int16 // by cluster and item: 1 + the metric's place in metrics
	blocks  []*Block
	sources []*Source
	indoms  []*InDom

	texts *texts // of cfg.Texts; nil until one is asked for

	fresh   Set // read by the last Refresh, or since
	scratch Set // what a call wants
}

// A metric is a Metric of an agent.
type metric struct {
	*Metric
	block      int // its place in Agent.blocks
	col        int
	source     int // the number of the source that fills the block
	restricted bool
	scoped     bool
	indom      pcp.InDom
}

// A Set is a set of the sources of an agent, by number.
type Set []bool

// The largest cluster and item of a PMID, and how many metrics the index has room for.
const (
	maxCluster = 1<<12 - 1
	maxItem    = 1<<10 - 1
	maxMetrics = math.MaxInt16
)

// New returns the agent that serves families. It reads nothing yet. The error
// names the source or metric that is wrong.
func New(cfg Config, families ...Family) (*Agent, error) {
	a := &Agent{cfg: cfg}
	if a.cfg.Log == nil {
		a.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := a.addSources(families); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	for _, f := range families {
		for i := range f.Metrics {
			m := &f.Metrics[i]
			if err := a.addMetric(&f, m); err != nil {
				return nil, fmt.Errorf("%s: metric %s (%d.%d): %w", cfg.Name, m.Name, m.Cluster, m.Item, err)
			}
		}
	}
	return a, nil
}

// addSources numbers the sources and finds their blocks and instance domains.
func (a *Agent) addSources(families []Family) error {
	for _, f := range families {
		for _, s := range f.Sources {
			if s.Read == nil && s.Row == nil && (s.File == nil || s.Parse == nil) {
				return fmt.Errorf("%s: source %s: nothing reads it", f.Name, s.Name)
			}
			for _, earlier := range s.After {
				if n := earlier.number; n >= len(a.sources) || a.sources[n] != earlier {
					return fmt.Errorf("%s: source %s: %s, which it builds on, does not come before it", f.Name, s.Name, earlier.Name)
				}
			}
			s.number = len(a.sources)
			a.sources = append(a.sources, s)
			for _, b := range s.Blocks {
				if b.source != nil {
					return fmt.Errorf("%s: source %s: a block is also filled by %s", f.Name, s.Name, b.source.Name)
				}
				b.source, b.place = s, len(a.blocks)
				a.blocks = append(a.blocks, b)
				if err := a.addInDom(b); err != nil {
					return fmt.Errorf("%s: source %s: %w", f.Name, s.Name, err)
				}
			}
		}
	}
	a.fresh, a.scratch = make(Set, len(a.sources)), make(Set, len(a.sources))
	return nil
}

func (a *Agent) addInDom(b *Block) error {
	d := b.inDom
	if d == nil {
		return nil
	}
	if d.block == nil {
		return fmt.Errorf("no block lists instance domain %d", d.Serial)
	}
	for _, other := range a.indoms {
		if other == d {
			return nil
		}
		if other.Serial == d.Serial {
			return fmt.Errorf("there are two instance domains %d", d.Serial)
		}
	}
	a.indoms = append(a.indoms, d)
	return nil
}

// block returns the block of a metric, nil if none of the sources fills it.
func (f *Family) block(m *Metric) *Block {
	for _, s := range f.Sources {
		for _, b := range s.Blocks {
			if b.number == m.From && len(b.metrics) > 0 && &b.metrics[0] == &f.Metrics[0] {
				return b
			}
		}
	}
	return nil
}

func (a *Agent) addMetric(f *Family, m *Metric) error {
	b := f.block(m)
	if b == nil {
		return fmt.Errorf("no source fills block %d", m.From)
	}
	if m.Cluster < 0 || m.Cluster > maxCluster || m.Item < 0 || m.Item > maxItem {
		return pcp.ErrPMID
	}
	if len(a.metrics) == maxMetrics {
		return fmt.Errorf("an agent cannot have more than %d metrics", maxMetrics)
	}
	pm := metric{
		Metric: m, block: b.place, col: b.column(m), indom: pcp.InDomNull,
		source: b.source.number, restricted: b.source.Restricted, scoped: b.source.Scope != 0,
	}
	if pm.col < 0 || pm.col >= b.cols {
		return fmt.Errorf("column %d of %d", pm.col, b.cols)
	}
	if d := b.inDom; d != nil {
		pm.indom = pcp.NewInDom(a.cfg.Domain, d.Serial)
	}
	for len(a.index) <= m.Cluster {
		a.index = append(a.index, nil)
	}
	items := a.index[m.Cluster]
	for len(items) <= m.Item {
		items = append(items, 0)
	}
	if i := items[m.Item]; i != 0 {
		return fmt.Errorf("%s has the same PMID", a.metrics[i-1].Name)
	}
	a.metrics = append(a.metrics, pm)
	items[m.Item] = int16(len(a.metrics))
	a.index[m.Cluster] = items
	return nil
}

// Twin returns an agent with the same metrics that reads other files: families have
// the same sources, blocks and metrics as those that a was made of, but their own
// state. Values of the twin can be fetched in place of those of a with
// [Agent.FetchOver]. The error is one of New.
func (a *Agent) Twin(families ...Family) (*Agent, error) {
	t := &Agent{cfg: a.cfg, metrics: a.metrics, index: a.index}
	if err := t.addSources(families); err != nil {
		return nil, fmt.Errorf("%s: %w", a.cfg.Name, err)
	}
	if len(t.sources) != len(a.sources) || len(t.blocks) != len(a.blocks) {
		return nil, fmt.Errorf("%s: the families of a twin differ", a.cfg.Name)
	}
	return t, nil
}

// metric returns the metric id, or nil.
func (a *Agent) metric(id pcp.PMID) *metric {
	if id.Domain() != a.cfg.Domain {
		return nil
	}
	if c := id.Cluster(); c < len(a.index) {
		if items, i := a.index[c], id.Item(); i < len(items) && items[i] > 0 {
			return &a.metrics[items[i]-1]
		}
	}
	return nil
}

// indom returns an instance domain, or nil.
func (a *Agent) indom(id pcp.InDom) *InDom {
	if id.Domain() == a.cfg.Domain {
		for _, d := range a.indoms {
			if d.Serial == id.Serial() {
				return d
			}
		}
	}
	return nil
}

func (a *Agent) pmid(m *metric) pcp.PMID { return pcp.NewPMID(a.cfg.Domain, m.Cluster, m.Item) }

// Sources returns the sources, in the order in which they are read.
func (a *Agent) Sources() []*Source { return a.sources }

// SourceOf returns the source of a metric, nil if there is no such metric.
func (a *Agent) SourceOf(id pcp.PMID) *Source {
	if m := a.metric(id); m != nil {
		return a.sources[m.source]
	}
	return nil
}

// Metrics calls fn for each metric with its name, in the order of the tables.
func (a *Agent) Metrics(fn func(name string, id pcp.PMID)) {
	for i := range a.metrics {
		fn(a.metrics[i].Name, a.pmid(&a.metrics[i]))
	}
}

// NameSpace implements pmda.NameSpacer. It panics if a metric has a name that is not valid.
func (a *Agent) NameSpace() *pmns.Tree {
	rank := make(map[string]int, len(a.cfg.Order))
	for i, name := range a.cfg.Order {
		rank[name] = i
	}
	ranked := make([][]*metric, len(a.cfg.Order)+1)
	for i := range a.metrics {
		m := &a.metrics[i]
		r := rankOf(rank, m.Name)
		ranked[r] = append(ranked[r], m)
	}
	t := pmns.New()
	for _, ms := range ranked {
		for _, m := range ms {
			if m.Name == "" {
				continue
			}
			if err := t.Add(m.Name, a.pmid(m)); err != nil {
				panic(a.cfg.Name + ": table of metrics: " + err.Error())
			}
		}
	}
	return t
}

// rankOf returns the rank of the subtree that a name is in, or else one more than the
// last.
func rankOf(rank map[string]int, name string) int {
	for prefix := name; ; {
		if r, ok := rank[prefix]; ok {
			return r
		}
		dot := strings.LastIndexByte(prefix, '.')
		if dot < 0 {
			return len(rank)
		}
		prefix = prefix[:dot]
	}
}

// Desc implements pmda.Agent.
func (a *Agent) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	m := a.metric(id)
	if m == nil {
		return pcp.Desc{}, fmt.Errorf("%s: metric %v: %w", a.cfg.Name, id, pcp.ErrPMID)
	}
	return pcp.Desc{PMID: id, Type: m.Type, InDom: m.indom, Sem: m.Sem, Units: m.Units}, nil
}

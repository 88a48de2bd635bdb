package pmrep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmapi"
)

// A Set is a set of metrics that are fetched together. Its Metrics may change with [Set.Update] only.
type Set struct {
	Metrics []*Metric

	c       *pmapi.Context
	g       *pmapi.FetchGroup
	specs   []conf.Metric
	o       Options
	sample  Sample
	ranked  []bool                     // by metric: its instances are those of a predicate
	kept    map[pcp.InDom][]int32      // instances that predicates keep
	unknown []string                   // metrics, with Options.Seven
	insts   map[pcp.InDom]*domainInsts // while the metrics are looked up

	hadInsts [][]int32 // by metric: the instances that had values, if labels are requested
}

// A Metric is one of a Set.
type Metric struct {
	Name  string
	Desc  pcp.Desc
	Label string // above a column

	// Instances are the instances of the metric when the set is made, or in archives all that it ever has, as far as
	// the options select them. A metric without instances has one with the number pcp.InNull and no name.
	Instances []pcp.Instance
	Wanted    []string // expressions for instances

	Unit  string    // as reports print it, such as "KB/s"
	Units pcp.Units // the units of converted values
	Raw   bool      // values of a counter are not rates
	Type  pcp.Type  // of values

	Width, Precision int
	Limit            int // leaves out values, see Options

	Text Text // if the options request it

	labels    []string         // JSON, of the levels above instances
	levels    []pcp.LabelFlags // of labels
	byInst    map[int32]string // JSON
	hadValues bool             // in the last sample, or it was the first
	spec      conf.Metric
	match     *matcher
	items     []item
	group     *pmapi.GroupInstances
}

// Text is the help text of a metric and its instance domain, short and long; missing texts are empty.
type Text struct{ Line, Help, InDomLine, InDomHelp string }

// An item is an instance that is fetched separately.
type item struct {
	inst int32
	name string
	*pmapi.GroupItem
}

// Flat reports whether the metric has no instances.
func (m *Metric) Flat() bool { return len(m.Instances) > 0 && m.Instances[0].Inst == pcp.InNull }

// IsString reports whether the values are strings.
func (m *Metric) IsString() bool { return m.Desc.Type == pcp.TypeString }

// A NoInstancesError means that no metric has the wanted instances.
type NoInstancesError struct{ Wanted []string }

// Error implements error.
func (e *NoInstancesError) Error() string { return "No matching instances found." }

// New makes a Set of metrics, which it looks up in c. The Set owns c and its profile; in archives the time of c is
// kept. The environment of the process has effect as on a [pmapi.FetchGroup].
func New(ctx context.Context, c *pmapi.Context, metrics []conf.Metric, o Options) (*Set, error) {
	return NewConfig(ctx, c, metrics, o, config.Process())
}

// NewConfig is New with the environment of cfg.
func NewConfig(ctx context.Context, c *pmapi.Context, metrics []conf.Metric, o Options, cfg *config.Config) (*Set, error) {
	s := &Set{c: c, specs: slices.Clone(metrics), o: o}
	var err error
	if s.g, err = pmapi.NewFetchGroupConfig(c, cfg); err != nil {
		return nil, err
	}
	if err := s.define(ctx); err != nil {
		return nil, err
	}
	return s, s.resolve(ctx)
}

// Context returns the context of the set.
func (s *Set) Context() *pmapi.Context { return s.c }

// Options returns the options of the set.
func (s *Set) Options() *Options { return &s.o }

// Update looks the metrics up again, after the names of a collector have changed.
func (s *Set) Update(ctx context.Context) error {
	if err := s.g.Clear(); err != nil {
		return err
	}
	if err := s.define(ctx); err != nil {
		return err
	}
	return s.resolve(ctx)
}

// Close closes the context of the set.
func (s *Set) Close() error { return s.g.Close() }

// Find returns the index of the metric of that name, -1 if it is not in the set.
func (s *Set) Find(name string) int {
	return slices.IndexFunc(s.Metrics, func(m *Metric) bool { return m.Name == name })
}

func errorf(format string, args ...any) error { return &conf.Error{Text: fmt.Sprintf(format, args...)} }

// ErrText returns an error in the words of the Python module: with the name of its code.
func ErrText(err error) string {
	code := pcp.Code(err)
	if symbol := code.Symbol(); strings.HasPrefix(symbol, "PM_ERR_") {
		return symbol + " " + code.Error()
	}
	return code.Error()
}

// define makes the derived metrics known.
func (s *Set) define(ctx context.Context) error {
	for _, d := range strings.Split(s.o.Derived, ";") {
		if d == "" {
			continue
		}
		if strings.HasPrefix(d, "/") || strings.HasPrefix(d, ".") {
			err := error(pcp.ErrNYI)
			if s.o.Load != nil {
				err = s.o.Load(ctx, s.c, d)
			}
			if err != nil {
				return errorf("Failed to load derived metric definitions from file '%s':\n%s.", d, ErrText(err))
			}
			continue
		}
		if err := s.defineOne(ctx, d); err != nil {
			return errorf("Failed to register derived metric:\n%v.", err)
		}
	}
	return nil
}

func (s *Set) defineOne(ctx context.Context, d string) error {
	name, expr, ok := strings.Cut(d, "=")
	if !ok {
		//lint:ignore ST1005 these are the words of the C program, to the user
		return errors.New("Invalid syntax (expected metric=expression)")
	}
	name, expr = trim(name), trim(expr)
	_, err := s.c.LookupName(ctx, name)
	switch {
	case err == nil:
		return nil
	case pcp.Code(err) != pcp.ErrName:
		return errors.New(pcp.Code(err).Error())
	}
	define := s.o.Define
	if define == nil {
		define = func(ctx context.Context, c *pmapi.Context, name, expr string) error {
			return c.AddDerived(ctx, name, expr)
		}
	}
	if err := define(ctx, s.c, name, expr); err != nil {
		return errors.New(pcp.ErrConv.Error() + " " + err.Error() + "\n")
	}
	return nil
}

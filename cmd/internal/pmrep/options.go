package pmrep

import (
	"context"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/pmapi"
)

// Options select the values of a [Set] and their conversion. The zero Options have all instances of all metrics,
// counters as rates.
type Options struct {
	// Instances are names, numbers at the start of names, commands of processes, or regular expressions: they
	// select the instances, unless a metric has its own. With LiveFilter each sample has the instances that match
	// then; otherwise they are selected once.
	Instances  []string
	LiveFilter bool
	OmitFlat   bool // leave out metrics without instances

	// Rank leaves the instances with the highest values, or with the lowest if it is negative; 0 leaves all.
	// InvertFilter ranks before LiveFilter. The metrics of Predicate, which have instances, select those of the others
	// of the same domain.
	Rank         int
	InvertFilter bool
	Predicate    []string

	// Limit leaves out values that are less, or more than -Limit if it is negative. It is for metrics without a
	// limit of their own, LimitForce for all.
	Limit, LimitForce int

	Raw       bool // values of counters, not their rates
	RawPrefer bool // the same for metrics without a setting
	Native    bool // raw values in the units of the source, as archives need them

	// Units of metrics of that dimension: without Force for metrics without a unit of their
	// own.
	CountScale, CountScaleForce,
	SpaceScale, SpaceScaleForce,
	TimeScale, TimeScaleForce string

	Width          int  // of columns, for metrics without a width; 0: as wide as the label
	WidthForce     *int // of all columns
	Precision      *int // digits after the point, for metrics without a precision; nil: 3
	PrecisionForce *int // of all metrics

	IgnoreIncompat bool              // leave out metrics that cannot be reported or converted
	IgnoreUnknown  bool              // leave out names that the source does not have
	Seven          bool              // messages of PCP 7
	Warn           func(text string) // is called with Seven for the metrics that IgnoreUnknown leaves out; nil discards them
	LeafOnly       bool              // names must be names of metrics, not of trees

	Labels bool // get the labels of metrics and instances
	Texts  bool // get the help texts
	// FirstLabels makes metrics keep the labels that they had when the set was made. Otherwise a metric that had no
	// values for a while gets the labels at the time of its next ones: archives may have labels only later than at
	// their beginning.
	FirstLabels bool

	// Derived are definitions of metrics, "name = expression", and files of definitions whose paths begin with / or a
	// dot, with semicolons between them. Define and Load add them to a context; nil: as [pmapi.Context.AddDerived] does,
	// and files are an error.
	Derived string
	Define  func(ctx context.Context, c *pmapi.Context, name, expr string) error
	Load    func(ctx context.Context, c *pmapi.Context, path string) error
}

// defaultPrecision is the default number of digits after the point.
const defaultPrecision = 3

// ParseOptions returns the options of settings. The error is a [*conf.NumberError] if a setting should be
// a number.
func ParseOptions(s conf.Settings) (o Options, err error) {
	p := numbers{s: s}
	o = Options{
		Rank: p.number("rank"), Limit: p.number("limit_filter"), LimitForce: p.number("limit_filter_force"),
		Width: p.natural("width"), WidthForce: p.optional("width_force"),
		Precision: p.optional("precision"), PrecisionForce: p.optional("precision_force"),

		LiveFilter: s.On("live_filter"), InvertFilter: s.On("invert_filter"), OmitFlat: s.On("omit_flat"),
		Raw: s.Is1("type"), RawPrefer: s.On("type_prefer"), Native: s["output"] == "archive",
		CountScale: scale(s, "count_scale"), CountScaleForce: scale(s, "count_scale_force"),
		SpaceScale: scale(s, "space_scale"), SpaceScaleForce: scale(s, "space_scale_force"),
		TimeScale: scale(s, "time_scale"), TimeScaleForce: scale(s, "time_scale_force"),
		IgnoreIncompat: s.On("ignore_incompat"), IgnoreUnknown: s.On("ignore_unknown"),
		Labels: s.On("include_labels"), Texts: s.On("include_texts"),
		Derived: s["derived"],
	}
	if s.On("predicate") {
		o.Predicate = strings.Split(s["predicate"], ",")
	}
	return o, p.err
}

// scale returns a unit, unless the setting is just a number.
func scale(s conf.Settings, name string) string {
	if !s.On(name) {
		return ""
	}
	return s[name]
}

// numbers reads settings and keeps the first error.
type numbers struct {
	s   conf.Settings
	err error
}

func (p *numbers) number(name string) int { return p.keep(p.s.Int(name)) }

func (p *numbers) natural(name string) int { return min(p.keep(p.s.Natural(name)), conf.Wide) }

func (p *numbers) keep(n int, err error) int {
	if p.err == nil {
		p.err = err
	}
	return n
}

func (p *numbers) optional(name string) *int {
	if p.s[name] == "" {
		return nil
	}
	return new(p.natural(name))
}

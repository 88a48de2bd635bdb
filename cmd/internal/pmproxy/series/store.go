package series

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// A Store holds series. It is safe for concurrent use.
//
// What it returns belongs to the caller, but for samples. A series that it does not have is [ErrUnknown].
type Store interface {
	// Select returns the series that m matches, in the order of their identifiers, each once.
	// If there are none, that is not an error.
	Select(ctx context.Context, m Matcher) ([]sid.ID, error)

	// Strings returns all strings that a field has in any series, sorted, each once.
	// Label is the name of a label for the field LabelValue, and "" otherwise.
	Strings(ctx context.Context, field Field, label string) ([]string, error)

	// Metric returns what is known about a series.
	Metric(ctx context.Context, id sid.ID) (Metric, error)

	// Instances returns the instances that a series ever had, by number and then by name. A metric without
	// instance domain has none.
	Instances(ctx context.Context, id sid.ID) ([]Instance, error)

	// Instance returns an instance by its own identifier.
	Instance(ctx context.Context, id sid.ID) (Instance, error)

	// Labels returns the labels of a series or an instance, optional ones too, sorted by name.
	//
	// A series has those of its context, domain, instance domain, cluster and item; an instance has those
	// of context, domain, instance domain and its own. The C implementation has labels of series without
	// instance domain and of instances, and none of a series that has instances.
	Labels(ctx context.Context, id sid.ID) ([]pcp.Label, error)

	// ContextNames returns the names of a source: the paths of its archives and the names of its
	// hosts, sorted.
	ContextNames(ctx context.Context, source sid.ID) ([]string, error)

	// Sources returns all sources, in the order of their identifiers.
	Sources(ctx context.Context) ([]sid.ID, error)

	// Values returns values of series: for each of ids in turn those that w selects. It leaves out
	// series that it does not have. After an error it ends.
	//
	// A sample is valid until the next one.
	Values(ctx context.Context, ids []sid.ID, w Window) iter.Seq2[*Sample, error]

	// PutExpr keeps an expression under the identifier that a query gave it. The store may forget
	// the oldest ones if there are many.
	PutExpr(ctx context.Context, id sid.ID, e Expr) error

	// Expr returns an expression that was kept.
	Expr(ctx context.Context, id sid.ID) (Expr, error)

	// GC looks for what came, grew and vanished since it was last looked, and returns when all of
	// that is taken in. Stores do so by themselves too.
	GC(ctx context.Context) error

	// Stats says how much there is.
	Stats() Stats

	// Close ends all that the store does. Calls in progress fail.
	Close() error
}

// Errors of a Store.
var (
	ErrUnknown = errors.New("unknown series identifier")
	ErrClosed  = errors.New("store of series is closed")
	ErrTooMany = errors.New("too many values in one request")
)

// A Field is what a Matcher looks at.
type Field int

// Fields of series.
const (
	MetricName   Field = iota + 1 // the name of the metric
	InstanceName                  // names of its instances, each in full
	ContextName                   // paths of archives that have it, and names of their hosts
	LabelName                     // names of its labels, and of those of its instances
	LabelValue                    // values of one of these labels
)

// A Matcher selects series of which a string of a field is wanted. The values of labels are JSON as recorded: a
// string has its quotes.
type Matcher struct {
	Field Field
	Label string // name of the label, for LabelValue

	// Value is the string that is wanted.
	Value string

	// Match, if not nil, is used in place of Value: it reports whether a string is wanted. It is called
	// once for each string that the field has, not once for each series, from one goroutine.
	Match func(s string) bool
}

// Wants reports whether a string is one of those that m selects.
func (m *Matcher) Wants(s string) bool {
	if m.Match != nil {
		return m.Match(s)
	}
	return s == m.Value
}

// A Metric is what is known about a series.
type Metric struct {
	ID     sid.ID
	Name   string
	Desc   pcp.Desc // as of the latest archive that has it
	Source sid.ID
}

// An Instance is one instance of series.
type Instance struct {
	ID     sid.ID
	Inst   int32 // its number, which may be another one at other times
	Name   string
	Source sid.ID
}

// An Expr is an expression of the query language that is used as a series of its own.
type Expr struct {
	Query string // in canonical form
	Desc  pcp.Desc
}

// A Window says which values are wanted. Times are compared in microseconds, as identifiers of
// the streams of schema 2 are.
type Window struct {
	Start pcp.Timestamp // not before this; zero for the first value
	End   pcp.Timestamp // not after this; zero for the last value

	// Interval thins the values out: of those before each Start + k·Interval, it leaves the last one, with
	// its own time, and the last one of all. 0 leaves all values.
	Interval time.Duration

	// Count is how many samples of each series are wanted at most, from the first one on; 0 for
	// all of them.
	Count int

	// Newest wants the last Count samples, the newest first. Start, End and Interval do not count then. It is what
	// a request with a count and no window means, and one without anything, where Count is 1.
	Newest bool
}

// A Sample is the values of a series at one time.
type Sample struct {
	Series sid.ID
	Time   pcp.Timestamp

	// Err, if not 0, is why the metric had no values then.
	Err pcp.Error

	// Values are those of its instances, or one value without an instance. Their type is that of the
	// descriptor at that time.
	Values []InstValue
}

// An InstValue is a value of an instance.
type InstValue struct {
	Instance sid.ID // zero if the metric has no instance domain
	Value    pcp.Value
}

// Stats say how much a store holds and what it did.
type Stats struct {
	Archives int // that are known and can be read
	Damaged  int // that cannot be read, and are left out
	Sources  int
	Series   int
	Open     int // archives that are open now
}

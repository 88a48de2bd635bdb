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
// Returned values belong to the caller, except samples. The error for an unknown series is [ErrUnknown].
type Store interface {
	// Select returns the series that m matches, sorted by identifier, without duplicates. An
	// empty result is not an error.
	Select(ctx context.Context, m Matcher) ([]sid.ID, error)

	// Strings returns the sorted strings of a field in all series, without
	// duplicates. Label is the name of a label for the field LabelValue, and ""
	// otherwise.
	Strings(ctx context.Context, field Field, label string) ([]string, error)

	// Metric returns the description of a series.
	Metric(ctx context.Context, id sid.ID) (Metric, error)

	// Instances returns all instances that a series has ever had, sorted by number and then by name. A
	// metric without instance domain has no instances.
	Instances(ctx context.Context, id sid.ID) ([]Instance, error)

	// Instance returns an instance by its identifier.
	Instance(ctx context.Context, id sid.ID) (Instance, error)

	// Labels returns the labels of a series or an instance, optional ones included, sorted by name.
	//
	// A series has the labels of its context, domain, instance domain, cluster and item; an instance
	// those of its context, domain, instance domain and its own. The C implementation returns labels for
	// series without instance domain and for instances, but not for a series with instances.
	Labels(ctx context.Context, id sid.ID) ([]pcp.Label, error)

	// ContextNames returns the names of a source: the paths of its archives and the names of its
	// hosts, sorted.
	ContextNames(ctx context.Context, source sid.ID) ([]string, error)

	// Sources returns all sources, in the order of their identifiers.
	Sources(ctx context.Context) ([]sid.ID, error)

	// Values yields the values of series that w selects, one series of ids after the other. It
	// skips unknown series. It ends after an error.
	//
	// A sample is valid until the next one.
	Values(ctx context.Context, ids []sid.ID, w Window) iter.Seq2[*Sample, error]

	// Sweep yields the samples of series between two times, both included, with one reading of each archive for all
	// series of its source: the samples of a series are in the order of time, those of different series are not. The
	// end of the zero time means no limit. It skips unknown series, and ends after an error. Samples with Gap or Block set are
	// among them.
	//
	// A sample is valid until the next one.
	Sweep(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp) iter.Seq2[*Sample, error]

	// Within returns those of the given series that existed between two times, both included, and with insts the instances of
	// their domains that existed then. The end of the zero time means no limit. It skips unknown series. A store may answer by
	// its metadata, without a look at values.
	Within(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp, insts bool) ([]Presence, error)

	// PutExpr stores an expression under the identifier that a query computed. The store may
	// forget the oldest expressions if there are many.
	PutExpr(ctx context.Context, id sid.ID, e Expr) error

	// Expr returns a stored expression.
	Expr(ctx context.Context, id sid.ID) (Expr, error)

	// GC updates the store with the archives that were added, grew or vanished, and returns when
	// that is done. Stores also do this by themselves.
	GC(ctx context.Context) error

	// Stats returns statistics of the store.
	Stats() Stats

	// Close stops the store. Calls in progress fail.
	Close() error
}

// Errors of a Store.
var (
	ErrUnknown = errors.New("unknown series identifier")
	ErrClosed  = errors.New("store of series is closed")
	ErrTooMany = errors.New("too many values in one request")
	ErrAway    = errors.New("the key server does not answer; it is tried again at least every minute")
)

// A Field is a string of a series for a Matcher.
type Field int

// Fields of series.
const (
	MetricName   Field = iota + 1 // the name of the metric
	InstanceName                  // full names of its instances
	ContextName                   // paths of the archives that contain it, and names of their hosts
	LabelName                     // names of its labels, and its instances' labels
	LabelValue                    // values of one of these labels
)

// A Matcher selects the series with a matching string in a field. The values of labels are JSON as recorded: a
// string has its quotes.
type Matcher struct {
	Field Field
	Label string // name of the label, for LabelValue

	// Value is the string to match.
	Value string

	// Match, if not nil, is used in place of Value: it reports whether a string matches. It is called
	// once for each string of the field, not once for each series, from one goroutine.
	Match func(s string) bool
}

// Wants reports whether m matches a string.
func (m *Matcher) Wants(s string) bool {
	if m.Match != nil {
		return m.Match(s)
	}
	return s == m.Value
}

// A Presence is a series with the instances that existed in a window, sorted by number and then by name. Series of one domain share the list,
// which must not be modified. It is nil for a metric without instance domain.
type Presence struct {
	Series    sid.ID
	Instances []Instance
}

// A Metric describes a series.
type Metric struct {
	ID     sid.ID
	Name   string
	Desc   pcp.Desc // in the latest archive that contains it
	Source sid.ID
}

// An Instance is one instance of series.
type Instance struct {
	ID     sid.ID
	Inst   int32 // number, which may differ at other times
	Name   string
	Source sid.ID
}

// An Expr is an expression of the query language that is stored as a series.
type Expr struct {
	Query string // in canonical form
	Desc  pcp.Desc
}

// A Window selects values. Times are compared in microseconds, like the identifiers of streams
// in schema 2.
type Window struct {
	Start pcp.Timestamp // not before this; zero for the first value
	End   pcp.Timestamp // not after this; zero for the last value

	// Interval thins the values: of those before each Start + k·Interval, the last is kept, with its own
	// time, as is the very last. 0 keeps all values.
	Interval time.Duration

	// Count is the maximum number of samples of each series, from the first on; 0 means all.
	Count int

	// Newest selects the last Count samples, newest first; Start, End and Interval are ignored. Requests with a
	// count and no window use it, as do requests without either, with a Count of 1.
	Newest bool
}

// A Sample has the values of a series at one time.
type Sample struct {
	Series sid.ID
	Time   pcp.Timestamp

	// Gap reports that the values before and after this time are not related: the recording was interrupted. There are
	// no values. Only Sweep yields such samples.
	Gap bool

	// Err, if not 0, is the reason why the metric has no values then.
	Err pcp.Error

	// Values are the values of the instances, or one value without an instance. Their type is the
	// type in the descriptor at that time.
	Values []InstValue

	// Block, if not nil, is many samples from Time on, in place of Values. Only Sweep yields blocks. A block
	// remains valid.
	Block *Block
}

// An InstValue is a value of an instance.
type InstValue struct {
	Instance sid.ID // zero if the metric has no instance domain
	Value    pcp.Value
}

// Stats are a store's statistics.
type Stats struct {
	Archives int // known and readable
	Damaged  int // unreadable, and ignored
	Sources  int
	Series   int
	Open     int // currently open archives
}

package conf

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp/pmcd/access"
)

// MaxInterval is the longest time between two samples (PMLC_MAX_DELTA).
const MaxInterval = 0x0fffffff * time.Millisecond

// A State is the recording state of a statement. If several statements name a
// metric, mandatory ones take precedence over advisory ones.
type State struct {
	Mandatory bool
	On        bool
	// Maybe is set by "mandatory maybe", which revokes a mandatory state.
	// Neither Mandatory nor On is set then.
	Maybe bool
}

// A Statement is the part before the metrics: how to record them.
type Statement struct {
	State State
	// Interval is the time between two samples; 0 means once.
	Interval time.Duration
}

// A Place is a position in the configuration.
type Place struct {
	File string
	Line int
}

// A Metric is a name in a statement: a metric, or a node of the name space that
// selects all metrics below it.
type Metric struct {
	Name      string
	Instances []Instance // empty means all
	// Place is the end of the metric: the position of the next token, which can
	// be on a later line. The messages of pmlogger use it.
	Place Place
}

// An Instance selects an instance by name or by number.
type Instance struct {
	Name string // "" if it was given by number
	ID   int32
}

// The operations of an access section.
const (
	OpAdvisory  access.Ops = 1 << iota // change advisory states
	OpMandatory                        // change mandatory states
	OpEnquire                          // query states
	OpAll       = OpAdvisory | OpMandatory | OpEnquire
)

// An Access is a rule of the access section.
type Access struct {
	Host  string
	Rule  access.Rule
	Place Place
}

// A Config is a configuration.
type Config struct {
	Groups []Group
	Access []Access
}

// A Group is a statement and its metrics, in the order of the text.
type Group struct {
	Statement
	Metrics []Metric
}

// An Error is an error in a configuration.
type Error struct {
	Place Place
	Msg   string
}

// Error returns the message of pmlogger, of two lines.
func (e *Error) Error() string {
	return fmt.Sprintf("Specification error in configuration file (%s)\n[line %d] %s", e.Place.File, e.Place.Line, e.Msg)
}

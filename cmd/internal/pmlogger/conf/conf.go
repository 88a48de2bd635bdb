package conf

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp/pmcd/access"
)

// MaxInterval is the longest time between two samples (PMLC_MAX_DELTA).
const MaxInterval = 0x0fffffff * time.Millisecond

// A State is what a statement asks for. For a metric that several statements name,
// mandatory ones count before advisory ones.
type State struct {
	Mandatory bool
	On        bool
	// Maybe is set by "mandatory maybe", which takes back what was mandatory.
	// Neither Mandatory nor On is set then.
	Maybe bool
}

// A Statement is what stands before metrics: how they are recorded.
type Statement struct {
	State State
	// Interval is the time between two samples; 0 means once.
	Interval time.Duration
}

// A Place is where something stands in the configuration.
type Place struct {
	File string
	Line int
}

// A Metric is a name in a statement: a metric, or a node of the name space that
// stands for all metrics below it.
type Metric struct {
	Name      string
	Instances []Instance // none means all
	// Place is where the metric ends: with the next word or sign that was read,
	// which can be on a later line. So it is in messages of pmlogger.
	Place Place
}

// An Instance is one of those that are asked for, by name or by number.
type Instance struct {
	Name string // "" if it was given by number
	ID   int32
}

// The operations that an access section is about.
const (
	OpAdvisory  access.Ops = 1 << iota // change what is advisory
	OpMandatory                        // change what is mandatory
	OpEnquire                          // ask what is recorded
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

// A Group is a statement and its metrics, as they were written.
type Group struct {
	Statement
	Metrics []Metric
}

// An Error is a mistake in a configuration.
type Error struct {
	Place Place
	Msg   string
}

// Error is the message of pmlogger, of two lines.
func (e *Error) Error() string {
	return fmt.Sprintf("Specification error in configuration file (%s)\n[line %d] %s", e.Place.File, e.Place.Line, e.Msg)
}

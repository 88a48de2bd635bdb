package deliver

import "time"

// A Match is a host, or an instance of a host, for which the condition of a rule is true. A
// rule whose condition names no hosts or instances has a single match.
type Match struct {
	Host     string            // its name, "" if the rule is about none
	Conn     string            // how the host is reached: a host specification or an archive
	Instance string            // "" if the rule is not about instances
	Value    string            // as %v has it
	Limit    string            // the operator and operand of the comparison, such as "> 0.9"; "" without a comparison
	Text     string            // the strings of an action, with the values of this match alone
	Labels   map[string]string // the labels of the value that are not optional; only of actions that name a receiver

	// Of an alert of a rule of Prometheus: its labels as text, which identify it, and its annotations. Labels has all its labels.
	Series      string
	Annotations map[string]string
}

// A State is the state of a condition.
type State int

const (
	Unknown State = iota
	False
	True
)

func (s State) String() string {
	switch s {
	case False:
		return "false"
	case True:
		return "true"
	}
	return "unknown"
}

// An Evaluation is the result of evaluating a rule.
type Evaluation struct {
	Rule    string
	Expr    string // its condition, or that of the true rule of a ruleset
	Time    time.Time
	State   State
	Matches []Match // if it is true
}

// A Delivery is an action of a rule that names a receiver.
type Delivery struct {
	Rule     string
	Kind     Kind
	Receiver string
}

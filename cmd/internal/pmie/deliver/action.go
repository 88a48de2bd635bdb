package deliver

import (
	"fmt"
	"time"
)

// An Action is an action of a rule that is true.
type Action struct {
	Kind Kind
	Text string   // the arguments, with hosts, instances and values in them
	Args []string // of an Exec: a program and its arguments, each with its values filled in
	// Priority and Tag are of a Syslog.
	Priority int
	Tag      string

	Rule    string    // the name of the rule
	Expr    string    // its condition, as it was parsed
	Time    time.Time // of the evaluation
	Matches []Match   // the matches of the condition

	// Receiver is the receiver of an action for pmie.Config.Alert.
	Receiver string
	// Holdoff is the action's pause between repetitions. The engine does not enforce it: a
	// match may be new.
	Holdoff time.Duration
	// Resolved is set if the rule is false: there are no matches.
	Resolved bool
}

// A Kind selects how an Action is carried out. The kinds are in the order of the actions
// in package eval.
type Kind int

const (
	Shell  Kind = iota // a command of the shell
	Alarm              // a notification on a screen
	Syslog             // a line in the system's log
	Print              // a line of the output
	Stomp              // a message to a broker
	Exec               // a program and its arguments, without a shell

	// Those which name a receiver.
	Webhook
	Alertmanager
	Mail
)

// String returns the word for the action in rules.
func (k Kind) String() string {
	names := [...]string{"shell", "alarm", "syslog", "print", "stomp", "exec", "webhook", "alertmanager", "mail"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

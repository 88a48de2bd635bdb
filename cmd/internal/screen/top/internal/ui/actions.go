package ui

import (
	"fmt"
	"strconv"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
)

// An Action is an action on a process of this host.
type Action struct {
	PID    int32
	Name   string  // of the program, which must not have changed
	Start  float64 // in seconds since the host started; NaN if that is not known
	Signal string  // "TERM", or "" for a nice value
	Nice   int
}

// actions lets the user act on the process at the cursor, if it runs on this host now.
type actions struct {
	host  *model.Host
	local bool // Config.Local
	film  *film
	procs *processes
	say   func(format string, args ...any)

	requested *Action
}

// take returns, once, the action that the user has requested.
func (c *actions) take() (Action, bool) {
	if c.requested == nil {
		return Action{}, false
	}
	act := *c.requested
	c.requested = nil
	return act, true
}

// done shows the result of an action.
func (c *actions) done(act Action, err error) {
	what := "nice value of " + strconv.Itoa(int(act.PID))
	if act.Signal != "" {
		what = "SIG" + act.Signal + " to " + strconv.Itoa(int(act.PID))
	}
	switch {
	case err != nil:
		c.say("%s: %v", what, err)
	case act.Signal != "":
		c.say("%s: sent", what)
	default:
		c.say("%s: %d", what, act.Nice)
	}
}

// confirm returns the question whether an action is meant.
func (c *actions) confirm(act Action) *question {
	text := fmt.Sprintf("Give %d (%s) the nice value %d?", act.PID, act.Name, act.Nice)
	if act.Signal != "" {
		text = fmt.Sprintf("Send SIG%s to %d (%s)?", act.Signal, act.PID, act.Name)
	}
	return &question{text: text, yes: func() { c.requested = &act }}
}

// signals are those that are offered.
var signals = []string{"TERM", "KILL", "HUP", "INT", "QUIT", "STOP", "CONT", "USR1", "USR2", "ABRT", "ALRM"}

// target returns the chosen process, if actions on it are possible.
func (c *actions) target() *model.Process {
	p := c.procs.chosen()
	switch {
	case p == nil:
		c.say("no process is chosen")
	case c.host.Archive:
		c.say("this is the past: nothing can be done to a process of it")
		return nil
	case !c.local:
		c.say("the processes are those of %s: this works on the host itself", c.host.Name)
		return nil
	case c.film.past():
		c.say("this is the past: Esc shows the present")
		return nil
	}
	return p
}

// chooseSignal returns the menu of signals to the process, or nil if there can be none. The choice opens a question.
func (c *actions) chooseSignal(open func(*question)) *menu {
	p := c.target()
	if p == nil {
		return nil
	}
	act := Action{PID: p.PID, Name: p.Name, Start: p.Start}
	return &menu{title: fmt.Sprintf("Signal to %d %s", p.PID, p.Name), items: signals, accept: func(i int) {
		act.Signal = signals[i]
		open(c.confirm(act))
	}}
}

// askNice returns the prompt for the nice value of the process, and reports whether it can be changed. The value opens
// a question.
func (c *actions) askNice(open func(*question)) (prompt, bool) {
	p := c.target()
	if p == nil {
		return prompt{}, false
	}
	act := Action{PID: p.PID, Name: p.Name, Start: p.Start}
	return prompt{label: fmt.Sprintf("Nice value of %d %s (now %d)", p.PID, p.Name, p.Nice), accept: func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < -20 || n > 19 {
			return fmt.Errorf("%q is not a nice value, -20 to 19", text)
		}
		act.Nice = n
		open(c.confirm(act))
		return nil
	}}, true
}

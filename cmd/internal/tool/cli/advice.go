package cli

import (
	"fmt"
	"sync"
)

// Advice is printed when a command has ended: why it could not do its work, and what to do next.
// Package source sets it, the same for each command, and main prints it: commands need not know
// about it.
type Advice struct {
	mu     sync.Mutex
	text   func() string
	failed bool // print it only if the command has failed
}

// Advise sets the advice to print when the command ends, in place of any earlier one. nil removes
// it, when it has been printed or no longer applies. The text is made when it is needed.
func (e *Env) Advise(text func() string) { e.advise(text, false) }

// AdviseFailed is like Advise, for advice to print only if the command fails: it may continue
// without.
func (e *Env) AdviseFailed(text func() string) { e.advise(text, true) }

func (e *Env) advise(text func() string, failed bool) {
	if e.Advice == nil {
		return
	}
	e.Advice.mu.Lock()
	defer e.Advice.mu.Unlock()
	e.Advice.text, e.Advice.failed = text, failed
}

// Failed has the advice of AdviseFailed printed although the exit status is 0, for commands whose C
// tool fails with that status.
func (e *Env) Failed() {
	if e.Advice != nil {
		e.Advice.mu.Lock()
		e.Advice.failed = false
		e.Advice.mu.Unlock()
	}
}

// Advised reports whether there is advice to print at the end.
func (e *Env) Advised() bool {
	if e.Advice == nil {
		return false
	}
	e.Advice.mu.Lock()
	defer e.Advice.mu.Unlock()
	return e.Advice.text != nil
}

// Explains reports whether a command may print more than the C tool of that name: it is called as
// "pcp info" or "pcp ps", or a person sees its messages. Scripts compare what commands print under
// their classic names.
func (e *Env) Explains() bool {
	return !e.Classic() || e.ByName || e.ErrTerminal != nil && e.ErrTerminal()
}

// WriteAdvice flushes Stdout and writes the advice to standard error. status is the exit status of
// the command.
func (e *Env) WriteAdvice(status int) {
	if e.Advice == nil || !e.Explains() {
		return
	}
	e.Advice.mu.Lock()
	text, failed := e.Advice.text, e.Advice.failed
	e.Advice.text = nil
	e.Advice.mu.Unlock()
	if text == nil || failed && status == 0 {
		return
	}
	e.FlushOut()
	fmt.Fprintf(e.Stderr, "%s: %s\n", e.CalledAs(), text())
}

// CalledAs returns the name that the user called the command by: "pcp ps", or its classic name.
func (e *Env) CalledAs() string {
	if e.ByName && e.Command != nil {
		return "pcp " + e.Command.Name
	}
	return e.ProgName()
}

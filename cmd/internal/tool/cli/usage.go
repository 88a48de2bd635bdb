package cli

import (
	"fmt"

	"github.com/go-pcp/pcp/getopt"
)

// Printf keeps a message for Flush, as pmprintf(3) does.
func (e *Env) Printf(format string, args ...any) { e.messages().Printf(format, args...) }

// Errorf keeps the message "program: ..." and a newline for Flush.
func (e *Env) Errorf(format string, args ...any) { e.messages().Errorf(format, args...) }

// Flush writes the messages that Printf kept, as [getopt.Messages.Flush] does.
func (e *Env) Flush() { e.messages().Flush() }

// messages returns the messages of e: a copy of an Env has its own.
func (e *Env) messages() *getopt.Messages {
	e.msg.Name, e.msg.Stderr, e.msg.Config = e.ProgName(), e.Stderr, e.Config()
	return &e.msg
}

// Fatalf writes "program: ..." and a newline to standard error, after flushing
// Stdout, and returns 1 for the exit status.
func (e *Env) Fatalf(format string, args ...any) int {
	fmt.Fprintf(e.Stderr, "%s: %s\n", e.ProgName(), fmt.Sprintf(format, args...))
	return 1
}

// ProgName returns the name that messages start with, as it was typed: the
// classic name or "pcp info".
func (e *Env) ProgName() string {
	if e.Classic() && e.Command != nil && e.Command.Link != "" {
		return e.Command.Link
	}
	return e.Name
}

// Usage returns the usage message of a command called name, laid out as
// pmUsageMessage(3) does.
func (c *Command) Usage(name string) string {
	return getopt.Usage(name, c.Synopsis, c.OptionList())
}

// Extras returns the lines of a usage message for the options that the C tool
// does not have, "" if there are none.
func (c *Command) Extras() string { return getopt.Extras(c.OptionList()) }

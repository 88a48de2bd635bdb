package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-pcp/pcp/internal/getopt"
)

// Printf keeps a message for Flush, as pmprintf(3) does.
func (e *Env) Printf(format string, args ...any) { e.msg = fmt.Appendf(e.msg, format, args...) }

// Errorf keeps the message "program: ..." and a newline for Flush.
func (e *Env) Errorf(format string, args ...any) {
	e.msg = append(e.msg, e.ProgName()+": "...)
	e.Printf(format, args...)
	e.msg = append(e.msg, '\n')
}

// Flush writes the messages that Printf kept to standard error, or appends them
// to the file that PCP_STDERR names (pmflush(3)).
func (e *Env) Flush() {
	msg := e.msg
	e.msg = nil
	if len(msg) == 0 {
		return
	}
	path := e.Getenv("PCP_STDERR")
	switch {
	case path == "":
	case strings.EqualFold(path, "DISPLAY"):
		fmt.Fprintf(e.Stderr, "%s: using stderr - no PCP_XCONFIRM_PROG\n", e.ProgName())
	default:
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
		if err == nil {
			_, err = f.Write(msg)
			err = errors.Join(err, f.Close())
		}
		if err == nil {
			return
		}
		fmt.Fprintf(e.Stderr, "pmflush: cannot append to file '%s' (from $PCP_STDERR): %s\n", path, ErrText(err))
	}
	e.Stderr.Write(msg)
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
	return getopt.Usage(name, c.Synopsis, c.Options)
}

// Extras returns the lines of a usage message for the options that the C tool
// does not have, "" if there are none.
func (c *Command) Extras() string { return getopt.Extras(c.Options) }

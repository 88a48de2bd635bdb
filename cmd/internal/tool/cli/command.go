package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
)

// A Command is one tool. The table of commands in cmd/pcp feeds dispatch,
// help, completion and the links that make build leaves.
type Command struct {
	Name     string // as in "pcp info"
	Link     string // the classic name, "pminfo"; "" if there is none
	Group    string // heading in the list of commands
	Summary  string // one line, lower case, no full stop
	Synopsis string // the usage line after the name: "[options] [metricname | pmid | indom]..."
	// Options are in the order of the usage message. ParseConfig.Own handles those that
	// package getopt does not.
	// It is a function so that a start of the program makes no tables; nil means no options.
	Options func() []Option

	// Doc describes the command, in paragraphs of plain text with an empty line
	// between; indented lines are kept as they are. "pcp help NAME" and the
	// manual page are both made from Doc, Examples and Options. MakeDoc replaces Doc in a
	// text of parts, for the same reason as Options is a function.
	Doc      string
	MakeDoc  func() string
	Examples []Example
	SeeAlso  []string // names of manual pages, "pmval(1)"

	// Debug are the debug options (-D, PCP_DEBUG) for which the command prints
	// something. It accepts all other ones too.
	Debug []string

	// Sub are the commands below this one, named in full: "archive ls" below
	// "archive". Dispatch, help, completion and manual pages include them.
	Sub []*Command
	// Bare has Run called if there are subcommands but none of them is named.
	Bare bool

	// DieOnSignal lets SIGINT and SIGTERM kill the process, as they do by
	// default. Otherwise they end ctx, and Run's result is the exit status,
	// as daemons need it.
	DieOnSignal bool
	// Interruptible has SIGINT alone end ctx, and SIGTERM kill the process, as in Python programs.
	Interruptible bool

	// Run does the work and returns the exit status. It sees only env. It
	// returns soon after ctx is done.
	Run func(ctx context.Context, env *Env) int
}

// OptionList returns the options of c.
func (c *Command) OptionList() []Option {
	if c.Options == nil {
		return nil
	}
	return c.Options()
}

// Text returns the description of c, Doc or what MakeDoc returns.
func (c *Command) Text() string {
	if c.MakeDoc != nil {
		return c.MakeDoc()
	}
	return c.Doc
}

// Through reports whether c is called through pcp, which sets variables such as PCP_ARCHIVE that
// represent options: its link is pcp-NAME.
func (c *Command) Through() bool { return strings.HasPrefix(c.Link, "pcp-") }

// An Example is a command line that a reader can type, and its purpose.
type Example struct {
	Line string // "pcp info -f kernel.all.load"
	Text string // "print the load averages", lower case, no full stop
}

// An Option is one option of a command, or a heading in its help if Short and
// Long are zero.
type Option = getopt.Option

// TakesDebug reports whether c has the option -D for debug options.
func (c *Command) TakesDebug() bool {
	return slices.ContainsFunc(c.OptionList(), func(o Option) bool {
		return o.Short == 'D' && (o.Long == "debug" && o.Arg != "" || o.Long == "" && (o.Arg == "DBG" || o.Arg == "debug"))
	})
}

// Heading returns an Option that is a heading in the help.
func Heading(text string) Option { return getopt.Heading(text) }

// An Env is all that a command sees of its surroundings.
type Env struct {
	Name           string   // as called: "pminfo", or "pcp info"
	Program        string   // this program as it was called: "pcp", "bin/pcp"; see Pcp
	Args           []string // without the name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	LookupEnv      func(string) (string, bool) // nil: variables that Getenv finds empty are not set; see IsSet
	Version        string                      // of this program, for -V
	Rows           func() int                  // height of the terminal that Stdout is; 0, or nil, if Stdout is not a terminal
	Columns        func() int                  // its width, likewise
	OutTerminal    func() bool                 // reports whether Stdout is a terminal; nil: it is not
	ErrTerminal    func() bool                 // reports whether Stderr is a terminal; nil: it is not
	Screen         *os.File                    // Stdout if that is a terminal, for programs that draw on it and show no byte of their data unescaped; else nil
	Command        *Command                    // the command itself
	Commands       []*Command                  // all commands
	ByName         bool                        // called as "pcp ps", although Name is the classic one; see Explains
	Advice         *Advice                     // advice that main prints at the end; nil: nothing

	// Exec replaces this program by another one, which gets args after its name
	// and more variables in its environment; nil: this is not possible. It
	// returns only if it fails.
	Exec func(path string, args, more []string) error

	mark           Mark // see Own
	compatReported bool

	config *config.Config  // see Config
	msg    getopt.Messages // messages that Printf keeps for Flush
}

// Config returns the settings of the environment and pcp.conf.
func (e *Env) Config() *config.Config {
	if e.config == nil {
		e.config = config.NewLookup(func(name string) (string, bool) {
			v := e.Getenv(name)
			return v, v != "" || e.IsSet(name)
		})
	}
	return e.config
}

// WithGetenv returns a copy of e with another environment.
func (e *Env) WithGetenv(getenv func(string) string) *Env {
	other := *e
	other.Getenv, other.config = getenv, nil
	return &other
}

// Classic reports whether the command was called by its classic name, as
// "pminfo" and not as "pcp info". Under its classic name a command prints what
// the C tool prints, byte for byte, as scripts depend on it. Under "pcp" its
// output is for people.
func (e *Env) Classic() bool { return !strings.HasPrefix(e.Name, "pcp ") }

// Seven reports whether classic commands print what PCP 7 prints where that differs from 6.0.3: PCP_COMPAT is 7, in the environment or
// pcp.conf.
// A value that is neither 6 nor 7 is reported once.
func (e *Env) Seven() bool {
	v := e.Config().Get("PCP_COMPAT")
	if v != "" && !IsCompat(v) && !e.compatReported && e.Stderr != nil {
		e.compatReported = true
		fmt.Fprintf(e.Stderr, "%s: PCP_COMPAT=%s is neither 6 nor 7, and has no effect\n", e.ProgName(), v)
	}
	return v == "7"
}

// IsCompat reports whether a value of PCP_COMPAT is known.
func IsCompat(v string) bool { return v == "6" || v == "7" }

// IsSet reports whether a variable is in the environment, even if it is empty.
// Variables such as PCP_COUNTER_WRAP take effect then.
func (e *Env) IsSet(name string) bool {
	if e.LookupEnv == nil {
		return e.Getenv(name) != ""
	}
	_, ok := e.LookupEnv(name)
	return ok
}

// Pcp returns how this program was called, "pcp" or for example "bin/pcp", for
// hints that users can type as they are.
func (e *Env) Pcp() string {
	if strings.Contains(e.Program, "/") && !strings.ContainsAny(e.Program, " '\"\\$") {
		return e.Program
	}
	return "pcp"
}

// FlushOut flushes Stdout, for a user who waits for it.
func (e *Env) FlushOut() error {
	if f, ok := e.Stdout.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// OutputFailed reports that standard output cannot be written, and returns the
// exit status. It is for commands that end early for that reason: otherwise the
// program reports it when it ends.
func (e *Env) OutputFailed(err error) int {
	return e.Fatalf("writing standard output: %s", ErrText(err))
}

// Unbuffered returns a writer to Stdout that does not buffer.
func (e *Env) Unbuffered() io.Writer { return unbuffered{e} }

type unbuffered struct{ env *Env }

func (u unbuffered) Write(b []byte) (int, error) {
	n, err := u.env.Stdout.Write(b)
	if err == nil {
		err = u.env.FlushOut()
	}
	return n, err
}

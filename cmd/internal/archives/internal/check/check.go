package check

import (
	"fmt"
	"io"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/debug"
)

// A Severity is the severity of a finding.
type Severity int

// Severities.
const (
	Note    Severity = iota // nothing wrong: a counter that may have wrapped
	Warning                 // the archive can be used, but something is odd
	Error                   // something is damaged
)

func (s Severity) String() string {
	return [...]string{"note", "warning", "error"}[s]
}

// A Finding is an error or oddity of an archive.
type Finding struct {
	Severity Severity
	Pass     int
	File     string // path of the file, "" if it is about all of them
	Offset   int64  // in the file, expanded if it is compressed; -1 if there is none
	Text     string // one line without File, or more
	Message  string // as pmlogcheck prints it, with newline
}

// A Window is the period to check.
type Window struct {
	Start, Finish pcp.Timestamp
	FromStart     bool // no start was given: records before the label's time count too
}

// A Checker checks one archive. Fields are set before Run.
type Checker struct {
	Path string // base name, or the name of a file of the archive

	Prog     string        // name of the program in messages, "" for pmlogcheck
	Found    func(Finding) // called with each finding, in order
	Trace    io.Writer     // the output of pmlogcheck -v; nil for none
	Verbose  int           // level of Trace: 1 to 3
	MetaOnly bool          // leave out pass 3
	NoWrap   bool          // do not look for counters that wrapped
	Strict   bool          // look for more than pmlogcheck does: the times of metadata
	Seven    bool          // messages of PCP 7, and its order of the files
	Full     bool          // check the rest after damage in pass 0
	Debug    *debug.Log    // options for reading the archive after pass 0

	// Names returns the names of a metric instead of the archive's name space.
	Names func(pcp.PMID) []string

	// Opened is called once the archive is open, after pass 0. It returns the
	// window of time and the time zone of messages; false ends the check.
	Opened func(a *archive.Archive) (Window, *time.Location, bool)

	// Progress is called from time to time with the number of bytes done and the total.
	Progress func(done, total int64)

	Records, Marks int   // in the volumes, counted by Run
	ReadError      error // error that ended pass 3: Run then returns false

	dir, base, name string // name is the name of the archive in messages of pass 1 to 3
	index           state
	meta, data      state
	version         int           // in the first good label of pass 0, 0 if there is none
	start           pcp.Timestamp // there
	labelFile       string        // and where that is
	loc             *time.Location
	window          Window
	a               *archive.Archive
	pass            int
	days            bool // messages have the day too
	open            bool // a line of Trace is still open
	done, total     int64
	scan            *valueScan
}

// A state is the state of a kind of file.
type state int

const (
	missing state = iota
	good
	bad
)

func (c *Checker) prog() string {
	if c.Prog == "" {
		return "pmlogcheck"
	}
	return c.Prog
}

// tracef writes the output of -v.
func (c *Checker) tracef(level int, format string, args ...any) {
	if c.Verbose >= level && c.Trace != nil {
		fmt.Fprintf(c.Trace, format, args...)
	}
}

// found reports a finding about a file: its name, the place in pmlogcheck's
// words, and the finding.
func (c *Checker) found(s Severity, file string, off int64, where, text string) {
	c.endLine()
	said := text
	if where != "" {
		said = where + " " + text
	}
	c.report(Finding{Severity: s, File: file, Offset: off, Text: said, Message: file + where + ": " + text + "\n"})
}

// program reports a finding that starts with the name of the program.
func (c *Checker) program(text string) {
	c.endLine()
	c.report(Finding{Severity: Error, Offset: -1, Text: text, Message: c.prog() + ": " + text + "\n"})
}

func (c *Checker) report(f Finding) {
	f.Pass = c.pass
	if c.Found != nil {
		c.Found(f)
	}
}

// endLine ends the line of Trace that pass 0 left open.
func (c *Checker) endLine() {
	if c.open {
		c.tracef(1, "\n")
		c.open = false
	}
}

func (c *Checker) progress(n int64) {
	if c.Progress != nil {
		c.done += n
		c.Progress(c.done, c.total)
	}
}

// Whole returns the window of the whole archive.
func (c *Checker) Whole(a *archive.Archive) Window {
	end, err := a.End()
	if err != nil {
		end = pcp.Timestamp{Sec: pcp.MaxSec}
	}
	return Window{Start: a.Label().Start, Finish: end, FromStart: true}
}

// Run runs the check. It returns false if the archive cannot be used: a record is
// cut or damaged (except with Full), a file is missing, the archive does not open or
// cannot be read to its end. Other findings leave it true.
func (c *Checker) Run() bool {
	c.split()
	if !c.pass0() {
		return false
	}
	a, err := archive.Options{Debug: c.Debug}.Open(c.Path)
	if err != nil {
		c.pass = 1
		c.report(Finding{
			Severity: Error, Offset: -1, Text: fmt.Sprintf("cannot open the archive: %v", err),
			Message: fmt.Sprintf("%s: cannot open archive \"%s\": %s\nChecking abandoned.\n", c.prog(), c.Path, pcp.Code(err).Error()),
		})
		return false
	}
	defer a.Close()
	c.a = a
	c.loc = time.Local
	c.window = c.Whole(a)
	if c.Opened != nil {
		w, loc, ok := c.Opened(a)
		if !ok {
			return false
		}
		c.window, c.loc = w, loc
	}
	span := c.window.Finish.Sec - c.window.Start.Sec
	if c.window.Finish.Nsec < c.window.Start.Nsec {
		span--
	}
	c.days = span > 86400
	c.pass1()
	if c.index == bad {
		a.IgnoreIndex()
	}
	c.pass2()
	ok := true
	if !c.MetaOnly {
		ok = c.pass3()
	}
	if c.scan != nil && c.scan.dead {
		return false
	}
	if c.Records > 0 {
		c.tracef(1, "Processed %d pmResult records\n", c.Records)
	}
	if c.Marks > 0 {
		c.tracef(1, "Processed %d <mark> records\n", c.Marks)
	}
	return ok
}
